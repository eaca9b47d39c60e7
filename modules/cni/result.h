/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results of the CNI protocol, 0.3.0 to 1.1.0: our own, those of plugins before us in a chain
 * (prevResult), and those of IPAM plugins
 *
 * A result is held in the terms of the newest version.  Rendered for an older one it loses what that
 * one has no words for: MTU, PCI address and socket of an interface; all but destination and gateway
 * of a route.
 */
#pragma once

#include <rdmad/address.h>

#include "version.h"

#define CNI_RESULT_ENTRIES_MAX 256u /* of each list */

typedef struct {
	char *name;
	char *mac;		    /* NULL: not told; others' are kept as they are */
	char *sandbox;		    /* path of the namespace; NULL: the host */
	guint32 mtu;		    /* 0: not told */
	char *socket_path, *pci_id; /* NULL: not told */
} CniInterface;

typedef struct {
	RdmadIp address;
	RdmadIp gateway; /* may be none */
	int interface;	 /* index into the interfaces, or -1 */
} CniIp;

typedef struct {
	RdmadIp to;
	RdmadIp gateway;	       /* may be none */
	guint32 mtu, advmss;	       /* 0: not told */
	gint64 priority, table, scope; /* -1: not told */
} CniRoute;

typedef struct {
	GArray *interfaces; /* of CniInterface */
	GArray *ips;	    /* of CniIp */
	GArray *routes;	    /* of CniRoute */
	struct json_t *dns; /* NULL: none */
} CniResult;

CniResult *cni_result_new(void);
void cni_result_free(CniResult *result);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CniResult, cni_result_free)

/* The members are copied. */
void cni_result_add_interface(CniResult *result, const CniInterface *interface);

/* `version`: what `json` is to be read as if it does not say so itself.
 * CNI_ERROR_VERSION, CNI_ERROR_DECODE. */
CniResult *cni_result_parse(const struct json_t *json, CniVersion version, GError **error);
/* A reference of the caller's own. */
struct json_t *cni_result_render(const CniResult *result, CniVersion version);

/* Appends what `own` has to a result of the plugins before us. */
void cni_result_merge(CniResult *result, const CniResult *own);

/* Texts for the standard output; to be freed with g_free(). */
char *cni_result_text(const CniResult *result, CniVersion version);
char *cni_error_text(const GError *problem, CniVersion version);
