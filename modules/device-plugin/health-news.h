/* SPDX-License-Identifier: Apache-2.0 */
/* Health news: the event log hears of devices that fall ill or recover, and of the containers that
 * hold them. */
#pragma once

#include <rdmad/module.h>

#include "pool.h"

/* The device's health in this resource is not what it was. */
void rdmad_health_news_tell(RdmadModule *self, const RdmadPool *pool,
			    const RdmadPoolDevice *device);
