/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The judge: the rules that must hold whatever happens
 *
 * It trusts kubelet and the pods: the responses they got, and what the processes have.  It compares
 * rdmad's table of allocations, database and files with that.
 */
#pragma once

#include <jansson.h>

#include "client.h"
#include "decisions.h"
#include "node.h"
#include "pods.h"
#include "runtime.h"

void judge_begin(Decisions *decisions);
void judge_end(void);
/* Records the first violation, which ends the run. */
void judge_fails(const char *format, ...) G_GNUC_PRINTF(1, 2);
/* Returns the violation, or NULL. */
const char *judge_verdict(void);
/* Returns the broken rule: the format of the violation. */
const char *judge_rule(void);

/* Call after a response of Allocate; `error`: it was rejected. */
void judge_answered(const Pod *pod, const Grant *grant, const char *error, gint64 took_us);
/* The same for PreStartContainer. */
void judge_pre_started(const Pod *pod, const char *error, gint64 took_us);
/* Call after an Allocate was abandoned: its allocation may stay until kubelet's list lacks it. */
void judge_unanswered(void);
/* Call when podresources stops answering, and when it answers again. */
void judge_podresources_hangs(gboolean hangs);
/* Call when kubelet forgets a pod whose processes run until then: it offers their devices to
 * others. */
void judge_forced(gint64 until_us);
/* Call when kubelet restarts.  Without its checkpoint, allocations that it had not named may stay
 * while a pod lives. */
void judge_restarted(gboolean forgets);
/* Call when a second rdmad has ended; `changes`: its changes of files. */
void judge_second(gboolean refused, guint64 changes);
/* Call when rdmad stops, or its executor or the kernel has failed: the results of an ADD may stay
 * until the next check. */
void judge_disturbed(void);
void judge_attached(const Sandbox *sandbox);
void judge_attach_refused(const Sandbox *sandbox, const char *error);
/* STATUS must not fail while rdmad answers. */
void judge_unready(const char *error);
void judge_checked(const Sandbox *sandbox, const char *error);
/* Call after each step. */
void judge_check(void);
/* Kubelet noticed the end of a stream later than rdmad waits for that. */
void judge_late_end(void);
/* Call every second while there are no faults. */
void judge_calm(void);
/* Call when there have been no faults for a long time. */
void judge_quiet(void);

/* ---- judge-devices.c ---- */

void judge_devices_begin(void);
void judge_devices_end(void);
/* Call after an Allocate has given the grant to the pod. */
void judge_devices_answered(const Pod *pod, const Grant *grant);
/* Returns whether another pod has, or had a moment ago, the device that the text of a refusal
 * names. */
gboolean judge_devices_have_holder(const Pod *pod, const char *text);
typedef struct {
	guint slots, healthy;
	/* Of the healthy ones, those that nobody holds on a device whose interface is still in the
	 * pod of an earlier holder: they are withheld, unless the database was lost meanwhile. */
	guint returning;
} ListCounts;
/* Returns what kubelet's list of the resource must have, by rdmad's table. */
ListCounts judge_devices_expect(const NodeResource *resource);

/* ---- judge-disk.c ---- */

/* Call once, before rdmad first opens its database. */
void judge_disk_make(void);
void judge_disk_begin(void);
void judge_disk_end(void);
/* Call between two lives, after a power failure if there was one. */
void judge_disk(void);
/* Returns a new reference, or NULL if the file is incomplete. */
json_t *judge_json(const char *path);

/* ---- judge-hand-over.c ---- */

void judge_hand_over_begin(void);
/* Call when a hand-over begins; `is_calm`: there was no fault for some time. */
void judge_hand_over_asked(gboolean is_calm);
/* Call when one of the two processes of a hand-over has ended, or is late: kubelet may notice
 * it. */
void judge_hand_over_failed(void);
/* Call after another fault: kubelet may have given up the connections that are handed over. */
void judge_hand_over_disturbed(void);
/* Call when rdmad has given a part. */
void judge_given(const char *part);
/* Call when a successor that has parts could not start, as without a working disk. */
void judge_successor_failed(void);
/* Returns how much longer a call may take that began so long ago. */
gint64 judge_hand_over_takes_us(gint64 took_us);
/* Returns whether a connection was handed over. */
gboolean judge_hand_over_was(void);
void judge_hand_over_look(void);

/* ---- judge-leases.c ---- */

/* Checks that each NIC of an attached pod has the address of its lease. */
void judge_leases_attached(const Sandbox *sandbox);
void judge_leases_look(void);
/* Call after a DEL has succeeded. */
void judge_leases_deleted(const Sandbox *sandbox);
/* Call after a GC has succeeded; the container had no sandbox when it began. */
void judge_leases_collected(const char *container);
void judge_leases_quiet(void);

/* ---- judge-network.c ---- */

/* Returns whether an allocation may have the name of another living pod (may_stay() in judge.c):
 * CNI finds allocations by that name. */
gboolean judge_names_are_doubtful(void);

void judge_network_begin(Decisions *decisions);
void judge_network_end(void);
/* Returns whether the last ADD of the pod was refused, to be tried again. */
gboolean judge_network_puts_off(const Pod *pod);
void judge_network_look(void);
void judge_network_quiet(void);
/* Call for each row that the last life has left in CNI's journal. */
void judge_network_journal(const char *container, const char *state);

/* ---- judge-plans.c ---- */

/* Call after PreStartContainer has allowed the start of the pod's next container. */
void judge_plans_started(const Pod *pod, gint64 took_us);
/* Each running container must have the settings of its own allocation. */
void judge_plans_quiet(void);

/* ---- judge-labels.c ---- */

/* The Node must have rdmad's labels, and no others of them. */
void judge_labels_quiet(void);

/* ---- judge-replies.c ---- */

/* Call after a request to rdmad's HTTP server. */
void judge_replied(const Reply *reply);

/* ---- judge-scrapes.c ---- */

void judge_scrapes_begin(void);
void judge_scrapes_end(void);
/* Call when counters of rdmad itself begin again at 0. */
void judge_scrapes_restarted(void);
/* Call after a response with metrics. */
void judge_scraped(const Reply *scrape);
/* Returns the number of responses with all devices. */
guint judge_scrapes_whole(void);
/* Call after two scrapes, between which nothing has happened. */
void judge_scrapes_quiet(void);

/* ---- judge-nics.c ---- */

/* The primary NIC must never change, nor lose traffic. */
void judge_nics_look(void);
/* Each other NIC of the host must be configured, and have what other programs have set. */
void judge_nics_quiet(void);
