/* SPDX-License-Identifier: Apache-2.0 */
#include "claim-folder.h"

#include <errno.h>
#include <rdmad/claims.h>
#include <rdmad/error.h>
#include <rdmad/log.h>
#include <string.h>
#include <stdio.h>
#include <unistd.h>

#include "public-file.h"

#define CLAIM_ID_LENGTH 16

#define NCCL_CONF                                                                                  \
	"# NCCL settings for this container, by rdmad.  Variables in the environment win.\n"

static char *claims_path(const char *run_dir)
{
	return g_build_filename(run_dir, "claims", NULL);
}

char *rdmad_claim_folder_path(const char *run_dir, const char *claim_id)
{
	return g_build_filename(run_dir, "claims", claim_id, NULL);
}

/* ---- make ---- */

gboolean rdmad_claim_folder_write(const char *run_dir, const char *claim_id, const char *file,
				  const char *text, GError **error)
{
	g_autofree char *folder = rdmad_claim_folder_path(run_dir, claim_id);
	g_autofree char *path = g_build_filename(folder, file, NULL);

	return rdmad_public_file_write(path, text, 0644, error);
}

gboolean rdmad_claim_folder_begin(const char *run_dir, const char *claim_id, GError **error)
{
	g_autofree char *path = rdmad_claim_folder_path(run_dir, claim_id);

	return rdmad_public_folder_make(path, error) &&
	       rdmad_claim_folder_write(run_dir, claim_id, RDMAD_CLAIM_NCCL_CONF, NCCL_CONF, error);
}

gboolean rdmad_claim_folder_keep(const char *run_dir, const char *claim_id, GError **error)
{
	g_autofree char *folder = rdmad_claim_folder_path(run_dir, claim_id);
	g_autofree char *conf = g_build_filename(folder, RDMAD_CLAIM_NCCL_CONF, NULL);

	return g_file_test(conf, G_FILE_TEST_IS_REGULAR) ||
	       rdmad_claim_folder_begin(run_dir, claim_id, error);
}

/* ---- remove ---- */

/* There are no folders in it. */
static void folder_empty(const char *path)
{
	g_autoptr(GDir) folder = g_dir_open(path, 0, NULL);
	const char *name;

	while (folder && (name = g_dir_read_name(folder))) {
		g_autofree char *file = g_build_filename(path, name, NULL);

		unlink(file);
	}
}

gboolean rdmad_claim_folder_remove(const char *run_dir, const char *claim_id, GError **error)
{
	g_autofree char *path = rdmad_claim_folder_path(run_dir, claim_id);

	folder_empty(path);
	if (rmdir(path) == 0 || errno == ENOENT)
		return TRUE;
	return rdmad_error_errno(error, errno, "cannot remove the folder %s", path);
}

/* ---- sweep ---- */

static gboolean name_is_claim(const char *name)
{
	return strspn(name, "0123456789abcdef") == CLAIM_ID_LENGTH && name[CLAIM_ID_LENGTH] == '\0';
}

static void sweep_one(const char *run_dir, const char *name, RdmadClaims *claims)
{
	g_autoptr(GError) error = NULL;

	if (!name_is_claim(name) || rdmad_claims_lookup(claims, name))
		return;
	if (rdmad_claim_folder_remove(run_dir, name, &error))
		rdmad_debug("claim %s: folder removed, left by an earlier run", name);
	else
		rdmad_debug("%s", error->message);
}

void rdmad_claim_folder_sweep(const char *run_dir, RdmadClaims *claims)
{
	g_autofree char *path = claims_path(run_dir);
	g_autoptr(GDir) folder = g_dir_open(path, 0, NULL);
	const char *name;

	while (folder && (name = g_dir_read_name(folder)))
		sweep_one(run_dir, name, claims);
}
