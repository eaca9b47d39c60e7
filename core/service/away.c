/* SPDX-License-Identifier: Apache-2.0 */
#define RDMAD_LOG_TOPIC "inventory"

#include "service/inventory-private.h"

#include <errno.h>
#include <fcntl.h>
#include <rdmad/allocations.h>
#include <rdmad/clock.h>
#include <rdmad/device.h>
#include <rdmad/fd.h>
#include <rdmad/log.h>
#include <stdio.h>
#include <string.h>

#include "hardware/device.h"
#include "hardware/scan/scan.h"

#define PORTS_MAX 255u

static const char *const migrations[] = {
	"CREATE TABLE module_inventory_away ("
	"  id TEXT NOT NULL PRIMARY KEY, allocation TEXT NOT NULL, since_us INTEGER NOT NULL,"
	"  is_whole INTEGER NOT NULL," /* 0: only interfaces are away */
	"  name TEXT NOT NULL, node_type INTEGER NOT NULL, pci_address TEXT, aux_name TEXT,"
	"  ports TEXT NOT NULL,"  /* number, link layer, state and interface or "-", one a line */
	"  netdevs TEXT NOT NULL" /* one a line */
	") STRICT, WITHOUT ROWID",
	NULL,
};

typedef struct {
	RdmadAwayDevice public;
	gboolean is_whole;
} Entry;

struct RdmadAwayTable {
	RdmadTables *tables;
	RdmadAllocations *allocations;
	const RdmadSysroot *sysroot;
	GHashTable *entries; /* id -> Entry */
};

static void entry_free(gpointer data)
{
	Entry *entry = data;

	rdmad_device_unref(entry->public.device);
	g_free(entry->public.allocation);
	g_free(entry);
}

/* ---- rows ---- */

static char *ports_text(const RdmadDevice *device)
{
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < device->n_ports; i++) {
		const RdmadPort *port = &device->ports[i];

		g_string_append_printf(text, "%u %u %d %s\n", port->number, (guint)port->link_layer,
				       port->state, port->netdev ?: port->netdev_in_pod ?: "-");
	}
	return g_string_free(text, FALSE);
}

/* Returns FALSE if the line is not of ports_text(). */
static gboolean port_parse(RdmadDevice *device, const char *line)
{
	g_auto(GStrv) words = g_strsplit(line, " ", 4);
	guint number, link_layer;
	int state;

	if (g_strv_length(words) < 4 ||
	    sscanf(line, "%u %u %d ", &number, &link_layer, &state) != 3 ||
	    link_layer > RDMAD_LINK_LAYER_ETHERNET || device->n_ports == PORTS_MAX)
		return FALSE;
	device->ports = g_renew(RdmadPort, device->ports, device->n_ports + 1);
	device->ports[device->n_ports++] = (RdmadPort){
		.number = number,
		.link_layer = (RdmadLinkLayer)link_layer,
		.state = state,
		.phys_state = RDMAD_UNKNOWN,
		.pkey0 = RDMAD_UNKNOWN,
		.netdev = g_str_equal(words[3], "-") ? NULL : g_strdup(words[3]),
	};
	return TRUE;
}

static void ports_parse(RdmadDevice *device, const char *text)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", PORTS_MAX + 1);

	for (char **line = lines; *line && **line; line++)
		if (!port_parse(device, *line))
			rdmad_warn("%s: invalid port \"%.80s\" in the database", device->id, *line);
}

static char *netdevs_text(const RdmadDevice *device)
{
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < device->n_netdevs; i++)
		g_string_append_printf(text, "%s\n", device->netdevs[i].name);
	return g_string_free(text, FALSE);
}

static void netdevs_parse(RdmadDevice *device, const char *text)
{
	g_auto(GStrv) names = g_strsplit(text, "\n", -1);

	device->netdevs = g_new0(RdmadNetdev, g_strv_length(names));
	for (char **name = names; *name && **name; name++)
		rdmad_netdev_init(&device->netdevs[device->n_netdevs++], *name);
}

static gboolean row_put(RdmadTables *tables, const Entry *entry, GError **error)
{
	const RdmadDevice *device = entry->public.device;
	g_autofree char *ports = ports_text(device), *netdevs = netdevs_text(device);

	return rdmad_tables_run(
		tables,
		"INSERT INTO module_inventory_away (id, allocation, since_us,"
		" is_whole, name, node_type, pci_address, aux_name, ports, netdevs)"
		" VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
		RDMAD_VALUES(RDMAD_TEXT(device->id), RDMAD_TEXT(entry->public.allocation),
			     RDMAD_INT(entry->public.since_us), RDMAD_INT(entry->is_whole),
			     RDMAD_TEXT(device->name), RDMAD_INT(device->node_type),
			     RDMAD_TEXT(device->pci_address), RDMAD_TEXT(device->aux_name),
			     RDMAD_TEXT(ports), RDMAD_TEXT(netdevs)),
		error);
}

static void entry_add(RdmadAwayTable *away, const RdmadDevice *device, const char *allocation,
		      gint64 since_us, gboolean is_whole)
{
	Entry *entry = g_new(Entry, 1);

	*entry = (Entry){ { device, g_strdup(allocation), since_us }, is_whole };
	g_hash_table_replace(away->entries, g_strdup(device->id), entry);
}

/* The function has the rest. */
static gboolean row_read(const RdmadRow *row, gpointer data, GError **error)
{
	RdmadAwayTable *away = data;
	RdmadDevice *device = rdmad_device_new(rdmad_row_text(row, 0), rdmad_row_text(row, 4));

	device->node_type = (RdmadNodeType)rdmad_row_int(row, 5);
	device->pci_address = g_strdup(rdmad_row_text(row, 6));
	device->aux_name = g_strdup(rdmad_row_text(row, 7));
	ports_parse(device, rdmad_row_text(row, 8));
	netdevs_parse(device, rdmad_row_text(row, 9));
	rdmad_scan_function(away->sysroot, device);
	entry_add(away, device, rdmad_row_text(row, 1), rdmad_row_int(row, 2),
		  rdmad_row_int(row, 3) != 0);
	return TRUE;
}

static gboolean all_put(RdmadTables *tables, gpointer data, GError **error)
{
	const RdmadAwayTable *away = data;
	GHashTableIter iter;
	gpointer entry;

	if (!rdmad_tables_run(tables, "DELETE FROM module_inventory_away", NULL, 0, error))
		return FALSE;
	g_hash_table_iter_init(&iter, away->entries);
	while (g_hash_table_iter_next(&iter, NULL, &entry))
		if (!row_put(tables, entry, error))
			return FALSE;
	return TRUE;
}

static const RdmadTablesClass tables_class = {
	.name = "inventory",
	.migrations = migrations,
	.rewrite = all_put,
};

/* Without the disk, the devices are known until rdmad ends. */
static void away_write(RdmadAwayTable *away)
{
	g_autoptr(GError) error = NULL;

	if (!rdmad_tables_write_for_boot(away->tables, all_put, away, &error))
		rdmad_warn("devices in pods are not written: %s", error->message);
}

/* ---- holders and functions ---- */

static gboolean may_move(const RdmadAllocation *allocation, gpointer data)
{
	const char *id = data;

	if (!rdmad_allocation_may_move(allocation))
		return FALSE;
	/* Exposed devices stay. */
	for (guint i = 0; allocation->slots[i]; i++)
		if (g_str_equal(allocation->devices[i], id))
			return TRUE;
	return FALSE;
}

static const RdmadAllocation *mover_of(const RdmadAwayTable *away, const char *id)
{
	return rdmad_allocations_find_holder(away->allocations, id, RDMAD_HOLD_ANY, may_move,
					     (gpointer)id);
}

/* PCI functions are in no namespace, unlike RDMA devices.  Without its driver a function has no
 * RDMA device anywhere. */
static gboolean function_is_here(const RdmadAwayTable *away, const RdmadDevice *device)
{
	g_autofree char *driver = NULL;
	rdmad_autofd int fd = -1;

	if (!device->pci_address)
		return FALSE;
	driver = device->aux_name ? g_strconcat("sys/bus/auxiliary/devices/", device->aux_name,
						"/driver", NULL)
				  : g_strconcat("sys/bus/pci/devices/", device->pci_address,
						"/driver", NULL);
	fd = rdmad_sysroot_open(away->sysroot, driver, O_PATH | O_NOFOLLOW, NULL);
	return fd >= 0 || (errno != ENOENT && errno != ENOTDIR);
}

/* ---- scans ---- */

static const char *id_at(const GPtrArray *devices, guint index)
{
	return ((const RdmadDevice *)devices->pdata[index])->id;
}

static const RdmadDevice *device_find(const GPtrArray *devices, const char *id)
{
	for (guint i = 0; i < devices->len; i++)
		if (g_str_equal(id_at(devices, i), id))
			return devices->pdata[i];
	return NULL;
}

/* Returns whether entries were removed.  One of a device that is back, without its interface, is
 * replaced. */
static gboolean entries_end(RdmadAwayTable *away, const GPtrArray *now)
{
	GHashTableIter iter;
	gpointer value;
	gboolean ended = FALSE;

	g_hash_table_iter_init(&iter, away->entries);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		Entry *entry = value;
		const RdmadDevice *device = device_find(now, entry->public.device->id);

		if (device && rdmad_device_netdev_in_pod(device)) {
			ended |= entry->is_whole;
			entry->is_whole = FALSE;
		} else if (device || !entry->is_whole ||
			   !function_is_here(away, entry->public.device)) {
			g_hash_table_iter_remove(&iter);
			ended = TRUE;
		}
	}
	return ended;
}

/* GIDs and addresses are those of a namespace. */
static const RdmadDevice *device_without_network(const RdmadDevice *device)
{
	RdmadDevice *copy = rdmad_device_copy(device);

	for (guint i = 0; i < copy->n_ports; i++)
		rdmad_port_clear_gids(&copy->ports[i]);
	for (guint i = 0; i < copy->n_netdevs; i++) {
		g_strfreev(copy->netdevs[i].addresses);
		copy->netdevs[i].addresses = g_new0(char *, 1);
	}
	return copy;
}

static gboolean entry_begin(RdmadAwayTable *away, const RdmadDevice *device, gboolean is_whole)
{
	const RdmadAllocation *mover = mover_of(away, device->id);

	if (!mover || g_hash_table_contains(away->entries, device->id) ||
	    !function_is_here(away, device))
		return FALSE;
	entry_add(away, device_without_network(device), mover->id, rdmad_wall_us(), is_whole);
	return TRUE;
}

gboolean rdmad_away_scanned(RdmadAwayTable *away, const GPtrArray *before, const GPtrArray *now,
			    gboolean can_move)
{
	gboolean changed = entries_end(away, now);

	/* Most devices are the same in the same order. */
	for (guint b = 0, n = 0; can_move && b < before->len; b++) {
		const RdmadDevice *device = before->pdata[b];

		while (n < now->len && rdmad_natural_compare(id_at(now, n), device->id) < 0)
			n++;
		if (n == now->len || !g_str_equal(id_at(now, n), device->id))
			changed |= entry_begin(away, device, TRUE);
	}
	for (guint i = 0; i < now->len; i++)
		if (rdmad_device_netdev_in_pod(now->pdata[i]))
			changed |= entry_begin(away, now->pdata[i], FALSE);
	if (changed)
		away_write(away);
	return changed;
}

void rdmad_away_set_ports(RdmadAwayTable *away, const RdmadDevice *last, RdmadDevice *now)
{
	const Entry *entry = g_hash_table_lookup(away->entries, now->id);
	const RdmadDevice *known = last;

	if (!known && entry)
		known = entry->public.device;
	for (guint i = 0; known && i < now->n_ports; i++) {
		RdmadPort *port = &now->ports[i];
		const RdmadPort *old = rdmad_device_port(known, port->number);
		const char *name = old ? old->netdev ?: old->netdev_in_pod : NULL;

		/* A device in doubt is a copy of the last one. */
		g_clear_pointer(&port->netdev_in_pod, g_free);
		if (name && !port->netdev && !rdmad_device_netdev(now, name) &&
		    (entry || mover_of(away, now->id)))
			port->netdev_in_pod = g_strdup(name);
	}
}

/* ---- the table ---- */

const RdmadAwayDevice *rdmad_away_find(RdmadAwayTable *away, const char *id)
{
	const Entry *entry = g_hash_table_lookup(away->entries, id);

	return entry && entry->is_whole ? &entry->public : NULL;
}

void rdmad_away_foreach(RdmadAwayTable *away,
			void (*fn)(const RdmadAwayDevice *device, gpointer data), gpointer data)
{
	GHashTableIter iter;
	gpointer value;

	g_hash_table_iter_init(&iter, away->entries);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		const Entry *entry = value;

		if (entry->is_whole)
			fn(&entry->public, data);
	}
}

RdmadAwayTable *rdmad_away_open(RdmadState *state, RdmadAllocations *allocations,
				const RdmadSysroot *sysroot, GError **error)
{
	RdmadAwayTable *away = g_new0(RdmadAwayTable, 1);

	away->allocations = allocations;
	away->sysroot = sysroot;
	away->entries = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, entry_free);
	away->tables = rdmad_tables_open(state, NULL, &tables_class, away, error);
	if (away->tables &&
	    rdmad_tables_read(away->tables,
			      "SELECT id, allocation, since_us, is_whole, name, node_type,"
			      " pci_address, aux_name, ports, netdevs FROM module_inventory_away",
			      NULL, 0, row_read, away, error))
		return away;
	rdmad_away_close(away);
	return NULL;
}

void rdmad_away_close(RdmadAwayTable *away)
{
	if (!away)
		return;
	rdmad_tables_close(away->tables);
	g_hash_table_unref(away->entries);
	g_free(away);
}
