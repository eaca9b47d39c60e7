/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of a network's configuration that are ours; those of virtual functions are called as in
 * sriov-cni, so that its networks carry over. */
#pragma once

#include "request.h"

extern const CniNetworkKeys cni_network_keys_none;

/* CNI_ERROR_CONFIG names the key. */
gboolean cni_network_keys_parse(const struct json_t *config, CniNetworkKeys *keys, GError **error);
void cni_network_keys_clear(CniNetworkKeys *keys);

/* "0c:42:a1:00:00:65:43:21", "0c42a10000654321" or "0x0c42a10000654321"; neither 0 nor all ones. */
gboolean cni_guid_parse(const char *text, guint64 *guid);
