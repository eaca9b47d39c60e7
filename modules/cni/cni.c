/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Module cni: gives pods the RDMA NICs that they were allocated
 *
 *	modules = {
 *	  cni = {
 *	    socket = "/run/rdmad/cni.sock";	# of rdmad-cni
 *	    spool_dir = "/var/lib/rdmad/cni-spool";	# DELs received while rdmad was down
 *	    plugin_path = ( "/opt/cni/bin", "/usr/lib/cni" );	# of IPAM plugins, after CNI_PATH
 *	    annotation_from = "runtime";	# "api": or else by module kube
 *	    annotation_networks = ( "rdma*" );	# cniConf.name of rdmad's entries; default: all
 *	    requests = 64;		# at once
 *	    queue = 1024;		# waiting beside them
 *	    request_timeout = 90;
 *	    ipam_timeout = 30;
 *	    gid_timeout = 5;		# for the GID of an address to appear
 *	    carrier_timeout = 1;	# 0: do not wait
 *	    table_base = 1000;		# routing table of a pod's first NIC
 *	    rule_priority = 20000;
 *	    networks = ( { name = "rails"; netdevs = "eth*"; mode = "shared"; link = "macvlan"; } );
 *	  };
 *	};
 *
 * rdmad-cni(7) describes all options, including those of a network.
 *
 * A request becomes an operation (operation.c): an ADD (add.c), a CHECK (check.c) or an undo
 * (undo.c).  The server (server.c) schedules the operations.  Steps are planned (plan/), recorded
 * (journal.c), and then executed by the executor.
 */
#include <jansson.h>
#include <linux/capability.h>
#include <rdmad/allocations.h>
#include <rdmad/doctor.h>
#include <rdmad/error.h>
#include <rdmad/inventory.h>
#include <rdmad/log.h>
#include <rdmad/network.h>
#include <rdmad/sysroot.h>

#include "cni.h"
#include "host-network.h"
#include "journal.h"
#include "look.h"
#include "server.h"

#define BOOT_ID "/proc/sys/kernel/random/boot_id"
#define SPOOL	"/var/lib/rdmad/cni-spool"
#define LOCK	"executor.lock"

typedef struct {
	Cni cni;
	RdmadWatch *allocations, *inventory;
	CniHostNetwork *host_network;
	gboolean routed;
} Module;

/* ---- events ---- */

static void allocation_ended(const RdmadAllocation *allocation, const char *reason, gpointer data)
{
	const Module *module = data;

	cni_server_note_end(module->cni.server, allocation);
	if (allocation->n_attachments)
		cni_server_hint(module->cni.server);
}

/* A NIC that was neither in the host nor in the pod may be back. */
static void device_added(const RdmadDevice *dev, gpointer data)
{
	const Module *module = data;

	if (cni_journal_count(module->cni.journal))
		cni_server_hint(module->cni.server);
}

/* It comes later than its device where the kernel still ends its namespace. */
static void device_changed(const RdmadDevice *before, const RdmadDevice *now, gpointer data)
{
	if (now->n_netdevs > before->n_netdevs)
		device_added(now, data);
}

static const RdmadAllocationOps allocation_ops = { .ended = allocation_ended };
static const RdmadInventoryOps inventory_ops = { .added = device_added, .changed = device_changed };

static void attachment_count(CniAttachment *attachment, gpointer data)
{
	CniLevels *levels = data;

	levels->attachments += attachment->state != CNI_STATE_UNDONE;
	levels->left += attachment->state == CNI_STATE_LEFT;
}

static void levels(CniLevels *levels, gpointer data)
{
	const Module *module = data;

	levels->attachments = levels->left = 0;
	cni_journal_foreach(module->cni.journal, attachment_count, levels);
	levels->running = cni_server_running(module->cni.server);
	levels->waiting = cni_server_waiting(module->cni.server);
	levels->spooled = cni_server_spooled(module->cni.server);
}

/* ---- life ---- */

static void module_destroy(gpointer data)
{
	Module *module = data;

	cni_settings_unref(module->cni.settings);
	g_free(module->cni.boot);
	g_free(module->cni.spool_dir);
	g_free(module);
}

static gpointer module_create(RdmadModule *self, const RdmadConfigNode *config, GError **error)
{
	CniSettings *settings = cni_settings_parse(config, error);
	Module *module;

	if (!settings)
		return NULL;
	module = g_new0(Module, 1);
	module->cni.self = self;
	module->cni.settings = settings;
	return module;
}

static void module_stop(gpointer data)
{
	Module *module = data;
	Cni *cni = &module->cni;

	if (module->routed)
		cni_attachments_unroute(cni);
	module->routed = FALSE;
	g_clear_pointer(&module->allocations, rdmad_watch_free);
	g_clear_pointer(&module->inventory, rdmad_watch_free);
	g_clear_pointer(&module->host_network, cni_host_network_free);
	/* The next start finishes or undoes interrupted operations. */
	g_clear_pointer(&cni->executor, rdmad_executor_free);
	g_clear_pointer(&cni->server, cni_server_free);
	g_clear_pointer(&cni->stats, cni_stats_free);
	g_clear_pointer(&cni->journal, cni_journal_close);
	g_clear_pointer(&cni->ipam_records, cni_ipam_records_free);
	cni_looks_close(cni);
}

/* The ID is read from this machine, not from the sysroot: namespaces are this machine's. */
static char *boot_read(GError **error)
{
	g_autofree char *text = NULL;
	g_autoptr(GError) why = NULL;

	if (g_file_get_contents(BOOT_ID, &text, NULL, &why))
		return g_strchomp(g_steal_pointer(&text));
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED, "%s", why->message);
	return NULL;
}

static gboolean module_open(Module *module, GError **error)
{
	Cni *cni = &module->cni;
	RdmadModule *self = cni->self;
	const char *state_dir = rdmad_module_state_dir(self);
	g_autofree char *lock =
		g_build_filename(state_dir ? state_dir : rdmad_module_run_dir(self), LOCK, NULL);

	cni->boot = boot_read(error);
	cni->spool_dir = cni->settings->spool_dir ? g_strdup(cni->settings->spool_dir)
			 : state_dir		  ? g_build_filename(state_dir, "cni-spool", NULL)
						  : g_strdup(SPOOL);
	cni_looks_open(cni);
	cni->ipam_records =
		cni->boot ? cni_ipam_records_open(rdmad_module_run_dir(self), error) : NULL;
	cni->journal = cni->ipam_records ? cni_journal_open(self, error) : NULL;
	if (!cni->journal)
		return FALSE;
	cni->executor =
		rdmad_executor_new(rdmad_module_loop(self), self, rdmad_module_keeper(self), lock);
	cni->server = cni_server_new(cni, error);
	cni->stats = cni->server ? cni_stats_new(self, levels, module, error) : NULL;
	module->routed = cni->stats && cni_attachments_route(cni, error);
	return module->routed;
}

static gboolean module_start(gpointer data, GError **error)
{
	Module *module = data;

	if (!module_open(module, error)) {
		module_stop(module);
		return FALSE;
	}
	module->allocations = rdmad_allocations_watch(rdmad_module_allocations(module->cni.self),
						      module->cni.self, &allocation_ops, module);
	module->inventory = rdmad_inventory_watch(rdmad_module_inventory(module->cni.self),
						  module->cni.self, &inventory_ops, module);
	module->host_network = cni_host_network_new(&module->cni);
	cni_server_reconcile(module->cni.server, TRUE);
	return TRUE;
}

/* Running requests keep the settings they started with.  The socket and the spool stay in their
 * places. */
static gboolean module_reload(gpointer data, const RdmadConfigNode *config, GError **error)
{
	Module *module = data;
	Cni *cni = &module->cni;
	CniSettings *settings = cni_settings_parse(config, error);

	if (!settings)
		return FALSE;
	if (g_strcmp0(settings->socket, cni->settings->socket) != 0 ||
	    g_strcmp0(settings->spool_dir, cni->settings->spool_dir) != 0)
		rdmad_warn("cni: socket and spool_dir change when rdmad is restarted");
	cni_settings_unref(cni->settings);
	cni->settings = settings;
	cni_server_hint(cni->server);
	return TRUE;
}

static void drained(gpointer data)
{
	rdmad_module_drained(data);
}

static void module_drain(gpointer data)
{
	const Module *module = data;

	cni_server_drain(module->cni.server, drained, module->cni.self);
}

/* ---- status and doctor ---- */

static json_t *module_status(gpointer data)
{
	CniLevels now = { 0 };

	levels(&now, data);
	return json_pack("{s:i, s:i, s:i, s:i, s:i}", "attachments", now.attachments, "left",
			 now.left, "running", now.running, "waiting", now.waiting, "spooled",
			 now.spooled);
}

static void module_doctor(gpointer data, json_t *findings)
{
	const char *mode = rdmad_rdma_netns_mode(NULL);
	g_autofree char *text = NULL;
	CniLevels now = { 0 };

	levels(&now, data);
	text = g_strdup_printf(
		"%u attachments, %u left over, %u DELs in the spool; RDMA netns mode %s",
		now.attachments, now.left, now.spooled, mode ? mode : "unknown");
	rdmad_doctor_add(findings, RDMAD_FINDING_OK, "cni", text, NULL);
	if (now.left)
		rdmad_doctor_add(
			findings, RDMAD_FINDING_PROBLEM, "cni",
			"a NIC of a pod that ended is not restored: it is neither in the host nor "
			"in the pod, or another link of the host has its name",
			"the log names it; look for a process that holds the pod's network "
			"namespace, or rename the other link; it is tried every 30 seconds");
	if (now.spooled)
		rdmad_doctor_add(findings, RDMAD_FINDING_NOTE, "cni",
				 "DELs of the time without rdmad wait in the spool",
				 "they are tried again every 30 seconds; `rdmad events` says why "
				 "one fails");
}

static const RdmadCapability executor_capabilities[] = {
	{ CAP_NET_ADMIN,
	  "changes links, addresses, routes, rules and sysctls; moves RDMA devices" },
	{ CAP_NET_RAW, "tells neighbours of an address (gratuitous ARP)" },
	{ CAP_SYS_ADMIN, "enters the network namespaces of pods" },
	{ CAP_SYS_PTRACE, "opens that of a pod which a runtime named as /proc/PID/ns/net" },
	{ 0 },
};

RDMAD_MODULE_DEFINE("cni", .description = "Gives pods the RDMA NICs that they were allocated",
		    .create = module_create, .start = module_start, .reload = module_reload,
		    .drain = module_drain, .stop = module_stop, .destroy = module_destroy,
		    .status = module_status, .doctor = module_doctor, .commands = cni_commands,
		    .executor_capabilities = executor_capabilities, .runs_programs = TRUE);
