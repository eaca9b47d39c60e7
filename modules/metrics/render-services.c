/* SPDX-License-Identifier: Apache-2.0 */
/* What only the loop may look at: claims, the node's facts, what rdmad counts of itself. */
#include "render-private.h"

/* ---- claims ---- */

typedef struct {
	Family *family;
	RdmadInventory *inventory;
} ClaimRender;

static void claim_put(const RdmadClaim *claim, gpointer data)
{
	ClaimRender *render = data;

	/* A pod that is not known yet comes with one of the next scrapes. */
	if (!claim->pod_name)
		return;
	for (guint i = 0; claim->devices[i]; i++) {
		const RdmadDevice *device =
			rdmad_inventory_lookup(render->inventory, claim->devices[i]);
		g_auto(Labels) labels = LABELS_INIT;

		if (!device)
			continue;
		labels_add(&labels, "namespace", claim->pod_namespace);
		labels_add(&labels, "pod", claim->pod_name);
		labels_add(&labels, "container", claim->container);
		labels_add(&labels, "device", device->name);
		labels_add(&labels, "resource", claim->resource);
		family_put(render->family, &labels, 1);
	}
}

void render_claims(FamilySet *set, RdmadClaims *claims, RdmadInventory *inventory)
{
	/* Many tokens of one claim may be of the same device: one series. */
	static const FamilyClass KLASS = { "rdma_pod_device", FAMILY_INFO,
					   .help = "Which container holds which device.",
					   .guarded = TRUE };
	ClaimRender render = { family_set_add(set, &KLASS, NULL), inventory };

	rdmad_claims_foreach(claims, claim_put, &render);
}

/* ---- the node ---- */

void render_node(FamilySet *set, RdmadFacts *facts)
{
	static const FamilyClass KLASS = {
		"rdma_netns_mode", FAMILY_GAUGE,
		.help = "1 for the way in which RDMA devices are in network namespaces, 0 for the "
			"other."
	};
	static const char *const MODES[] = { "shared", "exclusive" };
	const char *mode = rdmad_facts_get(facts, "node:netns-mode");
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

static FamilyType meter_type(const RdmadMeterClass *klass)
{
	switch (klass->type) {
	case RDMAD_METER_COUNTER:
		return FAMILY_COUNTER;
	case RDMAD_METER_HISTOGRAM:
		return FAMILY_HISTOGRAM;
	case RDMAD_METER_GAUGE:
		break;
	}
	return g_str_has_suffix(klass->name, "_info") ? FAMILY_INFO : FAMILY_GAUGE;
}

/* A series for each set of labels: the meters see to that. */
static Family *meter_family(FamilySet *set, const RdmadMeterClass *klass)
{
	const FamilyType type = meter_type(klass);
	const gsize size = strlen(klass->name) - (type == FAMILY_INFO ? strlen("_info") : 0);
	g_autofree char *name = g_strndup(klass->name, size);
	/* Values that were cut may have become the same. */
	const FamilyClass family = { name, type, klass->unit, klass->help, .guarded = TRUE };

	return family_set_add(set, &family, NULL);
}

static void series_put(Family *family, const RdmadMeterClass *klass, const RdmadMeterSeries *series)
{
	g_auto(Labels) labels = LABELS_INIT;

	for (guint i = 0; klass->labels[i]; i++)
		labels_add(&labels, klass->labels[i], series->labels[i]);
	if (klass->type == RDMAD_METER_HISTOGRAM)
		family_put_histogram(family, &labels, klass->bounds, series->buckets,
				     series->value);
	else
		family_put_double(family, &labels, series->value);
}

static void meter_put(const RdmadMeterClass *klass, const RdmadMeterSeries *series, guint n_series,
		      gpointer data)
{
	Family *family = meter_family(data, klass);

	for (guint i = 0; family && i < n_series; i++)
		series_put(family, klass, &series[i]);
}

void render_meters(FamilySet *set, RdmadMeters *meters)
{
	rdmad_meters_foreach(meters, meter_put, set);
}
