/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of module metrics: what Prometheus gets is complete, current and never goes back. */
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "judge.h"
#include "machine.h"
#include "node.h"

#define FRESH_US   SIM_S /* the age of a reading that rdmad may send again */
#define POD_DEVICE "rdma_pod_device_info{"
#define SUCCESS	   "rdma_device_scrape_success{device=\"erdma_%u\"}"
#define PACKETS	   "rdma_tx_packets_cnt_total{device=\"erdma_%u\",port=\"1\"}"

typedef struct {
	double value;
	gboolean counts; /* it never decreases */
} Value;

typedef struct {
	double value;
	gint64 began_us, ended_us; /* of its scrape */
} Seen;

static struct {
	GHashTable *seen;	   /* series of counters -> Seen, of this life */
	GHashTable *page, *before; /* the last two with all devices: series -> Value; or NULL */
	guint n_whole;		   /* pages with all devices */
} scrapes;

/* ---- the page ---- */

static void line_parse(char *line, gboolean *counts, GHashTable *page)
{
	char *end = strrchr(line, ' ');
	Value *value;

	if (g_str_has_prefix(line, "# TYPE "))
		*counts = g_str_equal(end, " counter") || g_str_equal(end, " histogram");
	if (*line == '#')
		return;
	if (!end) {
		judge_fails("a line of the metrics has no value: %s", line);
		return;
	}
	value = g_new(Value, 1);
	*value = (Value){ g_ascii_strtod(end + 1, NULL), *counts };
	*end = '\0';
	if (!g_hash_table_insert(page, g_strdup(line), value))
		judge_fails("a series is there twice: %s", line);
}

/* Returns series -> Value. */
static GHashTable *page_parse(const char *text)
{
	g_autofree char *copy = g_strdup(text);
	GHashTable *page = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	gboolean counts = FALSE;
	char *line = copy, *end;

	while ((end = strchr(line, '\n'))) {
		*end = '\0';
		if (*line)
			line_parse(line, &counts, page);
		line = end + 1;
	}
	if (*line)
		judge_fails("the last line of the metrics has no end: %s", line);
	return page;
}

/* ---- counters ---- */

/* Returns whether the device of the series appeared after that time. */
static gboolean has_new_device(const char *series, gint64 since_us)
{
	const char *device = strstr(series, "device=\"erdma_");
	const guint n = device ? (guint)atoi(device + strlen("device=\"erdma_")) : 0;

	return device && n < MACHINE_DEVICES && machine_plugged_us(n) > since_us - FRESH_US;
}

static void counter_check(const char *series, double value, const Reply *scrape)
{
	Seen *seen = g_hash_table_lookup(scrapes.seen, series);

	if (!seen) {
		seen = g_new0(Seen, 1);
		g_hash_table_insert(scrapes.seen, g_strdup(series), seen);
	} else if (scrape->began_us < seen->ended_us) {
		return; /* its reading may be the older one */
	}
	if (value < seen->value && !has_new_device(series, seen->began_us))
		judge_fails("a counter goes back: %s from %.0f to %.0f", series, seen->value,
			    value);
	*seen = (Seen){ value, scrape->began_us, clock_now_us() };
}

/* The value was right at some time from the scrape's beginning on. */
static void packets_check(GHashTable *page, const Reply *scrape)
{
	const gint64 since_us = scrape->began_us - FRESH_US;

	for (guint i = 0; i < MACHINE_DEVICES; i++) {
		g_autofree char *series = g_strdup_printf(PACKETS, i);
		const Value *packets = g_hash_table_lookup(page, series);

		if (!packets || machine_plugged_us(i) > since_us)
			continue;
		if (packets->value < (double)machine_counted(i, since_us) ||
		    packets->value > (double)machine_counted(i, clock_now_us()))
			judge_fails("a counter was never so: %s %.0f", series, packets->value);
	}
}

/* ---- at each scrape ---- */

/* Returns whether no device was too slow. */
static gboolean is_whole(GHashTable *page)
{
	for (guint i = 0; i < MACHINE_DEVICES; i++) {
		g_autofree char *series = g_strdup_printf(SUCCESS, i);
		const Value *success = g_hash_table_lookup(page, series);

		if (!success || success->value < 1)
			return FALSE;
	}
	return TRUE;
}

void judge_scraped(const Reply *scrape)
{
	g_autoptr(GHashTable) page = page_parse(scrape->text);
	GHashTableIter iter;
	gpointer series, value;

	g_hash_table_iter_init(&iter, page);
	/* A response of a former life may be received after the end of that life. */
	while (!scrape->is_disturbed && g_hash_table_iter_next(&iter, &series, &value))
		if (((const Value *)value)->counts)
			counter_check(series, ((const Value *)value)->value, scrape);
	packets_check(page, scrape);
	if (!is_whole(page))
		return;
	scrapes.n_whole++;
	g_clear_pointer(&scrapes.before, g_hash_table_unref);
	scrapes.before = g_steal_pointer(&scrapes.page);
	scrapes.page = g_steal_pointer(&page);
}

guint judge_scrapes_whole(void)
{
	return scrapes.n_whole;
}

/* ---- at the end ---- */

static void same_series_check(GHashTable *page, GHashTable *other)
{
	GHashTableIter iter;
	gpointer series;

	g_hash_table_iter_init(&iter, page);
	while (g_hash_table_iter_next(&iter, &series, NULL))
		if (!g_hash_table_contains(other, series))
			judge_fails("a series comes or goes although nothing happens: %s",
				    (const char *)series);
}

static void devices_check(void)
{
	for (guint i = 0; i < MACHINE_DEVICES; i++) {
		g_autofree char *series = g_strdup_printf(PACKETS, i);

		if (!g_hash_table_contains(scrapes.page, series))
			judge_fails("a device has no counters: erdma_%u", i);
	}
}

/* Returns the names of the pods in series that begin so. */
static GHashTable *pods_of_page(const char *prefix)
{
	GHashTable *names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	GHashTableIter iter;
	gpointer key;

	g_hash_table_iter_init(&iter, scrapes.page);
	while (g_hash_table_iter_next(&iter, &key, NULL)) {
		const char *series = key, *pod = strstr(series, ",pod=\"");

		if (g_str_has_prefix(series, prefix) && pod) {
			pod += strlen(",pod=\"");
			g_hash_table_add(names, g_strndup(pod, strcspn(pod, "\"")));
		}
	}
	return names;
}

static void pods_check(void)
{
	g_autoptr(GHashTable) holders = pods_of_page(POD_DEVICE), all = pods_of_page("");
	const GPtrArray *pods = pods_all();
	guint n = 0;

	for (guint i = 0; i < pods->len; i++) {
		const Pod *pod = pods->pdata[i];
		const Grant *grants[POD_GRANTS_MAX];

		if (!pod_grants(pod, grants))
			continue;
		n++;
		if (!g_hash_table_contains(holders, pod->name))
			judge_fails("the metrics lack the devices of a pod: %s", pod->name);
	}
	if (g_hash_table_size(all) > n)
		judge_fails("the metrics have series of pods that ended: %u pods, not %u",
			    g_hash_table_size(all), n);
}

void judge_scrapes_quiet(void)
{
	if (!node_has(NODE_METRICS))
		return;
	same_series_check(scrapes.page, scrapes.before);
	same_series_check(scrapes.before, scrapes.page);
	devices_check();
	if (!judge_names_are_doubtful())
		pods_check();
}

/* ---- life cycle ---- */

void judge_scrapes_begin(void)
{
	scrapes.seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	scrapes.n_whole = 0;
}

void judge_scrapes_end(void)
{
	g_hash_table_unref(scrapes.seen);
	g_clear_pointer(&scrapes.page, g_hash_table_unref);
	g_clear_pointer(&scrapes.before, g_hash_table_unref);
}

void judge_scrapes_restarted(void)
{
	g_hash_table_remove_all(scrapes.seen);
}
