/* SPDX-License-Identifier: Apache-2.0 */
#include "render/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_SIZE 256u

void text_grow(Text *text, gsize more)
{
	const gsize wanted = MAX(text->length + more, FIRST_SIZE);

	text->size = MAX(wanted, text->size * 2);
	text->start = g_realloc(text->start, text->size);
}

/* ---- numbers in Prometheus' form, written at `at` without a NUL; each returns the end ---- */

#define DECIMALS_MAX 9u
#define DIGITS_MAX   20u

/* Integers up to 2^53 are exact as double. */
#define EXACT_MAX 9007199254740992.0

static const char PAIRS[] = "00010203040506070809"
			    "10111213141516171819"
			    "20212223242526272829"
			    "30313233343536373839"
			    "40414243444546474849"
			    "50515253545556575859"
			    "60616263646566676869"
			    "70717273747576777879"
			    "80818283848586878889"
			    "90919293949596979899";

/* Writes the digits that end at `end`, and returns their start. */
static char *digits_before(char *end, guint64 value)
{
	while (value >= 100) {
		end -= 2;
		memcpy(end, PAIRS + value % 100 * 2, 2);
		value /= 100;
	}
	if (value >= 10) {
		end -= 2;
		memcpy(end, PAIRS + value * 2, 2);
		return end;
	}
	*--end = (char)('0' + value);
	return end;
}

char *number_print(char *at, guint64 value)
{
	char digits[DIGITS_MAX];
	char *const end = digits + sizeof(digits);
	const char *begin = digits_before(end, value);
	const gsize size = (gsize)(end - begin);

	memcpy(at, begin, size);
	return at + size;
}

char *number_print_scaled(char *at, guint64 value, guint decimals)
{
	guint64 unit = 1, rest;

	g_assert(decimals <= DECIMALS_MAX);
	for (guint i = 0; i < decimals; i++)
		unit *= 10;
	at = number_print(at, value / unit);
	rest = value % unit;
	if (!rest)
		return at;
	*at++ = '.';
	while (rest) {
		unit /= 10;
		*at++ = (char)('0' + rest / unit);
		rest %= unit;
	}
	return at;
}

static char *special_print(char *at, double value)
{
	const char *text = isnan(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";

	memcpy(at, text, strlen(text));
	return at + strlen(text);
}

/* Prints short decimals, such as the bounds of histograms and times in microseconds, at a tenth of
 * the cost of printf().  The double nearest to a decimal is its integer divided by a power of ten,
 * if both are exact as double.  Returns NULL for other values. */
static char *decimal_print(char *at, double value)
{
	double power = 1;

	/* Smaller values have an exponent. */
	if (fabs(value) < 1e-4)
		return NULL;
	for (guint decimals = 1; decimals <= DECIMALS_MAX; decimals++) {
		guint64 whole;

		power *= 10;
		if (fabs(value) * power > EXACT_MAX)
			return NULL;
		whole = (guint64)(fabs(value) * power + 0.5);
		if ((double)whole / power != fabs(value))
			continue;
		if (value < 0)
			*at++ = '-';
		return number_print_scaled(at, whole, decimals);
	}
	return NULL;
}

static char *fraction_print(char *at, double value)
{
	static const char *const FORMATS[] = { "%.15g", "%.16g", "%.17g" };
	char text[G_ASCII_DTOSTR_BUF_SIZE], *end;

	end = decimal_print(at, value);
	if (end)
		return end;
	for (guint i = 0; i < G_N_ELEMENTS(FORMATS); i++) {
		g_ascii_formatd(text, sizeof(text), FORMATS[i], value);
		if (g_ascii_strtod(text, NULL) == value)
			break;
	}
	memcpy(at, text, strlen(text));
	return at + strlen(text);
}

char *number_print_double(char *at, double value)
{
	if (!isfinite(value))
		return special_print(at, value);
	if (fabs(value) > EXACT_MAX || value != (double)(gint64)value)
		return fraction_print(at, value);
	if (value < 0)
		*at++ = '-';
	return number_print(at, (guint64)fabs(value));
}
