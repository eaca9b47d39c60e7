/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Module metrics: counters and users of devices, for Prometheus and on a status page
 *
 *	modules = {
 *	  metrics = {
 *	    listen = "127.0.0.1:9889";	# or a list of addresses, "[::1]:9889", ":9889"; ( ): none
 *	    web_config = "";		# TLS and passwords: a web configuration file
 *	    names = "native";		# "compat": node_infiniband_*, as of node_exporter; "both"
 *	    devices = "*";		# device names; "!mlx5_9": all but that one
 *	    counters = true;		# of ports and drivers
 *	    netdevs = true;		# pause, FEC and driver's statistics of the interfaces
 *	    users = true;		# queue pairs and memory regions by pod
 *	    gids = true;
 *	    timeout = "10s";		# of a scrape whose request has none
 *	    pod_log_dir = "/var/log/pods";	# NAMESPACE_NAME_UID directories: names of pods
 *	    open_files = 512;		# of counters, that stay open between scrapes
 *	    page = true;		# the status page
 *	  };
 *	};
 *
 * It needs neither root nor a capability nor a file.
 */
#include <linux/capability.h>
#include <jansson.h>
#include <rdmad/error.h>
#include <rdmad/http.h>
#include <rdmad/module.h>

#include "collector.h"
#include "listeners.h"
#include "page/page.h"
#include "scrapes.h"
#include "settings.h"

typedef struct {
	RdmadModule *self;
	MetricsSettings *settings;
	Listeners *listeners;
	Collector *collector;
	Scrapes *scrapes;
	Page *page; /* NULL: not configured */
} Metrics;

/* Adds the place of the key only to errors of the configuration; an error of the system may be
 * temporary. */
static gboolean metrics_check(RdmadModule *self, const MetricsSettings *settings,
			      const RdmadConfigNode *config, GError **error)
{
	GError *why = NULL;

	if (!settings->web_config ||
	    rdmad_http_web_config_check(rdmad_module_http(self), settings->web_config, &why))
		return TRUE;
	if (!g_error_matches(why, RDMAD_ERROR, RDMAD_ERROR_CONFIG) &&
	    !g_error_matches(why, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND)) {
		g_propagate_error(error, why);
		return FALSE;
	}
	rdmad_config_error(config, "web_config", error, "%s", why->message);
	g_error_free(why);
	return FALSE;
}

static gpointer metrics_create(RdmadModule *self, const RdmadConfigNode *config, GError **error)
{
	g_autoptr(MetricsSettings) settings = metrics_settings_parse(config, error);
	Metrics *metrics;

	if (!settings || !metrics_check(self, settings, config, error))
		return NULL;
	metrics = g_new0(Metrics, 1);
	metrics->self = self;
	metrics->settings = g_steal_pointer(&settings);
	return metrics;
}

/* Follows all of `settings` or nothing: only additions can fail, so the page is removed last. */
static gboolean metrics_follow(Metrics *metrics, const MetricsSettings *settings, GError **error)
{
	g_autoptr(Page) added = NULL;

	if (settings->page && !metrics->page) {
		added = page_new(metrics->self, metrics->collector, error);
		if (!added)
			return FALSE;
	}
	if (!listeners_follow(metrics->listeners, (const char *const *)settings->listen,
			      settings->web_config, error))
		return FALSE;
	if (added)
		metrics->page = g_steal_pointer(&added);
	else if (!settings->page)
		g_clear_pointer(&metrics->page, page_free);
	return TRUE;
}

static gboolean metrics_rehearse(gpointer state, GError **error)
{
	const Metrics *metrics = state;
	RdmadHttp *http = rdmad_module_http(metrics->self);

	for (char **address = metrics->settings->listen; *address; address++)
		if (!rdmad_http_rehearse(http, *address, metrics->settings->web_config, error))
			return FALSE;
	return TRUE;
}

static gboolean metrics_start(gpointer state, GError **error)
{
	Metrics *metrics = state;

	metrics->collector = collector_new(metrics->self, metrics->settings);
	metrics->scrapes =
		scrapes_new(metrics->self, metrics->collector, &metrics->settings, error);
	if (!metrics->scrapes)
		return FALSE;
	metrics->listeners = listeners_new(metrics->self);
	return metrics_follow(metrics, metrics->settings, error);
}

static gboolean metrics_reload(gpointer state, const RdmadConfigNode *config, GError **error)
{
	Metrics *metrics = state;
	g_autoptr(MetricsSettings) settings = metrics_settings_parse(config, error);

	if (!settings || !metrics_check(metrics->self, settings, config, error) ||
	    !metrics_follow(metrics, settings, error))
		return FALSE;
	collector_configure(metrics->collector, settings);
	metrics_settings_free(metrics->settings);
	metrics->settings = g_steal_pointer(&settings);
	return TRUE;
}

/* Also frees what a failed start has left.  Frees the scrapes first: waiting requests are answered
 * as long as their connections exist. */
static void metrics_stop(gpointer state)
{
	Metrics *metrics = state;

	g_clear_pointer(&metrics->scrapes, scrapes_free);
	g_clear_pointer(&metrics->page, page_free);
	g_clear_pointer(&metrics->listeners, listeners_free);
	g_clear_pointer(&metrics->collector, collector_free);
}

static void metrics_destroy(gpointer state)
{
	Metrics *metrics = state;

	metrics_stop(metrics);
	metrics_settings_free(metrics->settings);
	g_free(metrics);
}

static json_t *metrics_status(gpointer state)
{
	Metrics *metrics = state;

	return scrapes_status(metrics->scrapes);
}

static void metrics_doctor(gpointer state, json_t *findings)
{
	Metrics *metrics = state;

	scrapes_doctor(metrics->scrapes, findings);
	if (metrics->page)
		page_doctor(metrics->page, findings);
}

static const RdmadCapability capabilities[] = {
	{ CAP_NET_BIND_SERVICE, "listens on a port below 1024, where the configuration says so" },
	{ 0 },
};

RDMAD_MODULE_DEFINE("metrics", .description = "Exports counters of RDMA devices",
		    .create = metrics_create, .rehearse = metrics_rehearse, .start = metrics_start,
		    .reload = metrics_reload, .stop = metrics_stop, .destroy = metrics_destroy,
		    .status = metrics_status, .doctor = metrics_doctor,
		    .capabilities = capabilities);
