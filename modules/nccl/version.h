/* SPDX-License-Identifier: Apache-2.0 */
/* NCCL versions, as their minor number: 27 for 2.27.3. */
#pragma once

#include <glib.h>

/* The versions whose rules simulate.c knows. */
#define NCCL_OLDEST 18u
#define NCCL_NEWEST 32u

/* The settings must hold for each version of it. */
typedef struct {
	guint from, to;
} NcclVersions;

#define NCCL_ALL_VERSIONS ((NcclVersions){ NCCL_OLDEST, NCCL_NEWEST })

/*
 * Reads "2.27", "2.27.3", "2.27.3+cuda12.9" or "any".  A version outside the known ones is taken for
 * the nearest known one; `warning` (freed by the caller) then says so, otherwise it is NULL.
 * FALSE with RDMAD_ERROR_INVALID for any other text.
 */
gboolean nccl_versions_parse(const char *text, NcclVersions *versions, char **warning,
			     GError **error);
