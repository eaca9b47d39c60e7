/* SPDX-License-Identifier: Apache-2.0 */
#include "scrapes.h"
#include "../support/unit.h"

static void test_the_scraper_has_its_answer_before_it_gives_up(void)
{
	static const struct {
		const char *header;
		guint expected;
	} cases[] = {
		{ "10", 9500 },	   { "10.0", 9500 },   { "0.5", 450 },	   { "1", 950 },
		{ "0.1", 50 },	   { "0.001", 50 },    { "3600", 285000 }, { "1e1", 9500 },
		{ NULL, 7000 },	   { "", 7000 },       { "x", 7000 },	   { "10s", 7000 },
		{ "-1", 7000 },	   { "0", 7000 },      { "nan", 7000 },	   { "inf", 7000 },
		{ "1e999", 7000 }, { "10, 10", 7000 },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_test_message("%s", cases[i].header);
		g_assert_cmpuint(scrapes_deadline_ms(cases[i].header, 7000), ==, cases[i].expected);
	}
}

const UnitTest unit_tests[] = {
	UNIT_TEST("/metrics/scrapes/the scraper has its answer before it gives up",
		  test_the_scraper_has_its_answer_before_it_gives_up),
	{ 0 },
};
