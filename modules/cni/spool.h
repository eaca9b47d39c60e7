/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The spool: DELs that rdmad-cni recorded while no daemon ran
 *
 * shim/spool.c writes the records.  Each is taken once; one whose DEL failed is taken again after
 * cni_spool_again(), unless cni_spool_forget() came before.
 */
#pragma once

#include <rdmad/module.h>

#include "message.h"

typedef struct CniSpool CniSpool;

typedef struct {
	/* Takes the DEL of a record, until cni_spool_end(); `again`: after it has failed.  Returns
	 * the key of its attachment, which the spool frees, or NULL if the record has no effect and
	 * is to be removed. Must not call cni_spool_end(). */
	char *(*take)(const char *name, const CniMessage *record, gboolean again, gpointer data);
	/* cni_spool_is_read() returns TRUE after it has returned FALSE. */
	void (*is_read)(gpointer data);
} CniSpoolOps;

CniSpool *cni_spool_new(RdmadModule *self, const char *directory, const CniSpoolOps *ops,
			gpointer data);
void cni_spool_free(CniSpool *spool);

/* Takes the records, some in each turn of the loop.  Returns FALSE until there is none to take, and
 * while the spool or a record cannot be read, which is tried again. */
gboolean cni_spool_is_read(CniSpool *spool);
/* Ends the DEL of a record, and removes the record if it is done.  Returns FALSE if the record
 * stays, as that of a DEL that failed. */
gboolean cni_spool_end(CniSpool *spool, const char *name, gboolean is_done);
/* Makes the DELs that failed be taken again. */
void cni_spool_again(CniSpool *spool);
/* Removes the records of DELs of that attachment that failed: an ADD has made it again since. */
void cni_spool_forget(CniSpool *spool, const char *attachment);
guint cni_spool_count(const CniSpool *spool);
