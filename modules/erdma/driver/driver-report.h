/* SPDX-License-Identifier: Apache-2.0 */
/* The driver in `rdmad status` and `rdmad doctor`. */
#pragma once

#include "driver/driver.h"

/* A JSON object, the caller's. */
struct json_t *erdma_driver_status(const ErdmaDriver *driver, const ErdmaDriverSettings *settings);
void erdma_driver_doctor(const ErdmaDriver *driver, const ErdmaDriverSettings *settings,
			 struct json_t *findings);
/* The driver does not work, although the node needs it; `why` is the caller's. */
gboolean erdma_driver_ready(const ErdmaDriver *driver, char **why);
