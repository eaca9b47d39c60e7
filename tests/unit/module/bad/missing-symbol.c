/* SPDX-License-Identifier: Apache-2.0 */
/* Calls a function that the daemon does not have */
#include "recorder.h"

RDMAD_API void rdmad_from_the_future(void);

static void missing_symbol_stop(gpointer state)
{
	rdmad_from_the_future();
}

RDMAD_MODULE_DEFINE("missing-symbol", .description = "", .create = recorder_create,
		    .start = recorder_start, .stop = missing_symbol_stop,
		    .destroy = recorder_destroy);
