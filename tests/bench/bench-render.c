/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-render PORTS ROUNDS
 *
 * How long the text of one scrape takes to make from readings that are there already, for devices
 * that count what mlx5 counts; how long its bytes take to copy; and what gzip costs and saves.
 * Prints
 * {"series", "bytes", "render_us", "copy_us", "gzip_us", "gzip_bytes"}, medians of rounds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/exposition.h"
#include "hardware/device.h"
#include "render/render.h"
#include "samples.h"

static const char *const PORT_NAMES[] = {
	"VL15_dropped",
	"excessive_buffer_overrun_errors",
	"link_downed",
	"link_error_recovery",
	"local_link_integrity_errors",
	"multicast_rcv_packets",
	"multicast_xmit_packets",
	"port_rcv_constraint_errors",
	"port_rcv_data",
	"port_rcv_errors",
	"port_rcv_packets",
	"port_rcv_remote_physical_errors",
	"port_rcv_switch_relay_errors",
	"port_xmit_constraint_errors",
	"port_xmit_data",
	"port_xmit_discards",
	"port_xmit_packets",
	"port_xmit_wait",
	"symbol_error",
	"unicast_rcv_packets",
	"unicast_xmit_packets",
};

static const char *const HW_NAMES[] = {
	"duplicate_request",
	"implied_nak_seq_err",
	"local_ack_timeout_err",
	"np_cnp_sent",
	"np_ecn_marked_roce_packets",
	"out_of_buffer",
	"out_of_sequence",
	"packet_seq_err",
	"req_cqe_error",
	"req_cqe_flush_error",
	"req_remote_access_errors",
	"req_remote_invalid_request",
	"req_rnr_retries_exceeded",
	"req_transport_retries_exceeded",
	"resp_cqe_error",
	"resp_cqe_flush_error",
	"resp_local_length_error",
	"resp_remote_access_errors",
	"rnr_nak_retry_err",
	"roce_adp_retrans",
	"roce_adp_retrans_to",
	"roce_slow_restart",
	"roce_slow_restart_cnps",
	"roce_slow_restart_trans",
	"rp_cnp_handled",
	"rp_cnp_ignored",
	"rx_atomic_requests",
	"rx_dct_connect",
	"rx_icrc_encapsulated",
	"rx_read_requests",
	"rx_write_requests",
};

#define N_PORT_NAMES G_N_ELEMENTS(PORT_NAMES)
#define N_COUNTERS   (N_PORT_NAMES + G_N_ELEMENTS(HW_NAMES))

/* Counters of traffic are large, those of errors small, and no small counter is full. */
static guint64 value_make(GRand *random, const char *name)
{
	if (strstr(name, "data") || strstr(name, "packets") || strstr(name, "requests"))
		return (guint64)g_rand_int(random) << g_rand_int_range(random, 0, 20);
	return (guint64)g_rand_int_range(random, 0, 10);
}

/* Names are in memory of their own, as readings have them. */
static RdmadReading *reading_make(GRand *random)
{
	RdmadReading *reading = g_new0(RdmadReading, 1);

	reading->strings = g_string_chunk_new(1024);
	reading->counters = g_new0(RdmadCounter, N_COUNTERS);
	reading->n_counters = N_COUNTERS;
	for (guint i = 0; i < N_COUNTERS; i++) {
		const gboolean port = i < N_PORT_NAMES;
		const char *name = port ? PORT_NAMES[i] : HW_NAMES[i - N_PORT_NAMES];

		reading->counters[i] = (RdmadCounter){
			.group = port ? RDMAD_COUNTER_PORT : RDMAD_COUNTER_HW,
			.port = 1,
			.name = g_string_chunk_insert(reading->strings, name),
			.value = value_make(random, name),
		};
	}
	reading->n_ports = 1;
	reading->ports = g_new0(RdmadPortReading, 1);
	reading->ports[0] = (RdmadPortReading){ 1, RDMAD_PORT_ACTIVE, 5, 400000 };
	return reading;
}

static RdmadDevice *device_make(guint number)
{
	g_autofree char *id = g_strdup_printf("0000:%02x:%02x.0", number / 32, number % 32);
	g_autofree char *name = g_strdup_printf("mlx5_%u", number);
	RdmadDevice *device = rdmad_device_new(id, name);

	device->driver = g_strdup("mlx5_core");
	device->n_ports = 1;
	device->ports = g_new0(RdmadPort, 1);
	device->ports[0].number = 1;
	return device;
}

static Snapshot *snapshot_make(guint ports)
{
	Snapshot *snapshot = snapshot_new();
	GRand *random = g_rand_new_with_seed(1);

	snapshot->what = RDMAD_READ_COUNTERS;
	for (guint i = 0; i < ports; i++) {
		RdmadDevice *device = device_make(i);
		DeviceSample *sample = device_sample_new(device);

		sample->reading = reading_make(random);
		g_ptr_array_add(snapshot->devices, sample);
		rdmad_device_unref(device);
	}
	g_rand_free(random);
	return snapshot;
}

typedef struct {
	GArray *render, *copy, *gzip;
	guint64 series;
	gsize bytes, packed;
} Measure;

static void measure_once(Measure *measure, const Snapshot *snapshot)
{
	FamilySet *set = family_set_new();
	gint64 began = samples_now();
	char *text, *copy, *packed;

	render_snapshot(set, snapshot);
	text = family_set_print(set, EXPOSITION_TEXT, &measure->bytes);
	measure->series = family_set_series(set);
	samples_add(measure->render, began);
	began = samples_now();
	copy = g_malloc(measure->bytes);
	memcpy(copy, text, measure->bytes);
	samples_add(measure->copy, began);
	began = samples_now();
	packed = family_set_pack(set, EXPOSITION_TEXT, &measure->packed);
	samples_add(measure->gzip, began);
	family_set_free(set);
	g_free(text);
	g_free(copy);
	g_free(packed);
}

int main(int argc, char **argv)
{
	Measure measure = { samples_new(), samples_new(), samples_new() };
	Snapshot *snapshot;

	if (argc != 3)
		return 2;
	snapshot = snapshot_make((guint)atoi(argv[1]));
	for (int i = 0; i < atoi(argv[2]); i++)
		measure_once(&measure, snapshot);
	printf("{\"series\": %" G_GUINT64_FORMAT ", \"bytes\": %" G_GSIZE_FORMAT
	       ", \"render_us\": %.1f, \"copy_us\": %.1f, \"gzip_us\": %.1f, "
	       "\"gzip_bytes\": %" G_GSIZE_FORMAT "}\n",
	       measure.series, measure.bytes, samples_percentile(measure.render, 50),
	       samples_percentile(measure.copy, 50), samples_percentile(measure.gzip, 50),
	       measure.packed);
	snapshot_unref(snapshot);
	return 0;
}
