/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices that a scan could not read
 *
 * An error that may be temporary (EMFILE, EIO, ...) says nothing about a device.  Its previous
 * snapshot is kept, marked stale, and another scan follows.  If an attribute keeps failing with EIO
 * or EPERM, the hardware fails or the kernel rejects the read: such a scan is accepted in the end,
 * because the rest of the device would never be updated otherwise.
 */
#include <errno.h>
#include <string.h>

#include "hardware/device.h"
#include "hardware/scan/scan.h"

#define STALE_SCANS_MAX 5u

void rdmad_scan_doubt(RdmadScan *scan, const char *name, int errnum)
{
	g_hash_table_insert(scan->doubts, g_strdup(name), GINT_TO_POINTER(errnum));
}

static gboolean same_problems(const RdmadDevice *now, const RdmadDevice *last)
{
	for (char **problem = now->problems; problem && *problem; problem++)
		if (!last->problems ||
		    !g_strv_contains((const char *const *)last->problems, *problem))
			return FALSE;
	return TRUE;
}

/* Returns whether the current state is accepted: it was the same before, or has lasted too long. */
static gboolean is_accepted(const RdmadDevice *now, const RdmadDevice *last, int errnum)
{
	return (errnum == EIO || errnum == EPERM) &&
	       (last->stale >= STALE_SCANS_MAX || same_problems(now, last));
}

static RdmadDevice *device_keep_previous(const RdmadDevice *last, int errnum)
{
	RdmadDevice *dev = rdmad_device_copy(last);

	if (dev->stale++ == 0)
		rdmad_device_add_problem(dev, "could not be read: %s; the values are from before",
					 g_strerror(errnum));
	return dev;
}

/* Returns TRUE if another scan is needed. */
static gboolean settle_device(RdmadScan *scan, const GPtrArray *before, const char *name,
			      int errnum)
{
	guint index = 0;
	RdmadDevice *now = (RdmadDevice *)rdmad_scan_find(scan->devices, name, &index);
	const RdmadDevice *last = rdmad_scan_find(before, name, NULL);

	if (now && now->stale) /* settled, and something else fails now */
		return FALSE;
	if (now)
		rdmad_device_add_problem(now, "not all of it could be read: %s",
					 g_strerror(errnum));
	if (!last) {
		if (now)
			now->stale = 1;
		return TRUE;
	}
	if (now && is_accepted(now, last, errnum))
		return FALSE;
	if (!now)
		g_ptr_array_add(scan->devices, device_keep_previous(last, errnum));
	else {
		scan->devices->pdata[index] = device_keep_previous(last, errnum);
		rdmad_device_unref(now);
	}
	return TRUE;
}

void rdmad_scan_settle(RdmadScan *scan, const GPtrArray *before)
{
	GHashTableIter iter;
	gpointer name, errnum;

	g_hash_table_iter_init(&iter, scan->doubts);
	while (g_hash_table_iter_next(&iter, &name, &errnum))
		scan->n_stale += settle_device(scan, before, name, GPOINTER_TO_INT(errnum));
	g_hash_table_remove_all(scan->doubts);
}
