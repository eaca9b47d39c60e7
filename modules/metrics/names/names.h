/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of counters, and their units
 *
 * Names of a driver's own counters are kept, so that they can be found in its manual; common
 * counters get names in Prometheus' form.  Any text may come as a name.
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
	gboolean known; /* FALSE: the name is the driver's, and may need a distinction from others
			 * */
} CounterName;

void counter_name_free(CounterName *name);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CounterName, counter_name_free)

/* NULL: it is nothing to show. */
CounterName *names_native(const RdmadCounter *counter);
/* As node_exporter calls it; NULL: it does not have that one. */
CounterName *names_compat(const RdmadCounter *counter);

/*
 * Its width in bits, 4 to 64; `saturates`: it stops at its maximum instead of wrapping. `driver`
 * may be NULL.
 */
guint names_counter_width(const RdmadCounter *counter, const char *driver, gboolean *saturates);

/* [a-z0-9_], as a part of a metric's name; never empty. */
char *names_sanitise(const char *name);
