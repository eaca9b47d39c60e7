/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Default directories of rdmad
 *
 * An unprivileged daemon and its client find each other by the same rule.
 */
#pragma once

#include <glib.h>
#include <sys/types.h>

#define RDMAD_RUN_DIR	"/run/rdmad"
#define RDMAD_STATE_DIR "/var/lib/rdmad"

/* Root and the user who owns it have /run/rdmad; others have rdmad in their XDG_RUNTIME_DIR, or
 * /tmp/rdmad-UID.  g_free() */
char *rdmad_run_dir_default(void);
/* NULL: there is none, and nothing outlives us.  g_free() */
char *rdmad_state_dir_default(void);
/* Pods enter it, so it is public; a default directory of an unprivileged user is private. */
mode_t rdmad_run_dir_mode(const char *run_dir);
