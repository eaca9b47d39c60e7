/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's command line */
#pragma once

#include <rdmad/types.h>

typedef enum {
	RDMAD_ACTION_RUN,
	RDMAD_ACTION_CHECK,
	RDMAD_ACTION_PRINT_CONFIG,
	RDMAD_ACTION_PRIVILEGES,
	RDMAD_ACTION_VERSION,
	RDMAD_ACTION_HELP,
} RdmadAction;

/* An option that was not given is NULL or -1; directories are absolute. */
typedef struct {
	RdmadAction action;
	char *config;
	char **modules; /* NULL: the modules of the configuration */
	char *module_dir, *profile_dir, *sysroot, *run_dir, *state_dir, *kubelet_dir;
	int log_level;	/* RdmadLogLevel */
	int log_format; /* RdmadLogFormat */
	char *instance;
	guint lock_wait_s;
	gboolean take_over;    /* from a running rdmad */
	gboolean any_instance; /* of another instance too */
} RdmadOptions;

/* RDMAD_ERROR_INVALID has a message for the user. */
RdmadOptions *rdmad_options_new(int argc, char **argv, GError **error);
void rdmad_options_free(RdmadOptions *options);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadOptions, rdmad_options_free)

/* Returns the text for --help, without the client commands. */
const char *rdmad_options_help(void);

/* Returns whether a module may have this name: [a-z0-9-]{1,32}. */
gboolean rdmad_module_name_valid(const char *name);
