/* SPDX-License-Identifier: Apache-2.0 */
#include "grpc/wire.h"

#include <string.h>

static gboolean text_is_plain(char c)
{
	return c >= 0x20 && c <= 0x7e && c != '%';
}

/* Escapes one character if necessary, to at most 12 bytes. */
static gsize text_escape(const char *from, const char *to, char out[13])
{
	gsize n = 0;

	for (; from < to; from++) {
		if (text_is_plain(*from))
			out[n++] = *from;
		else
			n += (gsize)g_snprintf(out + n, 4, "%%%02X", (guint8)*from);
	}
	return n;
}

char *rdmad_grpc_text_encode(const char *text)
{
	/* A longer text never fits once encoded. */
	g_autofree char *valid = g_utf8_make_valid(text, (gssize)strnlen(text, 4096));
	GString *out = g_string_new(NULL);

	for (const char *p = valid; *p; p = g_utf8_next_char(p)) {
		char piece[13];
		const gsize n = text_escape(p, g_utf8_next_char(p), piece);

		if (out->len + n > RDMAD_GRPC_TEXT_MAX)
			break;
		g_string_append_len(out, piece, (gssize)n);
	}
	return g_string_free(out, FALSE);
}

char *rdmad_grpc_text_decode(const char *text, gsize size)
{
	g_autoptr(GString) out = g_string_sized_new(size);

	for (gsize i = 0; i < size; i++) {
		const gboolean escape = text[i] == '%' && i + 2 < size &&
					g_ascii_isxdigit(text[i + 1]) &&
					g_ascii_isxdigit(text[i + 2]);

		if (!escape) {
			g_string_append_c(out, text[i]);
			continue;
		}
		g_string_append_c(out, (char)(g_ascii_xdigit_value(text[i + 1]) * 16 +
					      g_ascii_xdigit_value(text[i + 2])));
		i += 2;
	}
	return g_utf8_make_valid(out->str, (gssize)out->len);
}

static guint64 unit_nanoseconds(char unit)
{
	switch (unit) {
	case 'H':
		return 3600 * G_GUINT64_CONSTANT(1000000000);
	case 'M':
		return 60 * G_GUINT64_CONSTANT(1000000000);
	case 'S':
		return 1000000000;
	case 'm':
		return 1000000;
	case 'u':
		return 1000;
	case 'n':
		return 1;
	default:
		return 0;
	}
}

gboolean rdmad_grpc_timeout_parse(const char *text, gsize size, guint *milliseconds)
{
	guint64 value = 0, unit;

	if (size < 2 || size > 9)
		return FALSE;
	for (gsize i = 0; i < size - 1; i++) {
		if (!g_ascii_isdigit(text[i]))
			return FALSE;
		value = value * 10 + (guint64)(text[i] - '0');
	}
	unit = unit_nanoseconds(text[size - 1]);
	if (!unit)
		return FALSE;
	/* 8 digits of hours are 3.6e20 ns, which fits only in milliseconds. */
	if (unit >= 1000000)
		value *= unit / 1000000;
	else
		value = (value * unit + 999999) / 1000000;
	*milliseconds = (guint)MIN(value, (guint64)G_MAXINT32);
	return TRUE;
}

char *rdmad_grpc_timeout_format(guint milliseconds)
{
	if (milliseconds < 100000000)
		return g_strdup_printf("%um", milliseconds);
	return g_strdup_printf("%uS", milliseconds / 1000);
}

void rdmad_grpc_message_append(GByteArray *out, const guint8 *message, gsize size)
{
	const guint32 length = GUINT32_TO_BE((guint32)size);
	guint8 prefix[RDMAD_GRPC_PREFIX] = { 0 };

	g_assert(size <= G_MAXINT32);
	memcpy(prefix + 1, &length, sizeof(length));
	g_byte_array_append(out, prefix, sizeof(prefix));
	if (size > 0)
		g_byte_array_append(out, message, (guint)size);
}

void rdmad_grpc_reader_init(RdmadGrpcReader *reader, gsize max)
{
	*reader = (RdmadGrpcReader){ .max = max };
}

void rdmad_grpc_reader_clear(RdmadGrpcReader *reader)
{
	g_clear_pointer(&reader->body, g_byte_array_unref);
}

static gboolean reader_take_prefix(RdmadGrpcReader *reader, const guint8 **data, gsize *size)
{
	const gsize n = MIN(*size, RDMAD_GRPC_PREFIX - reader->prefix_len);

	memcpy(reader->prefix + reader->prefix_len, *data, n);
	reader->prefix_len += (guint)n;
	*data += n;
	*size -= n;
	if (reader->prefix_len < RDMAD_GRPC_PREFIX)
		return FALSE;
	memcpy(&reader->length, reader->prefix + 1, sizeof(reader->length));
	reader->length = GUINT32_FROM_BE(reader->length);
	return TRUE;
}

/* Grows with the received bytes, not with the length in the prefix. */
static void reader_take_body(RdmadGrpcReader *reader, const guint8 **data, gsize *size)
{
	const gsize n = MIN(*size, reader->length - reader->body->len);

	if (n == 0)
		return;
	g_byte_array_append(reader->body, *data, (guint)n);
	*data += n;
	*size -= n;
}

RdmadGrpcRead rdmad_grpc_reader_take(RdmadGrpcReader *reader, const guint8 **data, gsize *size)
{
	if (reader->prefix_len < RDMAD_GRPC_PREFIX && !reader_take_prefix(reader, data, size))
		return RDMAD_GRPC_READ_MORE;
	if (reader->length > reader->max)
		return RDMAD_GRPC_READ_TOO_LARGE;
	if (reader->prefix[0] != 0)
		return RDMAD_GRPC_READ_COMPRESSED;
	if (!reader->body)
		reader->body = g_byte_array_new();
	reader_take_body(reader, data, size);
	return reader->body->len < reader->length ? RDMAD_GRPC_READ_MORE : RDMAD_GRPC_READ_MESSAGE;
}

void rdmad_grpc_reader_next(RdmadGrpcReader *reader)
{
	rdmad_grpc_reader_clear(reader);
	reader->prefix_len = 0;
}

gboolean rdmad_grpc_reader_partial(const RdmadGrpcReader *reader)
{
	return reader->prefix_len > 0;
}
