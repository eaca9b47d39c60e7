/* SPDX-License-Identifier: Apache-2.0 */
#include "smc/smc.h"

#include <jansson.h>
#include <rdmad/allocations.h>
#include <rdmad/device.h>
#include <rdmad/doctor.h>
#include <rdmad/event-log.h>
#include <rdmad/http.h>
#include <rdmad/inventory.h>
#include <rdmad/log.h>
#include <rdmad/loop.h>
#include <rdmad/module.h>
#include <rdmad/preparations.h>
#include <rdmad/smc.h>
#include <rdmad/stats.h>
#include <rdmad/sysroot.h>
#include <string.h>

#include "nic/match.h"
#include "smc/smc-look.h"
#include "smc/survey.h"
#include "smc/task.h"

#define ANNOTATION  "network.alibabacloud.com/erdma-smcr"
#define PATH	    "/api/v1/smc"
#define QUERIES_MAX 64
#define TCP2SMC	    "proc/sys/net/smc/tcp2smc"

struct ErdmaSmc {
	RdmadModule *self;
	const ErdmaSmcSettings *settings;
	ErdmaSmcPods *pods;
	ErdmaSmcTasks *tasks;
	ErdmaSmcSurvey *survey;
	RdmadPreparer *preparer; /* NULL: the mode is off */
	RdmadWatch *allocations;
	RdmadEvent *tick;      /* armed: something is set up, which the next survey looks at */
	GPtrArray *starts;     /* of Start */
	GPtrArray *queries;    /* of Query: HTTP requests that wait for the running survey */
	GHashTable *fallbacks; /* inodes of the sockets counted already */
	gboolean has_route;
	struct {
		RdmadStat *pods, *connections, *fallbacks;
	} stats;
};

/* A container start that waits for its pod's SMC-R. */
typedef struct {
	ErdmaSmc *smc;
	RdmadPreparation *preparation;
} Start;

/* ---- stats ---- */

static void pods_collect(RdmadStat *stat, gpointer data)
{
	const ErdmaSmc *smc = data;
	const GPtrArray *all = erdma_smc_pods_all(smc->pods);

	for (ErdmaSmcState state = 0; state < ERDMA_N_SMC_STATES; state++)
		rdmad_stat_set(stat, 0, (const char *const[]){ erdma_smc_state_name(state), NULL });
	for (guint i = 0; i < all->len; i++) {
		const ErdmaSmcPod *pod = all->pdata[i];

		rdmad_stat_add(stat, 1,
			       (const char *const[]){ erdma_smc_state_name(pod->state), NULL });
	}
}

static const RdmadStatClass pods_class = {
	.type = RDMAD_STAT_GAUGE,
	.name = "rdmad_erdma_smc_pods",
	.help = "Pods that request SMC-R, by state; \"tcp\": it is not available",
	.labels = { "state" },
	.collect = pods_collect,
};

static const RdmadStatClass connections_class = {
	.type = RDMAD_STAT_GAUGE,
	.name = "rdmad_erdma_smc_connections",
	.help = "SMC connections in pods with SMC-R at the last survey, by mode",
	.labels = { "mode" },
};

static const RdmadStatClass fallbacks_class = {
	.type = RDMAD_STAT_COUNTER,
	.name = "rdmad_erdma_smc_fallbacks",
	.help = "SMC connections that a survey found on TCP, by reason",
	.labels = { "reason" },
};

static gboolean stats_open(ErdmaSmc *smc, GError **error)
{
	RdmadStats *stats = rdmad_module_stats(smc->self);

	smc->stats.pods = rdmad_stats_add(stats, smc->self, &pods_class, smc, error);
	if (smc->stats.pods)
		smc->stats.connections =
			rdmad_stats_add(stats, smc->self, &connections_class, smc, error);
	if (smc->stats.connections)
		smc->stats.fallbacks =
			rdmad_stats_add(stats, smc->self, &fallbacks_class, smc, error);
	return smc->stats.fallbacks != NULL;
}

/* ---- the annotation ---- */

gboolean erdma_smc_annotation_parse(const char *text, gboolean *wanted)
{
	static const char *const yes[] = { "1", "t", "T", "TRUE", "true", "True", NULL };
	static const char *const no[] = { "0", "f", "F", "FALSE", "false", "False", NULL };

	*wanted = text && g_strv_contains(yes, text);
	return !text || *wanted || g_strv_contains(no, text);
}

static void post(const ErdmaSmc *smc, RdmadLogLevel level, const char *kind, const char *pod,
		 const char *text)
{
	const RdmadLogFields about = { .pod = pod };

	rdmad_event_log_post(rdmad_module_event_log(smc->self), level, kind, &about, "%s: %s", pod,
			     text);
}

static gboolean is_requested(const ErdmaSmc *smc, const RdmadSandbox *sandbox, const char *pod)
{
	const char *text =
		sandbox->annotations ? g_hash_table_lookup(sandbox->annotations, ANNOTATION) : NULL;
	gboolean wanted;

	if (!erdma_smc_annotation_parse(text, &wanted)) {
		g_autofree char *shown = g_utf8_make_valid(text, (gssize)strnlen(text, 64));
		g_autofree char *what = g_strdup_printf("annotation %s: \"%s\" is neither true nor "
							"false; the pod gets no SMC-R",
							ANNOTATION, shown);

		post(smc, RDMAD_LOG_WARNING, "erdma-smc-annotation", pod, what);
	}
	return wanted;
}

/* ---- a container starts ---- */

/* An idle daemon does not wake up. */
static void tick_arm(ErdmaSmc *smc)
{
	if (!erdma_smc_pods_is_empty(smc->pods))
		rdmad_event_arm_within(smc->tick, smc->settings->survey_ms);
}

static void start_end(Start *start, const char *forbidden)
{
	tick_arm(start->smc);
	rdmad_preparation_forbid(start->preparation, forbidden);
	rdmad_preparation_finish(start->preparation);
	g_ptr_array_remove_fast(start->smc->starts, start);
}

static void start_fail(Start *start, const char *pod, const char *why)
{
	const ErdmaSmc *smc = start->smc;
	g_autofree char *text = g_strdup_printf("SMC-R is not available: %s", why);

	post(smc, RDMAD_LOG_WARNING, "erdma-smc-failed", pod, text);
	start_end(start, smc->settings->mode == ERDMA_SMC_REQUIRE ? text : NULL);
}

static void started(const char *uid, gpointer data)
{
	Start *start = data;
	ErdmaSmc *smc = start->smc;
	const ErdmaSmcPod *pod = erdma_smc_pods_find(smc->pods, uid);

	if (pod && pod->state == ERDMA_SMC_TCP) {
		start_fail(start, pod->name, pod->reason);
		return;
	}
	if (pod)
		post(smc, RDMAD_LOG_INFO, "erdma-smc-ready", pod->name,
		     pod->reason ?: "TCP connections become SMC-R");
	start_end(start, NULL);
}

/* Returns the first device of the allocation, which gets the PNETID.  The pod's interface has one
 * PNETID, so another container of a pod that has SMC-R uses the device of the first. */
static const RdmadDevice *device_of(const ErdmaSmc *smc, const RdmadAllocation *allocation,
				    const char *uid)
{
	RdmadInventory *inventory = rdmad_module_inventory(smc->self);
	const ErdmaSmcPod *pod = uid ? erdma_smc_pods_find(smc->pods, uid) : NULL;
	const RdmadDevice *first = pod && pod->state != ERDMA_SMC_TCP
					   ? rdmad_inventory_lookup_name(inventory, pod->device)
					   : NULL;

	return first ? first : rdmad_inventory_lookup(inventory, allocation->devices[0]);
}

/* A pod recreated under the same name has another uid. */
static void replaced_undo(ErdmaSmc *smc, const char *name, const char *uid)
{
	const GPtrArray *all = erdma_smc_pods_all(smc->pods);

	for (guint i = 0; i < all->len; i++) {
		const ErdmaSmcPod *pod = all->pdata[i];

		if (g_str_equal(pod->name, name) && !g_str_equal(pod->uid, uid))
			erdma_smc_tasks_undo(smc->tasks, pod->uid);
	}
}

static void start_begin(ErdmaSmc *smc, const RdmadAllocation *allocation,
			const RdmadSandbox *sandbox, RdmadPreparation *preparation,
			const char *name)
{
	const RdmadDevice *dev = device_of(smc, allocation, sandbox->pod_uid);
	Start *start = g_new0(Start, 1);
	ErdmaSmcPod *pod;
	guint8 mac[6];

	start->smc = smc;
	start->preparation = preparation;
	g_ptr_array_add(smc->starts, start);
	if (smc->settings->mode == ERDMA_SMC_REQUIRE)
		rdmad_preparation_forbid(preparation, "SMC-R was not set up in time");
	if (!dev || !erdma_is_device(dev) || !rdmad_guid_get_mac(dev->node_guid, mac)) {
		start_fail(start, name, "the container has no eRDMA device");
		return;
	}
	if (!sandbox->netns || !sandbox->pod_uid) {
		start_fail(start, name,
			   "the container runtime does not tell the pod's network namespace");
		return;
	}
	pod = g_new0(ErdmaSmcPod, 1);
	pod->uid = g_strdup(sandbox->pod_uid);
	pod->name = g_strdup(name);
	pod->netns = g_strdup(sandbox->netns);
	pod->device = g_strdup(dev->name);
	pod->pnetid = g_strdup_printf("%02X%02X%02X%02X%02X%02X", mac[0], mac[1], mac[2], mac[3],
				      mac[4], mac[5]);
	replaced_undo(smc, name, pod->uid);
	erdma_smc_tasks_set_up(smc->tasks, pod, smc->settings, started, start);
}

static void prepare(const RdmadAllocation *allocation, RdmadPreparation *preparation, gpointer data)
{
	ErdmaSmc *smc = data;
	const RdmadSandbox *sandbox = rdmad_preparation_sandbox(preparation);
	g_autofree char *name =
		allocation->pod_name
			? g_strdup_printf("%s/%s", allocation->pod_namespace, allocation->pod_name)
			: NULL;

	/* Programs on the host's network use the host's SMC. */
	if (!sandbox || !name || sandbox->is_host_network || !is_requested(smc, sandbox, name))
		rdmad_preparation_finish(preparation);
	else
		start_begin(smc, allocation, sandbox, preparation, name);
}

/* ---- a pod ends ---- */

/* `name` is "NAMESPACE/NAME". */
static gboolean is_of_pod(const RdmadAllocation *allocation, gconstpointer name)
{
	const gsize length = allocation->pod_name ? strlen(allocation->pod_namespace) : 0;
	const char *pod = name;

	return allocation->pod_name && g_str_has_prefix(pod, allocation->pod_namespace) &&
	       pod[length] == '/' && g_str_equal(pod + length + 1, allocation->pod_name);
}

static void sweep(ErdmaSmc *smc)
{
	const GPtrArray *all = erdma_smc_pods_all(smc->pods);

	for (guint i = 0; i < all->len; i++) {
		const ErdmaSmcPod *pod = all->pdata[i];

		if (!rdmad_allocations_find(rdmad_module_allocations(smc->self), is_of_pod,
					    pod->name))
			erdma_smc_tasks_undo(smc->tasks, pod->uid);
	}
	erdma_smc_tasks_undo(smc->tasks, NULL);
}

static void allocation_ended(const RdmadAllocation *allocation, const char *reason, gpointer data)
{
	sweep(data);
}

/* Undoes the set-ups that a previous daemon began; kubelet starts their containers again. */
static void begun_undo(ErdmaSmc *smc)
{
	const GPtrArray *all = erdma_smc_pods_all(smc->pods);

	for (guint i = 0; i < all->len; i++) {
		const ErdmaSmcPod *pod = all->pdata[i];

		if (pod->state == ERDMA_SMC_BEGUN)
			erdma_smc_tasks_undo(smc->tasks, pod->uid);
	}
}

/* ---- connections ---- */

static void socket_count(ErdmaSmc *smc, const RdmadSmcSocket *socket, guint counts[],
			 GHashTable *seen)
{
	gint64 *inode;

	if (!socket->is_connection)
		return;
	counts[socket->mode]++;
	if (socket->mode != RDMAD_SMC_TCP || !socket->inode)
		return;
	inode = g_memdup2(&(gint64){ (gint64)socket->inode }, sizeof(*inode));
	if (!g_hash_table_contains(smc->fallbacks, inode))
		rdmad_stat_add(
			smc->stats.fallbacks, 1,
			(const char *const[]){ rdmad_smc_reason_name(socket->reason), NULL });
	g_hash_table_add(seen, inode);
}

static void sockets_count(ErdmaSmc *smc, const GPtrArray *listings)
{
	GHashTable *seen = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	guint counts[RDMAD_SMC_SMCD + 1] = { 0 };

	for (guint i = 0; i < listings->len; i++) {
		const ErdmaSmcListing *listing = listings->pdata[i];

		for (guint j = 0; listing->sockets && j < listing->sockets->len; j++)
			socket_count(smc, listing->sockets->pdata[j], counts, seen);
	}
	for (RdmadSmcMode mode = 0; mode <= RDMAD_SMC_SMCD; mode++)
		rdmad_stat_set(smc->stats.connections, counts[mode],
			       (const char *const[]){ rdmad_smc_mode_name(mode), NULL });
	g_hash_table_unref(smc->fallbacks);
	smc->fallbacks = seen;
}

/* `name` is "NAMESPACE/NAME". */
static void pod_name_set(json_t *json, const char *name)
{
	const char *slash = strchr(name, '/');

	json_object_set_new(json, "namespace",
			    slash ? json_stringn(name, (gsize)(slash - name)) : json_null());
	json_object_set_new(json, "pod", json_string(slash ? slash + 1 : name));
}

static json_t *socket_json(const char *pod, const RdmadSmcSocket *socket)
{
	json_t *json = json_pack("{s:s, s:s?, s:s?, s:s, s:i, s:I}", "state", socket->state,
				 "local", socket->local, "peer", socket->peer, "mode",
				 rdmad_smc_mode_name(socket->mode), "uid", (int)socket->uid,
				 "inode", (json_int_t)socket->inode);

	pod_name_set(json, pod);
	json_object_set_new(json, "reason",
			    socket->reason ? json_string(rdmad_smc_reason_text(socket->reason))
					   : json_null());
	json_object_set_new(json, "reason_code", json_integer(socket->reason));
	json_object_set_new(json, "peer_reason_code", json_integer(socket->peer_reason));
	return json;
}

static json_t *problem_json(const ErdmaSmcListing *listing)
{
	json_t *json = json_pack("{s:s}", "problem", listing->problem);

	pod_name_set(json, listing->pod);
	return json;
}

static json_t *listings_json(const GPtrArray *listings)
{
	json_t *sockets = json_array(), *problems = json_array();

	for (guint i = 0; i < listings->len; i++) {
		const ErdmaSmcListing *listing = listings->pdata[i];

		for (guint j = 0; listing->sockets && j < listing->sockets->len; j++)
			json_array_append_new(
				sockets, socket_json(listing->pod, listing->sockets->pdata[j]));
		if (listing->problem)
			json_array_append_new(problems, problem_json(listing));
	}
	return json_pack("{s:o, s:o}", "sockets", sockets, "problems", problems);
}

typedef struct {
	ErdmaSmc *smc;
	RdmadHttpRequest *request;
} Query;

static void survey_done(const GPtrArray *listings, gpointer data)
{
	ErdmaSmc *smc = data;

	sockets_count(smc, listings);
	while (smc->queries->len) {
		Query *query = g_ptr_array_steal_index(smc->queries, 0);

		rdmad_http_request_on_gone(query->request, NULL, NULL);
		rdmad_http_reply_json(query->request, listings_json(listings));
		g_free(query);
	}
}

static void query_closed(gpointer data)
{
	Query *query = data;

	g_ptr_array_remove(query->smc->queries, query);
	g_free(query);
}

static void query_fail(Query *query)
{
	rdmad_http_request_on_gone(query->request, NULL, NULL);
	rdmad_http_fail(query->request, 503, "the module ends");
	g_free(query);
}

static void on_get(RdmadHttpRequest *request, gpointer data)
{
	ErdmaSmc *smc = data;
	Query *query;

	if (smc->queries->len >= QUERIES_MAX) {
		rdmad_http_fail(request, 503, "too many requests at once");
		return;
	}
	query = g_memdup2(&(Query){ smc, request }, sizeof(*query));
	g_ptr_array_add(smc->queries, query);
	rdmad_http_request_on_gone(request, query_closed, query);
	erdma_smc_survey_begin(smc->survey);
}

static const RdmadDevice *first_device(const ErdmaSmc *smc)
{
	RdmadInventory *inventory = rdmad_module_inventory(smc->self);

	for (guint i = 0; i < rdmad_inventory_count(inventory); i++)
		if (erdma_is_device(rdmad_inventory_nth(inventory, i)))
			return rdmad_inventory_nth(inventory, i);
	return NULL;
}

static void tick_expired(gpointer data)
{
	ErdmaSmc *smc = data;

	sweep(smc);
	if (erdma_smc_pods_all(smc->pods)->len)
		erdma_smc_survey_begin(smc->survey);
	tick_arm(smc);
}

/* ---- life ---- */

static const RdmadAllocationOps allocation_ops = { .ended = allocation_ended };

static void preparer_set(ErdmaSmc *smc)
{
	RdmadModule *self = smc->self;
	const gboolean wanted = smc->settings->mode != ERDMA_SMC_OFF;

	if (wanted && !smc->preparer) {
		smc->preparer =
			rdmad_preparations_add(rdmad_module_preparations(self), self, prepare, smc);
		rdmad_preparer_want_sandbox(smc->preparer);
	} else if (!wanted) {
		g_clear_pointer(&smc->preparer, rdmad_preparer_free);
	}
}

static gboolean smc_open(ErdmaSmc *smc, RdmadExecutor *executor, GError **error)
{
	RdmadModule *self = smc->self;

	smc->pods = erdma_smc_pods_open(self, error);
	if (!smc->pods || !stats_open(smc, error))
		return FALSE;
	smc->tasks = erdma_smc_tasks_new(self, executor, smc->pods);
	smc->survey = erdma_smc_survey_new(self, executor, smc->pods, survey_done, smc);
	smc->has_route = rdmad_http_route(rdmad_module_http(self), self, "GET", PATH,
					  RDMAD_HTTP_LOCAL, on_get, smc, error);
	if (!smc->has_route)
		return FALSE;
	smc->tick = rdmad_loop_add_timer(rdmad_module_loop(self), self, tick_expired, smc);
	tick_arm(smc);
	begun_undo(smc);
	smc->allocations =
		rdmad_allocations_watch(rdmad_module_allocations(self), self, &allocation_ops, smc);
	preparer_set(smc);
	return TRUE;
}

ErdmaSmc *erdma_smc_new(RdmadModule *self, const ErdmaSmcSettings *settings,
			RdmadExecutor *executor, GError **error)
{
	ErdmaSmc *smc = g_new0(ErdmaSmc, 1);

	smc->self = self;
	smc->settings = settings;
	smc->starts = g_ptr_array_new_with_free_func(g_free);
	smc->queries = g_ptr_array_new();
	smc->fallbacks = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	if (smc_open(smc, executor, error))
		return smc;
	erdma_smc_free(smc);
	return NULL;
}

void erdma_smc_free(ErdmaSmc *smc)
{
	if (!smc)
		return;
	erdma_smc_survey_free(smc->survey);
	erdma_smc_tasks_free(smc->tasks);
	g_clear_pointer(&smc->allocations, rdmad_watch_free);
	while (smc->starts->len)
		start_end(smc->starts->pdata[0],
			  rdmad_preparation_refusal(((Start *)smc->starts->pdata[0])->preparation));
	rdmad_preparer_free(smc->preparer);
	for (guint i = 0; i < smc->queries->len; i++)
		query_fail(smc->queries->pdata[i]);
	if (smc->has_route)
		rdmad_http_unroute(rdmad_module_http(smc->self), "GET", PATH);
	rdmad_event_free(smc->tick);
	rdmad_stat_free(smc->stats.pods);
	rdmad_stat_free(smc->stats.connections);
	rdmad_stat_free(smc->stats.fallbacks);
	erdma_smc_pods_close(smc->pods);
	g_ptr_array_unref(smc->starts);
	g_ptr_array_unref(smc->queries);
	g_hash_table_unref(smc->fallbacks);
	g_free(smc);
}

void erdma_smc_reload(ErdmaSmc *smc, const ErdmaSmcSettings *settings)
{
	smc->settings = settings;
	rdmad_event_disarm(smc->tick);
	tick_arm(smc);
	preparer_set(smc);
}

/* ---- status and doctor ---- */

static json_t *pod_json(const ErdmaSmcPod *pod)
{
	json_t *json =
		json_pack("{s:s, s:s, s:s?, s:s?, s:s?, s:s?}", "uid", pod->uid, "state",
			  erdma_smc_state_name(pod->state), "device_name", pod->device, "pnetid",
			  pod->pnetid, "interface", pod->interface, "reason", pod->reason);

	pod_name_set(json, pod->name);
	return json;
}

json_t *erdma_smc_status(const ErdmaSmc *smc)
{
	static const char *const modes[] = { "off", "prefer", "require" };
	const GPtrArray *all = erdma_smc_pods_all(smc->pods);
	json_t *pods = json_array();

	for (guint i = 0; i < all->len; i++)
		json_array_append_new(pods, pod_json(all->pdata[i]));
	return json_pack("{s:s, s:o}", "mode", modes[smc->settings->mode], "pods", pods);
}

static void pods_doctor(const ErdmaSmc *smc, json_t *findings)
{
	const GPtrArray *all = erdma_smc_pods_all(smc->pods);

	for (guint i = 0; i < all->len; i++) {
		const ErdmaSmcPod *pod = all->pdata[i];

		if (pod->state == ERDMA_SMC_TCP)
			rdmad_doctor_add(findings, RDMAD_FINDING_PROBLEM, pod->name, pod->reason,
					 "its connections are TCP");
	}
}

void erdma_smc_doctor(const ErdmaSmc *smc, const ErdmaDriver *driver, json_t *findings)
{
	const ErdmaDriverView view = erdma_driver_view(driver);
	const gboolean is_ofed = view.facts && view.facts->mode == ERDMA_MODE_OFED;
	const RdmadDevice *dev = first_device(smc);
	const ErdmaSmcQuery query = { .device = dev ? dev->name : NULL };
	g_autoptr(ErdmaSmcHost) host = NULL;
	g_autoptr(GError) error = NULL;

	if (smc->settings->mode == ERDMA_SMC_OFF || !dev)
		return;
	host = erdma_smc_look((gpointer)&query, NULL, &error);
	if (!host)
		rdmad_doctor_add(findings, RDMAD_FINDING_NOTE, "SMC-R", error->message,
				 "the kernel's SMC cannot be read now");
	else if (host->problem)
		rdmad_doctor_add(findings, RDMAD_FINDING_PROBLEM, "SMC-R", host->problem,
				 is_ofed ? "the driver is in mode ofed, which has no SMC-R: use "
					   "prefer_driver = \"default\" or \"compat\""
					 : "pods that ask for SMC-R use TCP");
	else if (!rdmad_sysroot_exists(rdmad_module_sysroot(smc->self), TCP2SMC))
		rdmad_doctor_add(
			findings, RDMAD_FINDING_NOTE, "SMC-R",
			"this kernel has no sysctl net.smc.tcp2smc: TCP sockets do not become "
			"SMC by themselves",
			"start the programs with smc_run, or let them use IPPROTO_SMC");
	pods_doctor(smc, findings);
}
