/* SPDX-License-Identifier: Apache-2.0 */
#include "children.h"

#include <errno.h>
#include <jansson.h>
#include <rdmad/child.h>
#include <rdmad/loop.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>

#include "base/owned.h"
#include "clock.h"
#include "descriptors.h"
#include "hardware/sysroot.h"
#include "ipam.h"
#include "life.h"
#include "machine.h"
#include "turns.h"

#define RARITY 16u

typedef enum {
	END_WELL,
	END_AGAIN,
	END_REFUSED,
	END_KILLED, /* by a signal */
	END_SILENT, /* without an answer */
	END_NEVER,  /* before its deadline */
	N_ENDS,
} End;

typedef enum { KILL_BEFORE_WORK, KILL_AFTER_WORK, KILL_LEAVES_ONE, N_KILLS } Kill;

static const guint durations_ms[] = { 8, 300, 9000 };

/* A process of the plugin. */
typedef struct {
	guint pid;
	IpamCall call;
	RdmadEvent *timer; /* NULL: it is not executed */
	gint64 due_us;	   /* of a survivor */
} Process;

struct RdmadChild {
	RdmadOwned owned;
	Process process;
	End end;
	RdmadChildDone done;
	gpointer data;
};

static struct {
	RdmadLoop *loop; /* of the survivors */
	Decisions *decisions;
	gboolean fail, calm;
	GPtrArray *survivors; /* of Process */
} children;

static gboolean decide_yes(void)
{
	return decide(children.decisions, DECIDE_IPAM, 2) != 0;
}

static guint duration_ms(void)
{
	return durations_ms[decide_rarely(children.decisions, DECIDE_IPAM, 2,
					  G_N_ELEMENTS(durations_ms))];
}

/* ---- a process; its files are not rdmad's ---- */

/* `group` 0: it leads its own. */
static guint process_begin(guint group, const char *environment)
{
	const gboolean was = turns_in_rdmad();
	guint pid;

	turns_set_in_rdmad(FALSE);
	pid = machine_process_begin(group, environment);
	turns_set_in_rdmad(was);
	return pid;
}

static void process_clear(Process *process)
{
	const gboolean was = turns_in_rdmad();

	turns_set_in_rdmad(FALSE);
	machine_process_end(process->pid);
	turns_set_in_rdmad(was);
	rdmad_event_free(process->timer);
	ipam_call_clear(&process->call);
}

/* ---- survivors ---- */

static void survivor_free(gpointer data)
{
	process_clear(data);
	g_free(data);
}

static void survivor_due(gpointer data)
{
	Process *survivor = data;
	int status;

	g_free(ipam_work(&survivor->call, &status));
	decisions_note(children.decisions, "survivor %s %.8s: %d", survivor->call.command,
		       survivor->call.container, status);
	g_ptr_array_remove(children.survivors, survivor);
}

static void survivor_new(RdmadChild *child)
{
	Process *survivor = g_new0(Process, 1);
	g_autofree char *environment =
		g_strconcat("CNI_CONTAINERID=", child->process.call.container, NULL);
	guint ms;

	survivor->call = child->process.call;
	child->process.call = (IpamCall){ 0 };
	survivor->pid = process_begin(child->process.pid, environment);
	survivor->timer = rdmad_loop_add_timer(children.loop, NULL, survivor_due, survivor);
	ms = durations_ms[decide(children.decisions, DECIDE_IPAM, G_N_ELEMENTS(durations_ms))];
	survivor->due_us = clock_now_us() + ms * SIM_MS;
	rdmad_event_arm(survivor->timer, ms);
	g_ptr_array_add(children.survivors, survivor);
}

/* ---- the end of a child ---- */

static void child_free(RdmadChild *child)
{
	process_clear(&child->process);
	if (child->owned.list)
		rdmad_owned_leave(&child->owned);
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
		return ipam_work(&child->process.call, &result->exit_status);
	if (child->end == END_AGAIN)
		return ipam_error(IPAM_CODE_AGAIN, "try again");
	if (child->end == END_REFUSED)
		return ipam_error(IPAM_CODE_INTERNAL, "no");
	if (decide_yes())
		unsaid = ipam_work(&child->process.call, &status);
	/* An empty answer is what a successful DEL has. */
	if (child->end == END_SILENT) {
		result->exit_status = g_str_equal(child->process.call.command, "ADD") ? status : 1;
		return NULL;
	}
	result->exit_status = -1;
	result->signal = SIGTERM;
	result->timed_out = child->end == END_NEVER;
	return NULL;
}

static void child_end(RdmadChild *ended)
{
	g_autoptr(RdmadChild) child = ended;
	RdmadChildResult result = { 0 };
	g_autofree char *answer = child_work(child, &result);

	decisions_note(children.decisions, "ipam %s %.8s %s: %d %s", child->process.call.command,
		       child->process.call.container, child->process.call.ifname,
		       result.exit_status, answer ? answer : "");
	result.output = (RdmadChildOutput){ answer ? answer : "", answer ? strlen(answer) : 0, 0 };
	result.errors = (RdmadChildOutput){ "", 0, 0 };
	rdmad_owned_leave(&child->owned);
	child->done(&result, NULL, child->data);
}

/* rdmad may end first; then the child is killed. */
static void child_due(gpointer data)
{
	if (life_effect())
		child_end(data);
}

/* ---- replaced functions ---- */

#define INSTEAD_OF(type, name, ...)                                                                \
	type __wrap_##name(__VA_ARGS__);                                                           \
	type __wrap_##name(__VA_ARGS__)

/* rdmad kills the whole group; at its own end, the kernel kills only the plugin. */
static void child_kill(RdmadChild *child)
{
	const Kill how = (Kill)decide(children.decisions, DECIDE_IPAM,
				      life_is_over() ? N_KILLS : KILL_LEAVES_ONE);
	int status;

	if (how == KILL_AFTER_WORK)
		g_free(ipam_work(&child->process.call, &status));
	else if (how == KILL_LEAVES_ONE)
		survivor_new(child);
}

INSTEAD_OF(void, rdmad_child_cancel, RdmadChild *child)
{
	if (!child)
		return;
	if (child->process.timer && child->end != END_AGAIN && child->end != END_REFUSED)
		child_kill(child);
	child_free(child);
}

INSTEAD_OF(void, rdmad_child_terminate, RdmadChild *child, guint patience_ms)
{
	if (!life_effect() || !child->process.timer)
		return;
	if (child->end == END_NEVER || decide_yes())
		child->end = END_KILLED;
	rdmad_event_arm(child->process.timer, 1);
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
	return children.calm ? END_WELL
			     : (End)decide_rarely(children.decisions, DECIDE_IPAM,
						  children.fail ? 2 : RARITY, N_ENDS);
}

static void child_run(RdmadChild *child, RdmadLoop *loop, RdmadModule *owner, guint deadline_ms)
{
	const guint ms = duration_ms();

	child->end = end_choose();
	child->process.timer = rdmad_loop_add_timer(loop, NULL, child_due, child);
	rdmad_event_arm(child->process.timer, child->end == END_NEVER ? deadline_ms : ms);
	rdmad_owned_enter(&child->owned, loop, owner, child_reap, child);
}

INSTEAD_OF(RdmadChild *, rdmad_child_start, RdmadLoop *loop, RdmadModule *owner,
	   const RdmadChildSpec *spec, RdmadChildDone done, gpointer data, GError **error)
{
	g_autoptr(RdmadChild) child = g_new0(RdmadChild, 1);

	config_check(spec);
	child->process.pid = process_begin(0, "");
	child->process.call.command = variable(spec, "CNI_COMMAND");
	child->process.call.container = variable(spec, "CNI_CONTAINERID");
	child->process.call.ifname = variable(spec, "CNI_IFNAME");
	child->done = done;
	child->data = data;
	if (spec->born && !spec->born((pid_t)child->process.pid, data, error))
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

/* ---- pidfds of survivors ---- */

typedef struct {
	Open open;
	guint pid;
} Pidfd;

/* Returns NULL if it has ended. */
static Process *survivor_find(guint pid)
{
	for (guint i = 0; i < children.survivors->len; i++) {
		Process *survivor = children.survivors->pdata[i];

		if (survivor->pid == pid)
			return survivor;
	}
	return NULL;
}

static void pidfd_end(Open *open)
{
	g_free(open);
}

static guint32 pidfd_ready(const Open *open)
{
	return !life_is_over() && survivor_find(((const Pidfd *)open)->pid) ? 0 : EPOLLIN;
}

/* The work of a process that ends meanwhile is done. */
static void pidfd_wait(const Open *open, guint ms)
{
	Process *survivor = survivor_find(((const Pidfd *)open)->pid);
	const gint64 until_us = clock_now_us() + ms * SIM_MS;

	clock_move_to(MAX(clock_now_us(), MIN(survivor->due_us, until_us)));
	if (survivor->due_us <= until_us)
		survivor_due(survivor);
}

static const OpenKind pidfd_kind = { .end = pidfd_end, .ready = pidfd_ready, .wait = pidfd_wait };

int pidfd_open(pid_t pid, unsigned flags)
{
	Pidfd *pidfd;

	if (!survivor_find((guint)pid))
		return descriptor_fail(ESRCH);
	pidfd = g_new0(Pidfd, 1);
	pidfd->open.kind = &pidfd_kind;
	pidfd->pid = (guint)pid;
	return descriptor_new(&pidfd->open);
}

int pidfd_send_signal(int fd, int signum, siginfo_t *info, unsigned flags)
{
	const Pidfd *pidfd = descriptor_of_kind(fd, &pidfd_kind);

	g_assert_cmpint(signum, ==, SIGKILL);
	if (life_effect())
		g_ptr_array_remove(children.survivors, survivor_find(pidfd->pid));
	return 0;
}

/* ---- functions for the others ---- */

void children_set_failing(gboolean fail)
{
	children.fail = fail;
}

void children_end_deviations(void)
{
	children.calm = TRUE;
}

void children_cut_power(void)
{
	g_ptr_array_set_size(children.survivors, 0);
}

/* ---- life cycle ---- */

void children_begin(RdmadLoop *loop, Decisions *decisions)
{
	children.loop = loop;
	children.decisions = decisions;
	children.fail = children.calm = FALSE;
	children.survivors = g_ptr_array_new_with_free_func(survivor_free);
}

void children_end(void)
{
	g_clear_pointer(&children.survivors, g_ptr_array_unref);
}
