/* SPDX-License-Identifier: Apache-2.0 */
/* Event counters (eventfd) and signals (signalfd), in memory. */
#pragma once

#include <glib.h>

/* Add one, or take all, of the descriptor of an eventfd(). */
void event_tell(int fd);
void event_take(int fd);

/* Sends a signal to rdmad, which always blocks it. */
void signals_send(int signum);
/* Discards signals that nobody received. */
void signals_drain(void);
