/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration of the module; the options are described in metrics.c. */
#pragma once

#include <rdmad/config.h>
#include <rdmad/counters.h>

#include "snapshot.h"

#define METRICS_LISTEN "127.0.0.1:9889"

typedef struct {
	char **listen;	  /* addresses, each once; may be empty */
	char *web_config; /* NULL: neither TLS nor passwords */
	int names;	  /* NamesMode */
	char **devices;	  /* patterns of device names; NULL: all */
	gboolean counters, netdevs, users, gids, page;
	guint64 timeout_ms;
	char *pod_log_dir;
	gint64 open_files;
} MetricsSettings;

/* `config` NULL: the defaults. */
MetricsSettings *metrics_settings_parse(const RdmadConfigNode *config, GError **error);
void metrics_settings_free(MetricsSettings *settings);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(MetricsSettings, metrics_settings_free)

/* Returns the parts of a device to read. */
RdmadReadWhat metrics_settings_what(const MetricsSettings *settings);
