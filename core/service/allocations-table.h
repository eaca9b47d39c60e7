/* SPDX-License-Identifier: Apache-2.0 */
/* The table of allocations in memory, shared by the files named allocations*.c. */
#pragma once

#include "base/watch.h"
#include "service/allocations-private.h"
#include "service/allocation-private.h"

/* An allocation in the table.  Times are monotonic. */
typedef struct {
	const RdmadAllocation *allocation;
	GList node;	 /* in RdmadAllocations.order */
	gint64 since_us; /* when it was granted or loaded */
	gint64 named_us; /* when its pod became known; 0: unknown */
	gint64 shown_us; /* time of the last list that showed it; 0: none yet */
	/* Time of the first of the latest lists that lacked it, and their reason (static text).
	 * 0: the last list showed it. */
	gint64 missing_us;
	const char *missing;
	gboolean carried; /* across a restart of the node; no list has shown it since */
	/* Time of the first of the latest lists that lacked its slots although its pod is alive; 0:
	 * none.  After RDMAD_ALLOCATION_MISSING_US of such lists, kubelet has forgotten it. */
	gint64 lacking_us;
	gboolean forgotten;
	/* Number of the youngest allocation when the pod's cgroup was found; 0: unknown.  An older
	 * one may be the same pod's, though it has no cgroup yet. */
	gint64 found_number;
	gboolean outlives; /* rdmad_allocations_outlives() was TRUE, without a doubt */
	gboolean leaving;  /* ends with a grant that is being written */
	/* While the pod is unknown: the log directories of the pods that were listed before the
	 * grant (NULL: unknown), and a set of "namespace/pod", the candidates after kubelet lost
	 * its checkpoint. */
	GHashTable *earlier, *suspects;
} RdmadAllocationRecord;

/* Pods of the last list, to judge holders.  `pods` NULL: no list yet. */
typedef struct {
	GHashTable *pods, *logs; /* see pod-list.h */
	char *kubelet;
	gint64 asked_us;
} RdmadAllocationsEvidence;

struct RdmadAllocations {
	RdmadState *state;
	RdmadEventLog *event_log;
	GHashTable *by_id; /* id -> RdmadAllocationRecord, owned */
	/* RdmadSlot -> the newest RdmadAllocationRecord; keys point into its allocation */
	GHashTable *by_slot;
	/* RdmadSlot -> GPtrArray of RdmadAllocationRecord, oldest first: slots of several
	 * allocations */
	GHashTable *shared;
	GHashTable *by_device; /* device id -> see allocations.c */
	/* resource -> RdmadAllocationTotals: kept up to date, because each scrape reads them */
	GHashTable *totals;
	GQueue order;	    /* oldest first */
	gint64 last_number; /* of an allocation, even if it could not be written */
	/* RdmadSlot -> set of the pods' log directories at that time: slots of allocations that
	 * ended although kubelet listed them.  A pod that has another directory since is a later
	 * one of the same name.  NULL in the place of the set: not known, or a module or a grant
	 * ended the allocation. */
	GHashTable *ended;
	GHashTable *resolvers; /* resource -> see allocations-reconcile.c */
	char *boot, *kubelet;  /* the current ones; NULL: unknown */
	char *boot_kubelet;    /* the first of this boot; NULL: not seen */
	RdmadAllocationsEvidence evidence;
	RdmadPodLifeFunc life; /* NULL: unknown */
	gpointer life_data;
	GArray *news;	    /* see allocations-news.c */
	char *problem;	    /* error of the last write, or NULL */
	gboolean displaced; /* the database file may differ from this table */
	gint64 tried_us;    /* monotonic time of the last write */
	RdmadStat *writes, *durations;
	RdmadWatchList watches;
};

/* Returns the newest allocation that has the slot, or NULL. */
RdmadAllocationRecord *rdmad_allocations_record(RdmadAllocations *allocations, const char *resource,
						const char *slot);
typedef void (*RdmadAllocationRecordFunc)(RdmadAllocationRecord *record, gpointer data);
/* Calls `fn` for each allocation that has the slot, oldest first.  `fn` must not change the
 * table. */
void rdmad_allocations_holders(RdmadAllocations *allocations, const char *resource,
			       const char *slot, RdmadAllocationRecordFunc fn, gpointer data);
/* Take the reference over. */
void rdmad_allocations_insert(RdmadAllocations *allocations, const RdmadAllocation *allocation);
void rdmad_allocations_set(RdmadAllocations *allocations, RdmadAllocationRecord *record,
			   const RdmadAllocation *allocation);
void rdmad_allocations_remove(RdmadAllocations *allocations, RdmadAllocationRecord *record);

/* Add and remove the slots in `ended`. */
void rdmad_allocations_ended_add(RdmadAllocations *allocations, const RdmadAllocation *allocation,
				 GHashTable *logs);
void rdmad_allocations_ended_remove(RdmadAllocations *allocations,
				    const RdmadAllocation *allocation);

/* Deletes `gone` (RdmadAllocationRecord) and writes `put` (RdmadAllocation) in one transaction.
 * Does not change the table in memory. */
gboolean rdmad_allocations_write(RdmadAllocations *allocations, const GPtrArray *gone,
				 const GPtrArray *put, GError **error);

/* Posts to the event log and notifies the watchers on the next turn, so that no response waits for
 * a line of the log.  `before` NULL: granted; `now` NULL: ended, for `reason`. */
void rdmad_allocations_news_add(RdmadAllocations *allocations, const RdmadAllocation *before,
				const RdmadAllocation *now, const char *reason);
/* Reports that a slot of a living holder was assigned to another allocation. */
void rdmad_allocations_news_overlap(RdmadAllocations *allocations, const RdmadAllocation *holder,
				    const RdmadAllocation *allocation);
void rdmad_allocations_news_forgotten(RdmadAllocations *allocations,
				      const RdmadAllocation *allocation);
void rdmad_allocations_news_init(RdmadAllocations *allocations, RdmadLoop *loop);
void rdmad_allocations_news_clear(RdmadAllocations *allocations);

/* ---- allocations-holder.c ---- */

typedef enum {
	RDMAD_HOLDER_OVER,     /* the allocation has ended */
	RDMAD_HOLDER_SHARES,   /* may be an earlier container of the pod that is being admitted */
	RDMAD_HOLDER_LIVES,    /* alive, and kubelet has forgotten it */
	RDMAD_HOLDER_DOUBTFUL, /* kubelet may have forgotten it, or its pod is a later one of the
				* name: another list decides */
} RdmadHolder;

/* Judges an allocation one of whose slots kubelet assigns to another holder at `asked_us`.  Sets
 * `why` to the reason for RDMAD_HOLDER_OVER. */
RdmadHolder rdmad_allocations_judge(RdmadAllocations *allocations,
				    const RdmadAllocationRecord *record, gint64 asked_us,
				    const char **why);
/* Judges an allocation that has a device of the grant under another slot, of which kubelet's
 * request says nothing.  RDMAD_HOLDER_OVER: it is still to be ended. */
RdmadHolder rdmad_allocations_judge_elsewhere(RdmadAllocations *allocations,
					      const RdmadAllocation *allocation, gint64 asked_us);
RdmadPodLife rdmad_allocations_life(RdmadAllocations *allocations,
				    const RdmadAllocation *allocation);
/* Returns TRUE if the pod of the record lives, and the later allocation, which has its name, is
 * another pod's, or may be by a list of that time: the deletion of the first was forced. */
gboolean rdmad_allocations_outlives(RdmadAllocations *allocations, RdmadAllocationRecord *record,
				    const RdmadAllocationRecord *later, gint64 asked_us);
/* Returns TRUE if this kubelet has neither assigned nor listed the allocation, which is of this
 * boot: its checkpoint may lack it.  `kubelet` NULL: its socket is missing, as while it is
 * restarted; only a node without podresources had none when it assigned. */
gboolean rdmad_allocations_kubelet_is_newer(RdmadAllocations *allocations,
					    const RdmadAllocation *allocation, const char *kubelet);
/* Returns "pod ns/name, container c, since 2026-11-22T10:00:00Z"; g_free(). */
char *rdmad_allocations_holder_text(const RdmadAllocation *allocation);
void rdmad_allocations_evidence_take(RdmadAllocations *allocations, const RdmadPodList *list);
void rdmad_allocations_evidence_clear(RdmadAllocations *allocations);

GHashTable *rdmad_allocations_resolvers_new(void);
guint rdmad_allocations_resolvers_reap(RdmadAllocations *allocations, const RdmadModule *owner);
