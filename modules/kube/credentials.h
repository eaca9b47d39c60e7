/* SPDX-License-Identifier: Apache-2.0 */
/* The bearer token.  Its file is opened for each request, because kubelet replaces it by a
 * rename. */
#pragma once

#include <glib.h>

/* Returns the header "Authorization: Bearer ..."; g_free().  RDMAD_ERROR_UNAVAILABLE: the file is
 * unreadable, or has no token, for now. */
char *kube_token_header_read(const char *path, GError **error);
