/* SPDX-License-Identifier: Apache-2.0 */
#include "node.h"

#include <glib/gstdio.h>
#include <rdmad/log.h>
#include <string.h>
#include <unistd.h>

#include "apiserver.h"
#include "decisions.h"
#include "disk.h"
#include "machine.h"

#define WHOLE  "rdma/whole"
#define SHARED "rdma/shared"
#define CDI    "rdma/cdi"
#define OTHER  "rdma/other"

#define DEVICE(n) (1u << (n))

/* A resource with a network keeps its mode, and none has the NIC of the host's own addresses. */
static const NodeResource layouts[NODE_LAYOUTS][NODE_RESOURCES] = {
	{ { WHOLE, TRUE, DEVICE(0) | DEVICE(1), TRUE },
	  { SHARED, FALSE, DEVICE(2), TRUE },
	  { CDI, FALSE, DEVICE(3), FALSE },
	  { OTHER, TRUE, 0, TRUE } },
	/* a renamed resource */
	{ { WHOLE, TRUE, 0, TRUE },
	  { SHARED, FALSE, DEVICE(2), TRUE },
	  { CDI, FALSE, DEVICE(3), FALSE },
	  { OTHER, TRUE, DEVICE(0) | DEVICE(1), TRUE } },
	/* a device that moves to another resource */
	{ { WHOLE, TRUE, DEVICE(0), TRUE },
	  { SHARED, FALSE, DEVICE(2), TRUE },
	  { CDI, FALSE, DEVICE(3), FALSE },
	  { OTHER, TRUE, DEVICE(1), TRUE } },
	/* from shared to exclusive by the same name */
	{ { WHOLE, TRUE, DEVICE(0) | DEVICE(1), TRUE },
	  { SHARED, FALSE, DEVICE(2), TRUE },
	  { CDI, TRUE, DEVICE(3), FALSE },
	  { OTHER, TRUE, 0, TRUE } },
	/* from exclusive to shared by another name */
	{ { WHOLE, TRUE, 0, TRUE },
	  { SHARED, FALSE, DEVICE(2), TRUE },
	  { CDI, FALSE, DEVICE(0) | DEVICE(1) | DEVICE(3), FALSE },
	  { OTHER, TRUE, 0, TRUE } },
	/* from shared to exclusive by another name */
	{ { WHOLE, TRUE, DEVICE(0), TRUE },
	  { SHARED, FALSE, 0, TRUE },
	  { CDI, FALSE, DEVICE(1) | DEVICE(3), FALSE },
	  { OTHER, TRUE, DEVICE(2), TRUE } },
};
NodeResource node_resources[NODE_RESOURCES];

#define CONFIG                                                                                     \
	"modules = { device-plugin = { cdi_dir = \"%s\"; device_info_dir = \"\";%s%s resources = " \
	"(%s%s ); };%s%s%s%s%s };\n"

#define LOCK_WAIT_S 60

/* No device has this name. */
#define MORE ",\n  { name = \"rdma/more\"; selectors = { names = \"mlx5_9\"; }; }"

#define PRE_START " prestart = true;"

#define LEGACY " registration = \"legacy\";"

#define CNI "\n  cni = { };"

/* The driver and SMC-R are not in this world.  A second try would let the time pass in a job. */
#define ERDMA                                                                                      \
	"\n  erdma = { driver = { load_with = \"none\"; }; smc = { mode = \"off\"; };\n"           \
	"    nics = { metadata = { cache = \"1m\"; tries = 1; };%s }; };"

/* Prometheus asks at the control socket. */
#define METRICS "\n  metrics = { listen = ( );%s };"

#define OTHER_METRICS " page = false; counters = false; devices = \"!erdma_3\"; names = \"both\";"

#define NCCL "\n  nccl = { topology = %s; };"

#define KUBE                                                                                       \
	"\n  kube = { server = \"" APISERVER_URL "\"; node = \"" APISERVER_NODE                    \
	"\"; token_file = \"%s\"; };"

#define STATIC " addresses = ( { nic = \"eth2\"; addresses = \"" NODE_STATIC_ADDRESS "\"; } );"

static struct {
	NodeModules modules;
	gboolean has_pre_start, is_legacy, is_verbose;
	char *run, *state, *cdi, *config, *token;
	RdmadOptions options, waiting;
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
	node.token = g_build_filename(root, "token", NULL);
	g_assert_true(g_file_set_contents(node.token, "TOKEN\n", -1, NULL));
	node.options = (RdmadOptions){
		.config = node.config,
		.sysroot = g_build_filename(root, "machine", NULL),
		.run_dir = node.run,
		.state_dir = node.state,
		.kubelet_dir = g_build_filename(root, "kubelet", NULL),
		.log_level = node.is_verbose || decisions_notes_are_printed() ? RDMAD_LOG_DEBUG
									      : RDMAD_LOG_NOTICE,
		.log_format = -1,
	};
	node.waiting = node.options;
	node.waiting.lock_wait_s = LOCK_WAIT_S;
	node.waiting.take_over = TRUE;
}

guint node_slots_per_device(const NodeResource *resource)
{
	return resource->is_exclusive ? 1 : 4;
}

guint node_resources_offered(void)
{
	guint n = 0;

	for (guint i = 0; i < NODE_RESOURCES; i++)
		n += node_resources[i].devices != 0;
	return n;
}

const NodeResource *node_resource(const char *name)
{
	for (guint i = 0; i < NODE_RESOURCES; i++)
		if (g_str_equal(node_resources[i].name, name))
			return &node_resources[i];
	g_assert_not_reached();
}

void node_begin(const char *root)
{
	static const char *const below[] = { "run", "disk", "kubelet" };

	paths_make(root);
	node.modules = 0;
	node.has_pre_start = node.is_legacy = FALSE;
	memcpy(node_resources, layouts[0], sizeof(node_resources));
	for (guint i = 0; i < G_N_ELEMENTS(below); i++)
		directory_begin(root, below[i]);
	node_configure(NODE_CONFIG_SAME);
}

void node_add(NodeModules modules)
{
	node.modules |= modules;
	node_configure(NODE_CONFIG_SAME);
}

gboolean node_has(NodeModules module)
{
	return (node.modules & module) != 0;
}

void node_set_pre_start(gboolean has_pre_start)
{
	node.has_pre_start = has_pre_start;
	node_configure(NODE_CONFIG_SAME);
}

void node_set_legacy(gboolean is_legacy)
{
	node.is_legacy = is_legacy;
	node_configure(NODE_CONFIG_SAME);
}

void node_set_verbose(void)
{
	node.is_verbose = TRUE;
}

const RdmadOptions *node_options(void)
{
	return &node.options;
}

const char *node_instance(void)
{
	return node.config; /* the default without --module */
}

const RdmadOptions *node_successor_options(void)
{
	return &node.waiting;
}

void node_set_layout(guint layout)
{
	memcpy(node_resources, layouts[layout], sizeof(node_resources));
	node_configure(NODE_CONFIG_SAME);
}

static void resource_config(GString *text, const NodeResource *resource)
{
	g_string_append_printf(text, "%s\n  { name = \"%s\";%s%s selectors = { names = (",
			       text->len ? "," : "", resource->name,
			       resource->is_exclusive ? " mode = \"exclusive\";"
						      : " count = 4; count_per = \"device\";",
			       g_str_equal(resource->name, CDI) ? " cdi = \"on\";" : "");
	for (guint i = 0, n = 0; i < MACHINE_DEVICES; i++)
		if (resource->devices & DEVICE(i))
			g_string_append_printf(text, "%s \"erdma_%u\"", n++ ? "," : "", i);
	g_string_append(text, " ); }; }");
}

static char *resources_config(void)
{
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < NODE_RESOURCES; i++)
		if (node_resources[i].devices)
			resource_config(text, &node_resources[i]);
	return g_string_free(text, FALSE);
}

static char *metrics_config(gboolean more)
{
	if (!node_has(NODE_METRICS) || (more && node_has(NODE_METRICS_GO)))
		return g_strdup("");
	return g_strdup_printf(METRICS, more ? OTHER_METRICS : "");
}

void node_configure(NodeConfig config)
{
	const gboolean more = config == NODE_CONFIG_MORE;
	g_autofree char *erdma = g_strdup_printf(ERDMA, more ? STATIC : "");
	g_autofree char *metrics = metrics_config(more);
	g_autofree char *kube = g_strdup_printf(KUBE, node.token);
	g_autofree char *nccl = g_strdup_printf(NCCL, more ? "true" : "false");
	g_autofree char *resources = resources_config();
	g_autofree char *text = g_strdup_printf(
		CONFIG, node.cdi, node.has_pre_start ? PRE_START : "", node.is_legacy ? LEGACY : "",
		resources, more ? MORE : "", node_has(NODE_CNI) ? CNI : "",
		node_has(NODE_ERDMA) ? erdma : "", metrics, node_has(NODE_NCCL) ? nccl : "",
		node_has(NODE_KUBE) ? kube : "");

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
