/* SPDX-License-Identifier: Apache-2.0 */
#include "gzip.h"

#define ZLIB_CONST /* what it reads it does not change */
#include <zlib.h>

/* Exposition text repeats itself so much that level 1 already takes most of it, for a quarter of what
 * the default costs: see tests/bench. */
#define LEVEL	    1
#define GZIP_WINDOW (15 + 16) /* the largest, in a gzip wrapper */
#define MEMORY	    8	      /* zlib's default */

#define EXPECTED_RATIO 6u
#define ROOM_MIN       1024u

/* As much as it takes; what is not used of it is never touched. */
static gboolean pack_rest(z_stream *stream, char **out, gsize *room)
{
	int status = Z_OK;

	while (status == Z_OK) {
		if (!stream->avail_out) {
			*out = g_realloc(*out, *room * 2);
			stream->next_out = (Bytef *)*out + *room;
			stream->avail_out = (uInt)*room;
			*room *= 2;
		}
		status = deflate(stream, Z_FINISH);
		if (status == Z_BUF_ERROR)
			status = Z_OK;
	}
	return status == Z_STREAM_END;
}

char *gzip_pack(const char *text, gsize size, gsize *packed)
{
	gsize room = size / EXPECTED_RATIO + ROOM_MIN;
	g_autofree char *out = NULL;
	z_stream stream = { 0 };
	gboolean done;

	if (size > G_MAXUINT / 2 || deflateInit2(&stream, LEVEL, Z_DEFLATED, GZIP_WINDOW, MEMORY,
						 Z_DEFAULT_STRATEGY) != Z_OK)
		return NULL;
	out = g_malloc(room);
	stream.next_in = (const Bytef *)text;
	stream.avail_in = (uInt)size;
	stream.next_out = (Bytef *)out;
	stream.avail_out = (uInt)room;
	done = pack_rest(&stream, &out, &room);
	*packed = stream.total_out;
	deflateEnd(&stream);
	return done ? g_steal_pointer(&out) : NULL;
}
