/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/types.h>
#include <string.h>

#include "slot.h"
#include "../support/unit.h"

static const char *const ODD_IDS[] = {
	"0000:3b:00.0",
	"mlx5_0",
	"a name with spaces",
	"caf\xc3\xa9",
	"a/b",
	"0123456789012345678901234567890123456789012345678901234567890123456789",
	"",
};

static void assert_fits_kubelet(const char *id)
{
	g_assert_cmpuint(strlen(id), <=, SLOT_MAX);
	g_assert_cmpuint(strspn(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789._:-"),
			 ==, strlen(id));
}

static void test_every_id_fits_kubelet(void)
{
	for (guint i = 0; i < G_N_ELEMENTS(ODD_IDS); i++) {
		g_autofree char *stem = slot_stem(ODD_IDS[i], NULL);
		g_autofree char *marked = slot_stem(ODD_IDS[i], "rdma/hca");
		g_autofree char *shared = slot_shared(marked, 32767, 5);

		assert_fits_kubelet(stem);
		assert_fits_kubelet(shared);
		g_assert_cmpstr(stem, !=, marked);
	}
}

static void test_plain_ids_stay_as_they_are(void)
{
	g_autofree char *stem = slot_stem("0000:3b:00.0", NULL);
	g_autofree char *shared = slot_shared(stem, 7, 3);

	g_assert_cmpstr(shared, ==, "0000:3b:00.0::007");
}

static void test_ids_that_look_the_same_after_cleaning_differ(void)
{
	g_autofree char *a = slot_stem("rxe 0", NULL);
	g_autofree char *b = slot_stem("rxe/0", NULL);

	g_assert_cmpstr(a, !=, b);
}

static void test_digits(void)
{
	static const struct {
		guint count, digits;
	} cases[] = { { 1, 1 }, { 10, 1 }, { 11, 2 }, { 100, 2 }, { 1000, 3 }, { 32768, 5 } };

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
		g_assert_cmpuint(slot_digits(cases[i].count), ==, cases[i].digits);
}

static void test_ids_of_other_plugins_are_understood(void)
{
	static const struct {
		const char *slot, *stem;
		guint number;
	} cases[] = {
		{ "0000:3b:00.0@7", "0000:3b:00.0", 7 },
		{ "erdma_0/199", "erdma_0", 199 },
		{ "0000:3b:00.0::007", NULL, 0 },
		{ "0000:3b:00.0@", NULL, 0 },
		{ "@7", NULL, 0 },
		{ "a@-1", NULL, 0 },
		{ "a@7x", NULL, 0 },
		{ "a@65536", NULL, 0 },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *stem = NULL;
		guint number = 0;

		g_assert_cmpint(slot_parse_foreign(cases[i].slot, &stem, &number), ==,
				cases[i].stem != NULL);
		g_assert_cmpstr(stem, ==, cases[i].stem);
		g_assert_cmpuint(number, ==, cases[i].number);
	}
}

const UnitTest unit_tests[] = {
	UNIT_TEST("/slot/every id fits kubelet", test_every_id_fits_kubelet),
	UNIT_TEST("/slot/plain ids stay as they are", test_plain_ids_stay_as_they_are),
	UNIT_TEST("/slot/ids that look the same after cleaning differ",
		  test_ids_that_look_the_same_after_cleaning_differ),
	UNIT_TEST("/slot/as many digits as the last number has", test_digits),
	UNIT_TEST("/slot/ids of other plugins are understood",
		  test_ids_of_other_plugins_are_understood),
	{ 0 },
};
