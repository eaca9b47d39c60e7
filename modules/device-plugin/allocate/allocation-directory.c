/* SPDX-License-Identifier: Apache-2.0 */
#include "allocate/allocation-directory.h"

#include <jansson.h>
#include <rdmad/allocation-dir.h>
#include <rdmad/allocations.h>
#include <rdmad/json.h>
#include <rdmad/log.h>
#include <string.h>

#define ALLOCATION_JSON	     "allocation.json"
#define ALLOCATION_JSON_MAX  (1u << 20) /* more than 1024 slots and devices of 253 bytes need */
#define ALLOCATION_ID_LENGTH 16
#define NAME_MAX_BYTES	     253u
#define ORPHANS_MAX	     4096u

#define NCCL_CONF                                                                                  \
	"# NCCL settings for this container, by rdmad.  Variables in the environment win.\n"

/* ---- write ---- */

/* The table has checked that the strings are UTF-8. */
static json_t *text_json(const char *text)
{
	return text ? json_string_nocheck(text) : json_null();
}

static json_t *texts_json(char *const *texts)
{
	json_t *array = json_array();

	for (guint i = 0; texts[i]; i++)
		json_array_append_new(array, text_json(texts[i]));
	return array;
}

/* json_pack() checks each key and string, which took a sixth of the text's time. */
static char *allocation_text(const RdmadAllocation *allocation)
{
	json_t *object = json_object();
	g_autofree char *text = NULL;

	json_object_set_new_nocheck(object, "version", json_integer(1));
	json_object_set_new_nocheck(object, "id", text_json(allocation->id));
	json_object_set_new_nocheck(object, "resource", text_json(allocation->resource));
	json_object_set_new_nocheck(object, "slots", texts_json(allocation->slots));
	json_object_set_new_nocheck(object, "devices", texts_json(allocation->devices));
	json_object_set_new_nocheck(object, "mode", text_json(allocation->mode));
	json_object_set_new_nocheck(object, "since_us", json_integer(allocation->since_us));
	json_object_set_new_nocheck(object, "pod_namespace", text_json(allocation->pod_namespace));
	json_object_set_new_nocheck(object, "pod_name", text_json(allocation->pod_name));
	json_object_set_new_nocheck(object, "container", text_json(allocation->container));
	text = rdmad_json_dump(object, JSON_INDENT(2));
	return g_strconcat(text, "\n", NULL);
}

RdmadSpareDirs *allocation_directory_spares(const char *run_dir, RdmadLoop *loop,
					    RdmadModule *owner)
{
	static const RdmadSpareDirsClass klass = {
		.name = ALLOCATION_NCCL_CONF,
		.text = NCCL_CONF,
		.own_name = ALLOCATION_JSON,
	};

	return rdmad_spare_dirs_new(loop, owner, run_dir, &klass);
}

gboolean allocation_directory_describe(const char *run_dir, const RdmadAllocation *allocation,
				       GError **error)
{
	g_autofree char *text = allocation_text(allocation);

	return rdmad_allocation_dir_write(run_dir, allocation->id, ALLOCATION_JSON, text, error);
}

static gboolean directory_write(const char *run_dir, const RdmadAllocation *allocation,
				gboolean with_conf, GError **error)
{
	return rdmad_allocation_dir_make(run_dir, allocation->id, error) &&
	       allocation_directory_describe(run_dir, allocation, error) &&
	       (!with_conf || rdmad_allocation_dir_write(run_dir, allocation->id,
							 ALLOCATION_NCCL_CONF, NCCL_CONF, error));
}

gboolean allocation_directory_begin(const char *run_dir, RdmadSpareDirs *spares,
				    const RdmadAllocation *allocation, GError **error)
{
	g_autofree char *text = allocation_text(allocation);

	return (spares && rdmad_spare_dirs_take(spares, allocation->id, text)) ||
	       directory_write(run_dir, allocation, TRUE, error);
}

gboolean allocation_directory_keep(const char *run_dir, const RdmadAllocation *allocation,
				   GError **error)
{
	g_autoptr(GError) problem = NULL;
	const gboolean has_conf =
		rdmad_allocation_dir_has(run_dir, allocation->id, ALLOCATION_NCCL_CONF, &problem);

	if (!problem)
		return directory_write(run_dir, allocation, !has_conf, error);
	g_propagate_error(error, g_steal_pointer(&problem));
	return FALSE;
}

/* ---- read ---- */

void allocation_note_free(AllocationNote *note)
{
	g_free(note->id);
	g_free(note->resource);
	g_strfreev(note->slots);
	g_free(note->pod_namespace);
	g_free(note->pod_name);
	g_free(note);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AllocationNote, allocation_note_free)

static gboolean name_is_good(const char *name, gsize max)
{
	return *name && strnlen(name, max + 1) <= max;
}

/* Returns NULL unless the slots are sorted and unique, as those of allocations are. */
static char **note_slots(const json_t *array)
{
	g_autoptr(GStrvBuilder) slots = g_strv_builder_new();
	const gsize n = json_array_size(array);
	const char *before = "";

	if (n == 0 || n > RDMAD_ALLOCATION_MAX_SLOTS)
		return NULL;
	for (gsize i = 0; i < n; i++) {
		const char *slot = json_string_value(json_array_get(array, i));

		if (!slot || !name_is_good(slot, NAME_MAX_BYTES) || strcmp(before, slot) >= 0)
			return NULL;
		g_strv_builder_add(slots, slot);
		before = slot;
	}
	return g_strv_builder_end(slots);
}

static void note_fill(AllocationNote *note, json_t *object)
{
	const char *pod_namespace = json_string_value(json_object_get(object, "pod_namespace"));
	const char *pod_name = json_string_value(json_object_get(object, "pod_name"));
	const char *id, *resource;
	json_int_t since_us = 0;
	json_t *slots;
	int version;

	if (json_unpack(object, "{s:i, s:s, s:s, s:o, s?I}", "version", &version, "id", &id,
			"resource", &resource, "slots", &slots, "since_us", &since_us) < 0 ||
	    version != 1 || !g_str_equal(id, note->id) ||
	    !name_is_good(resource, 2 * NAME_MAX_BYTES))
		return;
	note->slots = note_slots(slots);
	if (!note->slots)
		return;
	note->resource = g_strdup(resource);
	note->since_us = since_us;
	if (pod_namespace && pod_name && name_is_good(pod_namespace, NAME_MAX_BYTES) &&
	    name_is_good(pod_name, NAME_MAX_BYTES)) {
		note->pod_namespace = g_strdup(pod_namespace);
		note->pod_name = g_strdup(pod_name);
	}
}

AllocationNote *allocation_note_read(const char *run_dir, const char *id)
{
	g_autoptr(AllocationNote) note = g_new0(AllocationNote, 1);
	g_autoptr(GError) error = NULL;
	g_autofree char *text = rdmad_allocation_dir_read(run_dir, id, ALLOCATION_JSON,
							  ALLOCATION_JSON_MAX, &error);
	json_t *object = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;

	note->id = g_strdup(id);
	if (object)
		note_fill(note, object);
	json_decref(object);
	if (!note->resource)
		rdmad_warn("directory of allocation %s: %s", id,
			   error ? error->message : ALLOCATION_JSON " was not written by rdmad");
	return g_steal_pointer(&note);
}

gboolean allocation_directory_exists(const char *run_dir, const char *id)
{
	return rdmad_allocation_dir_has(run_dir, id, ALLOCATION_JSON, NULL);
}

static gboolean name_is_allocation(const char *name)
{
	return strspn(name, "0123456789abcdef") == ALLOCATION_ID_LENGTH &&
	       name[ALLOCATION_ID_LENGTH] == '\0';
}

GPtrArray *allocation_directory_orphans(const char *run_dir, RdmadAllocations *allocations)
{
	GPtrArray *orphans = g_ptr_array_new_with_free_func((GDestroyNotify)allocation_note_free);
	g_autoptr(GError) error = NULL;
	g_auto(GStrv) names = rdmad_allocation_dir_list(run_dir, &error);

	if (!names)
		rdmad_warn("directories of allocations are left as they are: %s", error->message);
	for (guint i = 0; names && names[i] && orphans->len < ORPHANS_MAX; i++) {
		if (!name_is_allocation(names[i]))
			continue;
		if (rdmad_allocations_lookup(allocations, names[i]))
			rdmad_allocation_dir_clean(run_dir, names[i]);
		else
			g_ptr_array_add(orphans, allocation_note_read(run_dir, names[i]));
	}
	return orphans;
}
