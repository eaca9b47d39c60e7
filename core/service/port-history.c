/* SPDX-License-Identifier: Apache-2.0 */
#include "service/port-history.h"

#include <rdmad/clock.h>

#include "hardware/device.h"

/* The maximum delay of a kernel event after a scan has seen the change; later, the event counts
 * as lost.  Events may be reordered, because each is a separate work item, although states
 * alternate. */
#define LATE_US G_USEC_PER_SEC

struct RdmadPortHistory {
	GHashTable *ports;     /* "id/number" -> PortNews */
	GHashTable *expecting; /* set of ids: the kernel reports their changes; for this scan */
};

/* Reported states, which alternate, starting with `first`. */
typedef struct {
	gboolean first;
	guint64 count;
	gint64 since_us; /* monotonic time of the first report */
	gint64 last_us;	 /* wall clock of the last report */
} Reports;

typedef struct {
	Reports reports;  /* before the present scan, or the next one, began */
	Reports later;	  /* since it began */
	int state;	  /* last reported: active or not; RDMAD_UNKNOWN: no report yet */
	guint64 ahead;	  /* changes seen by scans but not reported yet */
	gint64 busy_us;	  /* monotonic time of the last report or change */
	gboolean seen;	  /* read by this scan */
	gboolean skipped; /* not read by this scan */

	int up;	       /* last known state: active or not; RDMAD_UNKNOWN: none */
	gboolean fell; /* it went down during its present use */

	/* Comparison with the carrier changes of the port's interface since a quiet moment. */
	int carrier;		 /* carrier changes at that moment, or RDMAD_UNKNOWN */
	gboolean carrier_active; /* whether the port was active at that moment */
	int carrier_ahead;	 /* 1, 0 or -1 changes ahead of the state in the last scan */
	guint64 counted;	 /* changes of the port since that moment */
} PortNews;

RdmadPortHistory *rdmad_port_history_new(void)
{
	RdmadPortHistory *history = g_new0(RdmadPortHistory, 1);

	history->ports = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	history->expecting = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	return history;
}

void rdmad_port_history_free(RdmadPortHistory *history)
{
	g_hash_table_unref(history->ports);
	g_hash_table_unref(history->expecting);
	g_free(history);
}

/* ---- events of the kernel ---- */

static gboolean reports_last(const Reports *reports)
{
	return reports->count % 2 ? reports->first : !reports->first;
}

/* Appends `more`, which came later. */
static void reports_append(Reports *reports, const Reports *more)
{
	if (!more->count)
		return;
	if (!reports->count) {
		reports->first = more->first;
		reports->since_us = more->since_us;
	} else if (reports_last(reports) == more->first) {
		reports->count--;
	}
	reports->count += more->count;
	reports->last_us = more->last_us;
}

void rdmad_port_history_expect_events(RdmadPortHistory *history, const char *id)
{
	g_hash_table_add(history->expecting, g_strdup(id));
}

static char *port_key(const char *id, guint port)
{
	return g_strdup_printf("%s/%u", id, port);
}

static PortNews *port_news(RdmadPortHistory *history, const char *id, guint port)
{
	char *key = port_key(id, port);
	PortNews *news = g_hash_table_lookup(history->ports, key);

	if (news) {
		g_free(key);
		return news;
	}
	news = g_new0(PortNews, 1);
	news->state = news->carrier = news->up = RDMAD_UNKNOWN;
	g_hash_table_insert(history->ports, key, news);
	return news;
}

void rdmad_port_history_event(RdmadPortHistory *history, const char *id, guint port,
			      gboolean active)
{
	const Reports one = { active, 1, rdmad_now_us(), rdmad_wall_us() };

	reports_append(&port_news(history, id, port)->later, &one);
}

void rdmad_port_history_begin_scan(RdmadPortHistory *history)
{
	GHashTableIter iter;
	gpointer value;

	g_hash_table_iter_init(&iter, history->ports);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		PortNews *news = value;

		reports_append(&news->reports, &news->later);
		news->later = (Reports){ 0 };
	}
}

void rdmad_port_history_end_scan(RdmadPortHistory *history)
{
	GHashTableIter iter;
	gpointer value;

	g_hash_table_remove_all(history->expecting);
	g_hash_table_iter_init(&iter, history->ports);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		PortNews *news = value;

		if (!news->seen && !news->skipped) {
			g_hash_table_iter_remove(&iter);
			continue;
		}
		if (news->seen)
			news->reports = (Reports){ 0 };
		news->seen = news->skipped = FALSE;
	}
}

/* ---- result of a scan ---- */

static gboolean is_active(const RdmadPort *port)
{
	return port->state == RDMAD_PORT_ACTIVE || port->state == RDMAD_PORT_ACTIVE_DEFER;
}

/* Returns the changes reported since the previous scan, without changes that scans have seen. */
static guint64 news_reported(PortNews *news)
{
	guint64 n = news->reports.count, known;

	if (!n)
		return 0;
	n -= news->state == news->reports.first;
	known = MIN(n, news->ahead);
	news->state = reports_last(&news->reports);
	news->ahead -= known;
	return n - known;
}

/* Returns the current state, from reports and from scans ahead of them.  It must be known. */
static gboolean news_active(const PortNews *news)
{
	return news->state ^ (int)(news->ahead % 2);
}

/* Returns 1 if the scan itself shows a change.  An unreadable state is not a change. */
static guint64 news_seen(PortNews *news, const RdmadPort *now)
{
	if (now->state == RDMAD_UNKNOWN)
		return 0;
	if (news->state == RDMAD_UNKNOWN)
		news->state = is_active(now);
	if (news_active(news) == is_active(now))
		return 0;
	news->ahead++;
	return 1;
}

static guint64 changes_counted(PortNews *news, const RdmadPort *old, const RdmadPort *now)
{
	guint64 n = news_reported(news);

	n += news_seen(news, now);
	if (n || old->state == RDMAD_UNKNOWN || now->state == RDMAD_UNKNOWN)
		return n;
	/* A change between inactive states, such as INIT to ARMED. */
	return old->state != now->state && is_active(old) == is_active(now);
}

/* Ignores IPoIB interfaces, whose carrier is independent of the port. */
static int carrier_of(const RdmadDevice *dev, const RdmadPort *port)
{
	const RdmadNetdev *netdev = NULL;

	if (port->link_layer == RDMAD_LINK_LAYER_ETHERNET && port->netdev)
		netdev = rdmad_device_netdev(dev, port->netdev);
	return netdev ? netdev->carrier_changes : RDMAD_UNKNOWN;
}

/* Returns the changes that the interface has counted beyond `n`.  State and carrier are not read
 * at the same time, so one of them may be one change ahead: an odd number means a change of the
 * state. */
static guint64 changes_of_carrier(PortNews *news, int carrier, const RdmadPort *now, guint64 n)
{
	const gboolean state_changed = news->carrier_active != is_active(now);
	guint64 counted = news->counted + n, all;

	news->carrier_ahead = 0;
	if (news->carrier < 0 || now->state == RDMAD_UNKNOWN)
		return 0;
	if (carrier <= news->carrier) {
		news->carrier_ahead = carrier == news->carrier && state_changed ? -1 : 0;
		return 0;
	}
	all = (guint64)(carrier - news->carrier);
	news->carrier_ahead = all % 2 != (guint64)state_changed;
	all -= (guint64)news->carrier_ahead;
	if (all <= counted)
		return 0;
	/* Counts pairs only, because the state is already correct. */
	n = (all - counted) & ~(guint64)1;
	news->ahead += n;
	return n;
}

/* Restarts the comparison of carrier and port from here. */
static void news_reset(PortNews *news, int carrier, const RdmadPort *port)
{
	if (news->state != RDMAD_UNKNOWN)
		news->state = news_active(news);
	news->ahead = news->counted = 0;
	news->carrier = RDMAD_UNKNOWN;
	if (port->state != RDMAD_UNKNOWN && carrier >= 0)
		news->carrier = carrier - news->carrier_ahead;
	news->carrier_active = is_active(port);
}

/* ---- flaps ---- */

static gboolean netdevs_are_same_use(const RdmadNetdev *a, const RdmadNetdev *b)
{
	if (!a || !b)
		return a == b;
	return a->ifindex == b->ifindex && a->up == b->up;
}

static const RdmadNetdev *netdev_of(const RdmadDevice *dev, const RdmadPort *port)
{
	return port->netdev ? rdmad_device_netdev(dev, port->netdev) : NULL;
}

gboolean rdmad_port_history_is_same_use(const RdmadDevice *before, const RdmadPort *old,
					const RdmadDevice *after, const RdmadPort *now)
{
	return netdevs_are_same_use(netdev_of(before, old), netdev_of(after, now));
}

void rdmad_port_history_holder_changed(RdmadPortHistory *history, const RdmadDevice *dev)
{
	for (guint i = 0; i < dev->n_ports; i++)
		port_news(history, dev->id, dev->ports[i].number)->fell = FALSE;
}

/* Returns how often the port came back in `n` changes, which alternate from its last known state.
 * The first time that it comes up in a use is no return. */
static guint64 flaps_counted(PortNews *news, const RdmadPort *now, guint64 n, gboolean same_use)
{
	const gboolean was_up = news->up == TRUE;
	guint64 flaps = was_up ? n / 2 : (n + 1) / 2 - (n && !news->fell);

	if (now->state == RDMAD_UNKNOWN)
		return 0;
	/* Between inactive states, such as INIT and ARMED. */
	if (!same_use || news->up == RDMAD_UNKNOWN || (n == 1 && was_up == is_active(now)))
		flaps = 0;
	else if (n > 0)
		news->fell = !is_active(now);
	news->fell = news->fell && same_use;
	news->up = is_active(now);
	return flaps;
}

static gint64 changed_at(const PortNews *news)
{
	return news->reports.count && !news->ahead ? news->reports.last_us : rdmad_wall_us();
}

/* Returns whether scans and reports can no longer be ahead of each other. */
static gboolean news_are_quiet(const PortNews *news, gboolean expecting)
{
	/* Uses the time of the reports, because the scan itself may take long. */
	const gint64 then_us = news->reports.count ? news->reports.since_us : rdmad_now_us();

	return !expecting || then_us - news->busy_us > LATE_US;
}

static void port_carry(const RdmadDevice *before, const RdmadPort *old, const RdmadDevice *after,
		       RdmadPort *now, PortNews *news, gboolean expecting)
{
	guint64 n;

	if (news_are_quiet(news, expecting))
		news_reset(news, carrier_of(before, now), old);
	n = changes_counted(news, old, now);
	n += changes_of_carrier(news, carrier_of(after, now), now, n);
	news->counted += n;
	if (n || news->reports.count)
		news->busy_us = rdmad_now_us();
	now->transitions = old->transitions + n;
	now->flaps =
		old->flaps + flaps_counted(news, now, n,
					   rdmad_port_history_is_same_use(before, old, after, now));
	now->changed_us = n ? changed_at(news) : old->changed_us;
	now->gid_changes = old->gid_changes + !rdmad_port_gids_equal(old, now);
}

/* Drops earlier reports, which belong to another device with this name. */
static void port_begin(PortNews *news, const RdmadPort *port)
{
	*news = (PortNews){
		.later = news->later,
		.state = RDMAD_UNKNOWN,
		.carrier = RDMAD_UNKNOWN,
		.up = RDMAD_UNKNOWN,
		.seen = TRUE,
	};
	if (port->state != RDMAD_UNKNOWN)
		news->state = news->up = is_active(port);
}

void rdmad_port_history_carry(RdmadPortHistory *history, const RdmadDevice *old, RdmadDevice *now)
{
	const gboolean expecting = g_hash_table_contains(history->expecting, now->id);

	for (guint i = 0; i < now->n_ports; i++) {
		RdmadPort *port = &now->ports[i];
		const RdmadPort *before = NULL;
		PortNews *news = port_news(history, now->id, port->number);

		if (old && old->index == now->index)
			before = rdmad_device_port(old, port->number);
		news->seen = TRUE;
		if (before)
			port_carry(old, before, now, port, news, expecting);
		else
			port_begin(news, port);
	}
}

void rdmad_port_history_skip(RdmadPortHistory *history, const RdmadDevice *dev)
{
	for (guint i = 0; i < dev->n_ports; i++)
		port_news(history, dev->id, dev->ports[i].number)->skipped = TRUE;
}
