/* SPDX-License-Identifier: Apache-2.0 */
/* A DEL that the daemon is to do when it is there again. */
#pragma once

#include "shim/request.h"

#define SPOOL_NAME_SIZE 33

/* 0: it is on the disk, under `name`.  -1 with errno: it is not. */
int spool_write(const ShimRequest *request, const char *directory, char name[SPOOL_NAME_SIZE]);
void spool_remove(const char *directory, const char *name);
