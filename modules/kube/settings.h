/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <rdmad/config.h>

typedef struct {
	char *server; /* "https://..", without a slash at the end; never NULL once parsed */
	char *token_file, *ca_file;
	char *node; /* never NULL once parsed */
	guint64 connect_timeout_ms, timeout_ms;
	guint64 watch_timeout_ms, watch_quiet_ms;
	guint64 retry_ms, retry_max_ms;
	char **labels; /* patterns of those that become attributes */
	gboolean publish;
	char *prefix; /* "rdmad.io/" */
	char **rails; /* patterns of device names */
	guint64 publish_interval_ms;
	gboolean events;
	guint64 event_interval_ms;
} KubeSettings;

/* RDMAD_ERROR_CONFIG, also where the environment lacks what is not configured. */
KubeSettings *kube_settings_parse(const RdmadConfigNode *config, GError **error);
void kube_settings_free(KubeSettings *settings);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(KubeSettings, kube_settings_free)
