/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Provider libraries of libibverbs
 *
 * When libibverbs meets a device that no loaded provider knows, it loads every provider that is
 * installed: 17 libraries, 0.7 MiB.  With the right one there already, it needs no other.
 */
#pragma once

#include <glib.h>

/* Loads the provider (lib<provider>-rdmav<N>.so) whose name the device's kernel name or driver
 * begins with.  A guess, by no table of vendors: where it fails, libibverbs does as it always does.
 * Worker thread. */
void rdmad_verbs_provider_load(const char *device_name, const char *driver);

/* "mlx5" of "libmlx5-rdmav34.so"; NULL for a file of another kind.  g_free(). */
char *rdmad_verbs_provider_of_file(const char *file);
