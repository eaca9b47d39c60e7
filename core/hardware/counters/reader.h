/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "hardware/counters/reading.h"

/* For tests: time as they say it is. */
void rdmad_counter_reader_set_clock(RdmadCounterReader *reader, RdmadClock clock);
