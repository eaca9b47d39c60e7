/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Character devices
 *
 * The device classes name the RDMA device of each character device in `ibdev`, independent of the
 * bus.  One pass over the classes serves all devices.
 */
#include <string.h>

#include "hardware/scan/parts.h"
#include "hardware/scan/value.h"

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

static RdmadChardev read_chardev(const RdmadSysroot *root, const char *class, const char *name,
				 RdmadChardevKind kind)
{
	RdmadChardev chardev = { .kind = kind };
	guint numbers[2] = { 0, 0 };
	g_autofree char *path = g_strconcat("sys/class/", class, "/", name, "/dev", NULL);
	g_autofree char *text = rdmad_sysroot_read(root, path, NULL);

	if (text)
		rdmad_sysfs_major_minor(text, numbers);
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

static void read_class(RdmadScanner *scanner, guint which)
{
	g_autofree char *path = g_strconcat("sys/class/", classes[which].class, NULL);
	g_auto(GStrv) names = rdmad_sysroot_list(scanner->root, path, NULL);

	for (guint i = 0; names && names[i]; i++) {
		g_autofree char *owner = g_strconcat(path, "/", names[i], "/ibdev", NULL);
		g_autofree char *ibdev = NULL;
		RdmadChardev chardev;

		if (!g_str_has_prefix(names[i], classes[which].prefix))
			continue;
		ibdev = rdmad_sysroot_read(scanner->root, owner, NULL);
		if (!ibdev)
			continue;
		chardev = read_chardev(scanner->root, classes[which].class, names[i],
				       classes[which].kind);
		g_array_append_val(chardevs_of(scanner, ibdev), chardev);
	}
}

void rdmad_scan_chardevs(RdmadScanner *scanner)
{
	for (guint i = 0; i < G_N_ELEMENTS(classes); i++)
		read_class(scanner, i);
	if (rdmad_sysroot_exists(scanner->root, "sys/class/misc/rdma_cm")) {
		const RdmadChardev rdma_cm =
			read_chardev(scanner->root, "misc", "rdma_cm", RDMAD_CHARDEV_RDMA_CM);

		g_array_append_val(chardevs_of(scanner, EVERY_DEVICE), rdma_cm);
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
