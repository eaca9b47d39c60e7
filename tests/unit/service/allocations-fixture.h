/* SPDX-License-Identifier: Apache-2.0 */
/* A table of allocations with a database in its own directory */
#pragma once

#include <rdmad/loop.h>

#include "base/loop.h"
#include "service/allocations-private.h"
#include "service/event-log-private.h"
#include "../support/turns.h"

typedef struct {
	char *dir;
	RdmadLoop *loop;
	RdmadEventLog *event_log;
	RdmadState *state;
	RdmadAllocations *allocations;
	Turns turns;
	GString *seen; /* for callbacks */
} AllocationsFixture;

void allocations_fixture_setup(AllocationsFixture *f, gconstpointer data);
void allocations_fixture_teardown(AllocationsFixture *f, gconstpointer data);
/* Closes the table, so that another process may open the database. */
void allocations_fixture_close(AllocationsFixture *f);
void allocations_fixture_open(AllocationsFixture *f);
/* Closes and loads again, like a restart. */
void allocations_fixture_reopen(AllocationsFixture *f);
/* Runs some turns of the loop. */
void allocations_fixture_run(AllocationsFixture *f);

/* Grants `slots` "a,b"; slot "a" is on device "dev-a".  Returns NULL with `error` as
 * rdmad_allocations_grant(). */
const RdmadAllocation *allocations_fixture_grant(AllocationsFixture *f, const char *slots,
						 GError **error);
/* Returns the ID; g_free(). */
char *allocations_fixture_must_grant(AllocationsFixture *f, const char *slots);
/* Returns "a,b=pod c" in order of age; g_free(). */
char *allocations_fixture_text(AllocationsFixture *f);
void allocations_fixture_expect(AllocationsFixture *f, const char *text);
/* Compares the kinds of all entries of the event log, each followed by a blank. */
void allocations_fixture_expect_events(AllocationsFixture *f, const char *kinds);
