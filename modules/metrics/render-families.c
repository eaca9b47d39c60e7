/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The families whose names are our own
 *
 * A state is a gauge with a label `state` in OpenMetrics as well: its statesets want the label called
 * as the family, so that the series would have other names from one format to the other.
 *
 * `promtool check metrics` refuses "counter" as a word of a name, hence rdma_counters_unreadable; and
 * "bits" as a unit, hence "bit_errors".
 */
#include "render-private.h"

#define STATE_ID "State of the port: 1 down, 2 init, 3 armed, 4 active, 5 active, deferred."
#define PHYSICAL_STATE_ID                                                                          \
	"Physical state of the port: 1 sleep, 2 polling, 3 disabled, 4 training, 5 link up, "      \
	"6 error recovery, 7 test."
#define RATE "Rate of the port; what the kernel says of a port that is down means nothing."

#define DEVICE_USE(kind, what)                                                                     \
	[RENDER_DEVICE_USES + RDMAD_USES_##kind] = { "rdma_device_" what, FAMILY_GAUGE,            \
						     .help = "How many the device has, of all "    \
							     "users and of the kernel." }
#define POD_USE(kind, what)                                                                        \
	[RENDER_POD_USES + RDMAD_USES_##kind] = { "rdma_pod_" what, FAMILY_GAUGE,                  \
						  .help = "How many the processes of the pod "     \
							  "have of the device.",                   \
						  .guarded = TRUE }

static const FamilyClass NATIVE[RENDER_N] = {
	[RENDER_DEVICE_INFO] = { "rdma_device", FAMILY_INFO, .help = "What the device is." },
	[RENDER_DEVICE_FATAL] = { "rdma_device_fatal", FAMILY_GAUGE,
				  .help = "Whether the driver gave the device up (1) or not (0)." },
	[RENDER_DEVICE_PROBLEMS] = { "rdma_device_problems", FAMILY_GAUGE,
				     .help = "Attributes of the device that could not be read." },
	[RENDER_COUNTER_UNREADABLE] = { "rdma_counters_unreadable", FAMILY_GAUGE,
					.help = "A counter that could not be read, and why; it is "
						"tried again after a while.",
					.guarded = TRUE },
	[RENDER_COUNTER_SATURATED] = { "rdma_counters_saturated", FAMILY_GAUGE,
				       .help = "A counter of 4, 8 or 16 bits that stands at its "
					       "maximum and counts no more.",
				       .guarded = TRUE },
	[RENDER_PORT_INFO] = { "rdma_port", FAMILY_INFO, .help = "What the port is." },
	[RENDER_PORT_STATE_ID] = { "rdma_port_state_id", FAMILY_GAUGE, .help = STATE_ID },
	[RENDER_PORT_PHYSICAL_STATE_ID] = { "rdma_port_physical_state_id", FAMILY_GAUGE,
					    .help = PHYSICAL_STATE_ID },
	[RENDER_PORT_STATE] = { "rdma_port_state", FAMILY_GAUGE,
				.help = "1 for the state that the port is in, 0 for the others." },
	[RENDER_PORT_RATE] = { "rdma_port_rate_bytes_per_second", FAMILY_GAUGE, "bytes_per_second",
			       RATE },
	[RENDER_PORT_TRANSITIONS] = { "rdma_port_link_transitions", FAMILY_COUNTER,
				      .help = "Changes of the port's state since rdmad saw it "
					      "first, those between two scrapes too." },
	[RENDER_PORT_CHANGED] = { "rdma_port_last_state_change_timestamp_seconds", FAMILY_GAUGE,
				  "seconds", "When the port's state last changed." },
	[RENDER_PORT_GID_CHANGES] = { "rdma_port_gid_changes", FAMILY_COUNTER,
				      .help = "Changes of the port's GID table since rdmad saw it "
					      "first." },
	[RENDER_PORT_GIDS] = { "rdma_port_gids", FAMILY_GAUGE,
			       .help = "Entries in the port's GID table." },
	[RENDER_GID_INFO] = { "rdma_gid", FAMILY_INFO, .help = "An entry of a GID table." },
	[RENDER_NETDEV_INFO] = { "rdma_netdev", FAMILY_INFO,
				 .help = "A network interface of the device." },
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

/* Of the scrape itself, whatever the names. */
static const FamilyClass ALWAYS[RENDER_N] = {
	[RENDER_DEVICE_SUCCESS] = { "rdma_device_scrape_success", FAMILY_GAUGE,
				    .help = "Whether the device answered in time (1) or is left "
					    "out of this scrape (0)." },
	[RENDER_DEVICE_DURATION] = { "rdma_device_scrape_duration_seconds", FAMILY_GAUGE, "seconds",
				     "Time that reading the device took." },
	[RENDER_COLLECTOR_SUCCESS] = { "rdma_scrape_collector_success", FAMILY_GAUGE,
				       .help = "Whether all devices told what this collector "
					       "reads (1) or not (0)." },
	[RENDER_SCRAPE_DURATION] = { "rdma_scrape_duration_seconds", FAMILY_GAUGE, "seconds",
				     "Time that reading all devices took." },
};

static const FamilyClass COMPAT[RENDER_N] = {
	[RENDER_COMPAT_INFO] = { "node_infiniband", FAMILY_INFO, .help = "What the device is." },
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
