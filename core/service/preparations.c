/* SPDX-License-Identifier: Apache-2.0 */
#include "service/preparations-private.h"

#include <rdmad/loop.h>

struct RdmadPreparations {
	RdmadLoop *loop;
	GPtrArray *preparers; /* RdmadPreparer */
	GPtrArray *begun;     /* RdmadPreparation, those that nobody cancelled */
};

struct RdmadPreparer {
	RdmadPreparations *preparations;
	RdmadModule *owner;
	RdmadPrepareFunc prepare;
	gpointer data;
	gboolean wants_sandbox;
};

/* Lives until the last preparer has finished its part, also when it was cancelled. */
struct RdmadPreparation {
	RdmadPreparations *preparations;
	RdmadModule *owner;
	guint parts; /* that are not finished */
	gboolean cancelled;
	RdmadEvent *told; /* calls `done` */
	void (*done)(const char *refusal, gpointer data);
	gpointer data;
	const RdmadSandbox *sandbox; /* during the calls of preparers */
	char *refusal;		     /* NULL: none */
};

RdmadPreparer *rdmad_preparations_add(RdmadPreparations *preparations, RdmadModule *owner,
				      RdmadPrepareFunc prepare, gpointer data)
{
	RdmadPreparer *preparer = g_new0(RdmadPreparer, 1);

	*preparer = (RdmadPreparer){ preparations, owner, prepare, data, FALSE };
	g_ptr_array_add(preparations->preparers, preparer);
	return preparer;
}

void rdmad_preparer_free(RdmadPreparer *preparer)
{
	if (preparer)
		g_ptr_array_remove(preparer->preparations->preparers, preparer);
}

gboolean rdmad_preparations_wanted(const RdmadPreparations *preparations)
{
	return preparations->preparers->len > 0;
}

void rdmad_preparer_want_sandbox(RdmadPreparer *preparer)
{
	preparer->wants_sandbox = TRUE;
}

gboolean rdmad_preparations_want_sandbox(const RdmadPreparations *preparations)
{
	for (guint i = 0; i < preparations->preparers->len; i++) {
		const RdmadPreparer *preparer = preparations->preparers->pdata[i];

		if (preparer->wants_sandbox)
			return TRUE;
	}
	return FALSE;
}

const RdmadSandbox *rdmad_preparation_sandbox(const RdmadPreparation *preparation)
{
	return preparation->sandbox;
}

void rdmad_preparation_forbid(RdmadPreparation *preparation, const char *why)
{
	/* It may be the same text. */
	char *copy = g_strdup(why);

	g_free(preparation->refusal);
	preparation->refusal = copy;
}

const char *rdmad_preparation_refusal(const RdmadPreparation *preparation)
{
	return preparation->refusal;
}

static void preparation_free(RdmadPreparation *preparation)
{
	rdmad_event_free(preparation->told);
	g_free(preparation->refusal);
	g_free(preparation);
}

static void preparation_done(gpointer data)
{
	RdmadPreparation *preparation = data;
	void (*const done)(const char *refusal, gpointer data) = preparation->done;
	const gpointer done_data = preparation->data;
	g_autofree char *refusal = g_steal_pointer(&preparation->refusal);

	g_ptr_array_remove_fast(preparation->preparations->begun, preparation);
	preparation_free(preparation);
	done(refusal, done_data);
}

void rdmad_preparation_finish(RdmadPreparation *preparation)
{
	g_assert(preparation->parts > 0);
	if (--preparation->parts > 0)
		return;
	if (preparation->cancelled)
		preparation_free(preparation);
	else
		rdmad_event_arm(preparation->told, 0);
}

RdmadPreparation *rdmad_preparations_begin(RdmadPreparations *preparations, RdmadModule *owner,
					   const RdmadAllocation *allocation,
					   const RdmadSandbox *sandbox,
					   void (*done)(const char *refusal, gpointer data),
					   gpointer data)
{
	RdmadPreparation *preparation = g_new0(RdmadPreparation, 1);
	const guint n = preparations->preparers->len;

	*preparation = (RdmadPreparation){ .preparations = preparations,
					   .owner = owner,
					   .parts = n + 1,
					   .done = done,
					   .data = data,
					   .sandbox = sandbox };
	/* The core's: a module that ends has its preparations cancelled, not its events alone. */
	preparation->told =
		rdmad_loop_add_timer(preparations->loop, NULL, preparation_done, preparation);
	g_ptr_array_add(preparations->begun, preparation);
	for (guint i = 0; i < n; i++) {
		const RdmadPreparer *preparer = preparations->preparers->pdata[i];

		preparer->prepare(allocation, preparation, preparer->data);
	}
	preparation->sandbox = NULL;
	rdmad_preparation_finish(preparation);
	return preparation;
}

void rdmad_preparation_cancel(RdmadPreparation *preparation)
{
	if (!preparation)
		return;
	g_ptr_array_remove_fast(preparation->preparations->begun, preparation);
	preparation->cancelled = TRUE;
	rdmad_event_disarm(preparation->told);
	if (preparation->parts == 0)
		preparation_free(preparation);
}

RdmadPreparations *rdmad_preparations_new(RdmadLoop *loop)
{
	RdmadPreparations *preparations = g_new0(RdmadPreparations, 1);

	preparations->loop = loop;
	preparations->preparers = g_ptr_array_new_with_free_func(g_free);
	preparations->begun = g_ptr_array_new();
	return preparations;
}

void rdmad_preparations_free(RdmadPreparations *preparations)
{
	if (!preparations)
		return;
	g_ptr_array_unref(preparations->preparers);
	g_ptr_array_unref(preparations->begun);
	g_free(preparations);
}

guint rdmad_preparations_reap(RdmadPreparations *preparations, const RdmadModule *owner)
{
	guint n = 0;

	for (guint i = preparations->begun->len; i-- > 0;) {
		RdmadPreparation *preparation = preparations->begun->pdata[i];

		if (preparation->owner == owner) {
			rdmad_preparation_cancel(preparation);
			n++;
		}
	}
	for (guint i = preparations->preparers->len; i-- > 0;) {
		const RdmadPreparer *preparer = preparations->preparers->pdata[i];

		if (preparer->owner == owner) {
			g_ptr_array_remove_index(preparations->preparers, i);
			n++;
		}
	}
	return n;
}
