/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events on pods and on the Node, from entries of the event log about them
 *
 * Entries of one kind about one pod, device and resource, each within ten minutes of the one
 * before, are one Event with a count.  At most one Event is sent each `event_interval`.
 */
#pragma once

#include "client.h"

typedef struct KubeEvents KubeEvents;

KubeEvents *kube_events_new(RdmadModule *self, KubeClient *client, const KubeSettings *settings,
			    GError **error);
void kube_events_free(KubeEvents *events);
/* Drops the Events that wait if the settings no longer want any. */
void kube_events_reload(KubeEvents *events);
json_t *kube_events_status(const KubeEvents *events);
void kube_events_doctor(const KubeEvents *events, json_t *findings);

/* ---- pure ---- */

/* Returns "RdmaPortFlap" for "port-flap"; g_free().  NULL: the kind has no Events. */
char *kube_event_reason(const char *kind);
