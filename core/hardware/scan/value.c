/* SPDX-License-Identifier: Apache-2.0 */
#include "hardware/scan/value.h"

#include <net/if.h>
#include <rdmad/device.h>
#include <string.h>

/* Loops in place of strspn() and strtoull(), which take several times as long for few digits: a
 * scan parses thousands of them. */
#define NUMBER_DIGITS_MAX 18

/* Parses a decimal number of at most `max` and moves behind it. */
static gboolean take_number(const char **text, guint64 max, guint64 *value)
{
	const char *p = *text;
	guint64 number = 0;

	for (; g_ascii_isdigit(*p); p++) {
		if (p - *text == NUMBER_DIGITS_MAX)
			return FALSE;
		number = number * 10 + (guint64)(*p - '0');
	}
	if (p == *text || number > max)
		return FALSE;
	*text = p;
	*value = number;
	return TRUE;
}

static gboolean take_char(const char **text, char c)
{
	if (**text != c)
		return FALSE;
	(*text)++;
	return TRUE;
}

static gsize count_hex_digits(const char *text)
{
	gsize n = 0;

	while (g_ascii_isxdigit(text[n]))
		n++;
	return n;
}

static gboolean is_hex_run(const char *text, gsize digits)
{
	for (gsize i = 0; i < digits; i++)
		if (!g_ascii_isxdigit(text[i]))
			return FALSE;
	return TRUE;
}

/* Parses groups of four hexadecimal digits, separated by colons, without trailing text. */
static gboolean parse_groups(const char *text, guint8 *raw, guint groups)
{
	if (strlen(text) != groups * 5 - 1)
		return FALSE;
	for (guint i = 0; i < groups; i++) {
		const char *group = text + (gsize)i * 5;

		if (!is_hex_run(group, 4) || (i + 1 < groups && group[4] != ':'))
			return FALSE;
		for (guint j = 0; j < 2; j++)
			raw[2 * i + j] = (guint8)(g_ascii_xdigit_value(group[2 * j]) << 4 |
						  g_ascii_xdigit_value(group[2 * j + 1]));
	}
	return TRUE;
}

gboolean rdmad_sysfs_text(const char *text, gpointer out)
{
	if (strlen(text) > RDMAD_SYSFS_TEXT_MAX)
		return FALSE;
	for (const char *p = text; *p; p++)
		if (g_ascii_iscntrl(*p))
			return FALSE;
	if (*text)
		*(char **)out = g_strdup(text);
	return TRUE;
}

gboolean rdmad_sysfs_guid(const char *text, gpointer out)
{
	guint8 raw[8];

	if (!parse_groups(text, raw, 4))
		return FALSE;
	*(char **)out = g_strdup(text);
	return TRUE;
}

gboolean rdmad_sysfs_gid(const char *text, gpointer out)
{
	guint8 raw[16];

	if (!parse_groups(text, raw, 8))
		return FALSE;
	memcpy(out, raw, sizeof(raw));
	return TRUE;
}

gboolean rdmad_sysfs_mac(const char *text, gpointer out)
{
	guint8 mac[6];

	if (strlen(text) != 17)
		return FALSE;
	for (guint i = 0; i < 6; i++) {
		const char *byte = text + (gsize)i * 3;

		if (!is_hex_run(byte, 2) || (i < 5 && byte[2] != ':'))
			return FALSE;
		mac[i] = (guint8)(g_ascii_xdigit_value(byte[0]) << 4 |
				  g_ascii_xdigit_value(byte[1]));
	}
	memcpy(out, mac, sizeof(mac));
	return TRUE;
}

gboolean rdmad_sysfs_int(const char *text, gpointer out)
{
	const gboolean negative = *text == '-';
	const char *p = text + negative;
	guint64 value;

	if (!take_number(&p, G_MAXINT, &value) || *p)
		return FALSE;
	*(int *)out = negative ? -(int)value : (int)value;
	return TRUE;
}

static gboolean parse_hex(const char *text, gsize max_digits, guint32 *value)
{
	gsize digits;

	if (!g_str_has_prefix(text, "0x"))
		return FALSE;
	digits = count_hex_digits(text + 2);
	if (!digits || digits > max_digits || text[2 + digits])
		return FALSE;
	*value = (guint32)g_ascii_strtoull(text + 2, NULL, 16);
	return TRUE;
}

gboolean rdmad_sysfs_hex16(const char *text, gpointer out)
{
	guint32 value;

	if (!parse_hex(text, 8, &value) || value > G_MAXUINT16)
		return FALSE;
	*(int *)out = (int)value;
	return TRUE;
}

gboolean rdmad_sysfs_is_up(const char *text, gpointer out)
{
	guint32 flags;

	if (!parse_hex(text, 8, &flags))
		return FALSE;
	*(int *)out = (flags & IFF_UP) != 0;
	return TRUE;
}

gboolean rdmad_sysfs_pci_class(const char *text, gpointer out)
{
	return parse_hex(text, 6, out);
}

/* Parses the number of "4: ACTIVE". */
static gboolean parse_enum(const char *text, guint64 max, int *value)
{
	guint64 number;

	if (!take_number(&text, max, &number) || !take_char(&text, ':'))
		return FALSE;
	*value = (int)number;
	return TRUE;
}

gboolean rdmad_sysfs_node_type(const char *text, gpointer out)
{
	int value;

	if (!parse_enum(text, G_MAXINT, &value))
		return FALSE;
	*(RdmadNodeType *)out =
		value <= RDMAD_NODE_UNSPECIFIED ? (RdmadNodeType)value : RDMAD_NODE_UNKNOWN;
	return TRUE;
}

gboolean rdmad_sysfs_port_state(const char *text, gpointer out)
{
	return parse_enum(text, RDMAD_PORT_ACTIVE_DEFER, out);
}

gboolean rdmad_sysfs_phys_state(const char *text, gpointer out)
{
	int value;

	if (!parse_enum(text, 7, &value))
		return FALSE;
	*(int *)out = value ? value : RDMAD_UNKNOWN;
	return TRUE;
}

gboolean rdmad_sysfs_rate(const char *text, gpointer out)
{
	guint64 whole, tenths = 0;

	if (!take_number(&text, 1000000, &whole))
		return FALSE;
	if (take_char(&text, '.') && !take_number(&text, 9, &tenths))
		return FALSE;
	if (!g_str_has_prefix(text, " Gb/sec") && (whole || tenths || (*text && *text != ' ')))
		return FALSE;
	*(gint64 *)out = (gint64)(whole * 1000 + tenths * 100);
	return TRUE;
}

gboolean rdmad_sysfs_link_layer(const char *text, gpointer out)
{
	RdmadLinkLayer layer = RDMAD_LINK_LAYER_UNKNOWN;

	if (!strcmp(text, "InfiniBand"))
		layer = RDMAD_LINK_LAYER_INFINIBAND;
	else if (!strcmp(text, "Ethernet"))
		layer = RDMAD_LINK_LAYER_ETHERNET;
	else if (strcmp(text, "Unspecified") != 0 && strcmp(text, "Unknown") != 0)
		return FALSE;
	*(RdmadLinkLayer *)out = layer;
	return TRUE;
}

gboolean rdmad_sysfs_speed(const char *text, gpointer out)
{
	guint64 value;

	if (!strcmp(text, "-1") || !strcmp(text, "4294967295") || !strcmp(text, "0")) {
		*(int *)out = RDMAD_UNKNOWN;
		return TRUE;
	}
	if (!take_number(&text, G_MAXINT, &value) || *text)
		return FALSE;
	*(int *)out = (int)value;
	return TRUE;
}

gboolean rdmad_sysfs_counter(const char *text, gpointer out)
{
	guint64 value = 0;
	const char *p = text;

	for (; g_ascii_isdigit(*p); p++) {
		const guint64 digit = (guint64)(*p - '0');

		if (value > (G_MAXUINT64 - digit) / 10)
			return FALSE;
		value = value * 10 + digit;
	}
	if (p == text || *p)
		return FALSE;
	*(guint64 *)out = value;
	return TRUE;
}

gboolean rdmad_sysfs_major_minor(const char *text, gpointer out)
{
	guint64 major, minor;

	if (!take_number(&text, G_MAXUINT, &major) || !take_char(&text, ':') ||
	    !take_number(&text, G_MAXUINT, &minor) || *text)
		return FALSE;
	((guint *)out)[0] = (guint)major;
	((guint *)out)[1] = (guint)minor;
	return TRUE;
}

/* Skips "0000:3b", a domain (five digits below a volume management device) and a bus. */
static const char *skip_domain_and_bus(const char *name)
{
	const gsize domain = count_hex_digits(name);

	if (domain < 4 || domain > 8 || name[domain] != ':')
		return NULL;
	name += domain + 1;
	return count_hex_digits(name) == 2 ? name + 2 : NULL;
}

gboolean rdmad_sysfs_is_pci_address(const char *name)
{
	const char *slot = skip_domain_and_bus(name);

	return slot && strlen(slot) == 5 && slot[0] == ':' && is_hex_run(slot + 1, 2) &&
	       slot[3] == '.' && slot[4] >= '0' && slot[4] <= '7';
}

gboolean rdmad_sysfs_is_host_bridge(const char *name)
{
	const char *end = g_str_has_prefix(name, "pci") ? skip_domain_and_bus(name + 3) : NULL;

	return end && !*end;
}

gboolean rdmad_sysfs_is_netdev_name(const char *name)
{
	const gsize len = strlen(name);

	if (!len || len >= 16 || !strcmp(name, ".") || !strcmp(name, ".."))
		return FALSE;
	for (gsize i = 0; i < len; i++)
		if (name[i] == '/' || name[i] == ':' || g_ascii_isspace(name[i]))
			return FALSE;
	return TRUE;
}
