/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/driver.h"

#include <rdmad/allocations.h>
#include <rdmad/attributes.h>
#include <rdmad/clock.h>
#include <rdmad/error.h>
#include <rdmad/event-log.h>
#include <rdmad/host-command.h>
#include <rdmad/inventory.h>
#include <rdmad/loop.h>
#include <rdmad/module.h>
#include <rdmad/work.h>
#include <string.h>

#include "driver/driver-stats.h"
#include "driver/install.h"
#include "driver/loader.h"
#include "driver/plan.h"
#include "driver/users.h"

#define RETRY_LAST_MS (60u * 60 * 1000)
#define WAIT_MS	      1000u /* poll a module's load or unload: its end is not reported */
/* Install, unload, load, and the modules beside it.  More steps mean that another program reverts
 * them. */
#define STEPS_MAX 8u

struct ErdmaDriver {
	RdmadModule *self;
	const ErdmaDriverSettings *settings;
	ErdmaDriverStats *stats;
	RdmadWatch *scans, *allocations;
	RdmadEvent *timer; /* until the next retry */

	/* At most one of these runs. */
	RdmadJob *job; /* reads the facts */
	ErdmaUsers *users;
	RdmadHostRun *install;
	ErdmaLoader *loader;
	gboolean is_changed; /* a change was reported while the job ran */

	ErdmaFacts facts;
	gboolean has_facts;
	ErdmaPast past;
	guint steps;	   /* since the last lasting state */
	ErdmaDo last;	   /* the last action */
	char *last_module; /* the last module loaded or unloaded */
	/* The last failure had these facts: the next try waits for other facts or the timer. */
	gboolean blocked;
	ErdmaFacts blocked_facts;
	char *step_failure; /* error of the last step, reported after the facts are read again */
	gboolean out_of_memory; /* that step was killed for lack of memory */
	guint failures;
	guint retry_ms; /* the timer's delay while a retry is scheduled */

	ErdmaDriverState state;
	ErdmaMode preferred;
	char *reason, *output;
	char *companion_problems[ERDMA_COMPANION_COUNT];
	gint64 since_us;
};

const char *const erdma_driver_state_names[] = { "absent", "installing", "loading", "ready",
						 "failed" };

static void driver_look(ErdmaDriver *driver);

/* ---- state ---- */

static void driver_publish(const ErdmaDriver *driver)
{
	RdmadAttributes *attributes = rdmad_module_attributes(driver->self);
	const gboolean loaded = driver->has_facts && driver->facts.module == ERDMA_MODULE_LIVE;

	/* The names and values cannot exceed the limits. */
	(void)rdmad_attributes_set(attributes, driver->self, "driver:erdma",
				   erdma_driver_state_names[driver->state], NULL);
	(void)rdmad_attributes_set(attributes, driver->self, "driver:erdma:mode",
				   loaded ? erdma_mode_names[driver->facts.mode] : NULL, NULL);
}

static void driver_set_state(ErdmaDriver *driver, ErdmaDriverState state, const char *reason)
{
	const gboolean same = driver->state == state;

	if (!same)
		driver->since_us = rdmad_wall_us();
	driver->state = state;
	driver_publish(driver);
	if (same && g_strcmp0(driver->reason, reason) == 0)
		return;
	g_free(driver->reason);
	driver->reason = g_strdup(reason);
	rdmad_event_log_post(rdmad_module_event_log(driver->self),
			     state == ERDMA_DRIVER_FAILED ? RDMAD_LOG_WARNING : RDMAD_LOG_NOTICE,
			     "driver-state", NULL, "driver %s is %s%s%s", driver->settings->module,
			     erdma_driver_state_names[state], reason ? ": " : "", reason ?: "");
}

/* Forgets the earlier failures, so that everything is tried again. */
static void driver_forget(ErdmaDriver *driver)
{
	driver->past = (ErdmaPast){ 0 };
	driver->steps = 0;
	driver->last = ERDMA_DO_NOTHING;
	driver->blocked = FALSE;
	g_clear_pointer(&driver->step_failure, g_free);
	driver->out_of_memory = FALSE;
	for (guint i = 0; i < ERDMA_COMPANION_COUNT; i++)
		g_clear_pointer(&driver->companion_problems[i], g_free);
}

static void driver_retry_later(ErdmaDriver *driver)
{
	const guint64 first = driver->settings->retry_ms;

	driver->retry_ms = (guint)MIN(first << MIN(driver->failures, 16u), RETRY_LAST_MS);
	driver->failures++;
	rdmad_event_arm(driver->timer, driver->retry_ms);
}

static void driver_fail(ErdmaDriver *driver, const char *reason)
{
	driver->blocked = TRUE;
	driver->blocked_facts = driver->facts;
	driver_retry_later(driver);
	driver_set_state(driver, ERDMA_DRIVER_FAILED, reason);
}

/* `error` NULL: the step did not begin. */
static void driver_step_failed(ErdmaDriver *driver, const char *reason, const GError *error)
{
	driver->out_of_memory = g_error_matches(error, RDMAD_ERROR, RDMAD_ERROR_LIMIT);
	g_free(driver->step_failure);
	driver->step_failure = g_strdup(reason);
	driver_look(driver);
}

/* Reports the error of the last step.  Returns TRUE if there was one. */
static gboolean driver_report_step_failure(ErdmaDriver *driver)
{
	g_autofree char *reason = g_steal_pointer(&driver->step_failure);

	if (reason)
		driver_fail(driver, reason);
	return reason != NULL;
}

/* Enters a state that lasts until something changes.  The modules missing beside a working driver
 * are retried with a growing delay. */
static void driver_settle(ErdmaDriver *driver, ErdmaDriverState state, const char *reason)
{
	driver->past.installed = FALSE;
	driver->steps = 0;
	driver->last = ERDMA_DO_NOTHING;
	driver->blocked = FALSE;
	if (!driver->past.given_up) {
		driver->failures = 0;
		driver->retry_ms = 0;
		rdmad_event_disarm(driver->timer);
	} else if (!rdmad_event_armed(driver->timer)) {
		driver_retry_later(driver);
	}
	driver_set_state(driver, state, reason);
}

static void timer_expired(gpointer data)
{
	ErdmaDriver *driver = data;

	if (driver->retry_ms)
		driver_forget(driver);
	driver->retry_ms = 0;
	driver_look(driver);
}

/* ---- actions ---- */

static void driver_keep_output(ErdmaDriver *driver, const char *output, gboolean failed)
{
	if (!failed)
		return;
	g_free(driver->output);
	driver->output = output[0] ? g_strdup(output) : NULL;
}

static void install_done(const char *output, const GError *error, gpointer data)
{
	ErdmaDriver *driver = data;

	driver->install = NULL;
	driver_keep_output(driver, output, error != NULL);
	erdma_driver_stats_installed(driver->stats, error);
	driver->past.installed = !error;
	if (error) {
		g_autofree char *reason = g_strdup_printf("the installer: %s", error->message);

		driver_step_failed(driver, reason, error);
	} else {
		driver_look(driver);
	}
}

/* Gives up a module that the driver works without. */
static void driver_give_up(ErdmaDriver *driver, ErdmaCompanion companion, const char *problem)
{
	driver->past.given_up |= 1u << companion;
	g_free(driver->companion_problems[companion]);
	driver->companion_problems[companion] = g_strdup(problem);
	rdmad_event_log_post(rdmad_module_event_log(driver->self), RDMAD_LOG_WARNING,
			     "driver-module", NULL, "%s cannot be loaded: %s",
			     erdma_companion_names[companion], problem);
}

/* Returns ERDMA_COMPANION_COUNT for the driver itself. */
static ErdmaCompanion companion_of(const char *module)
{
	for (guint i = 0; i < ERDMA_COMPANION_COUNT; i++)
		if (g_strcmp0(erdma_companion_names[i], module) == 0)
			return i;
	return ERDMA_COMPANION_COUNT;
}

static void load_done(const char *output, const GError *error, gpointer data)
{
	ErdmaDriver *driver = data;
	const ErdmaCompanion companion = driver->last == ERDMA_DO_LOAD
						 ? companion_of(driver->last_module)
						 : ERDMA_COMPANION_COUNT;

	driver->loader = NULL;
	driver_keep_output(driver, output, error != NULL);
	erdma_driver_stats_loaded(driver->stats, driver->last_module,
				  driver->last == ERDMA_DO_UNLOAD, error);
	if (error && companion == ERDMA_COMPANION_COUNT) {
		driver_step_failed(driver, error->message, error);
		return;
	}
	if (error)
		driver_give_up(driver, companion, error->message);
	driver_look(driver);
}

static void driver_load(ErdmaDriver *driver, const ErdmaPlan *plan)
{
	const gboolean out = plan->what == ERDMA_DO_UNLOAD;
	const char *module = out ? driver->settings->module : plan->module;
	g_autofree char *reason = g_strdup_printf(
		out ? "%s is unloaded, to change its mode" : "%s is being loaded", module);
	g_autoptr(GError) error = NULL;

	g_free(driver->last_module);
	driver->last_module = g_strdup(module);
	/* A ready driver stays ready while a module beside it is loaded. */
	if (out || companion_of(module) == ERDMA_COMPANION_COUNT)
		driver_set_state(driver, ERDMA_DRIVER_LOADING, reason);
	driver->loader = erdma_loader_start(driver->self, driver->settings, module, plan->parameter,
					    out, load_done, driver, &error);
	if (!driver->loader)
		load_done("", error, driver);
}

static void users_listed(char *const *who, gpointer data)
{
	ErdmaDriver *driver = data;
	const ErdmaPlan plan = { .what = ERDMA_DO_UNLOAD };
	g_autofree char *names = who[0] ? g_strjoinv(", ", (char **)who) : NULL;
	g_autofree char *reason = NULL;

	driver->users = NULL;
	if (!names) {
		driver_load(driver, &plan);
		return;
	}
	reason = g_strdup_printf("%s is loaded in mode %s, and cannot be changed to %s while it is "
				 "in use: %s",
				 driver->settings->module, erdma_mode_names[driver->facts.mode],
				 erdma_mode_names[driver->preferred], names);
	driver_step_failed(driver, reason, NULL);
}

static void driver_unload(ErdmaDriver *driver)
{
	g_autoptr(GError) error = NULL;

	driver->users = erdma_users_query(driver->self, driver->settings->module, users_listed,
					  driver, &error);
	if (!driver->users)
		driver_fail(driver, error->message);
}

static void driver_install(ErdmaDriver *driver)
{
	g_autofree char *reason = g_strdup_printf("%s runs", driver->settings->install_command[0]);
	g_autoptr(GError) error = NULL;

	driver_set_state(driver, ERDMA_DRIVER_INSTALLING, reason);
	driver->install =
		erdma_install_start(driver->self, driver->settings, install_done, driver, &error);
	if (!driver->install)
		install_done("", error, driver);
}

/* Returns TRUE if the same action was the last one, and changed nothing without an error. */
static gboolean has_no_effect(const ErdmaDriver *driver, const ErdmaPlan *plan)
{
	if (plan->what == ERDMA_DO_INSTALL)
		return driver->past.installed;
	if (plan->what != driver->last)
		return FALSE;
	return plan->what == ERDMA_DO_UNLOAD || g_strcmp0(plan->module, driver->last_module) == 0;
}

static void driver_refuse_step(ErdmaDriver *driver, const ErdmaPlan *plan)
{
	const ErdmaCompanion companion = companion_of(plan->module);
	g_autofree char *reason =
		plan->what == ERDMA_DO_INSTALL
			? g_strdup_printf("the installer succeeded, but this kernel has no module "
					  "%s that can be loaded",
					  driver->settings->module)
			: g_strdup_printf("%s reported success, but the kernel has %s %s",
					  driver->settings->load_with == ERDMA_LOAD_FINIT
						  ? "the system call"
						  : driver->settings->modprobe,
					  plan->what == ERDMA_DO_UNLOAD ? "still" : "not loaded",
					  plan->module ?: driver->settings->module);

	if (plan->what == ERDMA_DO_LOAD && companion < ERDMA_COMPANION_COUNT) {
		driver_give_up(driver, companion, reason);
		driver_look(driver);
	} else {
		driver_fail(driver, reason);
	}
}

static void driver_step(ErdmaDriver *driver, const ErdmaPlan *plan)
{
	if (has_no_effect(driver, plan)) {
		driver_refuse_step(driver, plan);
		return;
	}
	if (++driver->steps > STEPS_MAX) {
		driver_fail(driver, "the driver does not stay as it is loaded: something else "
				    "changes it too");
		return;
	}
	driver->last = plan->what;
	if (plan->what == ERDMA_DO_INSTALL)
		driver_install(driver);
	else if (plan->what == ERDMA_DO_UNLOAD)
		driver_unload(driver);
	else
		driver_load(driver, plan);
}

static void driver_act(ErdmaDriver *driver)
{
	g_auto(ErdmaPlan) plan = erdma_plan_make(&driver->facts, driver->settings, &driver->past);

	driver->preferred = plan.mode;
	switch (plan.what) {
	case ERDMA_DO_NOTHING:
		driver_settle(driver, ERDMA_DRIVER_ABSENT, plan.reason);
		break;
	case ERDMA_DO_WAIT:
		driver_set_state(driver, ERDMA_DRIVER_LOADING, "the kernel moves the module");
		if (!rdmad_event_armed(driver->timer))
			rdmad_event_arm(driver->timer, WAIT_MS);
		break;
	case ERDMA_DO_FAIL:
		driver_fail(driver, plan.reason);
		break;
	case ERDMA_DO_READY:
		driver_settle(driver, ERDMA_DRIVER_READY, plan.reason);
		break;
	case ERDMA_DO_INSTALL:
	case ERDMA_DO_LOAD:
	case ERDMA_DO_UNLOAD:
		driver_step(driver, &plan);
		break;
	}
}

/* ---- facts ---- */

typedef struct {
	const RdmadSysroot *root;
	char *module, *pci_device;
} FactsInput;

static void facts_input_free(gpointer data)
{
	FactsInput *input = data;

	g_free(input->module);
	g_free(input->pci_device);
	g_free(input);
}

static gpointer facts_run(gpointer data, const RdmadJob *job, GError **error)
{
	const FactsInput *input = data;

	return erdma_facts_read(input->root, input->module, input->pci_device, error);
}

static void driver_found_companion(ErdmaDriver *driver, ErdmaCompanion companion)
{
	driver->past.given_up &= ~(1u << companion);
	g_clear_pointer(&driver->companion_problems[companion], g_free);
}

/* With the facts of the last failure, only the timer retries. */
static void driver_facts_update(ErdmaDriver *driver, const ErdmaFacts *facts)
{
	driver->facts = *facts;
	erdma_facts_add_devices(&driver->facts, rdmad_module_inventory(driver->self),
				driver->settings->module);
	driver->has_facts = TRUE;
	driver_publish(driver);
	for (guint i = 0; i < ERDMA_COMPANION_COUNT; i++)
		if (driver->facts.companion[i])
			driver_found_companion(driver, i);
	if (driver_report_step_failure(driver))
		return;
	if (driver->blocked &&
	    memcmp(&driver->facts, &driver->blocked_facts, sizeof(driver->facts)) == 0)
		return;
	if (driver->blocked) {
		rdmad_event_disarm(driver->timer);
		driver_forget(driver);
	}
	driver_act(driver);
}

static void facts_done(gpointer result, const GError *error, gpointer data)
{
	ErdmaDriver *driver = data;
	g_autofree ErdmaFacts *facts = result;

	driver->job = NULL;
	if (facts) {
		driver_facts_update(driver, facts);
	} else if (!driver_report_step_failure(driver)) {
		/* The last facts remain valid. */
		rdmad_event_log_post(rdmad_module_event_log(driver->self), RDMAD_LOG_WARNING,
				     "driver-unknown", NULL,
				     "cannot read the state of the driver: %s", error->message);
		if (!rdmad_event_armed(driver->timer))
			rdmad_event_arm(driver->timer, (guint)driver->settings->retry_ms);
	}
	if (driver->is_changed) {
		driver->is_changed = FALSE;
		driver_look(driver);
	}
}

static const RdmadJobClass facts_class = {
	.name = "erdma-facts",
	.run = facts_run,
	.done = facts_done,
	.free_input = facts_input_free,
	.free_result = g_free,
};

/* Reads the facts now, or when the running action has ended. */
static void driver_look(ErdmaDriver *driver)
{
	g_autoptr(GError) error = NULL;
	FactsInput *input;

	if (driver->job) {
		driver->is_changed = TRUE;
		return;
	}
	if (driver->users || driver->install || driver->loader)
		return;
	input = g_new0(FactsInput, 1);
	input->root = rdmad_module_sysroot(driver->self);
	input->module = g_strdup(driver->settings->module);
	input->pci_device = g_strdup(driver->settings->pci_device);
	driver->job = rdmad_work_submit(rdmad_module_workers(driver->self), driver->self,
					&facts_class, input, 0, driver, &error);
	if (!driver->job)
		facts_done(NULL, error, driver);
}

/* ---- life ---- */

static void inventory_scanned(gpointer data)
{
	driver_look(data);
}

static const RdmadScanOps scan_ops = { .scanned = inventory_scanned };

/* The end of an allocation may allow a change of mode that was refused. */
static void allocation_ended(const RdmadAllocation *allocation, const char *reason, gpointer data)
{
	ErdmaDriver *driver = data;

	if (!driver->blocked || driver->last != ERDMA_DO_UNLOAD)
		return;
	rdmad_event_disarm(driver->timer);
	driver_forget(driver);
	driver_look(driver);
}

static const RdmadAllocationOps allocation_ops = { .ended = allocation_ended };

gboolean erdma_driver_declare(RdmadModule *self, const ErdmaDriverSettings *settings,
			      GError **error)
{
	return erdma_loader_declare(self, settings, error) &&
	       erdma_install_declare(self, settings, error);
}

ErdmaDriver *erdma_driver_new(RdmadModule *self, const ErdmaDriverSettings *settings,
			      GError **error)
{
	ErdmaDriver *driver;

	if (!erdma_driver_declare(self, settings, error))
		return NULL;
	driver = g_new0(ErdmaDriver, 1);
	driver->self = self;
	driver->settings = settings;
	driver->since_us = rdmad_wall_us();
	driver->stats = erdma_driver_stats_new(self, driver, error);
	if (!driver->stats) {
		g_free(driver);
		return NULL;
	}
	driver->timer = rdmad_loop_add_timer(rdmad_module_loop(self), self, timer_expired, driver);
	driver->scans =
		rdmad_inventory_watch_scans(rdmad_module_inventory(self), self, &scan_ops, driver);
	driver->allocations = rdmad_allocations_watch(rdmad_module_allocations(self), self,
						      &allocation_ops, driver);
	return driver;
}

void erdma_driver_reload(ErdmaDriver *driver, const ErdmaDriverSettings *settings)
{
	driver->settings = settings;
	driver->failures = 0;
	rdmad_event_disarm(driver->timer);
	driver_forget(driver);
	driver_look(driver);
}

void erdma_driver_free(ErdmaDriver *driver)
{
	if (!driver)
		return;
	rdmad_job_cancel(driver->job);
	erdma_users_cancel(driver->users);
	rdmad_host_cancel(driver->install);
	erdma_loader_cancel(driver->loader);
	rdmad_watch_free(driver->scans);
	rdmad_watch_free(driver->allocations);
	rdmad_event_free(driver->timer);
	erdma_driver_stats_free(driver->stats);
	for (guint i = 0; i < ERDMA_COMPANION_COUNT; i++)
		g_free(driver->companion_problems[i]);
	g_free(driver->last_module);
	g_free(driver->step_failure);
	g_free(driver->reason);
	g_free(driver->output);
	g_free(driver);
}

ErdmaDriverView erdma_driver_view(const ErdmaDriver *driver)
{
	return (ErdmaDriverView){
		.state = driver->state,
		.reason = driver->reason,
		.output = driver->output,
		.out_of_memory = driver->out_of_memory,
		.facts = driver->has_facts ? &driver->facts : NULL,
		.companion_problems = (const char *const *)driver->companion_problems,
		.preferred = driver->preferred,
		.since_us = driver->since_us,
		.failures = driver->failures,
		.retry_ms = driver->retry_ms,
	};
}
