/* SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/support/unit.h"

static const gsize sizes[] = {
	0, 1, 15, 16, 17, 1024, 1025, 4096, 1u << 20, 1u << 24, (1u << 24) + 1
};

/* Blocks of all sizes at once: none may share a byte with another. */
static void test_sizes(void)
{
	guint8 *blocks[G_N_ELEMENTS(sizes)];
	const gsize before = memory_blocks();

	for (guint i = 0; i < G_N_ELEMENTS(sizes); i++) {
		blocks[i] = malloc(sizes[i]);
		g_assert_cmpuint((gsize)blocks[i] % 16, ==, 0);
		g_assert_cmpuint(malloc_usable_size(blocks[i]), ==, sizes[i]);
		memset(blocks[i], (int)i, sizes[i]);
	}
	g_assert_cmpuint(memory_blocks() - before, ==, G_N_ELEMENTS(sizes));
	for (guint i = 0; i < G_N_ELEMENTS(sizes); i++) {
		for (gsize at = 0; at < sizes[i]; at += 997)
			g_assert_cmpuint(blocks[i][at], ==, i);
		free(blocks[i]);
	}
	g_assert_cmpuint(memory_blocks(), ==, before);
}

static void test_realloc(void)
{
	const gsize before = memory_blocks();
	guint8 *bytes = NULL;

	for (guint i = 1; i < G_N_ELEMENTS(sizes); i++) {
		bytes = realloc(bytes, sizes[i]);
		for (gsize at = 0; at < sizes[i - 1]; at += 997)
			g_assert_cmpuint(bytes[at], ==, 7);
		memset(bytes, 7, sizes[i]);
	}
	bytes = realloc(bytes, 5);
	g_assert_cmpmem(bytes, 5, "\7\7\7\7\7", 5);
	g_assert_cmpuint(malloc_usable_size(bytes), ==, 5);
	free(bytes);
	g_assert_cmpuint(memory_blocks(), ==, before);
}

static void test_aligned(void)
{
	const gsize before = memory_blocks();

	for (gsize alignment = 8; alignment <= 8192; alignment *= 2) {
		void *bytes = NULL;

		g_assert_cmpint(posix_memalign(&bytes, alignment, 100), ==, 0);
		g_assert_cmpuint((gsize)bytes % alignment, ==, 0);
		g_assert_cmpuint(malloc_usable_size(bytes), ==, 100);
		memset(bytes, 7, 100);
		bytes = realloc(bytes, 200);
		g_assert_cmpuint(*(guint8 *)bytes, ==, 7);
		free(bytes);
	}
	g_assert_cmpuint(memory_blocks(), ==, before);
}

/* ---- what a program must not do ---- */

/* free(), of which the compiler would know that the block is used afterwards. */
static void (*volatile release)(void *bytes) = free;

static void free_twice(guint8 *bytes)
{
	release(bytes);
	release(bytes);
}

#ifdef POISONS

static volatile guint8 taken; /* for reads that the compiler would leave out */

static void read_after(guint8 *bytes)
{
	taken = bytes[20];
}

static void read_before(guint8 *bytes)
{
	taken = bytes[-1];
}

static void read_freed(guint8 *bytes)
{
	release(bytes);
	taken = bytes[0];
}

static void read_freed_late(guint8 *bytes)
{
	release(bytes);
	for (guint i = 0; i < 16; i++)
		free(malloc(20));
	taken = bytes[0];
}

static void read_shrunk(guint8 *bytes)
{
	bytes = realloc(bytes, 10);
	taken = bytes[10];
}

static void read_before_aligned(guint8 *bytes)
{
	void *aligned = NULL;

	if (posix_memalign(&aligned, 64, 20) == 0)
		taken = ((guint8 *)aligned)[-1];
}

#endif

/* `breaks` gets a block of 20 bytes. */
static const struct {
	const char *name;
	void (*breaks)(guint8 *bytes);
	const char *message;
} mistakes[] = {
	{ "free-twice", free_twice, "*" },
#ifdef POISONS
	{ "read-after", read_after, "*use-after-poison*" },
	{ "read-before", read_before, "*use-after-poison*" },
	{ "read-freed", read_freed, "*use-after-poison*" },
	{ "read-freed-late", read_freed_late, "*use-after-poison*" },
	{ "read-shrunk", read_shrunk, "*use-after-poison*" },
	{ "read-before-aligned", read_before_aligned, "*use-after-poison*" },
#endif
};

static void test_ends(gconstpointer data)
{
	const typeof(mistakes[0]) *mistake = data;

	if (g_test_subprocess()) {
		mistake->breaks(malloc(20));
		return;
	}
	g_test_trap_subprocess(NULL, 0, 0);
	g_test_trap_assert_failed();
	g_test_trap_assert_stderr(mistake->message);
}

const UnitTest unit_tests[] = {
	UNIT_TEST("/memory/sizes", test_sizes),
	UNIT_TEST("/memory/realloc", test_realloc),
	UNIT_TEST("/memory/aligned", test_aligned),
	UNIT_CASES("/memory/ends/", mistakes, test_ends),
	{ 0 },
};
