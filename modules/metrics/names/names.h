/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of counters, and their units
 *
 * Driver-specific counters keep their names, so that users find them in the driver's manual; common
 * counters get names in Prometheus' form.  A name may be any text.
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
	guint times;	   /* factor of the value */
	guint decimals;	   /* decimal places of the value: 3 converts ms to seconds */
	const char *label; /* additional label, "priority" or "lane", or NULL */
	guint label_value;
	gboolean known; /* FALSE: a driver-specific name, which may clash with others */
} CounterName;

void counter_name_free(CounterName *name);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CounterName, counter_name_free)

/* Returns NULL for a counter that is not exposed. */
CounterName *names_native(const RdmadCounter *counter);
/* Returns node_exporter's name; NULL: it does not have the counter. */
CounterName *names_compat(const RdmadCounter *counter);

/*
 * Returns the width in bits, 4 to 64; `saturates`: the counter stops at its maximum instead of
 * wrapping.  `driver` may be NULL.
 */
guint names_counter_width(const RdmadCounter *counter, const char *driver, gboolean *saturates);

/* Returns `name` in [a-z0-9_], for a part of a metric's name; never empty. */
char *names_sanitise(const char *name);
