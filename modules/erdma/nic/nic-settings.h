/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the group `nics`, described in rdmad-erdma(7). */
#pragma once

#include <rdmad/address.h>

typedef enum {			   /* names in nic-settings.c */
	       ERDMA_ADDRESS_AUTO, /* the interface's addresses, else the metadata service's */
	       ERDMA_ADDRESS_NETDEV,
	       ERDMA_ADDRESS_METADATA,
	       ERDMA_ADDRESS_STATIC, /* only the list `addresses` */
} ErdmaAddressFrom;

typedef enum {
	ERDMA_JUMBO_KEEP,
	ERDMA_JUMBO_ON,	 /* 8500 */
	ERDMA_JUMBO_OFF, /* 1400 */
} ErdmaJumbo;

typedef enum {
	ERDMA_TOKEN_AUTO, /* if the service supports tokens */
	ERDMA_TOKEN_REQUIRED,
	ERDMA_TOKEN_OFF,
} ErdmaToken;

/* One entry of `addresses`. */
typedef struct {
	char *nic;    /* interface, RDMA device, MAC or PCI address */
	char **texts; /* as configured */
	char **gateway_texts;
	GArray *addresses;  /* of RdmadIp, with their prefixes */
	RdmadIp gateway[2]; /* IPv4, IPv6; or unset */
	gint64 mtu;	    /* 0: by jumbo_frames */
} ErdmaNicAddresses;

typedef struct {
	gboolean manage;
	char **exclude;
	char *primary; /* NULL: detected; "none": no interface */
	int address_from, jumbo;
	gint64 metric;
	gboolean default_route, lower_routes, repair;
	gboolean policy_routing;
	gint64 table_base, rule_priority;
	struct {
		char *url;
		int token;
		guint64 connect_timeout_ms, timeout_ms, cache_ms;
		gint64 tries;
	} metadata;
	GPtrArray *addresses;				/* of ErdmaNicAddresses */
	RdmadConfigNode *metadata_group, *address_list; /* during parsing */
} ErdmaNicSettings;

/* `config`: the group, or NULL. */
ErdmaNicSettings *erdma_nic_settings_parse(const RdmadConfigNode *config, GError **error);
void erdma_nic_settings_free(ErdmaNicSettings *settings);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ErdmaNicSettings, erdma_nic_settings_free)
/* Returns whether a pattern matches one of the names, which may be NULL. */
gboolean erdma_nic_is_named(const char *pattern, const char *const names[], guint n);
