/* SPDX-License-Identifier: Apache-2.0 */
/* Users: the pods and processes that would lose the driver's devices if it were unloaded. */
#pragma once

#include <rdmad/types.h>

typedef struct ErdmaUsers ErdmaUsers;

/* `who`: "pod default/train-0 (holds aliyun/erdma)", "process 4711 (python3)", with the pod of the
 * process if it is in one; empty: no user was found. */
typedef void (*ErdmaUsersDone)(char *const *who, gpointer data);

/* The handle is valid until `done` is called or erdma_users_cancel(). */
ErdmaUsers *erdma_users_query(RdmadModule *self, const char *module, ErdmaUsersDone done,
			      gpointer data, GError **error);
/* `users` may be NULL. */
void erdma_users_cancel(ErdmaUsers *users);
