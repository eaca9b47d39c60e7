/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of names. */
#pragma once

#include "names/names.h"

/* A row: a kernel's name and what it becomes. */
typedef struct {
	const char *raw;
	const char *family; /* without "_total" */
	const char *unit;   /* or NULL */
	const char *help;
	guint8 times; /* 0 is 1 */
} NameRow;

/* `rows` may have any order; NULL when there is none of that name. */
const NameRow *name_row_find(const NameRow *rows, guint n_rows, const char *raw);
CounterName *counter_name_new(const NameRow *row);
/* For a name that no table has; `family` and `help` are taken over. */
CounterName *counter_name_unknown(char *family, char *help);

CounterName *names_port(const char *raw);
CounterName *names_hw(const char *raw, gboolean of_device);
/* For tests: those of them whose meaning is known, by number; NULL behind the last. */
const char *names_hw_known(guint i);
/* LINK, PAUSE, FEC, ETHTOOL. */
CounterName *names_netdev(RdmadCounterGroup group, const char *raw);
/* For tests: the names of ETHTOOL that there are, by number, "#" standing for a digit; NULL behind
 * the last. */
const char *names_ethtool_pattern(guint i);
