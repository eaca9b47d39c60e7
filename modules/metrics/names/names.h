/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names: what a counter is called, and what its numbers mean
 *
 * The kernel's names are kept where a driver made them, since people look them up; what every driver
 * has gets the form of Prometheus.  Anything may come as a name.
 *
 * Sources: include/rdma/ib_pma.h and drivers/infiniband/ of Linux; node_exporter's
 * collector/infiniband_linux.go; Documentation/networking/ of the drivers, for `ethtool -S`.
 */
#pragma once

#include <rdmad/counters.h>

#include "render/family.h"

typedef struct {
	char *family;	  /* without "_total"; valid for Prometheus */
	FamilyType type;  /* FAMILY_COUNTER or FAMILY_GAUGE */
	const char *unit; /* or NULL */
	char *help;
	guint times;	/* what the kernel's number is multiplied with */
	guint decimals; /* how many of its last digits are behind the point: 3 for ms as seconds */
	const char *label; /* one label more, "priority" or "lane", or NULL */
	guint label_value;
	gboolean known; /* FALSE: the name is the driver's, and may need to be told from others */
} CounterName;

void counter_name_free(CounterName *name);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CounterName, counter_name_free)

/* NULL: it is nothing to show. */
CounterName *names_native(const RdmadCounter *counter);
/* As node_exporter calls it; NULL: it does not have that one. */
CounterName *names_compat(const RdmadCounter *counter);

/*
 * How many bits of it count, 4 to 64; `saturates`: it stops at its maximum instead of beginning again.
 * `driver` may be NULL.
 */
guint names_counter_width(const RdmadCounter *counter, const char *driver, gboolean *saturates);

/* [a-z0-9_], as a part of a metric's name; never empty. */
char *names_sanitise(const char *name);
