/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counters of a reading, which are most of a scrape
 *
 * Each kernel name is looked up once for a rendering and kept as a slot.  Devices of one kind have
 * their counters in the same order, so the slot that followed last time is tried first.
 *
 * Several names may map to one series, because drivers of one family differ; the first of a place
 * wins.
 */
#include "render/parts.h"

#include <string.h>

#include "names/names.h"

/* The series of a family, the destination of values. */
typedef struct {
	Family *family;
	guint label_value;
	guint64 place; /* the last place with a value */
} Series;

typedef struct {
	Series *series; /* NULL: not exposed */
	guint times, decimals;
	const char *label; /* additional label, with the series' value; or NULL */
} Target;

typedef struct Slot Slot;
struct Slot {
	RdmadCounterGroup group;
	const char *raw; /* borrowed from a reading, which outlives the rendering */
	Target native, compat;
	guint64 full; /* maximum of a saturating counter, or 0 */
	Slot *next;   /* the slot that followed last time */
};

struct RenderSlots {
	GHashTable *slots;  /* set of Slot */
	GHashTable *series; /* set of Series */
	Slot *last;
	guint64 place;
};

/* ---- slots ---- */

static guint slot_hash(gconstpointer data)
{
	const Slot *slot = data;

	return g_str_hash(slot->raw) + slot->group;
}

static gboolean slot_is(const Slot *slot, RdmadCounterGroup group, const char *raw)
{
	return slot->group == group && strcmp(slot->raw, raw) == 0;
}

static gboolean slot_equal(gconstpointer a, gconstpointer b)
{
	const Slot *other = b;

	return slot_is(a, other->group, other->raw);
}

static guint series_hash(gconstpointer data)
{
	const Series *series = data;

	return g_direct_hash(series->family) + series->label_value;
}

static gboolean series_equal(gconstpointer a, gconstpointer b)
{
	const Series *one = a, *other = b;

	return one->family == other->family && one->label_value == other->label_value;
}

RenderSlots *render_slots_new(void)
{
	RenderSlots *slots = g_new0(RenderSlots, 1);

	slots->slots = g_hash_table_new_full(slot_hash, slot_equal, g_free, NULL);
	slots->series = g_hash_table_new_full(series_hash, series_equal, g_free, NULL);
	return slots;
}

void render_slots_free(RenderSlots *slots)
{
	g_hash_table_unref(slots->slots);
	g_hash_table_unref(slots->series);
	g_free(slots);
}

static Series *slots_series(RenderSlots *slots, Family *family, guint label_value)
{
	const Series key = { family, label_value };
	Series *series = g_hash_table_lookup(slots->series, &key);

	if (series)
		return series;
	series = g_memdup2(&key, sizeof(key));
	g_hash_table_add(slots->series, series);
	return series;
}

static void target_set(Render *render, Target *target, const CounterName *name, const char *owner)
{
	const FamilyClass klass = { name->family, name->type, name->unit, name->help };
	Family *family = family_set_add(render->set, &klass, name->known ? NULL : owner);

	if (!family)
		return;
	target->series = slots_series(render->slots, family, name->label_value);
	target->times = name->times;
	target->decimals = name->decimals;
	target->label = name->label;
}

static guint64 full_value(const RdmadCounter *counter)
{
	gboolean saturates;
	const guint bits = names_counter_width(counter, NULL, &saturates);

	return saturates ? ((guint64)1 << bits) - 1 : 0;
}

static Slot *slot_make(Render *render, const RdmadCounter *counter)
{
	const char group[] = { (char)('0' + counter->group), ':', '\0' };
	g_autofree char *owner = g_strconcat(group, counter->name, NULL);
	g_autoptr(CounterName) native = render->native ? names_native(counter) : NULL;
	g_autoptr(CounterName) compat = render->compat ? names_compat(counter) : NULL;
	Slot *slot = g_new0(Slot, 1);

	slot->group = counter->group;
	slot->raw = counter->name;
	slot->full = full_value(counter);
	if (native)
		target_set(render, &slot->native, native, owner);
	if (compat)
		target_set(render, &slot->compat, compat, owner);
	g_hash_table_add(render->slots->slots, slot);
	return slot;
}

static Slot *slot_find(Render *render, const RdmadCounter *counter)
{
	RenderSlots *slots = render->slots;
	const Slot key = { .group = counter->group, .raw = counter->name };
	Slot *slot = slots->last ? slots->last->next : NULL;

	if (!slot || !slot_is(slot, counter->group, counter->name)) {
		slot = g_hash_table_lookup(slots->slots, &key);
		if (!slot)
			slot = slot_make(render, counter);
		if (slots->last)
			slots->last->next = slot;
	}
	slots->last = slot;
	return slot;
}

/* ---- places ---- */

static gboolean is_of_netdev(RdmadCounterGroup group)
{
	return group > RDMAD_COUNTER_DEVICE;
}

static gboolean same_place(const RdmadCounter *a, const RdmadCounter *b)
{
	return a->group == b->group && a->port == b->port && !g_strcmp0(a->netdev, b->netdev);
}

static void labels_place(Labels *labels, const RdmadCounter *counter)
{
	if (is_of_netdev(counter->group))
		labels_add(labels, "netdev", counter->netdev);
	else if (counter->group != RDMAD_COUNTER_DEVICE)
		labels_add_number(labels, "port", counter->port);
}

/* ---- values ---- */

static void target_put(Render *render, const Target *target, guint64 value)
{
	Labels *labels = &render->labels;
	const gsize mark = labels_mark(labels);
	Series *series = target->series;

	if (!series || series->place == render->slots->place)
		return;
	series->place = render->slots->place;
	if (target->label)
		labels_add_number(labels, target->label, series->label_value);
	if (target->decimals)
		family_put_scaled(series->family, labels, value, target->decimals);
	else
		family_put(series->family, labels, value * target->times);
	labels_back(labels, mark);
}

static const char *group_directory(RdmadCounterGroup group)
{
	switch (group) {
	case RDMAD_COUNTER_PORT:
		return "counters";
	case RDMAD_COUNTER_HW:
	case RDMAD_COUNTER_DEVICE:
		return "hw_counters";
	case RDMAD_COUNTER_LINK:
		return "link";
	case RDMAD_COUNTER_PAUSE:
		return "pause";
	case RDMAD_COUNTER_FEC:
		return "fec";
	case RDMAD_COUNTER_ETHTOOL:
		break;
	}
	return "ethtool";
}

/* Returns the name for people: "symbol_error", "enp1s0/rx_prio3_pause"; "hw_counters/..." means
 * all of them. */
static char *counter_title(const RdmadCounter *counter)
{
	const char *netdev = is_of_netdev(counter->group) ? counter->netdev : NULL;
	g_autofree char *all =
		counter->name ? NULL : g_strconcat(group_directory(counter->group), "/...", NULL);

	return g_strconcat(netdev ? netdev : "", netdev ? "/" : "", all ? all : counter->name,
			   NULL);
}

/* `mark`: the end of the labels of the device. */
static void counter_put_problem(Render *render, const RdmadCounter *counter, gsize mark,
				RenderFamily family)
{
	g_autofree char *title = counter_title(counter);
	g_auto(Labels) labels = LABELS_INIT;

	text_append(&labels.text, render->labels.text.start, mark);
	if (counter->group == RDMAD_COUNTER_PORT || counter->group == RDMAD_COUNTER_HW)
		labels_add_number(&labels, "port", counter->port);
	else
		labels_add(&labels, "port", "");
	labels_add(&labels, "counter", title);
	if (counter->errnum) {
		const char *error = strerrorname_np(counter->errnum);

		labels_add(&labels, "error", error ? error : "unknown");
	}
	family_put(render->families[family], &labels, 1);
}

static void counter_put(Render *render, const RdmadCounter *counter, gsize mark)
{
	const Slot *slot = counter->name ? slot_find(render, counter) : NULL;

	if (counter->errnum) {
		if (render->native)
			counter_put_problem(render, counter, mark, RENDER_COUNTER_UNREADABLE);
		return;
	}
	if (!slot)
		return;
	target_put(render, &slot->native, counter->value);
	target_put(render, &slot->compat, counter->value);
	/* A larger value is that of a driver whose counter is wider. */
	if (slot->full && counter->value == slot->full && render->native)
		counter_put_problem(render, counter, mark, RENDER_COUNTER_SATURATED);
}

void render_counters(Render *render, const RdmadReading *reading)
{
	const gsize mark = labels_mark(&render->labels);

	render->slots->last = NULL;
	for (guint i = 0; i < reading->n_counters; i++) {
		const RdmadCounter *counter = &reading->counters[i];

		if (i == 0 || !same_place(counter, counter - 1)) {
			render->slots->place++;
			labels_back(&render->labels, mark);
			labels_place(&render->labels, counter);
		}
		counter_put(render, counter, mark);
	}
	labels_back(&render->labels, mark);
}
