/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a web configuration: small, regular, and seen to change. */
#pragma once

#include <glib.h>
#include <sys/stat.h>

#define WEB_FILE_MAX (1u << 20)

/* What tells one content from another without reading it. */
typedef struct {
	dev_t device;
	ino_t inode;
	off_t size;
	mode_t mode;
	struct timespec modified, changed;
} WebStamp;

/* NUL-terminated.  `stamp` is that of what was read, or could not be.  RDMAD_ERROR_CONFIG. */
char *web_file_read(const char *path, gsize *size, WebStamp *stamp, GError **error);
/* All zero when there is no such file. */
void web_file_stamp(const char *path, WebStamp *stamp);
gboolean web_stamp_equal(const WebStamp *a, const WebStamp *b);
