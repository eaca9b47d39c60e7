/* SPDX-License-Identifier: Apache-2.0 */
/* A sysfs directory with one file per counter; keeps the names between readings */
#pragma once

#include "hardware/counters/kept-files.h"
#include "hardware/counters/name-list.h"
#include "hardware/counters/reading.h"

#define RDMAD_COUNTERS_MAX 1024u /* limit of one directory, one port, one interface */
/* Names, settings and rates rarely change, and are read again after this time. */
#define RDMAD_COUNTER_AGAIN_US (60 * G_USEC_PER_SEC)
/* A setting beside a driver's counters: the milliseconds for which the kernel caches their
 * values. */
#define RDMAD_COUNTER_LIFESPAN "lifespan"

typedef struct {
	RdmadCounterKey place; /* without a name */
	RdmadKeptFiles files;
	RdmadNameList *names; /* or NULL */
	guint first;
	int errnum; /* error of the listing */
	gint64 listed_us;
} RdmadCounterDirectory;

/* Takes `path` over. */
void rdmad_counter_directory_init(RdmadCounterDirectory *dir, RdmadCounterGroup group, guint port,
				  char *path);
void rdmad_counter_directory_clear(RdmadCounterDirectory *dir);
/* Adds all counters; none if the directory is missing. */
void rdmad_counter_directory_read(RdmadCounterDirectory *dir, RdmadReadingBuilder *builder);
/* Reads one counter.  Returns 0 or an errno, ENOENT if there is no directory.  `name` NULL: the
 * first counter. */
int rdmad_counter_directory_value(RdmadCounterDirectory *dir, RdmadReadingBuilder *builder,
				  const char *name, guint64 *value);
