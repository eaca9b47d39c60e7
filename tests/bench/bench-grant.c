/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-grant STATE-DIR TOKENS-FILE
 *
 * Grants a claim for each token (one a line), as Allocate does, and nothing around it; prints
 * {"p50_us", "p99_us"} of rdmad_claims_grant().  Also how a benchmark fills a database.
 */
#include <stdio.h>
#include <string.h>

#include "base/log-private.h"
#include "base/loop-private.h"
#include "samples.h"
#include "service/claims-private.h"
#include "service/journal-private.h"

typedef struct {
	RdmadLoop *loop;
	RdmadClaims *claims;
	RdmadEvent *turn;
	char **tokens;
	GArray *took;
} Bench;

/* "0000:1a:00.0::007" */
static char *device_of(const char *token)
{
	const char *end = strstr(token, "::");

	return end ? g_strndup(token, (gsize)(end - token)) : g_strdup(token);
}

static void grant_one(Bench *b, const char *token)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *device = device_of(token);
	const char *const tokens[] = { token, NULL };
	const char *const devices[] = { device, NULL };
	const RdmadGrant grant = { "device-plugin", "rdma/hca", tokens, devices };
	const gint64 began = samples_now();
	g_autoptr(RdmadClaimRef) claim = rdmad_claims_grant(b->claims, &grant, &error);

	samples_add(b->took, began);
	if (!claim)
		g_error("%s", error->message);
}

/* One grant a turn of the loop, so that the table can tell its news between them. */
static void on_turn(gpointer data)
{
	Bench *b = data;
	const char *token = b->tokens[b->took->len];

	if (!token || !*token) {
		rdmad_loop_stop(b->loop);
		return;
	}
	grant_one(b, token);
	rdmad_event_arm(b->turn, 0);
}

static void bench_run(Bench *b, RdmadState *state)
{
	g_autoptr(GError) error = NULL;
	RdmadJournal *journal = rdmad_journal_new(b->loop);

	b->claims = rdmad_claims_new(b->loop, state, journal, &error);
	if (!b->claims)
		g_error("%s", error->message);
	b->turn = rdmad_loop_add_timer(b->loop, NULL, on_turn, b);
	rdmad_event_arm(b->turn, 0);
	rdmad_loop_run(b->loop);
	rdmad_event_free(b->turn);
	rdmad_claims_free(b->claims);
	rdmad_journal_free(journal);
}

int main(int argc, char **argv)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(RdmadState) state = NULL;
	g_autoptr(RdmadLoop) loop = rdmad_loop_new();
	g_autofree char *text = NULL;
	Bench b = { .loop = loop };

	if (argc != 3) {
		fputs("usage: bench-grant STATE-DIR TOKENS-FILE\n", stderr);
		return 2;
	}
	rdmad_log_setup(RDMAD_LOG_WARNING, RDMAD_LOG_TEXT, NULL);
	state = rdmad_state_open(argv[1], NULL, &error);
	if (!state || !g_file_get_contents(argv[2], &text, NULL, &error)) {
		fprintf(stderr, "bench-grant: %s\n", error->message);
		return 1;
	}
	b.tokens = g_strsplit(text, "\n", -1);
	b.took = samples_new();
	bench_run(&b, state);
	if (b.took->len)
		printf("{\"p50_us\": %.1f, \"p99_us\": %.1f}\n", samples_percentile(b.took, 50),
		       samples_percentile(b.took, 99));
	g_array_unref(b.took);
	g_strfreev(b.tokens);
	return 0;
}
