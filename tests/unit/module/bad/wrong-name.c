/* SPDX-License-Identifier: Apache-2.0 */
/* Has another name than its file */
#include "recorder.h"

RDMAD_MODULE_DEFINE("another", .description = "", .create = recorder_create,
		    .start = recorder_start, .stop = recorder_stop, .destroy = recorder_destroy);
