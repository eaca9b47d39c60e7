/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <rdmad/fd.h>
#include <rdmad/loop.h>
#include <rdmad/message-socket.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "clock.h"
#include "ipam.h"
#include "node.h"
#include "shim/rdmad-cni.h"
#include "turns.h"

#define NETWORK	     "sim"
#define AGAIN_MS     200  /* of a shim that cannot connect */
#define TRIES	     10u  /* after which it fails, or spools the request */
#define DEL_AGAIN_MS 5000 /* of a runtime after a failed DEL */
#define PATIENCE_MS  240000

typedef enum { TO_ADD, TO_DEL } Next;

/* A sandbox, with its pending requests. */
typedef struct {
	Sandbox s; /* first: other files see only this member */
	char *path;
	guint64 device, inode;
	guint number;
	Next next;
	guint tries;
	gboolean again; /* the request is repeated after its response */
	char *result;	/* response of ADD */
	struct Call *call;
	RdmadEvent *timer;
} Box;

typedef struct Call {
	Box *box; /* NULL: nobody waits for the response */
	const char *command;
	RdmadMessagePeer *peer;
	GStrv ended; /* GC: containers that have leases and no sandbox */
} Call;

static struct {
	RdmadLoop *loop;
	const RuntimeOps *ops;
	Decisions *decisions;
	GPtrArray *boxes; /* of Box */
	GPtrArray *calls; /* of Call */
	guint made;
	gboolean calm;
} runtime;

static gboolean special(guint rarity)
{
	return !runtime.calm && decide_rarely(runtime.decisions, DECIDE_RUNTIME, rarity, 2);
}

static void call_free(gpointer data)
{
	Call *call = data;

	rdmad_message_peer_close(call->peer);
	g_strfreev(call->ended);
	g_free(call);
}

static void call_drop(Box *box)
{
	if (box->call)
		g_ptr_array_remove(runtime.calls, box->call);
	box->call = NULL;
}

static void box_free(gpointer data)
{
	Box *box = data;

	for (guint i = 0; i < runtime.calls->len; i++) {
		Call *call = runtime.calls->pdata[i];

		if (call->box == box)
			call->box = NULL;
	}
	rdmad_event_free(box->timer);
	g_strfreev(box->s.names);
	g_free(box->s.id);
	g_free(box->s.pod_name);
	g_free(box->s.pod_uid);
	g_free(box->path);
	g_free(box->result);
	g_free(box);
}

const GPtrArray *runtime_sandboxes(void)
{
	return runtime.boxes;
}

/* ---- contents of a request ---- */

static const char *network_of(gboolean is_leased)
{
	return is_leased ? IPAM_NETWORK : NETWORK;
}

static void previous_append(GString *input, const Box *box)
{
	if (box->result)
		g_string_append(input, box->result);
	else
		g_string_append_printf(input,
				       "{\"cniVersion\":\"1.0.0\",\"interfaces\":"
				       "[{\"name\":\"eth0\",\"sandbox\":\"%s\"}]}",
				       box->path);
}

/* Without an IPAM plugin, the runtime names the addresses of a shared NIC; an exclusive one keeps
 * its own. */
static char *input_of(const Box *box)
{
	GString *input = g_string_new("{\"cniVersion\":\"1.0.0\",\"type\":\"rdmad-cni\"");

	g_string_append_printf(input,
			       ",\"name\":\"%s\",\"prevResult\":", network_of(box->s.is_leased));
	previous_append(input, box);
	if (box->s.is_leased)
		g_string_append(input, ",\"ipam\":{\"type\":\"" IPAM_TYPE "\"}");
	else if (g_str_equal(box->s.resource, "rdma/shared"))
		g_string_append_printf(input, ",\"runtimeConfig\":{\"ips\":[\"10.9.%u.%u/16\"]}",
				       box->number / 250, 1 + box->number % 250);
	g_string_append_c(input, '}');
	return g_string_free(input, FALSE);
}

static GStrv environment_of(const Box *box, const char *command)
{
	g_autofree char *text =
		g_strdup_printf("CNI_COMMAND=%s\nCNI_CONTAINERID=%s\nCNI_NETNS=%s\n"
				"CNI_IFNAME=eth0\nCNI_PATH=%s\n"
				"CNI_ARGS=K8S_POD_NAMESPACE=ns;K8S_POD_NAME=%s;K8S_POD_UID=%s",
				command, box->s.id, box->s.netns ? box->path : "", ipam_path(),
				box->s.pod_name, box->s.pod_uid);

	return g_strsplit(text, "\n", -1);
}

static void environment_put(GByteArray *bytes, const GStrv environment)
{
	for (char **entry = environment; *entry; entry++)
		g_byte_array_append(bytes, (const guint8 *)*entry, (guint)strlen(*entry) + 1);
}

static int netns_of(const Box *box)
{
	return box->s.netns && box->s.netns->path ? open(box->path, O_RDONLY | O_CLOEXEC) : -1;
}

/* ---- requests ---- */

static void box_work(gpointer data);

static int daemon_connect(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd;

	g_snprintf(address.sun_path, sizeof(address.sun_path), "%s/cni.sock", node_run_dir());
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	close(fd);
	return -1;
}

static void call_ended(Call *call, int status, const char *text);

static void answered(RdmadMessagePeer *peer, RdmadMessage *message, gpointer data)
{
	CniAnswerHead head;

	g_assert_cmpuint(message->size, >=, sizeof(head));
	memcpy(&head, message->bytes, sizeof(head));
	call_ended(data, (int)head.status, (const char *)message->bytes + sizeof(head));
}

static void hung_up(RdmadMessagePeer *peer, gpointer data)
{
	((Call *)data)->peer = NULL;
	call_ended(data, -1, NULL);
}

static gboolean request_send(Call *call, const GStrv environment, const char *input, int netns)
{
	g_autoptr(GByteArray) bytes = g_byte_array_new();
	CniMessageHead head = { .magic = CNI_MESSAGE_MAGIC, .version = CNI_MESSAGE_VERSION };

	g_byte_array_append(bytes, (const guint8 *)&head, sizeof(head));
	environment_put(bytes, environment);
	head.environment = bytes->len - (guint)sizeof(head);
	head.input = (guint)strlen(input);
	head.flags = netns >= 0 ? CNI_MESSAGE_HAS_NETNS : 0;
	memcpy(bytes->data, &head, sizeof(head));
	g_byte_array_append(bytes, (const guint8 *)input, head.input);
	return rdmad_message_peer_send(call->peer, bytes->data, bytes->len, &netns, netns >= 0,
				       NULL);
}

/* Takes over `fd`, the connection.  Returns NULL if it has ended. */
static Call *call_new(int fd, Box *box, const char *command, const GStrv environment,
		      const char *input, int netns)
{
	static const RdmadMessageLimits limits = { .fds_max = 1, .unanswered_max = G_MAXUINT };
	static const RdmadMessageOps ops = { answered, hung_up };
	Call *call = g_new0(Call, 1);

	call->box = box;
	call->command = command;
	call->peer = rdmad_message_peer_new(runtime.loop, NULL, fd, &limits, &ops, call, NULL);
	g_ptr_array_add(runtime.calls, call);
	if (request_send(call, environment, input, netns))
		return call;
	g_ptr_array_remove(runtime.calls, call);
	return NULL;
}

/* Returns NULL if nobody listens. */
static Call *box_ask(Box *box, const char *command)
{
	const int fd = daemon_connect();
	g_auto(GStrv) environment = NULL;
	g_autofree char *input = NULL;
	rdmad_autofd int netns = -1;

	if (fd < 0)
		return NULL;
	environment = environment_of(box, command);
	input = input_of(box);
	netns = netns_of(box);
	return call_new(fd, box, command, environment, input, netns);
}

/* ---- the spool, written by rdmad-cni's own code ---- */

static gboolean spool(const Box *box)
{
	static ShimRequest request;
	g_auto(GStrv) environment = environment_of(box, "DEL");
	g_autofree char *input = input_of(box);
	g_autofree char *directory = g_build_filename(node_state_dir(), "cni-spool", NULL);
	g_autoptr(GByteArray) bytes = g_byte_array_new();
	const gboolean was = turns_in_rdmad();
	char name[SPOOL_NAME_SIZE];
	int status;

	environment_put(bytes, environment);
	memcpy(request.environment, bytes->data, bytes->len);
	request.environment_size = bytes->len;
	request.input_size = (uint32_t)strlen(input);
	memcpy(request.input, input, request.input_size);
	request.netns_device = box->s.netns ? box->device : 0;
	request.netns_inode = box->s.netns ? box->inode : 0;
	g_setenv("CNI_CONTAINERID", box->s.id, TRUE);
	g_setenv("CNI_IFNAME", "eth0", TRUE);
	turns_set_in_rdmad(TRUE);
	status = spool_write(&request, directory, name);
	turns_set_in_rdmad(was);
	return status == 0;
}

/* ---- life cycle of a sandbox ---- */

static void netns_remove(Box *box)
{
	if (box->s.netns)
		network_netns_remove(box->s.netns);
	box->s.netns = NULL;
}

static void box_over(Box *box)
{
	netns_remove(box);
	g_ptr_array_remove(runtime.boxes, box);
}

static void box_go(Box *box, Next next)
{
	call_drop(box);
	box->next = next;
	box->tries = 0;
	rdmad_event_arm(box->timer, 0);
}

static void names_take(Box *box, const char *text)
{
	g_autoptr(GStrvBuilder) names = g_strv_builder_new();
	json_t *json = json_loads(text, 0, NULL);
	const json_t *interface;
	gsize i;

	g_assert_nonnull(json);
	json_array_foreach(json_object_get(json, "interfaces"), i, interface)
		g_strv_builder_add(names, json_string_value(json_object_get(interface, "name")));
	g_strfreev(box->s.names);
	box->s.names = g_strv_builder_end(names);
	json_decref(json);
}

static void added(Box *box, int status, const char *text)
{
	if (status != 0) {
		runtime.ops->refused(&box->s, text);
		box_go(box, TO_DEL);
		return;
	}
	/* A repeated request must get the same response. */
	if (!box->again && special(12)) {
		box->again = TRUE;
		box_go(box, TO_ADD);
		return;
	}
	g_free(box->result);
	box->result = g_strdup(text);
	names_take(box, text);
	box->s.ready = TRUE;
	runtime.ops->attached(&box->s);
	runtime.ops->changed();
}

static void deleted(Box *box, int status)
{
	if (status != 0) {
		rdmad_event_arm(box->timer, DEL_AGAIN_MS);
		return;
	}
	runtime.ops->deleted(&box->s);
	if (!box->again && special(8)) {
		box->again = TRUE;
		box_go(box, TO_DEL);
	} else {
		box_over(box);
	}
}

/* `status` -1: there was no response. */
static void call_ended(Call *call, int status, const char *text)
{
	Box *box = call->box;
	const char *command = call->command;

	for (char **container = call->ended; status == 0 && container && *container; container++)
		runtime.ops->collected(*container);
	g_ptr_array_remove(runtime.calls, call);
	if (g_str_equal(command, "STATUS") && status > 0)
		runtime.ops->unready(text);
	if (!box)
		return;
	if (g_str_equal(command, "CHECK")) {
		if (status >= 0)
			runtime.ops->checked(&box->s, status ? text : NULL);
		return;
	}
	box->call = NULL;
	rdmad_event_disarm(box->timer);
	if (status < 0)
		rdmad_event_arm(box->timer, AGAIN_MS);
	else if (g_str_equal(command, "ADD"))
		added(box, status, text);
	else
		deleted(box, status);
}

/* rdmad-cni cannot connect. */
static void connect_failed(Box *box)
{
	const guint tries = box->next == TO_DEL && special(3) ? 1 : TRIES;

	if (++box->tries < tries)
		rdmad_event_arm(box->timer, AGAIN_MS);
	else if (box->next == TO_ADD)
		box_go(box, TO_DEL);
	else if (spool(box))
		box_over(box);
	else
		rdmad_event_arm(box->timer, DEL_AGAIN_MS);
}

/* Abandons a call that hangs; the runtime repeats the request, or undoes it. */
static void box_work(gpointer data)
{
	Box *box = data;

	if (box->call) {
		box_go(box, TO_DEL);
		return;
	}
	if (box->next == TO_DEL && box->s.netns && !runtime.calm &&
	    decide_rarely(runtime.decisions, DECIDE_PROGRAM, 4, 2))
		network_disguise(box->s.netns);
	box->call = box_ask(box, box->next == TO_ADD ? "ADD" : "DEL");
	if (box->call)
		rdmad_event_arm(box->timer, PATIENCE_MS);
	else
		connect_failed(box);
}

static Box *box_new(const Pod *pod)
{
	Box *box = g_new0(Box, 1);
	struct stat st;

	box->number = ++runtime.made;
	box->s.id = g_strdup_printf("%08x%056x", box->number * 2654435761u, box->number);
	box->s.pod_name = g_strdup(pod->name);
	box->s.pod_uid = g_strdup(pod->uid);
	box->s.resource = pod->resource;
	box->s.slots = pod->wanted;
	box->s.netns = network_netns_new();
	box->s.is_leased = ipam_is_for_next();
	box->path = g_strdup(box->s.netns->path);
	g_assert_cmpint(stat(box->path, &st), ==, 0);
	box->device = st.st_dev;
	box->inode = st.st_ino;
	box->timer = rdmad_loop_add_timer(runtime.loop, NULL, box_work, box);
	g_ptr_array_add(runtime.boxes, box);
	rdmad_event_arm(box->timer, 0);
	return box;
}

/* Returns NULL if the pod has no sandbox. */
static Box *box_of(const Pod *pod)
{
	for (guint i = runtime.boxes->len; i-- > 0;) {
		Box *box = runtime.boxes->pdata[i];

		if (g_str_equal(box->s.pod_uid, pod->uid))
			return box;
	}
	return NULL;
}

/* ---- functions for kubelet and the operator ---- */

gboolean runtime_makes_network(const Pod *pod)
{
	const Box *box = box_of(pod) ?: box_new(pod);

	return box->s.ready;
}

void runtime_pod_ended(const Pod *pod)
{
	Box *box = box_of(pod);

	if (!box)
		return;
	box->s.ready = box->again = FALSE;
	/* The response of the ADD is lost. */
	if (box->call && special(2)) {
		box->call->box = NULL;
		box->call = NULL;
	}
	if (special(6))
		netns_remove(box);
	box_go(box, TO_DEL);
}

/* Of no sandbox; takes over `json`, what the request has beside.  Returns NULL if nobody
 * listens. */
static Call *network_ask(const char *command, gboolean is_leased, json_t *json)
{
	g_autofree char *name = g_strconcat("CNI_COMMAND=", command, NULL);
	g_autofree char *path = g_strconcat("CNI_PATH=", ipam_path(), NULL);
	char *const environment[] = { name, path, NULL };
	const int fd = daemon_connect();
	Call *call;
	char *text;

	json_object_set_new(json, "cniVersion", json_string("1.1.0"));
	json_object_set_new(json, "name", json_string(network_of(is_leased)));
	json_object_set_new(json, "type", json_string("rdmad-cni"));
	if (is_leased)
		json_object_set_new(json, "ipam", json_pack("{s:s}", "type", IPAM_TYPE));
	text = json_dumps(json, JSON_COMPACT);
	call = fd < 0 ? NULL : call_new(fd, NULL, command, (GStrv)environment, text, -1);
	free(text);
	json_decref(json);
	return call;
}

static gboolean has_box(const char *container)
{
	for (guint i = 0; i < runtime.boxes->len; i++)
		if (g_str_equal(((Box *)runtime.boxes->pdata[i])->s.id, container))
			return TRUE;
	return FALSE;
}

/* Their DEL is in the spool, or the runtime lost them at a reboot. */
static GStrv leased_without_box(void)
{
	const GPtrArray *leases = ipam_leases();
	g_autoptr(GStrvBuilder) containers = g_strv_builder_new();

	for (guint i = 0; i < leases->len; i++) {
		const IpamLease *lease = leases->pdata[i];

		if (!has_box(lease->container))
			g_strv_builder_add(containers, lease->container);
	}
	return g_strv_builder_end(containers);
}

static void network_collect(gboolean is_leased)
{
	json_t *valid = json_array();
	Call *call;

	for (guint i = 0; i < runtime.boxes->len; i++) {
		const Box *box = runtime.boxes->pdata[i];

		if (box->next == TO_ADD)
			json_array_append_new(valid, json_pack("{s:s, s:s}", "containerID",
							       box->s.id, "ifname", "eth0"));
	}
	call = network_ask("GC", is_leased, json_pack("{s:o}", "cni.dev/valid-attachments", valid));
	if (call && is_leased)
		call->ended = leased_without_box();
}

void runtime_collect(void)
{
	network_collect(FALSE);
	if (ipam_is_used())
		network_collect(TRUE);
}

void runtime_ask_status(void)
{
	network_ask("STATUS", FALSE, json_object());
}

void runtime_check(guint which)
{
	for (guint i = 0; i < runtime.boxes->len; i++) {
		Box *box = runtime.boxes->pdata[i];

		if (box->s.ready && (which == G_MAXUINT || which % runtime.boxes->len == i))
			box_ask(box, "CHECK");
	}
}

void runtime_end_deviations(void)
{
	runtime.calm = TRUE;
}

/* ---- life cycle ---- */

void runtime_begin(RdmadLoop *loop, const RuntimeOps *ops, Decisions *decisions)
{
	runtime.loop = loop;
	runtime.ops = ops;
	runtime.decisions = decisions;
	runtime.made = 0;
	runtime.calm = FALSE;
	runtime.calls = g_ptr_array_new_with_free_func(call_free);
	runtime.boxes = g_ptr_array_new_with_free_func(box_free);
}

/* After a boot, the runtime does not know the namespaces of its sandboxes. */
void runtime_reboot(void)
{
	for (guint i = runtime.boxes->len; i-- > 0;) {
		Box *box = runtime.boxes->pdata[i];

		box->s.netns = NULL;
		box->s.ready = box->again = FALSE;
		box_go(box, TO_DEL);
		if (special(3))
			g_ptr_array_remove_index(runtime.boxes, i);
	}
	g_ptr_array_set_size(runtime.calls, 0);
}

void runtime_end(void)
{
	g_clear_pointer(&runtime.boxes, g_ptr_array_unref);
	g_clear_pointer(&runtime.calls, g_ptr_array_unref);
}
