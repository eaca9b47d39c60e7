/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Socket file: distinguishes a server at a path from its successor
 *
 * The change time belongs to it, because file systems use the numbers of inodes again.
 */
#pragma once

#include <rdmad/types.h>
#include <sys/types.h>

typedef struct {
	dev_t device;
	ino_t inode;
	gint64 changed_ns;
} RdmadSocketFile;

/* FALSE: there is no socket at `path`, or it cannot be seen; `file` is cleared. */
RDMAD_API gboolean rdmad_socket_file_identify(const char *path, RdmadSocketFile *file);
RDMAD_API gboolean rdmad_socket_file_equal(const RdmadSocketFile *a, const RdmadSocketFile *b);
/* TRUE: no server listens at the socket any more. */
RDMAD_API gboolean rdmad_socket_file_is_dead(const char *path);
