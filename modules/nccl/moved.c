/* SPDX-License-Identifier: Apache-2.0 */
#include "moved.h"

#include <rdmad/log.h>
#include <rdmad/state.h>
#include <stdio.h>
#include <string.h>

#define PORTS_MAX 255u

static const char *const migrations[] = {
	"CREATE TABLE module_nccl_moved ("
	"  id TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL, node_type INTEGER NOT NULL,"
	"  driver TEXT, pci_address TEXT, pci_path TEXT, numa_node INTEGER NOT NULL,"
	"  ports TEXT NOT NULL" /* number, link layer and state, one a line */
	") STRICT, WITHOUT ROWID",
	NULL,
};

struct NcclMoved {
	RdmadTables *tables;
	RdmadAllocations *allocations;
	GPtrArray *devices; /* of RdmadDevice */
};

/* ---- devices ---- */

RdmadDevice *nccl_moved_device_new(const char *id, const char *name)
{
	RdmadDevice *device = g_new0(RdmadDevice, 1);

	device->refs = 1;
	device->id = g_strdup(id);
	device->name = g_strdup(name);
	device->index = RDMAD_UNKNOWN;
	device->node_type = RDMAD_NODE_CA;
	device->numa_node = RDMAD_UNKNOWN;
	device->problems = g_new0(char *, 1);
	return device;
}

static void device_add_port(RdmadDevice *device, guint number, RdmadLinkLayer link_layer, int state)
{
	device->ports = g_renew(RdmadPort, device->ports, device->n_ports + 1);
	device->ports[device->n_ports++] = (RdmadPort){ .number = number,
							.link_layer = link_layer,
							.state = state,
							.phys_state = RDMAD_UNKNOWN,
							.pkey0 = RDMAD_UNKNOWN };
}

RdmadDevice *nccl_moved_device_copy(const RdmadDevice *device)
{
	RdmadDevice *copy = nccl_moved_device_new(device->id, device->name);

	copy->node_type = device->node_type;
	copy->driver = g_strdup(device->driver);
	copy->pci_address = g_strdup(device->pci_address);
	copy->pci_path = g_strdupv(device->pci_path);
	copy->numa_node = device->numa_node;
	for (guint i = 0; i < device->n_ports; i++)
		device_add_port(copy, device->ports[i].number, device->ports[i].link_layer,
				device->ports[i].state);
	return copy;
}

/* ---- rows ---- */

static char *ports_text(const RdmadDevice *device)
{
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < device->n_ports; i++)
		g_string_append_printf(text, "%u %u %d\n", device->ports[i].number,
				       (guint)device->ports[i].link_layer, device->ports[i].state);
	return g_string_free(text, FALSE);
}

static void ports_parse(RdmadDevice *device, const char *text)
{
	guint number, link_layer;
	int state, size;

	while (device->n_ports < PORTS_MAX &&
	       sscanf(text, "%u %u %d\n%n", &number, &link_layer, &state, &size) == 3) {
		device_add_port(device, number,
				link_layer <= RDMAD_LINK_LAYER_ETHERNET ? link_layer
									: RDMAD_LINK_LAYER_UNKNOWN,
				state);
		text += size;
	}
}

static gboolean row_put(RdmadTables *tables, gpointer data, GError **error)
{
	const RdmadDevice *device = data;
	g_autofree char *path = device->pci_path ? g_strjoinv("/", device->pci_path) : NULL;
	g_autofree char *ports = ports_text(device);

	return rdmad_tables_run(
		tables,
		"INSERT OR REPLACE INTO module_nccl_moved (id, name, node_type, driver,"
		" pci_address, pci_path, numa_node, ports) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
		RDMAD_VALUES(RDMAD_TEXT(device->id), RDMAD_TEXT(device->name),
			     RDMAD_INT(device->node_type), RDMAD_TEXT(device->driver),
			     RDMAD_TEXT(device->pci_address), RDMAD_TEXT(path),
			     RDMAD_INT(device->numa_node), RDMAD_TEXT(ports)),
		error);
}

static gboolean row_read(const RdmadRow *row, gpointer data, GError **error)
{
	NcclMoved *moved = data;
	const char *path = rdmad_row_text(row, 5);
	RdmadDevice *device = nccl_moved_device_new(rdmad_row_text(row, 0), rdmad_row_text(row, 1));

	device->node_type = (RdmadNodeType)rdmad_row_int(row, 2);
	device->driver = g_strdup(rdmad_row_text(row, 3));
	device->pci_address = g_strdup(rdmad_row_text(row, 4));
	device->pci_path = path ? g_strsplit(path, "/", -1) : NULL;
	device->numa_node = (int)rdmad_row_int(row, 6);
	ports_parse(device, rdmad_row_text(row, 7));
	g_ptr_array_add(moved->devices, device);
	return TRUE;
}

static gboolean all_put(RdmadTables *tables, gpointer data, GError **error)
{
	const NcclMoved *moved = data;

	if (!rdmad_tables_run(tables, "DELETE FROM module_nccl_moved", NULL, 0, error))
		return FALSE;
	for (guint i = 0; i < moved->devices->len; i++)
		if (!row_put(tables, moved->devices->pdata[i], error))
			return FALSE;
	return TRUE;
}

static const RdmadTablesClass tables_class = {
	.name = "nccl",
	.migrations = migrations,
	.rewrite = all_put,
};

/* ---- the table ---- */

static gboolean device_is_held(const NcclMoved *moved, const char *id)
{
	return rdmad_allocations_find_holder(moved->allocations, id, RDMAD_HOLD_ANY, NULL, NULL) !=
	       NULL;
}

/* Without the disk, the devices are known until rdmad ends. */
static void moved_write(NcclMoved *moved)
{
	g_autoptr(GError) error = NULL;

	if (!rdmad_tables_write_for_boot(moved->tables, all_put, moved, &error))
		rdmad_warn("devices of pods are not written: %s", error->message);
}

/* Returns whether there was such a device. */
static gboolean moved_remove(NcclMoved *moved, const char *id)
{
	for (guint i = 0; i < moved->devices->len; i++) {
		const RdmadDevice *device = moved->devices->pdata[i];

		if (g_str_equal(device->id, id)) {
			g_ptr_array_remove_index(moved->devices, i);
			return TRUE;
		}
	}
	return FALSE;
}

void nccl_moved_keep(NcclMoved *moved, const RdmadDevice *device)
{
	if (!device_is_held(moved, device->id))
		return;
	moved_remove(moved, device->id);
	g_ptr_array_add(moved->devices, nccl_moved_device_copy(device));
	moved_write(moved);
}

void nccl_moved_prune(NcclMoved *moved)
{
	const guint before = moved->devices->len;

	for (guint i = before; i-- > 0;) {
		const RdmadDevice *device = moved->devices->pdata[i];

		if (!device_is_held(moved, device->id))
			g_ptr_array_remove_index(moved->devices, i);
	}
	if (moved->devices->len < before)
		moved_write(moved);
}

const RdmadDevice *nccl_moved_find(const NcclMoved *moved, const RdmadAllocation *allocation,
				   const char *name)
{
	for (guint i = 0; i < moved->devices->len; i++) {
		const RdmadDevice *device = moved->devices->pdata[i];

		if (g_str_equal(device->name, name) &&
		    rdmad_allocation_has_device(allocation, device->id))
			return device;
	}
	return NULL;
}

NcclMoved *nccl_moved_open(RdmadModule *self, RdmadState *state, RdmadAllocations *allocations,
			   GError **error)
{
	NcclMoved *moved = g_new0(NcclMoved, 1);

	moved->allocations = allocations;
	moved->devices = g_ptr_array_new_with_free_func((GDestroyNotify)rdmad_device_unref);
	moved->tables = rdmad_tables_open(state, self, &tables_class, moved, error);
	if (moved->tables &&
	    rdmad_tables_read(moved->tables,
			      "SELECT id, name, node_type, driver, pci_address, pci_path,"
			      " numa_node, ports FROM module_nccl_moved ORDER BY id",
			      NULL, 0, row_read, moved, error)) {
		nccl_moved_prune(moved);
		return moved;
	}
	nccl_moved_close(moved);
	return NULL;
}

void nccl_moved_close(NcclMoved *moved)
{
	rdmad_tables_close(moved->tables);
	g_ptr_array_unref(moved->devices);
	g_free(moved);
}
