/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pod names: maps UIDs to pods by kubelet's log directories (rdmad/pod-log-directory.h)
 *
 * A table is immutable and may be used on any thread.
 */
#pragma once

#include <glib.h>

typedef struct PodNames PodNames;

typedef struct {
	const char *namespace, *name;
} PodName;

/* `names` may be NULL. */
PodNames *pod_names_ref(PodNames *names);
void pod_names_unref(PodNames *names);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PodNames, pod_names_unref)

/*
 * Returns a reference to `old` if it has `uid` or did not find it less than ten seconds ago,
 * otherwise to a new table of at most 4096 pods.  `old` may be NULL; `now_us` is monotonic.  An
 * unreadable directory counts as empty; after an error that may pass (EMFILE, ...) it returns
 * `old`.
 */
PodNames *pod_names_follow(PodNames *old, const char *directory, const char *uid, gint64 now_us);

/* Returns NULL if the UID is unknown; `names` may be NULL. */
const PodName *pod_names_lookup(const PodNames *names, const char *uid);
/* Returns the table that was read later; both may be NULL. */
PodNames *pod_names_newer(PodNames *a, PodNames *b);
