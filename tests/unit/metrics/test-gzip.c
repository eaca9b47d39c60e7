/* SPDX-License-Identifier: Apache-2.0 */
#include "render/gzip.h"

#include <string.h>
#include <zlib.h>

#include "../support/unit.h"

/* Compresses in pieces of this size. */
static char *pack(const char *text, gsize size, gsize piece, gsize *packed)
{
	Gzip *gzip = gzip_begin();

	for (gsize at = 0; at < size; at += piece)
		gzip_add(gzip, text + at, MIN(piece, size - at));
	return gzip_end(gzip, packed);
}

static void assert_round_trip(const char *text, gsize size, gsize piece)
{
	gsize packed_size;
	g_autofree char *packed = pack(text, size, piece, &packed_size);
	g_autofree char *again = g_malloc(size + 1);
	z_stream stream = { .next_in = (Bytef *)packed,
			    .avail_in = (uInt)packed_size,
			    .next_out = (Bytef *)again,
			    .avail_out = (uInt)size + 1 };

	g_assert_nonnull(packed);
	g_assert_cmpint(inflateInit2(&stream, 15 + 16), ==, Z_OK);
	g_assert_cmpint(inflate(&stream, Z_FINISH), ==, Z_STREAM_END);
	g_assert_cmpmem(again, stream.total_out, text, size);
	inflateEnd(&stream);
}

static void test_what_was_packed_unpacks(void)
{
	g_autofree char *noise = g_malloc(100000);
	g_autofree char *same = g_strnfill(1000000, 'x');

	for (guint i = 0; i < 100000; i++)
		noise[i] = (char)g_test_rand_int();
	assert_round_trip("", 0, 1);
	assert_round_trip("a 1\n", 4, 1);
	assert_round_trip(noise, 100000, 100000);
	assert_round_trip(noise, 100000, 77);
	assert_round_trip(same, 1000000, 4096);
	assert_round_trip(same, 1000000, 1000000);
}

const UnitTest unit_tests[] = {
	UNIT_TEST("/what was packed unpacks", test_what_was_packed_unpacks),
	{ 0 },
};
