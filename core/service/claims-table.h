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
} RdmadClaimSlot;

struct RdmadClaims {
	RdmadState *state;
	RdmadJournal *journal;
	GHashTable *by_id;    /* id -> RdmadClaimSlot, owned */
	GHashTable *by_token; /* RdmadToken -> RdmadClaimSlot; keys point into the claim */
	GQueue order;	      /* oldest first */
	GHashTable *ended; /* set of RdmadToken: a module ended them, kubelet may still list them */
	GHashTable *resolvers; /* resource -> see claims-reconcile.c */
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

RdmadClaimSlot *rdmad_claims_slot(RdmadClaims *claims, const char *resource, const char *token);
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
void rdmad_claims_news_init(RdmadClaims *claims, RdmadLoop *loop);
void rdmad_claims_news_clear(RdmadClaims *claims);

GHashTable *rdmad_claims_resolvers_new(void);
guint rdmad_claims_resolvers_reap(RdmadClaims *claims, const RdmadModule *owner);
