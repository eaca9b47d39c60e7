/* SPDX-License-Identifier: Apache-2.0 */
#include "gzip.h"

#define ZLIB_CONST /* what it reads it does not change */
#include <zlib.h>

/* Exposition text repeats itself so much that level 1 already takes most of it, for a third of what
 * the default costs: see tests/bench. */
#define LEVEL	    1
#define GZIP_WINDOW (15 + 16) /* the largest, in a gzip wrapper */
#define MEMORY	    8	      /* zlib's default */

char *gzip_pack(const char *text, gsize size, gsize *packed)
{
	g_autofree char *out = NULL;
	z_stream stream = { 0 };
	gsize bound;
	int status;

	if (size > G_MAXUINT / 2 || deflateInit2(&stream, LEVEL, Z_DEFLATED, GZIP_WINDOW, MEMORY,
						 Z_DEFAULT_STRATEGY) != Z_OK)
		return NULL;
	bound = deflateBound(&stream, size);
	out = g_malloc(bound);
	stream.next_in = (const Bytef *)text;
	stream.avail_in = (uInt)size;
	stream.next_out = (Bytef *)out;
	stream.avail_out = (uInt)bound;
	status = deflate(&stream, Z_FINISH);
	*packed = stream.total_out;
	deflateEnd(&stream);
	return status == Z_STREAM_END ? g_realloc(g_steal_pointer(&out), *packed) : NULL;
}
