/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log-output.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <rdmad/fd.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/unix-socket.h"

/* systemd sets $JOURNAL_STREAM to the device and inode of the stream that it opened. */
static gboolean is_journal_stream(int fd, const char *journal_stream)
{
	guint64 device, inode;
	struct stat st;

	return journal_stream && fstat(fd, &st) == 0 &&
	       sscanf(journal_stream, "%" G_GINT64_MODIFIER "u:%" G_GINT64_MODIFIER "u", &device,
		      &inode) == 2 &&
	       device == st.st_dev && inode == st.st_ino;
}

static void output_check_fd(RdmadLogOutput *output)
{
	struct stat st;

	if (fstat(output->fd, &st) < 0)
		return;
	output->fd_is_socket = S_ISSOCK(st.st_mode);
	output->fd_is_file = S_ISREG(st.st_mode);
}

void rdmad_log_output_init(RdmadLogOutput *output, RdmadLogFormat format, int fd,
			   const char *journal_path, const char *journal_stream)
{
	const gboolean is_journal = is_journal_stream(fd, journal_stream);

	if (format == RDMAD_LOG_AUTO)
		format = is_journal ? RDMAD_LOG_JOURNAL : RDMAD_LOG_TEXT;
	*output = (RdmadLogOutput){
		.format = format,
		.fd = fd,
		.fd_is_journal = is_journal,
		.journal = -1,
		.journal_path = journal_path,
	};
	output_check_fd(output);
	if (format == RDMAD_LOG_JOURNAL)
		output->journal = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

void rdmad_log_output_clear(RdmadLogOutput *output)
{
	rdmad_clear_fd(&output->journal);
}

/* The socket is not connected, because the journal may be restarted. */
static gboolean journal_send(const RdmadLogOutput *output, const RdmadLogRecord *record)
{
	g_auto(RdmadUnixAddress) address = RDMAD_UNIX_NO_ADDRESS;
	g_autoptr(GString) datagram = g_string_sized_new(512);

	if (output->journal < 0 || !rdmad_unix_address_init(&address, output->journal_path, NULL))
		return FALSE;
	rdmad_log_format_journal(datagram, record);
	return sendto(output->journal, datagram->str, datagram->len, MSG_DONTWAIT | MSG_NOSIGNAL,
		      (const struct sockaddr *)&address.un, address.size) >= 0;
}

static gboolean has_room(RdmadLogOutput *output)
{
	struct pollfd poller = { .fd = output->fd, .events = POLLOUT };
	int ready;

	if (output->fd_is_file)
		return TRUE;
	do {
		ready = poll(&poller, 1, output->stuck ? 0 : RDMAD_LOG_PATIENCE_MS);
	} while (ready < 0 && errno == EINTR);
	output->stuck = ready == 0;
	return ready > 0 && (poller.revents & POLLOUT) != 0;
}

/* A writable pipe accepts PIPE_BUF bytes without blocking; send() may accept fewer. */
static ssize_t write_some(const RdmadLogOutput *output, const char *text, gsize length)
{
	const gsize chunk = MIN(length, PIPE_BUF);
	ssize_t written;

	do {
		written = output->fd_is_socket
				  ? send(output->fd, text, chunk, MSG_DONTWAIT | MSG_NOSIGNAL)
				  : write(output->fd, text, chunk);
	} while (written < 0 && errno == EINTR);
	return written;
}

/* Returns FALSE if the line, or its end, is lost. */
static gboolean write_all(RdmadLogOutput *output, const char *text, gsize length)
{
	gsize done = 0;

	while (done < length) {
		const ssize_t written =
			has_room(output) ? write_some(output, text + done, length - done) : -1;

		if (written < 0) {
			output->torn = output->torn || done > 0;
			return FALSE;
		}
		done += (gsize)written;
	}
	output->torn = FALSE;
	return TRUE;
}

static gboolean write_record(RdmadLogOutput *output, const RdmadLogRecord *record)
{
	g_autoptr(GString) line = g_string_sized_new(512);

	if (output->torn)
		g_string_append_c(line, '\n');
	if (output->format == RDMAD_LOG_JSON)
		rdmad_log_format_json(line, record);
	else if (output->fd_is_journal)
		rdmad_log_format_priority(line, record);
	else
		rdmad_log_format_text(line, record);
	return write_all(output, line->str, line->len);
}

static void report_lost(RdmadLogOutput *output, gint64 time_us)
{
	g_autofree char *message =
		g_strdup_printf("%u lines were lost because the log was not read", output->lost);
	const RdmadLogRecord record = { time_us, RDMAD_LOG_WARNING, "log", message, { NULL } };

	if (write_record(output, &record))
		output->lost = 0;
}

void rdmad_log_output_write(RdmadLogOutput *output, const RdmadLogRecord *record)
{
	if (output->format == RDMAD_LOG_JOURNAL && journal_send(output, record))
		return;
	if (output->lost > 0)
		report_lost(output, record->time_us);
	if (output->lost > 0 || !write_record(output, record))
		output->lost++;
}
