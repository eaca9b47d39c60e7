/* SPDX-License-Identifier: Apache-2.0 */
/* The table of allocations in memory, shared by the files named allocations*.c. */
#pragma once

#include "base/watch.h"
#include "service/allocations-private.h"
#include "service/allocation-private.h"

/* An allocation in its place.  Times are monotonic. */
typedef struct {
	const RdmadAllocation *allocation;
	GList node;	     /* in RdmadAllocations.order */
	gint64 since_us;     /* granted or loaded */
	gint64 shown_us;     /* the last list that showed it; 0: none yet */
	gint64 missing_us;   /* the first of the lists in a row that did not show it; 0: shown */
	const char *missing; /* why those did not; static text */
	gboolean carried;    /* over a restart of the node; no list has shown it since */
	gint64 lacking_us; /* the first of the lists in a row that lacked the slots of its pod, which
			    * lives; 0: none did */
	gboolean leaving;  /* it ends with a grant that is being written */
	gboolean forgotten; /* two of them did, apart: kubelet does not know that it has them */
	/* While the pod is unknown: the directories of logs of the pods that were listed before the grant (NULL: not
	 * known), and a set of "namespace/pod", the candidates after kubelet lost its checkpoint. */
	GHashTable *earlier, *suspects;
} RdmadAllocationRecord;

/* Pods of the last list, to judge holders.  `pods` NULL: there was none. */
typedef struct {
	GHashTable *pods, *logs; /* see pod-list.h */
	char *kubelet;
	gint64 asked_us;
} RdmadAllocationsEvidence;

struct RdmadAllocations {
	RdmadState *state;
	RdmadEventLog *event_log;
	GHashTable *by_id; /* id -> RdmadAllocationRecord, owned */
	/* RdmadSlot -> the youngest RdmadAllocationRecord; keys point into its allocation */
	GHashTable *by_slot;
	/* RdmadSlot -> GPtrArray of RdmadAllocationRecord, the oldest first: slots that more than
	 * one allocation has */
	GHashTable *shared;
	/* resource -> RdmadAllocationTotals: a scrape asks for them, and must not walk the table */
	GHashTable *totals;
	GQueue order;	    /* oldest first */
	gint64 last_number; /* of an allocation, also of one that could not be written */
	GHashTable *ended;  /* set of RdmadSlot: a module ended them, kubelet may still list them */
	GHashTable *resolvers; /* resource -> see allocations-reconcile.c */
	char *boot, *kubelet;  /* the present ones; NULL: not known */
	char *boot_kubelet;    /* the first of this boot; NULL: it was not seen */
	RdmadAllocationsEvidence evidence;
	RdmadPodLifeFunc life; /* NULL: unknown */
	gpointer life_data;
	GArray *news;	 /* see allocations-news.c */
	char *problem;	 /* of the last write, or NULL */
	gboolean adrift; /* the database in its place may hold another table than this */
	gint64 tried_us; /* monotonic, when that was */
	RdmadStat *writes, *durations;
	RdmadWatchList watches;
};

/* The youngest allocation that has the slot, or NULL. */
RdmadAllocationRecord *rdmad_allocations_record(RdmadAllocations *allocations, const char *resource,
						const char *slot);
typedef void (*RdmadAllocationRecordFunc)(RdmadAllocationRecord *record, gpointer data);
/* Every allocation that has the slot, the oldest first; `fn` changes nothing. */
void rdmad_allocations_holders(RdmadAllocations *allocations, const char *resource,
			       const char *slot, RdmadAllocationRecordFunc fn, gpointer data);
/* Take the reference over. */
void rdmad_allocations_insert(RdmadAllocations *allocations, const RdmadAllocation *allocation);
void rdmad_allocations_set(RdmadAllocations *allocations, RdmadAllocationRecord *record,
			   const RdmadAllocation *allocation);
void rdmad_allocations_remove(RdmadAllocations *allocations, RdmadAllocationRecord *record);

/* One transaction: `gone` are RdmadAllocationRecord *, `put` RdmadAllocation *; all of it is written or nothing.
 * The table in memory stays as it is. */
gboolean rdmad_allocations_write(RdmadAllocations *allocations, const GPtrArray *gone,
				 const GPtrArray *put, GError **error);

/* Posts to the event log and notifies the watchers on the next turn: no answer waits for a line of the log.
 * `before` NULL: granted; `now` NULL:
 * ended, for `reason`. */
void rdmad_allocations_news_add(RdmadAllocations *allocations, const RdmadAllocation *before,
				const RdmadAllocation *now, const char *reason);
/* The slot of an allocation whose holder lives was given to another. */
void rdmad_allocations_news_overlap(RdmadAllocations *allocations, const RdmadAllocation *holder,
				    const RdmadAllocation *allocation);
void rdmad_allocations_news_forgotten(RdmadAllocations *allocations,
				      const RdmadAllocation *allocation);
void rdmad_allocations_news_init(RdmadAllocations *allocations, RdmadLoop *loop);
void rdmad_allocations_news_clear(RdmadAllocations *allocations);

/* allocations-holder.c: does the holder of a slot live? */

typedef enum {
	RDMAD_HOLDER_OVER,     /* it has ended */
	RDMAD_HOLDER_SHARES,   /* maybe an earlier container of the pod that is admitted now */
	RDMAD_HOLDER_LIVES,    /* and kubelet has forgotten it */
	RDMAD_HOLDER_DOUBTFUL, /* kubelet may have forgotten it: a fresh list decides */
} RdmadHolder;

/* The state of an allocation when kubelet, at `asked_us`, gives one of its slots to another holder.
 * `why` is set to the reason if it is over. */
RdmadHolder rdmad_allocations_judge(RdmadAllocations *allocations,
				    const RdmadAllocationRecord *record, gint64 asked_us,
				    const char **why);
RdmadPodLife rdmad_allocations_life(RdmadAllocations *allocations,
				    const RdmadAllocation *allocation);
/* This kubelet has not given or listed it, and it is of this boot: its books may lack it. */
gboolean rdmad_allocations_kubelet_is_newer(RdmadAllocations *allocations,
					    const RdmadAllocation *allocation, const char *kubelet);
/* "pod ns/name, container c, since 2026-11-22T10:00:00Z"; g_free(). */
char *rdmad_allocations_holder_text(const RdmadAllocation *allocation);
void rdmad_allocations_evidence_take(RdmadAllocations *allocations, const RdmadPodList *list);
void rdmad_allocations_evidence_clear(RdmadAllocations *allocations);

GHashTable *rdmad_allocations_resolvers_new(void);
guint rdmad_allocations_resolvers_reap(RdmadAllocations *allocations, const RdmadModule *owner);
