/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Default directories of rdmad
 *
 * The daemon and its clients use the same rule, so that they find each other.
 */
#pragma once

#include <glib.h>
#include <sys/types.h>

#define RDMAD_RUN_DIR	"/run/rdmad"
#define RDMAD_STATE_DIR "/var/lib/rdmad"

/* Returns /run/rdmad for root and the directory's owner, else $XDG_RUNTIME_DIR/rdmad or
 * /tmp/rdmad-UID.  g_free() */
char *rdmad_run_dir_default(void);
/* Returns NULL if there is no directory, so that no state is persistent.  g_free() */
char *rdmad_state_dir_default(void);
/* Returns 0755, because pods use the directory, or 0700 for the default directory of an
 * unprivileged user. */
mode_t rdmad_run_dir_mode(const char *run_dir);
