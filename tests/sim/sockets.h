/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unix sockets of the world, streams and sequences of packets, in memory
 *
 * All processes of the world are one, so nothing is ever under way: what one end has sent, the
 * other can receive.  Errors, their order and the wake-ups of epoll are the kernel's
 * (net/unix/af_unix.c). Sockets of other kinds are the kernel's.
 */
#pragma once

#include <glib.h>
#include <sys/socket.h>
#include <sys/types.h>

gboolean sockets_has(int fd);
/* `number` is that of the socket's file, by which sockets_connect() finds it. */
void sockets_bind(int fd, ino_t number);
int sockets_connect(int fd, ino_t number);
int sockets_accept(int fd, int flags);
int sockets_shutdown(int fd, int how);
gssize sockets_send(int fd, const struct msghdr *message);
gssize sockets_receive(int fd, struct msghdr *message, int flags);
