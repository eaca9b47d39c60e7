/* SPDX-License-Identifier: Apache-2.0 */
/* Who hears what about claims: the journal at once, watchers from the top of the loop. */
#include <rdmad/journal.h>
#include <rdmad/loop.h>

#include "service/claims-table.h"

/* Each holds what it names until everybody was told, so that borrowed claims last for the turn. */
typedef struct {
	const RdmadClaim *before, *now;
	char *reason;
} News;

static void news_clear(gpointer data)
{
	News *news = data;

	rdmad_claim_unref(news->before);
	rdmad_claim_unref(news->now);
	g_free(news->reason);
}

static GArray *news_new(void)
{
	GArray *news = g_array_new(FALSE, FALSE, sizeof(News));

	g_array_set_clear_func(news, news_clear);
	return news;
}

static void claim_release(gpointer claim)
{
	rdmad_claim_unref(claim);
}

/* One round: what changed, and for new watches what there is. */
typedef struct {
	const GArray *news;
	GPtrArray *all;
} Round;

static void watch_tell_news(const RdmadClaimOps *ops, const News *news, gpointer data)
{
	if (!news->before) {
		if (ops->granted)
			ops->granted(news->now, data);
	} else if (!news->now) {
		if (ops->ended)
			ops->ended(news->before, news->reason, data);
	} else if (ops->changed) {
		ops->changed(news->before, news->now, data);
	}
}

static void watch_tell(RdmadWatch *watch, gpointer arg)
{
	const Round *round = arg;
	const RdmadClaimOps *ops = watch->ops;

	if (watch->fresh)
		for (guint i = 0; i < round->all->len && !watch->dead && ops->granted; i++)
			ops->granted(g_ptr_array_index(round->all, i), watch->data);
	else
		for (guint i = 0; i < round->news->len && !watch->dead; i++)
			watch_tell_news(ops, &g_array_index(round->news, News, i), watch->data);
	watch->fresh = FALSE;
}

static void fresh_count(RdmadWatch *watch, gpointer arg)
{
	*(guint *)arg += watch->fresh;
}

static GPtrArray *claims_snapshot(RdmadClaims *claims)
{
	GPtrArray *all = g_ptr_array_new_with_free_func(claim_release);

	for (const GList *l = claims->order.head; l; l = l->next) {
		const RdmadClaimSlot *slot = l->data;

		g_ptr_array_add(all, (gpointer)rdmad_claim_ref(slot->claim));
	}
	return all;
}

/* What a callback changes is told on the next turn. */
static void news_tell(gpointer data)
{
	RdmadClaims *claims = data;
	g_autoptr(GArray) news = g_steal_pointer(&claims->news);
	g_autoptr(GPtrArray) all = NULL;
	guint fresh = 0;
	Round round;

	claims->news = news_new();
	rdmad_watch_list_foreach(&claims->watches, fresh_count, &fresh);
	all = fresh ? claims_snapshot(claims) : g_ptr_array_new();
	round = (Round){ news, all };
	rdmad_watch_list_foreach(&claims->watches, watch_tell, &round);
}

void rdmad_claims_news_init(RdmadClaims *claims, RdmadLoop *loop)
{
	claims->news = news_new();
	rdmad_watch_list_init(&claims->watches);
	claims->tell = rdmad_loop_add_timer(loop, NULL, news_tell, claims);
}

void rdmad_claims_news_clear(RdmadClaims *claims)
{
	rdmad_watch_list_clear(&claims->watches);
	rdmad_event_free(claims->tell);
	g_array_unref(claims->news);
}

static void journal_post_at(RdmadJournal *journal, RdmadLogLevel level, const char *kind,
			    const RdmadClaim *claim, const char *message)
{
	g_autofree char *pod = NULL;
	RdmadLogFields about = { .resource = claim->resource, .claim = claim->id };

	if (claim->pod_name)
		about.pod = pod = g_strdup_printf("%s/%s", claim->pod_namespace, claim->pod_name);
	if (!claim->devices[1])
		about.device = claim->devices[0];
	rdmad_journal_post(journal, level, kind, &about, "%s", message);
}

static void journal_post(RdmadJournal *journal, const char *kind, const RdmadClaim *claim,
			 const char *message)
{
	journal_post_at(journal, RDMAD_LOG_INFO, kind, claim, message);
}

static void post_granted(RdmadJournal *journal, const RdmadClaim *claim)
{
	g_autofree char *message = NULL;
	const guint n = g_strv_length(claim->tokens);

	message = g_strdup_printf("%s: %u %s, first %s on %s", claim->resource, n,
				  n == 1 ? "token" : "tokens", claim->tokens[0], claim->devices[0]);
	/* Only what podresources has told of has a pod from the start. */
	journal_post(journal, claim->pod_name ? "claim-adopted" : "claim-granted", claim, message);
}

static void post_attachments(RdmadJournal *journal, const RdmadClaim *before, const RdmadClaim *now)
{
	const guint n = now->n_attachments;
	g_autofree char *message = g_strdup_printf("%s: %u %s", now->resource, n,
						   n == 1 ? "attachment" : "attachments");

	journal_post(journal, n > before->n_attachments ? "claim-attached" : "claim-detached", now,
		     message);
}

static void post_changed(RdmadJournal *journal, const RdmadClaim *before, const RdmadClaim *now)
{
	g_autofree char *message = NULL;

	if (now->pod_name && (g_strcmp0(before->pod_name, now->pod_name) ||
			      g_strcmp0(before->container, now->container))) {
		message = g_strdup_printf("%s: held by %s/%s, %s%s", now->resource,
					  now->pod_namespace, now->pod_name,
					  now->container ? "container " : "an init container",
					  now->container ? now->container : "");
		journal_post(journal, "claim-named", now, message);
	} else if (before->n_attachments != now->n_attachments) {
		post_attachments(journal, before, now);
	}
}

static void news_post(RdmadJournal *journal, const RdmadClaim *before, const RdmadClaim *now,
		      const char *reason)
{
	g_autofree char *message = NULL;

	if (before && now) {
		post_changed(journal, before, now);
	} else if (now) {
		post_granted(journal, now);
	} else {
		message = g_strdup_printf("%s: %s", before->resource, reason);
		journal_post(journal, "claim-ended", before, message);
	}
}

void rdmad_claims_news_add(RdmadClaims *claims, const RdmadClaim *before, const RdmadClaim *now,
			   const char *reason)
{
	const News news = {
		.before = before ? rdmad_claim_ref(before) : NULL,
		.now = now ? rdmad_claim_ref(now) : NULL,
		.reason = g_strdup(reason),
	};

	news_post(claims->journal, before, now, reason);
	g_array_append_val(claims->news, news);
	rdmad_event_arm(claims->tell, 0);
}

void rdmad_claims_news_overlap(RdmadClaims *claims, const RdmadClaim *holder,
			       const RdmadClaim *claim)
{
	g_autofree char *text = rdmad_claims_holder_text(holder);
	g_autofree char *message =
		g_strdup_printf("%s: kubelet gave tokens that are held by %s (claim %s)",
				claim->resource, text, holder->id);

	journal_post_at(claims->journal, RDMAD_LOG_WARNING, "claim-overlap", claim, message);
}

void rdmad_claims_news_forgotten(RdmadClaims *claims, const RdmadClaim *claim)
{
	g_autofree char *text = rdmad_claims_holder_text(claim);
	g_autofree char *message = g_strdup_printf("%s: kubelet has forgotten the tokens of %s",
						   claim->resource, text);

	journal_post_at(claims->journal, RDMAD_LOG_WARNING, "claim-forgotten", claim, message);
}

RdmadWatch *rdmad_claims_watch(RdmadClaims *claims, RdmadModule *owner, const RdmadClaimOps *ops,
			       gpointer data)
{
	rdmad_event_arm(claims->tell, 0);
	return rdmad_watch_new(&claims->watches, owner, ops, data);
}
