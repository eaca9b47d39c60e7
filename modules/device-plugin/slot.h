/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slot IDs, as kubelet sees them
 *
 * Exclusive: the stem of the device, "0000:3b:00.0".  Shared: stem and number, "0000:3b:00.0::007",
 * with as many digits as the resource's count needs.  The stem is the stable device ID if that fits
 * kubelet's 63 characters of [A-Za-z0-9._:-], else a shortened form with a hash.
 *
 * With `ids = "name"`: device name, "/" and number, "erdma_0/7".
 *
 * A device that is in a second resource gets a mark of that resource in its stem,
 * "0000:3b:00.0:9f2c41", because kubelet's per-device health mixes up equal IDs of two resources.
 */
#pragma once

#include <rdmad/types.h>

#define SLOT_MAX 63u

/* `marked_by`: the resource whose mark is added to the stem, or NULL. */
char *slot_stem(const char *device_id, const char *marked_by);
char *slot_shared(const char *stem, guint number, guint digits);
/* With `ids = "name"`: "erdma_0/7". */
char *slot_by_name(const char *stem, guint number);
/* Parses the forms of other plugins, "0000:3b:00.0@7" and "erdma_0/7", into `stem` (g_free()) and
 * number. */
gboolean slot_parse_foreign(const char *slot, char **stem, guint *number);
/* Returns the number of digits of `count` - 1. */
guint slot_digits(guint count);
