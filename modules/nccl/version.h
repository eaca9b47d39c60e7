/* SPDX-License-Identifier: Apache-2.0 */
/* NCCL versions, as their minor number: 27 for 2.27.3. */
#pragma once

#include <glib.h>

/* The versions that simulate.c covers. */
#define NCCL_OLDEST 18u
#define NCCL_NEWEST 32u

/* A range of versions, for each of which the settings must be right. */
typedef struct {
	guint from, to;
} NcclVersions;

#define NCCL_ALL_VERSIONS ((NcclVersions){ NCCL_OLDEST, NCCL_NEWEST })

/*
 * Parses "2.27", "2.27.3", "2.27.3+cuda12.9" or "any".  A version outside the known range is
 * replaced by the nearest known one, with a `warning` (g_free()), otherwise NULL.  Returns FALSE
 * with RDMAD_ERROR_INVALID for any other text.
 */
gboolean nccl_versions_parse(const char *text, NcclVersions *versions, char **warning,
			     GError **error);
