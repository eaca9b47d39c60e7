/* SPDX-License-Identifier: Apache-2.0 */
/* The files of the status page, put into the module by page/embed. */
#pragma once

#include <glib.h>

typedef struct {
	const char *path; /* "/", "/page/style.css" */
	const char *content_type;
	const char *etag; /* including its quotes */
	const guint8 *data;
	gsize size;
} PageFile;

extern const PageFile page_files[];
extern const guint n_page_files;
