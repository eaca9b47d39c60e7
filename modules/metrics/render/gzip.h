/* SPDX-License-Identifier: Apache-2.0 */
/* gzip: incremental compression. */
#pragma once

#include <glib.h>

typedef struct Gzip Gzip;

/* Returns NULL if out of memory. */
Gzip *gzip_begin(void);
void gzip_add(Gzip *gzip, const char *bytes, gsize size);
/* Returns the compressed data, g_free(); frees `gzip`. */
char *gzip_end(Gzip *gzip, gsize *size);
