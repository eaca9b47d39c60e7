/* SPDX-License-Identifier: Apache-2.0 */
#define RDMAD_LOG_TOPIC "hardware"
#include "hardware/scan/scan.h"

#include <pthread.h>
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

/* `chardevs` NULL: not scanned yet. */
static RdmadScanner scanner_init(const RdmadSysroot *root, GHashTable *chardevs)
{
	return (RdmadScanner){
		.root = root,
		.chardevs = chardevs ? g_hash_table_ref(chardevs)
				     : g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
							     free_chardevs),
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
	g_free(scanner->base);
}

/* Returns the names of RDMA devices, which are none without RDMA drivers; NULL if there is no
 * sysfs. */
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

/* Clears the caches, which may be wrong after a failure. */
static void scanner_clear_caches(RdmadScanner *scanner)
{
	g_hash_table_remove_all(scanner->vf_index);
	g_hash_table_remove_all(scanner->pf_netdevs);
}

/*
 * Reading devices is most of a scan, so several threads read a part of them each.  The threads live
 * for one scan: a scan may run before there are workers, and otherwise occupies one of them.
 */
#define PARTS_MAX 4u
#define PART_MIN  16u /* fewer devices are not worth a thread */

/* The devices of one thread. */
typedef struct {
	const RdmadScanner *shared;
	char *const *names;
	guint n;
	int common; /* an error that affects all devices, or 0 */
	GPtrArray *devices;
	GArray *errnums; /* int, one for each name */
	pthread_t thread;
	gboolean started;
} Part;

static void *part_run(void *data)
{
	Part *part = data;
	RdmadScanner scanner = scanner_init(part->shared->root, part->shared->chardevs);

	scanner.gids = part->shared->gids;
	scanner.before = part->shared->before;
	rdmad_sysroot_passing_error();
	for (guint i = 0; i < part->n; i++) {
		RdmadDevice *dev = rdmad_scan_device(&scanner, part->names[i]);
		int errnum = rdmad_sysroot_passing_error();

		if (dev)
			g_ptr_array_add(part->devices, dev);
		if (errnum)
			scanner_clear_caches(&scanner);
		errnum = errnum ? errnum : part->common;
		g_array_append_val(part->errnums, errnum);
	}
	scanner_clear(&scanner);
	return NULL;
}

static void part_init(Part *part, const RdmadScanner *shared, char *const *names, guint n,
		      int common)
{
	*part = (Part){ .shared = shared, .names = names, .n = n, .common = common };
	part->devices = g_ptr_array_new();
	part->errnums = g_array_new(FALSE, FALSE, sizeof(int));
}

/* Adds the results in the order of the names. */
static void part_end(Part *part, RdmadScan *scan)
{
	if (part->started)
		pthread_join(part->thread, NULL);
	for (guint i = 0; i < part->n; i++) {
		const int errnum = g_array_index(part->errnums, int, i);

		if (errnum)
			rdmad_scan_doubt(scan, part->names[i], errnum);
	}
	g_ptr_array_extend_and_steal(scan->devices, part->devices);
	g_array_unref(part->errnums);
}

static guint count_parts(guint devices)
{
	return CLAMP(devices / PART_MIN, 1, MIN(PARTS_MAX, g_get_num_processors()));
}

static void scan_devices(const RdmadScanner *scanner, char *const *names, int common,
			 RdmadScan *scan)
{
	const guint all = g_strv_length((char **)names);
	const guint n = MIN(all, RDMAD_SCAN_MAX_DEVICES);
	const guint n_parts = count_parts(n);
	Part parts[PARTS_MAX];

	if (n < all)
		rdmad_warn("more than %u RDMA devices: the others are ignored", n);
	for (guint i = 0; i < n_parts; i++) {
		const guint from = n * i / n_parts, to = n * (i + 1) / n_parts;

		part_init(&parts[i], scanner, names + from, to - from, common);
		/* This thread runs the last part, and any part that gets no thread. */
		parts[i].started = i + 1 < n_parts &&
				   pthread_create(&parts[i].thread, NULL, part_run, &parts[i]) == 0;
	}
	for (guint i = 0; i < n_parts; i++)
		if (!parts[i].started)
			part_run(&parts[i]);
	for (guint i = 0; i < n_parts; i++)
		part_end(&parts[i], scan);
}

/* Keeps the characters that kubelet, file names and Prometheus all accept. */
static void sanitise(char *id)
{
	g_strcanon(id, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "._:-", '_');
}

/*
 * Devices are in the order of their names: of several devices of one function, the first one gets
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

gboolean rdmad_scan_same_function(const RdmadDevice *dev, const RdmadDevice *before)
{
	return before && !g_strcmp0(dev->pci_address, before->pci_address) &&
	       !g_strcmp0(dev->aux_name, before->aux_name);
}

static void assign_ids_of(GPtrArray *devices, gboolean subs, GHashTable *taken)
{
	for (guint i = 0; i < devices->len; i++) {
		RdmadDevice *dev = devices->pdata[i];

		if ((rdmad_device_role(dev) == RDMAD_ROLE_SUB_DEVICE) != subs)
			continue;
		g_free(dev->id);
		dev->id = device_make_id(dev, taken);
		g_hash_table_add(taken, dev->id);
	}
}

/* A sub-device has no part in the id of its parent, whatever its name is. */
static void assign_ids(GPtrArray *devices)
{
	g_autoptr(GHashTable) taken = g_hash_table_new(g_str_hash, g_str_equal);

	assign_ids_of(devices, FALSE, taken);
	assign_ids_of(devices, TRUE, taken);
}

static gboolean has_verbs(const RdmadDevice *dev)
{
	return rdmad_device_chardev(dev, RDMAD_CHARDEV_UVERBS) != NULL;
}

/*
 * The kernel makes no uverbs file for a sub-device (ib_uverbs_add_one()), which has the PCI
 * function of its parent (mlx5_ib_add_sub_dev()).  Linux 6.11 and later name the parent by
 * netlink; sysfs does not.
 */
static void find_parents(GPtrArray *devices)
{
	for (guint i = 0; i < devices->len; i++) {
		RdmadDevice *dev = devices->pdata[i];

		if (!dev->pci_address || has_verbs(dev))
			continue;
		for (guint k = 0; k < devices->len && !dev->parent; k++) {
			const RdmadDevice *other = devices->pdata[k];

			if (has_verbs(other) && rdmad_scan_same_function(dev, other))
				dev->parent = g_strdup(other->name);
		}
	}
}

const RdmadDevice *rdmad_scan_find(const GPtrArray *devices, const char *name, guint *index)
{
	for (guint i = 0; devices && i < devices->len; i++) {
		const RdmadDevice *dev = devices->pdata[i];

		if (strcmp(dev->name, name) != 0)
			continue;
		if (index)
			*index = i;
		return dev;
	}
	return NULL;
}

/* Keeps what also depends on the devices that were not read: the id and the parent. */
static void keep_ids(GPtrArray *devices, const GPtrArray *before)
{
	for (guint i = devices->len; i-- > 0;) {
		RdmadDevice *dev = devices->pdata[i];
		const RdmadDevice *last = rdmad_scan_find(before, dev->name, NULL);

		if (!rdmad_scan_same_function(dev, last)) {
			g_ptr_array_remove_index(devices, i);
			continue;
		}
		g_free(dev->id);
		dev->id = g_strdup(last->id);
		dev->parent = g_strdup(last->parent);
		dev->index = last->index; /* the key of netlink requests */
	}
}

static int compare_ids(gconstpointer a, gconstpointer b)
{
	return rdmad_natural_compare((*(RdmadDevice *const *)a)->id,
				     (*(RdmadDevice *const *)b)->id);
}

/* The parameter follows `rdma system set netns`.  Kernels before 5.1 have no modes. */
static char *read_netns_mode(const RdmadSysroot *root)
{
	g_autofree char *is_shared =
		rdmad_sysroot_read(root, "sys/module/ib_core/parameters/netns_mode", NULL);

	if (!is_shared)
		return NULL;
	return g_strdup(*is_shared == 'Y' ? "shared" : "exclusive");
}

RdmadScan *rdmad_scan_sysfs(const RdmadSysroot *root, GError **error)
{
	return rdmad_scan_sysfs_again(root, NULL, NULL, error);
}

RdmadScan *rdmad_scan_sysfs_again(const RdmadSysroot *root, const GPtrArray *before,
				  const RdmadGidSource *gids, GError **error)
{
	g_auto(GStrv) names = list_devices(root, error);
	RdmadScanner scanner;
	RdmadScan *scan;

	if (!names)
		return NULL;
	scan = scan_new();
	scanner = scanner_init(root, NULL);
	scanner.gids = gids;
	scanner.before = before;
	rdmad_sysroot_passing_error();
	rdmad_scan_chardevs(&scanner);
	scan_devices(&scanner, names, rdmad_sysroot_passing_error(), scan);
	scanner_clear(&scanner);
	rdmad_scan_settle(scan, before);
	find_parents(scan->devices);
	assign_ids(scan->devices);
	g_ptr_array_sort(scan->devices, compare_ids);
	scan->netns_mode = read_netns_mode(root);
	rdmad_scan_gpus(root, scan->gpus);
	scan->gpus_unseen = rdmad_sysroot_passing_error() != 0;
	return scan;
}

RdmadScan *rdmad_scan_sysfs_some(const RdmadSysroot *root, const GPtrArray *some,
				 const RdmadGidSource *gids)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new();
	RdmadScanner scanner = scanner_init(root, NULL);
	RdmadScan *scan = scan_new();

	scan->partial = TRUE;
	scanner.gids = gids;
	scanner.before = some;
	for (guint i = 0; i < some->len; i++) {
		rdmad_scan_keep_chardevs(&scanner, some->pdata[i]);
		g_ptr_array_add(names, ((const RdmadDevice *)some->pdata[i])->name);
	}
	g_ptr_array_add(names, NULL);
	scan_devices(&scanner, (char **)names->pdata, 0, scan);
	scanner_clear(&scanner);
	rdmad_scan_settle(scan, some);
	keep_ids(scan->devices, some);
	return scan;
}

gboolean rdmad_scan_function(const RdmadSysroot *root, RdmadDevice *device)
{
	RdmadScanner scanner = scanner_init(root, NULL);
	const gboolean found = rdmad_scan_pci_function(&scanner, device);

	scanner_clear(&scanner);
	return found;
}
