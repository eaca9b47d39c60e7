/* SPDX-License-Identifier: Apache-2.0 */
/* Some library. */
#include <rdmad/types.h>

RDMAD_API int some_library(void);

int some_library(void)
{
	return 0;
}
