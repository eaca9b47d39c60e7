/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet.h"

#include <glib/gstdio.h>

#include "containers.h"
#include "deviceplugin.pb-c.h"
#include "machine.h"
#include "podresources.h"
#include "turns.h"

#define SOCKET_NAME "kubelet.sock"
#define LOOK_MS	    1000

static struct {
	char *dir, *legacy_dir, *registry_dir;
	const KubeletEra *era;
	const KubeletOps *ops;
	Decisions *decisions;
	RdmadLoop *loop;
	gboolean is_up;
	guint pid;
	RdmadGrpcServer *legacy;
	PodResources *podresources;
	RdmadEvent *look;
} kubelet;

/* ---- registration by Register ---- */

static void serve_register(RdmadGrpcCall *call, const guint8 *bytes, gsize size, gpointer data)
{
	V1beta1__RegisterRequest *request = v1beta1__register_request__unpack(NULL, size, bytes);
	EndpointOptions options = { 0 };
	g_autofree char *path = NULL;

	g_assert_nonnull(request);
	path = g_build_filename(kubelet.legacy_dir, request->endpoint, NULL);
	if (request->options)
		options = (EndpointOptions){ request->options->pre_start_required,
					     request->options->get_preferred_allocation_available };
	kubelet_endpoint_connect(request->resource_name, path, &options, call);
	v1beta1__register_request__free_unpacked(request, NULL);
}

static const RdmadGrpcMethod legacy_methods[] = {
	{ "/v1beta1.Registration/Register", serve_register },
	{ 0 },
};

/* ---- the turns ---- */

static void look(gpointer data)
{
	kubelet_endpoints_sweep();
	/* Sandboxes come after the device manager has read its checkpoint. */
	containers_look(!podresources_is_starting(kubelet.podresources));
	kubelet_admit_pods();
	if (containers_wait())
		rdmad_event_arm(kubelet.look, LOOK_MS);
}

void kubelet_sync_pods(void)
{
	if (kubelet.is_up)
		rdmad_event_arm(kubelet.look, 0);
}

void kubelet_has_listed(const char *resource)
{
	kubelet.ops->listed(resource);
	kubelet_sync_pods();
}

/* ---- life cycle ---- */

static void sockets_wipe(const char *dir)
{
	g_autoptr(GDir) all = g_dir_open(dir, 0, NULL);
	const char *name;

	while (all && (name = g_dir_read_name(all))) {
		g_autofree char *path = g_build_filename(dir, name, NULL);

		if (!g_str_equal(name, SOCKET_NAME))
			g_unlink(path);
	}
}

void kubelet_wipe_sockets(void)
{
	sockets_wipe(kubelet.registry_dir);
	sockets_wipe(kubelet.legacy_dir);
}

RdmadLoop *kubelet_loop(void)
{
	return kubelet.loop;
}

gboolean kubelet_is_up(void)
{
	return kubelet.is_up;
}

guint kubelet_pid(void)
{
	return kubelet.is_up ? kubelet.pid : 0;
}

void kubelet_set_hung(gboolean hung)
{
	if (kubelet.is_up)
		podresources_set_hung(kubelet.podresources, hung);
}

void kubelet_start(void)
{
	g_autofree char *socket = g_build_filename(kubelet.legacy_dir, SOCKET_NAME, NULL);
	g_autoptr(GError) error = NULL;

	kubelet.is_up = TRUE;
	kubelet.pid = machine_process_begin(0, "");
	kubelet_endpoints_start(kubelet.era, kubelet.decisions);
	sockets_wipe(kubelet.legacy_dir);
	kubelet.look = rdmad_loop_add_timer(kubelet.loop, NULL, look, NULL);
	kubelet.podresources =
		podresources_new(kubelet.loop, kubelet.dir, kubelet.era, kubelet.decisions);
	if (kubelet.era->has_registry)
		kubelet_registry_start(kubelet.registry_dir);
	kubelet.legacy = rdmad_grpc_server_new(kubelet.loop, NULL, socket, legacy_methods, NULL,
					       NULL, &error);
	g_assert_no_error(error);
	kubelet_admission_start(kubelet.era);
	rdmad_event_arm(kubelet.look, 0);
}

void kubelet_stop(gboolean forgets)
{
	if (kubelet.is_up) {
		kubelet.is_up = FALSE;
		if (kubelet.era->has_registry)
			kubelet_registry_stop();
		g_clear_pointer(&kubelet.look, rdmad_event_free);
		kubelet_endpoints_stop();
		g_clear_pointer(&kubelet.legacy, rdmad_grpc_server_free);
		g_clear_pointer(&kubelet.podresources, podresources_free);
	}
	kubelet_admission_stop(forgets);
}

void kubelet_begin(const char *dir, const KubeletEra *era, const KubeletOps *ops,
		   Decisions *decisions)
{
	kubelet.dir = g_strdup(dir);
	kubelet.legacy_dir = g_build_filename(dir, "device-plugins", NULL);
	kubelet.registry_dir = g_build_filename(dir, "plugins_registry", NULL);
	kubelet.era = era;
	kubelet.ops = ops;
	kubelet.decisions = decisions;
	containers_begin(ops, decisions);
	kubelet_admission_begin(ops, decisions);
	g_mkdir_with_parents(kubelet.legacy_dir, 0755);
	if (era->has_registry)
		g_mkdir_with_parents(kubelet.registry_dir, 0755);
	kubelet.loop = turns_kubelet_loop_new();
}

void kubelet_end(void)
{
	kubelet_stop(FALSE);
	turns_end();
	rdmad_loop_free(kubelet.loop);
	g_free(kubelet.registry_dir);
	g_free(kubelet.legacy_dir);
	g_free(kubelet.dir);
}
