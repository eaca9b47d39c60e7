/* SPDX-License-Identifier: Apache-2.0 */
/* The formats of a log line, each of at most RDMAD_LOG_LINE_MAX bytes */
#pragma once

#include <rdmad/log.h>

#define RDMAD_LOG_LINE_MAX    8192u
#define RDMAD_LOG_MESSAGE_MAX 6144u /* longer messages are truncated */

typedef struct {
	gint64 time_us; /* wall clock */
	RdmadLogLevel level;
	const char *topic, *message;
	RdmadLogFields fields;
} RdmadLogRecord;

/* "2026-11-21T11:52:03.123Z info    device-plugin: message device=0000:3b:00.0\n" */
void rdmad_log_format_text(GString *out, const RdmadLogRecord *record);
/* "<6>device-plugin: message\n", for a stderr that the journal reads: the journal adds the time. */
void rdmad_log_format_priority(GString *out, const RdmadLogRecord *record);
/* {"time":"...","level":"info","topic":"...","message":"...","device":"..."} and a newline */
void rdmad_log_format_json(GString *out, const RdmadLogRecord *record);
/* A datagram in the journal's native protocol (https://systemd.io/JOURNAL_NATIVE_PROTOCOL) */
void rdmad_log_format_journal(GString *out, const RdmadLogRecord *record);
