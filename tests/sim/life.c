/* SPDX-License-Identifier: Apache-2.0 */
/* Functions beside the daemon's own replace those of the same name (ld's --wrap). */
#include "life.h"

#include <rdmad/error.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/client.h"
#include "clock.h"
#include "daemon/daemon.h"
#include "daemon/place.h"
#include "daemon/privileges.h"
#include "daemon/services.h"
#include "daemon/succession.h"
#include "events.h"
#include "judge.h"
#include "module/loader.h"
#include "pool.h"
#include "service/scanner.h"
#include "turns.h"

#define LINES 40u

/* The services of an rdmad while others are made on its stack. */
typedef struct {
	RdmadHardware *hardware;
	RdmadAllocations *allocations;
} Aside;

static struct {
	gboolean on, frozen, crashing, stopping;
	guint left; /* number of effects until the crash */
	guint missed;
	guint64 effects;
	RdmadHardware *hardware;
	RdmadAllocations *allocations;
	void (*watch)(const char *line); /* or NULL */
	void (*ended)(void);
	char lines[LINES][200];
	guint next_line;
} life;

/* ---- effects ---- */

gboolean life_effect(void)
{
	life.effects++;
	if (life.crashing && life.left-- == 0)
		life_crash();
	return !life.frozen;
}

void life_crash_at(guint effects)
{
	if (!life.on)
		return;
	life.crashing = TRUE;
	life.left = effects;
}

void life_crash(void)
{
	life.crashing = FALSE;
	life.frozen = life.on;
}

void life_crash_never(void)
{
	life.missed += life.crashing;
	life.crashing = FALSE;
}

guint life_crashes_missed(void)
{
	return life.missed;
}

gboolean life_is_over(void)
{
	return life.frozen;
}

gboolean life_is_stopping(void)
{
	return life.stopping;
}

gboolean life_is_on(void)
{
	return life.on;
}

guint64 life_effects(void)
{
	return life.effects;
}

/* ---- external events ---- */

void life_stop(void)
{
	if (!life.on || life.frozen)
		return;
	/* A second signal ends the life at once. */
	if (life.stopping)
		life_crash();
	else
		signals_send(SIGTERM);
	life.stopping = TRUE;
}

void life_reload(void)
{
	if (life.on && !life.frozen)
		signals_send(SIGHUP);
}

void life_hint_hardware(void)
{
	if (life.hardware)
		rdmad_hardware_hint(life.hardware);
}

void life_watch_end(void (*ended)(void))
{
	life.ended = ended;
}

static void life_forget(void)
{
	life.hardware = NULL;
	life.allocations = NULL;
}

RdmadAllocations *life_allocations(void)
{
	return life.allocations;
}

/* ---- a life ---- */

LifeEnd life_run(const RdmadOptions *options)
{
	g_autoptr(GError) error = NULL;
	gboolean crashed;
	int status;

	signals_drain();
	life.on = TRUE;
	life.frozen = life.crashing = life.stopping = FALSE;
	turns_set_in_rdmad(TRUE);
	status = rdmad_daemon_run(options, &error);
	turns_set_in_rdmad(FALSE);
	crashed = life.frozen;
	life.on = life.frozen = life.crashing = FALSE;
	life_forget();
	if (crashed)
		return LIFE_CRASHED;
	if (error)
		g_snprintf(life.lines[life.next_line++ % LINES], sizeof(life.lines[0]), "ended: %s",
			   error->message);
	return status == 0 ? LIFE_STOPPED : LIFE_FAILED;
}

static Aside set_aside(void)
{
	turns_set_aside(TRUE);
	pool_set_aside(TRUE);
	return (Aside){ life.hardware, life.allocations };
}

static void restore(Aside aside)
{
	pool_set_aside(FALSE);
	turns_set_aside(FALSE);
	life.hardware = aside.hardware;
	life.allocations = aside.allocations;
}

LifeEnd life_second(const RdmadOptions *options)
{
	const gboolean crashing = life.crashing;
	g_autoptr(GError) error = NULL;
	Aside aside;
	int status;

	life.crashing = FALSE;
	aside = set_aside();
	turns_set_in_rdmad(TRUE);
	status = rdmad_daemon_run(options, &error);
	turns_set_in_rdmad(FALSE);
	restore(aside);
	life.crashing = crashing;
	return status == 0 ? LIFE_STOPPED : LIFE_FAILED;
}

/* ---- replaced functions ---- */

/* Linked statically; the other classes have other names (meson.build). */
extern const RdmadModuleClass rdmad_module_class, sim_cni_class, sim_device_plugin_class,
	sim_erdma_class, sim_kube_class, sim_nccl_class;

const RdmadModuleClass *__wrap_rdmad_module_load(const char *directory, const char *name,
						 GError **error);
const RdmadModuleClass *__wrap_rdmad_module_load(const char *directory, const char *name,
						 GError **error)
{
	static const RdmadModuleClass *const classes[] = {
		&rdmad_module_class, &sim_cni_class,  &sim_device_plugin_class,
		&sim_erdma_class,    &sim_kube_class, &sim_nccl_class
	};

	for (guint i = 0; i < G_N_ELEMENTS(classes); i++)
		if (g_str_equal(classes[i]->name, name))
			return classes[i];
	g_assert_not_reached();
}

/* Keeps the capabilities, which the next life needs. */
gboolean __wrap_rdmad_privileges_give_up(RdmadServices *services, GError **error);
gboolean __wrap_rdmad_privileges_give_up(RdmadServices *services, GError **error)
{
	return TRUE;
}

RdmadHardware *__real_rdmad_hardware_new(RdmadLoop *loop, RdmadWorkers *workers,
					 const RdmadSysroot *root, RdmadInventory *inventory,
					 RdmadAttributes *attributes, RdmadEventLog *event_log);
RdmadHardware *__wrap_rdmad_hardware_new(RdmadLoop *loop, RdmadWorkers *workers,
					 const RdmadSysroot *root, RdmadInventory *inventory,
					 RdmadAttributes *attributes, RdmadEventLog *event_log);
RdmadHardware *__wrap_rdmad_hardware_new(RdmadLoop *loop, RdmadWorkers *workers,
					 const RdmadSysroot *root, RdmadInventory *inventory,
					 RdmadAttributes *attributes, RdmadEventLog *event_log)
{
	life.hardware =
		__real_rdmad_hardware_new(loop, workers, root, inventory, attributes, event_log);
	return life.hardware;
}

RdmadAllocations *__real_rdmad_allocations_new(RdmadLoop *loop, RdmadState *state,
					       RdmadEventLog *event_log, GError **error);
RdmadAllocations *__wrap_rdmad_allocations_new(RdmadLoop *loop, RdmadState *state,
					       RdmadEventLog *event_log, GError **error);
RdmadAllocations *__wrap_rdmad_allocations_new(RdmadLoop *loop, RdmadState *state,
					       RdmadEventLog *event_log, GError **error)
{
	life.allocations = __real_rdmad_allocations_new(loop, state, event_log, error);
	return life.allocations;
}

void __real_rdmad_services_free(RdmadServices *services);
void __wrap_rdmad_services_free(RdmadServices *services);
void __wrap_rdmad_services_free(RdmadServices *services)
{
	if (!turns_in_second()) {
		life_forget();
		life.ended();
	}
	__real_rdmad_services_free(services);
}

/* A rehearsal makes services of its own, with a loop. */
int __real_rdmad_daemon_rehearse(RdmadSettings *settings, const RdmadOptions *options,
				 GError **error);
int __wrap_rdmad_daemon_rehearse(RdmadSettings *settings, const RdmadOptions *options,
				 GError **error);
int __wrap_rdmad_daemon_rehearse(RdmadSettings *settings, const RdmadOptions *options,
				 GError **error)
{
	Aside aside;
	int status;

	if (turns_in_second())
		return __real_rdmad_daemon_rehearse(settings, options, error);
	aside = set_aside();
	status = __real_rdmad_daemon_rehearse(settings, options, error);
	restore(aside);
	return status;
}

/* An rdmad that is over does not wait for its predecessor. */
gboolean __real_rdmad_place_keep(RdmadPlace *place, RdmadLockHolder *holder, GError **error);
gboolean __wrap_rdmad_place_keep(RdmadPlace *place, RdmadLockHolder *holder, GError **error);
gboolean __wrap_rdmad_place_keep(RdmadPlace *place, RdmadLockHolder *holder, GError **error)
{
	return life.frozen || __real_rdmad_place_keep(place, holder, error);
}

gboolean __real_rdmad_succession_receives(const RdmadSuccession *succession);
gboolean __wrap_rdmad_succession_receives(const RdmadSuccession *succession);
gboolean __wrap_rdmad_succession_receives(const RdmadSuccession *succession)
{
	return !life.frozen && __real_rdmad_succession_receives(succession);
}

/* A starting rdmad queries the one that runs, which cannot answer: it waits on the same stack, or
 * is the relay.  Without this, the query would wait for its time limit, in real time. */
json_t *__wrap_rdmad_client_call(const char *socket_path, const char *method, const char *path,
				 const char *body, guint timeout_s, json_t **refusal,
				 GError **error);
json_t *__wrap_rdmad_client_call(const char *socket_path, const char *method, const char *path,
				 const char *body, guint timeout_s, json_t **refusal,
				 GError **error)
{
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_TIMEOUT, "%s: no answer", socket_path);
	return NULL;
}

/* Does nothing: returning memory after each life would cost a tenth of the time. */
int __wrap_malloc_trim(size_t keep);
int __wrap_malloc_trim(size_t keep)
{
	return 0;
}

int __wrap_mallopt(int option, int value);
int __wrap_mallopt(int option, int value)
{
	return 1;
}

/* ---- the log ---- */

void life_watch_log(void (*watch)(const char *line))
{
	life.watch = watch;
}

void __wrap_rdmad_log_write(const char *topic, RdmadLogLevel level, RdmadLogSite *site,
			    const RdmadLogFields *fields, const char *format, ...)
	G_GNUC_PRINTF(5, 6);
void __wrap_rdmad_log_write(const char *topic, RdmadLogLevel level, RdmadLogSite *site,
			    const RdmadLogFields *fields, const char *format, ...)
{
	char *line = life.lines[life.next_line++ % LINES];
	const gsize size = sizeof(life.lines[0]);
	gsize length;
	va_list args;

	g_snprintf(line, size, "%.3f %s: ", (double)clock_now_us() / SIM_S, topic);
	length = strlen(line);
	va_start(args, format);
	g_vsnprintf(line + length, size - length, format, args);
	va_end(args);
	if (decisions_notes_are_printed())
		printf("    %s %s %s\n", line,
		       fields && fields->allocation ? fields->allocation : "",
		       fields && fields->pod ? fields->pod : "");
	if (life.watch)
		life.watch(line + length);
	if (g_str_equal(topic, "glib"))
		judge_fails("the log has a misuse of GLib: %s", line);
	if (strstr(line, " behind; freed"))
		judge_fails("a module has left something: %s", line);
}

void life_log_print(void)
{
	for (guint i = 0; i < LINES; i++) {
		const char *line = life.lines[(life.next_line + i) % LINES];

		if (*line)
			fprintf(stderr, "  log: %s\n", line);
	}
	memset(life.lines, 0, sizeof(life.lines));
}
