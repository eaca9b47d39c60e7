/* SPDX-License-Identifier: Apache-2.0 */
#define RDMAD_LOG_TOPIC "daemon"

#include "daemon/place.h"

#include <rdmad/fd.h>
#include <rdmad/log.h>
#include <sys/stat.h>

#include "base/directory.h"
#include "base/default-dirs.h"

typedef struct {
	char *path; /* NULL: no directory */
	mode_t mode;
	char *lock_path;
	int lock;
	RdmadLockHolder before; /* the last holder of the lock */
} Directory;

struct RdmadPlace {
	RdmadLockHolder self;
	Directory run, state;
	gboolean is_kept; /* both were locked */
};

static Directory directory_of(const char *path, mode_t mode, const char *lock)
{
	return (Directory){
		.path = g_strdup(path),
		.mode = mode,
		.lock_path = path ? g_build_filename(path, lock, NULL) : NULL,
		.lock = -1,
	};
}

static void directory_clear(Directory *directory)
{
	rdmad_clear_fd(&directory->lock);
	g_free(directory->lock_path);
	g_free(directory->path);
}

RdmadPlace *rdmad_place_new(const char *run_dir, const char *state_dir)
{
	RdmadPlace *place = g_new0(RdmadPlace, 1);

	place->self = rdmad_lock_holder_new();
	place->run = directory_of(run_dir, rdmad_run_dir_mode(run_dir), "rdmad.lock");
	place->state = directory_of(state_dir, 0700, "state.lock");
	return place;
}

void rdmad_place_free(RdmadPlace *place)
{
	if (!place)
		return;
	directory_clear(&place->state);
	directory_clear(&place->run);
	g_free(place);
}

/* Returns TRUE if the lock file cannot be checked, so that the lock is kept. */
static gboolean lock_is_in_place(const Directory *directory)
{
	struct stat held, now;

	if (!directory->path || directory->lock < 0 || fstat(directory->lock, &held) < 0)
		return FALSE;
	if (lstat(directory->lock_path, &now) < 0)
		return errno != ENOENT;
	return held.st_dev == now.st_dev && held.st_ino == now.st_ino;
}

static gboolean directory_keep(Directory *directory, const RdmadLockHolder *self,
			       RdmadLockHolder *holder, GError **error)
{
	int lock;

	if (!directory->path)
		return TRUE;
	if (!rdmad_directory_prepare(directory->path, directory->mode, RDMAD_DISK_FOR_GOOD, error))
		return FALSE;
	if (lock_is_in_place(directory))
		return TRUE;
	lock = rdmad_lock_try(directory->lock_path, self, holder, error);
	if (lock < 0)
		return FALSE;
	rdmad_clear_fd(&directory->lock);
	directory->lock = lock;
	directory->before = *holder;
	return TRUE;
}

static gboolean directory_is_held(const Directory *directory)
{
	return directory->path && rdmad_lock_is_held(directory->lock_path);
}

guint rdmad_place_locks(const RdmadPlace *place, int *fds)
{
	guint n = 0;

	if (place->run.lock >= 0)
		fds[n++] = place->run.lock;
	if (place->state.lock >= 0)
		fds[n++] = place->state.lock;
	return n;
}

/* Takes `fd` over if it is the lock of the directory. */
static void directory_adopt(Directory *directory, int *fd, const RdmadLockHolder *self)
{
	rdmad_autofd int lock = directory->lock;
	g_autoptr(GError) error = NULL;

	directory->lock = *fd;
	if (!lock_is_in_place(directory)) {
		directory->lock = rdmad_steal_fd(&lock);
		return;
	}
	*fd = -1;
	if (!rdmad_lock_adopt(directory->lock, directory->lock_path, self, &directory->before,
			      &error))
		rdmad_warn("%s", error->message);
}

void rdmad_place_adopt(RdmadPlace *place, int *fds, guint n_fds)
{
	for (guint i = 0; i < n_fds; i++) {
		directory_adopt(&place->run, &fds[i], &place->self);
		directory_adopt(&place->state, &fds[i], &place->self);
	}
}

gboolean rdmad_place_is_held(const RdmadPlace *place)
{
	return directory_is_held(&place->run) || directory_is_held(&place->state);
}

gboolean rdmad_place_keep(RdmadPlace *place, RdmadLockHolder *holder, GError **error)
{
	/* Both are locked, because another rdmad may share only one of the directories. */
	if (directory_keep(&place->run, &place->self, holder, error) &&
	    directory_keep(&place->state, &place->self, holder, error))
		return place->is_kept = TRUE;
	/* The one that serves makes its run directory again, and locks it, if that was removed. */
	if (!place->is_kept)
		rdmad_clear_fd(&place->run.lock);
	return FALSE;
}

const RdmadLockHolder *rdmad_place_self(const RdmadPlace *place)
{
	return &place->self;
}

const RdmadLockHolder *rdmad_place_predecessor(const RdmadPlace *place)
{
	return &place->run.before;
}
