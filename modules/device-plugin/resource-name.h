/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <rdmad/types.h>

/*
 * Whether kubelet takes `name` for an extended resource: "<DNS subdomain>/<name>", not below
 * kubernetes.io, not "requests.*".  RDMAD_ERROR_CONFIG.
 */
gboolean resource_name_check(const char *name, GError **error);
/* The part after the slash. */
const char *resource_name_base(const char *name);
