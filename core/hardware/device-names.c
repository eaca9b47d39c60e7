/* SPDX-License-Identifier: Apache-2.0 */
/* Devices in words: what users see of the enumerations, and the order in which they see names. */
#include <rdmad/device.h>
#include <stdio.h>
#include <string.h>

#include "hardware/device-private.h"

static const char *name_at(const char *const *names, gsize n, int value)
{
	if (value < 0 || (gsize)value >= n || !names[value])
		return "unknown";
	return names[value];
}

const char *rdmad_link_layer_name(RdmadLinkLayer layer)
{
	static const char *const names[] = {
		[RDMAD_LINK_LAYER_INFINIBAND] = "infiniband",
		[RDMAD_LINK_LAYER_ETHERNET] = "ethernet",
	};

	return name_at(names, G_N_ELEMENTS(names), (int)layer);
}

const char *rdmad_port_state_name(int state)
{
	static const char *const names[] = {
		[RDMAD_PORT_NOP] = "nop",	[RDMAD_PORT_DOWN] = "down",
		[RDMAD_PORT_INIT] = "init",	[RDMAD_PORT_ARMED] = "armed",
		[RDMAD_PORT_ACTIVE] = "active", [RDMAD_PORT_ACTIVE_DEFER] = "active-defer",
	};

	return name_at(names, G_N_ELEMENTS(names), state);
}

const char *rdmad_gid_type_name(RdmadGidType type)
{
	static const char *const names[] = {
		[RDMAD_GID_IB] = "IB",
		[RDMAD_GID_ROCE_V1] = "RoCE v1",
		[RDMAD_GID_ROCE_V2] = "RoCE v2",
	};

	return name_at(names, G_N_ELEMENTS(names), (int)type);
}

const char *rdmad_node_type_name(RdmadNodeType type)
{
	static const char *const names[] = {
		[RDMAD_NODE_CA] = "ca",
		[RDMAD_NODE_SWITCH] = "switch",
		[RDMAD_NODE_ROUTER] = "router",
		[RDMAD_NODE_RNIC] = "rnic",
		[RDMAD_NODE_USNIC] = "usnic",
		[RDMAD_NODE_USNIC_UDP] = "usnic-udp",
		[RDMAD_NODE_UNSPECIFIED] = "unspecified",
	};

	return name_at(names, G_N_ELEMENTS(names), (int)type);
}

void rdmad_gid_format(const guint8 raw[16], char text[40])
{
	for (guint i = 0; i < 8; i++)
		snprintf(text + i * 5, 40 - i * 5, i < 7 ? "%02x%02x:" : "%02x%02x", raw[2 * i],
			 raw[2 * i + 1]);
}

/* Both at a run of digits: which number is smaller?  Moves both behind their run. */
static int compare_runs(const char **a, const char **b)
{
	gsize la, lb;
	int order;

	*a += strspn(*a, "0");
	*b += strspn(*b, "0");
	la = strspn(*a, "0123456789");
	lb = strspn(*b, "0123456789");
	order = la != lb ? (la < lb ? -1 : 1) : strncmp(*a, *b, la);
	*a += la;
	*b += lb;
	return order;
}

/* "0000:3b:00.0": a PCI domain, as words of hexadecimal are that end in a colon. */
static gboolean starts_with_domain(const char *name)
{
	const gsize len = strspn(name, "0123456789abcdef");

	return len >= 4 && name[len] == ':';
}

/* PCI addresses and what stands behind a colon are hexadecimal of a fixed width, not numbers:
 * "0000:9a:00.0" comes after "0000:18:00.0". */
int rdmad_natural_compare(const char *a, const char *b)
{
	const char *p = a, *q = b;
	gboolean hex = starts_with_domain(a) && starts_with_domain(b);

	while (*p && *q) {
		if (!hex && g_ascii_isdigit(*p) && g_ascii_isdigit(*q)) {
			const int order = compare_runs(&p, &q);

			if (order)
				return order;
			continue;
		}
		if (*p != *q)
			break;
		hex = *p == ':' || (hex && g_ascii_isxdigit(*p));
		p++;
		q++;
	}
	if (*p != *q)
		return (guchar)*p < (guchar)*q ? -1 : 1;
	/* "a01" and "a1" are the same number, but not the same name. */
	return strcmp(a, b);
}
