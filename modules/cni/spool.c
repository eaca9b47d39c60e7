/* SPDX-License-Identifier: Apache-2.0 */
#include "spool.h"

#include <errno.h>
#include <fcntl.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <rdmad/log.h>
#include <rdmad/loop.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/io.h"
#include "shim/message.h"

#define RECORD_MAX   (sizeof(CniSpoolHead) + CNI_SHIM_ENVIRONMENT_MAX + CNI_SHIM_INPUT_MAX)
#define RETRY_MS     500u  /* until a spool that could not be read is read again; doubles */
#define RETRY_MAX_MS 8000u /* a waiting ADD soon follows the end of the failure */
#define AT_ONCE	     64u   /* records in a turn of the loop: some milliseconds */

typedef enum {
	RECORD_NEW,    /* not in the table */
	RECORD_TAKEN,  /* its DEL waits or runs */
	RECORD_FAILED, /* its DEL failed, or it is none */
	RECORD_AGAIN,  /* it failed, and is to be taken again */
	RECORD_UNREAD, /* it could not be read */
	RECORD_VOID,   /* it failed, and an ADD has made the attachment again; only to be removed */
} RecordState;

typedef struct {
	RecordState state;
	char *attachment; /* its key; NULL: not known yet */
} Record;

struct CniSpool {
	char *directory;
	const CniSpoolOps *ops;
	gpointer data;
	GHashTable *records; /* by name; NEW ones are not in it */
	guint unread;
	char **names;	 /* of the pass that runs; NULL: none does */
	guint next;	 /* of them */
	guint looked_at; /* in this pass */
	gboolean again;	 /* the next pass takes the records that failed */
	RdmadEvent *turn, *retry;
	guint retry_ms;
};

/* ---- files ---- */

static char **records_list(const char *directory, GError **error)
{
	g_autoptr(GStrvBuilder) records = g_strv_builder_new();
	g_auto(GStrv) names = rdmad_fd_list(AT_FDCWD, directory);

	if (!names && errno == ENOENT)
		return g_new0(char *, 1);
	if (!names) {
		rdmad_error_errno(error, errno, "cannot list %s", directory);
		return NULL;
	}
	for (char **name = names; *name; name++)
		if (cni_spooled_name_check(*name))
			g_strv_builder_add(records, *name);
	return g_strv_builder_end(records);
}

/* Returns whether open() has found a symbolic link, a socket or a device.  Other errors may
 * pass. */
static gboolean is_no_file(int errnum)
{
	return errnum == ELOOP || errnum == ENXIO || errnum == ENODEV;
}

static gboolean refuse(const char *path, GError **error)
{
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "%s is not a record", path);
	return FALSE;
}

/* RDMAD_ERROR_INVALID: not a file, truncated or damaged.  RDMAD_ERROR_NOT_FOUND: rdmad-cni has
 * removed it. RDMAD_ERROR_FAILED: a retry may succeed. */
static gboolean record_read(const char *directory, const char *name, CniMessage *message,
			    GError **error)
{
	g_autofree char *path = g_build_filename(directory, name, NULL);
	g_autoptr(GString) bytes = g_string_new(NULL);
	rdmad_autofd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	if (fd < 0 && is_no_file(errno))
		return refuse(path, error);
	if (fd < 0 && errno == ENOENT) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND, "%s is gone", path);
		return FALSE;
	}
	if (fd < 0 || fstat(fd, &st) < 0 ||
	    (S_ISREG(st.st_mode) && !rdmad_fd_read_all(fd, RECORD_MAX, bytes)))
		return rdmad_error_errno(error, errno, "cannot read %s", path);
	if (!S_ISREG(st.st_mode) || bytes->len > RECORD_MAX)
		return refuse(path, error);
	return cni_spooled_read((const guint8 *)bytes->str, bytes->len, message, error);
}

static gboolean record_remove(const char *directory, const char *name, GError **error)
{
	g_autofree char *path = g_build_filename(directory, name, NULL);

	return unlink(path) == 0 || errno == ENOENT ||
	       rdmad_error_errno(error, errno, "cannot remove %s", path);
}

/* ---- states ---- */

static void record_free(gpointer data)
{
	Record *record = data;

	g_free(record->attachment);
	g_free(record);
}

static RecordState state_of(const CniSpool *spool, const char *name)
{
	const Record *record = g_hash_table_lookup(spool->records, name);

	return record ? record->state : RECORD_NEW;
}

static void state_set(CniSpool *spool, const char *name, RecordState state)
{
	Record *record = g_hash_table_lookup(spool->records, name);

	spool->unread -= record && record->state == RECORD_UNREAD;
	spool->unread += state == RECORD_UNREAD;
	if (state == RECORD_NEW) {
		g_hash_table_remove(spool->records, name);
		return;
	}
	if (!record) {
		record = g_new0(Record, 1);
		g_hash_table_insert(spool->records, g_strdup(name), record);
	}
	record->state = state;
}

static void attachment_set(CniSpool *spool, const char *name, char *attachment)
{
	Record *record = g_hash_table_lookup(spool->records, name);

	g_free(record->attachment);
	record->attachment = attachment;
}

static void states_change(CniSpool *spool, RecordState from, RecordState to)
{
	g_autofree gpointer *names = g_hash_table_get_keys_as_array(spool->records, NULL);

	for (gpointer *name = names; *name; name++)
		if (state_of(spool, *name) == from)
			state_set(spool, *name, to);
}

/* ---- records ---- */

/* A record that could not be removed is one of a DEL that failed: it is tried again, but holds no
 * ADD. */
gboolean cni_spool_end(CniSpool *spool, const char *name, gboolean is_done)
{
	g_autoptr(GError) why = NULL;
	const gboolean is_removed = is_done && record_remove(spool->directory, name, &why);

	if (why)
		rdmad_warn("%s", why->message);
	state_set(spool, name, is_removed ? RECORD_NEW : RECORD_FAILED);
	return is_removed;
}

static RecordState state_after(const GError *error)
{
	return g_error_matches(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND) ? RECORD_NEW
	       : g_error_matches(error, RDMAD_ERROR, RDMAD_ERROR_INVALID) ? RECORD_FAILED
									  : RECORD_UNREAD;
}

static void record_take(CniSpool *spool, const char *name, gboolean again)
{
	g_auto(CniMessage) record = { 0 };
	g_autoptr(GError) error = NULL;
	char *attachment;

	if (!record_read(spool->directory, name, &record, &error)) {
		state_set(spool, name, state_after(error));
		if (state_of(spool, name) != RECORD_NEW)
			rdmad_warn("%s: %s", name, error->message);
		return;
	}
	state_set(spool, name, RECORD_TAKEN);
	attachment = spool->ops->take(name, &record, again, spool->data);
	if (attachment)
		attachment_set(spool, name, attachment);
	else
		cni_spool_end(spool, name, TRUE);
}

static void voids_remove(CniSpool *spool)
{
	g_autofree gpointer *names = g_hash_table_get_keys_as_array(spool->records, NULL);

	for (gpointer *name = names; *name; name++) {
		g_autoptr(GError) why = NULL;

		if (state_of(spool, *name) != RECORD_VOID)
			continue;
		if (record_remove(spool->directory, *name, &why))
			state_set(spool, *name, RECORD_NEW);
		else
			rdmad_warn("%s", why->message);
	}
}

void cni_spool_forget(CniSpool *spool, const char *attachment)
{
	GHashTableIter iter;
	gpointer value;
	gboolean some = FALSE;

	g_hash_table_iter_init(&iter, spool->records);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		Record *record = value;

		if ((record->state != RECORD_FAILED && record->state != RECORD_AGAIN) ||
		    g_strcmp0(record->attachment, attachment) != 0)
			continue;
		record->state = RECORD_VOID;
		some = TRUE;
	}
	if (some)
		voids_remove(spool);
}

static void retry_arm(CniSpool *spool)
{
	rdmad_event_arm_within(spool->retry, spool->retry_ms);
}

static gboolean pass_begin(CniSpool *spool)
{
	g_autoptr(GError) error = NULL;

	if (spool->again) {
		voids_remove(spool);
		states_change(spool, RECORD_FAILED, RECORD_AGAIN);
	}
	spool->again = FALSE;
	spool->next = spool->looked_at = 0;
	spool->names = records_list(spool->directory, &error);
	if (spool->names)
		return TRUE;
	rdmad_warn("%s", error->message);
	retry_arm(spool);
	return FALSE;
}

static gboolean pass_end(CniSpool *spool)
{
	g_clear_pointer(&spool->names, g_strfreev);
	/* rdmad-cni has removed what is left. */
	states_change(spool, RECORD_AGAIN, RECORD_NEW);
	if (spool->unread)
		retry_arm(spool);
	else
		spool->retry_ms = RETRY_MS;
	/* Another pass finds what was recorded since. */
	if (spool->looked_at || spool->again)
		rdmad_event_arm(spool->turn, 0);
	return !spool->looked_at && !spool->unread;
}

/* A pass is one listing, which reads the whole directory, and some of its records in each turn of
 * the loop. */
gboolean cni_spool_is_read(CniSpool *spool)
{
	if (rdmad_event_armed(spool->turn) || rdmad_event_armed(spool->retry) ||
	    (!spool->names && !pass_begin(spool)))
		return FALSE;
	for (guint n = 0; spool->names[spool->next]; spool->next++) {
		const char *name = spool->names[spool->next];
		const RecordState state = state_of(spool, name);

		if (state != RECORD_NEW && state != RECORD_AGAIN)
			continue;
		if (n++ == AT_ONCE) {
			rdmad_event_arm(spool->turn, 0);
			return FALSE;
		}
		spool->looked_at++;
		record_take(spool, name, state == RECORD_AGAIN);
	}
	return pass_end(spool);
}

void cni_spool_again(CniSpool *spool)
{
	spool->again = TRUE;
	cni_spool_is_read(spool);
}

static void turn(gpointer data)
{
	CniSpool *spool = data;

	if (cni_spool_is_read(spool))
		spool->ops->is_read(spool->data);
}

static void retry(gpointer data)
{
	CniSpool *spool = data;

	spool->retry_ms = MIN(spool->retry_ms * 2, RETRY_MAX_MS);
	states_change(spool, RECORD_UNREAD, RECORD_NEW);
	turn(spool);
}

/* ---- life ---- */

CniSpool *cni_spool_new(RdmadModule *self, const char *directory, const CniSpoolOps *ops,
			gpointer data)
{
	CniSpool *spool = g_new(CniSpool, 1);

	*spool = (CniSpool){ .directory = g_strdup(directory),
			     .ops = ops,
			     .data = data,
			     .records = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
							      record_free),
			     .retry_ms = RETRY_MS };
	spool->turn = rdmad_loop_add_timer(rdmad_module_loop(self), self, turn, spool);
	spool->retry = rdmad_loop_add_timer(rdmad_module_loop(self), self, retry, spool);
	return spool;
}

void cni_spool_free(CniSpool *spool)
{
	rdmad_event_free(spool->turn);
	rdmad_event_free(spool->retry);
	g_strfreev(spool->names);
	g_hash_table_unref(spool->records);
	g_free(spool->directory);
	g_free(spool);
}

guint cni_spool_count(const CniSpool *spool)
{
	g_auto(GStrv) names = records_list(spool->directory, NULL);

	return names ? g_strv_length(names) : 0;
}
