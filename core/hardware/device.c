/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/device.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "hardware/device.h"

/* ---- names of enumerators, and the order of names ---- */

static const char *name_at(const char *const *names, gsize n, int value)
{
	if (value < 0 || (gsize)value >= n || !names[value])
		return "unknown";
	return names[value];
}

const char *rdmad_link_layer_name(RdmadLinkLayer layer)
{
	static const char *const names[] = {
		[RDMAD_LINK_LAYER_INFINIBAND] = "infiniband",
		[RDMAD_LINK_LAYER_ETHERNET] = "ethernet",
	};

	return name_at(names, G_N_ELEMENTS(names), (int)layer);
}

const char *rdmad_port_state_name(int state)
{
	static const char *const names[] = {
		[RDMAD_PORT_NOP] = "nop",	[RDMAD_PORT_DOWN] = "down",
		[RDMAD_PORT_INIT] = "init",	[RDMAD_PORT_ARMED] = "armed",
		[RDMAD_PORT_ACTIVE] = "active", [RDMAD_PORT_ACTIVE_DEFER] = "active-defer",
	};

	return name_at(names, G_N_ELEMENTS(names), state);
}

const char *rdmad_gid_type_name(RdmadGidType type)
{
	static const char *const names[] = {
		[RDMAD_GID_IB] = "IB",
		[RDMAD_GID_ROCE_V1] = "RoCE v1",
		[RDMAD_GID_ROCE_V2] = "RoCE v2",
	};

	return name_at(names, G_N_ELEMENTS(names), (int)type);
}

const char *rdmad_chardev_kind_name(RdmadChardevKind kind)
{
	static const char *const names[] = { "uverbs", "umad", "issm", "ucm", "rdma_cm" };

	return name_at(names, G_N_ELEMENTS(names), (int)kind);
}

const char *rdmad_node_type_name(RdmadNodeType type)
{
	static const char *const names[] = {
		[RDMAD_NODE_CA] = "ca",
		[RDMAD_NODE_SWITCH] = "switch",
		[RDMAD_NODE_ROUTER] = "router",
		[RDMAD_NODE_RNIC] = "rnic",
		[RDMAD_NODE_USNIC] = "usnic",
		[RDMAD_NODE_USNIC_UDP] = "usnic-udp",
		[RDMAD_NODE_UNSPECIFIED] = "unspecified",
	};

	return name_at(names, G_N_ELEMENTS(names), (int)type);
}

/* RFC 4291, appendix A: the bit of local addresses is inverted. */
gboolean rdmad_guid_get_mac(const char *guid, guint8 mac[6])
{
	guint part[4];
	int end = 0;

	if (!guid ||
	    sscanf(guid, "%4x:%4x:%4x:%4x%n", &part[0], &part[1], &part[2], &part[3], &end) < 4 ||
	    guid[end] != '\0' || (part[1] & 0xff) != 0xff || part[2] >> 8 != 0xfe)
		return FALSE;
	mac[0] = (guint8)(part[0] >> 8) ^ 0x02;
	mac[1] = (guint8)part[0];
	mac[2] = (guint8)(part[1] >> 8);
	mac[3] = (guint8)part[2];
	mac[4] = (guint8)(part[3] >> 8);
	mac[5] = (guint8)part[3];
	return TRUE;
}

/* 40 times as fast as printf(), because a scrape may have thousands of GIDs. */
void rdmad_gid_format(const guint8 raw[16], char text[40])
{
	static const char digits[] = "0123456789abcdef";
	char *at = text;

	for (guint i = 0; i < 16; i++) {
		if (i && i % 2 == 0)
			*at++ = ':';
		*at++ = digits[raw[i] >> 4];
		*at++ = digits[raw[i] & 0xf];
	}
	*at = '\0';
}

/* Not strspn(), because names have few digits: the call takes longer than the loop. */
static gsize count_digits(const char *text)
{
	gsize n = 0;

	while (g_ascii_isdigit(text[n]))
		n++;
	return n;
}

static const char *skip_zeros(const char *text)
{
	while (*text == '0')
		text++;
	return text;
}

/* Compares two numbers as runs of digits, and moves both pointers behind them. */
static int compare_runs(const char **a, const char **b)
{
	const char *x = skip_zeros(*a), *y = skip_zeros(*b);
	const gsize lx = count_digits(x), ly = count_digits(y);

	*a = x + lx;
	*b = y + ly;
	return lx != ly ? (lx < ly ? -1 : 1) : memcmp(x, y, lx);
}

/* Recognizes the PCI domain of "0000:3b:00.0": hexadecimal digits before a colon. */
static gboolean starts_with_domain(const char *name)
{
	gsize len = 0;

	while (g_ascii_isdigit(name[len]) || (name[len] >= 'a' && name[len] <= 'f'))
		len++;
	return len >= 4 && name[len] == ':';
}

/* PCI addresses, and digits after a colon, are hexadecimal with a fixed width, not decimal numbers:
 * "0000:9a:00.0" comes after "0000:18:00.0". */
int rdmad_natural_compare(const char *a, const char *b)
{
	const char *p = a, *q = b;
	gboolean hex = starts_with_domain(a) && starts_with_domain(b);

	while (*p && *q) {
		if (!hex && g_ascii_isdigit(*p) && g_ascii_isdigit(*q)) {
			const int order = compare_runs(&p, &q);

			if (order)
				return order;
			continue;
		}
		if (*p != *q)
			break;
		hex = *p == ':' || (hex && g_ascii_isxdigit(*p));
		p++;
		q++;
	}
	if (*p != *q)
		return (guchar)*p < (guchar)*q ? -1 : 1;
	/* "a01" and "a1" have equal numbers, but are different names. */
	return strcmp(a, b);
}

int rdmad_natural_compare_entries(gconstpointer a, gconstpointer b)
{
	return rdmad_natural_compare(*(const char *const *)a, *(const char *const *)b);
}

#define PROBLEMS_MAX 64u

/* Offsets of the string members, for freeing and comparing. */
static const gsize device_strings[] = {
	G_STRUCT_OFFSET(RdmadDevice, id),	   G_STRUCT_OFFSET(RdmadDevice, name),
	G_STRUCT_OFFSET(RdmadDevice, node_guid),   G_STRUCT_OFFSET(RdmadDevice, sys_image_guid),
	G_STRUCT_OFFSET(RdmadDevice, driver),	   G_STRUCT_OFFSET(RdmadDevice, firmware),
	G_STRUCT_OFFSET(RdmadDevice, board_id),	   G_STRUCT_OFFSET(RdmadDevice, hca_type),
	G_STRUCT_OFFSET(RdmadDevice, pci_address), G_STRUCT_OFFSET(RdmadDevice, pf_address),
	G_STRUCT_OFFSET(RdmadDevice, aux_name),	   G_STRUCT_OFFSET(RdmadDevice, bond),
	G_STRUCT_OFFSET(RdmadDevice, vpd_model),   G_STRUCT_OFFSET(RdmadDevice, parent),
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
	dev->sf_number = dev->acpi_index = dev->pf_link = RDMAD_UNKNOWN;
	dev->problems = g_new0(char *, 1);
	return dev;
}

void rdmad_port_clear_gids(RdmadPort *port)
{
	for (guint i = 0; i < port->n_gids; i++)
		g_free(port->gids[i].netdev);
	g_clear_pointer(&port->gids, g_free);
	port->n_gids = 0;
}

static void port_clear(RdmadPort *port)
{
	rdmad_port_clear_gids(port);
	g_free(port->rate_text);
	g_free(port->netdev);
	g_free(port->netdev_in_pod);
}

void rdmad_netdev_init(RdmadNetdev *netdev, const char *name)
{
	*netdev = (RdmadNetdev){
		.name = g_utf8_make_valid(name, -1),
		.ifindex = RDMAD_UNKNOWN,
		.mtu = RDMAD_UNKNOWN,
		.up = RDMAD_UNKNOWN,
		.carrier = RDMAD_UNKNOWN,
		.carrier_changes = RDMAD_UNKNOWN,
		.speed_mbps = RDMAD_UNKNOWN,
		.addresses = g_new0(char *, 1),
	};
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
	if (a->transitions != b->transitions || a->flaps != b->flaps ||
	    a->gid_changes != b->gid_changes)
		return FALSE;
	if (g_strcmp0(a->rate_text, b->rate_text) || g_strcmp0(a->netdev, b->netdev) ||
	    g_strcmp0(a->netdev_in_pod, b->netdev_in_pod))
		return FALSE;
	for (guint i = 0; i < a->n_gids; i++)
		if (!gid_equal(&a->gids[i], &b->gids[i]))
			return FALSE;
	return TRUE;
}

static gboolean netdev_equal(const RdmadNetdev *a, const RdmadNetdev *b)
{
	return a->ifindex == b->ifindex && a->mtu == b->mtu && a->up == b->up &&
	       a->carrier == b->carrier && a->carrier_changes == b->carrier_changes &&
	       a->speed_mbps == b->speed_mbps && !g_strcmp0(a->name, b->name) &&
	       !g_strcmp0(a->mac, b->mac) && !g_strcmp0(a->operstate, b->operstate) &&
	       !g_strcmp0(a->master, b->master) && strv_equal(a->addresses, b->addresses);
}

static gboolean chardev_equal(const RdmadChardev *a, const RdmadChardev *b)
{
	return a->kind == b->kind && a->major == b->major && a->minor == b->minor &&
	       a->port == b->port && !g_strcmp0(a->path, b->path);
}

gboolean rdmad_device_chardevs_equal(const RdmadDevice *a, const RdmadDevice *b)
{
	if (a->n_chardevs != b->n_chardevs)
		return FALSE;
	for (guint i = 0; i < a->n_chardevs; i++)
		if (!chardev_equal(&a->chardevs[i], &b->chardevs[i]))
			return FALSE;
	return TRUE;
}

static gboolean parts_equal(const RdmadDevice *a, const RdmadDevice *b)
{
	if (a->n_ports != b->n_ports || a->n_netdevs != b->n_netdevs)
		return FALSE;
	for (guint i = 0; i < a->n_ports; i++)
		if (!port_equal(&a->ports[i], &b->ports[i]))
			return FALSE;
	for (guint i = 0; i < a->n_netdevs; i++)
		if (!netdev_equal(&a->netdevs[i], &b->netdevs[i]))
			return FALSE;
	return rdmad_device_chardevs_equal(a, b);
}

static gboolean numbers_equal(const RdmadDevice *a, const RdmadDevice *b)
{
	return a->fatal == b->fatal && a->stale == b->stale && a->index == b->index &&
	       a->node_type == b->node_type && a->vendor == b->vendor && a->device == b->device &&
	       a->subsystem_vendor == b->subsystem_vendor &&
	       a->subsystem_device == b->subsystem_device && a->numa_node == b->numa_node &&
	       a->pci_role == b->pci_role && a->vf_index == b->vf_index &&
	       a->num_vfs == b->num_vfs && a->sf_number == b->sf_number &&
	       a->acpi_index == b->acpi_index && a->pf_link == b->pf_link;
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

const char *rdmad_device_netdev_in_pod(const RdmadDevice *dev)
{
	for (guint i = 0; i < dev->n_ports; i++)
		if (dev->ports[i].netdev_in_pod)
			return dev->ports[i].netdev_in_pod;
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

static RdmadGid *gids_copy(const RdmadGid *from, guint n)
{
	RdmadGid *gids = g_new0(RdmadGid, n);

	for (guint i = 0; i < n; i++) {
		gids[i] = from[i];
		gids[i].netdev = g_strdup(from[i].netdev);
	}
	return gids;
}

static RdmadPort *ports_copy(const RdmadPort *from, guint n)
{
	RdmadPort *ports = g_new0(RdmadPort, n);

	for (guint i = 0; i < n; i++) {
		ports[i] = from[i];
		ports[i].rate_text = g_strdup(from[i].rate_text);
		ports[i].netdev = g_strdup(from[i].netdev);
		ports[i].netdev_in_pod = g_strdup(from[i].netdev_in_pod);
		ports[i].gids = gids_copy(from[i].gids, from[i].n_gids);
	}
	return ports;
}

static RdmadNetdev *netdevs_copy(const RdmadNetdev *from, guint n)
{
	RdmadNetdev *netdevs = g_new0(RdmadNetdev, n);

	for (guint i = 0; i < n; i++) {
		netdevs[i] = from[i];
		netdevs[i].name = g_strdup(from[i].name);
		netdevs[i].mac = g_strdup(from[i].mac);
		netdevs[i].operstate = g_strdup(from[i].operstate);
		netdevs[i].master = g_strdup(from[i].master);
		netdevs[i].addresses = g_strdupv(from[i].addresses);
	}
	return netdevs;
}

static RdmadChardev *chardevs_copy(const RdmadChardev *from, guint n)
{
	RdmadChardev *chardevs = g_new0(RdmadChardev, n);

	for (guint i = 0; i < n; i++) {
		chardevs[i] = from[i];
		chardevs[i].path = g_strdup(from[i].path);
	}
	return chardevs;
}

RdmadDevice *rdmad_device_copy(const RdmadDevice *from)
{
	RdmadDevice *dev = g_memdup2(from, sizeof(*from));

	dev->refs = 1;
	for (guint i = 0; i < G_N_ELEMENTS(device_strings); i++)
		*(char **)G_STRUCT_MEMBER_P(dev, device_strings[i]) =
			g_strdup(string_at(from, device_strings[i]));
	dev->pci_path = g_strdupv(from->pci_path);
	dev->pf_netdevs = g_strdupv(from->pf_netdevs);
	dev->ports = ports_copy(from->ports, from->n_ports);
	dev->netdevs = netdevs_copy(from->netdevs, from->n_netdevs);
	dev->chardevs = chardevs_copy(from->chardevs, from->n_chardevs);
	dev->problems = g_strdupv(from->problems);
	return dev;
}
