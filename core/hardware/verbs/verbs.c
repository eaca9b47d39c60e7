/* SPDX-License-Identifier: Apache-2.0 */
/* A context is open while RDMA netlink lists its device and the device has a uverbs file, because
 * both end early in a removal.  It must be closed soon: for drivers that cannot revoke a context
 * (rxe, siw), the kernel waits for its holder. */
#define RDMAD_LOG_TOPIC "verbs"

#include "hardware/verbs/verbs.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <rdmad/device.h>
#include <rdmad/inventory.h>
#include <rdmad/log.h>
#include <rdmad/loop.h>
#include <rdmad/work.h>

#include "hardware/verbs/open.h"

#define EVENTS_PER_TURN	 64u
#define OPEN_TRIES	 3u /* limit for one device; each attempt follows a scan */
#define OPEN_DEADLINE_MS 30000u
#define OPEN_AGAIN_MS	 60000u /* pause after an error that may pass */

typedef struct {
	RdmadVerbs *verbs;
	char *id;	      /* key of the table */
	RdmadVerbsOpen *open; /* neither context nor problem while the job runs */
	RdmadEvent *io;
	guint tries;
	gboolean opening; /* by the running job */
	/* A fatal event was received; reported if the next scan still finds the device. */
	gboolean fatal;
	gboolean seen; /* found by the current scan */
} Follower;

struct RdmadVerbs {
	RdmadLoop *loop;
	RdmadWorkers *workers;
	RdmadVerbsOps ops;
	gpointer data;
	GHashTable *followers; /* stable id -> Follower */
	RdmadJob *job;	       /* the running job that opens devices */
	RdmadEvent *again;     /* timer: another attempt after an error that may pass */
	gboolean warned;       /* the warning was logged */
};

/* ---- closing: on a worker, because it may block ---- */

static const RdmadJobClass close_class = {
	.name = "verbs-close",
	.free_input = (GDestroyNotify)rdmad_verbs_open_unref,
};

static void verbs_close(RdmadVerbs *verbs, RdmadVerbsOpen *open)
{
	rdmad_work_submit(verbs->workers, NULL, &close_class, open, 0, NULL, NULL);
}

static void follower_free(gpointer data)
{
	Follower *follower = data;

	rdmad_event_free(follower->io);
	verbs_close(follower->verbs, follower->open);
	g_free(follower->id);
	g_free(follower);
}

/* ---- events ---- */

static void follower_event(Follower *follower, const struct ibv_async_event *event)
{
	const RdmadVerbs *verbs = follower->verbs;
	const gboolean active = event->event_type == IBV_EVENT_PORT_ACTIVE;

	rdmad_debug("%s: %s", follower->open->name, ibv_event_type_str(event->event_type));
	if (event->event_type == IBV_EVENT_DEVICE_FATAL)
		follower->fatal = TRUE;
	else if (active || event->event_type == IBV_EVENT_PORT_ERR)
		verbs->ops.port(follower->id, (guint)event->element.port_num, active, verbs->data);
}

static void async_ready(int fd, RdmadIo ready, gpointer data)
{
	Follower *follower = data;
	struct ibv_async_event event;
	gboolean stays;
	guint n = 0;

	while (n < EVENTS_PER_TURN && ibv_get_async_event(follower->open->context, &event) == 0) {
		follower_event(follower, &event);
		ibv_ack_async_event(&event);
		n++;
	}
	/* The kernel has revoked the context: the descriptor would stay readable forever. */
	if (n == 0 && errno != EAGAIN && errno != EINTR)
		g_clear_pointer(&follower->io, rdmad_event_free);
	/* Both events also announce a removal. */
	stays = follower->io && !follower->fatal;
	follower->verbs->ops.hint(stays ? follower->id : NULL, follower->verbs->data);
}

/* ---- opening ---- */

static gpointer open_run(gpointer input, const RdmadJob *job, GError **error)
{
	rdmad_verbs_open_all(input, job);
	return g_ptr_array_ref(input);
}

static void verbs_warn(RdmadVerbs *verbs, const RdmadVerbsOpen *open)
{
	if (!open->problem || verbs->warned)
		return;
	verbs->warned = TRUE;
	rdmad_notice("%s: no asynchronous events: %s; it is served from netlink and sysfs alone",
		     open->name, open->problem);
}

/* libibverbs finds a device by its name.  An open device stays open when it is renamed. */
static gboolean is_for(const RdmadVerbsOpen *open, int index, const char *name)
{
	return open->index == index && (open->context || g_str_equal(open->name, name));
}

/* Returns FALSE if the device was removed or renamed meanwhile, or its events cannot be watched. */
static gboolean verbs_adopt(RdmadVerbs *verbs, RdmadVerbsOpen *opened)
{
	Follower *follower = g_hash_table_lookup(verbs->followers, opened->id);
	g_autoptr(GError) error = NULL;

	if (!follower || !follower->opening ||
	    !is_for(opened, follower->open->index, follower->open->name))
		return FALSE;
	follower->opening = FALSE;
	if (opened->context)
		follower->io = rdmad_loop_add_io(verbs->loop, NULL, opened->context->async_fd,
						 RDMAD_IO_READ, async_ready, follower, &error);
	if (error) {
		rdmad_warn("%s: %s", opened->name, error->message);
		g_free(follower->open->problem);
		follower->open->problem = g_strdup(error->message);
		follower->open->may_pass = TRUE;
		return FALSE;
	}
	rdmad_verbs_open_unref(follower->open);
	follower->open = opened;
	verbs_warn(verbs, opened);
	return TRUE;
}

/* Ends the attempt to open the devices of the job. */
static void verbs_give_up(RdmadVerbs *verbs, const char *why, gboolean may_pass)
{
	GHashTableIter iter;
	gpointer value;

	g_hash_table_iter_init(&iter, verbs->followers);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		Follower *follower = value;

		if (!follower->opening)
			continue;
		follower->opening = FALSE;
		follower->tries = OPEN_TRIES;
		g_free(follower->open->problem);
		follower->open->problem = g_strdup(why);
		follower->open->may_pass = may_pass;
	}
	if (may_pass)
		rdmad_event_arm(verbs->again, OPEN_AGAIN_MS);
}

static gboolean follower_may_open(gpointer id, gpointer value, gpointer data)
{
	const Follower *follower = value;

	return follower->open->may_pass;
}

static void open_done(gpointer result, const GError *error, gpointer data)
{
	RdmadVerbs *verbs = data;
	g_autoptr(GPtrArray) opened = result;

	verbs->job = NULL;
	/* A device hangs in its driver with one worker: another attempt would occupy another
	 * one. */
	if (error) {
		rdmad_warn("opening RDMA devices: %s", error->message);
		verbs_give_up(verbs, error->message, FALSE);
		return;
	}
	while (opened->len) {
		RdmadVerbsOpen *open = g_ptr_array_steal_index_fast(opened, opened->len - 1);

		if (!verbs_adopt(verbs, open))
			verbs_close(verbs, open);
	}
	if (g_hash_table_find(verbs->followers, follower_may_open, NULL))
		rdmad_event_arm(verbs->again, OPEN_AGAIN_MS);
	/* Events between the scan and the opening were missed. */
	verbs->ops.hint(NULL, verbs->data);
}

static const RdmadJobClass open_class = {
	.name = "verbs-open",
	.run = open_run,
	.done = open_done,
	.free_input = (GDestroyNotify)g_ptr_array_unref,
	.free_result = (GDestroyNotify)g_ptr_array_unref,
};

static gboolean follower_wants_open(const Follower *follower)
{
	return !follower->open->context && follower->tries < OPEN_TRIES;
}

static void verbs_open(RdmadVerbs *verbs)
{
	g_autoptr(GPtrArray) wanted =
		g_ptr_array_new_with_free_func((GDestroyNotify)rdmad_verbs_open_unref);
	g_autoptr(GError) error = NULL;
	GHashTableIter iter;
	gpointer value;

	if (verbs->job)
		return;
	g_hash_table_iter_init(&iter, verbs->followers);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		Follower *follower = value;
		const RdmadVerbsOpen *open = follower->open;

		if (!follower_wants_open(follower))
			continue;
		follower->tries++;
		follower->opening = TRUE;
		g_ptr_array_add(wanted, rdmad_verbs_open_new(open->id, open->name, open->driver,
							     open->index));
	}
	if (wanted->len == 0)
		return;
	verbs->job = rdmad_work_submit(verbs->workers, NULL, &open_class, g_steal_pointer(&wanted),
				       OPEN_DEADLINE_MS, verbs, &error);
	if (!verbs->job) {
		rdmad_warn("opening RDMA devices: %s", error->message);
		verbs_give_up(verbs, error->message, TRUE);
	}
}

static void open_again(gpointer data)
{
	RdmadVerbs *verbs = data;
	GHashTableIter iter;
	gpointer value;

	g_hash_table_iter_init(&iter, verbs->followers);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		Follower *follower = value;

		if (follower->open->may_pass)
			follower->tries = MIN(follower->tries, OPEN_TRIES - 1);
	}
	verbs_open(verbs);
}

/* ---- following the inventory ---- */

static gboolean device_can_open(const RdmadDevice *dev)
{
	return dev->index != RDMAD_UNKNOWN && rdmad_device_chardev(dev, RDMAD_CHARDEV_UVERBS);
}

static void verbs_follow_device(RdmadVerbs *verbs, const RdmadDevice *dev)
{
	Follower *follower = g_hash_table_lookup(verbs->followers, dev->id);

	if (!device_can_open(dev))
		return;
	if (!follower || !is_for(follower->open, dev->index, dev->name)) {
		follower = g_new0(Follower, 1);
		follower->verbs = verbs;
		follower->id = g_strdup(dev->id);
		follower->open = rdmad_verbs_open_new(dev->id, dev->name, dev->driver, dev->index);
		g_hash_table_replace(verbs->followers, follower->id, follower);
	}
	follower->seen = TRUE;
	/* A removal is announced as fatal too, but a removed device is not found any more. */
	if (follower->fatal)
		verbs->ops.fatal(dev->id, verbs->data);
	follower->fatal = FALSE;
}

static gboolean follower_has_left(gpointer id, gpointer value, gpointer data)
{
	Follower *follower = value;
	const gboolean left = !follower->seen;

	follower->seen = FALSE;
	return left;
}

void rdmad_verbs_follow(RdmadVerbs *verbs, RdmadInventory *inventory)
{
	for (guint i = 0; i < rdmad_inventory_count(inventory); i++)
		verbs_follow_device(verbs, rdmad_inventory_nth(inventory, i));
	g_hash_table_foreach_remove(verbs->followers, follower_has_left, NULL);
	verbs_open(verbs);
}

const char *rdmad_verbs_problem(const RdmadVerbs *verbs, const char *device_id)
{
	const Follower *follower = g_hash_table_lookup(verbs->followers, device_id);

	if (!follower)
		return "it has no uverbs node";
	if (follower->open->context)
		return follower->io ? NULL : "the kernel revoked its context";
	return follower->open->problem ? follower->open->problem : "it is being opened";
}

GPtrArray *rdmad_verbs_open_devices(const RdmadVerbs *verbs)
{
	GPtrArray *devices = g_ptr_array_new_with_free_func((GDestroyNotify)rdmad_verbs_open_unref);
	GHashTableIter iter;
	gpointer value;

	g_hash_table_iter_init(&iter, verbs->followers);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		const Follower *follower = value;

		/* A context without events was revoked. */
		if (follower->open->context && follower->io && follower->open->node)
			g_ptr_array_add(devices, rdmad_verbs_open_ref(follower->open));
	}
	return devices;
}

int rdmad_verbs_gids_errnum(const RdmadVerbs *verbs, const char *device_id)
{
	const Follower *follower = g_hash_table_lookup(verbs->followers, device_id);

	return follower ? g_atomic_int_get(&follower->open->gids_errnum) : 0;
}

const RdmadVerbsLimits *rdmad_verbs_limits(const RdmadVerbs *verbs, const char *device_id)
{
	const Follower *follower = g_hash_table_lookup(verbs->followers, device_id);

	return follower ? follower->open->limits : NULL;
}

const char *rdmad_verbs_limits_problem(const RdmadVerbs *verbs, const char *device_id)
{
	const Follower *follower = g_hash_table_lookup(verbs->followers, device_id);

	return follower ? follower->open->limits_problem : NULL;
}

RdmadVerbs *rdmad_verbs_new(RdmadLoop *loop, RdmadWorkers *workers, const RdmadVerbsOps *ops,
			    gpointer data)
{
	RdmadVerbs *verbs = g_new0(RdmadVerbs, 1);

	verbs->loop = loop;
	verbs->workers = workers;
	verbs->ops = *ops;
	verbs->data = data;
	verbs->followers = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, follower_free);
	verbs->again = rdmad_loop_add_timer(loop, NULL, open_again, verbs);
	return verbs;
}

void rdmad_verbs_free(RdmadVerbs *verbs)
{
	if (!verbs)
		return;
	rdmad_job_cancel(verbs->job);
	rdmad_event_free(verbs->again);
	g_hash_table_unref(verbs->followers);
	g_free(verbs);
}
