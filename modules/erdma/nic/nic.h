/* SPDX-License-Identifier: Apache-2.0 */
/* One NIC as people see it, and when it is tried again. */
#pragma once

#include <jansson.h>

#include "nic/plan.h"

typedef struct {
	char *id, *device, *netdev; /* the last may be NULL */
	RdmadMac mac;
	ErdmaNicState state;
	char *reason, *note;	  /* may be NULL */
	char *error;		  /* why the last steps failed; NULL: they did not */
	ErdmaNicNetwork *network; /* NULL: not known */
	guint mtu;
	gboolean seen; /* by the last look */
	/* Steps that failed, or that were done and changed nothing, since it was ready. */
	guint failures, rounds;
	guint contests; /* repairs, each soon after the other */
	guint64 repairs;
	gint64 repaired_us, not_before_us; /* monotonic */
	/* The metadata service. */
	char *metadata_error; /* NULL: it did not fail */
	guint metadata_failures;
	gint64 metadata_not_before_us;
} ErdmaNic;

ErdmaNic *erdma_nic_new(const ErdmaMatch *match);
void erdma_nic_free(gpointer nic);
/* Takes the state from the plan, but not the steps.  TRUE: another state than before. */
gboolean erdma_nic_take_plan(ErdmaNic *nic, const ErdmaMatch *match, const ErdmaPlan *plan);
/* Steps are about to be done; `repair`: to what was complete before. */
void erdma_nic_began(ErdmaNic *nic, gboolean repair, gint64 now_us);
/* `error` NULL: all were done.  TRUE: it failed for a reason that is new. */
gboolean erdma_nic_ended(ErdmaNic *nic, const GError *error, gint64 now_us);
/* The same of the metadata service. */
gboolean erdma_nic_metadata_ended(ErdmaNic *nic, const GError *error, gint64 now_us);
/* Somebody undoes what rdmad does. */
gboolean erdma_nic_is_contested(const ErdmaNic *nic);
json_t *erdma_nic_json(const ErdmaNic *nic);
void erdma_nic_doctor(const ErdmaNic *nic, json_t *findings);
