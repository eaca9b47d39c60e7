/* SPDX-License-Identifier: Apache-2.0 */
#include "render.h"

void render_services(FamilySet *set, const Snapshot *snapshot, RdmadModule *self)
{
}

static void render_scrape(FamilySet *set, const DeviceSample *sample)
{
	static const FamilyClass success = {
		.name = "rdma_device_scrape_success",
		.type = FAMILY_GAUGE,
		.help = "Whether the device was read in time.",
	};
	static const FamilyClass duration = {
		.name = "rdma_device_scrape_duration_seconds",
		.type = FAMILY_GAUGE,
		.unit = "seconds",
		.help = "How long it took to read the device.",
	};
	g_auto(Labels) labels = LABELS_INIT;

	labels_add(&labels, "device", sample->device->name);
	family_put(family_set_add(set, &success, NULL), &labels, sample->reading != NULL);
	family_put_double(family_set_add(set, &duration, NULL), &labels, sample->seconds);
}

void render_snapshot(FamilySet *set, const Snapshot *snapshot)
{
	for (guint i = 0; i < snapshot->devices->len; i++)
		render_scrape(set, snapshot->devices->pdata[i]);
}
