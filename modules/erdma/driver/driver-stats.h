/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics of the driver. */
#pragma once

#include "driver/driver.h"

typedef struct ErdmaDriverStats ErdmaDriverStats;

ErdmaDriverStats *erdma_driver_stats_new(RdmadModule *self, const ErdmaDriver *driver,
					 GError **error);
void erdma_driver_stats_free(ErdmaDriverStats *stats);
/* `error` NULL: success. */
void erdma_driver_stats_installed(ErdmaDriverStats *stats, const GError *error);
void erdma_driver_stats_loaded(ErdmaDriverStats *stats, const char *module, gboolean out,
			       const GError *error);
