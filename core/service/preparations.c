/* SPDX-License-Identifier: Apache-2.0 */
#include "service/preparations-private.h"

#include <rdmad/loop.h>

struct RdmadPreparations {
	RdmadLoop *loop;
	GPtrArray *preparers; /* RdmadPreparer */
	GPtrArray *running;   /* RdmadPreparation, without cancelled ones */
};

struct RdmadPreparer {
	RdmadPreparations *preparations;
	RdmadModule *owner;
	RdmadPrepareFunc prepare;
	gpointer data;
	gboolean wants_sandbox;
};

/* Exists until the last preparer has finished its part, even if it was cancelled. */
struct RdmadPreparation {
	RdmadPreparations *preparations;
	RdmadModule *owner;
	guint parts; /* unfinished parts */
	gboolean cancelled;
	RdmadEvent *notify; /* calls `done` */
	void (*done)(const char *refusal, gpointer data);
	gpointer data;
	const RdmadSandbox *sandbox; /* during the calls of preparers */
	char *refusal;		     /* NULL: not forbidden */
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
	/* `why` may be the current refusal. */
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
	rdmad_event_free(preparation->notify);
	g_free(preparation->refusal);
	g_free(preparation);
}

static void preparation_done(gpointer data)
{
	RdmadPreparation *preparation = data;
	void (*const done)(const char *refusal, gpointer data) = preparation->done;
	const gpointer done_data = preparation->data;
	g_autofree char *refusal = g_steal_pointer(&preparation->refusal);

	g_ptr_array_remove_fast(preparation->preparations->running, preparation);
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
		rdmad_event_arm(preparation->notify, 0);
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
	/* The event belongs to the core: when a module ends, its whole preparation is cancelled,
	 * not only the event. */
	preparation->notify =
		rdmad_loop_add_timer(preparations->loop, NULL, preparation_done, preparation);
	g_ptr_array_add(preparations->running, preparation);
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
	g_ptr_array_remove_fast(preparation->preparations->running, preparation);
	preparation->cancelled = TRUE;
	rdmad_event_disarm(preparation->notify);
	if (preparation->parts == 0)
		preparation_free(preparation);
}

RdmadPreparations *rdmad_preparations_new(RdmadLoop *loop)
{
	RdmadPreparations *preparations = g_new0(RdmadPreparations, 1);

	preparations->loop = loop;
	preparations->preparers = g_ptr_array_new_with_free_func(g_free);
	preparations->running = g_ptr_array_new();
	return preparations;
}

void rdmad_preparations_free(RdmadPreparations *preparations)
{
	if (!preparations)
		return;
	g_ptr_array_unref(preparations->preparers);
	g_ptr_array_unref(preparations->running);
	g_free(preparations);
}

guint rdmad_preparations_reap(RdmadPreparations *preparations, const RdmadModule *owner)
{
	guint n = 0;

	for (guint i = preparations->running->len; i-- > 0;) {
		RdmadPreparation *preparation = preparations->running->pdata[i];

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
