/* SPDX-License-Identifier: Apache-2.0 */
/* The driver in `rdmad status` and `rdmad doctor`. */
#pragma once

#include "driver/driver.h"

/* Returns a JSON object owned by the caller. */
struct json_t *erdma_driver_status(const ErdmaDriver *driver, const ErdmaDriverSettings *settings);
void erdma_driver_doctor(const ErdmaDriver *driver, const ErdmaDriverSettings *settings,
			 struct json_t *findings);
/* Returns FALSE if the node needs the driver and it does not work; the caller owns `why`. */
gboolean erdma_driver_ready(const ErdmaDriver *driver, char **why);
