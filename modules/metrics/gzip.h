/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <glib.h>

/* `size` bytes at `text` as gzip; g_free().  NULL: no memory for it. */
char *gzip_pack(const char *text, gsize size, gsize *packed);
