/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/io.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

Deadline deadline_in(int64_t ms)
{
	return now_ms() + ms;
}

int deadline_left(Deadline deadline)
{
	const int64_t left = deadline - now_ms();

	return left < 0 ? 0 : left > INT_MAX ? INT_MAX : (int)left;
}

int wait_for(int fd, short events, Deadline deadline)
{
	struct pollfd watched = { .fd = fd, .events = events };
	int n;

	do
		n = poll(&watched, 1, deadline_left(deadline));
	while (n < 0 && errno == EINTR);
	if (n == 0)
		errno = ETIMEDOUT;
	return n > 0 ? 0 : -1;
}

void sleep_ms(int64_t ms)
{
	struct timespec left = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

int write_all(int fd, const void *bytes, size_t size)
{
	const char *at = bytes;

	while (size) {
		const ssize_t n = write(fd, at, size);

		if (n < 0 && errno == EAGAIN)
			wait_for(fd, POLLOUT, deadline_in(INT_MAX));
		else if (n < 0 && errno != EINTR)
			return -1;
		if (n > 0) {
			at += n;
			size -= (size_t)n;
		}
	}
	return 0;
}

int64_t read_all(int fd, void *bytes, size_t size, Deadline deadline)
{
	char *at = bytes, beyond;
	size_t n_read = 0;

	for (;;) {
		ssize_t n;

		if (wait_for(fd, POLLIN, deadline) < 0)
			return -1;
		n = n_read < size ? read(fd, at + n_read, size - n_read) : read(fd, &beyond, 1);
		if (n == 0)
			return (int64_t)n_read;
		if (n < 0 && errno != EINTR)
			return -1;
		if (n > 0 && n_read == size) {
			errno = EFBIG;
			return -1;
		}
		n_read += n > 0 ? (size_t)n : 0;
	}
}

uint64_t fnv(uint64_t sum, const void *bytes, size_t size)
{
	const unsigned char *at = bytes;

	for (size_t i = 0; i < size; i++)
		sum = (sum ^ at[i]) * UINT64_C(0x100000001b3);
	return sum;
}
