/* SPDX-License-Identifier: Apache-2.0 */
#include "prestart/gpu-ids.h"

#include <rdmad/inventory.h>
#include <rdmad/log.h>
#include <rdmad/pods.h>
#include <rdmad/sysroot.h>
#include <rdmad/work.h>
#include <stdio.h>
#include <string.h>

#include "allocate/placement.h"

#define NVIDIA	    "proc/driver/nvidia/gpus"
#define DRM	    "sys/class/drm"
#define DEADLINE_MS 30000

struct GpuIds {
	RdmadModule *self;
	GHashTable *names; /* name -> PCI address */
	RdmadJob *job;
	gboolean again; /* read again after the job */
};

/* ---- ids ---- */

char *gpu_ids_uuid(const char *information)
{
	const char *at = strstr(information, "GPU UUID:");
	gsize length;

	if (!at)
		return NULL;
	at += strlen("GPU UUID:");
	at += strspn(at, " \t");
	length = strcspn(at, " \t\r\n");
	/* Until the GPU is first opened, its UUID consists of "?". */
	if (!g_str_has_prefix(at, "GPU-") || memchr(at, '?', length))
		return NULL;
	return g_strndup(at, length);
}

/* Parses "00000000:1B:00.0-3" as 0000:1b:00.0: some plugins write the domain with eight digits. */
static char *address_parse(const char *id)
{
	guint domain, bus, device, function;
	int end = 0;

	/* sscanf() accepts signs and spaces before a number. */
	if (strspn(id, "0123456789abcdefABCDEF") < 4 ||
	    sscanf(id, "%8x:%2x:%2x.%1x%n", &domain, &bus, &device, &function, &end) != 4 ||
	    strspn(id, "0123456789abcdefABCDEF:.") < (gsize)end || g_ascii_isxdigit(id[end]))
		return NULL;
	return g_strdup_printf("%04x:%02x:%02x.%x", domain, bus, device, function);
}

/* Returns the ID of the whole device, without "::3" for a share of it, "/1/0" for a slice, or "-1"
 * for a share of a card. */
static char *id_stem(const char *id)
{
	const char *stem = g_str_has_prefix(id, "MIG-GPU-") ? id + strlen("MIG-") : id;
	gsize length = strcspn(stem, ":/");

	if (g_str_has_prefix(stem, "card"))
		length = MIN(length, strcspn(stem, "-"));
	return g_strndup(stem, length);
}

char *gpu_ids_address(GHashTable *names, const char *id)
{
	g_autofree char *stem = id_stem(id);
	const char *address = g_hash_table_lookup(names, stem);

	return address ? g_strdup(address) : address_parse(id);
}

/* ---- the job ---- */

static void read_nvidia(const RdmadSysroot *root, GHashTable *names)
{
	g_auto(GStrv) addresses = rdmad_sysroot_list(root, NVIDIA, NULL);

	for (guint i = 0; addresses && addresses[i]; i++) {
		g_autofree char *path = g_strdup_printf(NVIDIA "/%s/information", addresses[i]);
		g_autofree char *text = rdmad_sysroot_read(root, path, NULL);
		char *uuid = text ? gpu_ids_uuid(text) : NULL;

		if (uuid)
			g_hash_table_replace(names, uuid, address_parse(addresses[i]));
	}
}

static void read_cards(const RdmadSysroot *root, GHashTable *names)
{
	g_auto(GStrv) cards = rdmad_sysroot_list(root, DRM, NULL);

	for (guint i = 0; cards && cards[i]; i++) {
		g_autofree char *path = g_strdup_printf(DRM "/%s/device", cards[i]);
		g_autofree char *target = NULL;

		/* "card0-DP-1" is a connector. */
		if (!g_str_has_prefix(cards[i], "card") || strchr(cards[i], '-'))
			continue;
		target = rdmad_sysroot_link_name(root, path, NULL);
		if (target)
			g_hash_table_replace(names, g_strdup(cards[i]), address_parse(target));
	}
}

static gpointer job_run(gpointer input, const RdmadJob *job, GError **error)
{
	GHashTable *names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);

	read_nvidia(input, names);
	read_cards(input, names);
	return names;
}

static void job_done(gpointer result, const GError *error, gpointer data)
{
	GpuIds *ids = data;

	ids->job = NULL;
	if (result) {
		g_hash_table_unref(ids->names);
		ids->names = result;
	} else {
		rdmad_debug("the names of the accelerators: %s", error->message);
	}
	if (ids->again)
		gpu_ids_read(ids);
}

void gpu_ids_read(GpuIds *ids)
{
	static const RdmadJobClass klass = {
		.name = "gpu-ids",
		.run = job_run,
		.done = job_done,
		.free_result = (GDestroyNotify)g_hash_table_unref,
	};
	g_autoptr(GError) error = NULL;

	ids->again = ids->job != NULL;
	if (ids->job)
		return;
	ids->job = rdmad_work_submit(rdmad_module_workers(ids->self), ids->self, &klass,
				     (gpointer)rdmad_module_sysroot(ids->self), DEADLINE_MS, ids,
				     &error);
	if (!ids->job)
		rdmad_debug("the names of the accelerators: %s", error->message);
}

/* ---- life cycle, queries ---- */

GpuIds *gpu_ids_new(RdmadModule *self)
{
	GpuIds *ids = g_new0(GpuIds, 1);

	ids->self = self;
	ids->names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	return ids;
}

void gpu_ids_free(GpuIds *ids)
{
	rdmad_job_cancel(ids->job);
	g_hash_table_unref(ids->names);
	g_free(ids);
}

const RdmadGpu *gpu_ids_find(const GpuIds *ids, const char *id)
{
	RdmadInventory *inventory = rdmad_module_inventory(ids->self);
	g_autofree char *address = gpu_ids_address(ids->names, id);

	for (guint i = 0; address && i < rdmad_inventory_gpu_count(inventory); i++) {
		const RdmadGpu *gpu = rdmad_inventory_gpu(inventory, i);

		if (g_str_equal(gpu->pci_address, address))
			return gpu;
	}
	return NULL;
}

static void placement_hold(GArray *gpus, const RdmadGpu *held)
{
	for (guint i = 0; i < gpus->len; i++) {
		PlacementGpu *one = &g_array_index(gpus, PlacementGpu, i);

		if (one->gpu == held)
			one->held = TRUE;
	}
}

GArray *gpu_ids_placement(const GpuIds *ids)
{
	GArray *gpus = g_array_new(FALSE, FALSE, sizeof(PlacementGpu));
	RdmadInventory *inventory = rdmad_module_inventory(ids->self);
	RdmadPods *pods = rdmad_module_pods(ids->self);

	for (guint i = 0; i < rdmad_inventory_gpu_count(inventory); i++) {
		const PlacementGpu one = { rdmad_inventory_gpu(inventory, i), FALSE };

		g_array_append_val(gpus, one);
	}
	for (guint i = 0; gpus->len && i < rdmad_pods_count(pods); i++) {
		const RdmadPodDevices *devices = rdmad_pods_nth(pods, i);

		for (char **id = devices->ids; *id; id++)
			placement_hold(gpus, gpu_ids_find(ids, *id));
	}
	return gpus;
}
