/* SPDX-License-Identifier: Apache-2.0 */
/* The machine: a tree of files as the kernel shows it, with devices that appear and disappear, and
 * the cgroups of pods */
#pragma once

#include <glib.h>

#define MACHINE_DEVICES 4u

/* Makes the tree of node.machine below `root`, once per process. */
void machine_make(const char *root);
/* Restores the initial tree, without pods, in a new boot. */
void machine_begin(void);

gboolean machine_has(guint device);
gboolean machine_is_up(guint device);
/* The kernel removes the files of the device, or makes new ones, whose counters start at 0. */
void machine_plug(guint device, gboolean in);
/* Adds packets to the counters of a device. */
void machine_count(guint device, guint64 packets);
/* Returns the value of these counters at that time of this run; 0: it was not there. */
guint64 machine_counted(guint device, gint64 at_us);
/* Returns the time at which the device appeared. */
gint64 machine_plugged_us(guint device);
void machine_set_port(guint device, gboolean up);
/* Shows the network interface of a device on the host, or hides it. */
void machine_show_netdev(guint device, gboolean shown);
gboolean machine_shows_netdev(guint device);
/* Returns the path of the tree. */
const char *machine_root(void);
/* Returns the path of boot_id. */
const char *machine_boot_id(void);
/* Changes boot_id and removes all cgroups. */
void machine_reboot(void);

/* Returns its ID.  `group` 0: it leads its own process group.  `environment` is one variable.  A
 * pod's process that has ended is only no longer in a cgroup. */
guint machine_process_begin(guint group, const char *environment);
/* Removes the process from /proc. */
void machine_process_end(guint pid);

/* Creates a pod's cgroup and log directory, as kubelet does, then its first process. */
void machine_pod_begin(const char *uid, const char *name);
void machine_pod_populate(const char *uid);
/* Ends the last process of a pod; kubelet removes the cgroup some time later. */
void machine_pod_empty(const char *uid);
void machine_pod_end(const char *uid);
/* Removes the logs, as kubelet does with the pod's object. */
void machine_pod_forget(const char *uid, const char *name);
