/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <rdmad/event-log.h>

#define RDMAD_EVENT_LOG_MAX 1024u

RdmadEventLog *rdmad_event_log_new(RdmadLoop *loop);
void rdmad_event_log_free(RdmadEventLog *event_log);
/* Return the sequences of the oldest and the last entry.  Without entries `last` is 0. */
guint64 rdmad_event_log_oldest(const RdmadEventLog *event_log);
guint64 rdmad_event_log_last(const RdmadEventLog *event_log);
/* Frees the owner's watches.  Returns their number. */
guint rdmad_event_log_reap(RdmadEventLog *event_log, const RdmadModule *owner);
