/* SPDX-License-Identifier: Apache-2.0 */
/* The module's listeners, which follow its settings. */
#pragma once

#include <rdmad/types.h>

typedef struct Listeners Listeners;

Listeners *listeners_new(RdmadModule *self);
/* Closes all. */
void listeners_free(Listeners *listeners);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Listeners, listeners_free)

/*
 * Opens what is new and then closes what is no longer wanted; a listener that stays keeps its
 * connections.  `addresses` NULL: none.  On an error those of before are open again.
 */
gboolean listeners_follow(Listeners *listeners, const char *const *addresses,
			  const char *web_config, GError **error);
