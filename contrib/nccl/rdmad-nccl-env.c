/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rdmad-nccl-env: the plan of module nccl, without a daemon
 *
 * For a container that has no /run/rdmad, and for whoever wants to know what NCCL will do.  One
 * static program: it reads the hardware with the scanner of rdmad and plans by the module's own
 * objects.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/terminal.h"
#include "hardware/scan/scan.h"
#include "hardware/sysroot.h"
#include "write.h"

static const char USAGE[] =
	"usage: rdmad-nccl-env [OPTION]...\n"
	"Prints the settings of NCCL that are right in this network namespace.\n"
	"\n"
	"  --nccl-version V       2.27; any (default): right for every version, where that can be\n"
	"  --format F             sh (default), conf, json\n"
	"  --explain              every port and GID, used or not, with the reason\n"
	"  --pid PID              the network namespace of a process\n"
	"  --netns PATH           a network namespace, /run/netns/NAME\n"
	"  --device PATTERN       only these devices; !PATTERN: not these; may be repeated\n"
	"  --subnet CIDR          take GIDs from it alone; may be repeated\n"
	"  --storage-subnet CIDR  leave out ports with an address in it; may be repeated\n"
	"  --link-layer L         auto (default), infiniband, roce\n"
	"  --family F             auto (default), ipv4, ipv6\n"
	"  --gid-by B             auto (default), index, address\n"
	"  --gpu-distance D       the farthest from a GPU: PIX, PXB (default), PHB, NODE, SYS\n"
	"  --use-default-route    also ports whose interface has the default route\n"
	"  --socket-ifname NAME   NCCL_SOCKET_IFNAME; auto (default), empty for none\n"
	"  --siblings LIST        also for ucx,nvshmem,libfabric,openmpi\n"
	"  --allow-link-local     GIDs that are not routable will do\n"
	"  --allow-subset         settings for the most ports, where none are right for all\n"
	"  --sysroot DIR          use the machine recorded below DIR\n"
	"  --help\n"
	"\n"
	"Exit status: 0, 1 where there are no settings, 2 for usage.\n";

enum {
	OPT_VERSION = 256,
	OPT_FORMAT,
	OPT_EXPLAIN,
	OPT_PID,
	OPT_NETNS,
	OPT_DEVICE,
	OPT_SUBNET,
	OPT_STORAGE,
	OPT_LINK_LAYER,
	OPT_FAMILY,
	OPT_BY,
	OPT_DISTANCE,
	OPT_DEFAULT_ROUTE,
	OPT_IFNAME,
	OPT_SIBLINGS,
	OPT_LINK_LOCAL,
	OPT_SUBSET,
	OPT_SYSROOT,
	OPT_HELP,
};

static const struct option OPTIONS[] = {
	{ "nccl-version", required_argument, NULL, OPT_VERSION },
	{ "format", required_argument, NULL, OPT_FORMAT },
	{ "explain", no_argument, NULL, OPT_EXPLAIN },
	{ "pid", required_argument, NULL, OPT_PID },
	{ "netns", required_argument, NULL, OPT_NETNS },
	{ "device", required_argument, NULL, OPT_DEVICE },
	{ "subnet", required_argument, NULL, OPT_SUBNET },
	{ "storage-subnet", required_argument, NULL, OPT_STORAGE },
	{ "link-layer", required_argument, NULL, OPT_LINK_LAYER },
	{ "family", required_argument, NULL, OPT_FAMILY },
	{ "gid-by", required_argument, NULL, OPT_BY },
	{ "gpu-distance", required_argument, NULL, OPT_DISTANCE },
	{ "use-default-route", no_argument, NULL, OPT_DEFAULT_ROUTE },
	{ "socket-ifname", required_argument, NULL, OPT_IFNAME },
	{ "siblings", required_argument, NULL, OPT_SIBLINGS },
	{ "allow-link-local", no_argument, NULL, OPT_LINK_LOCAL },
	{ "allow-subset", no_argument, NULL, OPT_SUBSET },
	{ "sysroot", required_argument, NULL, OPT_SYSROOT },
	{ "help", no_argument, NULL, OPT_HELP },
	{ 0 },
};

static const char *const FORMATS[] = { "sh", "conf", "json", "explain", NULL };
static const char *const LINKS[] = { "auto", "infiniband", "roce", NULL };
static const char *const FAMILIES[] = { "auto", "ipv4", "ipv6", NULL };
static const char *const BYS[] = { "auto", "index", "address", NULL };
static const char *const DISTANCES[] = { "X", "PIX", "PXB", "PHB", "NODE", "SYS", NULL };
static const char *const SIBLINGS[] = { "ucx", "nvshmem", "libfabric", "openmpi", NULL };

typedef struct {
	NcclPolicy policy;
	NcclVersions versions;
	char *warning; /* about the version */
	int format;    /* index of FORMATS */
	const char *sysroot, *netns, *process;
	GPtrArray *devices, *subnets, *storage; /* NULL-terminated when parsed */
	gboolean help;
} Request;

/* ---- options ---- */

static gboolean choose(const char *const *choices, const char *text, int *chosen)
{
	for (int i = 0; choices[i]; i++)
		if (g_str_equal(choices[i], text)) {
			*chosen = i;
			return TRUE;
		}
	rdmad_terminal_error("\"%s\" is not a choice: see --help", text);
	return FALSE;
}

static gboolean take_siblings(Request *request, const char *text)
{
	g_auto(GStrv) names = g_strsplit(text, ",", -1);
	int chosen;

	for (guint i = 0; names[i]; i++) {
		if (!choose(SIBLINGS, names[i], &chosen))
			return FALSE;
		request->policy.siblings |= 1u << chosen;
	}
	return TRUE;
}

static gboolean take_version(Request *request, const char *text)
{
	g_autoptr(GError) error = NULL;

	if (nccl_versions_parse(text, &request->versions, &request->warning, &error))
		return TRUE;
	rdmad_terminal_error("%s", error->message);
	return FALSE;
}

static gboolean take_ifname(Request *request, const char *text)
{
	g_free(request->policy.socket_ifname);
	request->policy.socket_ifname = g_strdup(text);
	return TRUE;
}

static gboolean take_distance(Request *request, const char *text)
{
	int chosen = 0;

	if (!choose(DISTANCES, text, &chosen))
		return FALSE;
	request->policy.gpu_distance = chosen;
	return TRUE;
}

static gboolean take_choice(Request *request, int option, const char *text)
{
	int chosen = 0;

	switch (option) {
	case OPT_FORMAT:
		return choose(FORMATS, text, &request->format);
	case OPT_LINK_LAYER:
		if (!choose(LINKS, text, &chosen))
			return FALSE;
		request->policy.link_layer = chosen;
		return TRUE;
	case OPT_FAMILY:
		if (!choose(FAMILIES, text, &chosen))
			return FALSE;
		request->policy.family = chosen;
		return TRUE;
	default:
		if (!choose(BYS, text, &chosen))
			return FALSE;
		request->policy.by = chosen;
		return TRUE;
	}
}

static gboolean take_process(Request *request, const char *text)
{
	if (text[0] && text[strspn(text, "0123456789")] == '\0') {
		request->process = text;
		return TRUE;
	}
	rdmad_terminal_error("\"%s\" is not a process", text);
	return FALSE;
}

static gboolean request_take(Request *request, int option, char *text)
{
	switch (option) {
	case OPT_VERSION:
		return take_version(request, text);
	case OPT_FORMAT:
	case OPT_LINK_LAYER:
	case OPT_FAMILY:
	case OPT_BY:
		return take_choice(request, option, text);
	case OPT_EXPLAIN:
		return choose(FORMATS, "explain", &request->format);
	case OPT_PID:
		return take_process(request, text);
	case OPT_NETNS:
		request->netns = text;
		return TRUE;
	case OPT_DEVICE:
		g_ptr_array_add(request->devices, text);
		return TRUE;
	case OPT_SUBNET:
		g_ptr_array_add(request->subnets, text);
		return TRUE;
	case OPT_STORAGE:
		g_ptr_array_add(request->storage, text);
		return TRUE;
	case OPT_DISTANCE:
		return take_distance(request, text);
	case OPT_DEFAULT_ROUTE:
		return request->policy.use_default_route = TRUE;
	case OPT_IFNAME:
		return take_ifname(request, text);
	case OPT_SIBLINGS:
		return take_siblings(request, text);
	case OPT_LINK_LOCAL:
		return request->policy.allow_link_local = TRUE;
	case OPT_SUBSET:
		return request->policy.allow_subset = TRUE;
	case OPT_SYSROOT:
		request->sysroot = text;
		return TRUE;
	case OPT_HELP:
		return request->help = TRUE;
	default:
		return FALSE;
	}
}

static gboolean request_finish(Request *request)
{
	g_autoptr(GError) error = NULL;

	g_ptr_array_add(request->devices, NULL);
	g_ptr_array_add(request->subnets, NULL);
	g_ptr_array_add(request->storage, NULL);
	request->policy.devices = g_strdupv((char **)request->devices->pdata);
	request->policy.subnets =
		nccl_policy_ranges((char *const *)request->subnets->pdata, &error);
	if (request->policy.subnets)
		request->policy.storage_subnets =
			nccl_policy_ranges((char *const *)request->storage->pdata, &error);
	if (!error)
		return TRUE;
	rdmad_terminal_error("%s", error->message);
	return FALSE;
}

static gboolean request_parse(Request *request, int argc, char **argv)
{
	int option;

	while ((option = getopt_long(argc, argv, "", OPTIONS, NULL)) != -1)
		if (!request_take(request, option, optarg))
			return FALSE;
	if (optind < argc) {
		rdmad_terminal_error("\"%s\" is not an option: see --help", argv[optind]);
		return FALSE;
	}
	return request_finish(request);
}

static void request_clear(Request *request)
{
	nccl_policy_clear(&request->policy);
	g_ptr_array_unref(request->devices);
	g_ptr_array_unref(request->subnets);
	g_ptr_array_unref(request->storage);
	g_free(request->warning);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Request, request_clear)

/* ---- what is there ---- */

static gboolean enter_netns(const char *path, GError **error)
{
	rdmad_autofd int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || setns(fd, CLONE_NEWNET) != 0)
		return rdmad_error_errno(error, errno, "%s", path);
	return TRUE;
}

/* A recorded machine has no device files. */
static gboolean device_is_granted(const RdmadSysroot *root, const RdmadDevice *device)
{
	const RdmadChardev *uverbs = rdmad_device_chardev(device, RDMAD_CHARDEV_UVERBS);

	return uverbs &&
	       (rdmad_sysroot_exists(root, uverbs->path + 1) ||
		(!rdmad_sysroot_is_live(root) && !rdmad_sysroot_exists(root, "dev/infiniband")));
}

static NcclView *view_of_scan(const RdmadSysroot *root, const RdmadScan *scan)
{
	NcclView *view = nccl_view_new();

	view->allocated = g_getenv("RDMAD_ALLOCATION") != NULL;
	for (guint i = 0; i < scan->devices->len; i++) {
		const RdmadDevice *device = scan->devices->pdata[i];
		const gboolean granted = device_is_granted(root, device);

		/* Devices that others hold: what is left was asked for. */
		view->allocated = view->allocated || !granted;
		nccl_view_add_device(view, device, granted);
	}
	for (guint i = 0; i < scan->gpus->len; i++)
		nccl_view_add_gpu(view, scan->gpus->pdata[i]);
	nccl_view_sort(view);
	return view;
}

static NcclView *view_look(const Request *request, GError **error)
{
	g_autoptr(RdmadSysroot) root = rdmad_sysroot_new(request->sysroot, error);
	g_autoptr(RdmadScan) scan = root ? rdmad_scan_sysfs(root, error) : NULL;
	g_autoptr(NcclView) view = scan ? view_of_scan(root, scan) : NULL;
	g_autoptr(NcclAddresses) addresses = NULL;
	g_autoptr(GError) missing = NULL;
	char **default_netdevs;

	if (!view || (request->netns && !enter_netns(request->netns, error)))
		return NULL;
	addresses = nccl_addresses_read(root, request->process, &missing);
	/* Most recorded machines have none; a live one must. */
	if (!addresses && rdmad_sysroot_is_live(root)) {
		g_propagate_error(error, g_steal_pointer(&missing));
		return NULL;
	}
	default_netdevs = nccl_default_netdevs_read(root, request->process, error);
	if (!default_netdevs)
		return NULL;
	nccl_view_set_network(view, g_steal_pointer(&addresses), default_netdevs);
	return g_steal_pointer(&view);
}

/* ---- output ---- */

static char *request_text(const Request *request, const NcclView *view, const NcclPlan *plan)
{
	const NcclPlanLabel label = { NULL, 0 };

	switch (request->format) {
	case 0:
		return nccl_write_sh(plan, &label);
	case 1:
		return nccl_write_conf(plan, &label);
	case 2:
		return nccl_write_json_text(view, &request->policy, plan, &label);
	default:
		return nccl_write_explanation(view, &request->policy, plan);
	}
}

/* The shell says by itself why there is nothing. */
static int request_answer(const Request *request, const NcclView *view)
{
	g_autoptr(NcclPlan) plan = nccl_plan_new(view, request->versions, &request->policy);
	g_autofree char *text = NULL;

	if (request->warning)
		nccl_plan_warn(plan, "%s", request->warning);
	text = request_text(request, view, plan);
	fputs(text, stdout);
	if (fflush(stdout) != 0) {
		rdmad_terminal_error("%s", g_strerror(errno));
		return 1;
	}
	if (plan->refusal && request->format != 0)
		rdmad_terminal_error("%s", plan->reason);
	return plan->refusal ? 1 : 0;
}

int main(int argc, char **argv)
{
	g_auto(Request) request = {
		.versions = NCCL_ALL_VERSIONS,
		.process = "self",
		.devices = g_ptr_array_new(),
		.subnets = g_ptr_array_new(),
		.storage = g_ptr_array_new(),
	};
	g_autoptr(NcclView) view = NULL;
	g_autoptr(GError) error = NULL;

	nccl_policy_init(&request.policy);
	if (!request_parse(&request, argc, argv))
		return 2;
	if (request.help) {
		fputs(USAGE, stdout);
		return 0;
	}
	if (request.warning)
		rdmad_terminal_error("%s", request.warning);
	view = view_look(&request, &error);
	if (view)
		return request_answer(&request, view);
	rdmad_terminal_error("%s", error->message);
	if (request.format == 0) {
		g_autofree char *text = nccl_write_unset(request.policy.siblings);

		fputs(text, stdout);
	}
	return 1;
}
