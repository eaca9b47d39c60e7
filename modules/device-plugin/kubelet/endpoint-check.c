/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/endpoint-check.h"

#include <rdmad/loop.h>

#include "podresources.pb-c.h"
#include "kubelet/unpack.h"

/* After the stream began: kubelet has taken the list by the first, and has seen late ends by the
 * last. */
static const guint look_ms[] = { 500, 500, 1000, 3000, 10000 };

struct EndpointCheck {
	Kubelet *kubelet;
	char *resource;
	const EndpointCheckOps *ops;
	gpointer data;
	RdmadEvent *timer;
	RdmadGrpcRequest *call;
	guint step;
	gboolean answered, found; /* of the call under way */
	gboolean lacking;	  /* the last look found none */
	gboolean told;		  /* and no look has found one since */
};

static gboolean has_device(const V1__AllocatableResourcesResponse *answer, const char *resource)
{
	for (gsize i = 0; i < answer->n_devices; i++)
		if (g_str_equal(answer->devices[i]->resource_name, resource) &&
		    answer->devices[i]->n_device_ids > 0)
			return TRUE;
	return FALSE;
}

static void look_answered(const guint8 *message, gsize size, gpointer data)
{
	EndpointCheck *check = data;
	g_autoptr(Unpacked) unpacked =
		unpack(&v1__allocatable_resources_response__descriptor, message, size, NULL);

	check->answered = unpacked != NULL;
	check->found = unpacked && has_device(unpacked_message(unpacked), check->resource);
}

static void look_again(EndpointCheck *check)
{
	if (check->step < G_N_ELEMENTS(look_ms))
		rdmad_event_arm(check->timer, look_ms[check->step++]);
}

static void tell_stopped(EndpointCheck *check)
{
	endpoint_check_end(check);
	check->told = TRUE;
	check->ops->stopped(check->data);
}

/* A failed query proves nothing: only a response without the devices counts. */
static void look_done(RdmadGrpcStatus status, const char *text, gpointer data)
{
	EndpointCheck *check = data;
	const gboolean known = status == RDMAD_GRPC_OK && check->answered;
	const gboolean lacks = known && !check->found && check->ops->offers(check->data);
	const gboolean again = lacks && check->lacking;

	check->call = NULL;
	check->lacking = lacks;
	if (known && check->found)
		check->told = FALSE;
	if (again && !check->told)
		tell_stopped(check);
	else
		look_again(check);
}

static void look_now(gpointer data)
{
	static const RdmadGrpcRequestOps ops = { look_answered, look_done };
	EndpointCheck *check = data;

	check->answered = check->found = FALSE;
	check->call = kubelet_ask_allocatable(check->kubelet, &ops, check);
}

void endpoint_check_begin(EndpointCheck *check)
{
	endpoint_check_end(check);
	look_again(check);
}

void endpoint_check_end(EndpointCheck *check)
{
	g_clear_pointer(&check->call, rdmad_grpc_request_cancel);
	rdmad_event_disarm(check->timer);
	check->step = 0;
	check->lacking = FALSE;
}

EndpointCheck *endpoint_check_new(RdmadModule *self, Kubelet *kubelet, const char *resource,
				  const EndpointCheckOps *ops, gpointer data)
{
	EndpointCheck *check = g_new0(EndpointCheck, 1);

	check->kubelet = kubelet;
	check->resource = g_strdup(resource);
	check->ops = ops;
	check->data = data;
	check->timer = rdmad_loop_add_timer(rdmad_module_loop(self), self, look_now, check);
	return check;
}

void endpoint_check_free(EndpointCheck *check)
{
	endpoint_check_end(check);
	rdmad_event_free(check->timer);
	g_free(check->resource);
	g_free(check);
}
