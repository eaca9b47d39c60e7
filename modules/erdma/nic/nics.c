/* SPDX-License-Identifier: Apache-2.0 */
#include "nic/nics.h"

#include <jansson.h>
#include <rdmad/allocations.h>
#include <rdmad/clock.h>
#include <rdmad/device.h>
#include <rdmad/doctor.h>
#include <rdmad/error.h>
#include <rdmad/event-log.h>
#include <rdmad/executor.h>
#include <rdmad/inventory.h>
#include <rdmad/log.h>
#include <rdmad/loop.h>
#include <rdmad/module.h>
#include <rdmad/stats.h>
#include <rdmad/step.h>

#include "nic/journal.h"
#include "nic/metadata.h"
#include "nic/nic.h"

#define COALESCE_MS 200
#define RETRY_MS    2000 /* after a failed look */

struct ErdmaNics {
	RdmadModule *self;
	const ErdmaNicSettings *settings;
	ErdmaJournal *journal;
	ErdmaMetadata *metadata;
	RdmadExecutor *executor;
	guint64 request; /* request of the executor; 0: none */
	RdmadNetworkWatch *network;
	RdmadWatch *inventory, *allocations;
	RdmadEvent *hint, *retry;
	RdmadJob *look;
	gboolean is_hinted; /* during a look or steps */
	char *active_id;    /* id of the NIC whose steps run, or NULL */
	GPtrArray *all;	    /* of ErdmaNic */
	struct {
		RdmadStat *nics, *repairs, *failures, *metadata;
	} stats;
};

/* ---- stats ---- */

static void nics_collect(RdmadStat *stat, gpointer data)
{
	const ErdmaNics *nics = data;

	for (ErdmaNicState state = 0; state < ERDMA_N_NIC_STATES; state++)
		rdmad_stat_set(stat, 0, (const char *const[]){ erdma_nic_state_name(state), NULL });
	rdmad_stat_set(stat, 0, (const char *const[]){ "failed", NULL });
	for (guint i = 0; i < nics->all->len; i++) {
		const ErdmaNic *nic = nics->all->pdata[i];

		rdmad_stat_add(stat, 1,
			       (const char *const[]){ nic->error ? "failed"
								 : erdma_nic_state_name(nic->state),
						      NULL });
	}
}

static const RdmadStatClass nics_class = {
	.type = RDMAD_STAT_GAUGE,
	.name = "rdmad_erdma_nics",
	.help = "NICs of eRDMA devices by state; \"ready\": configured",
	.labels = { "state" },
	.collect = nics_collect,
};

static const RdmadStatClass repairs_class = {
	.type = RDMAD_STAT_COUNTER,
	.name = "rdmad_erdma_nic_repairs",
	.help = "Repairs of configured NICs that others had changed",
	.labels = { "device", "part" },
};

static const RdmadStatClass failures_class = {
	.type = RDMAD_STAT_COUNTER,
	.name = "rdmad_erdma_nic_failures",
	.help = "Configurations of NICs that failed",
	.labels = { "device" },
};

static const RdmadStatClass metadata_class = {
	.type = RDMAD_STAT_COUNTER,
	.name = "rdmad_erdma_metadata_requests",
	.help = "Requests to the instance metadata service, by result",
	.labels = { "result" },
};

static gboolean stats_open(ErdmaNics *nics, GError **error)
{
	const struct {
		RdmadStat **stat;
		const RdmadStatClass *klass;
	} all[] = {
		{ &nics->stats.nics, &nics_class },
		{ &nics->stats.repairs, &repairs_class },
		{ &nics->stats.failures, &failures_class },
		{ &nics->stats.metadata, &metadata_class },
	};

	for (guint i = 0; i < G_N_ELEMENTS(all); i++) {
		*all[i].stat = rdmad_stats_add(rdmad_module_stats(nics->self), nics->self,
					       all[i].klass, nics, error);
		if (!*all[i].stat)
			return FALSE;
	}
	return TRUE;
}

/* ---- events ---- */

static void post(const ErdmaNics *nics, RdmadLogLevel level, const char *kind, const ErdmaNic *nic,
		 const char *text)
{
	const RdmadLogFields about = { .device = nic->id };

	rdmad_event_log_post(rdmad_module_event_log(nics->self), level, kind, &about,
			     "%s of %s: %s", nic->netdev ?: "interface", nic->device, text);
}

static void post_state(const ErdmaNics *nics, const ErdmaNic *nic)
{
	static const char *const kinds[ERDMA_N_NIC_STATES] = {
		[ERDMA_NIC_READY] = "erdma-nic-ready",
		[ERDMA_NIC_FOREIGN] = "erdma-nic-foreign",
		[ERDMA_NIC_REFUSED] = "erdma-nic-refused",
	};
	const char *kind = kinds[nic->state];

	if (kind)
		post(nics, nic->state == ERDMA_NIC_READY ? RDMAD_LOG_INFO : RDMAD_LOG_WARNING, kind,
		     nic, nic->reason ?: "configured");
}

/* ---- steps ---- */

static ErdmaNic *nic_find(const ErdmaNics *nics, const char *id)
{
	for (guint i = 0; i < nics->all->len; i++) {
		ErdmaNic *nic = nics->all->pdata[i];

		if (g_strcmp0(nic->id, id) == 0)
			return nic;
	}
	return NULL;
}

static void hint(gpointer data)
{
	ErdmaNics *nics = data;

	if (nics->look || nics->active_id)
		nics->is_hinted = TRUE;
	else if (!rdmad_event_armed(nics->hint))
		rdmad_event_arm(nics->hint, COALESCE_MS);
}

static void nic_failed(ErdmaNics *nics, ErdmaNic *nic, const GError *error)
{
	rdmad_stat_add(nics->stats.failures, 1, (const char *const[]){ nic->device, NULL });
	if (erdma_nic_ended(nic, error, rdmad_now_us()))
		post(nics, RDMAD_LOG_WARNING, "erdma-nic-failed", nic, error->message);
}

/* The next look verifies the result, and continues with the next NIC. */
static void steps_done(const RdmadExecutorReport *report, const GError *error, gpointer data)
{
	ErdmaNics *nics = data;
	g_autofree char *id = g_steal_pointer(&nics->active_id);
	ErdmaNic *nic = nic_find(nics, id);

	nics->request = 0;
	if (nic && error)
		nic_failed(nics, nic, error);
	else if (nic)
		erdma_nic_ended(nic, NULL, rdmad_now_us());
	nics->is_hinted = FALSE;
	rdmad_event_arm(nics->hint, 0);
}

static void former_add(ErdmaNicNetwork *network, const GArray *addresses)
{
	for (guint i = 0; i < addresses->len; i++) {
		const RdmadIp *ip = &g_array_index(addresses, RdmadIp, i);

		if (!erdma_nic_network_has(network, ip) && !erdma_nic_network_set(network, ip))
			g_array_append_val(network->former, *ip);
	}
}

/* The journal has the old addresses too while the steps run. */
static ErdmaNicNetwork *network_during(const ErdmaNicNetwork *wanted, const ErdmaNicNetwork *done)
{
	ErdmaNicNetwork *both = erdma_nic_network_copy(wanted);

	both->complete = FALSE;
	if (!done)
		return both;
	former_add(both, done->former);
	if (done->from != ERDMA_ADDRESS_NETDEV)
		former_add(both, done->addresses);
	return both;
}

static void count_repairs(ErdmaNics *nics, const ErdmaNic *nic, const ErdmaPlan *plan)
{
	guint seen = 0;

	for (guint i = 0; i < plan->steps->len; i++) {
		const RdmadStep *step = plan->steps->pdata[i];

		if (!(seen & 1u << step->kind))
			rdmad_stat_add(nics->stats.repairs, 1,
				       (const char *const[]){ nic->device,
							      rdmad_step_name(step->kind), NULL });
		seen |= 1u << step->kind;
	}
}

static void steps_begin(ErdmaNics *nics, ErdmaNic *nic, gboolean repair, const ErdmaPlan *plan)
{
	const gboolean was_contested = erdma_nic_is_contested(nic);

	erdma_nic_began(nic, repair, rdmad_now_us());
	if (!repair)
		return;
	count_repairs(nics, nic, plan);
	if (!erdma_nic_is_contested(nic))
		post(nics, RDMAD_LOG_NOTICE, "erdma-nic-repaired", nic,
		     "another program changed it; it is repaired");
	else if (!was_contested)
		post(nics, RDMAD_LOG_WARNING, "erdma-nic-contested", nic,
		     "another program changes it repeatedly; it is repaired less often from now "
		     "on");
}

static gboolean network_is(const ErdmaNicNetwork *done, const ErdmaNicNetwork *wanted)
{
	if (!done || !done->complete || done->from != wanted->from ||
	    done->addresses->len != wanted->addresses->len)
		return FALSE;
	for (guint i = 0; i < wanted->addresses->len; i++)
		if (!erdma_nic_network_has(done, &g_array_index(wanted->addresses, RdmadIp, i)))
			return FALSE;
	return rdmad_ip_equal(&done->gateway[0], &wanted->gateway[0]) &&
	       rdmad_ip_equal(&done->gateway[1], &wanted->gateway[1]);
}

static gboolean steps_start(ErdmaNics *nics, ErdmaNic *nic, const ErdmaPlan *plan, GError **error)
{
	ErdmaJournalEntry *entry = erdma_journal_entry(nics->journal, &nic->mac);
	/* It restores the network of the row, whereas another one is a change of the
	 * configuration. */
	const gboolean repair = network_is(entry->done, plan->wanted);
	g_autofree char *steps = rdmad_steps_to_text(plan->steps);

	steps_begin(nics, nic, repair, plan);
	if (!repair && !erdma_journal_set_done(nics->journal, entry,
					       network_during(plan->wanted, entry->done), error))
		return FALSE;
	nics->request = rdmad_executor_run(nics->executor, RDMAD_EXECUTE_TRY, steps, -1, steps_done,
					   nics, error);
	if (!nics->request)
		return FALSE;
	nics->active_id = g_strdup(nic->id);
	return TRUE;
}

/* This row distinguishes repairs from the first configuration. */
static void complete(ErdmaNics *nics, ErdmaNic *nic, const ErdmaPlan *plan)
{
	ErdmaJournalEntry *entry = erdma_journal_entry(nics->journal, &nic->mac);
	g_autoptr(GError) error = NULL;
	ErdmaNicNetwork *done;

	if (network_is(entry->done, plan->wanted))
		return;
	done = erdma_nic_network_copy(plan->wanted);
	done->complete = TRUE;
	if (!erdma_journal_set_done(nics->journal, entry, done, &error))
		nic_failed(nics, nic, error);
}

/* ---- the metadata service ---- */

static void metadata_store(ErdmaNics *nics, const RdmadMac *mac, const ErdmaMetadataAnswer *answer)
{
	ErdmaJournalEntry *entry = erdma_journal_entry(nics->journal, mac);
	g_autoptr(GError) error = NULL;

	/* If the write fails, the next start queries the service again. */
	if (!erdma_journal_set_primary(nics->journal, &answer->primary, &error) ||
	    !erdma_journal_set_metadata(nics->journal, entry,
					erdma_nic_network_copy(answer->network), rdmad_wall_us(),
					&error))
		rdmad_warn("cannot keep what the metadata service said: %s", error->message);
}

static void metadata_ended(ErdmaNics *nics, const RdmadMac *mac, const ErdmaMetadataAnswer *answer,
			   const GError *error)
{
	rdmad_stat_add(nics->stats.metadata, 1,
		       (const char *const[]){ erdma_metadata_result(error), NULL });
	if (answer)
		metadata_store(nics, mac, answer);
	for (guint i = 0; i < nics->all->len; i++) {
		ErdmaNic *nic = nics->all->pdata[i];

		if (rdmad_mac_equal(&nic->mac, mac) &&
		    erdma_nic_metadata_ended(nic, error, rdmad_now_us()))
			post(nics, RDMAD_LOG_WARNING, "erdma-metadata-failed", nic, error->message);
	}
}

static void metadata_done(const RdmadMac *mac, const ErdmaMetadataAnswer *answer,
			  const GError *error, gpointer data)
{
	metadata_ended(data, mac, answer, error);
	hint(data);
}

static void metadata_query(ErdmaNics *nics, const ErdmaNic *nic)
{
	g_autoptr(GError) error = NULL;

	if (erdma_metadata_is_busy(nics->metadata) ||
	    erdma_metadata_query(nics->metadata, &nic->mac, &error))
		return;
	metadata_ended(nics, &nic->mac, NULL, error);
	hint(nics);
}

/* An expired answer is used while the service fails. */
static const ErdmaNicNetwork *metadata_of(const ErdmaNics *nics, const ErdmaJournalEntry *entry,
					  gboolean failed)
{
	const gint64 age_us = rdmad_wall_us() - entry->metadata_us;
	const gboolean is_fresh =
		age_us >= 0 && age_us < (gint64)nics->settings->metadata.cache_ms * 1000;

	return is_fresh || failed ? entry->metadata : NULL;
}

/* ---- look ---- */

static gboolean may_have_moved(const RdmadAllocation *holder, gpointer data)
{
	return rdmad_allocation_may_move(holder);
}

/* Returns whether a missing interface may be in a pod.  CNI returns it after the allocation has
 * ended: until then the NIC stays away. */
static gboolean is_given(const ErdmaNics *nics, const ErdmaMatch *match, const ErdmaNic *nic)
{
	return !match->ifindex &&
	       (nic->is_away ||
		rdmad_allocations_find_holder(rdmad_module_allocations(nics->self), match->id,
					      RDMAD_HOLD_ANY, may_have_moved, NULL));
}

static void nic_plan(ErdmaNics *nics, const ErdmaView *view, const GPtrArray *matches,
		     const GArray *managed, const ErdmaMatch *match, ErdmaNic *nic)
{
	const ErdmaJournalEntry *entry = erdma_journal_entry(nics->journal, &match->mac);
	const gboolean failed = nic->metadata_error && rdmad_now_us() < nic->metadata_not_before_us;
	const ErdmaPlanInput input = {
		.settings = nics->settings,
		.view = view,
		.matches = matches,
		.match = match,
		.metadata = metadata_of(nics, entry, failed),
		.metadata_failed = failed,
		.done = entry->done,
		.managed = managed,
		.primary_mac = erdma_journal_primary(nics->journal),
		.is_given = is_given(nics, match, nic),
	};
	g_autoptr(ErdmaPlan) plan = erdma_plan(&input);
	const gboolean is_changed = erdma_nic_update(nic, match, plan);
	g_autoptr(GError) error = NULL;

	nic->is_away = input.is_given;
	if (is_changed)
		post_state(nics, nic);
	if (plan->state == ERDMA_NIC_READY)
		complete(nics, nic, plan);
	else if (plan->state == ERDMA_NIC_METADATA)
		metadata_query(nics, nic);
	if (plan->state != ERDMA_NIC_CHANGES || nics->active_id ||
	    rdmad_now_us() < nic->not_before_us)
		return;
	if (!steps_start(nics, nic, plan, &error))
		nic_failed(nics, nic, error);
}

static GPtrArray *matches_make(const ErdmaNics *nics, const ErdmaView *view)
{
	RdmadInventory *inventory = rdmad_module_inventory(nics->self);
	GPtrArray *matches = g_ptr_array_new_with_free_func(erdma_match_free);

	for (guint i = 0; i < rdmad_inventory_count(inventory); i++) {
		const RdmadDevice *dev = rdmad_inventory_nth(inventory, i);

		if (erdma_is_device(dev))
			g_ptr_array_add(matches, erdma_match(dev, view));
	}
	return matches;
}

static GArray *managed_find(const ErdmaNics *nics, const ErdmaView *view)
{
	GArray *managed = g_array_new(FALSE, FALSE, sizeof(int));

	for (guint i = 0; i < view->links->len; i++) {
		const RdmadLink *link = view->links->pdata[i];
		RdmadMac mac;

		if (erdma_link_mac(link, &mac) && erdma_journal_has(nics->journal, &mac))
			g_array_append_val(managed, link->ifindex);
	}
	return managed;
}

static void nics_sweep(ErdmaNics *nics)
{
	for (guint i = nics->all->len; i-- > 0;) {
		ErdmaNic *nic = nics->all->pdata[i];

		if (!nic->seen)
			g_ptr_array_remove_index(nics->all, i);
		else
			nic->seen = FALSE;
	}
}

/* Arms the timer for the earliest retry of a NIC. */
static void retry_arm(ErdmaNics *nics)
{
	const gint64 now_us = rdmad_now_us();
	gint64 first_us = G_MAXINT64;

	for (guint i = 0; i < nics->all->len; i++) {
		const ErdmaNic *nic = nics->all->pdata[i];

		if (nic->state == ERDMA_NIC_CHANGES && !nics->active_id)
			first_us = MIN(first_us, MAX(nic->not_before_us, now_us));
		if (nic->metadata_error && nic->metadata_not_before_us > now_us)
			first_us = MIN(first_us, nic->metadata_not_before_us);
	}
	if (first_us == G_MAXINT64)
		rdmad_event_disarm(nics->retry);
	else
		rdmad_event_arm(nics->retry,
				(guint)MAX((first_us - now_us) / 1000 + 1, COALESCE_MS));
}

static void plan_all(ErdmaNics *nics, const ErdmaView *view)
{
	g_autoptr(GPtrArray) matches = matches_make(nics, view);
	g_autoptr(GArray) managed = managed_find(nics, view);

	for (guint i = 0; i < matches->len; i++) {
		const ErdmaMatch *match = matches->pdata[i];
		ErdmaNic *nic = nic_find(nics, match->id);

		if (!nic) {
			nic = erdma_nic_new(match);
			g_ptr_array_add(nics->all, nic);
		}
		nic_plan(nics, view, matches, managed, match, nic);
	}
	nics_sweep(nics);
	retry_arm(nics);
}

static void looked(gpointer result, const GError *error, gpointer data)
{
	ErdmaNics *nics = data;
	g_autoptr(ErdmaView) view = result;

	nics->look = NULL;
	if (view) {
		plan_all(nics, view);
	} else {
		rdmad_warn("cannot read the host's network: %s", error->message);
		rdmad_event_arm(nics->retry, RETRY_MS);
	}
	if (nics->is_hinted && !nics->active_id) {
		nics->is_hinted = FALSE;
		hint(nics);
	}
}

static const RdmadJobClass look_class = {
	.name = "erdma NICs",
	.run = erdma_view_look,
	.done = looked,
	.free_result = erdma_view_free,
};

static void look(gpointer data)
{
	ErdmaNics *nics = data;
	g_autoptr(GError) error = NULL;

	if (nics->look || nics->active_id) {
		nics->is_hinted = TRUE;
		return;
	}
	nics->look = rdmad_work_submit(rdmad_module_workers(nics->self), nics->self, &look_class,
				       NULL, 0, nics, &error);
	if (nics->look)
		return;
	rdmad_warn("cannot read the host's network: %s", error->message);
	rdmad_event_arm(nics->retry, RETRY_MS);
}

/* ---- life ---- */

static void allocation_changed(const RdmadAllocation *before, const RdmadAllocation *now,
			       gpointer data)
{
	if (before->n_attachments != now->n_attachments)
		hint(data);
}

static const RdmadInventoryOps inventory_ops = { .settled = hint };
static const RdmadAllocationOps allocation_ops = { .changed = allocation_changed };

static gboolean nics_open(ErdmaNics *nics, GError **error)
{
	RdmadModule *self = nics->self;
	RdmadLoop *loop = rdmad_module_loop(self);

	nics->journal = erdma_journal_open(self, error);
	if (!nics->journal || !stats_open(nics, error))
		return FALSE;
	nics->metadata = erdma_metadata_new(self, nics->settings, metadata_done, nics);
	nics->hint = rdmad_loop_add_timer(loop, self, look, nics);
	nics->retry = rdmad_loop_add_timer(loop, self, look, nics);
	nics->network = rdmad_network_watch_new(loop, self, hint, nics, error);
	if (!nics->network)
		return FALSE;
	nics->inventory =
		rdmad_inventory_watch(rdmad_module_inventory(self), self, &inventory_ops, nics);
	nics->allocations = rdmad_allocations_watch(rdmad_module_allocations(self), self,
						    &allocation_ops, nics);
	return TRUE;
}

ErdmaNics *erdma_nics_new(RdmadModule *self, const ErdmaNicSettings *settings,
			  RdmadExecutor *executor, GError **error)
{
	ErdmaNics *nics = g_new0(ErdmaNics, 1);

	nics->self = self;
	nics->settings = settings;
	nics->executor = executor;
	nics->all = g_ptr_array_new_with_free_func(erdma_nic_free);
	if (nics_open(nics, error))
		return nics;
	erdma_nics_free(nics);
	return NULL;
}

void erdma_nics_free(ErdmaNics *nics)
{
	if (!nics)
		return;
	g_clear_pointer(&nics->inventory, rdmad_watch_free);
	g_clear_pointer(&nics->allocations, rdmad_watch_free);
	g_clear_pointer(&nics->network, rdmad_network_watch_free);
	rdmad_job_cancel(nics->look);
	/* The next start completes running steps. */
	if (nics->request)
		rdmad_executor_forget(nics->executor, nics->request);
	erdma_metadata_free(nics->metadata);
	rdmad_event_free(nics->hint);
	rdmad_event_free(nics->retry);
	rdmad_stat_free(nics->stats.nics);
	rdmad_stat_free(nics->stats.repairs);
	rdmad_stat_free(nics->stats.failures);
	rdmad_stat_free(nics->stats.metadata);
	erdma_journal_close(nics->journal);
	g_ptr_array_unref(nics->all);
	g_free(nics->active_id);
	g_free(nics);
}

/* Failed NICs are retried at once. */
void erdma_nics_reload(ErdmaNics *nics, const ErdmaNicSettings *settings)
{
	nics->settings = settings;
	erdma_metadata_free(nics->metadata);
	nics->metadata = erdma_metadata_new(nics->self, settings, metadata_done, nics);
	for (guint i = 0; i < nics->all->len; i++) {
		ErdmaNic *nic = nics->all->pdata[i];

		nic->not_before_us = nic->metadata_not_before_us = 0;
		g_clear_pointer(&nic->metadata_error, g_free);
	}
	hint(nics);
}

/* ---- status and doctor ---- */

json_t *erdma_nics_status(const ErdmaNics *nics)
{
	json_t *list = json_array();

	for (guint i = 0; i < nics->all->len; i++)
		json_array_append_new(list, erdma_nic_json(nics->all->pdata[i]));
	return list;
}

void erdma_nics_doctor(const ErdmaNics *nics, json_t *findings)
{
	for (guint i = 0; i < nics->all->len; i++)
		erdma_nic_doctor(nics->all->pdata[i], findings);
}
