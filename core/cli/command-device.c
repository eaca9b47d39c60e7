/* SPDX-License-Identifier: Apache-2.0 */
/* rdmad devices NAME: the details of one device */
#include <stdarg.h>
#include <string.h>

#include "cli/command.h"
#include "base/terminal.h"
#include "cli/table.h"

#define LABEL_WIDTH 16

/* Omits unknown values. */
static void write_line(GString *out, const char *label, const char *text)
{
	g_autofree char *escaped = text && *text ? rdmad_text_escape(text) : NULL;

	if (escaped)
		g_string_append_printf(out, "  %-*s%s\n", LABEL_WIDTH, label, escaped);
}

static void write_title(GString *out, const char *what, const char *name)
{
	g_autofree char *escaped = rdmad_text_escape(name ?: "?");

	g_string_append_printf(out, "%s%s\n", what, escaped);
}

/* "0x15b3:0x1021" */
static char *format_pair(const json_t *object, const char *first, const char *second)
{
	const char *a = format_text(object, first), *b = format_text(object, second);

	return a && b ? g_strconcat(a, ":", b, NULL) : NULL;
}

static char *format_function(const json_t *device)
{
	const char *role = format_text(device, "pci_role"), *pf = format_text(device, "pf_address");
	g_autofree char *vf = format_number(device, "vf_index");
	g_autofree char *vfs = format_number(device, "num_vfs");

	if (g_strcmp0(role, "vf") == 0)
		return g_strdup_printf("virtual function %s of %s", vf ?: "?", pf ?: "?");
	if (g_strcmp0(role, "pf") == 0)
		return g_strdup_printf("physical function, %s virtual", vfs ?: "no");
	return NULL;
}

static char *format_nearest(const json_t *device)
{
	const json_t *gpu = json_object_get(device, "nearest_gpu");
	g_autofree char *index = format_number(gpu, "index");

	if (!index)
		return NULL;
	return g_strdup_printf("GPU%s at %s (%s)", index, format_text(gpu, "pci_address") ?: "?",
			       format_text(gpu, "distance") ?: "?");
}

/* "in the pod of allocation 96c92e877b661587 since 2026-01-31T12:00:00Z"; NULL: on the host */
static char *format_place(const json_t *device)
{
	const char *allocation = format_text(device, "place_allocation");

	if (!allocation)
		return NULL;
	return g_strdup_printf("in the pod of allocation %s since %s", allocation,
			       format_text(device, "place_since") ?: "?");
}

/* "unhealthy: no port of it is active", "healthy, at rest: its interface is not set up" */
static char *format_health(const json_t *device)
{
	const char *problem = format_text(device, "health_reason");
	const char *rest = format_text(device, "rest_reason");

	return g_strconcat(format_text(device, "health") ?: "",
			   problem ? ": "
			   : rest  ? ", at rest: "
				   : NULL,
			   problem ?: rest, NULL);
}

/* "switch-management: it manages the NVSwitches of its board" */
static char *format_role(const json_t *device)
{
	const char *reason = format_text(device, "role_reason");

	return g_strconcat(format_text(device, "role") ?: "", reason ? ": " : NULL, reason, NULL);
}

static void write_identity(const json_t *device, GString *out)
{
	g_autofree char *ids = format_pair(device, "vendor", "pci_device_id");
	g_autofree char *subsystem = format_pair(device, "subsystem_vendor", "subsystem_device");
	g_autofree char *path = format_list(json_object_get(device, "pci_path"), " / ");
	g_autofree char *numa = format_number(device, "numa_node");
	g_autofree char *function = format_function(device), *nearest = format_nearest(device);
	g_autofree char *health = format_health(device), *role = format_role(device);
	g_autofree char *place = format_place(device);

	write_line(out, "id", format_text(device, "device_id"));
	write_line(out, "node type", format_text(device, "node_type"));
	write_line(out, "role", role);
	write_line(out, "transport", format_text(device, "transport"));
	write_line(out, "driver", format_text(device, "driver"));
	write_line(out, "firmware", format_text(device, "firmware"));
	write_line(out, "board", format_text(device, "board_id"));
	write_line(out, "HCA type", format_text(device, "hca_type"));
	write_line(out, "node GUID", format_text(device, "node_guid"));
	write_line(out, "system GUID", format_text(device, "sys_image_guid"));
	write_line(out, "PCI address", format_text(device, "pci_address"));
	write_line(out, "PCI id", ids);
	write_line(out, "subsystem id", subsystem);
	write_line(out, "function", function);
	write_line(out, "auxiliary", format_text(device, "aux_name"));
	write_line(out, "PCI path", path);
	write_line(out, "NUMA node", numa);
	write_line(out, "nearest GPU", nearest);
	write_line(out, "place", place);
	write_line(out, "health", health);
}

static void write_chardevs(const json_t *device, GString *out)
{
	const json_t *chardev;
	size_t i;

	json_array_foreach(json_object_get(device, "chardevs"), i, chardev)
		write_line(out, format_text(chardev, "kind") ?: "?", format_text(chardev, "path"));
}

static void write_netdev(const json_t *netdev, GString *out)
{
	g_autofree char *mtu = format_number(netdev, "mtu");
	g_autofree char *addresses = format_list(json_object_get(netdev, "addresses"), ", ");

	write_title(out, "\ninterface ", format_text(netdev, "name"));
	write_line(out, "MAC", format_text(netdev, "mac"));
	write_line(out, "MTU", mtu);
	write_line(out, "state", format_text(netdev, "operstate"));
	write_line(out, "master", format_text(netdev, "master"));
	write_line(out, "addresses", addresses);
}

static void write_gids(const json_t *gids, GString *out)
{
	static const char *const headers[] = { "INDEX", "GID", "TYPE", "NETDEV", NULL };
	g_autoptr(RdmadTable) table = rdmad_table_new(headers);
	const json_t *gid;
	size_t i;

	json_array_foreach(gids, i, gid)
	{
		g_autofree char *index = format_number(gid, "index");

		rdmad_table_add(table, index, format_text(gid, "gid"), format_text(gid, "type"),
				format_text(gid, "netdev"));
	}
	if (json_array_size(gids))
		rdmad_table_write(table, &rdmad_table_plain, "  ", out);
}

/* "65536, each of 4096 CQEs"; `each` may be NULL. */
static void write_limit(GString *out, const char *label, const json_t *limits, const char *key,
			const char *each)
{
	g_autofree char *count = format_number(limits, key);
	g_autofree char *text =
		count ? g_strconcat(count, each ? ", each of " : NULL, each, NULL) : NULL;

	write_line(out, label, text);
}

/* The size is a string, because JSON numbers have 63 bits.  Drivers report all ones for no
 * limit. */
static char *format_region(const json_t *limits)
{
	const char *text = format_text(limits, "max_mr_size");
	const guint64 size = text ? g_ascii_strtoull(text, NULL, 0) : 0;

	return size == G_MAXUINT64 ? g_strdup("any size") : size ? format_bytes(size) : NULL;
}

static void write_limits(const json_t *limits, GString *out)
{
	g_autofree char *wrs = format_number(limits, "max_qp_wr");
	g_autofree char *sges = format_number(limits, "max_sge");
	g_autofree char *cqes = format_number(limits, "max_cqe");
	g_autofree char *pair = g_strdup_printf("%s WRs of %s SGEs", wrs ?: "?", sges ?: "?");
	g_autofree char *queue = g_strdup_printf("%s CQEs", cqes ?: "?");
	g_autofree char *region = format_region(limits);

	if (!json_is_object(limits))
		return;
	g_string_append(out, "\nlimits\n");
	write_limit(out, "QPs", limits, "max_qp", pair);
	write_limit(out, "CQs", limits, "max_cq", queue);
	write_limit(out, "SRQs", limits, "max_srq", NULL);
	write_limit(out, "MRs", limits, "max_mr", region);
	write_limit(out, "PDs", limits, "max_pd", NULL);
	write_limit(out, "AHs", limits, "max_ah", NULL);
	write_line(out, "page sizes", format_text(limits, "page_size_cap"));
	write_line(out, "atomics", format_text(limits, "atomic_cap"));
	write_line(out, "paging", format_text(limits, "paging"));
}

static void write_port_limits(const json_t *limits, GString *out)
{
	const json_int_t size = json_integer_value(json_object_get(limits, "max_msg_sz"));
	g_autofree char *message = size > 0 ? format_bytes((guint64)size) : NULL;
	g_autofree char *mtu = format_number(limits, "max_mtu");

	write_line(out, "largest MTU", mtu);
	write_line(out, "largest message", message);
	write_limit(out, "GID entries", limits, "gid_tbl_len", NULL);
}

/* Returns "3, the last 2026-01-02T03:04:05.678Z", or NULL if the port has not changed. */
static char *format_changes(const json_t *port)
{
	g_autofree char *count = format_number(port, "transitions");
	const char *last = format_text(port, "last_state_change");

	return count && last ? g_strdup_printf("%s, the last %s", count, last) : NULL;
}

static void write_port(const json_t *port, GString *out)
{
	g_autofree char *number = format_number(port, "number");
	g_autofree char *lid = format_number(port, "lid"), *sm = format_number(port, "sm_lid");
	g_autofree char *changes = format_changes(port);

	g_string_append_printf(out, "\nport %s\n", number ?: "?");
	write_line(out, "link layer", format_text(port, "link_layer"));
	write_line(out, "state", format_text(port, "state"));
	write_line(out, "physical state", format_text(port, "phys_state"));
	write_line(out, "rate", format_text(port, "rate_text"));
	write_line(out, "state changes", changes);
	write_line(out, "interface", format_text(port, "netdev"));
	if (g_strcmp0(format_text(port, "link_layer"), "infiniband") == 0) {
		write_line(out, "LID", lid);
		write_line(out, "SM LID", sm);
		write_line(out, "default P_Key", format_text(port, "pkey0"));
	}
	write_port_limits(json_object_get(port, "limits"), out);
	write_gids(json_object_get(port, "gids"), out);
}

static void write_problems(const json_t *device, GString *out)
{
	const json_t *problem;
	size_t i;

	if (json_is_true(json_object_get(device, "stale")))
		write_line(out, "stale", "it cannot be read; the values are from before");
	if (json_is_true(json_object_get(device, "fatal")))
		write_line(out, "fatal error", "its driver gave it up");
	write_line(out, "no events", format_text(device, "verbs_problem"));
	json_array_foreach(json_object_get(device, "problems"), i, problem)
		write_line(out, "problem", json_string_value(problem));
}

void device_write(const json_t *device, GString *out)
{
	const json_t *part;
	size_t i;

	write_title(out, "", format_text(device, "device_name"));
	write_identity(device, out);
	write_chardevs(device, out);
	write_problems(device, out);
	write_limits(json_object_get(device, "limits"), out);
	json_array_foreach(json_object_get(device, "ports"), i, part) write_port(part, out);
	json_array_foreach(json_object_get(device, "netdevs"), i, part) write_netdev(part, out);
}
