/* SPDX-License-Identifier: Apache-2.0 */
#include "claims-fixture.h"

#include <glib/gstdio.h>

static void turn_over(gpointer data)
{
	ClaimsFixture *f = data;

	if (--f->turns)
		rdmad_event_arm(f->end, 0);
	else
		rdmad_loop_stop(f->loop);
}

void claims_fixture_open(ClaimsFixture *f)
{
	g_autoptr(GError) error = NULL;

	f->state = rdmad_state_open(f->dir, NULL, &error);
	g_assert_no_error(error);
	f->claims = rdmad_claims_new(f->loop, f->state, f->journal, &error);
	g_assert_no_error(error);
}

void claims_fixture_setup(ClaimsFixture *f, gconstpointer data)
{
	f->dir = g_dir_make_tmp("rdmad-claims-XXXXXX", NULL);
	f->loop = rdmad_loop_new();
	f->journal = rdmad_journal_new(f->loop);
	f->end = rdmad_loop_add_timer(f->loop, NULL, turn_over, f);
	f->seen = g_string_new(NULL);
	claims_fixture_open(f);
}

void claims_fixture_close(ClaimsFixture *f)
{
	rdmad_claims_free(f->claims);
	rdmad_state_close(f->state);
}

static void remove_folder(const char *path)
{
	g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
	const char *name;

	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *child = g_build_filename(path, name, NULL);

		g_unlink(child);
	}
	g_rmdir(path);
}

void claims_fixture_teardown(ClaimsFixture *f, gconstpointer data)
{
	claims_fixture_close(f);
	g_string_free(f->seen, TRUE);
	rdmad_event_free(f->end);
	rdmad_journal_free(f->journal);
	rdmad_loop_free(f->loop);
	remove_folder(f->dir);
	g_free(f->dir);
}

void claims_fixture_reopen(ClaimsFixture *f)
{
	claims_fixture_close(f);
	claims_fixture_open(f);
}

void claims_fixture_run(ClaimsFixture *f)
{
	f->turns = 5;
	rdmad_event_arm(f->end, 0);
	rdmad_loop_run(f->loop);
}

const RdmadClaim *claims_fixture_grant(ClaimsFixture *f, const char *tokens, GError **error)
{
	g_auto(GStrv) names = g_strsplit(tokens, ",", -1);
	g_auto(GStrv) devices = g_new0(char *, g_strv_length(names) + 1);
	const RdmadGrant grant = { "test", "rdma/hca", (const char *const *)names,
				   (const char *const *)devices };

	for (guint i = 0; names[i]; i++)
		devices[i] = g_strconcat("dev-", names[i], NULL);
	return rdmad_claims_grant(f->claims, &grant, error);
}

char *claims_fixture_must_grant(ClaimsFixture *f, const char *tokens)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(RdmadClaimRef) claim = claims_fixture_grant(f, tokens, &error);

	g_assert_no_error(error);
	g_assert_nonnull(claim);
	return g_strdup(claim->id);
}

static void claim_append(const RdmadClaim *claim, gpointer data)
{
	g_autofree char *tokens = g_strjoinv(",", claim->tokens);
	GString *text = data;

	g_string_append_printf(text, "%s%s", text->len ? " " : "", tokens);
	if (claim->pod_name)
		g_string_append_printf(text, "=%s", claim->pod_name);
}

char *claims_fixture_text(ClaimsFixture *f)
{
	GString *text = g_string_new(NULL);

	rdmad_claims_foreach(f->claims, claim_append, text);
	return g_string_free(text, FALSE);
}
