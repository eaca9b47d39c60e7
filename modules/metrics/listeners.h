/* SPDX-License-Identifier: Apache-2.0 */
/* The listeners of the module, as its settings define them. */
#pragma once

#include <rdmad/types.h>

typedef struct Listeners Listeners;

Listeners *listeners_new(RdmadModule *self);
/* Closes all listeners. */
void listeners_free(Listeners *listeners);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Listeners, listeners_free)

/*
 * Opens the new listeners and closes those that are not in `addresses` (NULL: none); unchanged
 * listeners keep their connections.  After an error the previous listeners are open again; if they
 * cannot be, that is logged.
 */
gboolean listeners_follow(Listeners *listeners, const char *const *addresses,
			  const char *web_config, GError **error);
