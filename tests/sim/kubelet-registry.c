/* SPDX-License-Identifier: Apache-2.0 */
/* Registration by plugins_registry: each socket there is asked for its resource. */
#include <rdmad/directory-watch.h>
#include <sys/stat.h>

#include "clock.h"
#include "kubelet.h"
#include "pluginregistration.pb-c.h"

#define INFO_MS	       1000
#define RETRY_FIRST_US (500 * SIM_MS)
#define RETRY_LAST_US  (8 * SIM_S)

/* A socket. */
typedef struct {
	char *path;
	ino_t inode;
	RdmadGrpcChannel *channel; /* while GetInfo is called */
	char *name;		   /* its resource, from GetInfo */
	gboolean known;
	gint64 due_us, pause_us; /* of the next attempt */
} Plugin;

static struct {
	const char *dir;
	GPtrArray *plugins; /* of Plugin */
	RdmadDirectoryWatch *watch;
	RdmadEvent *retry; /* timer */
} registry;

static void plugin_free(gpointer data)
{
	Plugin *plugin = data;

	g_clear_pointer(&plugin->channel, rdmad_grpc_channel_free);
	g_free(plugin->path);
	g_free(plugin->name);
	g_free(plugin);
}

static Plugin *plugin_find(const char *path, ino_t inode)
{
	for (guint i = 0; i < registry.plugins->len; i++) {
		Plugin *plugin = registry.plugins->pdata[i];

		if (g_str_equal(plugin->path, path) && plugin->inode == inode)
			return plugin;
	}
	return NULL;
}

static void plugin_told(RdmadGrpcStatus status, const char *text, gpointer data)
{
	Plugin *plugin = data;

	plugin->known = TRUE;
}

static void plugin_info(const guint8 *bytes, gsize size, gpointer data)
{
	Plugin *plugin = data;
	Pluginregistration__PluginInfo *info =
		pluginregistration__plugin_info__unpack(NULL, size, bytes);

	g_assert_nonnull(info);
	g_free(plugin->name);
	plugin->name = g_strdup(info->name);
	pluginregistration__plugin_info__free_unpacked(info, NULL);
}

static void plugin_retry(Plugin *plugin)
{
	plugin->due_us = clock_now_us() + plugin->pause_us;
	plugin->pause_us = MIN(plugin->pause_us * 2, RETRY_LAST_US);
	rdmad_event_arm(registry.retry, (guint)(plugin->pause_us / SIM_MS));
}

static void plugin_asked(RdmadGrpcStatus status, const char *text, gpointer data)
{
	static const EndpointOptions none = { 0 };
	Plugin *plugin = data;

	if (status == RDMAD_GRPC_OK && plugin->name)
		kubelet_endpoint_connect(plugin->name, plugin->path, &none, NULL);
	else
		plugin_retry(plugin);
}

static void plugin_tell(Plugin *plugin, const char *error)
{
	static const RdmadGrpcRequestOps registered = { .done = plugin_told };
	static const RdmadGrpcRequestOps failed = { 0 };
	Pluginregistration__RegistrationStatus status =
		PLUGINREGISTRATION__REGISTRATION_STATUS__INIT;
	g_autofree guint8 *bytes = NULL;
	gsize size;

	status.plugin_registered = !error;
	status.error = (char *)(error ? error : "");
	bytes = g_malloc(pluginregistration__registration_status__get_packed_size(&status));
	size = pluginregistration__registration_status__pack(&status, bytes);
	rdmad_grpc_channel_call(plugin->channel,
				"/pluginregistration.Registration/NotifyRegistrationStatus", bytes,
				size, 5 * INFO_MS, error ? &failed : &registered, plugin);
}

void kubelet_registry_connected(const char *path, const char *error)
{
	for (guint i = 0; i < registry.plugins->len; i++) {
		Plugin *plugin = registry.plugins->pdata[i];

		if (!g_str_equal(plugin->path, path) || plugin->known || !plugin->channel)
			continue;
		plugin_tell(plugin, error);
		if (error)
			plugin_retry(plugin);
	}
}

static void plugin_ask(Plugin *plugin)
{
	static const RdmadGrpcRequestOps ops = { plugin_info, plugin_asked };

	plugin->due_us = G_MAXINT64;
	g_clear_pointer(&plugin->channel, rdmad_grpc_channel_free);
	plugin->channel = rdmad_grpc_channel_new(kubelet_loop(), NULL, plugin->path, 0);
	rdmad_grpc_channel_call(plugin->channel, "/pluginregistration.Registration/GetInfo", NULL,
				0, INFO_MS, &ops, plugin);
}

static void plugin_found(const char *path, ino_t inode)
{
	Plugin *plugin = plugin_find(path, inode);

	if (!plugin) {
		plugin = g_new0(Plugin, 1);
		plugin->path = g_strdup(path);
		plugin->inode = inode;
		plugin->pause_us = RETRY_FIRST_US;
		g_ptr_array_add(registry.plugins, plugin);
	}
	if (!plugin->known && plugin->due_us <= clock_now_us())
		plugin_ask(plugin);
}

static void registry_look(gpointer data)
{
	g_autoptr(GDir) dir = g_dir_open(registry.dir, 0, NULL);
	const char *name;
	struct stat st;

	for (guint i = registry.plugins->len; i-- > 0;) {
		const Plugin *plugin = registry.plugins->pdata[i];

		if (lstat(plugin->path, &st) == 0 && st.st_ino == plugin->inode)
			continue;
		kubelet_endpoint_lose(plugin->path);
		g_ptr_array_remove_index(registry.plugins, i);
	}
	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *path = g_build_filename(registry.dir, name, NULL);

		if (*name != '.' && lstat(path, &st) == 0 && S_ISSOCK(st.st_mode))
			plugin_found(path, st.st_ino);
	}
}

void kubelet_registry_start(const char *dir)
{
	registry.dir = dir;
	registry.plugins = g_ptr_array_new_with_free_func(plugin_free);
	registry.retry = rdmad_loop_add_timer(kubelet_loop(), NULL, registry_look, NULL);
	registry.watch = rdmad_directory_watch_new(kubelet_loop(), NULL, dir, registry_look, NULL);
	rdmad_event_arm(registry.retry, 0);
}

void kubelet_registry_stop(void)
{
	g_clear_pointer(&registry.watch, rdmad_directory_watch_free);
	g_clear_pointer(&registry.retry, rdmad_event_free);
	g_clear_pointer(&registry.plugins, g_ptr_array_unref);
}
