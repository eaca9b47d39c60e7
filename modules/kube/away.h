/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices away: those that CNI has moved into the network namespace of a pod
 *
 * A device goes when a pod has it alone or has attachments, and its PCI function stays.  It is away
 * until it is in the inventory again, because its allocation may end before.
 */
#pragma once

#include <rdmad/module.h>

typedef struct KubeAway KubeAway;

KubeAway *kube_away_new(RdmadModule *self);
void kube_away_free(KubeAway *away);

/* Returns whether the device of this id is away. */
gboolean kube_away_has(KubeAway *away, const char *id);
/* Calls `fn` for each device that is away.  `device` NULL: it has not been here since the start,
 * and has this name in a pod, or none that is known. */
void kube_away_foreach(KubeAway *away,
		       void (*fn)(const RdmadDevice *device, const char *name, gboolean is_vf,
				  gpointer data),
		       gpointer data);
