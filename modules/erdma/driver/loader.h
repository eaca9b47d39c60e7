/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loader: puts one kernel module in, or takes it out
 *
 * By the host's modprobe(8), which honours modprobe.d and knows every compression, or by
 * finit_module(2) and delete_module(2), in order of modules.dep.
 */
#pragma once

#include <rdmad/host-command.h>

#include "driver/driver-settings.h"

typedef struct ErdmaLoader ErdmaLoader;

/* Of installers, and of modprobe too: what an installer has left, whose own process was killed, ends then. */
#define ERDMA_CGROUP "rdmad-erdma-installer"

/* The lock of all that changes the driver: one at a time on this node. */
char *erdma_loader_lock(RdmadModule *self);

/* All that may be loaded or unloaded, either way. */
gboolean erdma_loader_declare(RdmadModule *self, const ErdmaDriverSettings *settings,
			      GError **error);
/* `parameter` "compat_mode=Y" or NULL; `out`: the module is unloaded.  The handle is valid until `done` was
 * called or erdma_loader_cancel(); `settings` must live as long. */
ErdmaLoader *erdma_loader_start(RdmadModule *self, const ErdmaDriverSettings *settings,
				const char *module, const char *parameter, gboolean out,
				RdmadHostDone done, gpointer data, GError **error);
/* A system call that is under way is carried out.  NULL is fine. */
void erdma_loader_cancel(ErdmaLoader *loader);
