/* SPDX-License-Identifier: Apache-2.0 */
#include "ipam.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <jansson.h>
#include <rdmad/child.h>
#include <rdmad/loop.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>

#include "base/owned.h"
#include "clock.h"
#include "descriptors.h"
#include "hardware/sysroot.h"
#include "life.h"
#include "machine.h"
#include "plants.h"
#include "turns.h"

#define SUBNET	     "10.7.0.%u/16"
#define LEASES_MAX   254u
#define WRITEBACK_US (30 * SIM_S)
#define RARITY	     16u

/* Codes of errors, CNI specification and its library. */
#define CODE_ENVIRONMENT 4
#define CODE_AGAIN	 11
#define CODE_INTERNAL	 999

typedef enum {
	END_WELL,
	END_AGAIN,
	END_REFUSED,
	END_KILLED, /* by a signal */
	END_SILENT, /* without an answer */
	END_NEVER,  /* before its deadline */
	N_ENDS,
} End;

static const guint durations_ms[] = { 8, 1, 300, 9000 };

/* A run of the plugin. */
struct RdmadChild {
	RdmadOwned owned;
	guint pid;
	char *command, *container, *ifname;
	End end;
	RdmadEvent *timer; /* NULL: the life ended before the plugin was executed */
	RdmadChildDone done;
	gpointer data;
};

static struct {
	Decisions *decisions;
	IpamUse use;
	gboolean fails, calm;
	char *path;
	GPtrArray *leases; /* of IpamLease */
	GPtrArray *freed;  /* the same: those that a power failure may bring back */
} ipam;

static gboolean decide_yes(Decide kind)
{
	return decide(ipam.decisions, kind, 2) != 0;
}

/* ---- leases ---- */

static void lease_free(gpointer data)
{
	IpamLease *lease = data;

	g_free(lease->container);
	g_free(lease->ifname);
	g_free(lease);
}

static IpamLease *lease_find(const char *container, const char *ifname)
{
	for (guint i = 0; i < ipam.leases->len; i++) {
		IpamLease *lease = ipam.leases->pdata[i];

		if (g_str_equal(lease->container, container) && g_str_equal(lease->ifname, ifname))
			return lease;
	}
	return NULL;
}

static gboolean is_taken(const RdmadIp *address)
{
	for (guint i = 0; i < ipam.leases->len; i++)
		if (rdmad_ip_equal(&((IpamLease *)ipam.leases->pdata[i])->address, address))
			return TRUE;
	return FALSE;
}

static RdmadIp address_next(void)
{
	RdmadIp address = { 0 };

	for (guint i = 1; i <= LEASES_MAX; i++) {
		g_autofree char *text = g_strdup_printf(SUBNET, i);

		g_assert_true(rdmad_ip_parse(text, &address, NULL));
		if (!is_taken(&address))
			return address;
	}
	g_error("%u leases, none of which was freed", LEASES_MAX);
}

static const IpamLease *lease_make(const char *container, const char *ifname)
{
	IpamLease *lease = g_new0(IpamLease, 1);

	lease->container = g_strdup(container);
	lease->ifname = g_strdup(ifname);
	lease->address = address_next();
	lease->made_us = clock_now_us();
	g_ptr_array_add(ipam.leases, lease);
	return lease;
}

static void lease_end(IpamLease *lease)
{
	guint i;

	g_assert_true(g_ptr_array_find(ipam.leases, lease, &i));
	lease->freed_us = clock_now_us();
	g_ptr_array_add(ipam.freed, g_ptr_array_steal_index(ipam.leases, i));
}

/* ---- the work of a run ---- */

static char *G_GNUC_PRINTF(2, 3) error_text(int code, const char *format, ...)
{
	char message[128];
	va_list args;

	va_start(args, format);
	g_vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	return g_strdup_printf("{\"cniVersion\":\"1.0.0\",\"code\":%d,\"msg\":\"%s\"}", code,
			       message);
}

/* Returns the answer of an ADD. */
static char *add(const RdmadChild *child, int *status)
{
	const IpamLease *lease = lease_find(child->container, child->ifname);
	char text[RDMAD_IP_TEXT];

	*status = lease != NULL;
	if (lease)
		return error_text(CODE_INTERNAL, "%s has been allocated to %s already",
				  rdmad_ip_text(&lease->address, FALSE, text), child->container);
	lease = lease_make(child->container, child->ifname);
	return g_strdup_printf("{\"cniVersion\":\"1.0.0\",\"ips\":[{\"address\":\"%s\"}]}",
			       rdmad_ip_text(&lease->address, TRUE, text));
}

/* Returns the answer; NULL: empty. */
static char *work(const RdmadChild *child, int *status)
{
	IpamLease *lease = lease_find(child->container, child->ifname);

	if (g_str_equal(child->command, "ADD"))
		return add(child, status);
	*status = 0;
	if (g_str_equal(child->command, "DEL")) {
		if (lease && !plant_skips_release())
			lease_end(lease);
		return NULL;
	}
	*status = 1;
	if (!g_str_equal(child->command, "CHECK"))
		return error_text(CODE_ENVIRONMENT, "unknown CNI_COMMAND: %s", child->command);
	*status = lease == NULL;
	return lease ? NULL : error_text(CODE_INTERNAL, "no address of %s", child->container);
}

/* ---- the process of a run; its files are not rdmad's ---- */

static guint process_begin(void)
{
	const gboolean was = turns_in_rdmad();
	guint pid;

	turns_set_in_rdmad(FALSE);
	pid = machine_process_begin();
	turns_set_in_rdmad(was);
	return pid;
}

static void process_end(guint pid)
{
	const gboolean was = turns_in_rdmad();

	turns_set_in_rdmad(FALSE);
	machine_process_end(pid);
	turns_set_in_rdmad(was);
}

/* ---- the end of a run ---- */

static void child_free(RdmadChild *child)
{
	process_end(child->pid);
	if (child->owned.list)
		rdmad_owned_leave(&child->owned);
	rdmad_event_free(child->timer);
	g_free(child->command);
	g_free(child->container);
	g_free(child->ifname);
	g_free(child);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadChild, child_free)

/* Returns the answer. */
static char *child_work(const RdmadChild *child, RdmadChildResult *result)
{
	g_autofree char *unsaid = NULL;
	int status = 1;

	result->exit_status = 1;
	if (child->end == END_WELL)
		return work(child, &result->exit_status);
	if (child->end == END_AGAIN)
		return error_text(CODE_AGAIN, "try again");
	if (child->end == END_REFUSED)
		return error_text(CODE_INTERNAL, "no");
	if (decide_yes(DECIDE_IPAM))
		unsaid = work(child, &status);
	/* An empty answer is what a successful DEL has. */
	if (child->end == END_SILENT) {
		result->exit_status = g_str_equal(child->command, "ADD") ? status : 1;
		return NULL;
	}
	result->exit_status = -1;
	result->signal = SIGTERM;
	result->timed_out = child->end == END_NEVER;
	return NULL;
}

static void child_due(gpointer data)
{
	g_autoptr(RdmadChild) child = data;
	RdmadChildResult result = { 0 };
	g_autofree char *answer = child_work(child, &result);

	decisions_note(ipam.decisions, "ipam %s %.8s %s: %d %s", child->command, child->container,
		       child->ifname, result.exit_status, answer ? answer : "");
	result.output = (RdmadChildOutput){ answer ? answer : "", answer ? strlen(answer) : 0, 0 };
	result.errors = (RdmadChildOutput){ "", 0, 0 };
	rdmad_owned_leave(&child->owned);
	child->done(&result, NULL, child->data);
}

/* ---- replaced functions ---- */

#define INSTEAD_OF(type, name, ...)                                                                \
	type __wrap_##name(__VA_ARGS__);                                                           \
	type __wrap_##name(__VA_ARGS__)

/* The plugin may complete its work before the signal arrives, also when rdmad has ended. */
INSTEAD_OF(void, rdmad_child_cancel, RdmadChild *child)
{
	g_autofree char *unsaid = NULL;
	int status;

	if (!child)
		return;
	if (child->timer && child->end != END_AGAIN && child->end != END_REFUSED &&
	    decide_yes(DECIDE_IPAM))
		unsaid = work(child, &status);
	child_free(child);
}

INSTEAD_OF(void, rdmad_child_terminate, RdmadChild *child)
{
	if (!life_effect() || !child->timer)
		return;
	if (child->end == END_NEVER || decide_yes(DECIDE_IPAM))
		child->end = END_KILLED;
	rdmad_event_arm(child->timer, 1);
}

static void child_reap(gpointer object)
{
	__wrap_rdmad_child_cancel(object);
}

static void config_check(const RdmadChildSpec *spec)
{
	json_t *json = json_loadb(spec->input, spec->input_size, 0, NULL);

	g_assert_cmpstr(json_string_value(json_object_get(json, "name")), ==, IPAM_NETWORK);
	g_assert_cmpstr(json_string_value(json_object_get(json_object_get(json, "ipam"), "type")),
			==, IPAM_TYPE);
	json_decref(json);
}

static char *variable(const RdmadChildSpec *spec, const char *name)
{
	return g_strdup(g_environ_getenv((char **)spec->envp, name) ?: "");
}

static End end_choose(void)
{
	return ipam.calm ? END_WELL
			 : (End)decide_rarely(ipam.decisions, DECIDE_IPAM, ipam.fails ? 2 : RARITY,
					      N_ENDS);
}

static void child_run(RdmadChild *child, RdmadLoop *loop, RdmadModule *owner, guint deadline_ms)
{
	const guint ms = durations_ms[decide_rarely(ipam.decisions, DECIDE_IPAM, 4,
						    G_N_ELEMENTS(durations_ms))];

	child->end = end_choose();
	child->timer = rdmad_loop_add_timer(loop, NULL, child_due, child);
	rdmad_event_arm(child->timer, child->end == END_NEVER ? deadline_ms : ms);
	rdmad_owned_enter(&child->owned, loop, owner, child_reap, child);
}

INSTEAD_OF(RdmadChild *, rdmad_child_start, RdmadLoop *loop, RdmadModule *owner,
	   const RdmadChildSpec *spec, RdmadChildDone done, gpointer data, GError **error)
{
	g_autoptr(RdmadChild) child = g_new0(RdmadChild, 1);

	config_check(spec);
	child->pid = process_begin();
	child->command = variable(spec, "CNI_COMMAND");
	child->container = variable(spec, "CNI_CONTAINERID");
	child->ifname = variable(spec, "CNI_IFNAME");
	child->done = done;
	child->data = data;
	if (spec->born && !spec->born((pid_t)child->pid, data, error))
		return NULL;
	if (life_effect())
		child_run(child, loop, owner, spec->deadline_ms);
	return g_steal_pointer(&child);
}

/* Records of processes (modules/cni/ipam/records.c) are compared with the machine's. */
INSTEAD_OF(RdmadSysroot *, rdmad_sysroot_new_live, GError **error)
{
	return rdmad_sysroot_new(machine_root(), error);
}

/* No process of a plugin outlives its rdmad. */
int pidfd_open(pid_t pid, unsigned flags)
{
	return descriptor_fail(ESRCH);
}

/* ---- a power failure ---- */

static gboolean change_is_lost(gint64 at_us, DiskOutcome outcome)
{
	if (clock_now_us() - at_us > WRITEBACK_US || outcome == DISK_KEPT)
		return FALSE;
	return outcome == DISK_LOST || decide_yes(DECIDE_KEPT);
}

/* Its file is empty. */
static void lease_forget(IpamLease *lease)
{
	lease->container[0] = '\0';
	lease->is_orphan = TRUE;
}

void ipam_cut_power(DiskOutcome outcome)
{
	for (guint i = ipam.leases->len; i-- > 0;) {
		IpamLease *lease = ipam.leases->pdata[i];

		if (!change_is_lost(lease->made_us, outcome))
			continue;
		if (outcome == DISK_TORN && decide_yes(DECIDE_KEPT))
			lease_forget(lease);
		else
			g_ptr_array_remove_index(ipam.leases, i);
	}
	for (guint i = ipam.freed->len; i-- > 0;) {
		IpamLease *lease = ipam.freed->pdata[i];

		if (!change_is_lost(lease->freed_us, outcome) ||
		    change_is_lost(lease->made_us, outcome) || is_taken(&lease->address))
			continue;
		lease->is_orphan = TRUE;
		g_ptr_array_add(ipam.leases, g_ptr_array_steal_index(ipam.freed, i));
	}
	g_ptr_array_set_size(ipam.freed, 0);
}

/* ---- functions for the others ---- */

gboolean ipam_is_used(void)
{
	return ipam.use != IPAM_OF_NO_POD;
}

gboolean ipam_is_for_next(void)
{
	return ipam.use == IPAM_OF_ALL_PODS ||
	       (ipam.use == IPAM_OF_SOME_PODS && decide_yes(DECIDE_IPAM));
}

const char *ipam_path(void)
{
	return ipam.path;
}

const GPtrArray *ipam_leases(void)
{
	return ipam.leases;
}

void ipam_set_failing(gboolean fails)
{
	ipam.fails = fails;
}

void ipam_end_deviations(void)
{
	ipam.calm = TRUE;
}

/* ---- life cycle ---- */

static void plugin_install(const char *root)
{
	g_autofree char *plugin = NULL;

	if (ipam.path)
		return;
	ipam.path = g_build_filename(root, "cni", NULL);
	plugin = g_build_filename(ipam.path, IPAM_TYPE, NULL);
	g_assert_cmpint(g_mkdir_with_parents(ipam.path, 0755), ==, 0);
	g_assert_true(g_file_set_contents(plugin, "", -1, NULL));
	g_assert_cmpint(g_chmod(plugin, 0755), ==, 0);
}

void ipam_begin(const char *root, Decisions *decisions, IpamUse use)
{
	plugin_install(root);
	ipam.decisions = decisions;
	ipam.use = use;
	ipam.fails = ipam.calm = FALSE;
	ipam.leases = g_ptr_array_new_with_free_func(lease_free);
	ipam.freed = g_ptr_array_new_with_free_func(lease_free);
}

void ipam_end(void)
{
	g_clear_pointer(&ipam.leases, g_ptr_array_unref);
	g_clear_pointer(&ipam.freed, g_ptr_array_unref);
}
