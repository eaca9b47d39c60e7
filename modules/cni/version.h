/* SPDX-License-Identifier: Apache-2.0 */
/* Supported versions of the CNI specification. */
#pragma once

#include <glib.h>

typedef enum { /* in ascending order */
	       CNI_0_3_0,
	       CNI_0_3_1,
	       CNI_0_4_0,
	       CNI_1_0_0,
	       CNI_1_1_0,
	       CNI_N_VERSIONS,
} CniVersion;

#define CNI_NEWEST CNI_1_1_0

/* "0.3.0".."1.1.0", NULL */
extern const char *const cni_versions[];

/* Returns CNI_N_VERSIONS if `text` is NULL or not a supported version. */
CniVersion cni_version_parse(const char *text);
