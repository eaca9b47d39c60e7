/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

int main(void)
{
	fputs("rdmad: not yet\n", stderr);
	return 1;
}
