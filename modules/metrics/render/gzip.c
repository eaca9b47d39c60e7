/* SPDX-License-Identifier: Apache-2.0 */
#include "render/gzip.h"

#define ZLIB_CONST /* makes the type of the input const */
#include <zlib.h>

/* Exposition text is so repetitive that level 1 removes most of it, at a quarter of the cost of
 * the default: see tests/bench. */
#define LEVEL	    1
#define GZIP_WINDOW (15 + 16) /* the largest, in a gzip wrapper */
#define MEMORY	    8	      /* zlib's default */

#define ROOM_FIRST 4096u
#define PIECE_MAX  (G_MAXUINT / 2) /* of one call of zlib */

struct Gzip {
	z_stream stream;
	char *out;
	gsize room;
};

Gzip *gzip_begin(void)
{
	Gzip *gzip = g_new0(Gzip, 1);

	if (deflateInit2(&gzip->stream, LEVEL, Z_DEFLATED, GZIP_WINDOW, MEMORY,
			 Z_DEFAULT_STRATEGY) == Z_OK)
		return gzip;
	g_free(gzip);
	return NULL;
}

static void room_make(Gzip *gzip)
{
	const gsize used = gzip->stream.total_out;

	if (gzip->stream.avail_out)
		return;
	gzip->room = MAX(gzip->room * 2, ROOM_FIRST);
	gzip->out = g_realloc(gzip->out, gzip->room);
	gzip->stream.next_out = (Bytef *)gzip->out + used;
	gzip->stream.avail_out = (uInt)MIN(gzip->room - used, PIECE_MAX);
}

static void gzip_run(Gzip *gzip, int flush)
{
	int status;

	do {
		room_make(gzip);
		status = deflate(&gzip->stream, flush);
		g_assert(status != Z_STREAM_ERROR); /* incorrect use */
	} while (gzip->stream.avail_in || (flush == Z_FINISH && status != Z_STREAM_END));
}

void gzip_add(Gzip *gzip, const char *bytes, gsize size)
{
	while (size) {
		const gsize piece = MIN(size, PIECE_MAX);

		gzip->stream.next_in = (const Bytef *)bytes;
		gzip->stream.avail_in = (uInt)piece;
		gzip_run(gzip, Z_NO_FLUSH);
		bytes += piece;
		size -= piece;
	}
}

char *gzip_end(Gzip *gzip, gsize *size)
{
	char *out;

	gzip_run(gzip, Z_FINISH);
	*size = gzip->stream.total_out;
	deflateEnd(&gzip->stream);
	out = gzip->out;
	g_free(gzip);
	return out;
}
