/* SPDX-License-Identifier: Apache-2.0 */
#include "allocate/device-info.h"

#include <fcntl.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <rdmad/json.h>
#include <rdmad/public-file.h>
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>

#define SPEC_VERSION "1.1.0"

struct DeviceInfo {
	char *dir;   /* or NULL */
	char *marks; /* directory with one mark file for each file of rdmad */
};

/* ---- contents of a file ---- */

char *device_info_text(const RdmadDevice *dev)
{
	/* A subfunction has the PCI address of its parent function. */
	if (!dev || !dev->pci_address || dev->aux_name)
		return NULL;
	return rdmad_json_dump(json_pack("{s:s, s:s, s:{s:s, s:s, s:s*}}", "type", "pci", "version",
					 SPEC_VERSION, "pci", "pci-address", dev->pci_address,
					 "rdma-device", dev->name, "pf-pci-address",
					 dev->pf_address),
			       JSON_COMPACT | JSON_SORT_KEYS);
}

/* ---- names ---- */

static char *file_name(const char *resource, const char *slot)
{
	char *name = g_strdup_printf("%s-%s-device.json", resource, slot);

	return g_strdelimit(name, "/", '-');
}

/* ---- one file ---- */

/* `clean_only`: removes only the temporary file of an interrupted write.  Returns FALSE if the
 * file may still exist. */
static gboolean published_remove(const DeviceInfo *info, const char *name, gboolean clean_only)
{
	rdmad_autofd int dir = -1;

	if (!info->dir)
		return TRUE;
	dir = open(info->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return errno == ENOENT;
	rdmad_public_file_clean(dir, name);
	return clean_only || unlinkat(dir, name, 0) == 0 || errno == ENOENT;
}

static void file_remove(DeviceInfo *info, const char *name)
{
	rdmad_autofd int marks = open(info->marks, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (marks >= 0 && fstatat(marks, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    published_remove(info, name, FALSE))
		unlinkat(marks, name, 0);
}

static gboolean mark_make(DeviceInfo *info, const char *name, GError **error)
{
	rdmad_autofd int marks = rdmad_public_dir_open(info->marks, O_NOFOLLOW, error);
	rdmad_autofd int fd = -1;

	if (marks < 0)
		return FALSE;
	fd = openat(marks, name, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	return fd >= 0 || rdmad_error_errno(error, errno, "cannot make %s/%s", info->marks, name);
}

/* Writes the mark first: a file without a mark would never be removed. */
static gboolean file_put(DeviceInfo *info, const char *name, const char *text, GError **error)
{
	rdmad_autofd int dir = -1;

	if (!mark_make(info, name, error))
		return FALSE;
	dir = rdmad_public_dir_open(info->dir, 0, error);
	return dir >= 0 && rdmad_public_file_write(dir, info->dir, name, text, 0444,
						   RDMAD_DISK_FOR_BOOT, error);
}

gboolean device_info_put(DeviceInfo *info, const char *resource, const char *slot,
			 const RdmadDevice *dev, GError **error)
{
	g_autofree char *name = NULL;
	g_autofree char *text = NULL;

	/* Without a directory nothing is published; the files of an earlier directory were removed
	 * by the sweep. */
	if (!info->dir)
		return TRUE;
	name = file_name(resource, slot);
	text = device_info_text(dev);

	if (text)
		return file_put(info, name, text, error);
	file_remove(info, name);
	return TRUE;
}

void device_info_remove(DeviceInfo *info, const char *resource, const char *slot)
{
	g_autofree char *name = file_name(resource, slot);

	file_remove(info, name);
}

/* ---- all files ---- */

typedef struct {
	const char *owner;
	GHashTable *names;
} Collection;

static void collect_names(const RdmadAllocation *allocation, gpointer data)
{
	Collection *collection = data;

	if (!g_str_equal(allocation->owner, collection->owner))
		return;
	for (guint i = 0; allocation->slots[i]; i++)
		g_hash_table_add(collection->names,
				 file_name(allocation->resource, allocation->slots[i]));
}

/* `kept` NULL: keeps none.  If a symbolic link replaces the directory, g_dir_open() follows it,
 * but file_remove() does not. */
static void files_remove(DeviceInfo *info, GHashTable *kept)
{
	g_autoptr(GDir) directory = g_dir_open(info->marks, 0, NULL);
	const char *name;

	while (directory && (name = g_dir_read_name(directory)))
		if (kept && g_hash_table_contains(kept, name))
			published_remove(info, name, TRUE);
		else
			file_remove(info, name);
}

void device_info_sweep(DeviceInfo *info, RdmadAllocations *allocations, const char *owner)
{
	g_autoptr(GHashTable) names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	Collection collection = { owner, names };

	rdmad_allocations_foreach(allocations, collect_names, &collection);
	files_remove(info, info->dir ? names : NULL);
}

static char *dir_dup(const char *dir)
{
	return dir && dir[0] ? g_strdup(dir) : NULL;
}

gboolean device_info_move(DeviceInfo *info, const char *dir)
{
	g_autofree char *next = dir_dup(dir);

	if (g_strcmp0(info->dir, next) == 0)
		return FALSE;
	files_remove(info, NULL);
	g_free(info->dir);
	info->dir = g_steal_pointer(&next);
	return TRUE;
}

DeviceInfo *device_info_new(const char *run_dir, const char *dir)
{
	DeviceInfo *info = g_new0(DeviceInfo, 1);

	info->dir = dir_dup(dir);
	info->marks = g_build_filename(run_dir, "device-info", NULL);
	return info;
}

void device_info_free(DeviceInfo *info)
{
	g_free(info->dir);
	g_free(info->marks);
	g_free(info);
}
