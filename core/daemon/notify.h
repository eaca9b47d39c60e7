/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notifications to the service manager, in the format of sd_notify(3)
 *
 * Without $NOTIFY_SOCKET, the functions do nothing.
 */
#pragma once

#include <glib.h>

typedef struct RdmadNotify RdmadNotify;

/* Reads $NOTIFY_SOCKET, $WATCHDOG_USEC and $WATCHDOG_PID and unsets them, because they are not for
 * children.  An unsupported kind of socket is logged and ignored. */
RdmadNotify *rdmad_notify_new(void);
void rdmad_notify_free(RdmadNotify *notify);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadNotify, rdmad_notify_free)

/* Sends "READY=1", "STOPPING=1" or "WATCHDOG=1". */
void rdmad_notify_send(RdmadNotify *notify, const char *state);
/* Sends RELOADING=1 with the time that systemd requires; READY=1 ends the reload. */
void rdmad_notify_reloading(RdmadNotify *notify);
/* Sends STATUS=, one line for `systemctl status`. */
void rdmad_notify_status(RdmadNotify *notify, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Returns the interval of WATCHDOG=1 in milliseconds; 0: no watchdog. */
guint rdmad_notify_watchdog_ms(const RdmadNotify *notify);
