/* SPDX-License-Identifier: Apache-2.0 */
#define RDMAD_LOG_TOPIC "daemon"
#include "module/host.h"

#include <rdmad/error.h>
#include <rdmad/log.h>

#include "module/loader.h"
#include "module/module.h"

typedef struct {
	char *name;
	gboolean optional;
	RdmadModuleState state;
	RdmadModule *module; /* NULL: failed or ended */
	char *error;	     /* of a failed module */
} RdmadModuleSlot;

struct RdmadModules {
	const RdmadServices *services;
	GHashTable *classes; /* name -> RdmadModuleClass of all modules that were ever loaded */
	GPtrArray *slots;    /* RdmadModuleSlot * */
	guint draining;	     /* modules that have not drained yet */
	void (*drained)(gpointer data);
	gpointer drained_data;
};

static void module_slot_end(RdmadModuleSlot *slot);

static void module_slot_free(RdmadModuleSlot *slot)
{
	module_slot_end(slot);
	g_free(slot->name);
	g_free(slot->error);
	g_free(slot);
}

RdmadModules *rdmad_modules_new(const RdmadServices *services)
{
	RdmadModules *modules = g_new0(RdmadModules, 1);

	modules->services = services;
	modules->classes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	modules->slots = g_ptr_array_new_with_free_func((GDestroyNotify)module_slot_free);
	return modules;
}

void rdmad_modules_free(RdmadModules *modules)
{
	if (!modules)
		return;
	while (modules->slots->len)
		g_ptr_array_remove_index(modules->slots, modules->slots->len - 1);
	g_ptr_array_unref(modules->slots);
	g_hash_table_unref(modules->classes);
	g_free(modules);
}

static RdmadModuleSlot *modules_slot(const RdmadModules *modules, const char *name)
{
	for (guint i = 0; i < modules->slots->len; i++) {
		RdmadModuleSlot *slot = g_ptr_array_index(modules->slots, i);

		if (!strcmp(slot->name, name))
			return slot;
	}
	return NULL;
}

/* Appends a slot. */
static RdmadModuleSlot *modules_add_slot(RdmadModules *modules, const RdmadModuleEntry *entry)
{
	RdmadModuleSlot *slot = g_new0(RdmadModuleSlot, 1);

	slot->name = g_strdup(entry->name);
	slot->optional = entry->optional;
	g_ptr_array_add(modules->slots, slot);
	return slot;
}

/* Stops and destroys the module, if there is one. */
static void module_slot_end(RdmadModuleSlot *slot)
{
	if (!slot->module)
		return;
	rdmad_module_free(g_steal_pointer(&slot->module));
	slot->state = RDMAD_MODULE_STOPPED;
}

/* Takes `problem` over. */
static gboolean module_slot_failed(RdmadModuleSlot *slot, GError *problem, GError **error)
{
	module_slot_end(slot);
	slot->state = RDMAD_MODULE_FAILED;
	g_free(slot->error);
	slot->error = g_strdup(problem->message);
	if (!slot->optional) {
		g_propagate_error(error, problem);
		return FALSE;
	}
	rdmad_warn("continuing without an optional module: %s", problem->message);
	g_error_free(problem);
	return TRUE;
}

/* A module that ended and is started again has the same code; a new file needs a restart. */
static const RdmadModuleClass *modules_class(RdmadModules *modules, const RdmadModuleEntry *entry,
					     const char *module_dir, const char *name,
					     GError **error)
{
	const RdmadModuleClass *klass = g_hash_table_lookup(modules->classes, name);
	GError *problem = NULL;

	if (klass)
		return klass;
	klass = rdmad_module_load(module_dir, name, &problem);
	if (klass) {
		g_hash_table_insert(modules->classes, g_strdup(name), (gpointer)klass);
	} else if (entry->config && g_error_matches(problem, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND)) {
		rdmad_config_error(entry->config, NULL, error, "%s", problem->message);
		g_error_free(problem);
	} else {
		g_propagate_error(error, problem);
	}
	return klass;
}

/* ---- capabilities ---- */

static guint64 capabilities_mask(const RdmadCapability *list)
{
	guint64 mask = 0;

	for (; list && list->why; list++)
		mask |= G_GUINT64_CONSTANT(1) << list->capability;
	return mask;
}

guint64 rdmad_modules_capabilities(const RdmadModules *modules, gboolean of_executors)
{
	GHashTableIter iter;
	gpointer value;
	guint64 mask = 0;

	g_hash_table_iter_init(&iter, modules->classes);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		const RdmadModuleClass *klass = value;

		mask |= capabilities_mask(of_executors ? klass->executor_capabilities
						       : klass->capabilities);
	}
	return mask;
}

gboolean rdmad_modules_run_programs(const RdmadModules *modules)
{
	for (guint i = 0; i < modules->slots->len; i++) {
		const RdmadModuleSlot *slot = g_ptr_array_index(modules->slots, i);
		const RdmadModuleClass *klass = g_hash_table_lookup(modules->classes, slot->name);

		if (klass && klass->runs_programs)
			return TRUE;
	}
	return FALSE;
}

void rdmad_modules_foreach_capability(const RdmadModules *modules,
				      void (*fn)(const char *module, const char *process,
						 const RdmadCapability *capability, gpointer data),
				      gpointer data)
{
	for (guint i = 0; i < modules->slots->len; i++) {
		const RdmadModuleSlot *slot = g_ptr_array_index(modules->slots, i);
		const RdmadModuleClass *klass = g_hash_table_lookup(modules->classes, slot->name);
		const RdmadCapability *c = klass ? klass->capabilities : NULL;

		for (; c && c->why; c++)
			fn(slot->name, "daemon", c, data);
		c = klass ? klass->executor_capabilities : NULL;
		for (; c && c->why; c++)
			fn(slot->name, "executor", c, data);
	}
}

/* A module of a reload must not need capabilities that rdmad has dropped. */
static gboolean class_is_allowed(const RdmadServices *services, const RdmadModuleClass *klass,
				 GError **error)
{
	if (!services->privileges.is_limited ||
	    (!(capabilities_mask(klass->capabilities) & ~services->privileges.capabilities) &&
	     !(capabilities_mask(klass->executor_capabilities) &
	       ~services->privileges.executor_capabilities) &&
	     klass->runs_programs <= services->privileges.runs_programs))
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG,
		    "module %s needs capabilities or calls that rdmad has given up: restart it",
		    klass->name);
	return FALSE;
}

/* Steps of a module's life.  They return TRUE also if an optional module fails, and do nothing for
 * a module that has failed before. */
static gboolean module_slot_load(RdmadModules *modules, RdmadModuleSlot *slot,
				 const RdmadModuleEntry *entry, const char *module_dir,
				 GError **error)
{
	GError *problem = NULL;
	const RdmadModuleClass *klass =
		modules_class(modules, entry, module_dir, slot->name, &problem);

	if (!klass || !class_is_allowed(modules->services, klass, &problem))
		return module_slot_failed(slot, problem, error);
	slot->module = rdmad_module_new(modules->services, klass);
	slot->state = RDMAD_MODULE_CREATED;
	return TRUE;
}

static gboolean module_slot_create(RdmadModuleSlot *slot, const RdmadConfigNode *config,
				   GError **error)
{
	GError *problem = NULL;

	if (!slot->module || rdmad_module_create(slot->module, config, &problem))
		return TRUE;
	return module_slot_failed(slot, problem, error);
}

static gboolean module_slot_start(RdmadModuleSlot *slot, GError **error)
{
	GError *problem = NULL;

	if (!slot->module)
		return TRUE;
	if (!rdmad_module_start(slot->module, &problem))
		return module_slot_failed(slot, problem, error);
	slot->state = RDMAD_MODULE_RUNNING;
	g_clear_pointer(&slot->error, g_free);
	rdmad_info("module %s has started", slot->name);
	return TRUE;
}

const RdmadModuleEntry *rdmad_modules_entry(const GPtrArray *entries, const char *name)
{
	for (guint i = 0; i < entries->len; i++) {
		const RdmadModuleEntry *entry = g_ptr_array_index(entries, i);

		if (g_str_equal(entry->name, name))
			return entry;
	}
	return NULL;
}

gboolean rdmad_modules_load(RdmadModules *modules, const GPtrArray *entries, const char *module_dir,
			    GError **error)
{
	for (guint i = 0; i < entries->len; i++) {
		const RdmadModuleEntry *entry = g_ptr_array_index(entries, i);

		if (!module_slot_load(modules, modules_add_slot(modules, entry), entry, module_dir,
				      error))
			return FALSE;
	}
	return TRUE;
}

gboolean rdmad_modules_create(RdmadModules *modules, const GPtrArray *entries, GError **error)
{
	for (guint i = 0; i < modules->slots->len; i++) {
		RdmadModuleSlot *slot = g_ptr_array_index(modules->slots, i);
		const RdmadModuleEntry *entry = rdmad_modules_entry(entries, slot->name);

		if (!module_slot_create(slot, entry->config, error))
			return FALSE;
	}
	return TRUE;
}

/* Takes `more` over, which may be NULL. */
static void error_join(GError **error, GError *more)
{
	g_autofree char *before = NULL;

	if (!more)
		return;
	if (!*error) {
		*error = more;
		return;
	}
	before = (*error)->message;
	(*error)->message = g_strconcat(before, "\n", more->message, NULL);
	g_error_free(more);
}

gboolean rdmad_modules_create_all(RdmadModules *modules, const GPtrArray *entries,
				  const char *module_dir, GError **error)
{
	GError *all = NULL;

	for (guint i = 0; i < entries->len; i++) {
		const RdmadModuleEntry *entry = g_ptr_array_index(entries, i);
		RdmadModuleSlot *slot = modules_add_slot(modules, entry);
		GError *problem = NULL;

		if (!module_slot_load(modules, slot, entry, module_dir, &problem) ||
		    !module_slot_create(slot, entry->config, &problem))
			error_join(&all, problem);
	}
	if (!all)
		return TRUE;
	g_propagate_error(error, all);
	return FALSE;
}

gboolean rdmad_modules_rehearse(const RdmadModules *modules, GError **error)
{
	for (guint i = 0; i < modules->slots->len; i++) {
		const RdmadModuleSlot *slot = g_ptr_array_index(modules->slots, i);

		if (!slot->module || slot->optional || rdmad_module_rehearse(slot->module, error))
			continue;
		g_prefix_error(error, "module %s: ", slot->name);
		return FALSE;
	}
	return TRUE;
}

void rdmad_modules_check(const RdmadModules *modules, RdmadCheckFunc warn, gpointer data)
{
	for (guint i = 0; i < modules->slots->len; i++) {
		const RdmadModuleSlot *slot = g_ptr_array_index(modules->slots, i);

		if (slot->module)
			rdmad_module_check(slot->module, warn, data);
	}
}

gboolean rdmad_modules_start(RdmadModules *modules, GError **error)
{
	for (guint i = 0; i < modules->slots->len; i++)
		if (!module_slot_start(g_ptr_array_index(modules->slots, i), error))
			return FALSE;
	return TRUE;
}

static void modules_one_drained(gpointer data)
{
	RdmadModules *modules = data;

	if (--modules->draining == 0)
		modules->drained(modules->drained_data);
}

void rdmad_modules_drain(RdmadModules *modules, void (*drained)(gpointer data), gpointer data)
{
	modules->drained = drained;
	modules->drained_data = data;
	modules->draining = 1; /* the host itself, until all modules are notified */
	for (guint i = 0; i < modules->slots->len; i++) {
		const RdmadModuleSlot *slot = g_ptr_array_index(modules->slots, i);

		if (slot->state != RDMAD_MODULE_RUNNING)
			continue;
		modules->draining++;
		rdmad_module_drain(slot->module, modules_one_drained, modules);
	}
	modules_one_drained(modules);
}

void rdmad_modules_stop(RdmadModules *modules)
{
	for (guint i = modules->slots->len; i-- > 0;) {
		RdmadModuleSlot *slot = g_ptr_array_index(modules->slots, i);

		if (slot->state != RDMAD_MODULE_RUNNING)
			continue;
		rdmad_module_stop(slot->module);
		slot->state = RDMAD_MODULE_STOPPED;
	}
}

guint rdmad_modules_count(const RdmadModules *modules)
{
	return modules->slots->len;
}

void rdmad_modules_info(const RdmadModules *modules, guint index, RdmadModuleInfo *info)
{
	const RdmadModuleSlot *slot = g_ptr_array_index(modules->slots, index);

	*info = (RdmadModuleInfo){
		.name = slot->name,
		.description = slot->module ? rdmad_module_description(slot->module) : NULL,
		.state = slot->state,
		.error = slot->error,
		.optional = slot->optional,
	};
}

struct json_t *rdmad_modules_status(const RdmadModules *modules, guint index)
{
	const RdmadModuleSlot *slot = g_ptr_array_index(modules->slots, index);

	return slot->module ? rdmad_module_status(slot->module) : NULL;
}

gboolean rdmad_modules_ready(const RdmadModules *modules, guint index, char **why)
{
	const RdmadModuleSlot *slot = g_ptr_array_index(modules->slots, index);

	*why = NULL;
	if (slot->state == RDMAD_MODULE_RUNNING)
		return rdmad_module_ready(slot->module, why);
	*why = slot->error ? g_strdup_printf("it does not run: %s", slot->error)
			   : g_strdup("it does not run");
	return FALSE;
}

void rdmad_modules_doctor(const RdmadModules *modules, struct json_t *findings)
{
	for (guint i = 0; i < modules->slots->len; i++) {
		const RdmadModuleSlot *slot = g_ptr_array_index(modules->slots, i);

		if (slot->module)
			rdmad_module_doctor(slot->module, findings);
	}
}

gboolean rdmad_modules_device_health(const RdmadModules *modules, const RdmadDevice *dev,
				     const char **problem, const char **rest)
{
	for (guint i = 0; i < modules->slots->len; i++) {
		const RdmadModuleSlot *slot = g_ptr_array_index(modules->slots, i);

		if (slot->module && rdmad_module_device_health(slot->module, dev, problem, rest))
			return TRUE;
	}
	return FALSE;
}

void rdmad_modules_foreach_command(const RdmadModules *modules,
				   void (*fn)(const char *module, const RdmadCommand *command,
					      gpointer data),
				   gpointer data)
{
	for (guint i = 0; i < modules->slots->len; i++) {
		const RdmadModuleSlot *slot = g_ptr_array_index(modules->slots, i);
		const RdmadCommand *command =
			slot->module ? rdmad_module_commands(slot->module) : NULL;

		for (; command && command->name; command++)
			fn(slot->name, command, data);
	}
}

/*
 * A change of the configuration, as a whole or not at all
 *
 * Modules in both configurations come first, because their reload can be reverted; then the new
 * ones, which can be ended again; last the end of the removed ones, which cannot fail.
 */

static gboolean slot_reload(RdmadModuleSlot *slot, const GPtrArray *entries, GError **error)
{
	const RdmadModuleEntry *entry = rdmad_modules_entry(entries, slot->name);

	if (!entry || slot->state != RDMAD_MODULE_RUNNING)
		return TRUE;
	return rdmad_module_reload(slot->module, entry->config, error);
}

/* Restores the old settings of the first `n` modules. */
static void modules_take_back(RdmadModules *modules, guint n, const GPtrArray *before)
{
	while (n-- > 0) {
		g_autoptr(GError) problem = NULL;

		if (!slot_reload(g_ptr_array_index(modules->slots, n), before, &problem))
			rdmad_err("cannot go back to the old configuration: %s", problem->message);
	}
}

static gboolean modules_reload_staying(RdmadModules *modules, const GPtrArray *before,
				       const GPtrArray *now, GError **error)
{
	for (guint i = 0; i < modules->slots->len; i++) {
		RdmadModuleSlot *slot = g_ptr_array_index(modules->slots, i);

		/* A module that is about to end keeps its old settings. */
		if (slot_reload(slot, now, error))
			continue;
		modules_take_back(modules, i, before);
		return FALSE;
	}
	return TRUE;
}

/* Starts a module that is new, or optional and failed before. */
static gboolean modules_start_one(RdmadModules *modules, const RdmadModuleEntry *entry,
				  const char *module_dir, GPtrArray *started, GError **error)
{
	RdmadModuleSlot *slot = modules_slot(modules, entry->name);

	if (slot && slot->module)
		return TRUE;
	if (!slot)
		slot = modules_add_slot(modules, entry);
	slot->optional = entry->optional;
	g_ptr_array_add(started, slot);
	return module_slot_load(modules, slot, entry, module_dir, error) &&
	       module_slot_create(slot, entry->config, error) && module_slot_start(slot, error);
}

static gboolean modules_start_new(RdmadModules *modules, const GPtrArray *now,
				  const char *module_dir, GPtrArray *started, GError **error)
{
	for (guint i = 0; i < now->len; i++)
		if (!modules_start_one(modules, g_ptr_array_index(now, i), module_dir, started,
				       error))
			return FALSE;
	return TRUE;
}

/* A failed module that `before` names stays in the list. */
static void modules_end_new(RdmadModules *modules, GPtrArray *started, const GPtrArray *before)
{
	for (guint i = started->len; i-- > 0;) {
		RdmadModuleSlot *slot = g_ptr_array_index(started, i);
		const RdmadModuleEntry *entry = rdmad_modules_entry(before, slot->name);

		module_slot_end(slot);
		if (!entry) {
			g_ptr_array_remove(modules->slots, slot);
			continue;
		}
		slot->optional = entry->optional;
		slot->state = RDMAD_MODULE_FAILED;
		if (!slot->error)
			slot->error = g_strdup("it started in a reload that was refused");
	}
}

static void modules_end_removed(RdmadModules *modules, const GPtrArray *now)
{
	for (guint i = modules->slots->len; i-- > 0;) {
		const RdmadModuleSlot *slot = g_ptr_array_index(modules->slots, i);

		if (rdmad_modules_entry(now, slot->name))
			continue;
		rdmad_info("module %s ends: the configuration no longer names it", slot->name);
		g_ptr_array_remove_index(modules->slots, i);
	}
}

gboolean rdmad_modules_reload(RdmadModules *modules, const GPtrArray *before, const GPtrArray *now,
			      const char *module_dir, GError **error)
{
	g_autoptr(GPtrArray) started = g_ptr_array_new();

	if (!modules_reload_staying(modules, before, now, error))
		return FALSE;
	if (!modules_start_new(modules, now, module_dir, started, error)) {
		modules_end_new(modules, started, before);
		modules_take_back(modules, modules->slots->len, before);
		return FALSE;
	}
	modules_end_removed(modules, now);
	return TRUE;
}
