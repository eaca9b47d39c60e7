/* SPDX-License-Identifier: Apache-2.0 */
/* Reports changes of allocations to the event log and to watchers on the next turn of the loop,
 * after the responses */
#include <rdmad/event-log.h>
#include <rdmad/loop.h>

#include "service/allocations-table.h"

/* Each entry has references, so that borrowed allocations stay valid until all watchers are
 * notified. */
typedef struct {
	const RdmadAllocation *before, *now;
	char *reason;
	/* If set, this is not a change but a warning of this kind about `now`, for the event log
	 * only; `reason` is its text. */
	const char *warning;
} News;

static void news_clear(gpointer data)
{
	News *news = data;

	rdmad_allocation_unref(news->before);
	rdmad_allocation_unref(news->now);
	g_free(news->reason);
}

static GArray *news_new(void)
{
	GArray *news = g_array_new(FALSE, FALSE, sizeof(News));

	g_array_set_clear_func(news, news_clear);
	return news;
}

/* `reason` is taken over. */
static void news_append(GArray *all, const RdmadAllocation *before, const RdmadAllocation *now,
			char *reason, const char *warning)
{
	const News news = {
		.before = before ? rdmad_allocation_ref(before) : NULL,
		.now = now ? rdmad_allocation_ref(now) : NULL,
		.reason = reason,
		.warning = warning,
	};

	g_array_append_val(all, news);
}

static void watch_notify(RdmadWatch *watch, gconstpointer item, gpointer service)
{
	const RdmadAllocationOps *ops = watch->ops;
	const News *news = item;

	if (news->warning)
		return;
	if (!news->before) {
		if (ops->granted)
			ops->granted(news->now, watch->data);
	} else if (!news->now) {
		if (ops->ended)
			ops->ended(news->before, news->reason, watch->data);
	} else if (ops->changed) {
		ops->changed(news->before, news->now, watch->data);
	}
}

static void event_log_post_at(RdmadEventLog *event_log, RdmadLogLevel level, const char *kind,
			      const RdmadAllocation *allocation, const char *message)
{
	g_autofree char *pod = NULL;
	RdmadLogFields about = { .resource = allocation->resource, .allocation = allocation->id };

	if (allocation->pod_name)
		about.pod = pod =
			g_strdup_printf("%s/%s", allocation->pod_namespace, allocation->pod_name);
	if (!allocation->devices[1])
		about.device = allocation->devices[0];
	rdmad_event_log_post(event_log, level, kind, &about, "%s", message);
}

static void event_log_post(RdmadEventLog *event_log, const char *kind,
			   const RdmadAllocation *allocation, const char *message)
{
	event_log_post_at(event_log, RDMAD_LOG_INFO, kind, allocation, message);
}

static void post_granted(RdmadEventLog *event_log, const RdmadAllocation *allocation)
{
	g_autofree char *message = NULL;
	const guint n = g_strv_length(allocation->slots);

	message = g_strdup_printf("%s: %u %s, first %s on %s", allocation->resource, n,
				  n == 1 ? "slot" : "slots", allocation->slots[0],
				  allocation->devices[0]);
	/* Only allocations adopted from podresources have a pod from the start. */
	event_log_post(event_log,
		       allocation->pod_name ? "allocation-adopted" : "allocation-granted",
		       allocation, message);
}

static void post_attachments(RdmadEventLog *event_log, const RdmadAllocation *before,
			     const RdmadAllocation *now)
{
	const guint n = now->n_attachments;
	g_autofree char *message = g_strdup_printf("%s: %u %s", now->resource, n,
						   n == 1 ? "attachment" : "attachments");

	event_log_post(event_log,
		       n > before->n_attachments ? "allocation-attached" : "allocation-detached",
		       now, message);
}

static void post_changed(RdmadEventLog *event_log, const RdmadAllocation *before,
			 const RdmadAllocation *now)
{
	g_autofree char *message = NULL;

	if (now->pod_name && (g_strcmp0(before->pod_name, now->pod_name) ||
			      g_strcmp0(before->container, now->container))) {
		message = g_strdup_printf("%s: held by %s/%s, %s%s", now->resource,
					  now->pod_namespace, now->pod_name,
					  now->container ? "container " : "an init container",
					  now->container ? now->container : "");
		event_log_post(event_log, "allocation-named", now, message);
	} else if (before->n_attachments != now->n_attachments) {
		post_attachments(event_log, before, now);
	}
}

static void news_post(RdmadEventLog *event_log, const News *news)
{
	g_autofree char *message = NULL;

	if (news->warning) {
		event_log_post_at(event_log, RDMAD_LOG_WARNING, news->warning, news->now,
				  news->reason);
	} else if (news->before && news->now) {
		post_changed(event_log, news->before, news->now);
	} else if (news->now) {
		post_granted(event_log, news->now);
	} else {
		message = g_strdup_printf("%s: %s", news->before->resource, news->reason);
		event_log_post(event_log, "allocation-ended", news->before, message);
	}
}

static void news_post_all(RdmadEventLog *event_log, const GArray *all)
{
	for (guint i = 0; i < all->len; i++)
		news_post(event_log, &g_array_index(all, News, i));
}

/* ---- watchers ---- */

static GArray *allocations_take_news(gpointer service)
{
	RdmadAllocations *allocations = service;
	GArray *news = g_steal_pointer(&allocations->news);

	allocations->news = news_new();
	news_post_all(allocations->event_log, news);
	return news;
}

static GArray *allocations_list(gpointer service)
{
	const RdmadAllocations *allocations = service;
	GArray *all = news_new();

	for (const GList *l = allocations->order.head; l; l = l->next)
		news_append(all, NULL, ((const RdmadAllocationRecord *)l->data)->allocation, NULL,
			    NULL);
	return all;
}

static const RdmadNotifierClass allocations_notifier = {
	.take_news = allocations_take_news,
	.list = allocations_list,
	.notify = watch_notify,
};

void rdmad_allocations_news_init(RdmadAllocations *allocations, RdmadLoop *loop)
{
	allocations->news = news_new();
	rdmad_watch_list_init_notifier(&allocations->watches, loop, &allocations_notifier,
				       allocations);
}

void rdmad_allocations_news_clear(RdmadAllocations *allocations)
{
	rdmad_watch_list_clear(&allocations->watches);
	news_post_all(allocations->event_log, allocations->news);
	g_array_unref(allocations->news);
}

/* ---- reports ---- */

void rdmad_allocations_news_add(RdmadAllocations *allocations, const RdmadAllocation *before,
				const RdmadAllocation *now, const char *reason)
{
	news_append(allocations->news, before, now, g_strdup(reason), NULL);
	rdmad_watch_list_news(&allocations->watches);
}

static void news_warn(RdmadAllocations *allocations, const RdmadAllocation *about, const char *kind,
		      char *message)
{
	news_append(allocations->news, NULL, about, message, kind);
	rdmad_watch_list_news(&allocations->watches);
}

void rdmad_allocations_news_overlap(RdmadAllocations *allocations, const RdmadAllocation *holder,
				    const RdmadAllocation *allocation)
{
	g_autofree char *text = rdmad_allocations_holder_text(holder);

	news_warn(allocations, allocation, "allocation-overlap",
		  g_strdup_printf("%s: kubelet gave slots that are held by %s (allocation %s)",
				  allocation->resource, text, holder->id));
}

void rdmad_allocations_news_forgotten(RdmadAllocations *allocations,
				      const RdmadAllocation *allocation)
{
	g_autofree char *text = rdmad_allocations_holder_text(allocation);

	news_warn(allocations, allocation, "allocation-forgotten",
		  g_strdup_printf("%s: kubelet has forgotten the slots of %s", allocation->resource,
				  text));
}

RdmadWatch *rdmad_allocations_watch(RdmadAllocations *allocations, RdmadModule *owner,
				    const RdmadAllocationOps *ops, gpointer data)
{
	return rdmad_watch_new(&allocations->watches, owner, ops, data);
}
