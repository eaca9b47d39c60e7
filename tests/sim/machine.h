/* SPDX-License-Identifier: Apache-2.0 */
/* The machine: a tree of files as the kernel shows it, with devices that come and go, and the cgroups of pods. */
#pragma once

#include <glib.h>

#define MACHINE_DEVICES 4u

/* Makes the tree of node.machine below `root`, once in a process, from one of the kernel's at `workshop`. */
void machine_make(const char *root, const char *workshop);
/* As it was made, without pods, in a boot of its own. */
void machine_begin(void);

gboolean machine_has(guint device);
gboolean machine_is_up(guint device);
void machine_plug(guint device, gboolean in);
void machine_set_port(guint device, gboolean up);
/* Its network interface is in the host, or elsewhere. */
void machine_show_netdev(guint device, gboolean shown);
/* The file of the boot's id. */
const char *machine_boot_id(void);
/* Another boot_id, and no cgroup is left. */
void machine_reboot(void);

/* Its number.  One that has ended is only in no cgroup any more. */
guint machine_process_begin(void);

/* A pod's cgroup and its directory of logs, as kubelet makes them, then its first process. */
void machine_pod_begin(const char *uid, const char *name);
void machine_pod_populate(const char *uid);
/* Its last process ends, and some time later kubelet removes the cgroup. */
void machine_pod_empty(const char *uid);
void machine_pod_end(const char *uid);
/* Its logs go with the object. */
void machine_pod_forget(const char *uid, const char *name);
