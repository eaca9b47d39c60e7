/* SPDX-License-Identifier: Apache-2.0 */
/* A library that is not a module */
#include <rdmad/types.h>

RDMAD_API int some_library(void);

int some_library(void)
{
	return 0;
}
