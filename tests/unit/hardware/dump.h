/* SPDX-License-Identifier: Apache-2.0 */
/* A scan as text, for comparison with tests/machines/expected/ */
#pragma once

#include "hardware/scan/scan.h"

char *test_dump_scan(const RdmadScan *scan);
