/* SPDX-License-Identifier: Apache-2.0 */
#include "selector.h"

#include <rdmad/error.h>
#include <string.h>

#define PATTERN_MAX 128u

/* ---- configuration ---- */

static const char *pattern_text(const char *pattern)
{
	return pattern[0] == '!' ? pattern + 1 : pattern;
}

static gboolean pattern_check(const char *pattern, GError **error)
{
	if (pattern_text(pattern)[0] && strlen(pattern) <= PATTERN_MAX)
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG,
		    "a pattern has 1 to %u characters, after a \"!\" for an exclusion",
		    PATTERN_MAX);
	return FALSE;
}

/* "15b3", "0x15B3", "15*": four hexadecimal digits where there is no wildcard. */
static gboolean pci_id_check(const char *pattern, GError **error)
{
	const char *text = pattern_text(pattern);
	gsize digits;

	if (g_str_has_prefix(text, "0x"))
		text += 2;
	digits = strspn(text, "0123456789abcdefABCDEF*?");
	if (text[digits] == '\0' && digits <= 8 && (digits == 4 || strpbrk(text, "*?")))
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG,
		    "\"%s\" is no PCI id: four hexadecimal digits, as \"15b3\"", pattern);
	return FALSE;
}

static gboolean link_layer_check(const char *pattern, GError **error)
{
	const char *text = pattern_text(pattern);

	if (strpbrk(text, "*?"))
		return pattern_check(pattern, error);
	for (int layer = RDMAD_LINK_LAYER_UNKNOWN; layer <= RDMAD_LINK_LAYER_ETHERNET; layer++)
		if (g_str_equal(text, rdmad_link_layer_name((RdmadLinkLayer)layer)))
			return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG,
		    "\"%s\" is no link layer: \"ethernet\", \"infiniband\" or \"unknown\"",
		    pattern);
	return FALSE;
}

#define PATTERNS(key_, check_)                                                                     \
	{                                                                                          \
		.key = #key_, .type = RDMAD_CONFIG_STRINGS,                                        \
		.offset = G_STRUCT_OFFSET(RdmadSelector, key_), .check = (check_)                  \
	}

static const RdmadConfigField FIELDS[] = {
	PATTERNS(names, pattern_check),		 PATTERNS(drivers, pattern_check),
	PATTERNS(netdevs, pattern_check),	 PATTERNS(vendors, pci_id_check),
	PATTERNS(devices, pci_id_check),	 PATTERNS(pci_addresses, pattern_check),
	PATTERNS(link_layers, link_layer_check), RDMAD_CONFIG_FIELDS_END,
};

gboolean rdmad_selector_parse(const RdmadConfigNode *node, RdmadSelector *out, GError **error)
{
	return rdmad_config_parse(node, FIELDS, out, error);
}

void rdmad_selector_clear(RdmadSelector *selector)
{
	g_clear_pointer(&selector->names, g_strfreev);
	g_clear_pointer(&selector->drivers, g_strfreev);
	g_clear_pointer(&selector->netdevs, g_strfreev);
	g_clear_pointer(&selector->vendors, g_strfreev);
	g_clear_pointer(&selector->devices, g_strfreev);
	g_clear_pointer(&selector->pci_addresses, g_strfreev);
	g_clear_pointer(&selector->link_layers, g_strfreev);
}

/* ---- matching ---- */

/* `subject` is a device, or a port for the link layer. */
typedef gboolean (*MatchFunc)(const char *pattern, gconstpointer subject);

static gboolean glob(const char *pattern, const char *text)
{
	return text && g_pattern_match_simple(pattern, text);
}

static gboolean match_name(const char *pattern, gconstpointer subject)
{
	const RdmadDevice *dev = subject;

	return glob(pattern, dev->name);
}

static gboolean match_driver(const char *pattern, gconstpointer subject)
{
	const RdmadDevice *dev = subject;

	return glob(pattern, dev->driver);
}

static gboolean match_netdev(const char *pattern, gconstpointer subject)
{
	const RdmadDevice *dev = subject;

	for (guint i = 0; i < dev->n_netdevs; i++)
		if (glob(pattern, dev->netdevs[i].name))
			return TRUE;
	return FALSE;
}

static gboolean match_pci_id(const char *pattern, int id)
{
	g_autofree char *folded =
		g_ascii_strdown(g_str_has_prefix(pattern, "0x") ? pattern + 2 : pattern, -1);
	char text[16];

	if (id == RDMAD_UNKNOWN)
		return FALSE;
	g_snprintf(text, sizeof(text), "%04x", (guint)id);
	return glob(folded, text);
}

static gboolean match_vendor(const char *pattern, gconstpointer subject)
{
	const RdmadDevice *dev = subject;

	return match_pci_id(pattern, dev->vendor);
}

static gboolean match_device(const char *pattern, gconstpointer subject)
{
	const RdmadDevice *dev = subject;

	return match_pci_id(pattern, dev->device);
}

static gboolean match_pci_address(const char *pattern, gconstpointer subject)
{
	const RdmadDevice *dev = subject;
	g_autofree char *folded = g_ascii_strdown(pattern, -1);

	return glob(folded, dev->pci_address);
}

static gboolean match_link_layer(const char *pattern, gconstpointer port)
{
	return glob(pattern, rdmad_link_layer_name(((const RdmadPort *)port)->link_layer));
}

static gboolean patterns_agree(char *const *patterns, MatchFunc match, gconstpointer subject)
{
	gboolean wanted = FALSE, found = FALSE;

	for (guint i = 0; patterns && patterns[i]; i++) {
		const gboolean excludes = patterns[i][0] == '!';
		const gboolean matches = match(pattern_text(patterns[i]), subject);

		if (excludes && matches)
			return FALSE;
		wanted |= !excludes;
		found |= !excludes && matches;
	}
	return found || !wanted;
}

gboolean rdmad_selector_takes_port(const RdmadSelector *selector, const RdmadPort *port)
{
	return patterns_agree(selector->link_layers, match_link_layer, port);
}

static gboolean takes_some_port(const RdmadSelector *selector, const RdmadDevice *dev)
{
	for (guint i = 0; i < dev->n_ports; i++)
		if (rdmad_selector_takes_port(selector, &dev->ports[i]))
			return TRUE;
	return !selector->link_layers;
}

const char *rdmad_selector_refusal(const RdmadSelector *selector, const RdmadDevice *dev)
{
	const struct {
		const char *key;
		char *const *patterns;
		MatchFunc match;
	} keys[] = {
		{ "names", selector->names, match_name },
		{ "drivers", selector->drivers, match_driver },
		{ "netdevs", selector->netdevs, match_netdev },
		{ "vendors", selector->vendors, match_vendor },
		{ "devices", selector->devices, match_device },
		{ "pci_addresses", selector->pci_addresses, match_pci_address },
	};

	for (guint i = 0; i < G_N_ELEMENTS(keys); i++)
		if (!patterns_agree(keys[i].patterns, keys[i].match, dev))
			return keys[i].key;
	return takes_some_port(selector, dev) ? NULL : "link_layers";
}
