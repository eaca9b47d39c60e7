/* SPDX-License-Identifier: Apache-2.0 */
/* One NIC: its state for users, and its retries */
#pragma once

#include <jansson.h>

#include "nic/plan.h"

typedef struct {
	char *id, *device, *netdev; /* netdev may be NULL */
	RdmadMac mac;
	ErdmaNicState state;
	char *reason, *note;	  /* may be NULL */
	char *error;		  /* why the last steps failed; NULL: no failure */
	ErdmaNicNetwork *network; /* NULL: unknown */
	guint mtu;
	gboolean seen;	  /* in the last look */
	gboolean is_away; /* in a pod: without an interface since the device was given to one */
	/* Failed runs of steps, and all runs of steps, since the NIC was ready. */
	guint failures, rounds;
	guint contests; /* consecutive repairs, each soon after the one before */
	guint64 repairs;
	gint64 repaired_us, not_before_us; /* monotonic */
	/* The metadata service. */
	char *metadata_error; /* NULL: no failure */
	guint metadata_failures;
	gint64 metadata_not_before_us;
} ErdmaNic;

ErdmaNic *erdma_nic_new(const ErdmaMatch *match);
void erdma_nic_free(gpointer nic);
/* Updates the NIC from a plan, without its steps.  Returns TRUE if the state changed. */
gboolean erdma_nic_update(ErdmaNic *nic, const ErdmaMatch *match, const ErdmaPlan *plan);
/* Records the start of steps; `repair`: the NIC was complete before. */
void erdma_nic_began(ErdmaNic *nic, gboolean repair, gint64 now_us);
/* Records the end of steps; `error` NULL: success.  Returns TRUE for a new error. */
gboolean erdma_nic_ended(ErdmaNic *nic, const GError *error, gint64 now_us);
/* Records the end of a metadata query, likewise. */
gboolean erdma_nic_metadata_ended(ErdmaNic *nic, const GError *error, gint64 now_us);
/* Returns whether another program keeps reverting rdmad's changes. */
gboolean erdma_nic_is_contested(const ErdmaNic *nic);
json_t *erdma_nic_json(const ErdmaNic *nic);
void erdma_nic_doctor(const ErdmaNic *nic, json_t *findings);
