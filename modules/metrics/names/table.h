/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations shared by the files of names. */
#pragma once

#include "names/names.h"

/* The kernel's name of a counter and the exposed name. */
typedef struct {
	const char *raw;
	const char *family; /* without "_total" */
	const char *unit;   /* or NULL */
	const char *help;
	guint8 times; /* 0 is 1 */
} NameRow;

/* `rows` may have any order.  Returns NULL if none has that name. */
const NameRow *name_row_find(const NameRow *rows, guint n_rows, const char *raw);
CounterName *counter_name_new(const NameRow *row);
/* Makes a name that no table has; takes over `family` and `help`. */
CounterName *counter_name_unknown(char *family, char *help);

CounterName *names_port(const char *raw);
CounterName *names_hw(const char *raw, gboolean of_device);
/* For tests: returns the i-th name with a known meaning; NULL after the last. */
const char *names_hw_known(guint i);
/* Names of LINK, PAUSE, FEC and ETHTOOL. */
CounterName *names_netdev(RdmadCounterGroup group, const char *raw);
/* For tests: returns the i-th name pattern of ETHTOOL, with "#" for a digit; NULL after the
 * last. */
const char *names_ethtool_pattern(guint i);
