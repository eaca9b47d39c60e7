/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A configuration tree from YAML, for the same field tables as one from libconfig
 *
 * Texts without quotes are what YAML 1.1 takes them for: true and false (yes, no, on, off), integers,
 * nothing; a field that wants a string takes them as they are written.  A field of a key that has
 * nothing is left as it is.
 */
#pragma once

#include "config/node.h"

/* One document; NULL without an error where there is none.  RDMAD_ERROR_CONFIG, with file:line. */
RdmadConfigNode *rdmad_config_yaml_parse(const char *file, const char *text, gsize size,
					 GError **error);
