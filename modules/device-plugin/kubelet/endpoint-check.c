/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/endpoint-check.h"

#include <rdmad/clock.h>
#include <rdmad/loop.h>

#include "podresources.pb-c.h"
#include "kubelet/unpack.h"

/* Delays of the queries after the start of the stream.  Before the first one kubelet has processed
 * the list, and after 15 s it has noticed the end of older streams.  A list may hide from these
 * queries that kubelet has stopped the endpoint; five minutes later kubelet removes its devices,
 * with any list (endpointStopGracePeriod; GetCapacity() in
 * pkg/kubelet/cm/devicemanager/manager.go). */
static const guint query_delays_ms[] = { 500, 500, 1000, 3000, 10000, 330000 };

#define SECOND_MS    1000  /* before the second of the two queries that decide */
#define AGAIN_MS     15000 /* before a query that failed is repeated, at most */
#define FAILURES_MAX 8	   /* in a row, after which the next query is due */

struct EndpointCheck {
	Kubelet *kubelet;
	char *resource;
	const EndpointCheckOps *ops;
	gpointer data;
	RdmadEvent *timer;
	RdmadGrpcRequest *call;
	gint64 began_us;
	guint step, failures;
	gboolean answered, found; /* of the running query */
	gboolean lacking;	  /* the last query found no device */
	gboolean reported;	  /* `stopped` was called, and no query has found a device since */
	gboolean undecided;	  /* the last query found no device because none was offered */
};

static gboolean has_device(const V1__AllocatableResourcesResponse *answer, const char *resource)
{
	for (gsize i = 0; i < answer->n_devices; i++)
		if (g_str_equal(answer->devices[i]->resource_name, resource) &&
		    answer->devices[i]->n_device_ids > 0)
			return TRUE;
	return FALSE;
}

static void query_answered(const guint8 *message, gsize size, gpointer data)
{
	EndpointCheck *check = data;
	g_autoptr(Unpacked) unpacked =
		unpack(&v1__allocatable_resources_response__descriptor, message, size, NULL);

	check->answered = unpacked != NULL;
	check->found = unpacked && has_device(unpacked_message(unpacked), check->resource);
}

/* Two queries in a row decide. */
static void query_schedule(EndpointCheck *check)
{
	check->failures = 0;
	if (check->lacking && !check->reported)
		rdmad_event_arm(check->timer, SECOND_MS);
	else if (check->step < G_N_ELEMENTS(query_delays_ms))
		rdmad_event_arm(check->timer, query_delays_ms[check->step++]);
}

static void query_failed(EndpointCheck *check, RdmadGrpcStatus status)
{
	if (status == RDMAD_GRPC_UNIMPLEMENTED)
		return; /* by kubelets before 1.21 */
	if (check->failures++ < FAILURES_MAX) {
		rdmad_event_arm(check->timer, MIN(query_delays_ms[check->step - 1], AGAIN_MS));
		return;
	}
	check->lacking = FALSE;
	query_schedule(check);
}

static void report_stopped(EndpointCheck *check)
{
	endpoint_check_end(check);
	check->reported = TRUE;
	check->ops->stopped("kubelet lists no device of it as allocatable", check->data);
}

/* A failed query proves nothing: only a response without the devices counts. */
static void query_done(RdmadGrpcStatus status, const char *text, gpointer data)
{
	EndpointCheck *check = data;
	const gboolean lacked = check->lacking;

	check->call = NULL;
	if (status != RDMAD_GRPC_OK || !check->answered) {
		query_failed(check, status);
		return;
	}
	check->undecided = !check->found && !check->ops->offers(check->data);
	check->lacking = !check->found && !check->undecided;
	if (check->found)
		check->reported = FALSE;
	if (lacked && check->lacking && !check->reported)
		report_stopped(check);
	else
		query_schedule(check);
}

static void query_start(gpointer data)
{
	static const RdmadGrpcRequestOps ops = { query_answered, query_done };
	EndpointCheck *check = data;

	/* A list that followed may hide from the query that kubelet has stopped the endpoint. */
	kubelet_remove_stale_sockets(check->kubelet);
	if (kubelet_lost_socket(check->kubelet, check->resource, check->began_us)) {
		endpoint_check_end(check);
		check->ops->stopped("connections of an earlier rdmad have ended", check->data);
		return;
	}
	check->answered = check->found = FALSE;
	check->call = kubelet_ask_allocatable(check->kubelet, &ops, check);
}

void endpoint_check_begin(EndpointCheck *check)
{
	endpoint_check_end(check);
	check->began_us = rdmad_now_us();
	query_schedule(check);
}

void endpoint_check_list_changed(EndpointCheck *check)
{
	if (check->undecided && check->ops->offers(check->data))
		endpoint_check_begin(check);
}

void endpoint_check_end(EndpointCheck *check)
{
	g_clear_pointer(&check->call, rdmad_grpc_request_cancel);
	rdmad_event_disarm(check->timer);
	check->step = 0;
	check->lacking = check->undecided = FALSE;
}

EndpointCheck *endpoint_check_new(RdmadModule *self, Kubelet *kubelet, const char *resource,
				  const EndpointCheckOps *ops, gpointer data)
{
	EndpointCheck *check = g_new0(EndpointCheck, 1);

	check->kubelet = kubelet;
	check->resource = g_strdup(resource);
	check->ops = ops;
	check->data = data;
	check->timer = rdmad_loop_add_timer(rdmad_module_loop(self), self, query_start, check);
	return check;
}

void endpoint_check_free(EndpointCheck *check)
{
	endpoint_check_end(check);
	rdmad_event_free(check->timer);
	g_free(check->resource);
	g_free(check);
}
