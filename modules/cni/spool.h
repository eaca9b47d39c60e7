/* SPDX-License-Identifier: Apache-2.0 */
/* The records that rdmad-cni left of DELs while nobody was there; shim/spool.c writes them. */
#pragma once

#include "message.h"

/* Their names; NULL: none. */
char **cni_spool_list(const char *directory);
/* RDMAD_ERROR_INVALID: cut off or damaged; RDMAD_ERROR_FAILED. */
gboolean cni_spool_read(const char *directory, const char *name, CniMessage *message,
			GError **error);
gboolean cni_spool_remove(const char *directory, const char *name, GError **error);
