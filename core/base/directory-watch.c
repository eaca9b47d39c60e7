/* SPDX-License-Identifier: Apache-2.0 */
#define RDMAD_LOG_TOPIC "watch"

#include <rdmad/directory-watch.h>

#include <errno.h>

#include <rdmad/fd.h>
#include <rdmad/log.h>
#include <rdmad/loop.h>
#include <sys/inotify.h>

#define SETTLE_MS 10
#define POLL_MS	  1000
#define EVENTS                                                                                     \
	(IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE_SELF | IN_MOVE_SELF |     \
	 IN_ONLYDIR)

struct RdmadDirectoryWatch {
	char *path;
	int fd;		/* inotify, or -1 */
	int descriptor; /* inotify's, of the watched directory, or -1 */
	RdmadEvent *readable;
	RdmadEvent *timer; /* settling, or polling */
	void (*fn)(gpointer data);
	gpointer data;
};

/* Watches `path` instead of the previous directory. */
static gboolean watch_set(RdmadDirectoryWatch *watch, const char *path)
{
	const int descriptor = inotify_add_watch(watch->fd, path, EVENTS);

	if (descriptor < 0)
		return FALSE;
	if (watch->descriptor >= 0 && watch->descriptor != descriptor)
		inotify_rm_watch(watch->fd, watch->descriptor);
	watch->descriptor = descriptor;
	return TRUE;
}

/* Watches the directory, or its nearest existing ancestor.  The second check covers a directory
 * that is created between the failed attempt and the one for its ancestor. */
static gboolean watch_update(RdmadDirectoryWatch *watch)
{
	for (guint tries = 0; tries < 8; tries++) {
		g_autofree char *path = g_strdup(watch->path);

		while (!watch_set(watch, path)) {
			char *above = g_path_get_dirname(path);

			g_free(path);
			path = above;
			if ((errno != ENOENT && errno != ENOTDIR) || g_str_equal(path, "/"))
				return FALSE;
		}
		if (g_str_equal(path, watch->path) || !g_file_test(watch->path, G_FILE_TEST_IS_DIR))
			return TRUE;
	}
	return FALSE;
}

static void fall_back_to_polling(RdmadDirectoryWatch *watch)
{
	rdmad_warn("%s: inotify: %s; polling once a second instead", watch->path,
		   g_strerror(errno));
	g_clear_pointer(&watch->readable, rdmad_event_free);
	rdmad_clear_fd(&watch->fd);
	rdmad_event_arm(watch->timer, POLL_MS);
}

static void watch_follow(RdmadDirectoryWatch *watch)
{
	if (watch->fd >= 0 && !watch_update(watch))
		fall_back_to_polling(watch);
}

/* The kernel does not report the removal of a directory that is still open, and `fn` may make a new
 * one in its place.  A watch that moves has an event, after which `fn` is called again. */
static void timer_fired(gpointer data)
{
	RdmadDirectoryWatch *watch = data;

	if (watch->fd < 0)
		rdmad_event_arm(watch->timer, POLL_MS);
	watch_follow(watch);
	watch->fn(watch->data);
	watch_follow(watch);
}

/* The contents of the events do not matter: the callback reads the state again. */
static void inotify_readable(int fd, RdmadIo ready, gpointer data)
{
	RdmadDirectoryWatch *watch = data;
	char buffer[4096];

	while (read(fd, buffer, sizeof(buffer)) > 0)
		;
	watch_follow(watch);
	/* Polling has armed it. */
	if (!rdmad_event_armed(watch->timer))
		rdmad_event_arm(watch->timer, SETTLE_MS);
}

RdmadDirectoryWatch *rdmad_directory_watch_new(RdmadLoop *loop, RdmadModule *owner,
					       const char *path, void (*fn)(gpointer data),
					       gpointer data)
{
	RdmadDirectoryWatch *watch = g_new0(RdmadDirectoryWatch, 1);

	watch->path = g_strdup(path);
	watch->fn = fn;
	watch->data = data;
	watch->descriptor = -1;
	watch->timer = rdmad_loop_add_timer(loop, owner, timer_fired, watch);
	watch->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (watch->fd >= 0 && watch_update(watch))
		watch->readable = rdmad_loop_add_io(loop, owner, watch->fd, RDMAD_IO_READ,
						    inotify_readable, watch, NULL);
	if (!watch->readable)
		fall_back_to_polling(watch);
	return watch;
}

void rdmad_directory_watch_free(RdmadDirectoryWatch *watch)
{
	if (!watch)
		return;
	rdmad_event_free(watch->readable);
	rdmad_event_free(watch->timer);
	rdmad_clear_fd(&watch->fd);
	g_free(watch->path);
	g_free(watch);
}
