/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Module erdma: elastic RDMA of Alibaba Cloud
 *
 *	modules = {
 *	  erdma = {
 *	    driver = {
 *	      prefer_driver = "auto";	# "default", "compat", "ofed"; auto: the mode that it is loaded in
 *	      load_with = "auto";	# "kmod": the host's modprobe; "finit": finit_module(2); "none": never
 *	      module = "erdma";
 *	      pci_device = "1ded:107f";	# nodes without one are left alone; "": every node
 *	      modprobe = "/sbin/modprobe";	# on the host
 *	      load_timeout = "1m";
 *	      install = {
 *	        command = ( );		# on the host, where the driver is missing; nothing is downloaded
 *	        environment = ( );	# "NAME=value"
 *	        package = "";		# the command's standard input
 *	        sha256 = "";		# of the package, else of the command's program
 *	        timeout = "1h";
 *	      };
 *	    };
 *	  };
 *	};
 */
#include <rdmad/module.h>

#include "settings.h"

typedef struct {
	RdmadModule *self;
	ErdmaSettings *settings;
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
	return TRUE;
}

static gboolean erdma_reload(gpointer state, const RdmadConfigNode *config, GError **error)
{
	Erdma *erdma = state;
	ErdmaSettings *settings = erdma_settings_parse(config, error);

	if (!settings)
		return FALSE;
	erdma_settings_free(erdma->settings);
	erdma->settings = settings;
	return TRUE;
}

/* Also what a start that failed has left. */
static void erdma_stop(gpointer state)
{
}

static void erdma_destroy(gpointer state)
{
	Erdma *erdma = state;

	erdma_stop(erdma);
	erdma_settings_free(erdma->settings);
	g_free(erdma);
}

RDMAD_MODULE_DEFINE("erdma", .description = "Driver, NICs and SMC-R of elastic RDMA",
		    .create = erdma_create, .start = erdma_start, .reload = erdma_reload,
		    .stop = erdma_stop, .destroy = erdma_destroy);
