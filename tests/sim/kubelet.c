/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet.h"

#include <glib/gstdio.h>
#include <rdmad/directory-watch.h>
#include <rdmad/grpc.h>
#include <string.h>
#include <sys/stat.h>

#include "clock.h"
#include "containers.h"
#include "deviceplugin.pb-c.h"
#include "machine.h"
#include "pluginregistration.pb-c.h"
#include "podresources.h"
#include "turns.h"

#define SOCKET_NAME	"kubelet.sock"
#define LOOK_MS		1000
#define INFO_MS		1000
#define OPTIONS_MS	10000
#define RETRY_FIRST_US	(500 * SIM_MS)
#define RETRY_LAST_US	(8 * SIM_S)
#define DEVICES_MESSAGE (1u << 20)
/* Five minutes, and the time to the next report of the node's state. */
#define STOP_GRACE_US (310 * SIM_S)

typedef struct {
	char *name;
	struct Endpoint *endpoint; /* of the last registration */
	gboolean pre_start;	   /* its plugin wants PreStartContainer, as it said last */
	GPtrArray *slots;	   /* of ListedSlot */
} Resource;

/* A connection to a plugin; freed one turn after its end. */
typedef struct Endpoint {
	Resource *resource;
	char *path;
	RdmadGrpcChannel *channel;
	RdmadEvent *dial;	    /* timer */
	RdmadGrpcCall *registering; /* the pending Register, or NULL */
	gboolean pre_start;	    /* its plugin requires PreStartContainer */
	gboolean streams;	    /* ListAndWatch is open */
	gboolean stopped, over;
	gint64 stopped_us;
	guint serial;
} Endpoint;

/* A socket in plugins_registry. */
typedef struct {
	char *path;
	ino_t inode;
	RdmadGrpcChannel *channel; /* while GetInfo is called */
	char *name;		   /* its resource, from GetInfo */
	gboolean known;
	gint64 due_us, pause_us; /* of the next attempt */
} Plugin;

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
	RdmadDirectoryWatch *watch;
	RdmadEvent *look, *registry_look;
	GPtrArray *resources; /* of Resource */
	GPtrArray *endpoints; /* of Endpoint */
	guint endpoints_made;
	GPtrArray *plugins; /* of Plugin */
	char *admitting;    /* uid of the pod whose Allocate is pending */
	gint64 asked_us;
	GStrv asked;		   /* the requested slots */
	const Grant *came;	   /* the response */
	const Endpoint *admits_by; /* the endpoint of the pending Allocate */
} kubelet;

/* ---- resources ---- */

static void slot_free(gpointer data)
{
	g_free(((ListedSlot *)data)->slot);
	g_free(data);
}

static void resource_free(gpointer data)
{
	Resource *resource = data;

	g_ptr_array_unref(resource->slots);
	g_free(resource->name);
	g_free(resource);
}

static Resource *resource_find(const char *name)
{
	for (guint i = 0; kubelet.is_up && i < kubelet.resources->len; i++) {
		Resource *resource = kubelet.resources->pdata[i];

		if (g_str_equal(resource->name, name))
			return resource;
	}
	return NULL;
}

static Resource *resource_get(const char *name)
{
	Resource *resource = resource_find(name);

	if (resource)
		return resource;
	resource = g_new0(Resource, 1);
	resource->name = g_strdup(name);
	resource->slots = g_ptr_array_new_with_free_func(slot_free);
	g_ptr_array_add(kubelet.resources, resource);
	return resource;
}

const GPtrArray *kubelet_list(const char *name)
{
	const Resource *resource = resource_find(name);

	return resource ? resource->slots : NULL;
}

gboolean kubelet_has_removed(const char *name)
{
	const Resource *resource = resource_find(name);
	const Endpoint *endpoint = resource ? resource->endpoint : NULL;

	return endpoint && endpoint->stopped &&
	       clock_now_us() - endpoint->stopped_us > STOP_GRACE_US;
}

guint kubelet_endpoints(const char *name)
{
	guint n = 0;

	for (guint i = 0; kubelet.is_up && i < kubelet.endpoints->len; i++) {
		const Endpoint *endpoint = kubelet.endpoints->pdata[i];

		n += endpoint->streams && !endpoint->stopped &&
		     g_str_equal(endpoint->resource->name, name);
	}
	return n;
}

guint kubelet_endpoint(const char *name)
{
	const Resource *resource = resource_find(name);
	const Endpoint *endpoint = resource ? resource->endpoint : NULL;

	return endpoint && endpoint->streams && !endpoint->stopped ? endpoint->serial : 0;
}

/* ---- endpoints ---- */

static void endpoint_free(gpointer data)
{
	Endpoint *endpoint = data;

	containers_channel_ends(endpoint->channel);
	if (endpoint->registering)
		rdmad_grpc_call_unref(endpoint->registering);
	rdmad_grpc_channel_free(endpoint->channel);
	rdmad_event_free(endpoint->dial);
	g_free(endpoint->path);
	g_free(endpoint);
}

static void list_came(const guint8 *bytes, gsize size, gpointer data)
{
	Endpoint *endpoint = data;
	Resource *resource = endpoint->resource;
	V1beta1__ListAndWatchResponse *list =
		v1beta1__list_and_watch_response__unpack(NULL, size, bytes);

	g_assert_nonnull(list);
	g_ptr_array_set_size(resource->slots, 0);
	for (gsize i = 0; i < list->n_devices; i++) {
		ListedSlot *slot = g_new(ListedSlot, 1);

		*slot = (ListedSlot){ g_strdup(list->devices[i]->id),
				      g_str_equal(list->devices[i]->health, "Healthy") };
		g_ptr_array_add(resource->slots, slot);
	}
	v1beta1__list_and_watch_response__free_unpacked(list, NULL);
	kubelet.ops->listed(resource->name);
	rdmad_event_arm(kubelet.look, 0);
}

/* Kubelet knows an endpoint only by the name of its resource, so the end of an older plugin's
 * stream also stops a newer one.  Only the oldest versions compared the streams. */
static void list_ended(RdmadGrpcStatus status, const char *text, gpointer data)
{
	Endpoint *endpoint = data;
	Resource *resource = endpoint->resource;

	endpoint->streams = FALSE;
	endpoint->stopped = endpoint->over = TRUE;
	if (!kubelet.era->dials_inside && resource->endpoint != endpoint)
		return;
	if (resource->endpoint) {
		resource->endpoint->stopped = TRUE;
		resource->endpoint->stopped_us = clock_now_us();
	}
	for (guint i = 0; i < resource->slots->len; i++)
		((ListedSlot *)resource->slots->pdata[i])->healthy = FALSE;
}

static void register_answer(Endpoint *endpoint, const char *error)
{
	if (!endpoint->registering)
		return;
	if (error)
		rdmad_grpc_call_fail(endpoint->registering, RDMAD_GRPC_UNKNOWN, "%s", error);
	else
		rdmad_grpc_call_reply(endpoint->registering, (const guint8 *)"", 0);
	g_clear_pointer(&endpoint->registering, rdmad_grpc_call_unref);
}

/* The oldest kubelets take what Register has said. */
static void options_came(const guint8 *bytes, gsize size, gpointer data)
{
	Endpoint *endpoint = data;
	V1beta1__DevicePluginOptions *options =
		v1beta1__device_plugin_options__unpack(NULL, size, bytes);

	g_assert_nonnull(options);
	if (kubelet.era->dials_inside || kubelet.era->has_registry)
		endpoint->pre_start = options->pre_start_required;
	v1beta1__device_plugin_options__free_unpacked(options, NULL);
}

static void options_done(RdmadGrpcStatus status, const char *text, gpointer data)
{
	static const RdmadGrpcRequestOps list_ops = { list_came, list_ended };
	Endpoint *endpoint = data;

	if (status != RDMAD_GRPC_OK) {
		register_answer(endpoint, "failed to dial device plugin");
		endpoint->stopped = endpoint->over = TRUE;
		return;
	}
	endpoint->resource->endpoint = endpoint;
	endpoint->resource->pre_start = endpoint->pre_start;
	endpoint->streams = TRUE;
	rdmad_grpc_channel_call(endpoint->channel, "/v1beta1.DevicePlugin/ListAndWatch", NULL, 0, 0,
				&list_ops, endpoint);
	register_answer(endpoint, NULL);
}

static void endpoint_dial(gpointer data)
{
	static const RdmadGrpcRequestOps ops = { options_came, options_done };
	Endpoint *endpoint = data;

	rdmad_grpc_channel_call(endpoint->channel, "/v1beta1.DevicePlugin/GetDevicePluginOptions",
				NULL, 0, OPTIONS_MS, &ops, endpoint);
}

/* `registering` is the call to respond to, or NULL. */
static void endpoint_connect(const char *name, const char *path, gboolean pre_start,
			     RdmadGrpcCall *registering)
{
	static const guint after_ms[] = { 0, 100, 1000 };
	const guint how = decide_rarely(kubelet.decisions, DECIDE_DIAL, 8, G_N_ELEMENTS(after_ms));
	Endpoint *endpoint = g_new0(Endpoint, 1);

	endpoint->serial = ++kubelet.endpoints_made;
	endpoint->resource = resource_get(name);
	endpoint->path = g_strdup(path);
	endpoint->pre_start = pre_start;
	endpoint->channel = rdmad_grpc_channel_new(kubelet.loop, NULL, path, DEVICES_MESSAGE);
	if (registering)
		endpoint->registering = rdmad_grpc_call_ref(registering);
	if (!kubelet.era->dials_inside)
		register_answer(endpoint, NULL);
	endpoint->dial = rdmad_loop_add_timer(kubelet.loop, NULL, endpoint_dial, endpoint);
	g_ptr_array_add(kubelet.endpoints, endpoint);
	if (how)
		rdmad_event_arm(endpoint->dial, after_ms[how]);
	else
		endpoint_dial(endpoint);
}

/* ---- registration by Register ---- */

static void serve_register(RdmadGrpcCall *call, const guint8 *bytes, gsize size, gpointer data)
{
	V1beta1__RegisterRequest *request = v1beta1__register_request__unpack(NULL, size, bytes);
	g_autofree char *path = NULL;

	g_assert_nonnull(request);
	path = g_build_filename(kubelet.legacy_dir, request->endpoint, NULL);
	endpoint_connect(request->resource_name, path,
			 request->options && request->options->pre_start_required, call);
	v1beta1__register_request__free_unpacked(request, NULL);
}

static const RdmadGrpcMethod legacy_methods[] = {
	{ "/v1beta1.Registration/Register", serve_register },
	{ 0 },
};

/* ---- registration by plugins_registry ---- */

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
	for (guint i = 0; i < kubelet.plugins->len; i++) {
		Plugin *plugin = kubelet.plugins->pdata[i];

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

static void plugin_asked(RdmadGrpcStatus status, const char *text, gpointer data)
{
	static const RdmadGrpcRequestOps ops = { .done = plugin_told };
	static const guint8 registered[] = { 0x08, 0x01 }; /* plugin_registered: true */
	Plugin *plugin = data;

	if (status != RDMAD_GRPC_OK || !plugin->name) {
		plugin->due_us = clock_now_us() + plugin->pause_us;
		plugin->pause_us = MIN(plugin->pause_us * 2, RETRY_LAST_US);
		rdmad_event_arm(kubelet.registry_look, (guint)(plugin->pause_us / SIM_MS));
		return;
	}
	endpoint_connect(plugin->name, plugin->path, FALSE, NULL);
	rdmad_grpc_channel_call(plugin->channel,
				"/pluginregistration.Registration/NotifyRegistrationStatus",
				registered, sizeof(registered), 5 * INFO_MS, &ops, plugin);
}

static void plugin_ask(Plugin *plugin)
{
	static const RdmadGrpcRequestOps ops = { plugin_info, plugin_asked };

	plugin->due_us = G_MAXINT64;
	g_clear_pointer(&plugin->channel, rdmad_grpc_channel_free);
	plugin->channel = rdmad_grpc_channel_new(kubelet.loop, NULL, plugin->path, 0);
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
		g_ptr_array_add(kubelet.plugins, plugin);
	}
	if (!plugin->known && plugin->due_us <= clock_now_us())
		plugin_ask(plugin);
}

/* The socket was removed: closes the connection to it. */
static void plugin_lost(const Plugin *plugin)
{
	for (guint i = 0; i < kubelet.endpoints->len; i++) {
		Endpoint *endpoint = kubelet.endpoints->pdata[i];

		if (!endpoint->over && g_str_equal(endpoint->path, plugin->path))
			list_ended(RDMAD_GRPC_CANCELLED, NULL, endpoint);
	}
}

static void registry_look(gpointer data)
{
	g_autoptr(GDir) dir = g_dir_open(kubelet.registry_dir, 0, NULL);
	const char *name;
	struct stat st;

	for (guint i = kubelet.plugins->len; i-- > 0;) {
		const Plugin *plugin = kubelet.plugins->pdata[i];

		if (lstat(plugin->path, &st) == 0 && st.st_ino == plugin->inode)
			continue;
		plugin_lost(plugin);
		g_ptr_array_remove_index(kubelet.plugins, i);
	}
	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *path = g_build_filename(kubelet.registry_dir, name, NULL);

		if (*name != '.' && lstat(path, &st) == 0 && S_ISSOCK(st.st_mode))
			plugin_found(path, st.st_ino);
	}
}

/* ---- admission ---- */

static gboolean has_slot(const Grant *grant, const char *slot)
{
	return grant && g_strv_contains((const char *const *)grant->slots, slot);
}

static gboolean slot_is_used(const char *resource, const char *slot)
{
	const GPtrArray *pods = pods_all();

	for (guint i = 0; i < pods->len; i++) {
		const Pod *pod = pods->pdata[i];

		if ((pod->grant || pod->init) && g_str_equal(pod->resource, resource) &&
		    (has_slot(pod->grant, slot) || has_slot(pod->init, slot)))
			return TRUE;
	}
	return FALSE;
}

/* Chooses those of the init container first.  Returns NULL if there are not enough slots. */
static GStrv slots_choose(const Resource *resource, const Pod *pod, guint wanted)
{
	g_autofree char **chosen = g_new0(char *, wanted + 1);
	const guint n = resource->slots->len;
	const guint first = n > 1 ? decide_rarely(kubelet.decisions, DECIDE_WHICH, 2, n) : 0;
	guint found = 0;

	for (; pod->init && pod->init->slots[found] && found < wanted; found++)
		chosen[found] = pod->init->slots[found];
	for (guint i = 0; i < n && found < wanted; i++) {
		const ListedSlot *slot = resource->slots->pdata[(first + i) % n];

		if (!slot->healthy || slot_is_used(resource->name, slot->slot))
			continue;
		chosen[found++] = slot->slot;
	}
	return found == wanted ? g_strdupv(chosen) : NULL;
}

static Grant *grant_of(const guint8 *bytes, gsize size)
{
	V1beta1__AllocateResponse *answer = v1beta1__allocate_response__unpack(NULL, size, bytes);
	const V1beta1__ContainerAllocateResponse *container;
	Grant *grant = NULL;

	g_assert_nonnull(answer);
	g_assert_cmpuint(answer->n_container_responses, ==, 1);
	container = answer->container_responses[0];
	for (gsize i = 0; i < container->n_mounts; i++)
		if (g_str_equal(container->mounts[i]->container_path, "/run/rdmad"))
			grant = grant_new((const char *const *)kubelet.asked,
					  container->mounts[i]->host_path);
	g_assert_nonnull(grant);
	v1beta1__allocate_response__free_unpacked(answer, NULL);
	return grant;
}

/* Whose Allocate is next: of an init container that runs or has run kubelet asks for none. */
static Grant **grant_to_come(Pod *pod)
{
	const gboolean is_init = pod->init_wanted && !pod->init && !pod->has_sandbox;

	return is_init ? &pod->init : &pod->grant;
}

static void allocate_came(const guint8 *bytes, gsize size, gpointer data)
{
	Pod *pod = pods_find(kubelet.admitting);
	Grant **grant = grant_to_come(pod);

	grant_free(*grant);
	kubelet.came = *grant = grant_of(bytes, size);
	pod->since_us = clock_now_us();
}

static void admission_end(void)
{
	g_clear_pointer(&kubelet.admitting, g_free);
	g_clear_pointer(&kubelet.asked, g_strfreev);
	kubelet.admits_by = NULL;
	kubelet.came = NULL;
}

/* UnexpectedAdmissionError; what runs of it is ended. */
static void pod_refuse(Pod *pod)
{
	if (pod->has_sandbox)
		pod_exit(pod);
	pods_delete(pod);
}

static void pod_stop_short(Pod *pod)
{
	kubelet.ops->answered(pod, NULL, "not enough for the second container", 0);
	pod_refuse(pod);
}

static gboolean pod_admit(Pod *pod, const Resource *resource);

static void pod_go_on(Pod *pod)
{
	const Resource *resource = resource_find(pod->resource);

	if (pod->grant) {
		pod_begin(pod);
	} else if (!resource->endpoint || resource->endpoint->stopped ||
		   !pod_admit(pod, resource)) {
		pod_stop_short(pod);
	}
}

static void allocate_done(RdmadGrpcStatus status, const char *text, gpointer data)
{
	Pod *pod = pods_find(kubelet.admitting);
	const Grant *grant = status == RDMAD_GRPC_OK ? kubelet.came : NULL;

	kubelet.ops->answered(pod, grant,
			      grant  ? NULL
			      : text ? text
				     : "no grant",
			      clock_now_us() - kubelet.asked_us);
	admission_end();
	if (grant)
		pod_go_on(pod);
	else
		pod_refuse(pod);
	rdmad_event_arm(kubelet.look, 0);
}

/* FALSE: there are not so many slots. */
static gboolean pod_admit(Pod *pod, const Resource *resource)
{
	static const RdmadGrpcRequestOps ops = { allocate_came, allocate_done };
	V1beta1__ContainerAllocateRequest container = V1BETA1__CONTAINER_ALLOCATE_REQUEST__INIT;
	V1beta1__ContainerAllocateRequest *containers[] = { &container };
	V1beta1__AllocateRequest request = V1BETA1__ALLOCATE_REQUEST__INIT;
	const gboolean is_init = grant_to_come(pod) == &pod->init;
	g_autofree guint8 *bytes = NULL;

	kubelet.asked = slots_choose(resource, pod, is_init ? pod->init_wanted : pod->wanted);
	if (!kubelet.asked)
		return FALSE;
	container.n_devices_ids = g_strv_length(kubelet.asked);
	container.devices_ids = kubelet.asked;
	request.n_container_requests = 1;
	request.container_requests = containers;
	bytes = g_malloc(v1beta1__allocate_request__get_packed_size(&request));
	kubelet.admitting = g_strdup(pod->uid);
	kubelet.asked_us = clock_now_us();
	kubelet.admits_by = resource->endpoint;
	pod->state = POD_ADMITTING;
	rdmad_grpc_channel_call(resource->endpoint->channel, "/v1beta1.DevicePlugin/Allocate",
				bytes, v1beta1__allocate_request__pack(&request, bytes), 0, &ops,
				NULL);
	return TRUE;
}

/* Frees the slots of ended pods, as kubelet does when another pod is admitted. */
static void grants_reclaim(void)
{
	const GPtrArray *pods = pods_all();

	for (guint i = 0; i < pods->len; i++) {
		Pod *pod = pods->pdata[i];

		if (pod->state != POD_ENDED)
			continue;
		g_clear_pointer(&pod->grant, grant_free);
		g_clear_pointer(&pod->init, grant_free);
	}
}

/* A pod with devices is bound to this node: kubelet goes on with its admission, or rejects it, at once.
 * Others wait for the scheduler. */
static void pod_try(Pod *pod, const Resource *resource)
{
	if (pod_admit(pod, resource) || !pod->init)
		return;
	pod_stop_short(pod);
	rdmad_event_arm(kubelet.look, 0);
}

static void pods_admit(void)
{
	const GPtrArray *pods = pods_all();

	for (guint i = 0; i < pods->len && !kubelet.admitting; i++) {
		Pod *pod = pods->pdata[i];
		const Resource *resource =
			pod->state == POD_WAITING ? resource_find(pod->resource) : NULL;

		if (!resource || !resource->endpoint || resource->endpoint->stopped)
			continue;
		grants_reclaim();
		pod_try(pod, resource);
	}
}

gboolean kubelet_pre_start(const char *name, RdmadGrpcChannel **channel)
{
	const Resource *resource = resource_find(name);
	const Endpoint *endpoint = resource ? resource->endpoint : NULL;

	*channel = endpoint && !endpoint->stopped ? endpoint->channel : NULL;
	return resource && resource->pre_start;
}

/* Kubelet closes the connection when ListAndWatch ends, and rejects the pod whose Allocate is
 * pending on it. */
static void endpoints_sweep(void)
{
	for (guint i = kubelet.endpoints->len; i-- > 0;) {
		Endpoint *endpoint = kubelet.endpoints->pdata[i];

		if (!endpoint->over)
			continue;
		if (endpoint->resource->endpoint == endpoint)
			endpoint->resource->endpoint = NULL;
		if (kubelet.admits_by == endpoint) {
			kubelet.ops->given_up();
			allocate_done(RDMAD_GRPC_CANCELLED, "the connection is closed", NULL);
		}
		g_ptr_array_remove_index(kubelet.endpoints, i);
	}
}

static void look(gpointer data)
{
	endpoints_sweep();
	/* Sandboxes come after the device manager has read its checkpoint. */
	containers_look(!podresources_is_starting(kubelet.podresources));
	pods_admit();
	if (containers_wait())
		rdmad_event_arm(kubelet.look, LOOK_MS);
}

void kubelet_sync_pods(void)
{
	if (kubelet.is_up)
		rdmad_event_arm(kubelet.look, 0);
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
	sockets_wipe(kubelet.era->has_registry ? kubelet.registry_dir : kubelet.legacy_dir);
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

gboolean kubelet_is_admitting(void)
{
	return kubelet.admitting != NULL;
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
	kubelet.resources = g_ptr_array_new_with_free_func(resource_free);
	kubelet.endpoints = g_ptr_array_new_with_free_func(endpoint_free);
	kubelet.plugins = g_ptr_array_new_with_free_func(plugin_free);
	sockets_wipe(kubelet.legacy_dir);
	kubelet.look = rdmad_loop_add_timer(kubelet.loop, NULL, look, NULL);
	kubelet.podresources =
		podresources_new(kubelet.loop, kubelet.dir, kubelet.era, kubelet.decisions);
	if (kubelet.era->has_registry) {
		kubelet.registry_look =
			rdmad_loop_add_timer(kubelet.loop, NULL, registry_look, NULL);
		kubelet.watch = rdmad_directory_watch_new(kubelet.loop, NULL, kubelet.registry_dir,
							  registry_look, NULL);
		rdmad_event_arm(kubelet.registry_look, 0);
	}
	kubelet.legacy = rdmad_grpc_server_new(kubelet.loop, NULL, socket, legacy_methods, NULL,
					       NULL, &error);
	g_assert_no_error(error);
	rdmad_event_arm(kubelet.look, 0);
}

/* Pods whose admission was interrupted are admitted again, and so are forgotten pods that do not
 * run.  The checkpoint has what an init container was given before the interruption. */
static void books_close(gboolean forgets)
{
	const GPtrArray *pods = pods_all();

	admission_end();
	for (guint i = 0; i < pods->len; i++) {
		Pod *pod = pods->pdata[i];

		if (pod->state == POD_ADMITTING)
			pod->state = POD_WAITING;
		if (pod->state == POD_WAITING || forgets)
			g_clear_pointer(&pod->grant, grant_free);
		if (forgets)
			g_clear_pointer(&pod->init, grant_free);
		if (pod->state == POD_STARTING && !pod->grant)
			pod->state = POD_WAITING;
	}
}

void kubelet_stop(gboolean forgets)
{
	if (kubelet.is_up) {
		kubelet.is_up = FALSE;
		g_clear_pointer(&kubelet.watch, rdmad_directory_watch_free);
		g_clear_pointer(&kubelet.registry_look, rdmad_event_free);
		g_clear_pointer(&kubelet.look, rdmad_event_free);
		g_clear_pointer(&kubelet.plugins, g_ptr_array_unref);
		g_clear_pointer(&kubelet.endpoints, g_ptr_array_unref);
		g_clear_pointer(&kubelet.resources, g_ptr_array_unref);
		g_clear_pointer(&kubelet.legacy, rdmad_grpc_server_free);
		g_clear_pointer(&kubelet.podresources, podresources_free);
	}
	books_close(forgets);
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
