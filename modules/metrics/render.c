/* SPDX-License-Identifier: Apache-2.0 */
#include "render.h"

#include "render-private.h"

/* ---- collectors ---- */

typedef struct {
	RdmadReadWhat what;
	const char *name;
} Collector;

static const Collector COLLECTORS[] = {
	{ RDMAD_READ_COUNTERS, "counters" },
	{ RDMAD_READ_NETDEVS, "netdevs" },
	{ RDMAD_READ_USERS, "users" },
};

static RdmadReadWhat group_collector(RdmadCounterGroup group)
{
	return group <= RDMAD_COUNTER_DEVICE ? RDMAD_READ_COUNTERS : RDMAD_READ_NETDEVS;
}

/* What the reading lacks: groups that failed as a whole. */
static RdmadReadWhat sample_failures(const DeviceSample *sample)
{
	const RdmadReading *reading = sample->reading;
	RdmadReadWhat failed = 0;

	if (!reading)
		return RDMAD_READ_COUNTERS | RDMAD_READ_NETDEVS | RDMAD_READ_USERS;
	for (guint i = 0; i < reading->n_counters; i++)
		if (!reading->counters[i].name)
			failed |= group_collector(reading->counters[i].group);
	return reading->users_errnum ? failed | RDMAD_READ_USERS : failed;
}

static void render_collectors(Render *render)
{
	const Snapshot *snapshot = render->snapshot;
	RdmadReadWhat failed = 0;

	for (guint i = 0; i < snapshot->devices->len; i++)
		failed |= sample_failures(snapshot->devices->pdata[i]);
	for (guint i = 0; i < G_N_ELEMENTS(COLLECTORS); i++) {
		if (!(snapshot->what & COLLECTORS[i].what))
			continue;
		labels_back(&render->labels, 0);
		labels_add(&render->labels, "collector", COLLECTORS[i].name);
		family_put(render->families[RENDER_COLLECTOR_SUCCESS], &render->labels,
			   !(failed & COLLECTORS[i].what));
	}
	family_put_double(render->families[RENDER_SCRAPE_DURATION], NULL, snapshot->seconds);
}

/* ---- devices ---- */

/* While devices change their names, two may have the same one for a moment: the first it is. */
static gboolean device_is_new(Render *render)
{
	const Text *text = &render->labels.text;

	return g_hash_table_add(render->devices, g_strndup(text->start, text->length));
}

static void render_sample(Render *render, const DeviceSample *sample)
{
	labels_back(&render->labels, 0);
	labels_add(&render->labels, "device", sample->device->name);
	if (!device_is_new(render))
		return;
	family_put(render->families[RENDER_DEVICE_SUCCESS], &render->labels,
		   sample->reading != NULL);
	/* One that did not answer took no time that is known. */
	if (sample->seconds > 0)
		family_put_double(render->families[RENDER_DEVICE_DURATION], &render->labels,
				  sample->seconds);
	if (render->native) {
		render_device(render, sample);
		render_netdevs(render, sample->device);
		render_users(render, sample);
	}
	if (render->compat)
		render_device_compat(render, sample);
	if (sample->reading)
		render_counters(render, sample->reading);
}

void render_snapshot(FamilySet *set, const Snapshot *snapshot)
{
	Render render = {
		.set = set,
		.snapshot = snapshot,
		.native = snapshot->names != NAMES_COMPAT,
		.compat = snapshot->names != NAMES_NATIVE,
	};

	render.devices = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	render.slots = render_slots_new();
	family_set_expect(set, snapshot->devices->len);
	render_families_add(&render);
	for (guint i = 0; i < snapshot->devices->len; i++)
		render_sample(&render, snapshot->devices->pdata[i]);
	render_collectors(&render);
	render_slots_free(render.slots);
	g_hash_table_unref(render.devices);
	labels_clear(&render.labels);
}

/* ---- services ---- */

void render_services(FamilySet *set, const Snapshot *snapshot, RdmadModule *self)
{
	render_meters(set, rdmad_module_meters(self));
	if (snapshot->names == NAMES_COMPAT)
		return;
	render_claims(set, rdmad_module_claims(self), rdmad_module_inventory(self));
	render_node(set, rdmad_module_facts(self));
}
