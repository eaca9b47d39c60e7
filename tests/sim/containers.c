/* SPDX-License-Identifier: Apache-2.0 */
#include "containers.h"

#include "clock.h"
#include "deviceplugin.pb-c.h"

#define PRE_START_MS 30000

/* A PreStartContainer that is on its way. */
typedef struct {
	char *uid;
	const RdmadGrpcChannel *channel;
	gint64 asked_us;
} Start;

static struct {
	const KubeletOps *ops;
	Decisions *decisions;
	GPtrArray *starts; /* of Start */
} containers;

static void start_free(gpointer data)
{
	g_free(((Start *)data)->uid);
	g_free(data);
}

void containers_begin(const KubeletOps *ops, Decisions *decisions)
{
	containers.ops = ops;
	containers.decisions = decisions;
	if (!containers.starts)
		containers.starts = g_ptr_array_new_with_free_func(start_free);
}

void containers_channel_ends(const RdmadGrpcChannel *channel)
{
	for (guint i = containers.starts->len; i-- > 0;)
		if (((const Start *)containers.starts->pdata[i])->channel == channel)
			g_ptr_array_remove_index(containers.starts, i);
}

/* ---- the start of one ---- */

static void container_run(Pod *pod)
{
	static const gint64 init_takes_us[] = { 100 * SIM_MS, 3 * SIM_S, 40 * SIM_S, 200 * SIM_S };
	const gboolean is_init = pod_next_grant(pod) != pod->grant;
	const guint how =
		is_init ? decide(containers.decisions, DECIDE_INIT, G_N_ELEMENTS(init_takes_us))
			: 0;

	pod_run(pod, clock_now_us() + init_takes_us[how]);
}

static gboolean is_asked(const Pod *pod)
{
	for (guint i = 0; i < containers.starts->len; i++)
		if (g_str_equal(((const Start *)containers.starts->pdata[i])->uid, pod->uid))
			return TRUE;
	return FALSE;
}

static void pre_started(RdmadGrpcStatus status, const char *text, gpointer data)
{
	const Start *start = data;
	Pod *pod = pods_find(start->uid);
	const gint64 took_us = clock_now_us() - start->asked_us;
	const gboolean may_run = pod && pod->state == POD_STARTING && pod->grant;

	if (status != RDMAD_GRPC_UNAVAILABLE && status != RDMAD_GRPC_CANCELLED && pod)
		containers.ops->pre_started(pod, status == RDMAD_GRPC_OK ? NULL : text, took_us);
	g_ptr_array_remove(containers.starts, data);
	/* Kubelet backs off before it starts a container again that has failed to start. */
	if (status != RDMAD_GRPC_OK)
		return;
	if (may_run)
		container_run(pod);
	kubelet_sync_pods();
}

static void pre_start(const Pod *pod, RdmadGrpcChannel *channel)
{
	static const RdmadGrpcRequestOps ops = { .done = pre_started };
	V1beta1__PreStartContainerRequest request = V1BETA1__PRE_START_CONTAINER_REQUEST__INIT;
	g_autofree guint8 *bytes = NULL;
	Start *start = g_new(Start, 1);

	request.devices_ids = pod_next_grant(pod)->slots;
	request.n_devices_ids = g_strv_length(request.devices_ids);
	bytes = g_malloc(v1beta1__pre_start_container_request__get_packed_size(&request));
	*start = (Start){ g_strdup(pod->uid), channel, clock_now_us() };
	g_ptr_array_add(containers.starts, start);
	rdmad_grpc_channel_call(channel, "/v1beta1.DevicePlugin/PreStartContainer", bytes,
				v1beta1__pre_start_container_request__pack(&request, bytes),
				PRE_START_MS, &ops, start);
}

/* The runtime mounts the directory, and tries again later when it is not there. */
static void container_start(Pod *pod)
{
	RdmadGrpcChannel *channel;

	if (!g_file_test(pod_next_grant(pod)->directory, G_FILE_TEST_IS_DIR))
		return;
	if (!kubelet_pre_start(pod->resource, &channel))
		container_run(pod);
	else if (channel)
		pre_start(pod, channel);
}

static void pod_start(Pod *pod, gboolean may_start)
{
	pod_begin(pod);
	if (pod->init_until_us && pod->init_until_us <= clock_now_us())
		pod_set_up(pod);
	if (pod->init_until_us || is_asked(pod) || !may_start ||
	    !containers.ops->makes_network(pod))
		return;
	pod_make_sandbox(pod);
	container_start(pod);
}

/* ---- the end of a pod ---- */

/* The runtime takes its time to end containers, and kubelet to look. */
static void pod_tidy(Pod *pod)
{
	static const gint64 takes_us[] = { 0, 300 * SIM_MS, 5 * SIM_S, 70 * SIM_S };

	if (!pod->cleaned_us)
		pod->cleaned_us = clock_now_us() +
				  takes_us[decide_rarely(containers.decisions, DECIDE_KUBELET, 3,
							 G_N_ELEMENTS(takes_us))];
	if (pod->cleaned_us <= clock_now_us())
		pod_clean(pod);
}

/* ---- all ---- */

static gboolean is_ended_with_cgroup(const Pod *pod)
{
	return pod->state == POD_ENDED && pod->has_cgroup;
}

void containers_look(gboolean may_start)
{
	const GPtrArray *pods = pods_all();

	for (guint i = 0; i < pods->len; i++) {
		Pod *pod = pods->pdata[i];

		if (pod->state == POD_STARTING && pod->grant)
			pod_start(pod, may_start);
		else if (is_ended_with_cgroup(pod))
			pod_tidy(pod);
	}
}

gboolean containers_wait(void)
{
	const GPtrArray *pods = pods_all();

	for (guint i = 0; i < pods->len; i++) {
		const Pod *pod = pods->pdata[i];

		if (pod->state == POD_WAITING || pod->state == POD_STARTING ||
		    is_ended_with_cgroup(pod))
			return TRUE;
	}
	return FALSE;
}
