/* SPDX-License-Identifier: Apache-2.0 */
/* One directory of counters in sysfs, one file each; its names are kept between readings. */
#pragma once

#include "hardware/counters/kept-files.h"
#include "hardware/counters/name-list.h"
#include "hardware/counters/reading.h"

#define RDMAD_COUNTERS_MAX 1024u /* of one directory, one port, one interface */
/* Names, settings and rates, which hardly ever change, are read again after this time. */
#define RDMAD_COUNTER_AGAIN_US (60 * G_USEC_PER_SEC)
/* Beside a driver's counters, and none: how many milliseconds the kernel keeps their values. */
#define RDMAD_COUNTER_LIFESPAN "lifespan"

typedef struct {
	RdmadCounterKey place; /* without a name */
	RdmadKeptFiles files;
	RdmadNameList *names; /* or NULL */
	guint first;
	int errnum; /* of the listing */
	gint64 listed_us;
} RdmadCounterDirectory;

/* Takes `path` over. */
void rdmad_counter_directory_init(RdmadCounterDirectory *dir, RdmadCounterGroup group, guint port,
				  char *path);
void rdmad_counter_directory_clear(RdmadCounterDirectory *dir);
/* Adds all that is in it; one that is not there has nothing. */
void rdmad_counter_directory_read(RdmadCounterDirectory *dir, RdmadReadingBuilder *builder);
/* One value: 0 or errno, ENOENT where there is no such directory.  `name` NULL: its first counter. */
int rdmad_counter_directory_value(RdmadCounterDirectory *dir, RdmadReadingBuilder *builder,
				  const char *name, guint64 *value);
