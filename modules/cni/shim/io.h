/* SPDX-License-Identifier: Apache-2.0 */
/* Input and output that know a deadline.  Functions that fail return -1 with errno. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A moment of the monotonic clock, in milliseconds. */
typedef int64_t Deadline;

Deadline deadline_in(int64_t ms);
/* The milliseconds left of it, at least 0. */
int deadline_left(Deadline deadline);
/* Waits for `events` of poll(2); ETIMEDOUT. */
int wait_for(int fd, short events, Deadline deadline);
void sleep_ms(int64_t ms);

/* Whole, whatever interrupts it and however little goes at once. */
int write_all(int fd, const void *bytes, size_t size);
/* Up to its end, at most `size` bytes: the number of them; EFBIG when there are more. */
int64_t read_all(int fd, void *bytes, size_t size, Deadline deadline);

/* FNV-1a of 64 bits; `sum` is FNV_BEGIN, or that of what came before. */
#define FNV_BEGIN UINT64_C(0xcbf29ce484222325)
uint64_t fnv(uint64_t sum, const void *bytes, size_t size);
