/* SPDX-License-Identifier: Apache-2.0 */
#include "claim-folder.h"

#include <rdmad/allocation-dir.h>
#include <rdmad/claims.h>
#include <rdmad/log.h>
#include <string.h>

#define CLAIM_ID_LENGTH 16

#define NCCL_CONF                                                                                  \
	"# NCCL settings for this container, by rdmad.  Variables in the environment win.\n"

gboolean rdmad_claim_folder_begin(const char *run_dir, const char *claim_id, GError **error)
{
	return rdmad_allocation_dir_make(run_dir, claim_id, error) &&
	       rdmad_allocation_dir_write(run_dir, claim_id, RDMAD_CLAIM_NCCL_CONF, NCCL_CONF,
					  error);
}

gboolean rdmad_claim_folder_keep(const char *run_dir, const char *claim_id, GError **error)
{
	g_autoptr(GError) problem = NULL;

	if (rdmad_allocation_dir_has(run_dir, claim_id, RDMAD_CLAIM_NCCL_CONF, &problem))
		return TRUE;
	if (!problem)
		return rdmad_claim_folder_begin(run_dir, claim_id, error);
	g_propagate_error(error, g_steal_pointer(&problem));
	return FALSE;
}

/* ---- sweep ---- */

static gboolean name_is_claim(const char *name)
{
	return strspn(name, "0123456789abcdef") == CLAIM_ID_LENGTH && name[CLAIM_ID_LENGTH] == '\0';
}

static void sweep_one(const char *run_dir, const char *name, RdmadClaims *claims)
{
	g_autoptr(GError) error = NULL;

	if (!name_is_claim(name))
		return;
	if (rdmad_claims_lookup(claims, name))
		rdmad_allocation_dir_clean(run_dir, name);
	else if (rdmad_allocation_dir_remove(run_dir, name, &error))
		rdmad_debug("claim %s: folder removed, left by an earlier run", name);
	else
		rdmad_debug("%s", error->message);
}

void rdmad_claim_folder_sweep(const char *run_dir, RdmadClaims *claims)
{
	g_autoptr(GError) error = NULL;
	g_auto(GStrv) names = rdmad_allocation_dir_list(run_dir, &error);

	if (!names)
		rdmad_warn("folders of claims are left as they are: %s", error->message);
	for (guint i = 0; names && names[i]; i++)
		sweep_one(run_dir, names[i], claims);
}
