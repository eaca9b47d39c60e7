/* SPDX-License-Identifier: Apache-2.0 */
/*
 * epoll for the descriptors of the world
 *
 * The order of events is the kernel's: what becomes ready is appended to a list, and what is still
 * ready after its report is appended again (fs/eventpoll.c).
 */
#pragma once

#include "descriptors.h"
#include <sys/epoll.h>

/* Returns a descriptor. */
int epoll_new(void);
/* Returns the number of events. */
int epoll_take(int epoll_fd, struct epoll_event *events, int max);
/* Notifies those who wait for one of these events; 0: everybody. */
void epoll_wake(const Open *open, guint32 events);
/* The description has no reference any more. */
void epoll_ended(Open *open);
