/* SPDX-License-Identifier: Apache-2.0 */
/* GET /metrics: collects, renders on a worker, replies, and keeps facts of the last scrape for the
 * status. */
#pragma once

#include <rdmad/types.h>

#include "collector.h"

#define SCRAPES_TIMEOUT_HEADER "X-Prometheus-Scrape-Timeout-Seconds"

typedef struct Scrapes Scrapes;

/* Registers the route.  `*settings` may change after a reload. */
Scrapes *scrapes_new(RdmadModule *self, Collector *collector, MetricsSettings *const *settings,
		     GError **error);
/* Waiting requests get 503. */
void scrapes_free(Scrapes *scrapes);

/* {"last_scrape": {"time", "seconds", "collection", "series", "bytes", "devices"}, "missing":
 * [{"device_name", "error"}]}; empty before the first scrape. */
struct json_t *scrapes_status(const Scrapes *scrapes);
/* Adds findings for `rdmad doctor`. */
void scrapes_doctor(const Scrapes *scrapes, struct json_t *findings);

/* Returns the time for reading the devices: the scraper's timeout in `header`, less a margin for
 * the response.  `default_ms`: `header` is NULL or invalid. */
guint scrapes_deadline_ms(const char *header, guint default_ms);
