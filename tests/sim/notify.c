/* SPDX-License-Identifier: Apache-2.0 */
#include "notify.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>

#include "events.h"

#define KINDS (IN_ALL_EVENTS | IN_IGNORED | IN_ISDIR)

typedef struct {
	int fd, last_descriptor;
	GSList *watches;
	GQueue events; /* of struct inotify_event, followed by its name */
} Notify;

typedef struct {
	Notify *notify;
	TreeFile *file; /* NULL: it ended, and nothing told of it */
	int descriptor;
	guint32 mask;
} Watch;

static GSList *all; /* of Notify */

static Notify *notify_of(int fd)
{
	for (GSList *l = all; l; l = l->next)
		if (((Notify *)l->data)->fd == fd)
			return l->data;
	return NULL;
}

int notify_new(int flags)
{
	Notify *notify;
	const int fd = eventfd(0, (flags & IN_CLOEXEC ? EFD_CLOEXEC : 0) | EFD_NONBLOCK);

	if (fd < 0)
		return -1;
	notify = g_new0(Notify, 1);
	notify->fd = fd;
	g_queue_init(&notify->events);
	all = g_slist_prepend(all, notify);
	return fd;
}

gboolean notify_is(int fd)
{
	return all && notify_of(fd);
}

static void watch_free(Watch *watch)
{
	if (watch->file)
		watch->file->watches = g_slist_remove(watch->file->watches, watch);
	watch->notify->watches = g_slist_remove(watch->notify->watches, watch);
	g_free(watch);
}

void notify_close(int fd)
{
	Notify *notify = notify_of(fd);

	while (notify->watches)
		watch_free(notify->watches->data);
	g_queue_clear_full(&notify->events, g_free);
	all = g_slist_remove(all, notify);
	g_free(notify);
}

/* ---- events ---- */

static gboolean event_equals(const struct inotify_event *a, const struct inotify_event *b)
{
	return a && a->wd == b->wd && a->mask == b->mask && a->len == b->len &&
	       !memcmp(a->name, b->name, a->len);
}

static void event_add(const Watch *watch, guint32 mask, const char *name)
{
	const gsize unit = sizeof(struct inotify_event);
	const gsize room = name ? (strlen(name) + unit) / unit * unit : 0;
	struct inotify_event *event = g_malloc0(unit + room);
	GQueue *events = &watch->notify->events;

	event->wd = watch->descriptor;
	event->mask = mask & KINDS;
	event->len = (guint32)room;
	if (name)
		g_strlcpy(event->name, name, room);
	if (event_equals(g_queue_peek_tail(events), event)) {
		g_free(event);
		return;
	}
	if (!events->length) {
		event_tell(watch->notify->fd);
	}
	g_queue_push_tail(events, event);
}

static gboolean kind_tells(TreeKind kind, guint32 event)
{
	switch (kind) {
	case TREE_DISK:
		return TRUE;
	case TREE_CGROUP:
		return event & (IN_MODIFY | IN_ISDIR);
	case TREE_KERNEL:
		break;
	}
	return FALSE;
}

static void watches_tell(const TreeFile *file, guint32 event, const char *name)
{
	for (const GSList *l = file->watches; l; l = l->next) {
		const Watch *watch = l->data;

		if (watch->mask & event && kind_tells(file->kind, event))
			event_add(watch, event, name);
	}
}

void notify_name(const TreeEntry *entry, guint32 event)
{
	if (entry->parent && entry->parent->file->watches)
		watches_tell(entry->parent->file,
			     event | (S_ISDIR(entry->file->mode) ? IN_ISDIR : 0), entry->name);
}

void notify_file(const TreeFile *file, guint32 event)
{
	watches_tell(file, event, NULL);
}

static void watch_end(Watch *watch)
{
	event_add(watch, IN_IGNORED, NULL);
	watch_free(watch);
}

void notify_file_ended(TreeFile *file)
{
	watches_tell(file, IN_DELETE_SELF, NULL);
	while (file->watches && kind_tells(file->kind, IN_DELETE_SELF))
		watch_end(file->watches->data);
	for (const GSList *l = file->watches; l; l = l->next)
		((Watch *)l->data)->file = NULL;
	g_clear_pointer(&file->watches, g_slist_free);
}

/* ---- calls ---- */

static Watch *watch_of(const Notify *notify, const TreeFile *file)
{
	for (const GSList *l = file->watches; l; l = l->next)
		if (((const Watch *)l->data)->notify == notify)
			return l->data;
	return NULL;
}

int notify_add(int fd, TreeEntry *entry, guint32 mask)
{
	Notify *notify = notify_of(fd);
	Watch *watch = watch_of(notify, entry->file);

	if (mask & IN_ONLYDIR && !S_ISDIR(entry->file->mode)) {
		errno = ENOTDIR;
		return -1;
	}
	if (!watch) {
		watch = g_new0(Watch, 1);
		watch->notify = notify;
		watch->file = entry->file;
		watch->descriptor = ++notify->last_descriptor;
		notify->watches = g_slist_prepend(notify->watches, watch);
		entry->file->watches = g_slist_prepend(entry->file->watches, watch);
	}
	watch->mask = mask & IN_ALL_EVENTS;
	return watch->descriptor;
}

int notify_remove(int fd, int descriptor)
{
	Notify *notify = notify_of(fd);

	for (GSList *l = notify->watches; l; l = l->next)
		if (((Watch *)l->data)->descriptor == descriptor) {
			watch_end(l->data);
			return 0;
		}
	errno = EINVAL;
	return -1;
}

gssize notify_read(int fd, void *bytes, gsize size)
{
	Notify *notify = notify_of(fd);
	const struct inotify_event *next = g_queue_peek_head(&notify->events);
	gsize n = 0;

	if (!next || sizeof(*next) + next->len > size) {
		errno = next ? EINVAL : EAGAIN;
		return -1;
	}
	while ((next = g_queue_peek_head(&notify->events)) &&
	       n + sizeof(*next) + next->len <= size) {
		memcpy((char *)bytes + n, next, sizeof(*next) + next->len);
		n += sizeof(*next) + next->len;
		g_free(g_queue_pop_head(&notify->events));
	}
	if (!notify->events.length)
		event_take(fd);
	return (gssize)n;
}
