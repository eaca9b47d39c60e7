/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Socket file: distinguishes a server at a path from its successor
 *
 * The identity includes the change time, because filesystems reuse inode numbers.
 */
#pragma once

#include <rdmad/types.h>
#include <sys/types.h>

typedef struct {
	dev_t device;
	ino_t inode;
	gint64 changed_ns;
} RdmadSocketFile;

/* Stores the identity of the socket at `path`.  Returns FALSE, and clears `file`, if there is no
 * socket or stat(2) fails. */
RDMAD_API gboolean rdmad_socket_file_identify(const char *path, RdmadSocketFile *file);
RDMAD_API gboolean rdmad_socket_file_equal(const RdmadSocketFile *a, const RdmadSocketFile *b);
/* Returns whether no server listens at the socket (ECONNREFUSED). */
RDMAD_API gboolean rdmad_socket_file_is_dead(const char *path);
