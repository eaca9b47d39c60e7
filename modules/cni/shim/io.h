/* SPDX-License-Identifier: Apache-2.0 */
/* Input and output with deadlines.  On failure functions return -1 and set errno. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A time of the monotonic clock, in milliseconds. */
typedef int64_t Deadline;

Deadline deadline_in(int64_t ms);
/* Returns the milliseconds until the deadline, at least 0. */
int deadline_left(Deadline deadline);
/* Waits for `events` of poll(2); ETIMEDOUT. */
int wait_for(int fd, short events, Deadline deadline);
void sleep_ms(int64_t ms);

/* Writes all bytes, across interruptions and partial writes. */
int write_all(int fd, const void *bytes, size_t size);
/* Reads to the end of the file and returns the number of bytes, at most `size`; EFBIG if there are
 * more. */
int64_t read_all(int fd, void *bytes, size_t size, Deadline deadline);

/* 64-bit FNV-1a; `sum` is FNV_BEGIN, or the sum of the preceding bytes. */
#define FNV_BEGIN UINT64_C(0xcbf29ce484222325)
uint64_t fnv(uint64_t sum, const void *bytes, size_t size);
