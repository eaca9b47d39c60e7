/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/kubelet.h"

#include <errno.h>
#include <fcntl.h>
#include <rdmad/clock.h>
#include <rdmad/directory-watch.h>
#include <rdmad/fd.h>
#include <rdmad/log.h>
#include <rdmad/random.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "deviceplugin.pb-c.h"
#include "resource-name.h"

#define REGISTER_DEADLINE_MS 15000 /* includes up to 10 s for kubelet to connect to the plugin */
#define ANSWER_MAX	     65536
#define ALLOCATABLE_MAX	     (16u << 20) /* devices of all plugins, one message each */
#define ALLOCATABLE_MS	     5000
#define BASE_SHOWN	     32
#define HOLD_US		     (500 * 1000)

/* A socket of an earlier rdmad. */
typedef struct {
	char *path;
	gint64 removed_us; /* monotonic: when no process listened; 0: one did at the last look */
} OlderSocket;

struct Kubelet {
	char *legacy_dir, *registry_dir, *socket;
	char *prefix;
	RegistrationMethod configured;
	GArray *older;	  /* of OlderSocket */
	guint32 sequence; /* of socket names */
	RdmadDirectoryWatch *legacy_watch, *registry_watch;
	RdmadGrpcChannel *channel, *podresources;
};

/* ---- sockets ---- */

/* The process ID is the same at each start in a container, so the sequence starts at random. */
static guint32 sequence_start(void)
{
	return rdmad_random() & 0xffffff;
}

char *kubelet_new_path(Kubelet *kubelet, RegistrationMethod method, const char *resource)
{
	const char *dir =
		method == REGISTRATION_REGISTRY ? kubelet->registry_dir : kubelet->legacy_dir;

	return g_strdup_printf("%s/%s-%.*s-%d-%06x.sock", dir, kubelet->prefix, BASE_SHOWN,
			       resource_name_base(resource), (int)getpid(),
			       kubelet->sequence++ & 0xffffff);
}

/* Other errors may be temporary. */
static gboolean is_absence(int errnum)
{
	return errnum == ENOENT || errnum == ENOTDIR;
}

static void older_clear(gpointer older)
{
	g_free(((OlderSocket *)older)->path);
}

/* Removes the socket if no process listens at it. */
static void older_look(OlderSocket *older)
{
	if (older->removed_us || !rdmad_socket_file_is_dead(older->path) || unlink(older->path) < 0)
		return;
	rdmad_debug("%s: removed, left by an earlier run", older->path);
	older->removed_us = rdmad_now_us();
}

static gboolean is_socket_of(const char *path, const char *name, const char *prefix)
{
	g_autofree char *start = g_strconcat(prefix, "-", NULL);
	struct stat info;

	return g_str_has_prefix(name, start) && g_str_has_suffix(name, ".sock") &&
	       lstat(path, &info) == 0 && S_ISSOCK(info.st_mode);
}

static void older_find(Kubelet *kubelet, const char *dir)
{
	g_auto(GStrv) names = rdmad_fd_list(AT_FDCWD, dir);

	if (!names && !is_absence(errno))
		rdmad_warn("stale sockets stay, cannot list %s: %s", dir, g_strerror(errno));
	for (char **name = names; name && *name; name++) {
		g_autofree char *path = g_build_filename(dir, *name, NULL);
		OlderSocket older = { path, 0 };

		if (!is_socket_of(path, *name, kubelet->prefix))
			continue;
		g_steal_pointer(&path);
		g_array_append_val(kubelet->older, older);
	}
}

/* Kubelet would keep trying to connect to stale sockets in plugins_registry. */
void kubelet_remove_stale_sockets(Kubelet *kubelet)
{
	for (guint i = 0; i < kubelet->older->len; i++)
		older_look(&g_array_index(kubelet->older, OlderSocket, i));
}

void kubelet_own_socket(Kubelet *kubelet, const char *path)
{
	for (guint i = 0; i < kubelet->older->len; i++)
		if (g_str_equal(g_array_index(kubelet->older, OlderSocket, i).path, path)) {
			g_array_remove_index_fast(kubelet->older, i);
			return;
		}
}

/* Returns the rest of the delay after the removal. */
static gint64 older_hold_us(const OlderSocket *older)
{
	return older->removed_us ? MAX(older->removed_us + HOLD_US - rdmad_now_us(), 0) : 0;
}

guint kubelet_hold_ms(const Kubelet *kubelet)
{
	gint64 left_us = 0;

	for (guint i = 0; i < kubelet->older->len; i++)
		left_us =
			MAX(left_us, older_hold_us(&g_array_index(kubelet->older, OlderSocket, i)));
	return left_us > 0 ? (guint)(left_us / 1000) + 1 : 0;
}

/* Returns whether kubelet_new_path() has given the path, for that resource. */
static gboolean is_path_for(const char *path, const char *prefix, const char *resource)
{
	g_autofree char *start =
		g_strdup_printf("%s-%.*s-", prefix, BASE_SHOWN, resource_name_base(resource));
	const char *name = strrchr(path, '/') + 1;
	guint sequence;
	int pid, end = 0;

	return g_str_has_prefix(name, start) &&
	       sscanf(name + strlen(start), "%d-%6x.sock%n", &pid, &sequence, &end) == 2 && end;
}

gboolean kubelet_lost_socket(const Kubelet *kubelet, const char *resource, gint64 since_us)
{
	for (guint i = 0; i < kubelet->older->len; i++) {
		const OlderSocket *older = &g_array_index(kubelet->older, OlderSocket, i);

		if (older->removed_us && older->removed_us + HOLD_US > since_us &&
		    is_path_for(older->path, kubelet->prefix, resource))
			return TRUE;
	}
	return FALSE;
}

/* ---- identity of kubelet, registration method ---- */

RegistrationMethod kubelet_registration_method(const Kubelet *kubelet)
{
	struct stat info;

	if (kubelet->configured != REGISTRATION_AUTO)
		return kubelet->configured;
	if (stat(kubelet->registry_dir, &info) < 0)
		return is_absence(errno) ? REGISTRATION_LEGACY : REGISTRATION_REGISTRY;
	return S_ISDIR(info.st_mode) ? REGISTRATION_REGISTRY : REGISTRATION_LEGACY;
}

gboolean kubelet_identify(const Kubelet *kubelet, RdmadSocketFile *file)
{
	return rdmad_socket_file_identify(kubelet->socket, file);
}

gboolean kubelet_is_away(const Kubelet *kubelet)
{
	struct stat info;

	return stat(kubelet->socket, &info) < 0 ? is_absence(errno) : !S_ISSOCK(info.st_mode);
}

gboolean kubelet_lives(const Kubelet *kubelet, const RdmadSocketFile *file)
{
	RdmadSocketFile now;

	if (!kubelet_identify(kubelet, &now))
		return !kubelet_is_away(kubelet);
	return rdmad_socket_file_equal(&now, file) && !rdmad_socket_file_is_dead(kubelet->socket);
}

/* ---- Register ---- */

RdmadGrpcRequest *kubelet_register(Kubelet *kubelet, const char *resource, const char *socket_path,
				   const PluginOptions *options, const RdmadGrpcRequestOps *ops,
				   gpointer data)
{
	V1beta1__DevicePluginOptions message = V1BETA1__DEVICE_PLUGIN_OPTIONS__INIT;
	V1beta1__RegisterRequest request = V1BETA1__REGISTER_REQUEST__INIT;
	g_autofree char *endpoint = g_path_get_basename(socket_path);
	g_autofree guint8 *bytes = NULL;
	gsize size;

	/* Old versions of kubelet read the options here; newer ones call GetDevicePluginOptions. */
	message.get_preferred_allocation_available = options->preferred;
	message.pre_start_required = options->pre_start;
	request.version = (char *)"v1beta1";
	request.endpoint = endpoint;
	request.resource_name = (char *)resource;
	request.options = &message;
	size = v1beta1__register_request__get_packed_size(&request);
	bytes = g_malloc(size);
	v1beta1__register_request__pack(&request, bytes);
	return rdmad_grpc_channel_call(kubelet->channel, "/v1beta1.Registration/Register", bytes,
				       size, REGISTER_DEADLINE_MS, ops, data);
}

RdmadGrpcRequest *kubelet_ask_allocatable(Kubelet *kubelet, const RdmadGrpcRequestOps *ops,
					  gpointer data)
{
	return rdmad_grpc_channel_call(kubelet->podresources,
				       "/v1.PodResourcesLister/GetAllocatableResources", NULL, 0,
				       ALLOCATABLE_MS, ops, data);
}

/* ---- life cycle ---- */

void kubelet_configure(Kubelet *kubelet, const PluginSettings *settings)
{
	kubelet->configured = (RegistrationMethod)settings->registration;
	g_free(kubelet->prefix);
	kubelet->prefix = g_strdup(settings->socket_prefix);
}

Kubelet *kubelet_new(RdmadModule *self, const PluginSettings *settings,
		     void (*changed)(gpointer data), gpointer data)
{
	Kubelet *kubelet = g_new0(Kubelet, 1);
	const char *root = rdmad_module_kubelet_dir(self);
	g_autofree char *podresources =
		g_build_filename(root, "pod-resources", "kubelet.sock", NULL);

	kubelet->legacy_dir = g_build_filename(root, "device-plugins", NULL);
	kubelet->registry_dir = g_build_filename(root, "plugins_registry", NULL);
	kubelet->socket = g_build_filename(kubelet->legacy_dir, "kubelet.sock", NULL);
	kubelet->sequence = sequence_start();
	kubelet_configure(kubelet, settings);
	kubelet->older = g_array_new(FALSE, FALSE, sizeof(OlderSocket));
	g_array_set_clear_func(kubelet->older, older_clear);
	older_find(kubelet, kubelet->legacy_dir);
	older_find(kubelet, kubelet->registry_dir);
	kubelet_remove_stale_sockets(kubelet);
	kubelet->channel =
		rdmad_grpc_channel_new(rdmad_module_loop(self), self, kubelet->socket, ANSWER_MAX);
	kubelet->podresources = rdmad_grpc_channel_new(rdmad_module_loop(self), self, podresources,
						       ALLOCATABLE_MAX);
	kubelet->legacy_watch = rdmad_directory_watch_new(rdmad_module_loop(self), self,
							  kubelet->legacy_dir, changed, data);
	kubelet->registry_watch = rdmad_directory_watch_new(rdmad_module_loop(self), self,
							    kubelet->registry_dir, changed, data);
	return kubelet;
}

void kubelet_free(Kubelet *kubelet)
{
	if (!kubelet)
		return;
	rdmad_directory_watch_free(kubelet->registry_watch);
	rdmad_directory_watch_free(kubelet->legacy_watch);
	rdmad_grpc_channel_free(kubelet->channel);
	rdmad_grpc_channel_free(kubelet->podresources);
	g_array_unref(kubelet->older);
	g_free(kubelet->prefix);
	g_free(kubelet->socket);
	g_free(kubelet->registry_dir);
	g_free(kubelet->legacy_dir);
	g_free(kubelet);
}
