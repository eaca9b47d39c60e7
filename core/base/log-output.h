/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log output: a descriptor (stderr), or the socket of systemd's journal
 *
 * A reader that does not read must not stop the daemon.  The first line that finds no room waits
 * RDMAD_LOG_PATIENCE_MS; the lines after it are dropped at once until there is room again, and then
 * one line reports how many were lost.  The descriptor keeps its flags, because other processes may
 * share it.
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
	gboolean fd_is_socket, fd_is_file; /* how to write to it, and whether it can block */
	int journal;			   /* owned; -1 unless JOURNAL */
	const char *journal_path;
	gboolean stuck, torn; /* found no room; left a line without its end */
	guint lost;
} RdmadLogOutput;

/* `journal_stream`: the value of $JOURNAL_STREAM, or NULL. */
void rdmad_log_output_init(RdmadLogOutput *output, RdmadLogFormat format, int fd,
			   const char *journal_path, const char *journal_stream);
void rdmad_log_output_clear(RdmadLogOutput *output);
void rdmad_log_output_write(RdmadLogOutput *output, const RdmadLogRecord *record);
