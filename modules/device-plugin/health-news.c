/* SPDX-License-Identifier: Apache-2.0 */
#include "health-news.h"

#include <rdmad/allocations.h>
#include <rdmad/event-log.h>

#define HOLDERS_MAX 16u /* named one by one: a shared device may have a thousand */

typedef struct {
	RdmadEventLog *event_log;
	const RdmadPoolDevice *device;
	const char *resource;
	guint n_holders;
} News;

static const char *device_name(const RdmadPoolDevice *device)
{
	return device->dev ? device->dev->name : device->id;
}

static void tell_device(const News *news)
{
	const char *problem = news->device->health.problem, *name = device_name(news->device);
	const RdmadLogFields about = { .device = news->device->id, .resource = news->resource };

	if (problem)
		rdmad_event_log_post(news->event_log, RDMAD_LOG_WARNING, "device-unhealthy", &about,
				     "%s: unhealthy in %s: %s", name, news->resource, problem);
	else
		rdmad_event_log_post(news->event_log, RDMAD_LOG_NOTICE, "device-healthy", &about,
				     "%s: healthy in %s", name, news->resource);
}

/* "ml/train-0, container main", or the allocation while podresources has not told. */
static char *holder_name(const RdmadAllocation *allocation)
{
	if (!allocation->pod_name)
		return g_strdup_printf("allocation %s", allocation->id);
	return g_strdup_printf("%s/%s, container %s", allocation->pod_namespace,
			       allocation->pod_name, allocation->container);
}

static void tell_holder(const News *news, const RdmadAllocation *allocation)
{
	const char *problem = news->device->health.problem, *name = device_name(news->device);
	g_autofree char *pod = NULL, *holder = holder_name(allocation);
	RdmadLogFields about = { .device = news->device->id,
				 .resource = news->resource,
				 .allocation = allocation->id };

	if (allocation->pod_name)
		about.pod = pod =
			g_strdup_printf("%s/%s", allocation->pod_namespace, allocation->pod_name);
	if (problem)
		rdmad_event_log_post(news->event_log, RDMAD_LOG_WARNING,
				     "allocation-device-unhealthy", &about,
				     "%s has %s of %s, which is unhealthy: %s", holder, name,
				     news->resource, problem);
	else
		rdmad_event_log_post(news->event_log, RDMAD_LOG_NOTICE, "allocation-device-healthy",
				     &about, "%s has %s of %s, which is healthy again", holder,
				     name, news->resource);
}

static void hear_allocation(const RdmadAllocation *allocation, gpointer data)
{
	News *news = data;

	if (!g_str_equal(allocation->resource, news->resource) ||
	    !g_strv_contains((const char *const *)allocation->devices, news->device->id))
		return;
	if (news->n_holders++ < HOLDERS_MAX)
		tell_holder(news, allocation);
}

static void tell_rest(const News *news)
{
	const RdmadLogFields about = { .device = news->device->id, .resource = news->resource };

	rdmad_event_log_post(news->event_log, RDMAD_LOG_NOTICE, "allocation-device-more", &about,
			     "%s of %s is held by %u more containers", device_name(news->device),
			     news->resource, news->n_holders - HOLDERS_MAX);
}

void rdmad_health_news_tell(RdmadModule *self, const RdmadPool *pool, const RdmadPoolDevice *device)
{
	News news = { rdmad_module_event_log(self), device, rdmad_pool_settings(pool)->name, 0 };

	tell_device(&news);
	rdmad_allocations_foreach(rdmad_module_allocations(self), hear_allocation, &news);
	if (news.n_holders > HOLDERS_MAX)
		tell_rest(&news);
}
