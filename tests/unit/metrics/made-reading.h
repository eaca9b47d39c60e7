/* SPDX-License-Identifier: Apache-2.0 */
/* Devices, readings and snapshots for tests */
#pragma once

#include <string.h>

#include "render/exposition.h"
#include "hardware/device.h"
#include "render/render.h"

/* For devices that a test still modifies. */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadDevice, rdmad_device_unref)

static inline Snapshot *made_snapshot(NamesMode names)
{
	Snapshot *snapshot = snapshot_new();

	snapshot->names = names;
	snapshot->what = RDMAD_READ_COUNTERS | RDMAD_READ_NETDEVS | RDMAD_READ_USERS;
	snapshot->gids = TRUE;
	snapshot->seconds = 0.25;
	return snapshot;
}

/* The counters must have the order of readings; the strings are not copied. */
static inline RdmadReading *made_reading(const RdmadCounter *counters, guint n_counters)
{
	RdmadReading *reading = g_new0(RdmadReading, 1);

	reading->counters = g_memdup2(counters, n_counters * sizeof(counters[0]));
	reading->n_counters = n_counters;
	reading->strings = g_string_chunk_new(64);
	return reading;
}

/* Takes the reading over. */
static inline DeviceSample *made_sample(Snapshot *snapshot, RdmadDevice *device,
					RdmadReading *reading)
{
	DeviceSample *sample = device_sample_new(device);

	sample->reading = reading;
	sample->seconds = 0.125;
	g_ptr_array_add(snapshot->devices, sample);
	return sample;
}

static inline char *made_text(const Snapshot *snapshot, ExpositionFormat format)
{
	g_autoptr(FamilySet) set = family_set_new();
	gsize size;

	render_snapshot(set, snapshot);
	return family_set_print(set, format, &size);
}

/* Returns whether the text has exactly this line. */
static inline gboolean made_has(const char *text, const char *line)
{
	g_autofree char *inner = g_strconcat("\n", line, "\n", NULL);
	g_autofree char *first = g_strconcat(line, "\n", NULL);

	return g_str_has_prefix(text, first) || strstr(text, inner);
}

static inline guint made_count(const char *text, const char *part)
{
	guint count = 0;

	for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
		count++;
	return count;
}
