/* SPDX-License-Identifier: Apache-2.0 */
/*
 * baseline-scrape ROOT TEXT-FILE KEPT [netdevs]
 *
 * The least that an exporter can do: it waits for a request, reads the files of all counters and
 * states, and answers with the lines of a file, in which the contents of the files take the place
 * of the numbers.  KEPT files stay open; others are opened by their names below their directory. No
 * loop, no threads, no checks, one connection: the baseline for comparisons.  Text and compressor
 * keep their memory.  Prints its port.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>

#include "counter-files.h"
#include "hardware/scan/scan.h"
#include "hardware/sysroot.h"

#define REQUEST_MAX 4096
#define VALUE_MAX   128
#define GZIP_LEVEL  1 /* as rdmad has it */
#define GZIP_WINDOW (15 + 16)
#define GZIP_MEMORY 8

typedef struct {
	const char *path, *name; /* its name begins within its path */
	int fd;			 /* -1: it is not kept open */
} File;

typedef struct {
	GPtrArray *paths; /* in the order of directories */
	GArray *files;	  /* of File */
	GStrv lines;	  /* each without its number */
	GStrv numbers;
	GString *text, *packed;
	z_stream gzip;
} Baseline;

/* ---- the files ---- */

/* The rate is the one file that rdmad does not read each time. */
static void files_open(Baseline *b, guint kept)
{
	b->files = g_array_new(FALSE, FALSE, sizeof(File));
	for (guint i = 0; i < b->paths->len; i++) {
		const char *path = b->paths->pdata[i];
		File file = { path, strrchr(path, '/') + 1, -1 };

		if (!strcmp(file.name, "rate"))
			continue;
		if (b->files->len < kept)
			file.fd = open(path, O_RDONLY | O_CLOEXEC);
		g_array_append_val(b->files, file);
	}
}

/* `dir` is the directory of `last`, and is that of `file` afterwards. */
static void directory_follow(int *dir, const File *last, const File *file)
{
	const gsize size = (gsize)(file->name - file->path);
	g_autofree char *path = NULL;

	if (*dir >= 0 && (gsize)(last->name - last->path) == size &&
	    !memcmp(last->path, file->path, size))
		return;
	if (*dir >= 0)
		close(*dir);
	path = g_strndup(file->path, size);
	*dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static gsize file_read(const File *file, int dir, char *value)
{
	const int fd = file->fd >= 0 ? file->fd : openat(dir, file->name, O_RDONLY | O_CLOEXEC);
	const ssize_t n = pread(fd, value, VALUE_MAX, 0);

	if (n < 0)
		g_error("%s: %s", file->path, g_strerror(errno));
	if (file->fd < 0)
		close(fd);
	return n > 0 && value[n - 1] == '\n' ? (gsize)n - 1 : (gsize)n;
}

/* ---- the answer ---- */

static void lines_load(Baseline *b, const char *path)
{
	g_autofree char *text = NULL;

	if (!g_file_get_contents(path, &text, NULL, NULL))
		g_error("%s", path);
	b->lines = g_strsplit(text, "\n", -1);
	b->numbers = g_new0(char *, g_strv_length(b->lines) + 1);
	for (guint i = 0; b->lines[i]; i++) {
		char *number = b->lines[i][0] == '#' ? NULL : strrchr(b->lines[i], ' ');

		b->numbers[i] = g_strdup(number ? number + 1 : "");
		if (number)
			number[1] = '\0';
	}
	b->text = g_string_sized_new(2 * strlen(text));
	b->packed = g_string_sized_new(strlen(text));
}

/* Lines that have no file keep their numbers, as do those of states. */
static void text_make(Baseline *b)
{
	const File *last = NULL;
	guint n = 0;
	int dir = -1;

	g_string_truncate(b->text, 0);
	for (guint i = 0; b->lines[i]; i++) {
		char value[VALUE_MAX];
		gsize size = 0;

		g_string_append(b->text, b->lines[i]);
		if (b->numbers[i][0] && n < b->files->len) {
			const File *file = &g_array_index(b->files, File, n++);

			if (file->fd < 0)
				directory_follow(&dir, last, file);
			last = file;
			size = file_read(file, dir, value);
		}
		if (size && g_ascii_isdigit(value[size - 1]))
			g_string_append_len(b->text, value, (gssize)size);
		else
			g_string_append(b->text, b->numbers[i]);
		g_string_append_c(b->text, '\n');
	}
	if (dir >= 0)
		close(dir);
	if (n < b->files->len)
		g_error("%u files are more than the lines", b->files->len);
}

static const GString *text_pack(Baseline *b)
{
	b->gzip.next_in = (Bytef *)b->text->str;
	b->gzip.avail_in = (uInt)b->text->len;
	b->gzip.next_out = (Bytef *)b->packed->str;
	b->gzip.avail_out = (uInt)b->packed->allocated_len;
	if (deflateReset(&b->gzip) != Z_OK || deflate(&b->gzip, Z_FINISH) != Z_STREAM_END)
		g_error("the text did not become smaller");
	b->packed->len = b->gzip.total_out;
	return b->packed;
}

static void send_all(int fd, const char *bytes, gsize size, int flags)
{
	while (size) {
		const ssize_t n = send(fd, bytes, size, flags | MSG_NOSIGNAL);

		if (n < 0)
			g_error("send: %s", g_strerror(errno));
		bytes += n;
		size -= (gsize)n;
	}
}

static void answer(Baseline *b, int client, const char *request)
{
	const gboolean gzip = strstr(request, "gzip") != NULL;
	const GString *body = b->text;
	char head[256];

	text_make(b);
	if (gzip)
		body = text_pack(b);
	g_snprintf(head, sizeof(head),
		   "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n%s"
		   "Content-Length: %" G_GSIZE_FORMAT "\r\n\r\n",
		   gzip ? "Content-Encoding: gzip\r\n" : "", body->len);
	send_all(client, head, strlen(head), MSG_MORE);
	send_all(client, body->str, body->len, 0);
}

/* ---- the connection ---- */

static int listen_somewhere(void)
{
	const struct sockaddr_in any = { .sin_family = AF_INET,
					 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in bound;
	socklen_t size = sizeof(bound);
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (const struct sockaddr *)&any, sizeof(any)) < 0 ||
	    listen(fd, 1) < 0 || getsockname(fd, (struct sockaddr *)&bound, &size) < 0)
		g_error("listen: %s", g_strerror(errno));
	printf("%u\n", ntohs(bound.sin_port));
	fflush(stdout);
	return fd;
}

static void serve(Baseline *b, int client)
{
	char request[REQUEST_MAX];
	gsize used = 0;
	ssize_t n;

	while ((n = recv(client, request + used, sizeof(request) - 1 - used, 0)) > 0) {
		used += (gsize)n;
		request[used] = '\0';
		if (!strstr(request, "\r\n\r\n"))
			continue;
		answer(b, client, request);
		used = 0;
	}
}

int main(int argc, char **argv)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(RdmadScan) found = NULL;
	g_autoptr(RdmadSysroot) root = NULL;
	Baseline b = { 0 };

	if (argc < 4) {
		fputs("usage: baseline-scrape ROOT TEXT-FILE KEPT [netdevs]\n", stderr);
		return 2;
	}
	root = rdmad_sysroot_new(argv[1], &error);
	found = root ? rdmad_scan_sysfs(root, &error) : NULL;
	if (!found)
		g_error("%s", error->message);
	b.paths = counter_files_new(argv[1], found->devices, argc > 4);
	files_open(&b, (guint)CLAMP(atoi(argv[3]), 0, 1000000));
	lines_load(&b, argv[2]);
	if (deflateInit2(&b.gzip, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		g_error("zlib");
	serve(&b, accept4(listen_somewhere(), NULL, NULL, SOCK_CLOEXEC));
	return 0;
}
