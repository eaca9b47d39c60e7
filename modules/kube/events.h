/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events on pods and on the Node: entries of the event log that concern them
 *
 * Entries of one kind about one object within ten minutes are one Event with a count.  At most one request
 * each `event_interval`; entries of the time between are counted in the next.
 */
#pragma once

#include "client.h"

typedef struct KubeEvents KubeEvents;

KubeEvents *kube_events_new(RdmadModule *self, KubeClient *client, const KubeSettings *settings,
			    GError **error);
void kube_events_free(KubeEvents *events);
json_t *kube_events_status(const KubeEvents *events);
void kube_events_doctor(const KubeEvents *events, json_t *findings);

/* ---- pure ---- */

/* "RdmaPortFlap" for "port-flap"; g_free().  NULL: entries of the kind are not Events. */
char *kube_event_reason(const char *kind);
