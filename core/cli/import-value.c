/* SPDX-License-Identifier: Apache-2.0 */
/* Values of selectors: what the plugins take, as rdmad writes it. */
#include <rdmad/error.h>
#include <string.h>

#include "cli/import-field.h"

#define PATTERN_MAX 128u

static char *value_refuse(GError **error, const char *text, const char *why)
{
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "\"%s\" %s", text, why);
	return NULL;
}

char *rdmad_import_convert_pattern(const char *text, GError **error)
{
	if (!text[0] || strlen(text) > PATTERN_MAX || g_str_equal(text, "!"))
		return value_refuse(error, text, "should have 1 to 128 characters");
	for (const char *c = text; *c; c++)
		if ((guchar)*c <= ' ' || *c == 0x7f)
			return value_refuse(error, text, "has a blank or a control character");
	return g_strdup(text);
}

/* "15b3", "0x15B3" -> "15b3"; NULL for anything else. */
static char *hex16(const char *text)
{
	const char *digits = g_str_has_prefix(text, "0x") ? text + 2 : text;

	if (strlen(digits) != 4 || strspn(digits, "0123456789abcdefABCDEF") != 4)
		return NULL;
	return g_ascii_strdown(digits, -1);
}

char *rdmad_import_convert_pci_id(const char *text, GError **error)
{
	return hex16(text)
		       ?: value_refuse(error, text,
				       "is no PCI id: four hexadecimal digits, "
				       "as \"15b3\"");
}

char *rdmad_import_convert_pkey(const char *text, GError **error)
{
	return hex16(text)
		       ?: value_refuse(error, text,
				       "is no P_Key: four hexadecimal digits, "
				       "as \"0x8001\"");
}

char *rdmad_import_convert_number(const char *text, GError **error)
{
	guint64 number;

	if (!g_ascii_string_to_unsigned(text, 10, 0, G_MAXUINT32, &number, NULL))
		return value_refuse(error, text, "is no number");
	return g_strdup(text);
}

/* "0000:3b:00.0", `length` bytes of it. */
static gboolean pci_address_ok(const char *text, gsize length)
{
	static const char form[] = "xxxx:xx:xx.o";

	if (length != sizeof(form) - 1)
		return FALSE;
	for (gsize i = 0; i < length; i++) {
		const gboolean ok = form[i] == 'x'   ? g_ascii_isxdigit(text[i])
				    : form[i] == 'o' ? text[i] >= '0' && text[i] <= '7'
						     : text[i] == form[i];

		if (!ok)
			return FALSE;
	}
	return TRUE;
}

char *rdmad_import_convert_pci_address(const char *text, GError **error)
{
	if (!pci_address_ok(text, strlen(text)))
		return value_refuse(error, text, "is no PCI address, as \"0000:3b:00.0\"");
	return g_ascii_strdown(text, -1);
}

char *rdmad_import_convert_link_type(const char *text, GError **error)
{
	if (g_str_equal(text, "ether"))
		return g_strdup("ethernet");
	if (g_str_equal(text, "infiniband"))
		return g_strdup("infiniband");
	return value_refuse(error, text,
			    "is no link of an RDMA device: \"ether\" or \"infiniband\"");
}

/* "7" or "0-3" */
static gboolean range_ok(const char *part)
{
	g_auto(GStrv) ends = g_strsplit(part, "-", 3);
	guint64 numbers[2] = { 0, G_MAXUINT32 };

	if (!ends[0] || (ends[1] && ends[2]))
		return FALSE;
	for (guint i = 0; ends[i]; i++)
		if (!g_ascii_string_to_unsigned(ends[i], 10, 0, G_MAXUINT16, &numbers[i], NULL))
			return FALSE;
	return numbers[0] <= numbers[1];
}

/* What is behind "#": "0-3,7". */
static gboolean ranges_ok(const char *text)
{
	g_auto(GStrv) parts = g_strsplit(text, ",", -1);

	for (guint i = 0; parts[i]; i++)
		if (!range_ok(parts[i]))
			return FALSE;
	return parts[0] != NULL;
}

char *rdmad_import_convert_netdev_range(const char *text, GError **error)
{
	const char *hash = strchr(text, '#');

	if (hash == text || (hash && !ranges_ok(hash + 1)))
		return value_refuse(error, text,
				    "is no interface with functions, as \"ens1f0#0-3,7\"");
	return rdmad_import_convert_pattern(text, error);
}

char *rdmad_import_convert_pci_range(const char *text, GError **error)
{
	const char *hash = strchr(text, '#');

	if (!pci_address_ok(text, hash ? (gsize)(hash - text) : strlen(text)) ||
	    (hash && !ranges_ok(hash + 1)))
		return value_refuse(error, text,
				    "is no PCI address with functions, as \"0000:3b:00.0#0-3,7\"");
	return g_ascii_strdown(text, -1);
}
