/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <rdmad/types.h>

/*
 * Checks that kubelet accepts `name` for an extended resource: "<DNS subdomain>/<name>", not below
 * kubernetes.io, not "requests.*".  RDMAD_ERROR_CONFIG.
 */
gboolean resource_name_check(const char *name, GError **error);
/* Returns the part after the slash. */
const char *resource_name_base(const char *name);
