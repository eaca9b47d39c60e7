/* SPDX-License-Identifier: Apache-2.0 */
#include "allocate/queue.h"

#include <rdmad/loop.h>
#include <rdmad/pods.h>

#include "allocate/allocate.h"

#define WAITING_MAX 256u

struct AllocateQueue {
	RdmadModule *self;
	Allocator by;
	AllocateDoneFunc done;
	GPtrArray *ready;   /* of Queued, in order of arrival: executed on this turn */
	GPtrArray *waiting; /* of Queued, oldest first: each waits for a List of podresources */
	guint64 n_queries, n_responses; /* numbers of Lists requested and completed */
	RdmadEvent *turn;
};

typedef struct {
	AllocateCall call;
	RdmadGrpcCall *grpc;
	guint64 query; /* number of the List that it waits for; 0: none */
	gpointer data;
} Queued;

static void queued_free(gpointer data)
{
	Queued *queued = data;

	allocate_call_clear(&queued->call);
	rdmad_grpc_call_unref(queued->grpc);
	g_free(queued);
}

/* ---- podresources ---- */

/* Called once for each request, in order; the call of a request may have been dropped. */
static void pods_listed(const GError *error, gpointer data)
{
	AllocateQueue *queue = data;
	const Queued *first = queue->waiting->len ? queue->waiting->pdata[0] : NULL;

	queue->n_responses++;
	if (!first || first->query != queue->n_responses)
		return;
	g_ptr_array_add(queue->ready, g_ptr_array_steal_index(queue->waiting, 0));
	rdmad_event_arm_for_turn(queue->turn);
}

static gboolean queued_waits(AllocateQueue *queue, Queued *queued)
{
	if (queued->query || queue->waiting->len >= WAITING_MAX ||
	    !allocate_in_doubt(&queue->by, &queued->call))
		return FALSE;
	queued->query = ++queue->n_queries;
	g_ptr_array_add(queue->waiting, queued);
	rdmad_pods_refresh(rdmad_module_pods(queue->self), queue->self, pods_listed, queue);
	return TRUE;
}

/* ---- one turn ---- */

/* Drops calls that were cancelled or whose connection is closed: the grant would have no holder. */
static void calls_drop_ended(GPtrArray *turn)
{
	for (guint i = turn->len; i-- > 0;)
		if (rdmad_grpc_call_has_ended(((const Queued *)turn->pdata[i])->grpc))
			g_ptr_array_remove_index(turn, i);
}

/* Checks all calls: the pool may have changed since they arrived or began to wait. */
static void calls_check(const AllocateQueue *queue, GPtrArray *turn)
{
	for (guint i = 0; i < turn->len; i++)
		allocate_check(&queue->by, &((Queued *)turn->pdata[i])->call);
}

/* Moves the calls that must wait from the turn to `waiting`. */
static void calls_in_doubt_wait(AllocateQueue *queue, GPtrArray *turn)
{
	for (guint i = 0; i < turn->len;)
		if (queued_waits(queue, turn->pdata[i]))
			g_ptr_array_steal_index(turn, i);
		else
			i++;
}

static void queue_run(gpointer data)
{
	AllocateQueue *queue = data;
	g_autoptr(GPtrArray) turn = g_steal_pointer(&queue->ready);
	g_autoptr(GPtrArray) calls = g_ptr_array_new();

	queue->ready = g_ptr_array_new_with_free_func(queued_free);
	rdmad_pods_detect_kubelet(rdmad_module_pods(queue->self));
	calls_drop_ended(turn);
	calls_check(queue, turn);
	calls_in_doubt_wait(queue, turn);
	for (guint i = 0; i < turn->len; i++)
		g_ptr_array_add(calls, &((Queued *)turn->pdata[i])->call);
	allocate(&queue->by, (AllocateCall *const *)calls->pdata, calls->len);
	for (guint i = 0; i < turn->len; i++) {
		const Queued *queued = turn->pdata[i];

		queue->done(queued->grpc, queued->call.answer, queued->call.refusal,
			    queued->call.arrived_us, queued->data);
	}
}

void allocate_queue_add(AllocateQueue *queue, RdmadGrpcCall *call, const Pool *pool,
			const guint8 *message, gsize size, gpointer data)
{
	Queued *queued = g_new0(Queued, 1);

	allocate_call_init(&queued->call, pool, message, size);
	queued->grpc = rdmad_grpc_call_ref(call);
	queued->data = data;
	g_ptr_array_add(queue->ready, queued);
	rdmad_event_arm_for_turn(queue->turn);
}

/* ---- life cycle ---- */

static void calls_drop(GPtrArray *calls, gpointer data)
{
	for (guint i = calls->len; i-- > 0;) {
		const Queued *queued = calls->pdata[i];

		if (data && queued->data != data)
			continue;
		rdmad_grpc_call_fail(queued->grpc, RDMAD_GRPC_UNAVAILABLE,
				     "the resource is no longer offered");
		g_ptr_array_remove_index(calls, i);
	}
}

void allocate_queue_drop(AllocateQueue *queue, gpointer data)
{
	calls_drop(queue->ready, data);
	calls_drop(queue->waiting, data);
}

AllocateQueue *allocate_queue_new(RdmadModule *self, Delivery *delivery, AllocateDoneFunc done)
{
	AllocateQueue *queue = g_new0(AllocateQueue, 1);

	queue->self = self;
	queue->by =
		(Allocator){ rdmad_module_allocations(self), delivery, rdmad_module_name(self) };
	queue->done = done;
	queue->ready = g_ptr_array_new_with_free_func(queued_free);
	queue->waiting = g_ptr_array_new_with_free_func(queued_free);
	queue->turn = rdmad_loop_add_timer(rdmad_module_loop(self), self, queue_run, queue);
	return queue;
}

void allocate_queue_free(AllocateQueue *queue)
{
	rdmad_pods_cancel(rdmad_module_pods(queue->self), pods_listed, queue);
	allocate_queue_drop(queue, NULL);
	rdmad_event_free(queue->turn);
	g_ptr_array_unref(queue->ready);
	g_ptr_array_unref(queue->waiting);
	g_free(queue);
}
