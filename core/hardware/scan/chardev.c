/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Character devices
 *
 * The device classes name the RDMA device of each character device in `ibdev`, independent of the
 * bus.  One pass over the classes serves all devices.
 */
#include <rdmad/fd.h>
#include <string.h>

#include "hardware/scan/parts.h"
#include "hardware/scan/value.h"
#include "hardware/sysroot.h"

/* The key of files for all devices; no device has this name. */
#define EVERY_DEVICE ""

static const struct {
	const char *class;
	const char *prefix;
	RdmadChardevKind kind;
} classes[] = {
	{ "infiniband_verbs", "uverbs", RDMAD_CHARDEV_UVERBS },
	{ "infiniband_mad", "umad", RDMAD_CHARDEV_UMAD },
	{ "infiniband_mad", "issm", RDMAD_CHARDEV_ISSM },
	{ "infiniband_cm", "ucm", RDMAD_CHARDEV_UCM },
};

/* `dir` is the directory of the character device, and `path` its path. */
static RdmadChardev read_chardev(int dir, const char *path, const char *name, RdmadChardevKind kind)
{
	RdmadChardev chardev = { .kind = kind };
	guint numbers[2] = { 0, 0 };
	char text[RDMAD_SYSROOT_ATTRIBUTE_SIZE];

	int port;

	if (rdmad_sysroot_read_attribute(dir, path, "dev", text, NULL))
		rdmad_sysfs_major_minor(text, numbers);
	if ((kind == RDMAD_CHARDEV_UMAD || kind == RDMAD_CHARDEV_ISSM) &&
	    rdmad_sysroot_read_attribute(dir, path, "port", text, NULL) &&
	    rdmad_sysfs_int(text, &port) && port > 0)
		chardev.port = (guint)port;
	chardev.path = g_strconcat("/dev/infiniband/", name, NULL);
	chardev.major = numbers[0];
	chardev.minor = numbers[1];
	return chardev;
}

static void clear_chardev(gpointer chardev)
{
	g_free(((RdmadChardev *)chardev)->path);
}

static GArray *chardevs_of(RdmadScanner *scanner, const char *ibdev)
{
	GArray *list = g_hash_table_lookup(scanner->chardevs, ibdev);

	if (list)
		return list;
	list = g_array_new(FALSE, FALSE, sizeof(RdmadChardev));
	g_array_set_clear_func(list, clear_chardev);
	g_hash_table_insert(scanner->chardevs, g_strdup(ibdev), list);
	return list;
}

static void read_chardev_of_class(RdmadScanner *scanner, const char *path, const char *name,
				  RdmadChardevKind kind)
{
	rdmad_autofd int dir = rdmad_sysroot_open_dir(scanner->root, path);
	char ibdev[RDMAD_SYSROOT_ATTRIBUTE_SIZE];
	RdmadChardev chardev;

	if (dir < 0 || !rdmad_sysroot_read_attribute(dir, path, "ibdev", ibdev, NULL))
		return;
	chardev = read_chardev(dir, path, name, kind);
	g_array_append_val(chardevs_of(scanner, ibdev), chardev);
}

static void read_class(RdmadScanner *scanner, guint which)
{
	g_autofree char *class = g_strconcat("sys/class/", classes[which].class, NULL);
	g_auto(GStrv) names = rdmad_sysroot_list(scanner->root, class, NULL);

	for (guint i = 0; names && names[i]; i++) {
		g_autofree char *path = g_strconcat(class, "/", names[i], NULL);

		if (g_str_has_prefix(names[i], classes[which].prefix))
			read_chardev_of_class(scanner, path, names[i], classes[which].kind);
	}
}

void rdmad_scan_chardevs(RdmadScanner *scanner)
{
	static const char rdma_cm[] = "sys/class/misc/rdma_cm";
	rdmad_autofd int dir = rdmad_sysroot_open_dir(scanner->root, rdma_cm);

	for (guint i = 0; i < G_N_ELEMENTS(classes); i++)
		read_class(scanner, i);
	if (dir >= 0) {
		const RdmadChardev chardev =
			read_chardev(dir, rdma_cm, "rdma_cm", RDMAD_CHARDEV_RDMA_CM);

		g_array_append_val(chardevs_of(scanner, EVERY_DEVICE), chardev);
	}
}

void rdmad_scan_keep_chardevs(RdmadScanner *scanner, const RdmadDevice *dev)
{
	GArray *list = chardevs_of(scanner, dev->name);

	for (guint i = 0; i < dev->n_chardevs; i++) {
		RdmadChardev chardev = dev->chardevs[i];

		chardev.path = g_strdup(chardev.path);
		g_array_append_val(list, chardev);
	}
}

static void append_chardevs(RdmadDevice *dev, const GArray *list)
{
	for (guint i = 0; list && i < list->len; i++) {
		RdmadChardev *chardev = &dev->chardevs[dev->n_chardevs++];

		*chardev = g_array_index(list, RdmadChardev, i);
		chardev->path = g_strdup(chardev->path);
	}
}

void rdmad_scan_take_chardevs(const RdmadScanner *scanner, const char *name, RdmadDevice *dev)
{
	const GArray *own = g_hash_table_lookup(scanner->chardevs, name);
	const GArray *shared = g_hash_table_lookup(scanner->chardevs, EVERY_DEVICE);

	dev->chardevs = g_new0(RdmadChardev, (own ? own->len : 0) + (shared ? shared->len : 0) + 1);
	append_chardevs(dev, own);
	append_chardevs(dev, shared);
}

/* Queries by uverbs file, which belongs to one device for its lifetime: device names may be
 * reused. */
GArray *rdmad_scan_query_gids(const RdmadScanner *scanner, const char *name)
{
	const GArray *own = g_hash_table_lookup(scanner->chardevs, name);

	for (guint i = 0; own && scanner->gids && i < own->len; i++) {
		const RdmadChardev *chardev = &g_array_index(own, RdmadChardev, i);

		if (chardev->kind == RDMAD_CHARDEV_UVERBS)
			return scanner->gids->query(strrchr(chardev->path, '/') + 1,
						    scanner->gids->data);
	}
	return NULL;
}
