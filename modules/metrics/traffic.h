/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traffic: how much went through each port in the last minutes
 *
 * Filled by every reading, whoever asked for it: while nobody asks there is nothing to do.  Ten minutes
 * are kept of each port, fewer with very many ports: at most 256 KiB in all.
 */
#pragma once

#include "snapshot.h"

#define TRAFFIC_KEPT_US	   (10 * G_TIME_SPAN_MINUTE)
#define TRAFFIC_STEP_US	   (900 * G_TIME_SPAN_MILLISECOND) /* what comes sooner tells no rate */
#define TRAFFIC_PORT_MAX   240u				   /* samples of a port */
#define TRAFFIC_SAMPLE_MAX 16384u			   /* of all ports */
#define TRAFFIC_PORTS_MAX  4096u

typedef struct Traffic Traffic;

Traffic *traffic_new(void);
void traffic_free(Traffic *traffic);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Traffic, traffic_free)

/* `now_us`: monotonic. */
void traffic_take(Traffic *traffic, const DeviceSample *sample, gint64 now_us);
/* What GET /api/v1/traffic?after= answers: samples after the mark that an earlier answer gave. */
struct json_t *traffic_json(Traffic *traffic, gint64 after, gint64 now_us);
