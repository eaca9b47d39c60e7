/* SPDX-License-Identifier: Apache-2.0 */
/* An epoll that fails on request: libevent calls these functions instead of libc's.  Include once
 * per program. */
#pragma once

#include <errno.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The errno of each failing call; 0: it succeeds. */
static struct {
	int create, ctl;
} refuse;

int epoll_create1(int flags)
{
	errno = refuse.create;
	return refuse.create ? -1 : (int)syscall(SYS_epoll_create1, flags);
}

int epoll_create(int size)
{
	return epoll_create1(0);
}

int epoll_ctl(int epoll, int op, int fd, struct epoll_event *event)
{
	errno = refuse.ctl;
	return refuse.ctl ? -1 : (int)syscall(SYS_epoll_ctl, epoll, op, fd, event);
}
