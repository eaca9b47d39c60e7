/* SPDX-License-Identifier: Apache-2.0 */
#include "dump.h"

#include <rdmad/device.h>

static const char *or_dash(const char *text)
{
	return text ? text : "-";
}

/* Escapes the text, so that one line stays one line. */
static char *quoted(const char *text)
{
	return text ? g_strescape(text, NULL) : g_strdup("-");
}

static void dump_list(GString *out, const char *what, char *const *list)
{
	if (!list || !list[0])
		return;
	g_string_append_printf(out, "  %s", what);
	for (guint i = 0; list[i]; i++)
		g_string_append_printf(out, " %s", list[i]);
	g_string_append_c(out, '\n');
}

static void dump_pci(GString *out, const RdmadDevice *dev)
{
	static const char *const roles[] = { "plain", "pf", "vf" };

	if (!dev->pci_address)
		return;
	g_string_append_printf(out, "  pci %s %04x:%04x %04x:%04x numa %d %s", dev->pci_address,
			       (guint)dev->vendor & 0xffff, (guint)dev->device & 0xffff,
			       (guint)dev->subsystem_vendor & 0xffff,
			       (guint)dev->subsystem_device & 0xffff, dev->numa_node,
			       roles[dev->pci_role]);
	if (dev->num_vfs != RDMAD_UNKNOWN)
		g_string_append_printf(out, " with %d vfs", dev->num_vfs);
	if (dev->pf_address)
		g_string_append_printf(out, " %d of %s", dev->vf_index, dev->pf_address);
	if (dev->pf_link != RDMAD_UNKNOWN)
		g_string_append_printf(out, " link %d", dev->pf_link);
	if (dev->aux_name)
		g_string_append_printf(out, " aux %s sf %d", dev->aux_name, dev->sf_number);
	if (dev->acpi_index != RDMAD_UNKNOWN)
		g_string_append_printf(out, " acpi %d", dev->acpi_index);
	g_string_append_c(out, '\n');
	dump_list(out, "pf", dev->pf_netdevs);
	dump_list(out, "path", dev->pci_path);
}

static void dump_port(GString *out, const RdmadPort *port)
{
	char text[40];

	g_string_append_printf(out, "  port %u %s %s phys %d rate %" G_GINT64_FORMAT " (%s)",
			       port->number, rdmad_link_layer_name(port->link_layer),
			       rdmad_port_state_name(port->state), port->phys_state,
			       port->rate_mbps, or_dash(port->rate_text));
	g_string_append_printf(out, " lid %d sm %d pkey %d netdev %s\n", port->lid, port->sm_lid,
			       port->pkey0, or_dash(port->netdev));
	for (guint i = 0; i < port->n_gids; i++) {
		rdmad_gid_format(port->gids[i].raw, text);
		g_string_append_printf(out, "    gid %u %s %s, %s\n", port->gids[i].index, text,
				       rdmad_gid_type_name(port->gids[i].type),
				       or_dash(port->gids[i].netdev));
	}
}

static void dump_netdev(GString *out, const RdmadNetdev *netdev)
{
	g_string_append_printf(out, "  net %s index %d mac %s mtu %d up %d carrier %d %s speed %d",
			       netdev->name, netdev->ifindex, or_dash(netdev->mac), netdev->mtu,
			       netdev->up, netdev->carrier, or_dash(netdev->operstate),
			       netdev->speed_mbps);
	if (netdev->master)
		g_string_append_printf(out, " master %s", netdev->master);
	g_string_append_c(out, '\n');
}

static void dump_chardev(GString *out, const RdmadChardev *chardev)
{
	g_string_append_printf(out, "  char %s %u:%u", chardev->path, chardev->major,
			       chardev->minor);
	if (chardev->port)
		g_string_append_printf(out, " port %u", chardev->port);
	g_string_append_c(out, '\n');
}

static void dump_device(GString *out, const RdmadDevice *dev)
{
	g_autofree char *name = quoted(dev->name);
	g_autofree char *firmware = quoted(dev->firmware);

	g_string_append_printf(out, "device %s\n", dev->id);
	g_string_append_printf(out, "  name %s %s guid %s sys %s\n", name,
			       rdmad_node_type_name(dev->node_type), or_dash(dev->node_guid),
			       or_dash(dev->sys_image_guid));
	g_string_append_printf(out, "  driver %s firmware %s hca %s board %s\n",
			       or_dash(dev->driver), firmware, or_dash(dev->hca_type),
			       or_dash(dev->board_id));
	dump_pci(out, dev);
	if (dev->bond)
		g_string_append_printf(out, "  bond %s\n", dev->bond);
	for (guint i = 0; i < dev->n_ports; i++)
		dump_port(out, &dev->ports[i]);
	for (guint i = 0; i < dev->n_netdevs; i++)
		dump_netdev(out, &dev->netdevs[i]);
	for (guint i = 0; i < dev->n_chardevs; i++)
		dump_chardev(out, &dev->chardevs[i]);
	for (guint i = 0; dev->problems[i]; i++) {
		g_autofree char *problem = quoted(dev->problems[i]);

		g_string_append_printf(out, "  problem %s\n", problem);
	}
}

static void dump_gpu(GString *out, const RdmadScan *scan, const RdmadGpu *gpu)
{
	g_string_append_printf(out, "gpu %s %04x:%04x numa %d\n", gpu->pci_address,
			       (guint)gpu->vendor & 0xffff, (guint)gpu->device & 0xffff,
			       gpu->numa_node);
	dump_list(out, "path", gpu->pci_path);
	for (guint i = 0; i < scan->devices->len; i++) {
		const RdmadDevice *dev = scan->devices->pdata[i];

		g_string_append_printf(
			out, "  %s %s\n",
			rdmad_distance_name(rdmad_pci_distance(gpu->pci_path, gpu->numa_node,
							       dev->pci_path, dev->numa_node)),
			dev->name);
	}
}

char *test_dump_scan(const RdmadScan *scan)
{
	GString *out = g_string_new(NULL);

	for (guint i = 0; i < scan->devices->len; i++)
		dump_device(out, scan->devices->pdata[i]);
	for (guint i = 0; i < scan->gpus->len; i++)
		dump_gpu(out, scan, scan->gpus->pdata[i]);
	return g_string_free(out, FALSE);
}
