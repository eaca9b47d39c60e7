/* SPDX-License-Identifier: Apache-2.0 */
#include "pool.h"

#include <stdlib.h>
#include <string.h>

#include "allocate/device-answer.h"
#include "slot.h"

struct Pool {
	ResourceSettings *settings;
	GPtrArray *devices;    /* of PoolDevice, in the order of their ids */
	GPtrArray *slots;      /* of Slot, by device and number */
	GHashTable *by_device; /* device id -> PoolDevice */
	GHashTable *by_id;     /* slot id -> Slot */
	DeviceAnswers *answers;
	gboolean cut;
	gboolean outdated; /* the slots must be listed again */
	guint slots_version;
};

static void pool_device_free(gpointer data)
{
	PoolDevice *device = data;

	if (device->dev)
		rdmad_device_unref(device->dev);
	rdmad_allocation_unref(device->rival);
	g_free(device->withheld);
	g_ptr_array_unref(device->held);
	g_ptr_array_unref(device->held_before);
	g_free(device->id);
	g_free(device->stem);
	g_free(device);
}

static void slot_free(gpointer data)
{
	Slot *slot = data;

	g_free(slot->id);
	g_free(slot);
}

Pool *pool_new(ResourceSettings *settings)
{
	Pool *pool = g_new0(Pool, 1);

	pool->settings = resource_settings_ref(settings);
	pool->devices = g_ptr_array_new_with_free_func(pool_device_free);
	pool->slots = g_ptr_array_new_with_free_func(slot_free);
	pool->by_device = g_hash_table_new(g_str_hash, g_str_equal);
	pool->by_id = g_hash_table_new(g_str_hash, g_str_equal);
	pool->answers = device_answers_new();
	return pool;
}

void pool_free(Pool *pool)
{
	device_answers_free(pool->answers);
	g_hash_table_unref(pool->by_id);
	g_hash_table_unref(pool->by_device);
	g_ptr_array_unref(pool->slots);
	g_ptr_array_unref(pool->devices);
	resource_settings_unref(pool->settings);
	g_free(pool);
}

void pool_configure(Pool *pool, ResourceSettings *settings)
{
	resource_settings_ref(settings);
	resource_settings_unref(pool->settings);
	pool->settings = settings;
	pool->outdated = TRUE;
	device_answers_clear(pool->answers);
}

ResourceSettings *pool_settings(const Pool *pool)
{
	return pool->settings;
}

guint pool_device_count(const Pool *pool)
{
	return pool->devices->len;
}

const PoolDevice *pool_device(const Pool *pool, guint index)
{
	return pool->devices->pdata[index];
}

const PoolDevice *pool_find_device(const Pool *pool, const char *id)
{
	return g_hash_table_lookup(pool->by_device, id);
}

PoolDevice *pool_device_at(Pool *pool, guint index)
{
	return pool->devices->pdata[index];
}

guint pool_slots_version(const Pool *pool)
{
	return pool->slots_version;
}

guint pool_slot_count(const Pool *pool)
{
	return pool->slots->len;
}

const Slot *pool_slot(const Pool *pool, guint index)
{
	return pool->slots->pdata[index];
}

gboolean pool_is_cut(const Pool *pool)
{
	return pool->cut;
}

DeviceAnswers *pool_answers(const Pool *pool)
{
	return pool->answers;
}

/* ---- devices ---- */

/* Returns the device of that ID.  A new one counts as absent, and as forgotten, until the update
 * sets it. */
static PoolDevice *device_get(Pool *pool, const char *id)
{
	PoolDevice *device = g_hash_table_lookup(pool->by_device, id);

	if (device)
		return device;
	device = g_new0(PoolDevice, 1);
	device->id = g_strdup(id);
	device->stem = slot_stem(id, NULL);
	device->numa_node = RDMAD_UNKNOWN;
	device->gone_us = G_MININT64 / 2;
	device->held = g_ptr_array_new_with_free_func(g_free);
	device->held_before = g_ptr_array_new_with_free_func(g_free);
	pool->outdated = TRUE;
	g_ptr_array_add(pool->devices, device);
	g_hash_table_insert(pool->by_device, device->id, device);
	return device;
}

static void device_enter(Pool *pool, const PoolMember *member)
{
	PoolDevice *device = device_get(pool, member->dev->id);
	g_autofree char *before = device->stem;

	device->stem = slot_stem(pool->settings->ids == IDS_NAME ? member->dev->name : device->id,
				 member->marked ? pool->settings->name : NULL);
	pool->outdated |= !g_str_equal(device->stem, before);
	device->dev = rdmad_device_ref(member->dev);
	device->rival = member->rival ? rdmad_allocation_ref(member->rival) : NULL;
	device->place = member->place;
	device->numa_node = member->dev->numa_node;
}

static int text_compare(gconstpointer a, gconstpointer b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Both arrays are sorted. */
static gboolean same_texts(const GPtrArray *a, const GPtrArray *b)
{
	for (guint i = 0; i < a->len && i < b->len; i++)
		if (!g_str_equal(a->pdata[i], b->pdata[i]))
			return FALSE;
	return a->len == b->len;
}

static void devices_settle_held(Pool *pool)
{
	for (guint i = 0; i < pool->devices->len; i++) {
		PoolDevice *device = pool->devices->pdata[i];

		g_ptr_array_sort(device->held, text_compare);
		pool->outdated |= !same_texts(device->held, device->held_before);
		g_ptr_array_set_size(device->held_before, 0);
	}
}

static void devices_enter(Pool *pool, const PoolView *view)
{
	for (guint i = 0; i < pool->devices->len; i++) {
		PoolDevice *device = pool->devices->pdata[i];
		GPtrArray *held;

		if (device->dev)
			device->gone_us = view->now_us;
		g_clear_pointer(&device->dev, rdmad_device_unref);
		g_clear_pointer(&device->rival, rdmad_allocation_unref);
		device->place = PLACE_HOST;
		g_assert(!device->held_before->len);
		held = device->held;
		device->held = device->held_before;
		device->held_before = held;
	}
	for (guint i = 0; i < view->n_members; i++)
		device_enter(pool, &view->members[i]);
	for (guint i = 0; i < view->n_held; i++)
		g_ptr_array_add(device_get(pool, view->held[i].device)->held,
				g_strdup(view->held[i].slot));
	devices_settle_held(pool);
}

static gboolean device_is_forgotten(const PoolDevice *device, const PoolView *view)
{
	return !device->dev && view->now_us - device->gone_us >= view->forget_us;
}

static int device_compare(gconstpointer a, gconstpointer b)
{
	const PoolDevice *const *x = a, *const *y = b;

	return rdmad_natural_compare((*x)->id, (*y)->id);
}

static void devices_update(Pool *pool, const PoolView *view)
{
	devices_enter(pool, view);
	for (guint i = pool->devices->len; i-- > 0;) {
		PoolDevice *device = pool->devices->pdata[i];

		if (!device_is_forgotten(device, view) || device->held->len)
			continue;
		pool->outdated = TRUE;
		g_hash_table_remove(pool->by_device, device->id);
		g_ptr_array_remove_index(pool->devices, i);
	}
	g_ptr_array_sort(pool->devices, device_compare);
}

/* ---- health ---- */

static const char *device_problem(const Pool *pool, const PoolDevice *device, const PoolView *view)
{
	HealthUse use = HEALTH_ALONE;

	if (!device->dev && view->is_present && view->is_present(device->id, view->data))
		return "it is no longer selected";
	/* Its ports are its holder's, or about to return. */
	if (device->place == PLACE_POD ||
	    (device->place == PLACE_INTERFACE_POD && !device->held->len))
		return NULL;
	/* Without uverbs there is nothing to give. */
	if (device->dev && pool->settings->ignore_health &&
	    rdmad_device_chardev(device->dev, RDMAD_CHARDEV_UVERBS))
		return NULL;
	if (device->rival)
		use = HEALTH_HELD;
	else if (pool->settings->mode != MODE_EXCLUSIVE)
		use = HEALTH_SHARED;
	else if (device->held->len)
		use = HEALTH_HELD;
	return health_problem(device->dev, &pool->settings->selector, use);
}

static gint64 sooner(gint64 a, gint64 b)
{
	return a && (!b || a < b) ? a : b;
}

static gint64 devices_update_health(Pool *pool, const PoolView *view)
{
	gint64 wait_us = 0;

	for (guint i = 0; i < pool->devices->len; i++) {
		PoolDevice *device = pool->devices->pdata[i];
		const gint64 recovery =
			health_update(&device->health, device_problem(pool, device, view),
				      view->now_us, view->health_delay_us);

		wait_us = sooner(recovery, wait_us);
		if (!device->dev && !device_is_forgotten(device, view))
			wait_us = sooner(device->gone_us + view->forget_us - view->now_us, wait_us);
	}
	return wait_us;
}

void pool_take_news(Pool *pool, void (*fn)(const PoolDevice *device, PoolNews news, gpointer data),
		    gpointer data)
{
	for (guint i = 0; i < pool->devices->len; i++) {
		PoolDevice *device = pool->devices->pdata[i];
		const gboolean is_withheld = device->withheld != NULL;

		if (device->reported_problem != device->health.problem) {
			device->reported_problem = device->health.problem;
			fn(device, POOL_NEWS_HEALTH, data);
		}
		if (device->reported_withheld != is_withheld) {
			device->reported_withheld = is_withheld;
			fn(device, POOL_NEWS_WITHHELD, data);
		}
	}
}

/* ---- slots ---- */

/* Returns the configured number of slots, of each device or of the whole pool. */
static guint configured_count(const ResourceSettings *settings)
{
	switch ((ResourceMode)settings->mode) {
	case MODE_EXCLUSIVE:
		return 1;
	case MODE_SHARED_MULTI:
		return (guint)settings->multi_count;
	case MODE_SHARED:
		break;
	}
	return (guint)settings->count;
}

static gboolean is_spread(const ResourceSettings *settings)
{
	return settings->mode == MODE_SHARED && settings->count_per == COUNT_PER_POOL;
}

static guint device_share(const Pool *pool, guint rank, guint n_sharing)
{
	const guint count = configured_count(pool->settings);

	if (is_spread(pool->settings))
		return count / n_sharing + (rank < count % n_sharing);
	return MIN(count, RESOURCE_SLOTS_MAX / n_sharing);
}

static void shares_update(Pool *pool, const PoolView *view)
{
	guint n_sharing = 0, rank = 0;

	for (guint i = 0; i < pool->devices->len; i++)
		n_sharing += !device_is_forgotten(pool->devices->pdata[i], view);
	for (guint i = 0; i < pool->devices->len; i++) {
		PoolDevice *device = pool->devices->pdata[i];
		const guint before = device->share;

		device->share = device_is_forgotten(device, view)
					? 0
					: device_share(pool, rank++, n_sharing);
		pool->outdated |= device->share != before;
	}
	pool->cut = !is_spread(pool->settings) && n_sharing &&
		    configured_count(pool->settings) > RESOURCE_SLOTS_MAX / n_sharing;
}

static void slot_add(Pool *pool, PoolDevice *device, char *id)
{
	Slot *slot = g_new0(Slot, 1);

	slot->id = id;
	slot->device = device;
	device->n_slots++;
	g_ptr_array_add(pool->slots, slot);
	g_hash_table_insert(pool->by_id, slot->id, slot);
}

static char *slot_id(const Pool *pool, const PoolDevice *device, guint number)
{
	if (pool->settings->mode == MODE_EXCLUSIVE)
		return g_strdup(device->stem);
	if (pool->settings->ids == IDS_NAME)
		return slot_by_name(device->stem, number);
	return slot_shared(device->stem, number, slot_digits(configured_count(pool->settings)));
}

static gboolean has_name(const PoolDevice *device, const char *stem)
{
	return g_str_equal(device->id, stem) ||
	       (device->dev && g_str_equal(device->dev->name, stem));
}

/* Finds a slot by the ID that another plugin would give it. */
static const Slot *find_foreign(const Pool *pool, const char *slot)
{
	g_autofree char *stem = NULL;
	guint number;

	if (!slot_parse_foreign(slot, &stem, &number))
		return NULL;
	for (guint i = 0; i < pool->devices->len; i++) {
		const PoolDevice *device = pool->devices->pdata[i];
		g_autofree char *id = NULL;

		if (!has_name(device, stem))
			continue;
		id = slot_id(pool, device, number);
		return g_hash_table_lookup(pool->by_id, id);
	}
	return NULL;
}

const Slot *pool_find(const Pool *pool, const char *slot)
{
	const Slot *found = g_hash_table_lookup(pool->by_id, slot);

	return found ? found : find_foreign(pool, slot);
}

static gboolean is_held(const PoolDevice *device, const char *id)
{
	const GPtrArray *held = device->held;

	return held->len && bsearch(&id, held->pdata, held->len, sizeof(char *), text_compare);
}

/* Lists the lowest numbers; held slots with other numbers or of another form replace some of
 * them. */
static void device_list_slots(Pool *pool, PoolDevice *device)
{
	guint left = device->share > device->held->len ? device->share - device->held->len : 0;

	device->n_slots = 0;
	device->first_slot = pool->slots->len;
	for (guint number = 0; left && number < device->share; number++) {
		g_autofree char *id = slot_id(pool, device, number);

		/* A device that took over the name of another may find its slot IDs held there. */
		if (g_hash_table_contains(pool->by_id, id))
			continue;
		left -= !is_held(device, id);
		slot_add(pool, device, g_steal_pointer(&id));
	}
	for (guint i = 0; i < device->held->len; i++)
		if (!g_hash_table_contains(pool->by_id, device->held->pdata[i]))
			slot_add(pool, device, g_strdup(device->held->pdata[i]));
}

static void list_slots(Pool *pool)
{
	pool->outdated = FALSE;
	pool->slots_version++;
	g_hash_table_remove_all(pool->by_id);
	g_ptr_array_set_size(pool->slots, 0);
	for (guint i = 0; i < pool->devices->len; i++)
		device_list_slots(pool, pool->devices->pdata[i]);
}

/* ---- withheld slots ---- */

gboolean pool_device_withholds(const PoolDevice *device)
{
	return device->rival || device->place != PLACE_HOST;
}

static gboolean slot_is_withheld(const Slot *slot)
{
	return pool_device_withholds(slot->device) && !is_held(slot->device, slot->id);
}

static char *rival_text(const RdmadAllocation *rival)
{
	if (!rival->pod_name)
		return g_strdup_printf("held by a pod that kubelet has not named, as %s",
				       rival->resource);
	return g_strdup_printf("held by %s/%s as %s", rival->pod_namespace, rival->pod_name,
			       rival->resource);
}

static char *withheld_text(const PoolDevice *device)
{
	if (device->rival)
		return rival_text(device->rival);
	return g_strdup(device->place == PLACE_POD
				? "it has not returned from the pod of its last holder"
				: "its interface has not returned from the pod of its last holder");
}

static void devices_update_withheld(Pool *pool)
{
	for (guint i = 0; i < pool->devices->len; i++) {
		PoolDevice *device = pool->devices->pdata[i];

		device->n_withheld = 0;
		for (guint n = 0; pool_device_withholds(device) && n < device->n_slots; n++)
			device->n_withheld +=
				slot_is_withheld(pool->slots->pdata[device->first_slot + n]);
		g_clear_pointer(&device->withheld, g_free);
		if (device->n_withheld)
			device->withheld = withheld_text(device);
	}
}

gboolean pool_slot_is_healthy(const Slot *slot)
{
	return !slot->device->health.problem && !slot_is_withheld(slot);
}

const char *pool_device_problem(const PoolDevice *device)
{
	return device->health.problem ?: device->withheld;
}

guint pool_healthy_count(const Pool *pool)
{
	guint n = 0;

	for (guint i = 0; i < pool->devices->len; i++) {
		const PoolDevice *device = pool->devices->pdata[i];

		n += device->health.problem ? 0 : device->n_slots - device->n_withheld;
	}
	return n;
}

/* A pool may have thousands of slots, but most updates change only the health of a device. */
gint64 pool_update(Pool *pool, const PoolView *view)
{
	gint64 wait_us;

	device_answers_clear(pool->answers);
	devices_update(pool, view);
	wait_us = devices_update_health(pool, view);
	shares_update(pool, view);
	if (pool->outdated || !pool->slots_version)
		list_slots(pool);
	devices_update_withheld(pool);
	return wait_us;
}
