/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "hardware/counters/reading.h"

/* For tests: sets the time. */
void rdmad_counter_reader_set_clock(RdmadCounterReader *reader, RdmadClock clock);
