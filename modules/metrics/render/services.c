/* SPDX-License-Identifier: Apache-2.0 */
/* Data of the loop: allocations, the node's attributes, rdmad's own stats */
#include "render/parts.h"

/* ---- allocations ---- */

typedef struct {
	Family *family;
	RdmadInventory *inventory;
} AllocationRender;

static void allocation_put(const RdmadAllocation *allocation, gpointer data)
{
	AllocationRender *render = data;

	/* An allocation without a pod appears in a later scrape. */
	if (!allocation->pod_name)
		return;
	for (guint i = 0; allocation->devices[i]; i++) {
		const RdmadDevice *device =
			rdmad_inventory_lookup(render->inventory, allocation->devices[i]);
		g_auto(Labels) labels = LABELS_INIT;

		if (!device)
			continue;
		labels_add(&labels, "namespace", allocation->pod_namespace);
		labels_add(&labels, "pod", allocation->pod_name);
		labels_add(&labels, "container", allocation->container);
		labels_add(&labels, "device", device->name);
		labels_add(&labels, "resource", allocation->resource);
		family_put(render->family, &labels, 1);
	}
}

void render_allocations(FamilySet *set, RdmadAllocations *allocations, RdmadInventory *inventory)
{
	/* Guarded: several slots of an allocation may be on the same device. */
	static const FamilyClass KLASS = { "rdma_pod_device", FAMILY_INFO,
					   .help = "Devices of containers.", .guarded = TRUE };
	AllocationRender render = { family_set_add(set, &KLASS, NULL), inventory };

	rdmad_allocations_foreach(allocations, allocation_put, &render);
}

/* ---- the node ---- */

void render_node(FamilySet *set, RdmadAttributes *attributes)
{
	static const FamilyClass KLASS = {
		"rdma_netns_mode", FAMILY_GAUGE,
		.help = "1 for the network namespace mode of RDMA devices, 0 for the "
			"other."
	};
	static const char *const MODES[] = { "shared", "exclusive" };
	const char *mode = rdmad_attributes_get(attributes, "node:netns-mode");
	Family *family;

	if (!mode)
		return;
	family = family_set_add(set, &KLASS, NULL);
	for (guint i = 0; i < G_N_ELEMENTS(MODES); i++) {
		g_auto(Labels) labels = LABELS_INIT;

		labels_add(&labels, "mode", MODES[i]);
		family_put(family, &labels, g_str_equal(mode, MODES[i]));
	}
}

/* ---- rdmad itself ---- */

static FamilyType stat_type(const RdmadStatClass *klass)
{
	switch (klass->type) {
	case RDMAD_STAT_COUNTER:
		return FAMILY_COUNTER;
	case RDMAD_STAT_HISTOGRAM:
		return FAMILY_HISTOGRAM;
	case RDMAD_STAT_GAUGE:
		break;
	}
	return g_str_has_suffix(klass->name, "_info") ? FAMILY_INFO : FAMILY_GAUGE;
}

static Family *stat_family(FamilySet *set, const RdmadStatClass *klass)
{
	const FamilyType type = stat_type(klass);
	const gsize size = strlen(klass->name) - (type == FAMILY_INFO ? strlen("_info") : 0);
	g_autofree char *name = g_strndup(klass->name, size);
	/* Guarded: truncated label values may be equal. */
	const FamilyClass family = { name, type, klass->unit, klass->help, .guarded = TRUE };

	return family_set_add(set, &family, NULL);
}

static void series_put(Family *family, const RdmadStatClass *klass, const RdmadStatSeries *series)
{
	g_auto(Labels) labels = LABELS_INIT;

	for (guint i = 0; klass->labels[i]; i++)
		labels_add(&labels, klass->labels[i], series->labels[i]);
	if (klass->type == RDMAD_STAT_HISTOGRAM)
		family_put_histogram(family, &labels, klass->bounds, series->buckets,
				     series->value);
	else
		family_put_double(family, &labels, series->value);
}

static void stat_put(const RdmadStatClass *klass, const RdmadStatSeries *series, guint n_series,
		     gpointer data)
{
	Family *family = stat_family(data, klass);

	for (guint i = 0; family && i < n_series; i++)
		series_put(family, klass, &series[i]);
}

void render_stats(FamilySet *set, RdmadStats *stats)
{
	rdmad_stats_foreach(stats, stat_put, set);
}
