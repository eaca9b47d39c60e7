/* SPDX-License-Identifier: Apache-2.0 */
/* Fails in create(), without a reason */
#include "recorder.h"

static gpointer create_fails_create(RdmadModule *self, const RdmadConfigNode *config,
				    GError **error)
{
	return NULL;
}

RDMAD_MODULE_DEFINE("create-fails", .description = "", .create = create_fails_create,
		    .start = recorder_start, .stop = recorder_stop, .destroy = recorder_destroy);
