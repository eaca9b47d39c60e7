/* SPDX-License-Identifier: Apache-2.0 */
/* The table of claims in memory, shared by the files named claims*.c. */
#pragma once

#include "base/watch-private.h"
#include "service/claims-private.h"
#include "service/token.h"

/* A claim in its place.  Times are monotonic. */
typedef struct {
	const RdmadClaim *claim;
	GList node;	   /* in RdmadClaims.order */
	gint64 since_us;   /* granted or loaded */
	gint64 shown_us;   /* the last list that showed it; 0: none yet */
	gint64 missing_us; /* the first of the lists in a row that did not show it; 0: shown */
	gboolean carried;  /* over a restart of the node; no list has shown it since */
	gint64 lacking_us; /* the first of the lists in a row that lacked the tokens of its pod, which
			    * lives; 0: none did */
	gboolean forgotten; /* two of them did, apart: kubelet does not know that it has them */
	/* Sets of "namespace/pod", while the pod is not known: those that were listed before the grant
	 * (NULL: nobody knows), and those that may be it after kubelet has forgotten. */
	GHashTable *earlier, *suspects;
} RdmadClaimSlot;

/* What the last list said of pods, to judge holders by.  `pods` NULL: there was none. */
typedef struct {
	GHashTable *pods; /* see pod-list.h */
	char *kubelet;
	gint64 asked_us;
} RdmadClaimsEvidence;

struct RdmadClaims {
	RdmadState *state;
	RdmadJournal *journal;
	GHashTable *by_id; /* id -> RdmadClaimSlot, owned */
	GHashTable *
		by_token; /* RdmadToken -> the youngest RdmadClaimSlot; keys point into its claim */
	GHashTable
		*shared; /* RdmadToken -> GPtrArray of RdmadClaimSlot, the oldest first: tokens that
			     * more than one claim has */
	GQueue order;	 /* oldest first */
	GHashTable *ended; /* set of RdmadToken: a module ended them, kubelet may still list them */
	GHashTable *resolvers; /* resource -> see claims-reconcile.c */
	char *boot, *kubelet;  /* the present ones; NULL: not known */
	RdmadClaimsEvidence evidence;
	RdmadPodLifeFunc life; /* NULL: nobody knows */
	gpointer life_data;
	GArray *news;	 /* see claims-news.c */
	char *problem;	 /* of the last write, or NULL */
	gboolean adrift; /* the database in its place may hold another table than this */
	gint64 tried_us; /* monotonic, when that was */
	RdmadMeter *writes, *durations;
	RdmadWatchList watches;
	RdmadEvent *tell;
};

/* The youngest claim that has the token, or NULL. */
RdmadClaimSlot *rdmad_claims_slot(RdmadClaims *claims, const char *resource, const char *token);
typedef void (*RdmadClaimSlotFunc)(RdmadClaimSlot *slot, gpointer data);
/* Every claim that has the token, the oldest first; `fn` changes nothing. */
void rdmad_claims_holders(RdmadClaims *claims, const char *resource, const char *token,
			  RdmadClaimSlotFunc fn, gpointer data);
/* Take the reference over. */
void rdmad_claims_insert(RdmadClaims *claims, const RdmadClaim *claim);
void rdmad_claims_set(RdmadClaims *claims, RdmadClaimSlot *slot, const RdmadClaim *claim);
void rdmad_claims_remove(RdmadClaims *claims, RdmadClaimSlot *slot);

void rdmad_claims_write_init(RdmadClaims *claims, RdmadLoop *loop);
/* Sets the problem of a disk that takes nothing before the first claim meets it. */
void rdmad_claims_write_try(RdmadClaims *claims);
/* One transaction: `gone` are RdmadClaimSlot *, `put` RdmadClaim *; all of it is written or nothing.
 * The table in memory stays as it is. */
gboolean rdmad_claims_write(RdmadClaims *claims, const GPtrArray *gone, const GPtrArray *put,
			    GError **error);

/* Tells the journal now and the watchers on the next turn.  `before` NULL: granted; `now` NULL:
 * ended, for `reason`. */
void rdmad_claims_news_add(RdmadClaims *claims, const RdmadClaim *before, const RdmadClaim *now,
			   const char *reason);
/* The token of a claim whose holder lives was given to another. */
void rdmad_claims_news_overlap(RdmadClaims *claims, const RdmadClaim *holder,
			       const RdmadClaim *claim);
void rdmad_claims_news_forgotten(RdmadClaims *claims, const RdmadClaim *claim);
void rdmad_claims_news_init(RdmadClaims *claims, RdmadLoop *loop);
void rdmad_claims_news_clear(RdmadClaims *claims);

/* claims-holder.c: does the holder of a token live? */

typedef enum {
	RDMAD_HOLDER_OVER,     /* it has ended */
	RDMAD_HOLDER_SHARES,   /* maybe an earlier container of the pod that is admitted now */
	RDMAD_HOLDER_LIVES,    /* and kubelet has forgotten it */
	RDMAD_HOLDER_DOUBTFUL, /* kubelet may have forgotten it: a fresh list can tell */
} RdmadHolder;

/* When kubelet, asking at `asked_us`, gives a token of the claim to somebody.  `why` gets the reason
 * for which it is over. */
RdmadHolder rdmad_claims_judge(RdmadClaims *claims, const RdmadClaimSlot *slot, gint64 asked_us,
			       const char **why);
RdmadPodLife rdmad_claims_life(RdmadClaims *claims, const RdmadClaim *claim);
/* This kubelet has not given or listed it, and it is of this boot: its books may lack it. */
gboolean rdmad_claims_kubelet_is_newer(RdmadClaims *claims, const RdmadClaim *claim,
				       const char *kubelet);
/* "pod ns/name, container c, since 2026-11-22T10:00:00Z"; g_free(). */
char *rdmad_claims_holder_text(const RdmadClaim *claim);
void rdmad_claims_evidence_take(RdmadClaims *claims, const RdmadPodList *list);
void rdmad_claims_evidence_clear(RdmadClaims *claims);

GHashTable *rdmad_claims_resolvers_new(void);
guint rdmad_claims_resolvers_reap(RdmadClaims *claims, const RdmadModule *owner);
