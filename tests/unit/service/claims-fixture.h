/* SPDX-License-Identifier: Apache-2.0 */
/* A table of claims on a database in a folder of its own, for the tests of claims. */
#pragma once

#include <rdmad/loop.h>

#include "base/loop-private.h"
#include "service/claims-private.h"
#include "service/journal-private.h"

typedef struct {
	char *dir;
	RdmadLoop *loop;
	RdmadJournal *journal;
	RdmadState *state;
	RdmadClaims *claims;
	RdmadEvent *end;
	guint turns;
	GString *seen; /* for callbacks */
} ClaimsFixture;

void claims_fixture_setup(ClaimsFixture *f, gconstpointer data);
void claims_fixture_teardown(ClaimsFixture *f, gconstpointer data);
/* The table alone: another process may have the database meanwhile. */
void claims_fixture_close(ClaimsFixture *f);
void claims_fixture_open(ClaimsFixture *f);
/* Closes and loads again, as a restart does. */
void claims_fixture_reopen(ClaimsFixture *f);
/* Some turns of the loop. */
void claims_fixture_run(ClaimsFixture *f);

/* `tokens` "a,b": token "a" stands for device "dev-a".  NULL and `error` as rdmad_claims_grant(). */
const RdmadClaim *claims_fixture_grant(ClaimsFixture *f, const char *tokens, GError **error);
/* The id; g_free(). */
char *claims_fixture_must_grant(ClaimsFixture *f, const char *tokens);
/* "a,b=pod c" in order of age; g_free(). */
char *claims_fixture_text(ClaimsFixture *f);
