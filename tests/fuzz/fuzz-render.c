/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exposition is well-formed for any names of devices, interfaces, counters and pods
 *
 * Input: lines.  The first byte of each selects what the rest is the name of.
 */
#include <errno.h>
#include <stdint.h>

#include "exposition-check.h"
#include "hardware/device.h"
#include "render/render.h"

#define LINES_MAX 200u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct {
	Snapshot *snapshot;
	RdmadDevice *device;
	GArray *counters; /* RdmadCounter */
	GArray *users;	  /* RdmadDeviceUser */
	GStringChunk *strings;
	guint port;
	const char *netdev;
} Fuzz;

/* ---- one device ---- */

static int compare_counters(gconstpointer a, gconstpointer b)
{
	const RdmadCounter *one = a, *other = b;

	if (one->group != other->group)
		return (int)one->group - (int)other->group;
	if (one->port != other->port)
		return one->port < other->port ? -1 : 1;
	if (g_strcmp0(one->netdev, other->netdev))
		return g_strcmp0(one->netdev, other->netdev);
	return g_strcmp0(one->name, other->name);
}

/* Sorts and removes duplicates, as readings do. */
static RdmadReading *reading_take(Fuzz *fuzz)
{
	RdmadReading *reading = g_new0(RdmadReading, 1);
	RdmadCounter *counters = (RdmadCounter *)(void *)fuzz->counters->data;
	guint kept = 0;

	g_array_sort(fuzz->counters, compare_counters);
	for (guint i = 0; i < fuzz->counters->len; i++)
		if (!kept || compare_counters(&counters[kept - 1], &counters[i]))
			counters[kept++] = counters[i];
	reading->n_counters = kept;
	reading->n_users = fuzz->users->len;
	reading->counters = (RdmadCounter *)(void *)g_array_free(fuzz->counters, FALSE);
	reading->users = (RdmadDeviceUser *)(void *)g_array_free(fuzz->users, FALSE);
	reading->strings = fuzz->strings;
	return reading;
}

static void device_end(Fuzz *fuzz)
{
	DeviceSample *sample;

	if (!fuzz->device)
		return;
	sample = device_sample_new(fuzz->device);
	sample->reading = reading_take(fuzz);
	g_ptr_array_add(fuzz->snapshot->devices, sample);
	g_clear_pointer(&fuzz->device, rdmad_device_unref);
}

static void device_begin(Fuzz *fuzz, const char *name)
{
	device_end(fuzz);
	fuzz->device = rdmad_device_new(name, name);
	fuzz->device->firmware = g_strdup(name);
	fuzz->device->n_ports = 2;
	fuzz->device->ports = g_new0(RdmadPort, 2);
	fuzz->device->ports[0].number = 1;
	fuzz->device->ports[1].number = 2;
	fuzz->device->ports[0].netdev = g_strdup(name);
	fuzz->device->n_netdevs = 1;
	fuzz->device->netdevs = g_new0(RdmadNetdev, 1);
	fuzz->device->netdevs[0].name = g_strdup(name);
	fuzz->counters = g_array_new(FALSE, TRUE, sizeof(RdmadCounter));
	fuzz->users = g_array_new(FALSE, TRUE, sizeof(RdmadDeviceUser));
	fuzz->strings = g_string_chunk_new(256);
	fuzz->port = 1;
	fuzz->netdev = "eth0";
}

static void counter_add(Fuzz *fuzz, RdmadCounterGroup group, const char *name)
{
	const gboolean of_netdev = group > RDMAD_COUNTER_DEVICE;
	const gboolean of_device = group == RDMAD_COUNTER_DEVICE;
	const RdmadCounter counter = {
		.group = group,
		.port = of_netdev || of_device ? 0 : fuzz->port,
		.netdev = of_netdev ? fuzz->netdev : NULL,
		.name = name,
		.value = (guint64)strlen(name) << strlen(name) % 64,
		.errnum = strlen(name) % 7 == 6 ? EINVAL : 0,
	};

	g_array_append_val(fuzz->counters, counter);
}

static void user_add(Fuzz *fuzz, const char *uid)
{
	RdmadDeviceUser user = { .pid = fuzz->users->len, .pod_uid = uid };

	user.objects[RDMAD_USES_QP] = (guint)strlen(uid);
	g_array_append_val(fuzz->users, user);
}

/* ---- lines ---- */

static void line_take(Fuzz *fuzz, const char *line)
{
	const char what = *line;
	const char *name;

	if (what == 'D' || !fuzz->device)
		device_begin(fuzz, what ? line + 1 : line);
	if (!what || what == 'D')
		return;
	name = g_string_chunk_insert(fuzz->strings, line + 1);
	if (what >= '0' && what <= '6')
		counter_add(fuzz, (RdmadCounterGroup)(what - '0'), name);
	else if (what == 'P')
		fuzz->port = 3 - fuzz->port;
	else if (what == 'N')
		fuzz->netdev = name;
	else if (what == 'U')
		user_add(fuzz, name);
}

static void check(Snapshot *snapshot, NamesMode names, ExpositionFormat format)
{
	g_autoptr(FamilySet) set = family_set_new();
	g_autofree char *text = NULL;
	gsize size;

	snapshot->names = names;
	render_snapshot(set, snapshot);
	text = family_set_print(set, format, &size);
	exposition_check(text, size, format);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autofree char *text = g_strndup((const char *)data, size);
	g_auto(GStrv) lines = g_strsplit(text, "\n", LINES_MAX);
	Fuzz fuzz = { .snapshot = snapshot_new() };

	fuzz.snapshot->what = RDMAD_READ_COUNTERS | RDMAD_READ_NETDEVS | RDMAD_READ_USERS;
	fuzz.snapshot->gids = TRUE;
	for (guint i = 0; lines[i]; i++)
		line_take(&fuzz, lines[i]);
	device_end(&fuzz);
	for (int names = NAMES_NATIVE; names <= NAMES_BOTH; names++) {
		check(fuzz.snapshot, (NamesMode)names, EXPOSITION_TEXT);
		check(fuzz.snapshot, (NamesMode)names, EXPOSITION_OPENMETRICS);
	}
	snapshot_unref(fuzz.snapshot);
	return 0;
}
