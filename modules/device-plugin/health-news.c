/* SPDX-License-Identifier: Apache-2.0 */
#include "health-news.h"

#include <rdmad/claims.h>
#include <rdmad/journal.h>

#define HOLDERS_MAX 16u /* named one by one: a shared device may have a thousand */

typedef struct {
	RdmadJournal *journal;
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
		rdmad_journal_post(news->journal, RDMAD_LOG_WARNING, "device-unhealthy", &about,
				   "%s: unhealthy in %s: %s", name, news->resource, problem);
	else
		rdmad_journal_post(news->journal, RDMAD_LOG_NOTICE, "device-healthy", &about,
				   "%s: healthy in %s", name, news->resource);
}

/* "ml/train-0, container main", or the claim while podresources has not told. */
static char *holder_name(const RdmadClaim *claim)
{
	if (!claim->pod_name)
		return g_strdup_printf("claim %s", claim->id);
	return g_strdup_printf("%s/%s, container %s", claim->pod_namespace, claim->pod_name,
			       claim->container);
}

static void tell_holder(const News *news, const RdmadClaim *claim)
{
	const char *problem = news->device->health.problem, *name = device_name(news->device);
	g_autofree char *pod = NULL, *holder = holder_name(claim);
	RdmadLogFields about = { .device = news->device->id,
				 .resource = news->resource,
				 .claim = claim->id };

	if (claim->pod_name)
		about.pod = pod = g_strdup_printf("%s/%s", claim->pod_namespace, claim->pod_name);
	if (problem)
		rdmad_journal_post(news->journal, RDMAD_LOG_WARNING, "claim-device-unhealthy",
				   &about, "%s has %s of %s, which is unhealthy: %s", holder, name,
				   news->resource, problem);
	else
		rdmad_journal_post(news->journal, RDMAD_LOG_NOTICE, "claim-device-healthy", &about,
				   "%s has %s of %s, which is healthy again", holder, name,
				   news->resource);
}

static void hear_claim(const RdmadClaim *claim, gpointer data)
{
	News *news = data;

	if (!g_str_equal(claim->resource, news->resource) ||
	    !g_strv_contains((const char *const *)claim->devices, news->device->id))
		return;
	if (news->n_holders++ < HOLDERS_MAX)
		tell_holder(news, claim);
}

static void tell_rest(const News *news)
{
	const RdmadLogFields about = { .device = news->device->id, .resource = news->resource };

	rdmad_journal_post(news->journal, RDMAD_LOG_NOTICE, "claim-device-more", &about,
			   "%s of %s is held by %u more containers", device_name(news->device),
			   news->resource, news->n_holders - HOLDERS_MAX);
}

void rdmad_health_news_tell(RdmadModule *self, const RdmadPool *pool, const RdmadPoolDevice *device)
{
	News news = { rdmad_module_journal(self), device, rdmad_pool_settings(pool)->name, 0 };

	tell_device(&news);
	rdmad_claims_foreach(rdmad_module_claims(self), hear_claim, &news);
	if (news.n_holders > HOLDERS_MAX)
		tell_rest(&news);
}
