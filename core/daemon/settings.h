/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings: the core's values of a configuration, overridden by the command line
 *
 * The core's keys, their bounds and defaults are in settings.c.
 */
#pragma once

#include "base/log.h"
#include "base/seccomp.h"
#include "config/config-private.h"
#include "daemon/options.h"
#include "http/http.h"
#include "module/host.h"

typedef struct {
	RdmadConfig *config;
	char *path;	/* NULL: no file */
	char *instance; /* see instance.h */
	RdmadLogLevel log_level;
	RdmadLogFormat log_format;
	GHashTable *log_topics; /* topic -> GINT_TO_POINTER(RdmadLogLevel) */
	GHashTable *attributes; /* name -> value */
	char *run_dir, *module_dir, *kubelet_dir;
	char *state_dir; /* NULL: no persistent state */
	RdmadHttpLimits http;
	char **http_hosts;  /* never NULL */
	int seccomp;	    /* RdmadSeccomp */
	GPtrArray *modules; /* RdmadModuleEntry *, in the order of their start */
} RdmadSettings;

/* RDMAD_ERROR_CONFIG: an error in the files; RDMAD_ERROR_NOT_FOUND: the file does not exist;
 * RDMAD_ERROR_FAILED: a file or directory could not be read. */
RdmadSettings *rdmad_settings_load(const RdmadOptions *options, GError **error);
void rdmad_settings_free(RdmadSettings *settings);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadSettings, rdmad_settings_free)

/* Applies the settings to the log. */
void rdmad_settings_apply_log(const RdmadSettings *settings);
/* Gives `now` the values of `before` that need a restart. */
void rdmad_settings_keep(RdmadSettings *now, const RdmadSettings *before);
/* Returns the keys whose changes in `now` need a restart ("run_dir, http"), or NULL. */
char *rdmad_settings_need_restart(const RdmadSettings *before, const RdmadSettings *now);
