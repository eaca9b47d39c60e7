/* SPDX-License-Identifier: Apache-2.0 */
/* Users: the processes that would lose the devices of the driver if it were unloaded. */
#pragma once

#include <rdmad/types.h>

typedef struct ErdmaUsers ErdmaUsers;

/* `who`: "pod default/train-0 (holds aliyun/erdma)", "process 4711 (python3)", with the pod of the
 * process where it is in one; empty: nobody that could be seen. */
typedef void (*ErdmaUsersDone)(char *const *who, gpointer data);

/* The handle is valid until `done` was called or erdma_users_cancel(). */
ErdmaUsers *erdma_users_ask(RdmadModule *self, const char *module, ErdmaUsersDone done,
			    gpointer data, GError **error);
/* NULL is fine. */
void erdma_users_cancel(ErdmaUsers *users);
