/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Module erdma: elastic RDMA of Alibaba Cloud
 *
 *	modules = {
 *	  erdma = {
 *	    driver = {
 *	      prefer_driver = "auto";	# "default", "compat", "ofed"; auto: as loaded
 *	      load_with = "auto"; # "kmod": the host's modprobe; "finit": finit_module(2); "none"
 *	      module = "erdma";
 *	      pci_device = "1ded:107f";	# the driver is for nodes with this device; "": every node
 *	      modprobe = "/sbin/modprobe";	# on the host
 *	      load_timeout = "1m";
 *	      retry = "30s";		# after a failure; each failure doubles it, up to an hour
 *	      install = {
 *	        command = ( );		# on the host, if the driver is missing; no downloads
 *	        environment = ( );	# "NAME=value"
 *	        package = "";		# the command's standard input
 *	        sha256 = "";		# of the package
 *	        timeout = "1h";
 *	      };
 *	    };
 *	    nics = {
 *	      manage = true;		# false: no interface is changed
 *	      exclude = ( );		# interfaces, RDMA devices, MACs, PCI addresses; "*" and "?"
 *	      primary = "";		# the interface that is never changed; "": detected; "none"
 *	      address_from = "auto";	# "netdev": its own; "metadata"; "static"; auto: the first 2
 *	      addresses = ( );		# { nic = "eth1"; addresses = "10.0.1.5/24";
 *					#   gateways = "10.0.1.253"; }
 *	      jumbo_frames = "keep";	# "on": MTU 8500; "off": 1400
 *	      metric = 200;		# minimum metric of routes
 *	      default_route = true;
 *	      lower_routes = true;	# of others that take precedence over the primary NIC's
 *	      repair = true;		# changes by others
 *	      policy_routing = false;	# a table and a rule for each NIC
 *	      table_base = 20000;	# plus the interface's index
 *	      rule_priority = 20000;
 *	      metadata = {
 *	        url = "http://100.100.100.200";
 *	        token = "auto";		# of the hardened mode: "required", "off"
 *	        connect_timeout = "1s";
 *	        timeout = "2s";
 *	        tries = 3;
 *	        cache = "1h";
 *	      };
 *	    };
 *	    smc = {
 *	      mode = "prefer";	# "off"; "require": pods that ask for SMC-R do not start without it
 *	      eid = "RDMAD";	# the same on all nodes; "": none
 *	      interface = "";	# of pods; "": that of the default route
 *	      tcp2smc = true;	# TCP sockets become SMC, if the kernel has this sysctl
 *	      disable_ipv6 = false;	# in the pods: SMC-R supports IPv4 only
 *	      survey = "15s";	# interval between counts of the sockets
 *	    };
 *	  };
 *	};
 */
#include <linux/capability.h>
#include <jansson.h>
#include <rdmad/module.h>

#include "driver/driver-report.h"
#include "nic/nics.h"
#include "settings.h"
#include "smc/smc.h"

#define LOCK "erdma-executor.lock"

typedef struct {
	RdmadModule *self;
	ErdmaSettings *settings;
	ErdmaDriver *driver;
	RdmadExecutor *executor;
	ErdmaNics *nics;
	ErdmaSmc *smc;
} Erdma;

static gpointer erdma_create(RdmadModule *self, const RdmadConfigNode *config, GError **error)
{
	ErdmaSettings *settings = erdma_settings_parse(config, error);
	Erdma *erdma;

	if (!settings)
		return NULL;
	erdma = g_new0(Erdma, 1);
	erdma->self = self;
	erdma->settings = settings;
	return erdma;
}

static gboolean erdma_start(gpointer state, GError **error)
{
	Erdma *erdma = state;
	RdmadModule *self = erdma->self;
	g_autofree char *lock = g_build_filename(
		rdmad_module_state_dir(self) ?: rdmad_module_run_dir(self), LOCK, NULL);

	erdma->executor =
		rdmad_executor_new(rdmad_module_loop(self), self, rdmad_module_keeper(self), lock);
	erdma->driver = erdma_driver_new(self, erdma->settings->driver, error);
	if (erdma->driver)
		erdma->nics = erdma_nics_new(self, erdma->settings->nics, erdma->executor, error);
	if (erdma->nics)
		erdma->smc = erdma_smc_new(self, erdma->settings->smc, erdma->executor, error);
	return erdma->smc != NULL;
}

static gboolean erdma_reload(gpointer state, const RdmadConfigNode *config, GError **error)
{
	Erdma *erdma = state;
	ErdmaSettings *settings = erdma_settings_parse(config, error);

	if (!settings)
		return FALSE;
	if (!erdma_driver_declare(erdma->self, settings->driver, error)) {
		erdma_settings_free(settings);
		return FALSE;
	}
	erdma_driver_reload(erdma->driver, settings->driver);
	erdma_nics_reload(erdma->nics, settings->nics);
	erdma_smc_reload(erdma->smc, settings->smc);
	erdma_settings_free(erdma->settings);
	erdma->settings = settings;
	return TRUE;
}

/* Also cleans up after a failed start. */
static void erdma_stop(gpointer state)
{
	Erdma *erdma = state;

	g_clear_pointer(&erdma->smc, erdma_smc_free);
	g_clear_pointer(&erdma->nics, erdma_nics_free);
	g_clear_pointer(&erdma->executor, rdmad_executor_free);
	g_clear_pointer(&erdma->driver, erdma_driver_free);
}

static void erdma_destroy(gpointer state)
{
	Erdma *erdma = state;

	erdma_stop(erdma);
	erdma_settings_free(erdma->settings);
	g_free(erdma);
}

static gboolean erdma_ready(gpointer state, char **why)
{
	const Erdma *erdma = state;

	return erdma_driver_ready(erdma->driver, why);
}

static json_t *erdma_status(gpointer state)
{
	const Erdma *erdma = state;

	return json_pack("{s:o, s:o, s:o}", "driver",
			 erdma_driver_status(erdma->driver, erdma->settings->driver), "nics",
			 erdma_nics_status(erdma->nics), "smc", erdma_smc_status(erdma->smc));
}

static void erdma_doctor(gpointer state, json_t *findings)
{
	const Erdma *erdma = state;

	erdma_driver_doctor(erdma->driver, erdma->settings->driver, findings);
	erdma_nics_doctor(erdma->nics, findings);
	erdma_smc_doctor(erdma->smc, erdma->driver, findings);
}

static const RdmadCapability executor_capabilities[] = {
	{ CAP_NET_ADMIN, "changes links, addresses, routes, rules, sysctls and SMC's tables" },
	{ CAP_SYS_ADMIN, "enters network namespaces of pods, and the mount namespace of the host" },
	{ CAP_SYS_CHROOT, "runs programs in the mount namespace of the host" },
	{ CAP_SYS_MODULE, "loads the driver" },
	{ CAP_SYS_PTRACE, "puts the installer into a cgroup of the host" },
	{ 0 },
};

static const RdmadCommandColumn smc_columns[] = {
	{ "NAMESPACE", "namespace" }, { "POD", "pod" },	      { "STATE", "state", TRUE },
	{ "LOCAL", "local", TRUE },   { "PEER", "peer" },     { "MODE", "mode" },
	{ "UID", "uid", TRUE },	      { "REASON", "reason" }, { NULL, NULL },
};

static const RdmadCommand commands[] = {
	{ .name = "smc",
	  .summary = "SMC sockets of the pods with SMC-R, and the reasons for TCP",
	  .path = "/api/v1/smc",
	  .rows = "sockets",
	  .columns = smc_columns },
	{ 0 },
};

RDMAD_MODULE_DEFINE("erdma", .description = "Driver, NICs and SMC-R of elastic RDMA",
		    .create = erdma_create, .start = erdma_start, .reload = erdma_reload,
		    .stop = erdma_stop, .destroy = erdma_destroy, .ready = erdma_ready,
		    .status = erdma_status, .doctor = erdma_doctor, .commands = commands,
		    .executor_capabilities = executor_capabilities);
