/* SPDX-License-Identifier: Apache-2.0 */
/* rdmad topology: distances from devices to accelerators; with -o wide all of them, as `nvidia-smi
 * topo -m` */
#include <string.h>

#include "cli/command.h"
#include "cli/table.h"

/* From near to far, with explanations. */
static const struct {
	const char *name, *meaning;
} distances[] = {
	{ "X", "the same function" },
	{ "PIX", "at most one PCIe bridge between them" },
	{ "PXB", "several PCIe bridges, but no host bridge" },
	{ "PHB", "through a PCIe host bridge (the CPU)" },
	{ "NODE", "through several host bridges of one NUMA node" },
	{ "SYS", "from one NUMA node to another" },
};

static guint distance_rank(const char *name)
{
	guint rank = 0;

	while (rank < G_N_ELEMENTS(distances) && g_strcmp0(distances[rank].name, name) != 0)
		rank++;
	return rank;
}

/* Returns the names of rows and columns: "GPU0".., "NIC0"... */
static GPtrArray *place_names(const json_t *topology)
{
	const size_t n_gpus = json_array_size(json_object_get(topology, "gpus"));
	const size_t n_nics = json_array_size(json_object_get(topology, "nics"));
	GPtrArray *names = g_ptr_array_new_with_free_func(g_free);

	for (size_t i = 0; i < n_gpus; i++)
		g_ptr_array_add(names, g_strdup_printf("GPU%zu", i));
	for (size_t i = 0; i < n_nics; i++)
		g_ptr_array_add(names, g_strdup_printf("NIC%zu", i));
	return names;
}

static const json_t *nth_place(const json_t *topology, guint index)
{
	const json_t *gpus = json_object_get(topology, "gpus");
	const size_t n_gpus = json_array_size(gpus);

	if (index < n_gpus)
		return json_array_get(gpus, index);
	return json_array_get(json_object_get(topology, "nics"), index - n_gpus);
}

static void add_row(RdmadTable *table, const json_t *topology, const GPtrArray *names, guint index)
{
	const json_t *row = json_array_get(json_object_get(topology, "distances"), index);
	g_autofree const char **cells = g_new0(const char *, names->len + 4);
	g_autofree char *numa = format_number(nth_place(topology, index), "numa_node");

	cells[0] = g_ptr_array_index(names, index);
	for (guint i = 0; i < names->len; i++)
		cells[i + 1] = json_string_value(json_array_get(row, i));
	cells[names->len + 1] =
		numa ? format_text(json_object_get(topology, "numa_cpus"), numa) : NULL;
	cells[names->len + 2] = numa;
	rdmad_table_add_row(table, cells);
}

/* Adds a row for one device: its distances to the accelerators, and its NUMA node. */
static void add_device(RdmadTable *table, const json_t *topology, size_t n_gpus, size_t nic)
{
	const json_t *device = json_array_get(json_object_get(topology, "nics"), nic);
	const json_t *row = json_array_get(json_object_get(topology, "distances"), n_gpus + nic);
	g_autofree const char **cells = g_new0(const char *, n_gpus + 3);
	g_autofree char *numa = format_number(device, "numa_node");

	cells[0] = format_text(device, "device_name");
	for (size_t i = 0; i < n_gpus; i++)
		cells[i + 1] = json_string_value(json_array_get(row, i));
	cells[n_gpus + 1] = numa;
	rdmad_table_add_row(table, cells);
}

static void write_devices(const json_t *topology, const GPtrArray *names,
			  const RdmadTableStyle *style, GString *out)
{
	const size_t n_gpus = json_array_size(json_object_get(topology, "gpus"));
	g_autoptr(GPtrArray) headers = g_ptr_array_new();
	g_autoptr(RdmadTable) table = NULL;

	g_ptr_array_add(headers, (gpointer) "NAME");
	for (size_t i = 0; i < n_gpus; i++)
		g_ptr_array_add(headers, g_ptr_array_index(names, i));
	g_ptr_array_add(headers, (gpointer) "NUMA");
	g_ptr_array_add(headers, NULL);
	table = rdmad_table_new((const char *const *)headers->pdata);
	for (size_t i = 0; i < names->len - n_gpus; i++)
		add_device(table, topology, n_gpus, i);
	rdmad_table_write(table, style, "", out);
}

static void write_matrix(const json_t *topology, const GPtrArray *names,
			 const RdmadTableStyle *style, GString *out)
{
	g_autoptr(GPtrArray) headers = g_ptr_array_new();
	g_autoptr(RdmadTable) table = NULL;

	g_ptr_array_add(headers, (gpointer) "");
	for (guint i = 0; i < names->len; i++)
		g_ptr_array_add(headers, g_ptr_array_index(names, i));
	g_ptr_array_add(headers, (gpointer) "CPU Affinity");
	g_ptr_array_add(headers, (gpointer) "NUMA Affinity");
	g_ptr_array_add(headers, NULL);
	table = rdmad_table_new((const char *const *)headers->pdata);
	for (guint i = 0; i < names->len; i++)
		add_row(table, topology, names, i);
	rdmad_table_write(table, style, "", out);
}

static void write_meanings(GString *out)
{
	g_string_append(out, "\nLegend:\n\n");
	for (gsize i = 0; i < G_N_ELEMENTS(distances); i++)
		g_string_append_printf(out, "  %-4s = %s\n", distances[i].name,
				       distances[i].meaning);
}

/* Returns "nearest: GPU0 (PIX)" for a device with a GPU behind the same switch. */
static char *format_nearest(const json_t *topology, guint row_index)
{
	const json_t *row = json_array_get(json_object_get(topology, "distances"), row_index);
	const size_t n_gpus = json_array_size(json_object_get(topology, "gpus"));
	guint best = 0, best_rank = G_MAXUINT;

	for (guint i = 0; i < n_gpus; i++) {
		const guint rank = distance_rank(json_string_value(json_array_get(row, i)));

		if (rank < best_rank) {
			best_rank = rank;
			best = i;
		}
	}
	if (best_rank > distance_rank("PXB"))
		return g_strdup("no GPU behind the same switch");
	return g_strdup_printf("GPU%u behind the same switch (%s)", best,
			       distances[best_rank].name);
}

static void write_gpus(const json_t *topology, const GPtrArray *names, GString *out)
{
	const size_t n_gpus = json_array_size(json_object_get(topology, "gpus"));

	if (n_gpus)
		g_string_append(out, "\nGPU Legend:\n\n");
	for (guint i = 0; i < n_gpus; i++)
		g_string_append_printf(out, "  %s: %s\n", (char *)g_ptr_array_index(names, i),
				       format_text(nth_place(topology, i), "pci_address") ?: "?");
}

static void write_nics(const json_t *topology, const GPtrArray *names, GString *out)
{
	const size_t n_gpus = json_array_size(json_object_get(topology, "gpus"));
	const char *const headers[] = { "", "", n_gpus ? "" : NULL, NULL };
	g_autoptr(RdmadTable) nics = rdmad_table_new(headers);

	for (guint i = n_gpus; i < names->len; i++) {
		g_autofree char *label = g_strconcat(g_ptr_array_index(names, i), ":", NULL);
		g_autofree char *nearest = n_gpus ? format_nearest(topology, i) : NULL;

		rdmad_table_add(nics, label, format_text(nth_place(topology, i), "device_name"),
				nearest);
	}
	g_string_append(out, "\nNIC Legend:\n\n");
	rdmad_table_write(nics, &rdmad_table_bare, "  ", out);
}

void topology_write(const json_t *topology, const RdmadTableStyle *style, GString *out)
{
	g_autoptr(GPtrArray) names = place_names(topology);

	if (style->wide)
		write_matrix(topology, names, style, out);
	else
		write_devices(topology, names, style, out);
	write_meanings(out);
	write_gpus(topology, names, out);
	if (style->wide)
		write_nics(topology, names, out);
}

int command_topology(const CommandOptions *options)
{
	json_t *topology = command_ask(options, "GET", "/api/v1/topology");
	g_autoptr(GString) out = g_string_new(NULL);
	int status;

	if (!topology)
		return 1;
	if (options->output) {
		status = command_print_json(options, topology);
	} else {
		topology_write(topology, &options->style, out);
		status = command_print(out);
	}
	json_decref(topology);
	return status;
}
