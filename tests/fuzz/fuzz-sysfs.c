/* SPDX-License-Identifier: Apache-2.0 */
/* Values and paths of sysfs: rejected ones change nothing, accepted ones are within their
 * bounds. */
#include <stdint.h>
#include <string.h>

#include "hardware/scan/parts.h"
#include "hardware/scan/value.h"
#include "hardware/scan/vpd.h"
#include "hardware/device.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_strings(const char *text)
{
	g_autofree char *guid = NULL;
	g_autofree char *plain = NULL;

	g_assert_true(rdmad_sysfs_guid(text, &guid) == (guid != NULL));
	if (!rdmad_sysfs_text(text, &plain))
		g_assert_null(plain);
	g_assert_true(!plain || strlen(plain) <= RDMAD_SYSFS_TEXT_MAX);
}

static void check_numbers(const char *text)
{
	int value = -7;
	gint64 rate = -7;
	guint32 class = 0;
	RdmadNodeType type;

	g_assert_true(rdmad_sysfs_hex16(text, &value) == (value != -7));
	g_assert_true(value <= G_MAXUINT16);
	value = -7;
	g_assert_true(!rdmad_sysfs_port_state(text, &value) ? value == -7
							    : value <= RDMAD_PORT_ACTIVE_DEFER);
	value = -7;
	g_assert_true(!rdmad_sysfs_phys_state(text, &value) ? value == -7 : value <= 7);
	value = -7;
	g_assert_true(!rdmad_sysfs_speed(text, &value) ? value == -7 : value >= RDMAD_UNKNOWN);
	g_assert_true(!rdmad_sysfs_rate(text, &rate) ? rate == -7 : rate >= 0);
	value = -7;
	g_assert_true(!rdmad_sysfs_is_up(text, &value) ? value == -7 : value == 0 || value == 1);
	g_assert_true(!rdmad_sysfs_pci_class(text, &class) || class <= 0xffffff);
	g_assert_true(!rdmad_sysfs_node_type(text, &type) || type <= RDMAD_NODE_UNSPECIFIED);
	rdmad_sysfs_int(text, &value);
}

static void check_counter(const char *text)
{
	g_autofree char *again = NULL;
	guint64 value = 7;

	if (!rdmad_sysfs_counter(text, &value)) {
		g_assert_cmpuint(value, ==, 7);
		return;
	}
	again = g_strdup_printf("%" G_GUINT64_FORMAT, value);
	text += strspn(text, "0");
	g_assert_cmpstr(again, ==, *text ? text : "0");
}

static void check_fixed(const char *text)
{
	guint8 gid[16], mac[6];
	guint numbers[2];
	RdmadLinkLayer layer;
	char again[40];

	if (rdmad_sysfs_gid(text, gid)) {
		rdmad_gid_format(gid, again);
		g_assert_cmpint(g_ascii_strcasecmp(again, text), ==, 0);
	}
	rdmad_sysfs_mac(text, mac);
	rdmad_sysfs_major_minor(text, numbers);
	rdmad_sysfs_link_layer(text, &layer);
	g_assert_false(rdmad_sysfs_is_pci_address(text) && rdmad_sysfs_is_host_bridge(text));
	g_assert_true(!rdmad_sysfs_is_netdev_name(text) || !strchr(text, '/'));
}

static void check_path(const char *text)
{
	const char *below = NULL;
	g_auto(GStrv) path = rdmad_pci_path_parse(text, &below);

	g_assert_true((path != NULL) == (below != NULL));
	if (!path)
		return;
	g_assert_true(rdmad_sysfs_is_host_bridge(path[0]));
	g_assert_true(below > text && below <= text + strlen(text));
	g_assert_cmpint(rdmad_pci_distance(path, 0, path, 0), ==, RDMAD_DISTANCE_SELF);
}

/* Compares two halves of a text as names. */
static void check_order(const char *text)
{
	const gsize half = strlen(text) / 2;
	g_autofree char *a = g_strndup(text, half);
	const char *b = text + half;
	const int there = rdmad_natural_compare(a, b);
	const int back = rdmad_natural_compare(b, a);

	g_assert_true((there < 0) == (back > 0) && (there == 0) == (strcmp(a, b) == 0));
}

static void check_vpd(const uint8_t *data, size_t size)
{
	g_autofree char *model = rdmad_vpd_model(data, size);

	g_assert_true(g_utf8_validate(model, -1, NULL));
	g_assert_cmpuint(g_utf8_strlen(model, -1), <=, 64);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autofree char *text = g_strndup((const char *)data, size);

	check_strings(text);
	check_numbers(text);
	check_counter(text);
	check_fixed(text);
	check_path(text);
	check_order(text);
	check_vpd(data, size);
	return 0;
}
