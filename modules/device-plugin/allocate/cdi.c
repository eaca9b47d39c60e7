/* SPDX-License-Identifier: Apache-2.0 */
#include "allocate/cdi.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <rdmad/json.h>
#include <rdmad/log.h>
#include <rdmad/public-file.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "allocate/allocation-devices.h"

#define CDI_SPEC_MAX (16u << 20) /* maximum size of a file that is read */

#define ANY_USER 0666

const RdmadChardevKind cdi_kinds[] = { RDMAD_CHARDEV_UVERBS, RDMAD_CHARDEV_UMAD, RDMAD_CHARDEV_ISSM,
				       RDMAD_CHARDEV_UCM, RDMAD_CHARDEV_RDMA_CM };

static const char *kind_suffix(RdmadChardevKind kind)
{
	switch (kind) {
	case RDMAD_CHARDEV_UMAD:
		return ".umad";
	case RDMAD_CHARDEV_ISSM:
		return ".issm";
	case RDMAD_CHARDEV_UCM:
		return ".ucm";
	case RDMAD_CHARDEV_UVERBS:
	case RDMAD_CHARDEV_RDMA_CM:
		return "";
	}
	return "";
}

/* Returns "0000:3b:00.0.umad" for a umad file. */
static char *cdi_name(const char *device_id, RdmadChardevKind kind)
{
	return g_strconcat(device_id, kind_suffix(kind), NULL);
}

/* ---- text ---- */

/* Omits numbers and type: the runtime finds them when the container starts.  The kernel gives
 * management files to root only; a container that gets one must be able to open it. */
static json_t *node_json(const RdmadChardev *node)
{
	json_t *json = json_pack("{s:s, s:s}", "path", node->path, "permissions", "rw");

	if (kind_suffix(node->kind)[0])
		json_object_set_new(json, "fileMode", json_integer(ANY_USER));
	return json;
}

static json_t *nodes_json(const RdmadDevice *dev, RdmadChardevKind kind)
{
	json_t *nodes = json_array();

	for (guint i = 0; i < dev->n_chardevs; i++)
		if (dev->chardevs[i].kind == kind)
			json_array_append_new(nodes, node_json(&dev->chardevs[i]));
	return nodes;
}

static json_t *entry_json(const CdiEntry *entry)
{
	g_autofree char *name = cdi_name(entry->dev->id, entry->kind);

	return json_pack("{s:s, s:{s:o}}", "name", name, "containerEdits", "deviceNodes",
			 nodes_json(entry->dev, entry->kind));
}

/* Adds rdma_cm, which the runtime adds whichever name is used. */
static void add_common(json_t *spec, const GArray *entries)
{
	for (guint i = 0; i < entries->len; i++) {
		const RdmadDevice *dev = g_array_index(entries, CdiEntry, i).dev;

		if (!rdmad_device_chardev(dev, RDMAD_CHARDEV_RDMA_CM))
			continue;
		json_object_set_new(
			spec, "containerEdits",
			json_pack("{s:o}", "deviceNodes", nodes_json(dev, RDMAD_CHARDEV_RDMA_CM)));
		return;
	}
}

static const char *lowest_version(const GArray *entries)
{
	for (guint i = 0; i < entries->len; i++)
		if (g_ascii_isdigit(g_array_index(entries, CdiEntry, i).dev->id[0]))
			return "0.5.0";
	return "0.3.0";
}

char *cdi_spec_text(const GArray *entries)
{
	json_t *devices, *spec;

	if (!entries->len)
		return NULL;
	devices = json_array();
	for (guint i = 0; i < entries->len; i++)
		json_array_append_new(devices, entry_json(&g_array_index(entries, CdiEntry, i)));
	spec = json_pack("{s:s, s:s, s:o}", "cdiVersion", lowest_version(entries), "kind", CDI_KIND,
			 "devices", devices);
	add_common(spec, entries);
	return rdmad_json_dump(spec, JSON_INDENT(1));
}

/* ---- names ---- */

static json_t *spec_load(const char *text, gsize size, GError **error)
{
	json_error_t problem;
	json_t *spec = json_loadb(text, size, 0, &problem);

	if (!spec)
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "line %d: %s", problem.line,
			    problem.text);
	return spec;
}

static gboolean kind_check(const json_t *spec, GError **error)
{
	const char *kind = json_string_value(json_object_get(spec, "kind"));

	if (!kind)
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "it has no kind");
	else if (!g_str_equal(kind, CDI_KIND))
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_BUSY,
			    "it is of kind \"%.64s\", not " CDI_KIND, kind);
	else
		return TRUE;
	return FALSE;
}

GHashTable *cdi_spec_names(const char *text, gsize size, GError **error)
{
	json_t *spec = spec_load(text, size, error), *device;
	GHashTable *names = NULL;
	size_t i;

	if (spec && kind_check(spec, error)) {
		names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
		json_array_foreach(json_object_get(spec, "devices"), i, device)
		{
			const char *name = json_string_value(json_object_get(device, "name"));

			if (name)
				g_hash_table_add(names, g_strdup(name));
		}
	}
	json_decref(spec);
	return names;
}

/* ---- the file ---- */

struct Cdi {
	char *dir, *path;   /* NULL: no file */
	GHashTable *wanted; /* name -> CdiEntry: collected in this round */
	GHashTable *names;  /* set of the names in the file */
	char *text;	    /* contents of the file; NULL: not written by this process */
};

static void entry_free(gpointer data)
{
	CdiEntry *entry = data;

	rdmad_device_unref(entry->dev);
	g_free(entry);
}

static GHashTable *names_new(void)
{
	return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
}

static void directory_set(Cdi *cdi, const char *dir)
{
	g_free(cdi->dir);
	g_free(cdi->path);
	cdi->dir = dir && dir[0] ? g_strdup(dir) : NULL;
	cdi->path = cdi->dir ? g_build_filename(cdi->dir, CDI_FILE, NULL) : NULL;
}

Cdi *cdi_new(const char *dir)
{
	Cdi *cdi = g_new0(Cdi, 1);

	directory_set(cdi, dir);
	cdi->wanted = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, entry_free);
	cdi->names = names_new();
	return cdi;
}

void cdi_free(Cdi *cdi)
{
	g_hash_table_unref(cdi->wanted);
	g_hash_table_unref(cdi->names);
	g_free(cdi->dir);
	g_free(cdi->path);
	g_free(cdi->text);
	g_free(cdi);
}

/* ---- an existing file ---- */

/* Returns NULL without an error if there is no file. */
static char *file_read(const Cdi *cdi, gsize *size, GError **error)
{
	struct stat info;
	char *text = NULL;

	if (lstat(cdi->path, &info) < 0) {
		if (errno != ENOENT)
			rdmad_error_errno(error, errno, "cannot read %s", cdi->path);
		return NULL;
	}
	if (!S_ISREG(info.st_mode) || info.st_size > CDI_SPEC_MAX) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_BUSY, "it is not a file of rdmad");
		return NULL;
	}
	g_file_get_contents(cdi->path, &text, size, error);
	return text;
}

/* Returns the names in rdmad's file; NULL, without an error, if there is none or it is invalid.  An
 * unreadable file is an error, because it may belong to another program. */
static GHashTable *file_names(const Cdi *cdi, GError **error)
{
	g_autoptr(GError) problem = NULL;
	gsize size = 0;
	g_autofree char *text = file_read(cdi, &size, &problem);
	GHashTable *names = text ? cdi_spec_names(text, size, &problem) : NULL;

	if (problem && g_error_matches(problem, RDMAD_ERROR, RDMAD_ERROR_BUSY))
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_BUSY, "%s is left alone: %s", cdi->path,
			    problem->message);
	else if (problem && g_error_matches(problem, RDMAD_ERROR, RDMAD_ERROR_INVALID))
		rdmad_debug("%s: %s", cdi->path, problem->message);
	else if (problem)
		g_set_error_literal(error, RDMAD_ERROR, RDMAD_ERROR_FAILED, problem->message);
	return names;
}

static void file_clean(const Cdi *cdi)
{
	rdmad_autofd int dir = open(cdi->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (dir >= 0)
		rdmad_public_file_clean(dir, CDI_FILE);
}

void cdi_load(Cdi *cdi)
{
	GHashTable *names = cdi->path ? file_names(cdi, NULL) : NULL;

	if (cdi->path)
		file_clean(cdi);
	if (!names)
		return;
	g_hash_table_unref(cdi->names);
	cdi->names = names;
}

/* ---- a round ---- */

void cdi_want(Cdi *cdi, const RdmadDevice *dev, RdmadChardevKind kind)
{
	CdiEntry *entry;

	if (!cdi->path || !rdmad_device_chardev(dev, kind))
		return;
	entry = g_new(CdiEntry, 1);
	entry->dev = rdmad_device_ref(dev);
	entry->kind = kind;
	g_hash_table_replace(cdi->wanted, cdi_name(dev->id, kind), entry);
}

static int entry_compare(gconstpointer a, gconstpointer b)
{
	const CdiEntry *x = a, *y = b;
	const int order = rdmad_natural_compare(x->dev->id, y->dev->id);

	return order ? order : (int)x->kind - (int)y->kind;
}

static char *wanted_text(const Cdi *cdi)
{
	g_autoptr(GArray) entries = g_array_new(FALSE, FALSE, sizeof(CdiEntry));
	GHashTableIter iter;
	gpointer entry;

	g_hash_table_iter_init(&iter, cdi->wanted);
	while (g_hash_table_iter_next(&iter, NULL, &entry))
		g_array_append_vals(entries, entry, 1);
	g_array_sort(entries, entry_compare);
	return cdi_spec_text(entries);
}

static gboolean file_is_ours(const Cdi *cdi, GError **error)
{
	g_autoptr(GError) problem = NULL;
	g_autoptr(GHashTable) names G_GNUC_UNUSED = cdi->text ? NULL : file_names(cdi, &problem);

	if (!problem)
		return TRUE;
	g_propagate_error(error, g_steal_pointer(&problem));
	return FALSE;
}

static gboolean file_write(Cdi *cdi, char *text, GError **error)
{
	rdmad_autofd int dir = -1;

	if (g_strcmp0(text, cdi->text) == 0 && access(cdi->path, F_OK) == 0)
		return TRUE;
	dir = file_is_ours(cdi, error) ? rdmad_public_dir_open(cdi->dir, 0, error) : -1;
	if (dir < 0 || !rdmad_public_file_write(dir, cdi->dir, CDI_FILE, text, 0644,
						RDMAD_DISK_FOR_GOOD, error))
		return FALSE;
	g_free(cdi->text);
	cdi->text = g_strdup(text);
	return TRUE;
}

/* Removes the file only if it has names: otherwise it is not rdmad's, or there is none. */
static void file_remove(Cdi *cdi)
{
	if (g_hash_table_size(cdi->names))
		unlink(cdi->path);
	g_clear_pointer(&cdi->text, g_free);
}

static void names_take(Cdi *cdi)
{
	GHashTableIter iter;
	gpointer name;

	g_hash_table_remove_all(cdi->names);
	g_hash_table_iter_init(&iter, cdi->wanted);
	while (g_hash_table_iter_next(&iter, &name, NULL))
		g_hash_table_add(cdi->names, g_strdup(name));
}

gboolean cdi_publish(Cdi *cdi, GError **error)
{
	g_autofree char *text = wanted_text(cdi);
	gboolean done = TRUE;

	if (text)
		done = file_write(cdi, text, error);
	else if (cdi->path)
		file_remove(cdi);
	if (done)
		names_take(cdi);
	else
		g_clear_pointer(&cdi->text, g_free);
	g_hash_table_remove_all(cdi->wanted);
	return done;
}

void cdi_move(Cdi *cdi, const char *dir)
{
	if (g_strcmp0(cdi->dir, dir && dir[0] ? dir : NULL) == 0)
		return;
	if (cdi->path)
		file_remove(cdi);
	directory_set(cdi, dir);
}

/* ---- names ---- */

gboolean cdi_is_used(const Cdi *cdi)
{
	return g_hash_table_size(cdi->names) || g_hash_table_size(cdi->wanted);
}

gboolean cdi_has(const Cdi *cdi, const char *device_id, RdmadChardevKind kind)
{
	g_autofree char *name = cdi_name(device_id, kind);

	return g_hash_table_contains(cdi->names, name);
}

static gboolean names_add(const Cdi *cdi, const RdmadDevice *dev, const ResourceSettings *settings,
			  GPtrArray *names)
{
	for (const RdmadChardevKind *kind = cdi_kinds; *kind != RDMAD_CHARDEV_RDMA_CM; kind++) {
		g_autofree char *name = cdi_name(dev->id, *kind);

		if (!device_node(dev, settings, *kind))
			continue;
		if (!g_hash_table_contains(cdi->names, name))
			return FALSE;
		g_ptr_array_add(names, g_strconcat(CDI_KIND "=", name, NULL));
	}
	return TRUE;
}

GPtrArray *cdi_names(const Cdi *cdi, const GPtrArray *devices, const ResourceSettings *settings)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);

	if (!cdi->path || !cdi->text || access(cdi->path, F_OK) < 0)
		return NULL;
	for (guint i = 0; i < devices->len; i++)
		if (!names_add(cdi, devices->pdata[i], settings, names))
			return NULL;
	return names->len ? g_steal_pointer(&names) : NULL;
}
