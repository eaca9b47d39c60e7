/* SPDX-License-Identifier: Apache-2.0 */
/* ---- index ranges: "ens1f0#0-3,7" is a pattern, limited to these virtual functions ---- */
#include "selector/key.h"

#include <rdmad/error.h>
#include <string.h>

#define INDEX_MAX 65535u

/* Parses "7" or "0-3" at `text` and moves behind it. */
static gboolean part_read(const char **text, guint64 *first, guint64 *last)
{
	char *end;

	if (!g_ascii_isdigit(**text))
		return FALSE;
	*first = *last = g_ascii_strtoull(*text, &end, 10);
	if (*end == '-') {
		if (!g_ascii_isdigit(end[1]))
			return FALSE;
		*last = g_ascii_strtoull(end + 1, &end, 10);
	}
	*text = end;
	return *first <= *last && *last <= INDEX_MAX;
}

/* Accepts patterns without a '#' too.  RDMAD_ERROR_CONFIG. */
static gboolean index_range_check(const char *pattern, GError **error)
{
	const char *hash = strchr(pattern, '#');
	const char *text = hash ? hash + 1 : NULL;
	gboolean good = hash != pattern;
	guint64 first, last;

	while (good && text) {
		good = part_read(&text, &first, &last) && (*text == ',' || *text == '\0');
		text = good && *text == ',' ? text + 1 : NULL;
	}
	if (!good)
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG,
			    "\"%s\": behind the # there are numbers of virtual functions from 0 to "
			    "%u, as in \"ens1f0#0-3,7\"",
			    pattern, INDEX_MAX);
	return good;
}

/* Returns the part before the '#'; g_free(). */
static char *index_range_pattern(const char *pattern)
{
	return g_strndup(pattern, strcspn(pattern, "#"));
}

/* Returns whether `index` is in the ranges after the '#'; always TRUE without a '#', also for
 * RDMAD_UNKNOWN. */
static gboolean index_range_holds(const char *pattern, int index)
{
	const char *text = strchr(pattern, '#');
	guint64 first, last;

	if (!text)
		return TRUE;
	while (text && index >= 0) {
		text++;
		if (!part_read(&text, &first, &last))
			return FALSE;
		if ((guint64)index >= first && (guint64)index <= last)
			return TRUE;
		text = strchr(text, ',');
	}
	return FALSE;
}

/*
 * Selector keys: attributes by which a device can be selected
 *
 * A key returns the device's values as text, and checks the form of a pattern.  The rest (globs,
 * exclusions) is the same for all; see selector.h.
 */

/* ---- values of a device ---- */

static void add(GPtrArray *values, const char *text)
{
	if (text)
		g_ptr_array_add(values, g_strdup(text));
}

static void add_number(GPtrArray *values, int number)
{
	if (number != RDMAD_UNKNOWN)
		g_ptr_array_add(values, g_strdup_printf("%d", number));
}

static void add_hex16(GPtrArray *values, int number)
{
	if (number != RDMAD_UNKNOWN)
		g_ptr_array_add(values, g_strdup_printf("%04x", (guint)number));
}

static void add_all(GPtrArray *values, char *const *texts)
{
	for (guint i = 0; texts && texts[i]; i++)
		add(values, texts[i]);
}

void select_key_add_netdevs(GPtrArray *values, const RdmadDevice *dev)
{
	for (guint i = 0; i < dev->n_netdevs; i++)
		add(values, dev->netdevs[i].name);
	for (guint i = 0; i < dev->n_ports; i++)
		add(values, dev->ports[i].netdev_in_pod);
}

static gboolean is_child(const RdmadDevice *dev)
{
	return dev->pci_role == RDMAD_PCI_VF || dev->aux_name;
}

/* Adds "sf" for "mlx5_core.sf.4". */
static void add_aux_type(GPtrArray *values, const char *aux_name)
{
	g_auto(GStrv) parts = g_strsplit(aux_name ? aux_name : "", ".", 3);

	if (g_strv_length(parts) == 3)
		add(values, parts[1]);
}

static void add_values_of_device(GPtrArray *values, SelectKey key, const RdmadDevice *dev)
{
	switch ((int)key) {
	case SELECT_NAMES:
		return add(values, dev->name);
	case SELECT_DRIVERS:
		return add(values, dev->driver);
	case SELECT_NETDEVS:
		return select_key_add_netdevs(values, dev);
	case SELECT_VENDORS:
		return add_hex16(values, dev->vendor);
	case SELECT_DEVICES:
		return add_hex16(values, dev->device);
	case SELECT_PCI_ADDRESSES:
		return add(values, dev->pci_address);
	case SELECT_GUIDS:
		return add(values, dev->node_guid);
	case SELECT_NUMA_NODES:
		return add_number(values, dev->numa_node);
	case SELECT_BONDS:
		return add(values, dev->bond);
	case SELECT_PF_NAMES:
		return is_child(dev) ? add_all(values, dev->pf_netdevs)
				     : select_key_add_netdevs(values, dev);
	case SELECT_ROOT_DEVICES:
		return add(values, dev->pf_address ? dev->pf_address : dev->pci_address);
	case SELECT_ACPI_INDEXES:
		return add_number(values, dev->acpi_index);
	case SELECT_AUX_TYPES:
		return add_aux_type(values, dev->aux_name);
	}
	g_assert_not_reached();
}

static void add_values_of_port(GPtrArray *values, SelectKey key, const RdmadPort *port)
{
	switch ((int)key) {
	case SELECT_LINK_LAYERS:
		return add(values, rdmad_link_layer_name(port->link_layer));
	case SELECT_PKEYS:
		return add_hex16(values, port->pkey0);
	case SELECT_PORT_STATES:
		return add(values, rdmad_port_state_name(port->state));
	}
	g_assert_not_reached();
}

GPtrArray *select_key_values(SelectKey key, const RdmadDevice *dev, const RdmadPort *port)
{
	GPtrArray *values = g_ptr_array_new_with_free_func(g_free);

	if (key < SELECT_OF_PORT)
		add_values_of_device(values, key, dev);
	else
		add_values_of_port(values, key, port);
	return values;
}

/* ---- syntax of patterns ---- */

static gboolean has_wildcard(const char *pattern)
{
	return strpbrk(pattern, "*?") != NULL;
}

static const char *without_0x(const char *text)
{
	return g_str_has_prefix(text, "0x") || g_str_has_prefix(text, "0X") ? text + 2 : text;
}

/* Accepts "15b3", "0x15B3", "15*": four hexadecimal digits, or a wildcard. */
static gboolean check_hex16(const char *pattern, GError **error)
{
	const char *text = without_0x(pattern);
	const gsize digits = strspn(text, "0123456789abcdefABCDEF*?");

	if (text[digits] == '\0' && digits <= 8 && (digits == 4 || has_wildcard(text)))
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG,
		    "\"%s\" is not of four hexadecimal digits, as \"15b3\"", pattern);
	return FALSE;
}

static gboolean check_number(const char *pattern, GError **error)
{
	const gsize digits = strspn(pattern, "0123456789*?");

	if (pattern[digits] == '\0' && digits <= 10)
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG, "\"%s\" is not a number", pattern);
	return FALSE;
}

static gboolean check_guid(const char *pattern, GError **error)
{
	const char *text = without_0x(pattern);

	if (text[strspn(text, "0123456789abcdefABCDEF:*?")] == '\0')
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG,
		    "\"%s\" is not a GUID such as \"0c42:a103:0065:4321\"", pattern);
	return FALSE;
}

/* Rejects characters that names of devices, drivers and interfaces never have, but lists and other
 * kinds of patterns do. */
static gboolean check_name(const char *pattern, GError **error)
{
	if (!strpbrk(pattern, "[]{},| \t"))
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG,
		    "\"%s\" is not a name with `*` and `?`; several names are a list of strings, "
		    "( \"a\", \"b\" )",
		    pattern);
	return FALSE;
}

/* Drivers of the RDMA subsystem, and the driver of the PCI function, which the key means. */
static const struct {
	const char *rdma, *pci;
} RDMA_DRIVERS[] = {
	{ "mlx5_ib", "mlx5_core" },   { "mlx4_ib", "mlx4_core" }, { "hns_roce_hw_v2", "hns3" },
	{ "hns-roce-hw-v2", "hns3" }, { "bnxt_re", "bnxt_en" },
};

static gboolean check_driver(const char *pattern, GError **error)
{
	for (guint i = 0; i < G_N_ELEMENTS(RDMA_DRIVERS); i++)
		if (g_str_equal(pattern, RDMA_DRIVERS[i].rdma)) {
			g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG,
				    "no device has the PCI driver \"%s\"; did you mean "
				    "\"%s\"?",
				    pattern, RDMA_DRIVERS[i].pci);
			return FALSE;
		}
	return check_name(pattern, error);
}

static gboolean check_link_layer(const char *pattern, GError **error)
{
	for (int layer = RDMAD_LINK_LAYER_UNKNOWN; layer <= RDMAD_LINK_LAYER_ETHERNET; layer++)
		if (g_ascii_strcasecmp(pattern, rdmad_link_layer_name((RdmadLinkLayer)layer)) == 0)
			return TRUE;
	if (has_wildcard(pattern))
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG,
		    "\"%s\" is not a link layer: \"ethernet\", \"infiniband\" or \"unknown\"",
		    pattern);
	return FALSE;
}

static gboolean check_port_state(const char *pattern, GError **error)
{
	for (int state = RDMAD_PORT_NOP; state <= RDMAD_PORT_ACTIVE_DEFER; state++)
		if (g_str_equal(pattern, rdmad_port_state_name(state)))
			return TRUE;
	if (has_wildcard(pattern))
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG,
		    "\"%s\" is not a port state: \"active\", \"init\", \"armed\", \"down\" ...",
		    pattern);
	return FALSE;
}

typedef enum { FORM_TEXT, FORM_LOWER, FORM_HEX, FORM_RANGE } Form;

static const struct {
	const char *name;
	Form form;
	gboolean (*check)(const char *pattern, GError **error);
} KEYS[SELECT_N] = {
	[SELECT_NAMES] = { "names", FORM_TEXT, check_name },
	[SELECT_DRIVERS] = { "drivers", FORM_TEXT, check_driver },
	[SELECT_NETDEVS] = { "netdevs", FORM_TEXT, check_name },
	[SELECT_VENDORS] = { "vendors", FORM_HEX, check_hex16 },
	[SELECT_DEVICES] = { "devices", FORM_HEX, check_hex16 },
	[SELECT_PCI_ADDRESSES] = { "pci_addresses", FORM_LOWER },
	[SELECT_GUIDS] = { "guids", FORM_HEX, check_guid },
	[SELECT_NUMA_NODES] = { "numa_nodes", FORM_TEXT, check_number },
	[SELECT_BONDS] = { "bonds", FORM_TEXT, check_name },
	[SELECT_PF_NAMES] = { "pf_names", FORM_RANGE, index_range_check },
	[SELECT_ROOT_DEVICES] = { "root_devices", FORM_RANGE, index_range_check },
	[SELECT_ACPI_INDEXES] = { "acpi_indexes", FORM_TEXT, check_number },
	[SELECT_AUX_TYPES] = { "aux_types" },
	[SELECT_LINK_LAYERS] = { "link_layers", FORM_LOWER, check_link_layer },
	[SELECT_PKEYS] = { "pkeys", FORM_HEX, check_hex16 },
	[SELECT_PORT_STATES] = { "port_states", FORM_TEXT, check_port_state },
};

const char *select_key_name(SelectKey key)
{
	return KEYS[key].name;
}

gboolean select_key_check(SelectKey key, const char *pattern, GError **error)
{
	return !KEYS[key].check || KEYS[key].check(pattern, error);
}

/* ---- matching ---- */

static char *fold(Form form, const char *text)
{
	char *folded, *to;

	if (form == FORM_TEXT)
		return g_strdup(text);
	folded = to = g_ascii_strdown(form == FORM_HEX ? without_0x(text) : text, -1);
	if (form != FORM_HEX)
		return folded;
	for (const char *from = folded; *from; from++) /* GUIDs may have colons */
		if (*from != ':')
			*to++ = *from;
	*to = '\0';
	return folded;
}

static int child_index(const RdmadDevice *dev)
{
	return dev->aux_name ? dev->sf_number : dev->vf_index;
}

gboolean select_key_matches(SelectKey key, const char *pattern, const RdmadDevice *dev,
			    const GPtrArray *values)
{
	const Form form = KEYS[key].form;
	g_autofree char *plain =
		form == FORM_RANGE ? index_range_pattern(pattern) : g_strdup(pattern);
	g_autofree char *folded = fold(form, plain);

	if (form == FORM_RANGE && !index_range_holds(pattern, child_index(dev)))
		return FALSE;
	for (guint i = 0; i < values->len; i++) {
		g_autofree char *value = fold(form, values->pdata[i]);

		if (g_pattern_match_simple(folded, value))
			return TRUE;
	}
	return FALSE;
}
