/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/error.h>
#include <stdarg.h>
#include <string.h>

#include "cli/import/parts.h"
#include "cli/table.h"

#define RESOURCES_MAX 64u /* each may list all others in shared_with */
#define NOTES_MAX     1000u
/* A subdomain may have 253 bytes, including the prefix "requests." that quotas add. */
#define DOMAIN_MAX (253u - (sizeof("requests.") - 1))
#define BASE_MAX   63u

/* ---- selectors ---- */

static void selector_clear(gpointer data)
{
	g_strfreev(((RdmadImportSelector *)data)->values);
}

GArray *rdmad_import_group_new(void)
{
	GArray *group = g_array_new(FALSE, FALSE, sizeof(RdmadImportSelector));

	g_array_set_clear_func(group, selector_clear);
	return group;
}

void rdmad_import_group_add(GArray *group, const char *key, char **values)
{
	const RdmadImportSelector selector = { .key = key, .values = values };

	g_array_append_val(group, selector);
}

void rdmad_import_group_add_own(GArray *group, const char *key, const char *value, const char *why)
{
	const RdmadImportSelector selector = {
		.key = key,
		.values = g_strdupv((char *[]){ (char *)value, NULL }),
		.why = why,
	};

	g_array_append_val(group, selector);
}

const RdmadImportSelector *rdmad_import_group_find(const GArray *group, const char *key)
{
	for (guint i = 0; i < group->len; i++) {
		const RdmadImportSelector *selector = &g_array_index(group, RdmadImportSelector, i);

		if (g_str_equal(selector->key, key))
			return selector;
	}
	return NULL;
}

static gboolean group_equal(const GArray *a, const GArray *b)
{
	for (guint i = 0; i < a->len; i++) {
		const RdmadImportSelector *mine = &g_array_index(a, RdmadImportSelector, i);
		const RdmadImportSelector *other = rdmad_import_group_find(b, mine->key);

		if (!other || !g_strv_equal((const char *const *)mine->values,
					    (const char *const *)other->values))
			return FALSE;
	}
	return a->len == b->len;
}

gboolean rdmad_import_groups_equal(const GPtrArray *a, const GPtrArray *b)
{
	for (guint i = 0; i < MIN(a->len, b->len); i++)
		if (!group_equal(a->pdata[i], b->pdata[i]))
			return FALSE;
	return a->len == b->len;
}

static gboolean values_intersect(char *const *a, char *const *b)
{
	for (; *a; a++)
		if (g_strv_contains((const char *const *)b, *a))
			return TRUE;
	return FALSE;
}

/* A device has one vendor, one driver and so on: with disjoint values, no device is in both. */
static gboolean groups_overlap(const GArray *a, const GArray *b)
{
	for (guint i = 0; i < a->len; i++) {
		const RdmadImportSelector *mine = &g_array_index(a, RdmadImportSelector, i);
		const RdmadImportSelector *other = rdmad_import_group_find(b, mine->key);

		if (other && !values_intersect(mine->values, other->values))
			return FALSE;
	}
	return TRUE;
}

gboolean rdmad_import_resources_overlap(const RdmadImportResource *a, const RdmadImportResource *b)
{
	for (guint i = 0; i < a->groups->len; i++)
		for (guint j = 0; j < b->groups->len; j++)
			if (groups_overlap(a->groups->pdata[i], b->groups->pdata[j]))
				return TRUE;
	return FALSE;
}

/* ---- resources ---- */

RdmadImportResource *rdmad_import_resource_new(const char *prefix, const char *base,
					       const char *place)
{
	RdmadImportResource *resource = g_new0(RdmadImportResource, 1);

	resource->name = g_strconcat(prefix, "/", base, NULL);
	resource->place = g_strdup(place);
	resource->groups = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
	resource->shared_with = g_ptr_array_new();
	return resource;
}

void rdmad_import_resource_free(RdmadImportResource *resource)
{
	g_free(resource->name);
	g_free(resource->place);
	g_free(resource->origin);
	g_ptr_array_unref(resource->groups);
	g_ptr_array_unref(resource->shared_with);
	g_free(resource);
}

static gboolean label_ok(const char *label)
{
	const gsize length = strlen(label);

	return length && strspn(label, "abcdefghijklmnopqrstuvwxyz0123456789-") == length &&
	       label[0] != '-' && label[length - 1] != '-';
}

static gboolean domain_ok(const char *domain, gsize length)
{
	g_autofree char *copy = g_strndup(domain, length);
	g_auto(GStrv) labels = g_strsplit(copy, ".", -1);

	for (guint i = 0; labels[i]; i++)
		if (!label_ok(labels[i]))
			return FALSE;
	return labels[0] && length <= DOMAIN_MAX && !g_str_has_prefix(copy, "requests.") &&
	       !g_str_equal(copy, "kubernetes.io") && !g_str_has_suffix(copy, ".kubernetes.io");
}

static gboolean base_ok(const char *base)
{
	const gsize length = strlen(base);

	return length && length <= BASE_MAX &&
	       strspn(base, G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "-_.") == length &&
	       g_ascii_isalnum(base[0]) && g_ascii_isalnum(base[length - 1]);
}

/* Applies Kubernetes' rule for extended resources. */
static gboolean name_ok(const char *name)
{
	const char *slash = strchr(name, '/');

	return domain_ok(name, (gsize)(slash - name)) && base_ok(slash + 1);
}

static void set_origin(const RdmadImport *import, RdmadImportResource *resource)
{
	g_autofree char *origin = g_strconcat(import->source->label, resource->place, NULL);

	resource->origin = rdmad_text_escape(origin);
}

gboolean rdmad_import_add(RdmadImport *import, RdmadImportResource *resource, GError **error)
{
	g_autoptr(RdmadImportResource) taken = resource;

	if (!name_ok(taken->name))
		return rdmad_import_error(import, error, taken->place,
					  "\"%s\" is not a resource name: kubelet refuses it too",
					  taken->name);
	for (guint i = 0; i < import->resources->len; i++) {
		const RdmadImportResource *other = import->resources->pdata[i];

		if (g_str_equal(other->name, taken->name))
			return rdmad_import_error(import, error, taken->place,
						  "\"%s\" is the name of %s already", taken->name,
						  other->origin);
	}
	if (import->resources->len == RESOURCES_MAX)
		return rdmad_import_error(import, error, taken->place, "more than %u resources",
					  RESOURCES_MAX);
	set_origin(import, taken);
	g_ptr_array_add(import->resources, g_steal_pointer(&taken));
	return TRUE;
}

/* ---- notes ---- */

static gboolean note_add(RdmadImport *import, const char *kind, const char *path,
			 const char *reason)
{
	g_autofree char *line =
		g_strdup_printf("%s: %s%s: %s", kind, import->source->label, path, reason);

	if (import->notes->len < NOTES_MAX)
		g_ptr_array_add(import->notes, rdmad_text_escape(line));
	else if (import->notes->len == NOTES_MAX)
		g_ptr_array_add(import->notes, g_strdup("and more that is not listed here"));
	return TRUE;
}

gboolean rdmad_import_lose(RdmadImport *import, const char *path, const char *reason)
{
	return note_add(import, "not carried over", path, reason);
}

gboolean rdmad_import_mind(RdmadImport *import, const char *path, const char *reason)
{
	return note_add(import, "mind", path, reason);
}

gboolean rdmad_import_error(const RdmadImport *import, GError **error, const char *path,
			    const char *format, ...)
{
	g_autofree char *what = NULL;
	va_list args;

	va_start(args, format);
	what = g_strdup_vprintf(format, args);
	va_end(args);
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "%s: %s%s%s", import->source->place,
		    path, *path ? ": " : "", what);
	return FALSE;
}
