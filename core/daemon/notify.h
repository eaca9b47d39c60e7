/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notices to the service manager, as sd_notify(3) sends them
 *
 * Without $NOTIFY_SOCKET everything here does nothing.
 */
#pragma once

#include <glib.h>

typedef struct RdmadNotify RdmadNotify;

/* Reads $NOTIFY_SOCKET, $WATCHDOG_USEC and $WATCHDOG_PID and unsets them: they are not for children.
 * A socket of a kind that we cannot use is logged and left alone. */
RdmadNotify *rdmad_notify_new(void);
void rdmad_notify_free(RdmadNotify *notify);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadNotify, rdmad_notify_free)

/* "READY=1", "STOPPING=1", "WATCHDOG=1". */
void rdmad_notify_send(RdmadNotify *notify, const char *state);
/* RELOADING=1, with the time that systemd requires; READY=1 ends it. */
void rdmad_notify_reloading(RdmadNotify *notify);
/* STATUS=: one line for `systemctl status`. */
void rdmad_notify_status(RdmadNotify *notify, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Interval of WATCHDOG=1 in milliseconds; 0: no watchdog. */
guint rdmad_notify_watchdog_ms(const RdmadNotify *notify);
