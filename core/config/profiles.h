/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles: configurations that come with rdmad, one file each
 *
 *	profile = "vke";	or a list of them
 *
 * What the main file says itself wins over its profiles.
 */
#pragma once

#include "config/node.h"

/* Takes the key `profile` out of `*root` and puts the files that it names, in their order, below it.
 * `dir` NULL: there are none.  RDMAD_ERROR_CONFIG. */
gboolean rdmad_config_profiles_merge(RdmadConfigNode **root, const char *dir, GError **error);
