/* SPDX-License-Identifier: Apache-2.0 */
#include "claim-folder.h"

#include <jansson.h>
#include <rdmad/allocation-dir.h>
#include <rdmad/claims.h>
#include <rdmad/log.h>
#include <string.h>

#define CLAIM_JSON	"claim.json"
#define CLAIM_JSON_MAX	(1u << 20) /* 1024 tokens and devices of 253 bytes, and some */
#define CLAIM_ID_LENGTH 16
#define NAME_MAX_BYTES	253u
#define ORPHANS_MAX	4096u

#define NCCL_CONF                                                                                  \
	"# NCCL settings for this container, by rdmad.  Variables in the environment win.\n"

/* ---- write ---- */

static json_t *strings_json(char *const *strings)
{
	json_t *array = json_array();

	for (guint i = 0; strings[i]; i++)
		json_array_append_new(array, json_string(strings[i]));
	return array;
}

static char *claim_text(const RdmadClaim *claim)
{
	json_t *object = json_pack(
		"{s:i, s:s, s:s, s:o, s:o, s:s?, s:I, s:s?, s:s?, s:s?}", "version", 1, "id",
		claim->id, "resource", claim->resource, "tokens", strings_json(claim->tokens),
		"devices", strings_json(claim->devices), "mode", claim->mode, "since_us",
		(json_int_t)claim->since_us, "pod_namespace", claim->pod_namespace, "pod_name",
		claim->pod_name, "container", claim->container);
	char *text = json_dumps(object, JSON_INDENT(2));
	char *file = g_strconcat(text, "\n", NULL);

	free(text);
	json_decref(object);
	return file;
}

gboolean rdmad_claim_folder_describe(const char *run_dir, const RdmadClaim *claim, GError **error)
{
	g_autofree char *text = claim_text(claim);

	return rdmad_allocation_dir_write(run_dir, claim->id, CLAIM_JSON, text, error);
}

gboolean rdmad_claim_folder_begin(const char *run_dir, const RdmadClaim *claim, GError **error)
{
	return rdmad_allocation_dir_make(run_dir, claim->id, error) &&
	       rdmad_claim_folder_describe(run_dir, claim, error) &&
	       rdmad_allocation_dir_write(run_dir, claim->id, RDMAD_CLAIM_NCCL_CONF, NCCL_CONF,
					  error);
}

gboolean rdmad_claim_folder_keep(const char *run_dir, const RdmadClaim *claim, GError **error)
{
	g_autoptr(GError) problem = NULL;

	if (rdmad_allocation_dir_has(run_dir, claim->id, RDMAD_CLAIM_NCCL_CONF, &problem))
		return rdmad_claim_folder_describe(run_dir, claim, error);
	if (!problem)
		return rdmad_claim_folder_begin(run_dir, claim, error);
	g_propagate_error(error, g_steal_pointer(&problem));
	return FALSE;
}

/* ---- read ---- */

void rdmad_claim_note_free(RdmadClaimNote *note)
{
	g_free(note->id);
	g_free(note->resource);
	g_strfreev(note->tokens);
	g_free(note->pod_namespace);
	g_free(note->pod_name);
	g_free(note);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadClaimNote, rdmad_claim_note_free)

static gboolean name_is_good(const char *name, gsize max)
{
	return *name && strnlen(name, max + 1) <= max;
}

/* Sorted, each once, as claims have them. */
static char **note_tokens(const json_t *array)
{
	g_autoptr(GStrvBuilder) tokens = g_strv_builder_new();
	const gsize n = json_array_size(array);
	const char *before = "";

	if (n == 0 || n > RDMAD_CLAIM_MAX_TOKENS)
		return NULL;
	for (gsize i = 0; i < n; i++) {
		const char *token = json_string_value(json_array_get(array, i));

		if (!token || !name_is_good(token, NAME_MAX_BYTES) || strcmp(before, token) >= 0)
			return NULL;
		g_strv_builder_add(tokens, token);
		before = token;
	}
	return g_strv_builder_end(tokens);
}

static void note_fill(RdmadClaimNote *note, json_t *object)
{
	const char *pod_namespace = json_string_value(json_object_get(object, "pod_namespace"));
	const char *pod_name = json_string_value(json_object_get(object, "pod_name"));
	const char *id, *resource;
	json_int_t since_us = 0;
	json_t *tokens;
	int version;

	if (json_unpack(object, "{s:i, s:s, s:s, s:o, s?I}", "version", &version, "id", &id,
			"resource", &resource, "tokens", &tokens, "since_us", &since_us) < 0 ||
	    version != 1 || !g_str_equal(id, note->id) ||
	    !name_is_good(resource, 2 * NAME_MAX_BYTES))
		return;
	note->tokens = note_tokens(tokens);
	if (!note->tokens)
		return;
	note->resource = g_strdup(resource);
	note->since_us = since_us;
	if (pod_namespace && pod_name && name_is_good(pod_namespace, NAME_MAX_BYTES) &&
	    name_is_good(pod_name, NAME_MAX_BYTES)) {
		note->pod_namespace = g_strdup(pod_namespace);
		note->pod_name = g_strdup(pod_name);
	}
}

static RdmadClaimNote *note_read(const char *run_dir, const char *id)
{
	g_autoptr(RdmadClaimNote) note = g_new0(RdmadClaimNote, 1);
	g_autoptr(GError) error = NULL;
	g_autofree char *text =
		rdmad_allocation_dir_read(run_dir, id, CLAIM_JSON, CLAIM_JSON_MAX, &error);
	json_t *object = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;

	note->id = g_strdup(id);
	if (object)
		note_fill(note, object);
	json_decref(object);
	if (!note->resource)
		rdmad_warn("folder of claim %s: %s", id,
			   error ? error->message : CLAIM_JSON " is not what rdmad writes");
	return g_steal_pointer(&note);
}

static gboolean name_is_claim(const char *name)
{
	return strspn(name, "0123456789abcdef") == CLAIM_ID_LENGTH && name[CLAIM_ID_LENGTH] == '\0';
}

GPtrArray *rdmad_claim_folder_orphans(const char *run_dir, RdmadClaims *claims)
{
	GPtrArray *orphans = g_ptr_array_new_with_free_func((GDestroyNotify)rdmad_claim_note_free);
	g_autoptr(GError) error = NULL;
	g_auto(GStrv) names = rdmad_allocation_dir_list(run_dir, &error);

	if (!names)
		rdmad_warn("folders of claims are left as they are: %s", error->message);
	for (guint i = 0; names && names[i] && orphans->len < ORPHANS_MAX; i++) {
		if (!name_is_claim(names[i]))
			continue;
		if (rdmad_claims_lookup(claims, names[i]))
			rdmad_allocation_dir_clean(run_dir, names[i]);
		else
			g_ptr_array_add(orphans, note_read(run_dir, names[i]));
	}
	return orphans;
}
