/* SPDX-License-Identifier: Apache-2.0 */
/* Records RDMA devices, network interfaces, PCI functions, and the links between them */
#include "cli/bundle/bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <rdmad/sysroot.h>
#include <string.h>
#include <sys/stat.h>

#include "hardware/sysroot.h"

/* A limit: directories of class devices are shallow, and links are not followed. */
#define DEPTH_MAX 12

static const char *const classes[] = {
	"infiniband", "infiniband_verbs", "infiniband_mad", "infiniband_cm", "net", NULL
};
static const char *const pci_files[] = {
	"class",
	"vendor",
	"device",
	"subsystem_vendor",
	"subsystem_device",
	"numa_node",
	"revision",
	"sriov_numvfs",
	"sriov_totalvfs",
	"sfnum",
	"acpi_index",
	"max_link_speed",
	"max_link_width",
	"current_link_speed",
	"current_link_width",
	NULL,
};
static const char *const links[] = { "driver", "subsystem", "device", "master", "physfn", NULL };
static const char *const link_prefixes[] = { "virtfn", "lower_", "upper_", NULL };
/* Directories that are large, irrelevant or change all the time. */
static const char *const left_out[] = { "power",  "queues", "statistics", "uevent",
					"brport", "bridge", NULL };
/* Network, display, bridge, accelerator controllers. */
static const char *const pci_classes[] = { "0x02", "0x03", "0x06", "0x12", NULL };

typedef struct {
	Archive *archive;
	const RdmadSysroot *root;
} Recorder;

static gboolean starts_with_one(const char *text, const char *const *prefixes)
{
	for (; *prefixes; prefixes++)
		if (g_str_has_prefix(text, *prefixes))
			return TRUE;
	return FALSE;
}

static char *in_archive(const char *path)
{
	return g_strconcat("machine/", path, NULL);
}

/* Records a directory in its place, which even root cannot read as a file. */
static void record_unreadable(const Recorder *recorder, const char *path, int errnum)
{
	g_autofree char *name = in_archive(path);

	archive_directory(recorder->archive, name);
	archive_note(recorder->archive, name, g_strerror(errnum));
}

static void record_file(const Recorder *recorder, int dir, const char *name, const char *path)
{
	rdmad_autofd int fd = openat(dir, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	const int not_opened = fd < 0 ? errno : 0;
	g_autoptr(GString) content = g_string_new(NULL);
	g_autofree char *place = in_archive(path);

	if (fd < 0 || !rdmad_fd_read_all(fd, RDMAD_SYSROOT_MAX, content))
		record_unreadable(recorder, path, not_opened ?: errno);
	else
		archive_file(recorder->archive, place, content->str,
			     MIN(content->len, RDMAD_SYSROOT_MAX));
}

static void record_link(const Recorder *recorder, int dir, const char *name, const char *path)
{
	g_autofree char *place = in_archive(path);
	char target[PATH_MAX];
	const gssize size = readlinkat(dir, name, target, sizeof(target) - 1);

	if (size < 0) {
		archive_note(recorder->archive, place, g_strerror(errno));
		return;
	}
	target[size] = 0;
	archive_link(recorder->archive, place, target);
}

/* ---- directories ---- */

static void record_directory(const Recorder *recorder, const char *path, int depth);

/* `files` NULL: records everything in a directory of a device; else only these files, and no
 * directories. */
static void record_entry(const Recorder *recorder, int dir, const char *parent, const char *name,
			 const char *const *files, int depth)
{
	g_autofree char *path = g_build_filename(parent, name, NULL);
	const gboolean named = files && g_strv_contains(files, name);
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		archive_note(recorder->archive, path, g_strerror(errno));
	else if (S_ISLNK(st.st_mode)) {
		if (g_strv_contains(links, name) || starts_with_one(name, link_prefixes))
			record_link(recorder, dir, name, path);
	} else if (S_ISREG(st.st_mode)) {
		/* Omits attributes that only root may read, because they may be secrets. */
		if ((!files || named) && st.st_mode & S_IROTH)
			record_file(recorder, dir, name, path);
	} else if (S_ISDIR(st.st_mode) && !files) {
		record_directory(recorder, path, depth + 1);
	} else if (S_ISDIR(st.st_mode) && named) {
		record_unreadable(recorder, path, EISDIR);
	}
}

/* Returns an empty list if the directory is unreadable, which is recorded. */
static char **record_names(const Recorder *recorder, const char *path)
{
	g_autoptr(GError) error = NULL;
	char **names = rdmad_sysroot_list(recorder->root, path, &error);

	if (!names && !g_error_matches(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND))
		archive_note(recorder->archive, path, error->message);
	return names ?: g_new0(char *, 1);
}

static void record_entries(const Recorder *recorder, const char *path, const char *const *files,
			   int depth)
{
	g_auto(GStrv) names = record_names(recorder, path);
	rdmad_autofd int dir = rdmad_sysroot_open_dir(recorder->root, path);

	for (guint i = 0; dir >= 0 && names[i]; i++)
		if (!g_strv_contains(left_out, names[i]))
			record_entry(recorder, dir, path, names[i], files, depth);
}

static void record_directory(const Recorder *recorder, const char *path, int depth)
{
	g_autofree char *place = in_archive(path);

	if (depth > DEPTH_MAX || archive_has(recorder->archive, place))
		return;
	archive_directory(recorder->archive, place);
	record_entries(recorder, path, NULL, depth);
}

/* Records selected files of a PCI function or an auxiliary device, without its children. */
static void record_function(const Recorder *recorder, const char *path)
{
	record_entries(recorder, path, pci_files, 0);
}

/* ---- starting points ---- */

/* Returns NULL if the link leads to no device. */
static char *device_path(const Recorder *recorder, const char *path)
{
	char *target = rdmad_sysroot_resolve(recorder->root, path, NULL);

	if (!target || g_str_has_prefix(target, "sys/devices/"))
		return target;
	g_free(target);
	return NULL;
}

/* Records the parent of a class device if the device is not a PCI function itself. */
static void record_parent(const Recorder *recorder, const char *path)
{
	g_autofree char *class = g_path_get_dirname(path);
	g_autofree char *parent = g_path_get_dirname(class);
	g_autofree char *subsystem = g_build_filename(parent, "subsystem", NULL);

	if (rdmad_sysroot_exists(recorder->root, subsystem))
		record_function(recorder, parent);
}

/* Records one link, and the whole device that it names. */
static void record_device(const Recorder *recorder, int dir, const char *base, const char *name)
{
	g_autofree char *path = g_build_filename(base, name, NULL);
	g_autofree char *device = device_path(recorder, path);
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode)) {
		record_file(recorder, dir, name, path);
		return;
	}
	record_link(recorder, dir, name, path);
	if (device) {
		record_directory(recorder, device, 0);
		record_parent(recorder, device);
	}
}

static void record_class(const Recorder *recorder, const char *base)
{
	g_auto(GStrv) names = record_names(recorder, base);
	rdmad_autofd int dir = rdmad_sysroot_open_dir(recorder->root, base);

	for (guint i = 0; dir >= 0 && names[i]; i++)
		record_device(recorder, dir, base, names[i]);
}

static void record_pci(const Recorder *recorder, const char *base)
{
	g_auto(GStrv) names = record_names(recorder, base);
	rdmad_autofd int dir = rdmad_sysroot_open_dir(recorder->root, base);

	for (guint i = 0; dir >= 0 && names[i]; i++) {
		g_autofree char *path = g_build_filename(base, names[i], NULL);
		g_autofree char *file = g_build_filename(path, "class", NULL);
		g_autofree char *class = rdmad_sysroot_read(recorder->root, file, NULL);
		g_autofree char *device = device_path(recorder, path);

		if (class && !starts_with_one(class, pci_classes))
			continue;
		record_link(recorder, dir, names[i], path);
		if (device)
			record_function(recorder, device);
	}
}

static void record_links(const Recorder *recorder, const char *base)
{
	g_auto(GStrv) names = record_names(recorder, base);
	rdmad_autofd int dir = rdmad_sysroot_open_dir(recorder->root, base);

	for (guint i = 0; dir >= 0 && names[i]; i++) {
		g_autofree char *path = g_build_filename(base, names[i], NULL);

		record_link(recorder, dir, names[i], path);
	}
}

static void record_one(const Recorder *recorder, const char *base, const char *name)
{
	rdmad_autofd int dir = rdmad_sysroot_open_dir(recorder->root, base);
	g_autofree char *path = g_build_filename(base, name, NULL);

	if (dir >= 0 && faccessat(dir, name, F_OK, 0) == 0)
		record_file(recorder, dir, name, path);
}

static void record_each(const Recorder *recorder, const char *base, const char *name)
{
	g_auto(GStrv) names = record_names(recorder, base);

	for (guint i = 0; names[i]; i++) {
		g_autofree char *path = g_build_filename(base, names[i], NULL);

		record_one(recorder, path, name);
	}
}

void machine_record(Archive *archive, const RdmadSysroot *root)
{
	const Recorder recorder = { archive, root };
	rdmad_autofd int misc = rdmad_sysroot_open_dir(root, "sys/class/misc");

	for (guint i = 0; classes[i]; i++) {
		g_autofree char *base = g_build_filename("sys/class", classes[i], NULL);

		record_class(&recorder, base);
	}
	if (misc >= 0 && rdmad_sysroot_exists(root, "sys/class/misc/rdma_cm"))
		record_device(&recorder, misc, "sys/class/misc", "rdma_cm");
	record_links(&recorder, "sys/bus/auxiliary/devices");
	record_pci(&recorder, "sys/bus/pci/devices");
	record_one(&recorder, "proc/sys/kernel", "osrelease");
	record_one(&recorder, "sys/module/ib_core/parameters", "netns_mode");
	record_each(&recorder, "sys/devices/system/node", "cpulist");
	record_each(&recorder, "proc/driver/nvidia/gpus", "information");
}
