/* SPDX-License-Identifier: Apache-2.0 */
/* Fails in start() */
#include "recorder.h"

static gboolean start_fails_start(gpointer state, GError **error)
{
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_UNAVAILABLE, "nobody is there");
	return FALSE;
}

RDMAD_MODULE_DEFINE("start-fails", .description = "", .create = recorder_create,
		    .start = start_fails_start, .stop = recorder_stop, .destroy = recorder_destroy);
