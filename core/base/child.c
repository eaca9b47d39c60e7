/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/child.h>

#include <errno.h>
#include <fcntl.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <rdmad/loop.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/child-host.h"
#include "base/owned.h"

#define READ_SIZE     16384u
#define LAST_READ_MAX (1024u * 1024) /* of each stream, after the end */

/* One of the child's output streams. */
typedef struct {
	RdmadChild *child;
	int fd; /* -1: end of the stream */
	RdmadEvent *io;
	GString *tail; /* up to 2 * max, so that bytes are moved rarely */
	gsize max;
	guint64 lost;
} Stream;

struct RdmadChild {
	RdmadOwned owned;
	RdmadLoop *loop;
	char *program;
	pid_t pid; /* also the process group */
	int pidfd;
	RdmadChildCgroup cgroup;
	char *cgroup_name;
	int failure; /* pipe from which a Failure before execve() is read */
	RdmadEvent *ended, *timer;
	Stream output, errors;
	guint grace_ms;
	gboolean timed_out, terminated;
	RdmadChildDone done;
	gpointer data;
};

typedef enum { STEP_HOST, STEP_CGROUP, STEP_NETNS, STEP_DESCRIPTORS, STEP_EXEC } Step;

typedef struct {
	Step step;
	int errnum;
} Failure;

/* The child's descriptors, and all other data that it needs between fork and exec. */
typedef struct {
	const RdmadChildSpec *spec;
	pid_t parent;
	int input, output, errors, failure;
	int go, gate;	/* a pipe; the child waits for one byte */
	int host;	/* pidfd of PID 1; -1: not on the host */
	int namespaces; /* of PID 1, to be entered */
	const RdmadChildCgroup *cgroup;
} Launch;

static void launch_clear(Launch *launch)
{
	rdmad_clear_fd(&launch->input);
	rdmad_clear_fd(&launch->output);
	rdmad_clear_fd(&launch->errors);
	rdmad_clear_fd(&launch->failure);
	rdmad_clear_fd(&launch->go);
	rdmad_clear_fd(&launch->gate);
	rdmad_clear_fd(&launch->host);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Launch, launch_clear)

/* ---- in the child: async-signal-safe functions only ---- */

static void G_GNUC_NORETURN launch_fail(const Launch *launch, Step step)
{
	const Failure failure = { step, errno };

	(void)!write(launch->failure, &failure, sizeof(failure));
	_exit(127);
}

/* Inherited handlers of libevent would write to a socket shared with rdmad. */
static void launch_reset_signals(void)
{
	const struct sigaction by_default = { .sa_handler = SIG_DFL };

	for (int signum = 1; signum < NSIG; signum++)
		sigaction(signum, &by_default, NULL);
}

static void G_GNUC_NORETURN launch_run(const Launch *launch)
{
	static char *const no_environment[] = { NULL };
	const RdmadChildSpec *spec = launch->spec;
	sigset_t none;
	char byte;

	setpgid(0, 0);
	launch_reset_signals();
	if (!spec->survives)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(launch->go);
	if (getppid() != launch->parent || read(launch->gate, &byte, 1) != 1)
		_exit(127);
	if (launch->host >= 0 && setns(launch->host, launch->namespaces) < 0)
		launch_fail(launch, STEP_HOST);
	/* Joined after setns(): the kernel forbids moves out of the cgroup namespace. */
	if (!rdmad_child_cgroup_join(launch->cgroup))
		launch_fail(launch, STEP_CGROUP);
	if (spec->netns > 0 && setns(spec->netns, CLONE_NEWNET) < 0)
		launch_fail(launch, STEP_NETNS);
	if (dup2(launch->input, STDIN_FILENO) < 0 || dup2(launch->output, STDOUT_FILENO) < 0 ||
	    dup2(launch->errors, STDERR_FILENO) < 0 ||
	    close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
		launch_fail(launch, STEP_DESCRIPTORS);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execve(spec->argv[0], (char *const *)spec->argv,
	       spec->envp ? (char *const *)spec->envp : no_environment);
	launch_fail(launch, STEP_EXEC);
}

/* ---- streams ---- */

static void stream_trim(Stream *stream, gsize room)
{
	if (stream->tail->len > room) {
		const gsize excess = stream->tail->len - stream->max;

		g_string_erase(stream->tail, 0, (gssize)excess);
		stream->lost += excess;
	}
}

static void stream_close(Stream *stream)
{
	g_clear_pointer(&stream->io, rdmad_event_free);
	rdmad_clear_fd(&stream->fd);
}

/* Returns FALSE if nothing more can be read now. */
static gboolean stream_read(Stream *stream)
{
	char buffer[READ_SIZE];
	const gssize n = read(stream->fd, buffer, sizeof(buffer));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return errno == EINTR;
	if (n <= 0) {
		stream_close(stream);
		return FALSE;
	}
	g_string_append_len(stream->tail, buffer, n);
	stream_trim(stream, 2 * stream->max);
	return TRUE;
}

static void stream_ready(int fd, RdmadIo ready, gpointer data)
{
	stream_read(data);
}

/* Reads the rest of the pipe.  The limit is for a process that left the group and still writes. */
static void stream_finish(Stream *stream)
{
	for (guint i = 0; stream->fd >= 0 && i < LAST_READ_MAX / READ_SIZE; i++)
		if (!stream_read(stream))
			break;
	stream_close(stream);
	stream_trim(stream, stream->max);
}

static void stream_clear(Stream *stream)
{
	stream_close(stream);
	if (stream->tail)
		g_string_free(g_steal_pointer(&stream->tail), TRUE);
}

static RdmadChildOutput stream_output(const Stream *stream)
{
	return (RdmadChildOutput){ stream->tail->str, stream->tail->len, stream->lost };
}

/* ---- the running child ---- */

static void child_free(RdmadChild *child)
{
	if (child->owned.list)
		rdmad_owned_leave(&child->owned);
	rdmad_event_free(child->ended);
	rdmad_event_free(child->timer);
	stream_clear(&child->output);
	stream_clear(&child->errors);
	rdmad_clear_fd(&child->pidfd);
	rdmad_child_cgroup_end(&child->cgroup, child->cgroup_name);
	rdmad_clear_fd(&child->failure);
	g_free(child->cgroup_name);
	g_free(child->program);
	g_free(child);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadChild, child_free)

/* The kernel does not reuse the group's number until its leader is reaped. */
static void child_signal(const RdmadChild *child, int signum)
{
	kill(-child->pid, signum);
}

static void ignore_status(pid_t pid, int status, gpointer data)
{
}

void rdmad_child_cancel(RdmadChild *child)
{
	RdmadEvent *reaper;

	if (!child)
		return;
	child_signal(child, SIGKILL);
	reaper = rdmad_loop_add_child(child->loop, NULL, child->pid, ignore_status, NULL, NULL);
	(void)reaper; /* frees itself */
	child_free(child);
}

static void child_reap(gpointer object)
{
	rdmad_child_cancel(object);
}

static void child_terminate(RdmadChild *child)
{
	child->terminated = TRUE;
	child_signal(child, SIGTERM);
	rdmad_event_arm(child->timer, child->grace_ms);
}

static void child_deadline(gpointer data)
{
	RdmadChild *child = data;

	if (child->terminated) {
		child_signal(child, SIGKILL);
		return;
	}
	child->timed_out = TRUE;
	child_terminate(child);
}

void rdmad_child_terminate(RdmadChild *child, guint patience_ms)
{
	if (child->terminated)
		return;
	if (patience_ms)
		rdmad_event_arm_within(child->timer, patience_ms);
	else
		child_terminate(child);
}

/* Returns TRUE if the program was executed. */
static gboolean child_ran(const RdmadChild *child, GError **error)
{
	static const char *const steps[] = {
		[STEP_HOST] = "cannot enter the namespaces of PID 1 for",
		[STEP_CGROUP] = "cannot enter the cgroup of",
		[STEP_NETNS] = "cannot enter the network namespace for",
		[STEP_DESCRIPTORS] = "cannot set up the descriptors of",
		[STEP_EXEC] = "cannot run",
	};
	Failure failure;

	if (read(child->failure, &failure, sizeof(failure)) != sizeof(failure))
		return TRUE;
	rdmad_error_errno(error, failure.errnum, "%s %s", steps[failure.step], child->program);
	if (error && failure.step == STEP_EXEC && failure.errnum == ENOENT)
		(*error)->code = RDMAD_ERROR_NOT_FOUND;
	return FALSE;
}

static void child_ended(int fd, RdmadIo ready, gpointer data)
{
	g_autoptr(RdmadChild) child = data;
	g_autoptr(GError) error = NULL;
	RdmadChildResult result = { .exit_status = -1 };
	siginfo_t info = { 0 };

	result.out_of_memory = rdmad_child_cgroup_is_oom(&child->cgroup);
	/* Kill the rest of the group before reaping the leader, which frees the group's number. */
	child_signal(child, SIGKILL);
	rdmad_child_cgroup_end(&child->cgroup, child->cgroup_name);
	if (waitid(P_PIDFD, (id_t)child->pidfd, &info, WEXITED) == 0) {
		result.exit_status = info.si_code == CLD_EXITED ? info.si_status : -1;
		result.signal = info.si_code == CLD_EXITED ? 0 : info.si_status;
	}
	stream_finish(&child->output);
	stream_finish(&child->errors);
	result.timed_out = child->timed_out;
	result.output = stream_output(&child->output);
	result.errors = stream_output(&child->errors);
	rdmad_owned_leave(&child->owned);
	if (child_ran(child, &error))
		child->done(&result, NULL, child->data);
	else
		child->done(NULL, error, child->data);
}

/* ---- start ---- */

/* Moves the descriptor above the standard ones, which dup2() replaces. */
static gboolean fd_raise(int *fd)
{
	int raised;

	if (*fd > STDERR_FILENO)
		return TRUE;
	raised = fcntl(*fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	rdmad_clear_fd(fd);
	*fd = raised;
	return raised >= 0;
}

static gboolean pipe_open(int *ours, int *theirs, GError **error)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return rdmad_error_errno(error, errno, "cannot make a pipe");
	*ours = ends[0];
	*theirs = ends[1];
	if (!fd_raise(theirs) || fcntl(*ours, F_SETFL, O_NONBLOCK) < 0)
		return rdmad_error_errno(error, errno, "cannot make a pipe");
	return TRUE;
}

/* Writes the whole input to a memfd before the fork, so that no write can block. */
static gboolean input_open(const RdmadChildSpec *spec, int *input, GError **error)
{
	*input = memfd_create("rdmad-child-input", MFD_CLOEXEC);
	if (*input < 0 || !fd_raise(input))
		return rdmad_error_errno(error, errno, "cannot make the input of a child");
	if (!rdmad_fd_write_all(*input, spec->input, spec->input_size) ||
	    lseek(*input, 0, SEEK_SET) < 0)
		return rdmad_error_errno(error, errno, "cannot write the input of a child");
	return TRUE;
}

static gboolean gate_open(Launch *launch, GError **error)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return rdmad_error_errno(error, errno, "cannot make a pipe");
	launch->gate = ends[0];
	launch->go = ends[1];
	return TRUE;
}

static gboolean launch_open(Launch *launch, RdmadChild *child, GError **error)
{
	return input_open(launch->spec, &launch->input, error) &&
	       pipe_open(&child->output.fd, &launch->output, error) &&
	       pipe_open(&child->errors.fd, &launch->errors, error) &&
	       pipe_open(&child->failure, &launch->failure, error) && gate_open(launch, error);
}

static gboolean launch_place(Launch *launch, RdmadChild *child, GError **error)
{
	const RdmadChildSpec *spec = launch->spec;

	if (spec->cgroup) {
		child->cgroup_name = g_strdup(spec->cgroup);
		if (!rdmad_child_cgroup_open(spec->cgroup, &child->cgroup, error))
			return FALSE;
	}
	launch->cgroup = &child->cgroup;
	if (!spec->on_host)
		return TRUE;
	launch->host = pidfd_open(1, 0);
	launch->namespaces = rdmad_child_host_namespaces();
	return launch->host >= 0 || rdmad_error_errno(error, errno, "cannot find PID 1");
}

/* Blocks all signals until the child has reset their handlers. */
static gboolean launch_fork(const Launch *launch, RdmadChild *child, GError **error)
{
	sigset_t all, before;
	int errnum;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	child->pid = fork();
	errnum = errno;
	if (child->pid == 0)
		launch_run(launch);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (child->pid < 0)
		return rdmad_error_errno(error, errnum, "cannot fork");
	/* The child calls it too, because either process may run first. */
	setpgid(child->pid, child->pid);
	child->pidfd = pidfd_open(child->pid, 0);
	if (child->pidfd < 0)
		rdmad_error_errno(error, errno, "cannot watch %s", child->program);
	else if ((!launch->spec->born || launch->spec->born(child->pid, child->data, error)) &&
		 write(launch->go, "", 1) == 1)
		return TRUE;
	child_signal(child, SIGKILL);
	waitpid(child->pid, NULL, 0);
	return FALSE;
}

static void stream_init(Stream *stream, RdmadChild *child, gsize max)
{
	*stream = (Stream){ child, -1, NULL, g_string_new(NULL), max, 0 };
}

/* Kills and reaps the child and returns FALSE if the loop cannot watch its descriptors. */
static gboolean child_watch(RdmadChild *child, RdmadModule *owner, guint deadline_ms,
			    GError **error)
{
	RdmadLoop *loop = child->loop;

	child->output.io = rdmad_loop_add_io(loop, NULL, child->output.fd, RDMAD_IO_READ,
					     stream_ready, &child->output, error);
	if (child->output.io)
		child->errors.io = rdmad_loop_add_io(loop, NULL, child->errors.fd, RDMAD_IO_READ,
						     stream_ready, &child->errors, error);
	if (child->errors.io)
		child->ended = rdmad_loop_add_io(loop, NULL, child->pidfd, RDMAD_IO_READ,
						 child_ended, child, error);
	if (!child->ended) {
		child_signal(child, SIGKILL);
		waitpid(child->pid, NULL, 0);
		return FALSE;
	}
	child->timer = rdmad_loop_add_timer(loop, NULL, child_deadline, child);
	if (deadline_ms)
		rdmad_event_arm(child->timer, deadline_ms);
	rdmad_owned_enter(&child->owned, loop, owner, child_reap, child);
	return TRUE;
}

RdmadChild *rdmad_child_start(RdmadLoop *loop, RdmadModule *owner, const RdmadChildSpec *spec,
			      RdmadChildDone done, gpointer data, GError **error)
{
	g_autoptr(RdmadChild) child = g_new0(RdmadChild, 1);
	g_auto(Launch) launch = { spec, getpid(), -1, -1, -1, -1, -1, -1, -1, 0, NULL };
	const gsize max = spec->output_max ?: RDMAD_CHILD_OUTPUT_MAX;

	g_assert(spec->argv && spec->argv[0] && spec->argv[0][0] == '/');
	child->loop = loop;
	child->program = g_strdup(spec->argv[0]);
	child->pidfd = child->failure = -1;
	child->cgroup = RDMAD_CHILD_NO_CGROUP;
	child->grace_ms = spec->grace_ms ?: RDMAD_CHILD_GRACE_MS;
	child->done = done;
	child->data = data;
	stream_init(&child->output, child, max);
	stream_init(&child->errors, child, max);
	if (!launch_place(&launch, child, error) || !launch_open(&launch, child, error) ||
	    !launch_fork(&launch, child, error) ||
	    !child_watch(child, owner, spec->deadline_ms, error))
		return NULL;
	return g_steal_pointer(&child);
}

pid_t rdmad_child_pid(const RdmadChild *child)
{
	return child->pid;
}
