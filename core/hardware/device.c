/* SPDX-License-Identifier: Apache-2.0 */
#include "hardware/device-private.h"

#include <stdarg.h>
#include <string.h>

#define PROBLEMS_MAX 64u

/* What freeing and comparing have in common: the plain members, by offset. */
static const gsize device_strings[] = {
	G_STRUCT_OFFSET(RdmadDevice, id),	   G_STRUCT_OFFSET(RdmadDevice, name),
	G_STRUCT_OFFSET(RdmadDevice, node_guid),   G_STRUCT_OFFSET(RdmadDevice, sys_image_guid),
	G_STRUCT_OFFSET(RdmadDevice, driver),	   G_STRUCT_OFFSET(RdmadDevice, firmware),
	G_STRUCT_OFFSET(RdmadDevice, board_id),	   G_STRUCT_OFFSET(RdmadDevice, hca_type),
	G_STRUCT_OFFSET(RdmadDevice, pci_address), G_STRUCT_OFFSET(RdmadDevice, pf_address),
	G_STRUCT_OFFSET(RdmadDevice, aux_name),	   G_STRUCT_OFFSET(RdmadDevice, bond),
};

static char *string_at(const RdmadDevice *dev, gsize offset)
{
	return *(char *const *)G_STRUCT_MEMBER_P(dev, offset);
}

RdmadDevice *rdmad_device_new(const char *id, const char *name)
{
	RdmadDevice *dev = g_new0(RdmadDevice, 1);

	dev->refs = 1;
	dev->id = g_utf8_make_valid(id, -1);
	dev->name = g_utf8_make_valid(name, -1);
	dev->index = RDMAD_UNKNOWN;
	dev->vendor = dev->device = RDMAD_UNKNOWN;
	dev->subsystem_vendor = dev->subsystem_device = RDMAD_UNKNOWN;
	dev->numa_node = RDMAD_UNKNOWN;
	dev->vf_index = dev->num_vfs = RDMAD_UNKNOWN;
	dev->sf_number = dev->acpi_index = RDMAD_UNKNOWN;
	dev->problems = g_new0(char *, 1);
	return dev;
}

static void port_clear(RdmadPort *port)
{
	for (guint i = 0; i < port->n_gids; i++)
		g_free(port->gids[i].netdev);
	g_free(port->gids);
	g_free(port->rate_text);
	g_free(port->netdev);
}

static void netdev_clear(RdmadNetdev *netdev)
{
	g_free(netdev->name);
	g_free(netdev->mac);
	g_free(netdev->operstate);
	g_free(netdev->master);
	g_strfreev(netdev->addresses);
}

static void device_free(RdmadDevice *dev)
{
	for (guint i = 0; i < G_N_ELEMENTS(device_strings); i++)
		g_free(string_at(dev, device_strings[i]));
	for (guint i = 0; i < dev->n_ports; i++)
		port_clear(&dev->ports[i]);
	for (guint i = 0; i < dev->n_netdevs; i++)
		netdev_clear(&dev->netdevs[i]);
	for (guint i = 0; i < dev->n_chardevs; i++)
		g_free(dev->chardevs[i].path);
	g_free(dev->ports);
	g_free(dev->netdevs);
	g_free(dev->chardevs);
	g_strfreev(dev->pci_path);
	g_strfreev(dev->pf_netdevs);
	g_strfreev(dev->problems);
	g_free(dev);
}

const RdmadDevice *rdmad_device_ref(const RdmadDevice *dev)
{
	g_atomic_int_inc((int *)&dev->refs);
	return dev;
}

void rdmad_device_unref(const RdmadDevice *dev)
{
	if (dev && g_atomic_int_dec_and_test((int *)&dev->refs))
		device_free((RdmadDevice *)dev);
}

static void problems_append(RdmadDevice *dev, guint count, char *problem)
{
	dev->problems = g_renew(char *, dev->problems, count + 2);
	dev->problems[count] = problem;
	dev->problems[count + 1] = NULL;
}

void rdmad_device_add_problem(RdmadDevice *dev, const char *format, ...)
{
	const guint count = g_strv_length(dev->problems);
	g_autofree char *text = NULL;
	va_list args;

	if (count >= PROBLEMS_MAX)
		return;
	va_start(args, format);
	text = g_strdup_vprintf(format, args);
	va_end(args);
	if (count == PROBLEMS_MAX - 1)
		problems_append(dev, count, g_strdup("and more"));
	else
		problems_append(dev, count, g_utf8_make_valid(text, -1));
}

static gboolean strv_equal(char *const *a, char *const *b)
{
	static char *const empty[] = { NULL };

	return g_strv_equal((const char *const *)(a ? a : empty),
			    (const char *const *)(b ? b : empty));
}

static gboolean gid_equal(const RdmadGid *a, const RdmadGid *b)
{
	return a->index == b->index && a->type == b->type && !memcmp(a->raw, b->raw, 16) &&
	       !g_strcmp0(a->netdev, b->netdev);
}

gboolean rdmad_port_gids_equal(const RdmadPort *a, const RdmadPort *b)
{
	if (a->n_gids != b->n_gids)
		return FALSE;
	for (guint i = 0; i < a->n_gids; i++)
		if (a->gids[i].index != b->gids[i].index || a->gids[i].type != b->gids[i].type ||
		    memcmp(a->gids[i].raw, b->gids[i].raw, sizeof(a->gids[i].raw)) != 0)
			return FALSE;
	return TRUE;
}

static gboolean port_equal(const RdmadPort *a, const RdmadPort *b)
{
	if (a->number != b->number || a->link_layer != b->link_layer || a->state != b->state ||
	    a->phys_state != b->phys_state || a->rate_mbps != b->rate_mbps || a->lid != b->lid ||
	    a->sm_lid != b->sm_lid || a->pkey0 != b->pkey0 || a->n_gids != b->n_gids)
		return FALSE;
	if (a->transitions != b->transitions || a->gid_changes != b->gid_changes)
		return FALSE;
	if (g_strcmp0(a->rate_text, b->rate_text) || g_strcmp0(a->netdev, b->netdev))
		return FALSE;
	for (guint i = 0; i < a->n_gids; i++)
		if (!gid_equal(&a->gids[i], &b->gids[i]))
			return FALSE;
	return TRUE;
}

static gboolean netdev_equal(const RdmadNetdev *a, const RdmadNetdev *b)
{
	return a->ifindex == b->ifindex && a->mtu == b->mtu && a->carrier == b->carrier &&
	       a->carrier_changes == b->carrier_changes && a->speed_mbps == b->speed_mbps &&
	       !g_strcmp0(a->name, b->name) && !g_strcmp0(a->mac, b->mac) &&
	       !g_strcmp0(a->operstate, b->operstate) && !g_strcmp0(a->master, b->master) &&
	       strv_equal(a->addresses, b->addresses);
}

static gboolean chardev_equal(const RdmadChardev *a, const RdmadChardev *b)
{
	return a->kind == b->kind && a->major == b->major && a->minor == b->minor &&
	       !g_strcmp0(a->path, b->path);
}

static gboolean parts_equal(const RdmadDevice *a, const RdmadDevice *b)
{
	if (a->n_ports != b->n_ports || a->n_netdevs != b->n_netdevs ||
	    a->n_chardevs != b->n_chardevs)
		return FALSE;
	for (guint i = 0; i < a->n_ports; i++)
		if (!port_equal(&a->ports[i], &b->ports[i]))
			return FALSE;
	for (guint i = 0; i < a->n_netdevs; i++)
		if (!netdev_equal(&a->netdevs[i], &b->netdevs[i]))
			return FALSE;
	for (guint i = 0; i < a->n_chardevs; i++)
		if (!chardev_equal(&a->chardevs[i], &b->chardevs[i]))
			return FALSE;
	return TRUE;
}

static gboolean numbers_equal(const RdmadDevice *a, const RdmadDevice *b)
{
	return a->fatal == b->fatal && a->stale == b->stale && a->index == b->index &&
	       a->node_type == b->node_type && a->vendor == b->vendor && a->device == b->device &&
	       a->subsystem_vendor == b->subsystem_vendor &&
	       a->subsystem_device == b->subsystem_device && a->numa_node == b->numa_node &&
	       a->pci_role == b->pci_role && a->vf_index == b->vf_index &&
	       a->num_vfs == b->num_vfs && a->sf_number == b->sf_number &&
	       a->acpi_index == b->acpi_index;
}

gboolean rdmad_device_equal(const RdmadDevice *a, const RdmadDevice *b)
{
	for (guint i = 0; i < G_N_ELEMENTS(device_strings); i++)
		if (g_strcmp0(string_at(a, device_strings[i]), string_at(b, device_strings[i])))
			return FALSE;
	return numbers_equal(a, b) && parts_equal(a, b) && strv_equal(a->pci_path, b->pci_path) &&
	       strv_equal(a->pf_netdevs, b->pf_netdevs) && strv_equal(a->problems, b->problems);
}

const RdmadNetdev *rdmad_device_netdev(const RdmadDevice *dev, const char *name)
{
	for (guint i = 0; i < dev->n_netdevs; i++)
		if (!g_strcmp0(dev->netdevs[i].name, name))
			return &dev->netdevs[i];
	return NULL;
}

const RdmadPort *rdmad_device_port(const RdmadDevice *dev, guint number)
{
	for (guint i = 0; i < dev->n_ports; i++)
		if (dev->ports[i].number == number)
			return &dev->ports[i];
	return NULL;
}

const RdmadChardev *rdmad_device_chardev(const RdmadDevice *dev, RdmadChardevKind kind)
{
	for (guint i = 0; i < dev->n_chardevs; i++)
		if (dev->chardevs[i].kind == kind)
			return &dev->chardevs[i];
	return NULL;
}

void rdmad_gpu_free(RdmadGpu *gpu)
{
	if (!gpu)
		return;
	g_free(gpu->pci_address);
	g_strfreev(gpu->pci_path);
	g_free(gpu);
}
