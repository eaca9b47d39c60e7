/* SPDX-License-Identifier: Apache-2.0 */
/* The format is ustar.  Names and targets of more than 99 bytes precede the entry, as in GNU
 * tar. */
#include "cli/bundle/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <rdmad/clock.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

#define BLOCK	  512u
#define NAME_SIZE 100u
#define TOP	  "rdmad-bundle/"

typedef struct {
	char name[NAME_SIZE], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8];
	char type, target[NAME_SIZE], magic[6], version[2], rest[247];
} Header;
G_STATIC_ASSERT(sizeof(Header) == BLOCK);

struct Archive {
	char *path;
	gzFile out;
	gsize written;
	gint64 now;
	GHashTable *paths;
	GString *left_out;
	gboolean is_failed;
};

Archive *archive_new(const char *path, GError **error)
{
	rdmad_autofd int fd =
		open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	Archive *archive;

	if (fd < 0) {
		rdmad_error_errno(error, errno, "%s", path);
		return NULL;
	}
	archive = g_new0(Archive, 1);
	archive->path = g_strdup(path);
	archive->now = (time_t)(rdmad_wall_us() / G_USEC_PER_SEC);
	archive->paths = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	archive->left_out = g_string_new(NULL);
	archive->out = gzdopen(fd, "wb");
	if (!archive->out)
		g_error("zlib has no memory");
	(void)rdmad_steal_fd(&fd);
	return archive;
}

static void write_bytes(Archive *archive, const void *bytes, gsize size)
{
	if (size && gzwrite(archive->out, bytes, (guint)size) != (int)size)
		archive->is_failed = TRUE;
	archive->written += size;
}

static void write_padded(Archive *archive, const void *bytes, gsize size)
{
	static const char zeros[BLOCK];

	write_bytes(archive, bytes, size);
	write_bytes(archive, zeros, (BLOCK - size % BLOCK) % BLOCK);
}

static void write_header(Archive *archive, char type, const char *name, const char *target,
			 gsize size)
{
	Header header = { .magic = "ustar", .version = { '0', '0' }, .type = type };
	guint sum = 0;

	/* A name that fills its field has no terminating NUL. */
	memcpy(header.name, name, MIN(strlen(name), NAME_SIZE));
	memcpy(header.target, target, MIN(strlen(target), NAME_SIZE));
	g_snprintf(header.mode, sizeof(header.mode), "%07o", type == '5' ? 0755u : 0644u);
	g_snprintf(header.uid, sizeof(header.uid), "%07o", 0u);
	g_snprintf(header.gid, sizeof(header.gid), "%07o", 0u);
	g_snprintf(header.size, sizeof(header.size), "%011o", (guint)size);
	g_snprintf(header.mtime, sizeof(header.mtime), "%011" G_GINT64_MODIFIER "o", archive->now);
	memset(header.checksum, ' ', sizeof(header.checksum));
	for (gsize i = 0; i < sizeof(header); i++)
		sum += ((const guint8 *)&header)[i];
	g_snprintf(header.checksum, sizeof(header.checksum), "%06o", sum);
	write_bytes(archive, &header, sizeof(header));
}

static void write_long_name(Archive *archive, char type, const char *text)
{
	const gsize size = strlen(text) + 1;

	if (size <= NAME_SIZE)
		return;
	write_header(archive, type, "././@LongLink", "", size);
	write_padded(archive, text, size);
}

static void write_entry(Archive *archive, char type, const char *path, const char *target,
			const void *content, gsize size)
{
	g_autofree char *name = g_strconcat(TOP, path, NULL);

	write_long_name(archive, 'K', target);
	write_long_name(archive, 'L', name);
	write_header(archive, type, name, target, size);
	write_padded(archive, content, size);
}

void archive_note(Archive *archive, const char *path, const char *reason)
{
	g_autofree char *escaped = g_strescape(path, NULL);

	if (archive->left_out->len < ARCHIVE_MAX / 64)
		g_string_append_printf(archive->left_out, "%s: %s\n", escaped, reason);
}

gboolean archive_has(const Archive *archive, const char *path)
{
	return g_hash_table_contains(archive->paths, path);
}

static void add(Archive *archive, char type, const char *path, const char *target,
		const void *content, gsize size)
{
	if (!g_hash_table_add(archive->paths, g_strdup(path)))
		return;
	if (archive->written + size + strlen(path) + strlen(target) > ARCHIVE_MAX)
		archive_note(archive, path, "the bundle is full");
	else
		write_entry(archive, type, path, target, content, size);
}

void archive_file(Archive *archive, const char *path, const void *content, gsize size)
{
	add(archive, '0', path, "", content, size);
}

void archive_link(Archive *archive, const char *path, const char *target)
{
	add(archive, '2', path, target, NULL, 0);
}

void archive_directory(Archive *archive, const char *path)
{
	add(archive, '5', path, "", NULL, 0);
}

static gboolean archive_close(Archive *archive)
{
	static const char end[2 * BLOCK];
	gboolean done;

	write_entry(archive, '0', "left-out", "", archive->left_out->str, archive->left_out->len);
	write_bytes(archive, end, sizeof(end));
	done = !archive->is_failed;
	return gzclose(archive->out) == Z_OK && done;
}

gboolean archive_finish(Archive *archive, GError **error)
{
	gboolean done;

	errno = 0;
	done = archive_close(archive);
	if (!done) {
		rdmad_error_errno(error, errno ?: EIO, "%s", archive->path);
		unlink(archive->path);
	}
	g_hash_table_unref(archive->paths);
	g_string_free(archive->left_out, TRUE);
	g_free(archive->path);
	g_free(archive);
	return done;
}
