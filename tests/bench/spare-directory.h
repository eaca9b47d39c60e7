/* SPDX-License-Identifier: Apache-2.0 */
/* The system calls of service/allocation-dir.c, and nothing around them. */
#pragma once

#include <glib.h>

typedef struct {
	int root; /* where they are */
	int own;  /* the open file of the spare one */
	guint n;  /* that were made */
} SpareDirectories;

/* Makes the file that all of them link. */
void spare_directories_init(SpareDirectories *spares, const char *parent);
/* One directory with its two files. */
void spare_directory_make(SpareDirectories *spares);
/* Gives the one that was made its name. */
void spare_directory_take(SpareDirectories *spares);
/* Writes the text of the one that was taken. */
void spare_directory_fill(SpareDirectories *spares);
/* Removes all that were taken. */
void spare_directories_remove(SpareDirectories *spares);
