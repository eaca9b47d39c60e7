/* SPDX-License-Identifier: Apache-2.0 */
/* gzip, piece by piece. */
#pragma once

#include <glib.h>

typedef struct Gzip Gzip;

/* NULL: no memory for it. */
Gzip *gzip_begin(void);
void gzip_add(Gzip *gzip, const char *bytes, gsize size);
/* All that was added, g_free(); `gzip` is freed. */
char *gzip_end(Gzip *gzip, gsize *size);
