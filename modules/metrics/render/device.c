/* SPDX-License-Identifier: Apache-2.0 */
/* A device and its ports.  Values that the firmware changes are exposed only from a new reading. */
#include "render/parts.h"

#define MICROSECONDS	  6u
#define BYTES_PER_MEGABIT 125000u

typedef struct {
	RenderFamily state_id, physical_state_id, rate;
} PortFamilies;

static const PortFamilies NATIVE = { RENDER_PORT_STATE_ID, RENDER_PORT_PHYSICAL_STATE_ID,
				     RENDER_PORT_RATE };
static const PortFamilies COMPAT = { RENDER_COMPAT_STATE_ID, RENDER_COMPAT_PHYSICAL_STATE_ID,
				     RENDER_COMPAT_RATE };

/* ---- the device ---- */

static const char *role_name(const RdmadDevice *device)
{
	if (rdmad_device_role(device) != RDMAD_ROLE_NIC)
		return rdmad_device_role_name(rdmad_device_role(device));
	if (device->sf_number != RDMAD_UNKNOWN)
		return "sf";
	switch (device->pci_role) {
	case RDMAD_PCI_PF:
		return "pf";
	case RDMAD_PCI_VF:
		return "vf";
	case RDMAD_PCI_PLAIN:
		break;
	}
	return "plain";
}

static void device_info(Render *render, const RdmadDevice *device)
{
	Labels *labels = &render->labels;
	const gsize mark = labels_mark(labels);

	labels_add(labels, "device_id", device->id);
	labels_add(labels, "driver", device->driver);
	labels_add(labels, "board_id", device->board_id);
	labels_add(labels, "firmware_version", device->firmware);
	labels_add(labels, "hca_type", device->hca_type);
	labels_add(labels, "node_guid", device->node_guid);
	labels_add(labels, "node_type", rdmad_node_type_name(device->node_type));
	labels_add(labels, "pci_address", device->pci_address);
	if (device->numa_node == RDMAD_UNKNOWN)
		labels_add(labels, "numa_node", "");
	else
		labels_add_number(labels, "numa_node", (guint64)device->numa_node);
	labels_add(labels, "role", role_name(device));
	labels_add(labels, "physical_function", device->pf_address);
	family_put(render->families[RENDER_DEVICE_INFO], labels, 1);
	labels_back(labels, mark);
}

/* ---- ports: values of the reading ---- */

static void port_state(Render *render, int state)
{
	static const char *const names[] = { [RDMAD_PORT_DOWN] = "down",
					     [RDMAD_PORT_INIT] = "init",
					     [RDMAD_PORT_ARMED] = "armed",
					     [RDMAD_PORT_ACTIVE] = "active",
					     [RDMAD_PORT_ACTIVE_DEFER] = "active_defer" };
	Labels *labels = &render->labels;
	const gsize mark = labels_mark(labels);

	for (int i = RDMAD_PORT_DOWN; i < (int)G_N_ELEMENTS(names); i++) {
		labels_add(labels, "state", names[i]);
		family_put(render->families[RENDER_PORT_STATE], labels, state == i);
		labels_back(labels, mark);
	}
}

static void port_reading(Render *render, const RdmadPortReading *port, const PortFamilies *to)
{
	Labels *labels = &render->labels;

	if (port->state >= 0)
		family_put(render->families[to->state_id], labels, (guint64)port->state);
	if (port->phys_state >= 0)
		family_put(render->families[to->physical_state_id], labels,
			   (guint64)port->phys_state);
	if (port->rate_mbps >= 0)
		family_put(render->families[to->rate], labels,
			   (guint64)port->rate_mbps * BYTES_PER_MEGABIT);
	if (to == &NATIVE && port->state >= 0)
		port_state(render, port->state);
}

static void ports_read(Render *render, const RdmadReading *reading, const PortFamilies *to)
{
	const gsize mark = labels_mark(&render->labels);

	for (guint i = 0; reading && i < reading->n_ports; i++) {
		labels_add_number(&render->labels, "port", reading->ports[i].number);
		port_reading(render, &reading->ports[i], to);
		labels_back(&render->labels, mark);
	}
}

/* ---- ports: values of the inventory ---- */

static void port_gids(Render *render, const RdmadPort *port)
{
	Labels *labels = &render->labels;
	const gsize mark = labels_mark(labels);
	char text[40];

	family_put(render->families[RENDER_PORT_GIDS], labels, port->n_gids);
	for (guint i = 0; i < port->n_gids; i++) {
		const RdmadGid *gid = &port->gids[i];

		rdmad_gid_format(gid->raw, text);
		labels_add_number(labels, "index", gid->index);
		labels_add(labels, "gid", text);
		labels_add(labels, "type", rdmad_gid_type_name(gid->type));
		labels_add(labels, "netdev", gid->netdev);
		family_put(render->families[RENDER_GID_INFO], labels, 1);
		labels_back(labels, mark);
	}
}

static void port_inventory(Render *render, const RdmadDevice *device, const RdmadPort *port)
{
	Labels *labels = &render->labels;
	const gsize mark = labels_mark(labels);

	labels_add(labels, "link_layer", rdmad_link_layer_name(port->link_layer));
	labels_add(labels, "netdev", port->netdev);
	family_put(render->families[RENDER_PORT_INFO], labels, 1);
	labels_back(labels, mark);
	family_put(render->families[RENDER_PORT_AT_REST], labels,
		   rdmad_port_is_at_rest(device, port));
	family_put(render->families[RENDER_PORT_TRANSITIONS], labels, port->transitions);
	family_put(render->families[RENDER_PORT_FLAPS], labels, port->flaps);
	family_put(render->families[RENDER_PORT_GID_CHANGES], labels, port->gid_changes);
	if (port->changed_us > 0)
		family_put_scaled(render->families[RENDER_PORT_CHANGED], labels,
				  (guint64)port->changed_us, MICROSECONDS);
	if (render->snapshot->gids)
		port_gids(render, port);
}

void render_device(Render *render, const DeviceSample *sample)
{
	const RdmadDevice *device = sample->device;
	Labels *labels = &render->labels;
	const gsize mark = labels_mark(labels);

	device_info(render, device);
	family_put(render->families[RENDER_DEVICE_FATAL], labels, device->fatal != FALSE);
	family_put(render->families[RENDER_DEVICE_PROBLEMS], labels,
		   device->problems ? g_strv_length(device->problems) : 0);
	for (guint i = 0; i < device->n_ports; i++) {
		labels_add_number(labels, "port", device->ports[i].number);
		port_inventory(render, device, &device->ports[i]);
		labels_back(labels, mark);
	}
	ports_read(render, sample->reading, &NATIVE);
}

void render_device_compat(Render *render, const DeviceSample *sample)
{
	const RdmadDevice *device = sample->device;
	Labels *labels = &render->labels;
	const gsize mark = labels_mark(labels);

	labels_add(labels, "board_id", device->board_id);
	labels_add(labels, "firmware_version", device->firmware);
	labels_add(labels, "hca_type", device->hca_type);
	family_put(render->families[RENDER_COMPAT_INFO], labels, 1);
	labels_back(labels, mark);
	ports_read(render, sample->reading, &COMPAT);
}
