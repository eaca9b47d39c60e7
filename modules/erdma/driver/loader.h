/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loader: puts one kernel module in, or takes it out
 *
 * By the host's modprobe(8), which honours modprobe.d and knows every compression, or by
 * finit_module(2) and delete_module(2), in order of modules.dep.
 */
#pragma once

#include "driver/driver-settings.h"
#include "driver/program.h"

typedef struct ErdmaLoader ErdmaLoader;

/* `parameter` "compat_mode=Y" or NULL; `out`: the module is unloaded.  `done` as of a program.  The
 * handle is valid until then or erdma_loader_cancel(). */
ErdmaLoader *erdma_loader_start(RdmadModule *self, const ErdmaDriverSettings *settings,
				const char *module, const char *parameter, gboolean out,
				ErdmaProgramDone done, gpointer data, GError **error);
/* A system call that is under way is carried out.  NULL is fine. */
void erdma_loader_cancel(ErdmaLoader *loader);
