/* SPDX-License-Identifier: Apache-2.0 */
/* Succeeds in all callbacks; completes a drain at once */
#include "recorder.h"

static void good_drain(gpointer state)
{
	Recorder *r = state;

	recorder_say(r, "drain");
	rdmad_module_drained(r->self);
}

RDMAD_MODULE_DEFINE("good", .description = "A good module", .create = recorder_create,
		    .start = recorder_start, .reload = recorder_reload, .drain = good_drain,
		    .stop = recorder_stop, .destroy = recorder_destroy);
