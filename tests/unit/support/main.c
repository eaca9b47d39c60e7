/* SPDX-License-Identifier: Apache-2.0 */
/* Of every test program without a main() of its own. */
#include "unit.h"

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	unit_tests_add();
	return g_test_run();
}
