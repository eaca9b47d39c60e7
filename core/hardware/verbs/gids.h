/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GID tables of an open device
 *
 * The kernel returns all entries of a device in one call, while sysfs has a file for each entry,
 * used or not.  The result lacks the names of their interfaces: an interface index proves nothing,
 * because it may belong to another network namespace.
 *
 * Source: ibv_query_gid_table(3), ibv_query_gid_ex(3).
 */
#pragma once

#include "hardware/scan/scan.h"
#include "hardware/verbs/open.h"

/* The query of an RdmadGidSource; `open` is a GPtrArray of RdmadVerbsOpen, in which an error is
 * recorded. */
GArray *rdmad_verbs_gids_query(const char *node, gpointer open);
