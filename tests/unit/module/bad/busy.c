/* SPDX-License-Identifier: Apache-2.0 */
/* Never completes its drain, rejects reloads, and is never ready; has a reason if `value` is set */
#include "recorder.h"

static void busy_drain(gpointer state)
{
	recorder_say(state, "drain");
}

static gboolean busy_ready(gpointer state, char **why)
{
	const Recorder *r = state;

	if (strcmp(r->value, "none") != 0)
		*why = g_strdup(r->value);
	return FALSE;
}

RDMAD_MODULE_DEFINE("busy", .description = "A busy module", .create = recorder_create,
		    .start = recorder_start, .drain = busy_drain, .stop = recorder_stop,
		    .destroy = recorder_destroy, .ready = busy_ready);
