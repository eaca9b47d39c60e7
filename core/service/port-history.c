/* SPDX-License-Identifier: Apache-2.0 */
#include "service/port-history.h"

#include <rdmad/clock.h>

#include "hardware/device.h"

/* Maximum delay of a kernel event after a scan has seen the change; after that the event was lost.
 * Events may come in another order (each is a work item of its own), even though states
 * alternate. */
#define LATE_US G_USEC_PER_SEC

struct RdmadPortHistory {
	GHashTable *ports; /* "id/number" -> PortNews */
	GHashTable *heard; /* set of ids, for the scan that ends next */
};

/* States that alternate, beginning with `first`. */
typedef struct {
	gboolean first;
	guint64 count;
	gint64 since_us; /* monotonic, of the first */
	gint64 last_us;	 /* wall clock */
} Told;

typedef struct {
	Told told;	  /* before the present scan, or the next one, began */
	Told later;	  /* since it began */
	int state;	  /* active or not, as last reported; RDMAD_UNKNOWN: not yet */
	guint64 ahead;	  /* changes seen by scans and not reported so far */
	gint64 busy_us;	  /* monotonic, the last report or change */
	gboolean seen;	  /* in this scan */
	gboolean skipped; /* by this scan */

	/* Carrier changes of the port's interface, since a quiet moment. */
	int carrier;		 /* then, or RDMAD_UNKNOWN */
	gboolean carrier_active; /* the port was, then */
	int carrier_ahead;	 /* of the state in the last scan: 1, 0 or -1 changes */
	guint64 counted;	 /* changes of the port since then */
} PortNews;

RdmadPortHistory *rdmad_port_history_new(void)
{
	RdmadPortHistory *history = g_new0(RdmadPortHistory, 1);

	history->ports = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	history->heard = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	return history;
}

void rdmad_port_history_free(RdmadPortHistory *history)
{
	g_hash_table_unref(history->ports);
	g_hash_table_unref(history->heard);
	g_free(history);
}

/* ---- events of the kernel ---- */

static gboolean told_last(const Told *told)
{
	return told->count % 2 ? told->first : !told->first;
}

/* `more` came after it. */
static void told_append(Told *told, const Told *more)
{
	if (!more->count)
		return;
	if (!told->count) {
		told->first = more->first;
		told->since_us = more->since_us;
	} else if (told_last(told) == more->first) {
		told->count--;
	}
	told->count += more->count;
	told->last_us = more->last_us;
}

void rdmad_port_history_hears(RdmadPortHistory *history, const char *id)
{
	g_hash_table_add(history->heard, g_strdup(id));
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
	news->state = news->carrier = RDMAD_UNKNOWN;
	g_hash_table_insert(history->ports, key, news);
	return news;
}

void rdmad_port_history_event(RdmadPortHistory *history, const char *id, guint port,
			      gboolean active)
{
	const Told one = { active, 1, rdmad_now_us(), rdmad_wall_us() };

	told_append(&port_news(history, id, port)->later, &one);
}

void rdmad_port_history_look_begins(RdmadPortHistory *history)
{
	GHashTableIter iter;
	gpointer value;

	g_hash_table_iter_init(&iter, history->ports);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		PortNews *news = value;

		told_append(&news->told, &news->later);
		news->later = (Told){ 0 };
	}
}

void rdmad_port_history_look_ends(RdmadPortHistory *history)
{
	GHashTableIter iter;
	gpointer value;

	g_hash_table_remove_all(history->heard);
	g_hash_table_iter_init(&iter, history->ports);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		PortNews *news = value;

		if (!news->seen && !news->skipped) {
			g_hash_table_iter_remove(&iter);
			continue;
		}
		if (news->seen)
			news->told = (Told){ 0 };
		news->seen = news->skipped = FALSE;
	}
}

/* ---- result of a scan ---- */

static gboolean is_active(const RdmadPort *port)
{
	return port->state == RDMAD_PORT_ACTIVE || port->state == RDMAD_PORT_ACTIVE_DEFER;
}

/* Reports since the previous scan, without those that scans have seen already. */
static guint64 news_told(PortNews *news)
{
	guint64 n = news->told.count, known;

	if (!n)
		return 0;
	n -= news->state == news->told.first;
	known = MIN(n, news->ahead);
	news->state = told_last(&news->told);
	news->ahead -= known;
	return n - known;
}

/* The state is known, from reports and from scans ahead of them. */
static gboolean news_active(const PortNews *news)
{
	return news->state ^ (int)(news->ahead % 2);
}

/* The scan's own finding; a state that could not be read is none. */
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

static guint64 changes_told(PortNews *news, const RdmadPort *old, const RdmadPort *now)
{
	guint64 n = news_told(news);

	n += news_seen(news, now);
	if (n || old->state == RDMAD_UNKNOWN || now->state == RDMAD_UNKNOWN)
		return n;
	/* For example from initialising to armed. */
	return old->state != now->state && is_active(old) == is_active(now);
}

/* An IPoIB interface has a carrier of its own. */
static int carrier_of(const RdmadDevice *dev, const RdmadPort *port)
{
	const RdmadNetdev *netdev = NULL;

	if (port->link_layer == RDMAD_LINK_LAYER_ETHERNET && port->netdev)
		netdev = rdmad_device_netdev(dev, port->netdev);
	return netdev ? netdev->carrier_changes : RDMAD_UNKNOWN;
}

/* Changes that the interface has counted beyond `n`.  State and carrier are read one after the
 * other, so that one of them may be a change ahead: an odd number changes the state as well. */
static guint64 changes_of_carrier(PortNews *news, int carrier, const RdmadPort *now, guint64 n)
{
	const gboolean turned = news->carrier_active != is_active(now);
	guint64 counted = news->counted + n, all;

	news->carrier_ahead = 0;
	if (news->carrier < 0 || now->state == RDMAD_UNKNOWN)
		return 0;
	if (carrier <= news->carrier) {
		news->carrier_ahead = carrier == news->carrier && turned ? -1 : 0;
		return 0;
	}
	all = (guint64)(carrier - news->carrier);
	news->carrier_ahead = all % 2 != (guint64)turned;
	all -= (guint64)news->carrier_ahead;
	if (all <= counted)
		return 0;
	/* In pairs: the state is right already. */
	n = (all - counted) & ~(guint64)1;
	news->ahead += n;
	return n;
}

/* From here on carrier and port are compared again. */
static void news_rest(PortNews *news, int carrier, const RdmadPort *port)
{
	if (news->state != RDMAD_UNKNOWN)
		news->state = news_active(news);
	news->ahead = news->counted = 0;
	news->carrier = RDMAD_UNKNOWN;
	if (port->state != RDMAD_UNKNOWN && carrier >= 0)
		news->carrier = carrier - news->carrier_ahead;
	news->carrier_active = is_active(port);
}

static gint64 changed_at(const PortNews *news)
{
	return news->told.count && !news->ahead ? news->told.last_us : rdmad_wall_us();
}

/* Neither a scan nor the kernel can be ahead or behind any more. */
static gboolean news_are_over(const PortNews *news, gboolean heard)
{
	/* A scan may take long itself: reports that came in time count as such. */
	const gint64 then_us = news->told.count ? news->told.since_us : rdmad_now_us();

	return !heard || then_us - news->busy_us > LATE_US;
}

static void port_carry(const RdmadDevice *before, const RdmadPort *old, const RdmadDevice *after,
		       RdmadPort *now, PortNews *news, gboolean heard)
{
	guint64 n;

	if (news_are_over(news, heard))
		news_rest(news, carrier_of(before, now), old);
	n = changes_told(news, old, now);
	n += changes_of_carrier(news, carrier_of(after, now), now, n);
	news->counted += n;
	if (n || news->told.count)
		news->busy_us = rdmad_now_us();
	now->transitions = old->transitions + n;
	now->changed_us = n ? changed_at(news) : old->changed_us;
	now->gid_changes = old->gid_changes + !rdmad_port_gids_equal(old, now);
}

/* Earlier reports belong to another device of that name. */
static void port_begin(PortNews *news, const RdmadPort *port)
{
	*news = (PortNews){
		.later = news->later,
		.state = RDMAD_UNKNOWN,
		.carrier = RDMAD_UNKNOWN,
		.seen = TRUE,
	};
	if (port->state != RDMAD_UNKNOWN)
		news->state = is_active(port);
}

void rdmad_port_history_carry(RdmadPortHistory *history, const RdmadDevice *old, RdmadDevice *now)
{
	const gboolean heard = g_hash_table_contains(history->heard, now->id);

	for (guint i = 0; i < now->n_ports; i++) {
		RdmadPort *port = &now->ports[i];
		const RdmadPort *before = NULL;
		PortNews *news = port_news(history, now->id, port->number);

		if (old && old->index == now->index)
			before = rdmad_device_port(old, port->number);
		news->seen = TRUE;
		if (before)
			port_carry(old, before, now, port, news, heard);
		else
			port_begin(news, port);
	}
}

void rdmad_port_history_skip(RdmadPortHistory *history, const RdmadDevice *dev)
{
	for (guint i = 0; i < dev->n_ports; i++)
		port_news(history, dev->id, dev->ports[i].number)->skipped = TRUE;
}
