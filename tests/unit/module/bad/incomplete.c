/* SPDX-License-Identifier: Apache-2.0 */
/* Has no stop() */
#include "recorder.h"

RDMAD_MODULE_DEFINE("incomplete", .description = "", .create = recorder_create,
		    .start = recorder_start, .destroy = recorder_destroy);
