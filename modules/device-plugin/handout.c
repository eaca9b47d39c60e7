/* SPDX-License-Identifier: Apache-2.0 */
#include "handout.h"

#include <jansson.h>
#include <rdmad/allocation-dir.h>
#include <rdmad/doctor.h>
#include <rdmad/folder-watch.h>
#include <rdmad/inventory.h>
#include <rdmad/log.h>
#include <rdmad/loop.h>
#include <rdmad/module.h>
#include <rdmad/pods.h>

#include "claim-devices.h"
#include "claim-folder.h"
#include "device-info.h"

/* A kubelet that has just started lists nothing, and what a pod keeps is kept for long. */
#define REVIEW_MS	60000
#define REVIEW_AGAIN_MS 300000

struct RdmadHandout {
	RdmadModule *self;
	GPtrArray *orphans; /* RdmadClaimNote: folders of an earlier run without a claim */
	RdmadEvent *review;
	char *run_dir, *owner;
	RdmadClaims *claims;
	RdmadDeviceInfo *info;
	RdmadCdi *cdi;
	GHashTable *devices; /* id -> RdmadDevice */
	GHashTable *changed; /* ids, since the last rdmad_handout_follow() */
	gboolean followed;   /* FALSE: any may have changed */
	RdmadWatch *inventory_watch, *claims_watch;
	RdmadFolderWatch *run_watch;
};

const char *rdmad_handout_run_dir(const RdmadHandout *handout)
{
	return handout->run_dir;
}

const RdmadCdi *rdmad_handout_cdi(const RdmadHandout *handout)
{
	return handout->cdi;
}

static gboolean is_ours(const RdmadHandout *handout, const RdmadClaim *claim)
{
	return g_str_equal(claim->owner, handout->owner);
}

static void warn(const RdmadClaim *claim, const GError *error)
{
	const RdmadLogFields about = { .resource = claim->resource, .claim = claim->id };

	rdmad_log_full(RDMAD_LOG_WARNING, &about, "claim %s: %s", claim->id, error->message);
}

/* ---- device information ---- */

/* A pod that needs no such file must not wait for one that cannot be written. */
static void put_info(RdmadHandout *handout, const RdmadClaim *claim, guint nth)
{
	const RdmadDevice *dev = g_hash_table_lookup(handout->devices, claim->devices[nth]);
	g_autoptr(GError) error = NULL;

	if (!rdmad_device_info_put(handout->info, claim->resource, claim->tokens[nth], dev, &error))
		warn(claim, error);
}

/* A token may be of another claim already when the end of this one is told. */
static void remove_info(RdmadHandout *handout, const RdmadClaim *claim, guint nth)
{
	const char *token = claim->tokens[nth];
	const RdmadClaim *now = rdmad_claims_by_token(handout->claims, claim->resource, token);

	if (!now || g_str_equal(now->id, claim->id))
		rdmad_device_info_remove(handout->info, claim->resource, token);
}

/* ---- claims ---- */

gboolean rdmad_handout_begin(RdmadHandout *handout, const RdmadClaim *claim, GError **error)
{
	if (!rdmad_claim_folder_begin(handout->run_dir, claim, error))
		return FALSE;
	for (guint i = 0; claim->tokens[i]; i++)
		put_info(handout, claim, i);
	return TRUE;
}

void rdmad_handout_end(RdmadHandout *handout, const RdmadClaim *claim)
{
	g_autoptr(GError) error = NULL;

	if (!rdmad_allocation_dir_remove(handout->run_dir, claim->id, &error))
		warn(claim, error);
	for (guint i = 0; claim->tokens[i]; i++)
		remove_info(handout, claim, i);
}

static void keep_folder(const RdmadClaim *claim, gpointer data)
{
	RdmadHandout *handout = data;
	g_autoptr(GError) error = NULL;

	if (is_ours(handout, claim) && !rdmad_claim_folder_keep(handout->run_dir, claim, &error))
		warn(claim, error);
}

static void orphan_adopted(RdmadHandout *handout, const char *id)
{
	for (guint i = 0; i < handout->orphans->len; i++)
		if (g_str_equal(((const RdmadClaimNote *)handout->orphans->pdata[i])->id, id)) {
			g_ptr_array_remove_index_fast(handout->orphans, i);
			return;
		}
}

/* Also those of an earlier run, and those that were learnt from kubelet. */
static void claim_granted(const RdmadClaim *claim, gpointer data)
{
	RdmadHandout *handout = data;

	if (!is_ours(handout, claim))
		return;
	orphan_adopted(handout, claim->id);
	keep_folder(claim, handout);
	for (guint i = 0; handout->followed && claim->tokens[i]; i++)
		put_info(handout, claim, i);
}

static void claim_ended(const RdmadClaim *claim, const char *reason, gpointer data)
{
	RdmadHandout *handout = data;

	if (is_ours(handout, claim))
		rdmad_handout_end(handout, claim);
}

/* The folder says whose it is. */
static void claim_changed(const RdmadClaim *before, const RdmadClaim *now, gpointer data)
{
	RdmadHandout *handout = data;
	g_autoptr(GError) error = NULL;

	if (!is_ours(handout, now) || (!g_strcmp0(before->pod_name, now->pod_name) &&
				       !g_strcmp0(before->container, now->container)))
		return;
	if (rdmad_claims_lookup(handout->claims, now->id) &&
	    !rdmad_claim_folder_describe(handout->run_dir, now, &error))
		warn(now, error);
}

static const RdmadClaimOps CLAIM_OPS = {
	.granted = claim_granted,
	.changed = claim_changed,
	.ended = claim_ended,
};

/* ---- folders without a claim ---- */

char *rdmad_handout_recall(const RdmadHandout *handout, const char *resource,
			   const char *const *tokens)
{
	const RdmadClaimNote *found = NULL;

	for (guint i = 0; i < handout->orphans->len; i++) {
		const RdmadClaimNote *note = handout->orphans->pdata[i];

		if (note->resource && g_str_equal(note->resource, resource) &&
		    g_strv_equal((const char *const *)note->tokens, tokens) &&
		    (!found || note->since_us > found->since_us))
			found = note;
	}
	return found ? g_strdup(found->id) : NULL;
}

static void claim_count(const RdmadClaim *claim, gpointer n)
{
	++*(guint *)n;
}

static gboolean token_is_held(const RdmadHandout *handout, RdmadPods *pods, const char *resource,
			      const char *token)
{
	return rdmad_claims_by_token(handout->claims, resource, token) ||
	       rdmad_pods_holder(pods, resource, token);
}

static gboolean orphan_is_needed(const RdmadHandout *handout, const RdmadClaimNote *note,
				 RdmadPods *pods)
{
	guint n_claims = 0;

	if (!note->resource) {
		rdmad_claims_foreach(handout->claims, claim_count, &n_claims);
		return n_claims > 0;
	}
	for (guint i = 0; note->tokens[i]; i++)
		if (token_is_held(handout, pods, note->resource, note->tokens[i]))
			return TRUE;
	if (!note->pod_name)
		return FALSE;
	switch (rdmad_claims_pod_life(handout->claims, note->pod_namespace, note->pod_name)) {
	case RDMAD_POD_LIFE_ALIVE:
		return TRUE;
	case RDMAD_POD_LIFE_GONE:
		return FALSE;
	case RDMAD_POD_LIFE_EMPTY:
	case RDMAD_POD_LIFE_UNKNOWN:
		break;
	}
	return rdmad_pods_lists(pods, note->pod_namespace, note->pod_name);
}

static void orphan_remove(RdmadHandout *handout, guint index)
{
	const RdmadClaimNote *note = handout->orphans->pdata[index];
	g_autoptr(GError) error = NULL;

	if (rdmad_allocation_dir_remove(handout->run_dir, note->id, &error))
		rdmad_info("claim %s: folder removed, left by an earlier run", note->id);
	else
		rdmad_warn("claim %s: %s", note->id, error->message);
	g_ptr_array_remove_index_fast(handout->orphans, index);
}

guint rdmad_handout_review(RdmadHandout *handout, RdmadPods *pods)
{
	for (guint i = handout->orphans->len; i-- > 0;)
		if (!orphan_is_needed(handout, handout->orphans->pdata[i], pods))
			orphan_remove(handout, i);
	return handout->orphans->len;
}

static void review_listed(const GError *error, gpointer data)
{
	RdmadHandout *handout = data;
	RdmadPods *pods = rdmad_module_pods(handout->self);

	if (!handout->review)
		return;
	if (error || !rdmad_pods_is_steady(pods))
		rdmad_event_arm(handout->review, REVIEW_MS);
	else if (rdmad_handout_review(handout, pods))
		rdmad_event_arm(handout->review, REVIEW_AGAIN_MS);
}

static void review_ask(gpointer data)
{
	RdmadHandout *handout = data;

	if (handout->orphans->len)
		rdmad_pods_refresh(rdmad_module_pods(handout->self), handout->self, review_listed,
				   handout);
}

/* ---- what people ask ---- */

typedef struct {
	const RdmadHandout *handout;
	GHashTable *names; /* of the folders; what is left has no claim */
	GString *lacking;  /* claims without one */
} FolderCheck;

static void folder_check(const RdmadClaim *claim, gpointer data)
{
	FolderCheck *check = data;

	if (is_ours(check->handout, claim) && !g_hash_table_remove(check->names, claim->id))
		g_string_append_printf(check->lacking, "%s%s", check->lacking->len ? ", " : "",
				       claim->id);
}

static void doctor_say(json_t *findings, RdmadFinding level, const char *what, const char *names,
		       const char *advice)
{
	g_autofree char *text = g_strdup_printf("%s: %s", what, names);

	rdmad_doctor_add(findings, level, "claim folders", text, advice);
}

void rdmad_handout_doctor(const RdmadHandout *handout, json_t *findings)
{
	g_autoptr(GError) error = NULL;
	g_auto(GStrv) names = rdmad_allocation_dir_list(handout->run_dir, &error);
	g_autoptr(GHashTable) left = g_hash_table_new(g_str_hash, g_str_equal);
	g_autoptr(GString) lacking = g_string_new(NULL);
	g_autofree char *orphans = NULL;
	FolderCheck check = { handout, left, lacking };

	if (!names) {
		doctor_say(findings, RDMAD_FINDING_PROBLEM, "they cannot be listed", error->message,
			   "see that the folder is a directory of root's");
		return;
	}
	for (guint i = 0; names[i]; i++)
		g_hash_table_add(left, names[i]);
	rdmad_claims_foreach(handout->claims, folder_check, &check);
	if (g_hash_table_size(left)) {
		g_autofree gpointer *keys = g_hash_table_get_keys_as_array(left, NULL);

		orphans = g_strjoinv(", ", (char **)keys);
		doctor_say(findings, RDMAD_FINDING_NOTE, "folders without a claim", orphans,
			   "rdmad removes one once kubelet lists neither its tokens nor its pod; "
			   "claim.json in it says whose it was");
	}
	if (lacking->len)
		doctor_say(
			findings, RDMAD_FINDING_PROBLEM, "claims without a folder", lacking->str,
			"restart rdmad, which makes them; then restart the pods, whose /run/rdmad "
			"is empty or gone");
	else if (!orphans)
		rdmad_doctor_add(findings, RDMAD_FINDING_OK, "claim folders", "one for each claim",
				 NULL);
}

/* ---- devices ---- */

void rdmad_handout_set_device(RdmadHandout *handout, const char *id, const RdmadDevice *dev)
{
	const RdmadDevice *before = g_hash_table_lookup(handout->devices, id);
	g_autofree char *was = rdmad_device_info_text(before);
	g_autofree char *is = rdmad_device_info_text(dev);

	if (g_strcmp0(was, is))
		g_hash_table_add(handout->changed, g_strdup(id));
	if (dev)
		g_hash_table_replace(handout->devices, dev->id, (gpointer)rdmad_device_ref(dev));
	else
		g_hash_table_remove(handout->devices, id);
}

static void follow_claim(const RdmadClaim *claim, gpointer data)
{
	RdmadHandout *handout = data;

	if (!is_ours(handout, claim))
		return;
	for (guint i = 0; claim->tokens[i]; i++)
		if (!handout->followed ||
		    g_hash_table_contains(handout->changed, claim->devices[i]))
			put_info(handout, claim, i);
}

void rdmad_handout_follow(RdmadHandout *handout)
{
	if (!handout->followed || g_hash_table_size(handout->changed))
		rdmad_claims_foreach(handout->claims, follow_claim, handout);
	handout->followed = TRUE;
	g_hash_table_remove_all(handout->changed);
}

static void device_added(const RdmadDevice *dev, gpointer data)
{
	rdmad_handout_set_device(data, dev->id, dev);
}

static void device_changed(const RdmadDevice *before, const RdmadDevice *now, gpointer data)
{
	rdmad_handout_set_device(data, now->id, now);
}

static void device_removed(const RdmadDevice *dev, gpointer data)
{
	rdmad_handout_set_device(data, dev->id, NULL);
}

static void inventory_settled(gpointer data)
{
	rdmad_handout_follow(data);
}

static const RdmadInventoryOps INVENTORY_OPS = {
	.added = device_added,
	.changed = device_changed,
	.removed = device_removed,
	.settled = inventory_settled,
};

/* ---- names for runtimes ---- */

static void offer_device(RdmadHandout *handout, const RdmadResourceSettings *settings,
			 const RdmadDevice *dev)
{
	for (const RdmadChardevKind *kind = rdmad_cdi_kinds; *kind != RDMAD_CHARDEV_RDMA_CM; kind++)
		if (rdmad_resource_settings_wants(settings, *kind))
			rdmad_cdi_want(handout->cdi, dev, *kind);
}

void rdmad_handout_offer(RdmadHandout *handout, const RdmadResourceSettings *settings,
			 const GArray *members)
{
	for (guint i = 0; settings->cdi == RDMAD_CDI_ON && i < members->len; i++)
		offer_device(handout, settings, g_array_index(members, RdmadPoolMember, i).dev);
}

static void want_again(RdmadHandout *handout, const char *id)
{
	const RdmadDevice *dev = g_hash_table_lookup(handout->devices, id);

	for (const RdmadChardevKind *kind = rdmad_cdi_kinds; *kind != RDMAD_CHARDEV_RDMA_CM; kind++)
		if (dev && rdmad_cdi_has(handout->cdi, id, *kind))
			rdmad_cdi_want(handout->cdi, dev, *kind);
}

/* Its container may start again, and then its names must be there, whatever became of the resource. */
static void want_of_claim(const RdmadClaim *claim, gpointer data)
{
	RdmadHandout *handout = data;

	for (guint i = 0; is_ours(handout, claim) && claim->devices[i]; i++)
		want_again(handout, claim->devices[i]);
}

gboolean rdmad_handout_publish(RdmadHandout *handout, GError **error)
{
	/* Too early to say what is gone. */
	if (!handout->followed)
		return TRUE;
	if (rdmad_cdi_is_used(handout->cdi))
		rdmad_claims_foreach(handout->claims, want_of_claim, handout);
	return rdmad_cdi_publish(handout->cdi, error);
}

/* ---- life ---- */

RdmadHandout *rdmad_handout_new(const char *run_dir, const char *owner, RdmadClaims *claims,
				const RdmadHandoutFolders *folders)
{
	RdmadHandout *handout = g_new0(RdmadHandout, 1);

	handout->run_dir = g_strdup(run_dir);
	handout->owner = g_strdup(owner);
	handout->claims = claims;
	handout->orphans = g_ptr_array_new_with_free_func((GDestroyNotify)rdmad_claim_note_free);
	handout->info = rdmad_device_info_new(run_dir, folders->device_info_dir);
	handout->cdi = rdmad_cdi_new(folders->cdi_dir);
	handout->devices = g_hash_table_new_full(g_str_hash, g_str_equal, NULL,
						 (GDestroyNotify)rdmad_device_unref);
	handout->changed = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	return handout;
}

void rdmad_handout_free(RdmadHandout *handout)
{
	g_hash_table_unref(handout->changed);
	g_hash_table_unref(handout->devices);
	g_ptr_array_unref(handout->orphans);
	rdmad_device_info_free(handout->info);
	rdmad_cdi_free(handout->cdi);
	g_free(handout->run_dir);
	g_free(handout->owner);
	g_free(handout);
}

void rdmad_handout_configure(RdmadHandout *handout, const RdmadHandoutFolders *folders)
{
	rdmad_cdi_move(handout->cdi, folders->cdi_dir);
	if (!rdmad_device_info_move(handout->info, folders->device_info_dir))
		return;
	handout->followed = FALSE;
	rdmad_handout_follow(handout);
}

void rdmad_handout_load(RdmadHandout *handout)
{
	g_ptr_array_unref(handout->orphans);
	handout->orphans = rdmad_claim_folder_orphans(handout->run_dir, handout->claims);
	rdmad_device_info_sweep(handout->info, handout->claims, handout->owner);
	rdmad_cdi_load(handout->cdi);
}

/* A container that starts again after somebody emptied the run directory needs its folder. */
static void run_dir_changed(gpointer data)
{
	RdmadHandout *handout = data;

	rdmad_claims_foreach(handout->claims, keep_folder, handout);
	/* Before the first look at the hardware it is too early to say what has no device. */
	if (!handout->followed)
		return;
	handout->followed = FALSE;
	rdmad_handout_follow(handout);
}

void rdmad_handout_start(RdmadHandout *handout, RdmadModule *self)
{
	handout->self = self;
	rdmad_handout_load(handout);
	handout->run_watch = rdmad_folder_watch_new(rdmad_module_loop(self), self, handout->run_dir,
						    run_dir_changed, handout);
	handout->review = rdmad_loop_add_timer(rdmad_module_loop(self), self, review_ask, handout);
	rdmad_event_arm(handout->review, REVIEW_MS);
	handout->inventory_watch =
		rdmad_inventory_watch(rdmad_module_inventory(self), self, &INVENTORY_OPS, handout);
	handout->claims_watch = rdmad_claims_watch(handout->claims, self, &CLAIM_OPS, handout);
}

void rdmad_handout_stop(RdmadHandout *handout)
{
	g_clear_pointer(&handout->run_watch, rdmad_folder_watch_free);
	g_clear_pointer(&handout->inventory_watch, rdmad_watch_free);
	g_clear_pointer(&handout->claims_watch, rdmad_watch_free);
	g_clear_pointer(&handout->review, rdmad_event_free);
}
