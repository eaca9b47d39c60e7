/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as Prometheus reads them, at `at`; each returns the end and writes no NUL. */
#pragma once

#include <glib.h>

#define NUMBER_MAX 32u /* bytes that there must be room for */

char *number_print(char *at, guint64 value);
/* With the last `decimals` digits (at most 9) behind the point: 1500 with 3 is 1.5. */
char *number_print_scaled(char *at, guint64 value, guint decimals);
/* The shortest form that reads back exactly; "NaN", "+Inf", "-Inf". */
char *number_print_double(char *at, double value);
