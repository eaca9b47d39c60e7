/* SPDX-License-Identifier: Apache-2.0 */
#include "handout.h"

#include <rdmad/allocation-dir.h>
#include <rdmad/inventory.h>
#include <rdmad/log.h>
#include <rdmad/module.h>

#include "claim-devices.h"
#include "claim-folder.h"
#include "device-info.h"

struct RdmadHandout {
	char *run_dir, *owner;
	RdmadClaims *claims;
	RdmadDeviceInfo *info;
	RdmadCdi *cdi;
	GHashTable *devices; /* id -> RdmadDevice */
	GHashTable *changed; /* ids, since the last rdmad_handout_follow() */
	gboolean followed;   /* FALSE: any may have changed */
	RdmadWatch *inventory_watch, *claims_watch;
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
	if (!rdmad_claim_folder_begin(handout->run_dir, claim->id, error))
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

/* Also those of an earlier run, and those that were learnt from kubelet. */
static void claim_granted(const RdmadClaim *claim, gpointer data)
{
	RdmadHandout *handout = data;
	g_autoptr(GError) error = NULL;

	if (!is_ours(handout, claim))
		return;
	if (!rdmad_claim_folder_keep(handout->run_dir, claim->id, &error))
		warn(claim, error);
	for (guint i = 0; handout->followed && claim->tokens[i]; i++)
		put_info(handout, claim, i);
}

static void claim_ended(const RdmadClaim *claim, const char *reason, gpointer data)
{
	RdmadHandout *handout = data;

	if (is_ours(handout, claim))
		rdmad_handout_end(handout, claim);
}

static const RdmadClaimOps CLAIM_OPS = { .granted = claim_granted, .ended = claim_ended };

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
	rdmad_claim_folder_sweep(handout->run_dir, handout->claims);
	rdmad_device_info_sweep(handout->info, handout->claims, handout->owner);
	rdmad_cdi_load(handout->cdi);
}

void rdmad_handout_start(RdmadHandout *handout, RdmadModule *self)
{
	rdmad_handout_load(handout);
	handout->inventory_watch =
		rdmad_inventory_watch(rdmad_module_inventory(self), self, &INVENTORY_OPS, handout);
	handout->claims_watch = rdmad_claims_watch(handout->claims, self, &CLAIM_OPS, handout);
}

void rdmad_handout_stop(RdmadHandout *handout)
{
	g_clear_pointer(&handout->inventory_watch, rdmad_watch_free);
	g_clear_pointer(&handout->claims_watch, rdmad_watch_free);
}
