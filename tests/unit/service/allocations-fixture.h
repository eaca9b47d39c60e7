/* SPDX-License-Identifier: Apache-2.0 */
/* A table of allocations on a database in a directory of its own, for the tests of allocations. */
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
/* The table alone: another process may have the database meanwhile. */
void allocations_fixture_close(AllocationsFixture *f);
void allocations_fixture_open(AllocationsFixture *f);
/* Closes and loads again, as a restart does. */
void allocations_fixture_reopen(AllocationsFixture *f);
/* Some turns of the loop. */
void allocations_fixture_run(AllocationsFixture *f);

/* `slots` "a,b": slot "a" stands for device "dev-a".  NULL and `error` as rdmad_allocations_grant(). */
const RdmadAllocation *allocations_fixture_grant(AllocationsFixture *f, const char *slots,
						 GError **error);
/* The id; g_free(). */
char *allocations_fixture_must_grant(AllocationsFixture *f, const char *slots);
/* "a,b=pod c" in order of age; g_free(). */
char *allocations_fixture_text(AllocationsFixture *f);
void allocations_fixture_expect(AllocationsFixture *f, const char *text);
/* The kinds of all entries of the event log, each with a space behind it. */
void allocations_fixture_expect_events(AllocationsFixture *f, const char *kinds);
