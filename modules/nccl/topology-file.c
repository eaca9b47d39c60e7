/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NCCL_TOPO_FILE: the PCIe tree between the GPUs and the selected rails
 *
 * The file is for virtual machines and containers whose /sys differs from the hardware's tree.
 * NCCL completes missing attributes of a node (class, speed, the GPU's compute capability) from
 * /sys and CUDA.
 * Source: src/graph/xml.cc, xml.h of NCCL.
 */
#include <string.h>

#include "write.h"

/* PCI classes as NCCL compares them. */
#define CLASS_BRIDGE "0x060400"
#define CLASS_NIC    "0x020000"
#define CLASS_IB     "0x020700"
#define CLASS_GPU    "0x030200"

typedef struct {
	char *const *path; /* from the root; the first is the host bridge, which NCCL lacks */
	int numa;
	const NcclRail *rail; /* NULL: a GPU */
} Leaf;

static gboolean device_is_listed(const GArray *leaves, const RdmadDevice *device)
{
	for (guint i = 0; i < leaves->len; i++) {
		const NcclRail *rail = g_array_index(leaves, Leaf, i).rail;

		if (rail && rail->device == device)
			return TRUE;
	}
	return FALSE;
}

static int leaf_compare(gconstpointer a, gconstpointer b)
{
	const Leaf *x = a, *y = b;
	guint i = 0;

	if (x->numa != y->numa)
		return x->numa - y->numa;
	while (x->path[i] && y->path[i] && g_str_equal(x->path[i], y->path[i]))
		i++;
	return g_strcmp0(x->path[i], y->path[i]);
}

/* Collects GPUs and devices with a PCI path; subfunctions and software devices have none. */
static GArray *leaves_collect(const NcclView *view, const NcclPlan *plan)
{
	GArray *leaves = g_array_new(FALSE, FALSE, sizeof(Leaf));

	for (guint i = 0; i < view->gpus->len; i++) {
		const RdmadGpu *gpu = view->gpus->pdata[i];
		const Leaf leaf = { gpu->pci_path, gpu->numa_node, NULL };

		if (gpu->pci_path && gpu->pci_path[0] && gpu->pci_path[1])
			g_array_append_val(leaves, leaf);
	}
	for (guint i = 0; i < plan->n_selected; i++) {
		const NcclRail *rail = nccl_plan_rail(plan, i);
		const Leaf leaf = { rail->device->pci_path, rail->device->numa_node, rail };

		if (leaf.path && leaf.path[0] && leaf.path[1] &&
		    !device_is_listed(leaves, rail->device))
			g_array_append_val(leaves, leaf);
	}
	g_array_sort(leaves, leaf_compare);
	return leaves;
}

static void append_indent(GString *text, guint depth)
{
	for (guint i = 0; i < depth; i++)
		g_string_append(text, "  ");
}

static void append_net(GString *text, const NcclPlan *plan, const RdmadDevice *device, guint depth)
{
	append_indent(text, depth);
	g_string_append(text, "<nic>\n");
	for (guint i = 0; i < plan->n_selected; i++) {
		const NcclRail *rail = nccl_plan_rail(plan, i);

		if (rail->device != device)
			continue;
		append_indent(text, depth + 1);
		g_string_append_printf(text,
				       "<net name=\"%s\" dev=\"%u\" speed=\"%" G_GINT64_FORMAT
				       "\" port=\"%u\"/>\n",
				       device->name, i, MAX(rail->port->rate_mbps, 0),
				       rail->port->number);
	}
	append_indent(text, depth);
	g_string_append(text, "</nic>\n");
}

static void append_leaf(GString *text, const NcclPlan *plan, const Leaf *leaf, guint depth)
{
	const char *busid = leaf->path[depth];
	const char *class = CLASS_GPU;

	if (leaf->rail)
		class = leaf->rail->port->link_layer == RDMAD_LINK_LAYER_INFINIBAND ? CLASS_IB
										    : CLASS_NIC;
	append_indent(text, depth + 2);
	g_string_append_printf(text, "<pci busid=\"%s\" class=\"%s\"", busid, class);
	if (!leaf->rail) {
		g_string_append(text, "/>\n");
		return;
	}
	g_string_append(text, ">\n");
	append_net(text, plan, leaf->rail->device, depth + 3);
	append_indent(text, depth + 2);
	g_string_append(text, "</pci>\n");
}

static gboolean in_front_of(const Leaf *leaf, const Leaf *first, guint depth)
{
	for (guint i = 0; i <= depth; i++)
		if (!leaf->path[i] || !g_str_equal(leaf->path[i], first->path[i]))
			return FALSE;
	return TRUE;
}

/* The leaves [from, to) have the same path above `depth`. */
static void append_tree(GString *text, const NcclPlan *plan, const GArray *leaves, guint from,
			guint to, guint depth)
{
	while (from < to) {
		const Leaf *leaf = &g_array_index(leaves, Leaf, from);
		guint end = from + 1;

		while (end < to && in_front_of(&g_array_index(leaves, Leaf, end), leaf, depth))
			end++;
		if (!leaf->path[depth + 1]) {
			append_leaf(text, plan, leaf, depth);
			from++;
			continue;
		}
		append_indent(text, depth + 2);
		g_string_append_printf(text, "<pci busid=\"%s\" class=\"" CLASS_BRIDGE "\">\n",
				       leaf->path[depth]);
		append_tree(text, plan, leaves, from, end, depth + 1);
		append_indent(text, depth + 2);
		g_string_append(text, "</pci>\n");
		from = end;
	}
}

static guint same_numa(const GArray *leaves, guint from)
{
	guint end = from;

	while (end < leaves->len &&
	       g_array_index(leaves, Leaf, end).numa == g_array_index(leaves, Leaf, from).numa)
		end++;
	return end;
}

/* The host bridge, the first of each path, belongs to the <cpu>: NCCL has no node for it. */
char *nccl_write_topology(const NcclView *view, const NcclPlan *plan)
{
	g_autoptr(GArray) leaves = leaves_collect(view, plan);
	GString *text = g_string_new("<system version=\"1\">\n");
	guint end;

	for (guint i = 0; i < leaves->len; i++)
		g_array_index(leaves, Leaf, i).path++;
	for (guint from = 0; from < leaves->len; from = end) {
		end = same_numa(leaves, from);
		g_string_append_printf(text, "  <cpu numaid=\"%d\">\n",
				       MAX(g_array_index(leaves, Leaf, from).numa, 0));
		append_tree(text, plan, leaves, from, end, 0);
		g_string_append(text, "  </cpu>\n");
	}
	g_string_append(text, "</system>\n");
	return g_string_free(text, FALSE);
}
