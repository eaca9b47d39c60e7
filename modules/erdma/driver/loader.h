/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loader: loads or unloads one kernel module
 *
 * It uses the host's modprobe(8), which honours modprobe.d and reads every compression, or
 * finit_module(2) and delete_module(2), in the order of modules.dep.
 */
#pragma once

#include <rdmad/host-command.h>

#include "driver/driver-settings.h"

typedef struct ErdmaLoader ErdmaLoader;

/* The cgroup of installers and modprobe.  Its remaining processes are killed when the program
 * itself was killed. */
#define ERDMA_CGROUP "rdmad-erdma-installer"

/* Returns the path of the lock that serializes changes of the driver on this node. */
char *erdma_loader_lock(RdmadModule *self);

/* Declares every load and unload, by modprobe and by system calls. */
gboolean erdma_loader_declare(RdmadModule *self, const ErdmaDriverSettings *settings,
			      GError **error);
/* `parameter`: "compat_mode=Y" or NULL; `out`: unload the module.  The handle is valid until `done`
 * is called or erdma_loader_cancel(); `settings` must live as long. */
ErdmaLoader *erdma_loader_start(RdmadModule *self, const ErdmaDriverSettings *settings,
				const char *module, const char *parameter, gboolean out,
				RdmadHostDone done, gpointer data, GError **error);
/* A running system call is completed.  `loader` may be NULL. */
void erdma_loader_cancel(ErdmaLoader *loader);
