/* SPDX-License-Identifier: Apache-2.0 */
/* rdmad devices: one line per port */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "base/terminal.h"
#include "cli/table.h"

static const char *const headers[] = { "NAME",	"+PCI",	     "+ROLE",  "+DRIVER", "NETDEV",
				       "LINK",	"STATE",     "RATE",   "NUMA",	  "GPU",
				       "+GIDS", "+FIRMWARE", "HEALTH", NULL };

/* Shows only a GPU behind the same PCIe switch. */
static char *format_gpu(const json_t *device)
{
	const json_t *gpu = json_object_get(device, "nearest_gpu");
	const char *distance = format_text(gpu, "distance");
	g_autofree char *index = format_number(gpu, "index");

	if (!distance || !index || (strcmp(distance, "PIX") != 0 && strcmp(distance, "PXB") != 0))
		return NULL;
	return g_strdup_printf("GPU%s %s", index, distance);
}

static const char *port_netdev(const json_t *device, const json_t *port)
{
	const char *name = format_text(port, "netdev") ?: format_text(port, "netdev_in_pod");
	const json_t *netdevs = json_object_get(device, "netdevs");

	/* InfiniBand ports have no interface of their own; IPoIB interfaces belong to the
	 * device. */
	return name ?: format_text(json_array_get(netdevs, 0), "name");
}

/* A NIC at rest is as healthy as one in use, and another device is not used at all. */
static const char *health_word(const json_t *device)
{
	if (format_text(device, "health_reason"))
		return format_text(device, "health");
	if (format_text(device, "role_reason"))
		return format_text(device, "role");
	return format_text(device, "rest_reason") ? "idle" : format_text(device, "health");
}

/* The state of a port in a pod is not known here. */
static const char *state_word(const json_t *device, const json_t *port)
{
	return g_strcmp0(format_text(device, "place"), "pod") == 0 ? "in pod"
								   : format_text(port, "state");
}

static void add_port(RdmadTable *table, const json_t *device, const json_t *port, gboolean many)
{
	g_autofree char *number = format_number(port, "number");
	g_autofree char *rate = format_rate(port, "rate_mbps");
	g_autofree char *numa = format_number(device, "numa_node");
	g_autofree char *gpu = format_gpu(device);
	g_autofree char *gids =
		g_strdup_printf("%zu", json_array_size(json_object_get(port, "gids")));
	g_autofree char *name = g_strconcat(format_text(device, "device_name") ?: "?",
					    many ? "/" : NULL, number, NULL);

	rdmad_table_add(table, name, format_text(device, "pci_address"),
			format_text(device, "role"), format_text(device, "driver"),
			port_netdev(device, port), format_text(device, "transport"),
			state_word(device, port), rate, numa, gpu, gids,
			format_text(device, "firmware"), health_word(device));
}

void devices_write(const json_t *devices, const RdmadTableStyle *style, GString *out)
{
	g_autoptr(RdmadTable) table = rdmad_table_new(headers);
	const json_t *device, *port;
	size_t i, j;

	json_array_foreach(devices, i, device)
	{
		const json_t *ports = json_object_get(device, "ports");

		json_array_foreach(ports, j, port)
			add_port(table, device, port, json_array_size(ports) > 1);
		if (json_array_size(ports) == 0)
			add_port(table, device, NULL, FALSE);
	}
	rdmad_table_write(table, style, "", out);
}

gboolean device_is_called(const json_t *device, const char *name)
{
	return g_strcmp0(format_text(device, "device_name"), name) == 0 ||
	       g_strcmp0(format_text(device, "device_id"), name) == 0;
}

static json_t *find_device(const json_t *devices, const char *name)
{
	g_autoptr(GString) names = g_string_new(NULL);
	json_t *device;
	size_t i;

	json_array_foreach(devices, i, device)
	{
		if (device_is_called(device, name))
			return device;
		g_string_append_printf(names, "%s%s", i ? ", " : "",
				       format_text(device, "device_name") ?: "?");
	}
	rdmad_terminal_error("no RDMA device \"%s\"; there %s %s", name,
			     json_array_size(devices) == 1 ? "is" : "are",
			     names->len ? names->str : "none");
	return NULL;
}

static int show_one(const CommandOptions *options, const json_t *devices)
{
	const json_t *device = find_device(devices, options->argument);
	g_autoptr(GString) out = g_string_new(NULL);

	if (!device)
		return 1;
	if (options->output)
		return command_print_json(options, device);
	device_write(device, out);
	return command_print(out);
}

static int show_all(const CommandOptions *options, const json_t *answer, const json_t *devices)
{
	g_autoptr(GString) out = g_string_new(NULL);

	if (options->output)
		return command_print_json(options, answer);
	devices_write(devices, &options->style, out);
	return command_print_rows(devices, "RDMA devices; see `rdmad doctor`", out);
}

int command_devices(const CommandOptions *options)
{
	json_t *answer;
	const json_t *devices;
	int status;

	answer = command_ask(options, "GET", "/api/v1/devices");
	devices = json_object_get(answer, "devices");
	if (!answer)
		return 1;
	status =
		options->argument ? show_one(options, devices) : show_all(options, answer, devices);
	json_decref(answer);
	return status;
}
