/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log output: a descriptor (stderr), or the socket of systemd's journal
 *
 * A stalled reader must not block the daemon.  The first line without room waits for
 * RDMAD_LOG_PATIENCE_MS; further lines are dropped until there is room again, and then one line
 * reports their number.  The descriptor's flags are not changed, because other processes may share
 * it.
 */
#pragma once

#include "base/log-format.h"
#include "base/log.h"

#define RDMAD_LOG_PATIENCE_MS	 50
#define RDMAD_LOG_JOURNAL_SOCKET "/run/systemd/journal/socket"

typedef struct {
	RdmadLogFormat format; /* never AUTO */
	int fd;		       /* borrowed */
	gboolean fd_is_journal;
	gboolean fd_is_socket, fd_is_file; /* decide how to write, and whether a write can block */
	int journal;			   /* owned; -1 unless JOURNAL */
	const char *journal_path;
	gboolean stuck, torn; /* the last line timed out; was truncated */
	guint lost;
} RdmadLogOutput;

/* `journal_stream` is the value of $JOURNAL_STREAM, or NULL. */
void rdmad_log_output_init(RdmadLogOutput *output, RdmadLogFormat format, int fd,
			   const char *journal_path, const char *journal_stream);
void rdmad_log_output_clear(RdmadLogOutput *output);
void rdmad_log_output_write(RdmadLogOutput *output, const RdmadLogRecord *record);
