/* SPDX-License-Identifier: Apache-2.0 */
/* main() of each test program without one of its own. */
#include "unit.h"

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	unit_tests_add();
	return g_test_run();
}
