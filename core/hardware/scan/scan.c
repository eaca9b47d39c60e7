/* SPDX-License-Identifier: Apache-2.0 */
#define RDMAD_LOG_TOPIC "hardware"
#include "hardware/scan/scan.h"

#include <rdmad/error.h>
#include <rdmad/log.h>
#include <string.h>

#include "hardware/scan/parts.h"
#include "hardware/device.h"
#include "hardware/sysroot.h"

#define CLASS_DIR "sys/class/infiniband"

static void free_gpu(gpointer gpu)
{
	rdmad_gpu_free(gpu);
}

static void free_device(gpointer dev)
{
	rdmad_device_unref(dev);
}

static RdmadScan *scan_new(void)
{
	RdmadScan *scan = g_new0(RdmadScan, 1);

	scan->devices = g_ptr_array_new_with_free_func(free_device);
	scan->gpus = g_ptr_array_new_with_free_func(free_gpu);
	scan->doubts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	return scan;
}

void rdmad_scan_free(RdmadScan *scan)
{
	if (!scan)
		return;
	g_clear_pointer(&scan->devices, g_ptr_array_unref);
	g_clear_pointer(&scan->gpus, g_ptr_array_unref);
	g_hash_table_unref(scan->doubts);
	g_free(scan->netns_mode);
	g_free(scan);
}

static void free_chardevs(gpointer list)
{
	g_array_unref(list);
}

static RdmadScanner scanner_init(const RdmadSysroot *root)
{
	return (RdmadScanner){
		.root = root,
		.chardevs = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_chardevs),
		.vf_index = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
		.pf_netdevs = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
						    (GDestroyNotify)g_strfreev),
	};
}

static void scanner_clear(RdmadScanner *scanner)
{
	g_hash_table_unref(scanner->chardevs);
	g_hash_table_unref(scanner->vf_index);
	g_hash_table_unref(scanner->pf_netdevs);
}

/* Names of RDMA devices; none without RDMA drivers.  NULL: there is no sysfs. */
static char **list_devices(const RdmadSysroot *root, GError **error)
{
	g_autoptr(GError) local = NULL;
	char **names = rdmad_sysroot_list(root, CLASS_DIR, &local);

	if (names)
		return names;
	if (g_error_matches(local, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND) &&
	    rdmad_sysroot_exists(root, "sys/class"))
		return g_new0(char *, 1);
	g_propagate_prefixed_error(error, g_steal_pointer(&local), "sysfs: ");
	return NULL;
}

/* The shared data may be wrong if anything failed. */
static void scanner_forget(RdmadScanner *scanner)
{
	g_hash_table_remove_all(scanner->vf_index);
	g_hash_table_remove_all(scanner->pf_netdevs);
}

/* `common`: an error that concerns all devices, or 0. */
static void scan_devices(RdmadScanner *scanner, char *const *names, int common, RdmadScan *scan)
{
	GPtrArray *devices = scan->devices;

	for (guint i = 0; names[i]; i++) {
		RdmadDevice *dev;
		int errnum;

		if (devices->len == RDMAD_SCAN_MAX_DEVICES) {
			rdmad_warn("more than %u RDMA devices: the others are ignored",
				   RDMAD_SCAN_MAX_DEVICES);
			return;
		}
		dev = rdmad_scan_device(scanner, names[i]);
		if (dev)
			g_ptr_array_add(devices, dev);
		errnum = rdmad_sysroot_passing_error();
		if (errnum)
			scanner_forget(scanner);
		if (errnum || common)
			rdmad_scan_doubt(scan, names[i], errnum ?: common);
	}
}

/* Kubelet, file names and Prometheus all take these characters. */
static void sanitise(char *id)
{
	g_strcanon(id, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "._:-", '_');
}

/*
 * Devices come in the order of their names, so of several on one function it is the first that has
 * the plain address as its id.
 */
static char *device_make_id(const RdmadDevice *dev, GHashTable *taken)
{
	const char *base = dev->pci_address ? dev->pci_address : dev->name;
	char *id = dev->aux_name ? g_strdup_printf("%s-%s", base, dev->aux_name) : g_strdup(base);

	sanitise(id);
	if (g_hash_table_contains(taken, id)) {
		g_free(id);
		id = g_strdup_printf("%s-%s", base, dev->name);
		sanitise(id);
	}
	for (guint n = 2; g_hash_table_contains(taken, id); n++) {
		g_free(id);
		id = g_strdup_printf("%s-%s-%u", base, dev->name, n);
		sanitise(id);
	}
	return id;
}

static void assign_ids(GPtrArray *devices)
{
	g_autoptr(GHashTable) taken = g_hash_table_new(g_str_hash, g_str_equal);

	for (guint i = 0; i < devices->len; i++) {
		RdmadDevice *dev = devices->pdata[i];

		g_free(dev->id);
		dev->id = device_make_id(dev, taken);
		g_hash_table_add(taken, dev->id);
	}
}

static int compare_ids(gconstpointer a, gconstpointer b)
{
	return rdmad_natural_compare((*(RdmadDevice *const *)a)->id,
				     (*(RdmadDevice *const *)b)->id);
}

RdmadScan *rdmad_scan_sysfs(const RdmadSysroot *root, GError **error)
{
	return rdmad_scan_sysfs_again(root, NULL, error);
}

RdmadScan *rdmad_scan_sysfs_again(const RdmadSysroot *root, const GPtrArray *before, GError **error)
{
	g_auto(GStrv) names = list_devices(root, error);
	RdmadScanner scanner;
	RdmadScan *scan;

	if (!names)
		return NULL;
	scan = scan_new();
	scanner = scanner_init(root);
	rdmad_sysroot_passing_error();
	rdmad_scan_chardevs(&scanner);
	scan_devices(&scanner, names, rdmad_sysroot_passing_error(), scan);
	scanner_clear(&scanner);
	rdmad_scan_settle(scan, before);
	assign_ids(scan->devices);
	g_ptr_array_sort(scan->devices, compare_ids);
	rdmad_scan_gpus(root, scan->gpus);
	scan->gpus_unseen = rdmad_sysroot_passing_error() != 0;
	return scan;
}
