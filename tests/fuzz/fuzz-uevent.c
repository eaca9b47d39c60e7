/* SPDX-License-Identifier: Apache-2.0 */
/* Any datagram is parsed within its bounds. */
#include <stdint.h>

#include "hardware/netlink/events.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	rdmad_uevent_matters((const char *)data, size);
	return 0;
}
