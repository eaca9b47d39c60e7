/* SPDX-License-Identifier: Apache-2.0 */
/* The bearer token.  Its file is read for each request, by its path: kubelet replaces it by a rename. */
#pragma once

#include <glib.h>

/* The header, "Authorization: Bearer ..."; g_free().  RDMAD_ERROR_UNAVAILABLE: the file cannot be read, or
 * holds no token, now. */
char *kube_token_header_read(const char *path, GError **error);
