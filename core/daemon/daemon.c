/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Start and end of the daemon.  The start has this order, the end the reverse:
 *
 *	log, notices, loop, signals -> modules loaded -> directories -> locks -> services ->
 *	modules created -> services started -> modules started -> READY
 *
 * The locks come before everything that another rdmad may still use.  A successor that waits for
 * them has only read its settings, loaded its modules, and rehearsed its start.
 *
 * A hand-over to a successor (succession.h, rdmad/hand-over.h) ends a life of the daemon in the
 * same order, except for what the successor continues: the modules drain, their parts become still
 * and are handed over, everything is freed.  The process then begins its next life, in which it
 * waits as any successor does, with the settings that it had.  The service manager would start it
 * again if it ended.
 */
#define RDMAD_LOG_TOPIC "daemon"

#include "daemon/daemon.h"

#include <errno.h>
#include <malloc.h>
#include <rdmad/clock.h>
#include <rdmad/error.h>
#include <rdmad/directory-watch.h>
#include <rdmad/event-log.h>
#include <rdmad/log.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/loop.h"
#include "build-info.h"
#include "module/host.h"
#include "daemon/instance.h"
#include "daemon/notify.h"
#include "daemon/place.h"
#include "daemon/privileges.h"
#include "daemon/services.h"
#include "daemon/settings-attributes.h"
#include "daemon/settings.h"
#include "daemon/succession.h"
#include "network/keeper.h"
#include "service/hand-over-private.h"
#include "service/scanner.h"
#include "service/state.h"

#define LOCK_RETRY_MS 20  /* short, because no rdmad serves the node meanwhile */
#define LOCK_POLL_MS  500 /* the end of the running rdmad closes the connection to it */
#define DRAIN_MS      10000
#define KEEP_RETRY_MS 5000 /* retry after the run directory could not be restored */

/* What outlives a life of the daemon. */
typedef struct {
	const RdmadOptions *options;
	RdmadSettings *settings; /* of the next life */
	RdmadNotify *notify;
	RdmadSuccession *succession;
	RdmadPrivileges privileges;
	gboolean reload_wanted; /* in the next life */
} Process;

typedef struct {
	const RdmadOptions *options;
	RdmadSettings *settings; /* of the last reload, or `started` */
	RdmadSettings *started;
	RdmadServices *services;
	RdmadNotify *notify;
	RdmadEvent *hup, *term, *interrupt;
	RdmadEvent *lock_retry, *watchdog, *drain_limit;
	RdmadPlace *place;
	RdmadDirectoryWatch *run_watch;
	RdmadEvent *keep_retry;
	RdmadSuccession *succession;
	RdmadInstance *instance;
	gboolean follows; /* it has handed over in its life before */
	gboolean ready;	  /* all modules have started */
	gboolean stopping;
	gboolean handing_over; /* to a successor */
	gboolean handed_over;  /* drained: its parts go to the successor */
	gboolean signaled;     /* SIGTERM or SIGINT was received */
	gboolean keeper_ended;
	gboolean reload_wanted; /* SIGHUP was received before `ready`, or while it hands over */
} Daemon;

static void daemon_show_status(Daemon *d)
{
	const guint n = rdmad_modules_count(d->services->modules);

	if (d->services->config_error)
		rdmad_notify_status(d->notify, "running with the old configuration: %s",
				    d->services->config_error);
	else
		rdmad_notify_status(d->notify, "running, %u module%s", n, n == 1 ? "" : "s");
}

static void replace_string(char **where, const char *value)
{
	g_free(*where);
	*where = g_strdup(value);
}

static void daemon_set_settings(Daemon *d, RdmadSettings *settings)
{
	if (d->settings != d->started)
		rdmad_settings_free(d->settings);
	d->settings = settings;
}

/* ---- reload ---- */

static void daemon_accept(Daemon *d, RdmadSettings *now)
{
	g_autofree char *late = rdmad_settings_need_restart(d->started, now);

	rdmad_settings_apply_attributes(d->settings, now, d->services->attributes);
	daemon_set_settings(d, now);
	rdmad_settings_apply_log(now);
	replace_string(&d->services->config_path, now->path);
	replace_string(&d->services->config_error, NULL);
	d->services->config_loaded_us = rdmad_wall_us();
	rdmad_hardware_hint(d->services->hardware);
	rdmad_event_log_post(d->services->event_log, RDMAD_LOG_NOTICE, "config-reloaded", NULL,
			     "the configuration was read again");
	if (late)
		rdmad_warn("new values take effect only after a restart: %s", late);
}

static void daemon_refuse(Daemon *d, const GError *problem)
{
	g_auto(GStrv) lines = g_strsplit(problem->message, "\n", -1);

	g_free(d->services->config_error);
	d->services->config_error = g_strjoinv("; ", lines);
	rdmad_event_log_post(d->services->event_log, RDMAD_LOG_ERR, "config-refused", NULL,
			     "the old configuration stays: %s", d->services->config_error);
}

static void daemon_reload(Daemon *d)
{
	g_autoptr(GError) problem = NULL;
	g_autoptr(RdmadSettings) now = NULL;

	rdmad_notify_reloading(d->notify);
	now = rdmad_settings_load(d->options, &problem);
	if (now && rdmad_modules_reload(d->services->modules, d->settings->modules, now->modules,
					now->module_dir, &problem)) {
		daemon_accept(d, g_steal_pointer(&now));
	} else {
		daemon_refuse(d, problem);
	}
	rdmad_notify_send(d->notify, "READY=1");
	daemon_show_status(d);
}

/* ---- signals ---- */

static void daemon_on_hup(int signum, gpointer data)
{
	Daemon *d = data;

	if (d->ready && !d->stopping)
		daemon_reload(d);
	else
		d->reload_wanted = TRUE;
}

static void daemon_given(gpointer data)
{
	Daemon *d = data;

	rdmad_loop_stop(d->services->loop);
}

static void daemon_parts_still(gpointer data)
{
	Daemon *d = data;

	rdmad_succession_give(d->succession, daemon_given, d);
}

static void daemon_drained(gpointer data)
{
	Daemon *d = data;

	rdmad_event_disarm(d->drain_limit);
	if (d->handing_over && !d->handed_over) {
		d->handed_over = TRUE;
		rdmad_hand_over_freeze(d->services->hand_over, daemon_parts_still, d);
	} else if (!d->handing_over) {
		rdmad_loop_stop(d->services->loop);
	}
}

static void daemon_drain_is_late(gpointer data)
{
	rdmad_warn("some modules are still busy after %d s; stopping them", DRAIN_MS / 1000);
	daemon_drained(data);
}

static void daemon_end(Daemon *d)
{
	d->stopping = d->services->stopping = TRUE;
	rdmad_event_arm(d->drain_limit, DRAIN_MS);
	rdmad_modules_drain(d->services->modules, daemon_drained, d);
}

static void daemon_hand_over(gpointer data)
{
	Daemon *d = data;
	g_autofree char *to = NULL;

	if (d->handing_over || d->stopping)
		return;
	to = rdmad_instance_text(rdmad_succession_next(d->succession));
	rdmad_notice("handing over to rdmad of %s", to);
	rdmad_notify_status(d->notify, "handing over to another rdmad");
	d->handing_over = TRUE;
	rdmad_hand_over_begin(d->services->hand_over);
	daemon_end(d);
}

static void exit_at_once(int signum)
{
	_exit(RDMAD_EXIT_FAILURE);
}

/* Blocks signals until the loop handles them. */
static void daemon_block_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

/* Bypasses the loop, which may hang.  Installs a handler instead of SIG_DFL, because the init
 * process of a container does not receive signals with the default action. */
static void daemon_exit_on_next_signal(Daemon *d)
{
	const struct sigaction action = { .sa_handler = exit_at_once };
	sigset_t set;

	g_clear_pointer(&d->term, rdmad_event_free);
	g_clear_pointer(&d->interrupt, rdmad_event_free);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static void daemon_on_term(int signum, gpointer data)
{
	Daemon *d = data;

	rdmad_notice("stopping on %s", signum == SIGINT ? "SIGINT" : "SIGTERM");
	d->signaled = TRUE;
	daemon_exit_on_next_signal(d);
	rdmad_notify_send(d->notify, "STOPPING=1");
	if (d->handing_over)
		return; /* rdmad ends after the hand-over anyway */
	if (d->ready && rdmad_succession_next(d->succession)) {
		daemon_hand_over(d);
		return;
	}
	d->stopping = d->services->stopping = TRUE;
	if (!d->ready)
		return; /* still waiting for the lock */
	rdmad_notify_status(d->notify, "waiting for in-flight requests");
	daemon_end(d);
}

static void daemon_on_watchdog(gpointer data)
{
	Daemon *d = data;

	rdmad_notify_send(d->notify, "WATCHDOG=1");
	rdmad_event_arm(d->watchdog, rdmad_notify_watchdog_ms(d->notify));
}

static void daemon_nothing(gpointer data)
{
}

/* ---- the run directory ---- */

static void daemon_report_run_dir(Daemon *d, const GError *problem)
{
	char **reported = &d->services->run_dir_problem;
	const char *now = problem ? problem->message : NULL;

	if (now)
		rdmad_event_arm(d->keep_retry, KEEP_RETRY_MS);
	if (!g_strcmp0(*reported, now))
		return;
	if (now)
		rdmad_event_log_post(d->services->event_log, RDMAD_LOG_ERR, "run-dir-lost", NULL,
				     "the run directory is not whole: %s", now);
	else
		rdmad_event_log_post(d->services->event_log, RDMAD_LOG_NOTICE, "run-dir-made", NULL,
				     "the run directory is whole again");
	replace_string(reported, now);
}

static gboolean daemon_keep_place(gpointer data, GError **error)
{
	Daemon *d = data;
	RdmadLockHolder holder;

	return rdmad_place_keep(d->place, &holder, error);
}

/* Restores the directory with its sockets: without the control socket, no command reaches rdmad. */
static void daemon_keep_run_dir(gpointer data)
{
	Daemon *d = data;
	g_autoptr(GError) problem = NULL;

	if (daemon_keep_place(d, &problem) && rdmad_services_keep_control(d->services, &problem))
		rdmad_succession_keep(d->succession, &problem);
	daemon_report_run_dir(d, problem);
}

static void daemon_watch_run_dir(Daemon *d)
{
	d->run_watch = rdmad_directory_watch_new(d->services->loop, NULL, d->settings->run_dir,
						 daemon_keep_run_dir, d);
	/* The directory may have been removed since it was created. */
	daemon_keep_run_dir(d);
}

static gboolean daemon_add_events(Daemon *d, GError **error)
{
	RdmadLoop *loop = d->services->loop;

	d->lock_retry = rdmad_loop_add_timer(loop, NULL, daemon_nothing, d);
	d->keep_retry = rdmad_loop_add_timer(loop, NULL, daemon_keep_run_dir, d);
	d->drain_limit = rdmad_loop_add_timer(loop, NULL, daemon_drain_is_late, d);
	d->watchdog = rdmad_loop_add_timer(loop, NULL, daemon_on_watchdog, d);
	d->hup = rdmad_loop_add_signal(loop, SIGHUP, daemon_on_hup, d);
	d->term = rdmad_loop_add_signal(loop, SIGTERM, daemon_on_term, d);
	d->interrupt = rdmad_loop_add_signal(loop, SIGINT, daemon_on_term, d);
	if (!d->hup || !d->term || !d->interrupt)
		return rdmad_error_errno(error, errno, "cannot wait for signals");
	if (rdmad_notify_watchdog_ms(d->notify))
		rdmad_event_arm(d->watchdog, 0);
	return TRUE;
}

/* ---- other instances ---- */

static void daemon_others_changed(gpointer data)
{
	Daemon *d = data;
	g_autoptr(GPtrArray) others = rdmad_succession_others(d->succession);
	g_autofree char *self = rdmad_instance_text(d->instance);
	g_auto(GStrv) before = g_steal_pointer(&d->services->other_instances);
	char **now = g_new0(char *, others->len + 1);

	for (guint i = 0; i < others->len; i++) {
		now[i] = rdmad_instance_text(others->pdata[i]);
		if (!before || !g_strv_contains((const char *const *)before, now[i]))
			rdmad_event_log_post(
				d->services->event_log, RDMAD_LOG_WARNING, "other-instance", NULL,
				"rdmad of %s waits for this node, which %s serves", now[i], self);
	}
	d->services->other_instances = now;
	for (guint i = 0; before && before[i]; i++)
		if (!g_strv_contains((const char *const *)now, before[i]))
			rdmad_event_log_post(
				d->services->event_log, RDMAD_LOG_NOTICE, "other-instance", NULL,
				"rdmad of %s does not wait for this node any more", before[i]);
}

/* The modules and resources of the two may differ. */
static void daemon_report_other(Daemon *d)
{
	const RdmadInstance *other = rdmad_succession_other(d->succession);
	g_autofree char *before = other ? rdmad_instance_text(other) : NULL;
	g_autofree char *self = rdmad_instance_text(d->instance);

	if (other)
		rdmad_event_log_post(d->services->event_log, RDMAD_LOG_WARNING, "other-instance",
				     NULL, "rdmad of %s serves this node after %s", self, before);
}

static const RdmadSuccessionOps succession_ops = { daemon_hand_over, daemon_others_changed };

/* ---- life cycle ---- */

static void daemon_report_waiting(Daemon *d, pid_t holder)
{
	if (d->follows)
		rdmad_notice("waiting for rdmad pid %d to end", (int)holder);
	else
		rdmad_notice("waiting for rdmad pid %d to end, %u s at most", (int)holder,
			     d->options->lock_wait_s);
	rdmad_notify_status(d->notify, "waiting for rdmad pid %d to end", (int)holder);
}

/* The locks become free when the predecessor ends; parts that it has sent may still be unread. */
static void daemon_receive_rest(Daemon *d)
{
	while (rdmad_succession_receives(d->succession) && !d->stopping)
		rdmad_loop_turn(d->services->loop);
	rdmad_succession_judge(d->succession, rdmad_place_predecessor(d->place));
}

static gboolean daemon_may_wait(const Daemon *d, gint64 end_us, const GError *problem)
{
	return g_error_matches(problem, RDMAD_ERROR, RDMAD_ERROR_BUSY) &&
	       (d->follows || rdmad_now_us() < end_us);
}

/* The running rdmad tells its end to those that it knows. */
static void daemon_wait(Daemon *d, gint64 end_us)
{
	const gint64 left_ms =
		d->follows ? LOCK_POLL_MS : MAX((end_us - rdmad_now_us()) / 1000 + 1, 0);

	rdmad_event_arm(d->lock_retry, rdmad_succession_is_known(d->succession)
					       ? (guint)MIN(LOCK_POLL_MS, left_ms)
					       : LOCK_RETRY_MS);
	rdmad_loop_turn(d->services->loop);
}

/* Returns TRUE also after a signal to stop. */
static gboolean daemon_take_place(Daemon *d, GError **error)
{
	const gint64 end_us = rdmad_now_us() + d->options->lock_wait_s * G_USEC_PER_SEC;
	const gboolean now = d->options->take_over && !d->follows;
	gboolean reported = FALSE;

	while (!d->stopping) {
		g_autoptr(GError) problem = NULL;
		RdmadLockHolder holder;

		if (rdmad_place_keep(d->place, &holder, &problem)) {
			daemon_receive_rest(d);
			return TRUE;
		}
		if (!daemon_may_wait(d, end_us, problem)) {
			g_propagate_error(error, g_steal_pointer(&problem));
			return FALSE;
		}
		/* A signal to stop may have come during the rehearsal: one turn before the
		 * request. */
		if (reported) {
			rdmad_succession_ask(d->succession, &holder, now, d->options->any_instance);
			daemon_wait(d, end_us);
			continue;
		}
		daemon_report_waiting(d, holder.pid);
		reported = TRUE;
		rdmad_event_arm(d->lock_retry, 0);
		rdmad_loop_turn(d->services->loop);
	}
	return TRUE;
}

/* Rehearses the start before the predecessor hands over, because the start interrupts the service.
 * A life that follows has been rehearsed by the one before. */
static int daemon_rehearse(Daemon *d, GError **error)
{
	if (d->follows || !rdmad_place_is_held(d->place))
		return 0;
	return rdmad_daemon_rehearse(d->settings, d->options, error);
}

/* A failure is not fatal: an update then interrupts the service. */
static void daemon_serve_successors(Daemon *d)
{
	g_autoptr(GError) error = NULL;

	if (!rdmad_succession_serve(d->succession, &succession_ops, d, &error))
		rdmad_warn("cannot hand over to a successor: %s", error->message);
}

static gboolean daemon_start(Daemon *d, GError **error)
{
	if (!rdmad_services_start(d->services, error) ||
	    !rdmad_modules_start(d->services->modules, error) ||
	    !rdmad_keeper_close_list(d->services->privileges.keeper, error))
		return FALSE;
	rdmad_services_ask_kubelet(d->services);
	rdmad_hand_over_settle(d->services->hand_over);
	daemon_watch_run_dir(d);
	daemon_report_other(d);
	daemon_serve_successors(d);
	d->ready = TRUE;
	rdmad_notice("rdmad " RDMAD_VERSION " is ready");
	rdmad_notify_send(d->notify, "READY=1");
	daemon_show_status(d);
	if (d->reload_wanted) {
		d->reload_wanted = FALSE;
		daemon_reload(d);
	}
	malloc_trim(0); /* the start needed more memory than remains in use */
	return TRUE;
}

int rdmad_daemon_status(const GError *error)
{
	static const RdmadError lasting[] = { RDMAD_ERROR_CONFIG, RDMAD_ERROR_NOT_FOUND,
					      RDMAD_ERROR_ABI, RDMAD_ERROR_INVALID };

	for (guint i = 0; i < G_N_ELEMENTS(lasting); i++)
		if (g_error_matches(error, RDMAD_ERROR, (int)lasting[i]))
			return RDMAD_EXIT_CONFIG;
	return RDMAD_EXIT_FAILURE;
}

/* Stops, because only the keeper can start executors. */
static void daemon_keeper_ended(int fd, RdmadIo ready, gpointer data)
{
	Daemon *d = data;

	rdmad_err("the keeper of executors has ended, and so does rdmad");
	d->keeper_ended = TRUE;
	rdmad_loop_stop(d->services->loop);
}

static gboolean daemon_watch_keeper(Daemon *d, GError **error)
{
	const RdmadKeeper *keeper = d->services->privileges.keeper;

	return !keeper || rdmad_loop_add_io(d->services->loop, NULL, rdmad_keeper_fd(keeper),
					    RDMAD_IO_READ, daemon_keeper_ended, d, error) != NULL;
}

static int daemon_run(Daemon *d, GError **error)
{
	RdmadServices *services = d->services;
	int status;

	if (!services || !daemon_add_events(d, error))
		return RDMAD_EXIT_FAILURE;
	rdmad_succession_attach(d->succession, services->loop, services->hand_over, d->instance,
				d->place);
	if (!rdmad_modules_load(services->modules, d->settings->modules, d->settings->module_dir,
				error))
		return rdmad_daemon_status(*error);
	status = daemon_rehearse(d, error);
	if (status)
		return status;
	if (!daemon_take_place(d, error))
		return RDMAD_EXIT_FAILURE;
	if (d->stopping)
		return 0;
	if (!rdmad_privileges_give_up(services, d->settings->seccomp, error) ||
	    !daemon_watch_keeper(d, error))
		return RDMAD_EXIT_FAILURE;
	if (!rdmad_services_open(services, d->settings, d->options->sysroot, FALSE, error))
		return RDMAD_EXIT_FAILURE;
	rdmad_state_set_keeper(services->state, daemon_keep_place, d);
	rdmad_settings_apply_attributes(NULL, d->settings, services->attributes);
	if (!rdmad_modules_create(services->modules, d->settings->modules, error))
		return rdmad_daemon_status(*error);
	if (!daemon_start(d, error))
		return RDMAD_EXIT_FAILURE;
	if (!d->stopping)
		rdmad_loop_run(services->loop);
	return d->keeper_ended ? RDMAD_EXIT_FAILURE : 0;
}

static void daemon_clear(Daemon *d)
{
	if (d->services)
		rdmad_modules_stop(d->services->modules);
	rdmad_directory_watch_free(d->run_watch);
	rdmad_succession_detach(d->succession);
	rdmad_services_free(d->services); /* frees all events too */
	rdmad_succession_pass(d->succession, d->instance, d->place, d->signaled);
	rdmad_place_free(d->place);
	rdmad_instance_free(d->instance);
}

/* The settings of a reload stay, without those that have no effect before a restart. */
static RdmadSettings *daemon_take_settings(Daemon *d)
{
	RdmadSettings *settings = d->settings;

	if (settings != d->started) {
		rdmad_settings_keep(settings, d->started);
		rdmad_settings_free(d->started);
	}
	return settings;
}

/* Returns the status, and in `again` whether the process has handed over and begins another
 * life. */
static int process_live(Process *process, gboolean *again, GError **error)
{
	Daemon d = { .options = process->options,
		     .settings = process->settings,
		     .started = process->settings,
		     .notify = process->notify,
		     .succession = process->succession,
		     .reload_wanted = process->reload_wanted,
		     .follows = *again };
	int status;

	d.place = rdmad_place_new(d.settings->run_dir, d.settings->state_dir);
	d.instance = rdmad_instance_new(d.settings->instance, d.settings->path,
					rdmad_place_self(d.place));
	d.services = rdmad_services_new(error);
	if (d.services) {
		d.services->instance = g_strdup(d.settings->instance);
		d.services->privileges = process->privileges;
		process->privileges.keeper = NULL;
	}
	status = daemon_run(&d, error);
	*again = d.handed_over && status == 0 && !d.signaled;
	if (*again) {
		process->privileges = d.services->privileges;
		d.services->privileges.keeper = NULL;
	}
	daemon_clear(&d);
	process->settings = daemon_take_settings(&d);
	process->reload_wanted = d.reload_wanted;
	return status;
}

static int process_run(Process *process, GError **error)
{
	gboolean again = FALSE;
	int status;

	do {
		status = process_live(process, &again, error);
		if (again) {
			rdmad_notice("handed over; waiting to follow");
			rdmad_notify_status(process->notify, "handed over; waiting to follow");
			malloc_trim(0);
		}
	} while (again);
	return status;
}

int rdmad_daemon_run(const RdmadOptions *options, GError **error)
{
	Process process = { .options = options };
	int status;

	daemon_block_signals();
	umask(0077);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* exceeding a file size limit is an error of the write */
	/* One heap: workers allocate little, so separate heaps would waste memory. */
	mallopt(M_ARENA_MAX, 1);
	/* A fixed threshold: glibc would raise it after the first response of megabytes, and keep
	 * the memory of later ones (19 MiB instead of 14 after scrapes of 512 ports).  Costs no
	 * time. */
	mallopt(M_MMAP_THRESHOLD, 256 << 10);
	process.settings = rdmad_settings_load(options, error);
	if (!process.settings)
		return rdmad_daemon_status(*error);
	rdmad_settings_apply_log(process.settings);
	rdmad_log_redirect_glib();
	process.notify = rdmad_notify_new();
	process.succession = rdmad_succession_new(process.settings->run_dir);
	status = process_run(&process, error);
	rdmad_succession_free(process.succession);
	rdmad_settings_free(process.settings);
	rdmad_notify_free(process.notify);
	if (status == 0)
		rdmad_notice("rdmad has ended");
	return status;
}
