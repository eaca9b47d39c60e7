/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "hardware/counters/reading.h"

/* Replaces the clock, for tests. */
void rdmad_counter_reader_set_clock(RdmadCounterReader *reader, RdmadClock clock);
