/* SPDX-License-Identifier: Apache-2.0 */
#include "node.h"

#include <glib/gstdio.h>
#include <rdmad/log.h>
#include <unistd.h>

#include "disk.h"

const NodeResource node_resources[NODE_RESOURCES] = {
	{ "rdma/whole", TRUE, 0, 1, 2 },
	{ "rdma/shared", FALSE, 2, 2, 4 },
	{ "rdma/cdi", FALSE, 3, 3, 4 },
};

#define CONFIG                                                                                     \
	"modules = { device-plugin = { cdi_dir = \"%s\"; device_info_dir = \"\"; resources = (\n"  \
	"  { name = \"rdma/whole\"; mode = \"exclusive\";\n"                                       \
	"    selectors = { names = ( \"erdma_0\", \"erdma_1\" ); }; },\n"                          \
	"  { name = \"rdma/shared\"; count = 4; selectors = { names = \"erdma_2\"; }; },\n"        \
	"  { name = \"rdma/cdi\"; count = 4; cdi = \"on\"; selectors = { names = \"erdma_3\"; };"  \
	" }%s ); }; };\n"

/* No device has this name. */
#define MORE ",\n  { name = \"rdma/more\"; selectors = { names = \"mlx5_9\"; }; }"

static struct {
	char *run, *state, *cdi, *config;
	RdmadOptions options;
} node;

static void directory_begin(const char *root, const char *name)
{
	g_autofree char *path = g_build_filename(root, name, NULL);

	g_mkdir_with_parents(path, 0755);
	disk_empty_directory(path);
}

static void paths_make(const char *root)
{
	if (node.run)
		return;
	node.run = g_build_filename(root, "run", "rdmad", NULL);
	node.state = g_build_filename(root, "disk", "state", NULL);
	node.cdi = g_build_filename(root, "disk", "cdi", NULL);
	node.config = g_build_filename(root, "rdmad.conf", NULL);
	node.options = (RdmadOptions){
		.config = node.config,
		.sysroot = g_build_filename(root, "machine", NULL),
		.run_dir = node.run,
		.state_dir = node.state,
		.kubelet_dir = g_build_filename(root, "kubelet", NULL),
		.log_level = RDMAD_LOG_NOTICE,
		.log_format = -1,
	};
}

void node_begin(const char *root)
{
	static const char *const below[] = { "run", "disk", "kubelet" };

	paths_make(root);
	for (guint i = 0; i < G_N_ELEMENTS(below); i++)
		directory_begin(root, below[i]);
	node_configure(NODE_CONFIG_SAME);
}

const RdmadOptions *node_options(void)
{
	return &node.options;
}

void node_configure(NodeConfig config)
{
	g_autofree char *text =
		g_strdup_printf(CONFIG, node.cdi, config == NODE_CONFIG_MORE ? MORE : "");

	g_assert_true(g_file_set_contents(
		node.config, config == NODE_CONFIG_BROKEN ? "modules = {" : text, -1, NULL));
}

void node_clear_run(void)
{
	disk_empty_directory(node.run);
	rmdir(node.run);
}

const char *node_run_dir(void)
{
	return node.run;
}

const char *node_state_dir(void)
{
	return node.state;
}

const char *node_cdi_dir(void)
{
	return node.cdi;
}
