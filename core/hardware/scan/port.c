/* SPDX-License-Identifier: Apache-2.0 */
/* Scans ports and their GID tables */
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <string.h>

#include "hardware/scan/parts.h"
#include "hardware/scan/value.h"
#include "hardware/device.h"
#include "hardware/sysroot.h"

#define FIELD(member) G_STRUCT_OFFSET(RdmadPort, member)

static gboolean parse_rate(const char *text, gpointer member)
{
	RdmadPort *port = member;

	return rdmad_sysfs_rate(text, &port->rate_mbps) && rdmad_sysfs_text(text, &port->rate_text);
}

static const RdmadAttr port_attrs[] = {
	{ "link_layer", RDMAD_ATTR_REQUIRED, rdmad_sysfs_link_layer, FIELD(link_layer) },
	{ "state", RDMAD_ATTR_REQUIRED, rdmad_sysfs_port_state, FIELD(state) },
	{ "phys_state", RDMAD_ATTR_REQUIRED, rdmad_sysfs_phys_state, FIELD(phys_state) },
	/* EINVAL: the width is not known, as with an empty cage. */
	{ "rate", RDMAD_ATTR_VALUE, parse_rate, 0 },
	{ "lid", RDMAD_ATTR_OPTIONAL, rdmad_sysfs_hex16, FIELD(lid) },
	{ "sm_lid", RDMAD_ATTR_OPTIONAL, rdmad_sysfs_hex16, FIELD(sm_lid) },
	/* A port without InfiniBand management (iWARP) has no P_Keys. */
	{ "pkeys/0", RDMAD_ATTR_QUIET, rdmad_sysfs_hex16, FIELD(pkey0) },
};

#define ROCE_V1 "IB/RoCE v1"
#define ROCE_V2 "RoCE v2"

/* "IB/RoCE v1" is either IB or RoCE v1; it is meaningless for iWARP and for other link layers. */
static RdmadGidType gid_type(const char *text, RdmadLinkLayer layer, RdmadNodeType node)
{
	if (layer == RDMAD_LINK_LAYER_INFINIBAND)
		return RDMAD_GID_IB;
	if (layer != RDMAD_LINK_LAYER_ETHERNET || node == RDMAD_NODE_RNIC || !text)
		return RDMAD_GID_UNKNOWN;
	if (!strcmp(text, ROCE_V2))
		return RDMAD_GID_ROCE_V2;
	return !strcmp(text, ROCE_V1) ? RDMAD_GID_ROCE_V1 : RDMAD_GID_UNKNOWN;
}

static gboolean gid_is_empty(const guint8 raw[16])
{
	static const guint8 zero[16];

	return !memcmp(raw, zero, sizeof(zero));
}

/* The GID table of a port while it is read. */
typedef struct {
	const RdmadAttrDir *dir;
	const RdmadPort *port;
	GArray *gids;
	int types, netdevs; /* directories below gid_attrs; -1: missing */
} GidTable;

/* Ignores EINVAL: the entry was cleared meanwhile, or has no interface. */
static gboolean read_gid_attr(const GidTable *table, int dir, const char *index,
			      char text[RDMAD_SYSROOT_ATTRIBUTE_SIZE])
{
	return dir >= 0 && rdmad_sysroot_read_attribute(dir, table->dir->path, index, text, NULL);
}

static char *read_gid_netdev(const GidTable *table, const char *index)
{
	char name[RDMAD_SYSROOT_ATTRIBUTE_SIZE];

	if (!read_gid_attr(table, table->netdevs, index, name) || !rdmad_sysfs_is_netdev_name(name))
		return NULL;
	return g_strdup(name);
}

/* `type` is the text of sysfs, or NULL; `name` is the index as text. */
static void add_gid(GidTable *table, const char *name, guint index, const guint8 raw[16],
		    const char *type)
{
	RdmadGid gid = {
		.index = index,
		.type = gid_type(type, table->port->link_layer, table->dir->dev->node_type),
	};

	memcpy(gid.raw, raw, sizeof(gid.raw));
	if (table->port->link_layer != RDMAD_LINK_LAYER_INFINIBAND)
		gid.netdev = read_gid_netdev(table, name);
	g_array_append_val(table->gids, gid);
}

static void take_used_gid(GidTable *table, const char *name, guint index, const guint8 raw[16])
{
	char type[RDMAD_SYSROOT_ATTRIBUTE_SIZE];
	const gboolean known = read_gid_attr(table, table->types, name, type);

	add_gid(table, name, index, raw, known ? type : NULL);
}

#define EMPTY_GID "0000:0000:0000:0000:0000:0000:0000:0000"

/* Most entries of a table are empty, and are not parsed. */
static void take_gid(const char *name, const char *value, const GError *error, gpointer data)
{
	GidTable *table = data;
	guint8 raw[16];
	int index;

	if (value && !strcmp(value, EMPTY_GID))
		return;
	if (!rdmad_sysfs_int(name, &index) || index < 0 || table->gids->len == RDMAD_SCAN_MAX_GIDS)
		return;
	if (!value)
		rdmad_attr_problem(table->dir, error);
	else if (!rdmad_sysfs_gid(value, raw))
		rdmad_device_add_problem(table->dir->dev, "%sgids/%s: not understood: \"%.64s\"",
					 table->dir->label, name, value);
	else if (!gid_is_empty(raw))
		take_used_gid(table, name, (guint)index, raw);
}

static void read_gid_files(GidTable *table)
{
	const RdmadAttrDir *dir = table->dir;
	g_autoptr(GError) error = NULL;

	if (!rdmad_sysroot_read_dir_at(dir->fd, dir->path, "gids", take_gid, table, &error))
		rdmad_attr_problem(dir, error);
}

/* `gids` has the RdmadKnownGid of all ports. */
static void take_known_gids(GidTable *table, const GArray *gids)
{
	for (guint i = 0; i < gids->len && table->gids->len < RDMAD_SCAN_MAX_GIDS; i++) {
		const RdmadKnownGid *gid = &g_array_index(gids, RdmadKnownGid, i);
		char name[16];

		if (gid->port != table->port->number || gid_is_empty(gid->raw))
			continue;
		g_snprintf(name, sizeof(name), "%u", gid->index);
		add_gid(table, name, gid->index, gid->raw, gid->v2 ? ROCE_V2 : ROCE_V1);
	}
}

/* `known` is an array of RdmadKnownGid, or NULL. */
static void read_gids(const RdmadAttrDir *dir, RdmadPort *port, const GArray *known)
{
	g_autoptr(GArray) gids = g_array_new(FALSE, FALSE, sizeof(RdmadGid));
	rdmad_autofd int attrs = rdmad_sysroot_open_dir_at(dir->fd, "gid_attrs");
	rdmad_autofd int types = known ? -1 : rdmad_sysroot_open_dir_at(attrs, "types");
	rdmad_autofd int netdevs = rdmad_sysroot_open_dir_at(attrs, "ndevs");
	GidTable table = { dir, port, gids, types, netdevs };

	if (known)
		take_known_gids(&table, known);
	else
		read_gid_files(&table);
	port->n_gids = gids->len;
	port->gids = (RdmadGid *)(void *)g_array_free(g_steal_pointer(&gids), FALSE);
}

/* `ports` is the directory of all ports. */
static void read_port(const RdmadAttrDir *dir, int ports, RdmadPort *port, const char *name,
		      int number, const GArray *gids)
{
	g_autofree char *path = g_strconcat(dir->path, "/ports/", name, NULL);
	g_autofree char *label = g_strconcat("ports/", name, "/", NULL);
	rdmad_autofd int fd = rdmad_sysroot_open_dir_at(ports, name);
	const RdmadAttrDir port_dir = { dir->root, dir->dev, path, label, fd };

	*port = (RdmadPort){
		.number = (guint)number,
		.state = RDMAD_UNKNOWN,
		.phys_state = RDMAD_UNKNOWN,
		.rate_mbps = RDMAD_UNKNOWN,
		.pkey0 = RDMAD_UNKNOWN,
	};
	rdmad_attrs_read(&port_dir, port_attrs, G_N_ELEMENTS(port_attrs), port);
	if (fd >= 0) /* else the attributes have reported it */
		read_gids(&port_dir, port, gids);
}

void rdmad_scan_ports(const RdmadAttrDir *dir, const GArray *gids)
{
	g_autoptr(GError) error = NULL;
	g_auto(GStrv) names = rdmad_sysroot_list_at(dir->fd, dir->path, "ports", &error);
	rdmad_autofd int ports = names ? rdmad_sysroot_open_dir_at(dir->fd, "ports") : -1;
	RdmadDevice *dev = dir->dev;
	int number;

	if (!names) {
		rdmad_attr_problem(dir, error);
		return;
	}
	dev->ports = g_new0(RdmadPort, MIN(g_strv_length(names), RDMAD_SCAN_MAX_PORTS));
	for (guint i = 0; names[i] && dev->n_ports < RDMAD_SCAN_MAX_PORTS; i++)
		if (rdmad_sysfs_int(names[i], &number) && number > 0 && number <= 255)
			read_port(dir, ports, &dev->ports[dev->n_ports++], names[i], number, gids);
}
