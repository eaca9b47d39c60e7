/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/allocation-dir.h>

#include <errno.h>
#include <fcntl.h>
#include <rdmad/disk.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <rdmad/loop.h>
#include <rdmad/public-file.h>
#include <rdmad/random.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/directory.h"
#include "base/default-dirs.h"
#include "base/owned.h"

#define ROOT_NAME    "allocations"
#define ENDED_PREFIX ".ended-"
#define DIR_MODE     0755
#define FILE_MODE    0644
#define LIFE	     RDMAD_DISK_FOR_BOOT /* no container outlives it */
#define OPEN_FLAGS   (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

char *rdmad_allocation_dir_path(const char *run_dir, const char *id)
{
	return g_build_filename(run_dir, ROOT_NAME, id, NULL);
}

/* ---- open ---- */

static int root_make(const char *run_dir, GError **error)
{
	g_autofree char *path = g_build_filename(run_dir, ROOT_NAME, NULL);

	return rdmad_directory_prepare(run_dir, rdmad_run_dir_mode(run_dir), LIFE, error)
		       ? rdmad_directory_open(path, DIR_MODE, LIFE, error)
		       : -1;
}

/* Returns -1, without an error if there is no such directory. */
static int root_open(const char *run_dir, GError **error)
{
	g_autofree char *path = g_build_filename(run_dir, ROOT_NAME, NULL);
	struct stat st;

	if (lstat(path, &st) == 0)
		return rdmad_directory_open(path, DIR_MODE, LIFE, error);
	if (errno != ENOENT)
		rdmad_error_errno(error, errno, "cannot read %s", path);
	return -1;
}

static gboolean id_check(const char *id, GError **error)
{
	if (*id && *id != '.' && !strchr(id, '/'))
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED, "invalid allocation id \"%s\"", id);
	return FALSE;
}

static gboolean dir_is_missing(const char *run_dir, const char *id, GError **error)
{
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND, "no directory %s/%s/%s", run_dir,
		    ROOT_NAME, id);
	return FALSE;
}

/* Returns -1, with RDMAD_ERROR_NOT_FOUND if there is no such directory. */
static int dir_open(const char *run_dir, const char *id, GError **error)
{
	GError *problem = NULL;
	rdmad_autofd int root = id_check(id, &problem) ? root_open(run_dir, &problem) : -1;
	const int dir = root >= 0 ? openat(root, id, OPEN_FLAGS) : -1;
	const gboolean missing = root < 0 || errno == ENOENT;

	if (dir >= 0)
		return dir;
	if (problem)
		g_propagate_error(error, problem);
	else if (missing)
		dir_is_missing(run_dir, id, error);
	else
		rdmad_error_errno(error, errno, "cannot open the directory %s/%s/%s", run_dir,
				  ROOT_NAME, id);
	return -1;
}

/* ---- make ---- */

gboolean rdmad_allocation_dir_make(const char *run_dir, const char *id, GError **error)
{
	rdmad_autofd int root = id_check(id, error) ? root_make(run_dir, error) : -1;
	rdmad_autofd int dir = -1;
	struct stat st;

	if (root < 0)
		return FALSE;
	if (rdmad_disk_mkdir(root, id, 0700, LIFE) == 0 || errno == EEXIST)
		dir = openat(root, id, OPEN_FLAGS);
	/* A directory that is as it should be stays as it is: it is watched. */
	if (dir >= 0 && fstat(dir, &st) == 0 &&
	    ((st.st_mode & 07777) == DIR_MODE || fchmod(dir, DIR_MODE) == 0))
		return TRUE;
	return rdmad_error_errno(error, errno, "cannot make the directory %s/%s/%s", run_dir,
				 ROOT_NAME, id);
}

/* ---- files ---- */

gboolean rdmad_allocation_dir_has(const char *run_dir, const char *id, const char *file,
				  GError **error)
{
	GError *problem = NULL;
	rdmad_autofd int dir = dir_open(run_dir, id, &problem);
	struct stat st;

	if (dir >= 0 && fstatat(dir, file, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return S_ISREG(st.st_mode) && st.st_size > 0;
	if (dir >= 0 && errno != ENOENT)
		rdmad_error_errno(&problem, errno, "cannot read %s/%s/%s/%s", run_dir, ROOT_NAME,
				  id, file);
	if (g_error_matches(problem, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND))
		g_clear_error(&problem);
	if (problem)
		g_propagate_error(error, problem);
	return FALSE;
}

char *rdmad_allocation_dir_read(const char *run_dir, const char *id, const char *file, gsize max,
				GError **error)
{
	rdmad_autofd int dir = dir_open(run_dir, id, error);
	rdmad_autofd int fd = -1;
	g_autoptr(GString) text = g_string_new(NULL);

	if (dir < 0)
		return NULL;
	fd = openat(dir, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND, "there is no %s/%s/%s/%s",
			    run_dir, ROOT_NAME, id, file);
		return NULL;
	}
	if (fd < 0 || !rdmad_fd_read_all(fd, max, text)) {
		rdmad_error_errno(error, errno, "cannot read %s/%s/%s/%s", run_dir, ROOT_NAME, id,
				  file);
		return NULL;
	}
	if (text->len > max) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_LIMIT,
			    "%s/%s/%s/%s is longer than %zu bytes", run_dir, ROOT_NAME, id, file,
			    max);
		return NULL;
	}
	return g_string_free(g_steal_pointer(&text), FALSE);
}

gboolean rdmad_allocation_dir_write_bytes(const char *run_dir, const char *id, const char *file,
					  GBytes *bytes, GError **error)
{
	g_autofree char *path = rdmad_allocation_dir_path(run_dir, id);
	rdmad_autofd int dir = dir_open(run_dir, id, error);

	return dir >= 0 &&
	       rdmad_public_file_write_bytes(dir, path, file, bytes, FILE_MODE, LIFE, error);
}

gboolean rdmad_allocation_dir_write(const char *run_dir, const char *id, const char *file,
				    const char *text, GError **error)
{
	g_autoptr(GBytes) bytes = g_bytes_new_static(text, strlen(text));

	return rdmad_allocation_dir_write_bytes(run_dir, id, file, bytes, error);
}

/* ---- list, remove ---- */

char **rdmad_allocation_dir_list(const char *run_dir, GError **error)
{
	GError *problem = NULL;
	rdmad_autofd int root = root_open(run_dir, &problem);
	g_autoptr(GStrvBuilder) names = g_strv_builder_new();
	g_auto(GStrv) all = NULL;

	if (problem) {
		g_propagate_error(error, problem);
		return NULL;
	}
	all = root >= 0 ? rdmad_fd_list(root, ".") : g_new0(char *, 1);
	if (!all) {
		rdmad_error_errno(error, errno, "cannot list %s/%s", run_dir, ROOT_NAME);
		return NULL;
	}
	for (guint i = 0; all[i]; i++)
		if (all[i][0] != '.')
			g_strv_builder_add(names, all[i]);
	return g_strv_builder_end(names);
}

/* Removes the files.  An allocation's directory has no subdirectories. */
static gboolean dir_empty(int dir)
{
	g_auto(GStrv) names = rdmad_fd_list(dir, ".");

	for (guint i = 0; names && names[i]; i++)
		if (unlinkat(dir, names[i], 0) < 0 && errno != ENOENT)
			return FALSE;
	return names != NULL;
}

static gboolean dir_remove(int root, const char *name)
{
	rdmad_autofd int dir = openat(root, name, OPEN_FLAGS);

	if (dir < 0)
		return errno == ENOENT;
	return dir_empty(dir) && (unlinkat(root, name, AT_REMOVEDIR) == 0 || errno == ENOENT);
}

/* Returns TRUE if no directory has this name any more. */
static gboolean dir_hide(int root, const char *id, const char *ended)
{
	rdmad_autofd int dir = openat(root, id, OPEN_FLAGS);

	return dir < 0 ? errno == ENOENT : renameat(root, id, root, ended) == 0;
}

/* Renames the directory first: a partly removed one would not identify its allocation. */
gboolean rdmad_allocation_dir_remove(const char *run_dir, const char *id, GError **error)
{
	g_autofree char *path = rdmad_allocation_dir_path(run_dir, id);
	g_autofree char *ended = g_strconcat(ENDED_PREFIX, id, NULL);
	GError *problem = NULL;
	rdmad_autofd int root = id_check(id, &problem) ? root_open(run_dir, &problem) : -1;

	if (problem) {
		g_propagate_error(error, problem);
		return FALSE;
	}
	if (root < 0)
		return TRUE;
	if (dir_hide(root, id, ended) && dir_remove(root, ended))
		return TRUE;
	return rdmad_error_errno(error, errno, "cannot remove the directory %s", path);
}

void rdmad_allocation_dir_clean(const char *run_dir, const char *id)
{
	rdmad_autofd int dir = dir_open(run_dir, id, NULL);
	g_auto(GStrv) names = dir >= 0 ? rdmad_fd_list(dir, ".") : NULL;

	for (guint i = 0; names && names[i]; i++)
		if (rdmad_public_file_is_unfinished(names[i]))
			unlinkat(dir, names[i], 0);
}

/* ---- spare directories ---- */

#define SPARE_PREFIX ".spare-"
#define SPARES	     9u /* a burst of pods, and the link source; each has an open file */
#define SPARES_FEW   5u /* refilled to SPARES at once: of four successive calls three do not wait */

typedef struct {
	char *name, *path;
	int own; /* the file whose text is written when the directory is taken */
} Spare;

struct RdmadSpareDirs {
	RdmadOwned owned;
	char *run_dir;
	const RdmadSpareDirsClass *klass;
	int root; /* -1: not open */
	/* Of Spare.  The first is never taken: the files of the others are links to its file. */
	GPtrArray *ready;
	RdmadEvent *next; /* timer: refills `ready` on the turn after the response */
};

static void spare_free(gpointer data)
{
	Spare *spare = data;

	rdmad_clear_fd(&spare->own);
	g_free(spare->path);
	g_free(spare->name);
	g_free(spare);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Spare, spare_free)

/* Links the file of another spare directory: one call, and no further inode. */
static gboolean spare_put_file(const RdmadSpareDirs *spares, const Spare *spare)
{
	const Spare *other = spares->ready->len ? spares->ready->pdata[0] : NULL;
	g_autofree char *to = g_strconcat(spare->name, "/", spares->klass->name, NULL);
	g_autofree char *from =
		other ? g_strconcat(other->name, "/", spares->klass->name, NULL) : NULL;
	g_autoptr(GBytes) bytes = NULL;
	rdmad_autofd int dir = -1;

	if (from && linkat(spares->root, from, spares->root, to, 0) == 0)
		return TRUE;
	bytes = g_bytes_new_static(spares->klass->text, strlen(spares->klass->text));
	dir = openat(spares->root, spare->name, OPEN_FLAGS);
	return dir >= 0 && rdmad_public_file_write_bytes(dir, spare->path, spares->klass->name,
							 bytes, FILE_MODE, LIFE, NULL);
}

/* Uses names below the root, which only rdmad may write to: this saves opening a descriptor. */
static gboolean spare_fill(const RdmadSpareDirs *spares, Spare *spare)
{
	g_autofree char *own = g_strconcat(spare->name, "/", spares->klass->own_name, NULL);

	if (mkdirat(spares->root, spare->name, 0700) < 0 ||
	    fchmodat(spares->root, spare->name, DIR_MODE, 0) < 0 || !spare_put_file(spares, spare))
		return FALSE;
	spare->own = openat(spares->root, own, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			    0600);
	return spare->own >= 0 && fchmod(spare->own, FILE_MODE) == 0;
}

/* Returns NULL on failure; rdmad_allocation_dir_make() will report the error. */
static Spare *spare_new(RdmadSpareDirs *spares)
{
	g_autoptr(Spare) spare = g_new0(Spare, 1);

	spare->own = -1;
	if (spares->root < 0)
		spares->root = root_make(spares->run_dir, NULL);
	if (spares->root < 0)
		return NULL;
	spare->name = g_strdup_printf(SPARE_PREFIX "%08x%08x", rdmad_random(), rdmad_random());
	spare->path = rdmad_allocation_dir_path(spares->run_dir, spare->name);
	if (spare_fill(spares, spare))
		return g_steal_pointer(&spare);
	dir_remove(spares->root, spare->name);
	return NULL;
}

/* Resolves both paths from / again: the rename must fail if a parent directory was moved, removed
 * or replaced while descriptors in it were open. */
static gboolean spare_become(Spare *spare, const char *path, const char *own_text)
{
	const gsize size = strlen(own_text);

	return write(spare->own, own_text, size) == (ssize_t)size && rename(spare->path, path) == 0;
}

/* Also removes directories that an earlier process had renamed for removal. */
static void spares_remove(RdmadSpareDirs *spares)
{
	rdmad_autofd int root = root_open(spares->run_dir, NULL);
	g_auto(GStrv) names = root >= 0 ? rdmad_fd_list(root, ".") : NULL;

	g_ptr_array_set_size(spares->ready, 0);
	rdmad_clear_fd(&spares->root);
	for (guint i = 0; names && names[i]; i++)
		if (names[i][0] == '.')
			dir_remove(root, names[i]);
}

static void spares_add(gpointer data)
{
	RdmadSpareDirs *spares = data;
	Spare *spare;

	while (spares->ready->len < SPARES && (spare = spare_new(spares)))
		g_ptr_array_add(spares->ready, spare);
}

static gboolean spares_take(RdmadSpareDirs *spares, const char *id, const char *own_text)
{
	g_autofree char *path = rdmad_allocation_dir_path(spares->run_dir, id);
	const guint n = spares->ready->len;
	g_autoptr(Spare) spare =
		n > 1 ? g_ptr_array_steal_index(spares->ready, n - 1) : spare_new(spares);

	return spare && id_check(id, NULL) && spare_become(spare, path, own_text);
}

gboolean rdmad_spare_dirs_take(RdmadSpareDirs *spares, const char *id, const char *own_text)
{
	const gboolean taken = spares_take(spares, id, own_text);

	if (!taken)
		spares_remove(spares);
	if (spares->ready->len <= SPARES_FEW)
		rdmad_event_arm(spares->next, 0);
	return taken;
}

static void spares_free(gpointer data)
{
	RdmadSpareDirs *spares = data;

	spares_remove(spares);
	rdmad_owned_leave(&spares->owned);
	rdmad_event_free(spares->next);
	g_ptr_array_unref(spares->ready);
	g_free(spares->run_dir);
	g_free(spares);
}

RdmadSpareDirs *rdmad_spare_dirs_new(RdmadLoop *loop, RdmadModule *owner, const char *run_dir,
				     const RdmadSpareDirsClass *klass)
{
	RdmadSpareDirs *spares = g_new0(RdmadSpareDirs, 1);

	spares->run_dir = g_strdup(run_dir);
	spares->klass = klass;
	spares->root = -1;
	spares->ready = g_ptr_array_new_with_free_func(spare_free);
	spares_remove(spares);
	rdmad_owned_enter(&spares->owned, loop, owner, spares_free, spares);
	spares->next = rdmad_loop_add_timer(loop, NULL, spares_add, spares);
	rdmad_event_arm(spares->next, 0);
	return spares;
}

void rdmad_spare_dirs_free(RdmadSpareDirs *spares)
{
	if (spares)
		spares_free(spares);
}
