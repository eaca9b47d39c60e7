/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <rdmad/config.h>

typedef struct {
	char *server; /* "https://..", without a trailing slash; not NULL after parsing */
	char *token_file, *ca_file;
	char *node; /* not NULL after parsing */
	guint64 connect_timeout_ms, timeout_ms;
	guint64 watch_timeout_ms, watch_quiet_ms;
	guint64 retry_ms, retry_max_ms;
	char **labels; /* patterns of the labels that become attributes */
	gboolean publish;
	char *prefix; /* "rdmad.io/" */
	char **rails; /* patterns of device names */
	guint64 publish_interval_ms;
	gboolean events;
	guint64 event_interval_ms;
} KubeSettings;

/* RDMAD_ERROR_CONFIG, also if a value is neither configured nor in the environment. */
KubeSettings *kube_settings_parse(const RdmadConfigNode *config, GError **error);
void kube_settings_free(KubeSettings *settings);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(KubeSettings, kube_settings_free)
