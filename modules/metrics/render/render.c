/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The families with rdmad's own names
 *
 * A state is a gauge with a label `state` in OpenMetrics too.  The label of a stateset must have
 * the name of the family, so the series would have different names in the two formats.
 *
 * `promtool check metrics` rejects the word "counter" in a name, hence rdma_counters_unreadable,
 * and the unit "bits", hence "bit_errors".
 */
#include "render/render.h"

#include "render/parts.h"

#define STATE_ID "State of the port: 1 down, 2 init, 3 armed, 4 active, 5 active, deferred."
#define PHYSICAL_STATE_ID                                                                          \
	"Physical state of the port: 1 sleep, 2 polling, 3 disabled, 4 training, 5 link up, "      \
	"6 error recovery, 7 test."
#define RATE "Rate of the port; meaningless while the port is down."

#define DEVICE_USE(kind, what)                                                                     \
	[RENDER_DEVICE_USES + RDMAD_USES_##                                                        \
		kind] = { "rdma_device_" what, FAMILY_GAUGE,                                       \
			  .help = "Objects of the device, of all users "                           \
				  "and of the kernel." }
#define POD_USE(kind, what)                                                                        \
	[RENDER_POD_USES + RDMAD_USES_##kind] = { "rdma_pod_" what, FAMILY_GAUGE,                  \
						  .help = "Objects of the device that "            \
							  "belong to processes of the pod.",       \
						  .guarded = TRUE }

static const FamilyClass NATIVE[RENDER_N] = {
	[RENDER_DEVICE_INFO] = { "rdma_device", FAMILY_INFO, .help = "Attributes of the device." },
	[RENDER_DEVICE_FATAL] = { "rdma_device_fatal", FAMILY_GAUGE,
				  .help = "Whether the driver reports a fatal error (1) or not "
					  "(0)." },
	[RENDER_DEVICE_PROBLEMS] = { "rdma_device_problems", FAMILY_GAUGE,
				     .help = "Attributes of the device that could not be read." },
	[RENDER_COUNTER_UNREADABLE] = { "rdma_counters_unreadable", FAMILY_GAUGE,
					.help = "Counter that could not be read, with the error; "
						"it is read again after a back-off.",
					.guarded = TRUE },
	[RENDER_COUNTER_SATURATED] = { "rdma_counters_saturated", FAMILY_GAUGE,
				       .help = "Counter of the port that has reached its maximum "
					       "and stopped.",
				       .guarded = TRUE },
	[RENDER_PORT_INFO] = { "rdma_port", FAMILY_INFO, .help = "Attributes of the port." },
	[RENDER_PORT_STATE_ID] = { "rdma_port_state_id", FAMILY_GAUGE, .help = STATE_ID },
	[RENDER_PORT_PHYSICAL_STATE_ID] = { "rdma_port_physical_state_id", FAMILY_GAUGE,
					    .help = PHYSICAL_STATE_ID },
	[RENDER_PORT_STATE] = { "rdma_port_state", FAMILY_GAUGE,
				.help = "1 for the port's state, 0 for the others." },
	[RENDER_PORT_RATE] = { "rdma_port_rate_bytes_per_second", FAMILY_GAUGE, "bytes_per_second",
			       RATE },
	[RENDER_PORT_AT_REST] = { "rdma_port_at_rest", FAMILY_GAUGE,
				  .help = "Whether the port is down because nobody has set it up "
					  "(1) or not (0)." },
	[RENDER_PORT_TRANSITIONS] = { "rdma_port_link_transitions", FAMILY_COUNTER,
				      .help = "Changes of the port's state since rdmad first saw "
					      "it, including those between two scrapes." },
	[RENDER_PORT_FLAPS] = { "rdma_port_link_flaps", FAMILY_COUNTER,
				.help = "Times that the port went down and came back while its "
					"interface and its holder stayed the same." },
	[RENDER_PORT_CHANGED] = { "rdma_port_last_state_change_timestamp_seconds", FAMILY_GAUGE,
				  "seconds", "Time of the last change of the port's state." },
	[RENDER_PORT_GID_CHANGES] = { "rdma_port_gid_changes", FAMILY_COUNTER,
				      .help = "Changes of the port's GID table since rdmad first "
					      "saw it." },
	[RENDER_PORT_GIDS] = { "rdma_port_gids", FAMILY_GAUGE,
			       .help = "Entries in the port's GID table." },
	[RENDER_GID_INFO] = { "rdma_gid", FAMILY_INFO, .help = "Entry of a GID table." },
	[RENDER_NETDEV_INFO] = { "rdma_netdev", FAMILY_INFO,
				 .help = "Network interface of the device." },
	[RENDER_NETDEV_CARRIER] = { "rdma_netdev_carrier", FAMILY_GAUGE,
				    .help = "Whether the interface has a carrier (1) or not (0)." },
	[RENDER_NETDEV_MTU] = { "rdma_netdev_mtu_bytes", FAMILY_GAUGE, "bytes",
				"MTU of the interface." },
	[RENDER_NETDEV_SPEED] = { "rdma_netdev_speed_bytes_per_second", FAMILY_GAUGE,
				  "bytes_per_second", "Speed of the interface." },
	DEVICE_USE(QP, "queue_pairs"),
	DEVICE_USE(CQ, "completion_queues"),
	DEVICE_USE(MR, "memory_regions"),
	DEVICE_USE(CM_ID, "cm_ids"),
	DEVICE_USE(PD, "protection_domains"),
	DEVICE_USE(SRQ, "shared_receive_queues"),
	DEVICE_USE(CTX, "contexts"),
	POD_USE(QP, "queue_pairs"),
	POD_USE(CQ, "completion_queues"),
	POD_USE(MR, "memory_regions"),
	POD_USE(CM_ID, "cm_ids"),
};

/* Families of the scrape itself, exposed with any `names`. */
static const FamilyClass ALWAYS[RENDER_N] = {
	[RENDER_DEVICE_SUCCESS] = { "rdma_device_scrape_success", FAMILY_GAUGE,
				    .help = "Whether the device responded in time (1) or is "
					    "missing from this scrape (0)." },
	[RENDER_DEVICE_DURATION] = { "rdma_device_scrape_duration_seconds", FAMILY_GAUGE, "seconds",
				     "Duration of reading the device." },
	[RENDER_COLLECTOR_SUCCESS] = { "rdma_scrape_collector_success", FAMILY_GAUGE,
				       .help = "Whether all NICs returned what this collector "
					       "reads (1) or not (0)." },
	[RENDER_SCRAPE_DURATION] = { "rdma_scrape_duration_seconds", FAMILY_GAUGE, "seconds",
				     "Duration of reading all devices." },
};

static const FamilyClass COMPAT[RENDER_N] = {
	[RENDER_COMPAT_INFO] = { "node_infiniband", FAMILY_INFO,
				 .help = "Attributes of the device." },
	[RENDER_COMPAT_STATE_ID] = { "node_infiniband_state_id", FAMILY_GAUGE, .help = STATE_ID },
	[RENDER_COMPAT_PHYSICAL_STATE_ID] = { "node_infiniband_physical_state_id", FAMILY_GAUGE,
					      .help = PHYSICAL_STATE_ID },
	[RENDER_COMPAT_RATE] = { "node_infiniband_rate_bytes_per_second", FAMILY_GAUGE,
				 "bytes_per_second", RATE },
};

static void table_add(Render *render, const FamilyClass table[RENDER_N])
{
	for (guint i = 0; i < RENDER_N; i++)
		if (table[i].name)
			render->families[i] = family_set_add(render->set, &table[i], NULL);
}

void render_families_add(Render *render)
{
	table_add(render, ALWAYS);
	if (render->native)
		table_add(render, NATIVE);
	if (render->compat)
		table_add(render, COMPAT);
}

/* ---- users of a device: all of them, and each pod ---- */

#define POD_KINDS (RDMAD_USES_CM_ID + 1) /* the kinds that pods have */

typedef struct {
	guint64 objects[RDMAD_USES_KINDS];
} Uses;

static void uses_add(Uses *uses, const RdmadDeviceUser *user)
{
	for (guint i = 0; i < RDMAD_USES_KINDS; i++)
		uses->objects[i] += user->objects[i];
}

/* Returns a map of pod UIDs to Uses. */
static GHashTable *pods_sum(const RdmadReading *reading)
{
	GHashTable *pods = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);

	for (guint i = 0; i < reading->n_users; i++) {
		const RdmadDeviceUser *user = &reading->users[i];
		Uses *uses;

		if (!user->pod_uid)
			continue;
		uses = g_hash_table_lookup(pods, user->pod_uid);
		if (!uses) {
			uses = g_new0(Uses, 1);
			g_hash_table_insert(pods, (gpointer)user->pod_uid, uses);
		}
		uses_add(uses, user);
	}
	return pods;
}

static void pod_put(Render *render, const DeviceSample *sample, const char *uid, const Uses *uses)
{
	const PodName *pod = pod_names_lookup(sample->pods, uid);
	const guint unlisted = sample->reading->users_unlisted;
	Labels *labels = &render->labels;
	const gsize mark = labels_mark(labels);

	labels_add(labels, "namespace", pod ? pod->namespace : "");
	labels_add(labels, "pod", pod ? pod->name : "");
	labels_add(labels, "pod_uid", uid);
	for (guint i = 0; i < POD_KINDS; i++)
		if (!(unlisted & 1u << i))
			family_put(render->families[RENDER_POD_USES + i], labels, uses->objects[i]);
	labels_back(labels, mark);
}

static void pods_put(Render *render, const DeviceSample *sample)
{
	g_autoptr(GHashTable) pods = pods_sum(sample->reading);
	GHashTableIter iter;
	gpointer uid, uses;

	g_hash_table_iter_init(&iter, pods);
	while (g_hash_table_iter_next(&iter, &uid, &uses))
		pod_put(render, sample, uid, uses);
}

void render_users(Render *render, const DeviceSample *sample)
{
	const RdmadReading *reading = sample->reading;
	Uses all = { 0 };

	if (!reading || reading->users_errnum || !(render->snapshot->what & RDMAD_READ_USERS))
		return;
	for (guint i = 0; i < reading->n_users; i++)
		uses_add(&all, &reading->users[i]);
	for (guint i = 0; i < RDMAD_USES_KINDS; i++)
		family_put(render->families[RENDER_DEVICE_USES + i], &render->labels,
			   all.objects[i]);
	pods_put(render, sample);
}

/* ---- interfaces of a device; their counters are in counter.c ---- */

#define BYTES_PER_MEGABIT 125000u

static void netdev_info(Render *render, const RdmadNetdev *netdev, const RdmadPort *port)
{
	Labels *labels = &render->labels;
	const gsize mark = labels_mark(labels);

	if (port)
		labels_add_number(labels, "port", port->number);
	else
		labels_add(labels, "port", "");
	labels_add(labels, "netdev", netdev->name);
	labels_add(labels, "mac", netdev->mac);
	labels_add(labels, "master", netdev->master);
	family_put(render->families[RENDER_NETDEV_INFO], labels, 1);
	labels_back(labels, mark);
}

/* Renders the interface for each port that it serves, or once without a port. */
static void netdev_infos(Render *render, const RdmadDevice *device, const RdmadNetdev *netdev)
{
	guint found = 0;

	for (guint i = 0; i < device->n_ports; i++) {
		if (g_strcmp0(device->ports[i].netdev, netdev->name))
			continue;
		netdev_info(render, netdev, &device->ports[i]);
		found++;
	}
	if (!found)
		netdev_info(render, netdev, NULL);
}

static void netdev_values(Render *render, const RdmadNetdev *netdev)
{
	Labels *labels = &render->labels;
	const gsize mark = labels_mark(labels);

	labels_add(labels, "netdev", netdev->name);
	if (netdev->carrier != RDMAD_UNKNOWN)
		family_put(render->families[RENDER_NETDEV_CARRIER], labels, netdev->carrier == 1);
	if (netdev->mtu > 0)
		family_put(render->families[RENDER_NETDEV_MTU], labels, (guint64)netdev->mtu);
	if (netdev->speed_mbps >= 0)
		family_put(render->families[RENDER_NETDEV_SPEED], labels,
			   (guint64)netdev->speed_mbps * BYTES_PER_MEGABIT);
	labels_back(labels, mark);
}

void render_netdevs(Render *render, const RdmadDevice *device)
{
	for (guint i = 0; i < device->n_netdevs; i++) {
		netdev_infos(render, device, &device->netdevs[i]);
		netdev_values(render, &device->netdevs[i]);
	}
}

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

/* Returns the collectors of which a group failed entirely. */
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

	for (guint i = 0; i < snapshot->devices->len; i++) {
		const DeviceSample *sample = snapshot->devices->pdata[i];

		if (rdmad_device_role(sample->device) == RDMAD_ROLE_NIC)
			failed |= sample_failures(sample);
	}
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

/* While devices are renamed, two may have the same name; only the first one is rendered. */
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
	/* The duration is unknown if the device did not respond. */
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
	render_stats(set, rdmad_module_stats(self));
	if (snapshot->names == NAMES_COMPAT)
		return;
	render_allocations(set, rdmad_module_allocations(self), rdmad_module_inventory(self));
	render_node(set, rdmad_module_attributes(self));
}
