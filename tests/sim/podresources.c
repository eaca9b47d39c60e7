/* SPDX-License-Identifier: Apache-2.0 */
#include "podresources.h"

#include <glib/gstdio.h>
#include <rdmad/grpc.h>

#include "clock.h"
#include "node.h"
#include "podresources.pb-c.h"

#define STARTS_US (1500 * SIM_MS) /* time within which kubelet has read its checkpoint */

static const guint takes_ms[] = { 0, 20, 500, 6000 };

struct PodResources {
	RdmadLoop *loop;
	const KubeletEra *era;
	Decisions *decisions;
	RdmadGrpcServer *server;
	GPtrArray *answers; /* of Answer */
	gint64 since_us;
	gboolean hung;
};

/* A response with the state at the time of the request, sent later. */
typedef struct {
	PodResources *of;
	RdmadGrpcCall *call;
	GBytes *bytes;
	gint64 asked_us; /* G_MININT64: it names no devices */
	RdmadEvent *timer;
} Answer;

static void answer_free(gpointer data)
{
	Answer *answer = data;

	rdmad_event_free(answer->timer);
	rdmad_grpc_call_unref(answer->call);
	g_bytes_unref(answer->bytes);
	g_free(answer);
}

static void pods_note(gint64 asked_us)
{
	const GPtrArray *pods = pods_all();

	for (guint i = 0; i < pods->len; i++) {
		Pod *pod = pods->pdata[i];

		if (pod->grant && pod->since_us < asked_us)
			pod->listed_us = clock_now_us();
	}
}

static void answer_leave(gpointer data)
{
	Answer *answer = data;
	gsize size;
	const guint8 *bytes = g_bytes_get_data(answer->bytes, &size);

	if (answer->of->hung)
		return;
	pods_note(answer->asked_us);
	rdmad_grpc_call_reply(answer->call, bytes ? bytes : (const guint8 *)"", size);
	g_ptr_array_remove(answer->of->answers, answer);
}

/* Takes the message over. */
static void answer_later(PodResources *of, RdmadGrpcCall *call, ProtobufCMessage *message,
			 gboolean names_devices)
{
	Answer *answer = g_new0(Answer, 1);
	const gsize size = protobuf_c_message_get_packed_size(message);
	guint8 *bytes = g_malloc(size);
	const guint how = decide_rarely(of->decisions, DECIDE_ANSWER, 10, G_N_ELEMENTS(takes_ms));

	protobuf_c_message_pack(message, bytes);
	protobuf_c_message_free_unpacked(message, NULL);
	answer->of = of;
	answer->call = rdmad_grpc_call_ref(call);
	answer->asked_us = names_devices ? clock_now_us() : G_MININT64;
	answer->bytes = g_bytes_new_take(bytes, size);
	answer->timer = rdmad_loop_add_timer(of->loop, NULL, answer_leave, answer);
	g_ptr_array_add(of->answers, answer);
	rdmad_event_arm(answer->timer, takes_ms[how]);
}

/* ---- messages; allocated by malloc, as protobuf-c frees them ---- */

#define MESSAGE(pointer, init)                                                                     \
	do {                                                                                       \
		(pointer) = calloc(1, sizeof(*(pointer)));                                         \
		init(pointer);                                                                     \
	} while (0)

static V1__ContainerDevices *device_new(const char *resource, const char *slot)
{
	V1__ContainerDevices *devices;

	MESSAGE(devices, v1__container_devices__init);
	devices->resource_name = strdup(resource);
	devices->n_device_ids = 1;
	devices->device_ids = calloc(1, sizeof(char *));
	devices->device_ids[0] = strdup(slot);
	return devices;
}

static V1__ContainerResources *container_new(const Pod *pod, gboolean with_devices)
{
	V1__ContainerResources *container;
	const guint n = pod->grant && with_devices ? g_strv_length(pod->grant->slots) : 0;

	MESSAGE(container, v1__container_resources__init);
	container->name = strdup("main");
	container->n_devices = n;
	container->devices = calloc(MAX(n, 1), sizeof(*container->devices));
	for (guint i = 0; i < n; i++)
		container->devices[i] = device_new(pod->resource, pod->grant->slots[i]);
	return container;
}

static V1__PodResources *pod_new(const Pod *pod, gboolean with_devices)
{
	V1__PodResources *message;

	MESSAGE(message, v1__pod_resources__init);
	message->name = strdup(pod->name);
	message->namespace_ = strdup("ns");
	message->n_containers = 1;
	message->containers = calloc(1, sizeof(*message->containers));
	message->containers[0] = container_new(pod, with_devices);
	return message;
}

gboolean podresources_is_starting(const PodResources *of)
{
	return of->era->pre_lists && clock_now_us() - of->since_us < STARTS_US;
}

static void list_asked(RdmadGrpcCall *call, const guint8 *bytes, gsize size, gpointer data)
{
	PodResources *of = data;
	const GPtrArray *pods = pods_all();
	const gboolean starts = podresources_is_starting(of);
	V1__ListPodResourcesResponse *list;

	MESSAGE(list, v1__list_pod_resources_response__init);
	list->pod_resources = calloc(MAX(pods->len, 1), sizeof(*list->pod_resources));
	for (guint i = 0; i < pods->len; i++) {
		const Pod *pod = pods->pdata[i];

		if (((pod->state == POD_WAITING || pod->state == POD_ADMITTING) &&
		     !pod->has_sandbox) ||
		    pod->state == POD_FORCED ||
		    (pod->state == POD_ENDED && !of->era->lists_completed))
			continue;
		list->pod_resources[list->n_pod_resources++] = pod_new(pod, !starts);
	}
	decisions_note(of->decisions, "podresources: %u pods%s %" G_GINT64_FORMAT,
		       (guint)list->n_pod_resources, starts ? " without devices" : "",
		       clock_now_us());
	answer_later(of, call, &list->base, !starts);
}

static void allocatable_asked(RdmadGrpcCall *call, const guint8 *bytes, gsize size, gpointer data)
{
	V1__AllocatableResourcesResponse *message;
	guint n = 0;

	MESSAGE(message, v1__allocatable_resources_response__init);
	for (guint i = 0; i < NODE_RESOURCES; i++) {
		const GPtrArray *slots = kubelet_list(node_resources[i].name);

		n += slots ? slots->len : 0;
	}
	message->devices = calloc(MAX(n, 1), sizeof(*message->devices));
	for (guint i = 0; i < NODE_RESOURCES; i++) {
		const GPtrArray *slots = kubelet_list(node_resources[i].name);
		const gboolean removed = kubelet_has_removed(node_resources[i].name);

		for (guint j = 0; slots && j < slots->len; j++) {
			const ListedSlot *slot = slots->pdata[j];

			if (slot->healthy && !removed)
				message->devices[message->n_devices++] =
					device_new(node_resources[i].name, slot->slot);
		}
	}
	answer_later(data, call, &message->base, FALSE);
}

static const RdmadGrpcMethod methods[] = {
	{ "/v1.PodResourcesLister/List", list_asked },
	{ "/v1.PodResourcesLister/GetAllocatableResources", allocatable_asked },
	{ 0 },
};

/* ---- life cycle ---- */

PodResources *podresources_new(RdmadLoop *loop, const char *dir, const KubeletEra *era,
			       Decisions *decisions)
{
	PodResources *podresources = g_new0(PodResources, 1);
	g_autofree char *below = g_build_filename(dir, "pod-resources", NULL);
	g_autofree char *path = g_build_filename(below, "kubelet.sock", NULL);
	g_autoptr(GError) error = NULL;

	g_mkdir_with_parents(below, 0755);
	g_unlink(path);
	podresources->loop = loop;
	podresources->era = era;
	podresources->decisions = decisions;
	podresources->since_us = clock_now_us();
	podresources->answers = g_ptr_array_new_with_free_func(answer_free);
	podresources->server =
		rdmad_grpc_server_new(loop, NULL, path, methods, podresources, NULL, &error);
	g_assert_no_error(error);
	return podresources;
}

void podresources_free(PodResources *podresources)
{
	g_ptr_array_unref(podresources->answers);
	rdmad_grpc_server_free(podresources->server);
	g_free(podresources);
}

void podresources_set_hung(PodResources *podresources, gboolean hung)
{
	podresources->hung = hung;
	for (guint i = 0; !hung && i < podresources->answers->len; i++)
		rdmad_event_arm(((Answer *)podresources->answers->pdata[i])->timer, 0);
}
