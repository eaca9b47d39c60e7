/* SPDX-License-Identifier: Apache-2.0 */
#include "plants.h"

#include <rdmad/clock.h>
#include <rdmad/directory-watch.h>
#include <rdmad/disk.h>
#include <string.h>
#include <sys/stat.h>

#include "journal.h"
#include "life.h"
#include "network/perform.h"
#include "server.h"
#include "service/allocations-table.h"
#include "service/state.h"
#include "turns.h"

static const char *const names[N_PLANTS] = {
	"none",	       "late-commit", "no-sync",	 "torn-rename", "lost-directory",
	"freed-first", "stale-list",  "no-registration", "left-open",	"wall-clock",
	"two-holders", "no-undo",     "late-journal",	 "no-replay",
};

static Plant planted;
static gboolean uncommitted;

const char *plant_name(Plant plant)
{
	return names[plant];
}

Plant plant_of(const char *name)
{
	guint i = 0;

	while (i < N_PLANTS && !g_str_equal(names[i], name))
		i++;
	return (Plant)i;
}

void plant_set(Plant plant)
{
	planted = plant;
}

gboolean plant_skips_sync(const char *path)
{
	return (planted == PLANT_NO_SYNC && strstr(path, "rdmad.db")) ||
	       (planted == PLANT_TORN_RENAME && g_str_has_suffix(path, ".tmp"));
}

/* ---- in the place of ---- */

/* The real function and the one that stands before it. */
#define BEFORE(type, name, ...)                                                                    \
	type __real_##name(__VA_ARGS__);                                                           \
	type __wrap_##name(__VA_ARGS__);                                                           \
	type __wrap_##name(__VA_ARGS__)

BEFORE(gboolean, rdmad_state_commit, RdmadState *state, GError **error)
{
	if (planted != PLANT_LATE_COMMIT)
		return __real_rdmad_state_commit(state, error);
	uncommitted = TRUE;
	return TRUE;
}

BEFORE(gboolean, rdmad_state_begin, RdmadState *state, GError **error)
{
	if (uncommitted)
		__real_rdmad_state_commit(state, NULL);
	uncommitted = FALSE;
	return __real_rdmad_state_begin(state, error);
}

BEFORE(int, rdmad_disk_mkdir, int dir, const char *path, mode_t mode)
{
	if (planted == PLANT_LOST_DIRECTORY)
		return mkdirat(dir, path, mode);
	return __real_rdmad_disk_mkdir(dir, path, mode);
}

/* Neither is the time of the question the one of the list. */
BEFORE(void, rdmad_allocations_reconcile, RdmadAllocations *allocations, const RdmadPodList *list)
{
	RdmadPodList *changed = (RdmadPodList *)list;

	if (planted == PLANT_STALE_LIST || planted == PLANT_FREED_FIRST)
		changed->asked_us =
			rdmad_now_us() + (planted == PLANT_FREED_FIRST ? 100 * G_USEC_PER_SEC : 0);
	__real_rdmad_allocations_reconcile(allocations, list);
}

/* Each of three is enough to register again: what is in kubelet's directories, the end of its stream, and its own list
 * of what is allocatable.  The plant hides all of them from the first stream of a life on. */
typedef struct Registration Registration;
typedef struct PluginServer PluginServer;
typedef struct EndpointCheck EndpointCheck;

static const RdmadAllocations *registered; /* in the life that has these */

BEFORE(guint, plugin_server_streams, const PluginServer *server)
{
	const guint streams = __real_plugin_server_streams(server);

	if (planted != PLANT_NO_REGISTRATION)
		return streams;
	registered = life_allocations();
	return MAX(streams, 1);
}

BEFORE(void, registration_look, Registration *registration)
{
	if (planted != PLANT_NO_REGISTRATION || registered != life_allocations())
		__real_registration_look(registration);
}

BEFORE(void, endpoint_check_begin, EndpointCheck *check)
{
	if (planted != PLANT_NO_REGISTRATION)
		__real_endpoint_check_begin(check);
}

BEFORE(void, rdmad_directory_watch_free, RdmadDirectoryWatch *watch)
{
	if (planted != PLANT_LEFT_OPEN)
		__real_rdmad_directory_watch_free(watch);
}

BEFORE(gint64, rdmad_now_us, void)
{
	return planted == PLANT_WALL_CLOCK ? rdmad_wall_us() : __real_rdmad_now_us();
}

BEFORE(RdmadHolder, rdmad_allocations_judge, RdmadAllocations *allocations,
       const RdmadAllocationRecord *record, gint64 asked_us, const char **why)
{
	if (planted == PLANT_TWO_HOLDERS)
		return RDMAD_HOLDER_SHARES;
	return __real_rdmad_allocations_judge(allocations, record, asked_us, why);
}

BEFORE(gboolean, perform_undo, const PerformContext *ctx, const RdmadStep *step, GError **error)
{
	return planted == PLANT_NO_UNDO || __real_perform_undo(ctx, step, error);
}

BEFORE(void, cni_journal_write, CniJournal *journal, CniAttachment *attachment, CniJournalDone done,
       gpointer data)
{
	if (planted == PLANT_LATE_JOURNAL && attachment->state == CNI_STATE_PLANNED)
		done(NULL, data);
	else
		__real_cni_journal_write(journal, attachment, done, data);
}

BEFORE(void, cni_server_reconcile, CniServer *server, gboolean at_start)
{
	if (planted != PLANT_NO_REPLAY)
		__real_cni_server_reconcile(server, at_start);
}

/* It leads to the same, inside server.c. */
BEFORE(void, cni_server_hint, CniServer *server)
{
	if (planted != PLANT_NO_REPLAY)
		__real_cni_server_hint(server);
}
