/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results of the CNI protocol, 0.3.0 to 1.1.0: of rdmad, of earlier plugins of the chain
 * (prevResult), and of IPAM plugins
 *
 * A result holds the fields of the newest version.  Rendering for an older version drops the fields
 * that it lacks: MTU, PCI address and socket of an interface; all of a route but destination and
 * gateway.
 */
#pragma once

#include <rdmad/address.h>

#include "version.h"

#define CNI_RESULT_ENTRIES_MAX 256u /* of each list */

typedef struct {
	char *name;
	char *mac;		    /* NULL: absent; those of other plugins are kept as text */
	char *sandbox;		    /* path of the namespace; NULL: the host */
	guint32 mtu;		    /* 0: absent */
	char *socket_path, *pci_id; /* NULL: absent */
} CniInterface;

typedef struct {
	RdmadIp address;
	RdmadIp gateway; /* may be unset */
	int interface;	 /* index into the interfaces, or -1 */
} CniIp;

typedef struct {
	RdmadIp to;
	RdmadIp gateway;	       /* may be unset */
	guint32 mtu, advmss;	       /* 0: absent */
	gint64 priority, table, scope; /* -1: absent */
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

/* Copies the members. */
void cni_result_add_interface(CniResult *result, const CniInterface *interface);

/*
 * `version`: used if `json` has no cniVersion.
 * CNI_ERROR_VERSION, CNI_ERROR_DECODE.
 */
CniResult *cni_result_parse(const struct json_t *json, CniVersion version, GError **error);
/* Returns a new reference. */
struct json_t *cni_result_render(const CniResult *result, CniVersion version);

/* Appends the contents of `own` to a result of earlier plugins. */
void cni_result_merge(CniResult *result, const CniResult *own);

/* Return texts for the standard output; g_free(). */
char *cni_result_text(const CniResult *result, CniVersion version);
/* CNI_ERROR_DECODE: the text is longer than a plugin may print.  An earlier plugin's result may
 * grow when it is written again. */
char *cni_result_answer(const CniResult *result, CniVersion version, GError **error);
char *cni_error_text(const GError *problem, CniVersion version);
