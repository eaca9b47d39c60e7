/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traffic: rates of each port in the last minutes
 *
 * Filled by every reading, for any request: without requests there is nothing to do.  Ten minutes
 * are kept of each port, fewer with very many ports: at most 256 KiB in all.
 */
#include "traffic/traffic.h"

#include <jansson.h>
#include <rdmad/json.h>
#include <math.h>
#include <string.h>

#include "traffic/losses.h"

#define TRAFFIC_STEP_US (900 * G_TIME_SPAN_MILLISECOND) /* shorter intervals give no rate */
#define RATE_MAX	9e18f				/* fits into a signed 64-bit integer */

typedef struct {
	gint64 mark;		     /* monotonic time, made unique */
	float received, transmitted; /* per second; NAN: the counters were reset */
} Sample;

typedef struct {
	PortError sum;
	gint64 read_us; /* when `sum` was read */
	float rate;	/* since the sum before; NAN: unknown */
} SeriesError;

typedef struct {
	char *id, *name; /* of the device */
	guint port;
	PortTraffic total; /* unit NULL: the port has no counter of traffic */
	gint64 read_us;	   /* when `total` was read */
	SeriesError errors[PORT_ERROR_KINDS];
	PortLosses losses;
	gint64 seen_us;
	GArray *samples; /* Sample, oldest first */
} Series;

/* Objects of processes on a device.  A process counts if it has queue pairs: rdmad itself has only
 * a context. */
typedef struct {
	char *id, *name;
	gint64 seen_us;
	guint processes, objects[RDMAD_USES_KINDS];
} Users;

struct Traffic {
	GPtrArray *series; /* Series, in the order of their first reading */
	GHashTable *ports; /* "ID/PORT" -> Series */
	GHashTable *users; /* ID -> Users */
	gint64 mark;	   /* the newest mark */
};

static void series_free(gpointer data)
{
	Series *series = data;

	g_free(series->id);
	g_free(series->name);
	g_array_unref(series->samples);
	g_free(series);
}

static void users_free(gpointer data)
{
	Users *users = data;

	g_free(users->id);
	g_free(users->name);
	g_free(users);
}

Traffic *traffic_new(void)
{
	Traffic *traffic = g_new0(Traffic, 1);

	traffic->series = g_ptr_array_new_with_free_func(series_free);
	traffic->ports = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	traffic->users = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, users_free);
	return traffic;
}

void traffic_free(Traffic *traffic)
{
	if (!traffic)
		return;
	g_hash_table_unref(traffic->users);
	g_hash_table_unref(traffic->ports);
	g_ptr_array_unref(traffic->series);
	g_free(traffic);
}

static gboolean users_are_old(gpointer key, gpointer value, gpointer data)
{
	const gint64 *oldest_us = data;

	return ((Users *)value)->seen_us < *oldest_us;
}

void traffic_forget_old(Traffic *traffic, gint64 now_us)
{
	gint64 oldest_us = now_us - TRAFFIC_KEPT_US;

	for (guint i = traffic->series->len; i-- > 0;) {
		const Series *series = traffic->series->pdata[i];
		g_autofree char *key = NULL;

		if (series->seen_us >= oldest_us)
			continue;
		key = g_strdup_printf("%s/%u", series->id, series->port);
		g_hash_table_remove(traffic->ports, key);
		g_ptr_array_remove_index(traffic->series, i);
	}
	g_hash_table_foreach_remove(traffic->users, users_are_old, &oldest_us);
}

/* Returns NULL if there are too many. */
static Series *traffic_series(Traffic *traffic, const RdmadDevice *device, guint port,
			      gint64 now_us)
{
	g_autofree char *key = g_strdup_printf("%s/%u", device->id, port);
	Series *series = g_hash_table_lookup(traffic->ports, key);

	if (series)
		return series;
	traffic_forget_old(traffic, now_us);
	if (traffic->series->len >= TRAFFIC_PORTS_MAX)
		return NULL;
	series = g_new0(Series, 1);
	series->id = g_strdup(device->id);
	series->port = port;
	series->samples = g_array_new(FALSE, FALSE, sizeof(Sample));
	g_ptr_array_add(traffic->series, series);
	g_hash_table_insert(traffic->ports, g_steal_pointer(&key), series);
	return series;
}

static float rate_between(guint64 before, guint64 now, gint64 us)
{
	return now < before ? NAN : (float)((double)(now - before) * G_USEC_PER_SEC / us);
}

static void series_append(Series *series, const Sample *sample, guint limit)
{
	GArray *samples = series->samples;

	if (samples->len >= limit)
		g_array_remove_range(samples, 0, samples->len - limit + 1);
	g_array_append_vals(samples, sample, 1);
}

/* Returns whether the earlier total stays, for a rate over a longer step: another total would give
 * no rate now, nor when the missing parts are back. */
static gboolean total_stays(PortParts before, PortParts now, gint64 step_us)
{
	if (step_us > TRAFFIC_KEPT_US)
		return FALSE;
	return port_parts_are_missing(before, now) ||
	       (before.read == now.read && step_us < TRAFFIC_STEP_US);
}

static gboolean totals_have_rate(PortParts before, PortParts now, gint64 step_us)
{
	return before.read == now.read && step_us <= TRAFFIC_KEPT_US;
}

static void series_take(Traffic *traffic, Series *series, const PortTraffic *total, gint64 read_us,
			gint64 now_us)
{
	const gint64 step_us = read_us - series->read_us;
	const guint limit = CLAMP(TRAFFIC_SAMPLE_MAX / traffic->series->len, 4, TRAFFIC_PORT_MAX);

	if (total_stays(series->total.parts, total->parts, step_us))
		return;
	if (totals_have_rate(series->total.parts, total->parts, step_us)) {
		traffic->mark = MAX(now_us, traffic->mark + 1);
		series_append(
			series,
			&(Sample){ traffic->mark,
				   rate_between(series->total.received, total->received, step_us),
				   rate_between(series->total.transmitted, total->transmitted,
						step_us) },
			limit);
	}
	series->total = *total;
	series->read_us = read_us;
}

static void users_count(Users *users, const RdmadReading *reading)
{
	users->processes = 0;
	memset(users->objects, 0, sizeof(users->objects));
	for (guint i = 0; i < reading->n_users; i++) {
		const RdmadDeviceUser *user = &reading->users[i];

		if (!user->pid)
			continue;
		users->processes += user->objects[RDMAD_USES_QP] != 0;
		for (guint kind = 0; kind < RDMAD_USES_KINDS; kind++)
			users->objects[kind] += user->objects[kind];
	}
}

static void error_take(SeriesError *error, const PortError *sum, gint64 read_us)
{
	const gint64 step_us = read_us - error->read_us;
	const gboolean stays = total_stays(error->sum.parts, sum->parts, step_us);

	if (stays && step_us < TRAFFIC_STEP_US)
		return;
	error->rate = !stays && totals_have_rate(error->sum.parts, sum->parts, step_us)
			      ? rate_between(error->sum.total, sum->total, step_us)
			      : NAN;
	if (stays)
		return;
	error->sum = *sum;
	error->read_us = read_us;
}

/* The kernel has objects on every device, so an empty list means that it was not read. */
static gboolean users_are_known(const RdmadReading *reading)
{
	return reading->n_users && !(reading->users_unlisted & 1u << RDMAD_USES_QP);
}

static void traffic_take_users(Traffic *traffic, const DeviceSample *sample, gint64 now_us)
{
	const RdmadDevice *device = sample->device;
	Users *users = g_hash_table_lookup(traffic->users, device->id);

	if (!users_are_known(sample->reading)) {
		g_hash_table_remove(traffic->users, device->id);
		return;
	}
	if (!users) {
		if (g_hash_table_size(traffic->users) >= TRAFFIC_PORTS_MAX)
			return;
		users = g_new0(Users, 1);
		users->id = g_strdup(device->id);
		g_hash_table_insert(traffic->users, users->id, users);
	}
	users->seen_us = now_us;
	g_free(users->name);
	users->name = g_strdup(device->name);
	users_count(users, sample->reading);
}

void traffic_take(Traffic *traffic, const DeviceSample *sample, gint64 now_us)
{
	const RdmadDevice *device = sample->device;

	if (!sample->reading)
		return;
	for (guint i = 0; i < device->n_ports; i++) {
		const guint port = device->ports[i].number;
		Series *series = traffic_series(traffic, device, port, now_us);
		PortTraffic total = { 0 }, packets = { 0 };
		PortError errors[PORT_ERROR_KINDS];

		if (!series)
			break;
		series->seen_us = now_us;
		g_free(series->name);
		series->name = g_strdup(device->name);
		port_errors_read(sample->reading, port, device->n_ports == 1, errors);
		for (guint kind = 0; kind < PORT_ERROR_KINDS; kind++)
			error_take(&series->errors[kind], &errors[kind], sample->reading->time_us);
		port_packets_read(sample->reading, port, device->n_ports == 1, &packets);
		if (rdmad_device_role(device) == RDMAD_ROLE_NIC)
			port_losses_take(&series->losses, errors, &packets,
					 sample->reading->time_us);
		if (port_traffic_read(sample->reading, port, device->n_ports == 1, &total))
			series_take(traffic, series, &total, sample->reading->time_us, now_us);
	}
	traffic_take_users(traffic, sample, now_us);
}

void traffic_doctor(const Traffic *traffic, gint64 now_us, json_t *findings)
{
	for (guint i = 0; i < traffic->series->len; i++) {
		const Series *series = traffic->series->pdata[i];

		port_losses_doctor(&series->losses, series->name, series->port, now_us, findings);
	}
}

/* ---- copies ---- */

static Series *series_copy(const Series *series)
{
	Series *copy = g_memdup2(series, sizeof(*series));

	copy->id = g_strdup(series->id);
	copy->name = g_strdup(series->name);
	copy->samples = g_array_copy(series->samples);
	return copy;
}

static Users *users_copy(const Users *users)
{
	Users *copy = g_memdup2(users, sizeof(*users));

	copy->id = g_strdup(users->id);
	copy->name = g_strdup(users->name);
	return copy;
}

Traffic *traffic_copy(const Traffic *traffic)
{
	Traffic *copy = traffic_new();
	GHashTableIter iter;
	gpointer value;

	copy->mark = traffic->mark;
	for (guint i = 0; i < traffic->series->len; i++)
		g_ptr_array_add(copy->series, series_copy(traffic->series->pdata[i]));
	g_hash_table_iter_init(&iter, traffic->users);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		Users *users = users_copy(value);

		g_hash_table_insert(copy->users, users->id, users);
	}
	return copy;
}

/* ---- JSON ---- */

static json_t *real_json(float rate)
{
	return isnan(rate) ? json_null() : json_real(rate);
}

static json_t *rate_json(float rate)
{
	/* The rate may be huge after a counter jumped. */
	return isnan(rate) ? json_null() : json_integer((json_int_t)MIN(rate, RATE_MAX));
}

static json_t *errors_json(const Series *series)
{
	json_t *errors = json_array();

	for (guint kind = 0; kind < PORT_ERROR_KINDS; kind++) {
		const SeriesError *error = &series->errors[kind];

		if (error->sum.parts.read)
			json_array_append_new(
				errors, json_pack("{s:s, s:I, s:o}", "kind", port_error_names[kind],
						  "total", (json_int_t)error->sum.total,
						  "per_second", real_json(error->rate)));
	}
	return errors;
}

static json_t *series_json(const Series *series, gint64 after, gint64 now_us)
{
	json_t *ages = json_array(), *received = json_array(), *transmitted = json_array();

	for (guint i = 0; i < series->samples->len; i++) {
		const Sample *sample = &g_array_index(series->samples, Sample, i);
		const gint64 age_us = now_us - sample->mark;

		if (sample->mark <= after || age_us > TRAFFIC_KEPT_US)
			continue;
		json_array_append_new(ages, json_integer(MAX(age_us, 0) / 1000));
		json_array_append_new(received, rate_json(sample->received));
		json_array_append_new(transmitted, rate_json(sample->transmitted));
	}
	return json_pack("{s:o, s:o, s:i, s:s?, s:o, s:o, s:o, s:o}", "device_id",
			 rdmad_json_string(series->id), "device_name",
			 rdmad_json_string(series->name), "port", (int)series->port, "unit",
			 series->total.unit, "ages_ms", ages, "received", received, "transmitted",
			 transmitted, "errors", errors_json(series));
}

static json_t *users_json(const Users *users)
{
	static const char *const names[RDMAD_USES_KINDS] = {
		[RDMAD_USES_QP] = "queue_pairs",	[RDMAD_USES_CQ] = "completion_queues",
		[RDMAD_USES_MR] = "memory_regions",	[RDMAD_USES_CM_ID] = "cm_ids",
		[RDMAD_USES_PD] = "protection_domains", [RDMAD_USES_SRQ] = "shared_receive_queues",
		[RDMAD_USES_CTX] = "contexts",
	};
	json_t *object = json_pack("{s:o, s:o, s:i}", "device_id", rdmad_json_string(users->id),
				   "device_name", rdmad_json_string(users->name), "processes",
				   (int)users->processes);

	for (guint kind = 0; kind < RDMAD_USES_KINDS; kind++)
		json_object_set_new(object, names[kind], json_integer(users->objects[kind]));
	return object;
}

json_t *traffic_json(const Traffic *traffic, gint64 after, gint64 now_us)
{
	json_t *ports = json_array(), *users = json_array();
	GHashTableIter iter;
	gpointer value;

	for (guint i = 0; i < traffic->series->len; i++)
		json_array_append_new(ports, series_json(traffic->series->pdata[i], after, now_us));
	g_hash_table_iter_init(&iter, traffic->users);
	while (g_hash_table_iter_next(&iter, NULL, &value))
		json_array_append_new(users, users_json(value));
	return json_pack("{s:I, s:o, s:o}", "last", (json_int_t)traffic->mark, "ports", ports,
			 "users", users);
}
