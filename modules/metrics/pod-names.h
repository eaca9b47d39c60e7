/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pod names: from a uid to its pod, by kubelet's directories of logs (rdmad/pod-log-directory.h)
 *
 * A table is read at once and never changes; it may be used on any thread.
 */
#pragma once

#include <glib.h>

typedef struct PodNames PodNames;

typedef struct {
	const char *namespace, *name;
} PodName;

PodNames *pod_names_ref(PodNames *names);
void pod_names_unref(PodNames *names);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PodNames, pod_names_unref)

/*
 * A reference to `old` if it has `uid`, or did not find it a few seconds ago; otherwise to a new
 * table.  `old` NULL: there was none; `now_us`: monotonic.  A directory that cannot be read is an
 * empty one.
 */
PodNames *pod_names_follow(PodNames *old, const char *directory, const char *uid, gint64 now_us);

/* NULL: not known; `names` may be NULL. */
const PodName *pod_names_lookup(const PodNames *names, const char *uid);
/* Whichever was read later; both may be NULL. */
PodNames *pod_names_newer(PodNames *a, PodNames *b);
