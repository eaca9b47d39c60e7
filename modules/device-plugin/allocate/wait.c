/* SPDX-License-Identifier: Apache-2.0 */
#include "allocate/wait.h"

#include <rdmad/clock.h>
#include <rdmad/pods.h>

#define CALLS_MAX 256u

struct AllocateWait {
	RdmadModule *self;
	GPtrArray *calls;    /* of Waiting, the oldest first */
	guint64 asked, told; /* questions to podresources and answers */
};

typedef struct {
	RdmadGrpcCall *call;
	GBytes *message;
	gint64 asked_us;
	guint64 question; /* by number */
	AllocateWaitFunc fn;
	gpointer data;
} Waiting;

static void waiting_free(gpointer data)
{
	Waiting *waiting = data;

	rdmad_grpc_call_unref(waiting->call);
	g_bytes_unref(waiting->message);
	g_free(waiting);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Waiting, waiting_free)

/* One call for each request, in their order; some requests have been dropped. */
static void pods_told(const GError *error, gpointer data)
{
	AllocateWait *wait = data;
	Waiting *first = wait->calls->len ? wait->calls->pdata[0] : NULL;
	g_autoptr(Waiting) waiting = NULL;
	gsize size;
	const guint8 *message;

	wait->told++;
	if (!first || first->question != wait->told)
		return;
	waiting = g_ptr_array_steal_index(wait->calls, 0);
	message = g_bytes_get_data(waiting->message, &size);
	waiting->fn(waiting->call, message, size, waiting->asked_us, waiting->data);
}

gboolean allocate_wait_add(AllocateWait *wait, RdmadGrpcCall *call, const guint8 *message,
			   gsize size, AllocateWaitFunc fn, gpointer data)
{
	Waiting *waiting;

	if (wait->calls->len >= CALLS_MAX)
		return FALSE;
	waiting = g_new0(Waiting, 1);
	waiting->call = rdmad_grpc_call_ref(call);
	waiting->message = g_bytes_new(message, size);
	waiting->asked_us = rdmad_now_us();
	waiting->question = ++wait->asked;
	waiting->fn = fn;
	waiting->data = data;
	g_ptr_array_add(wait->calls, waiting);
	rdmad_pods_refresh(rdmad_module_pods(wait->self), wait->self, pods_told, wait);
	return TRUE;
}

static void waiting_fail(Waiting *waiting)
{
	rdmad_grpc_call_fail(waiting->call, RDMAD_GRPC_UNAVAILABLE,
			     "the resource is no longer offered");
}

void allocate_wait_drop(AllocateWait *wait, gpointer data)
{
	for (guint i = wait->calls->len; i-- > 0;) {
		Waiting *waiting = wait->calls->pdata[i];

		if (waiting->data != data)
			continue;
		waiting_fail(waiting);
		g_ptr_array_remove_index(wait->calls, i);
	}
}

AllocateWait *allocate_wait_new(RdmadModule *self)
{
	AllocateWait *wait = g_new0(AllocateWait, 1);

	wait->self = self;
	wait->calls = g_ptr_array_new_with_free_func(waiting_free);
	return wait;
}

void allocate_wait_free(AllocateWait *wait)
{
	rdmad_pods_cancel(rdmad_module_pods(wait->self), pods_told, wait);
	for (guint i = 0; i < wait->calls->len; i++)
		waiting_fail(wait->calls->pdata[i]);
	g_ptr_array_unref(wait->calls);
	g_free(wait);
}
