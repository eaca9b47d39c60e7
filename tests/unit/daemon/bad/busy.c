/* SPDX-License-Identifier: Apache-2.0 */
/* Never ends its drain, and cannot reload. */
#include "recorder.h"

static void busy_drain(gpointer state)
{
	recorder_say(state, "drain");
}

RDMAD_MODULE_DEFINE("busy", .description = "A busy module", .create = recorder_create,
		    .start = recorder_start, .drain = busy_drain, .stop = recorder_stop,
		    .destroy = recorder_destroy);
