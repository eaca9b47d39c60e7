/* SPDX-License-Identifier: Apache-2.0 */
#include "faulty-vfs.h"

#include <sqlite3.h>

static sqlite3_vfs faulty; /* pAppData is the real one */
static FaultCall armed = FAULT_N_CALLS;
static guint countdown, failures;
static int failure_code;
static gboolean fired;

/* The real file follows in the same block. */
typedef struct {
	sqlite3_file base;
	gint64 align;
} File;

static sqlite3_vfs *real_vfs(void)
{
	return faulty.pAppData;
}

static sqlite3_file *real_file(sqlite3_file *file)
{
	return (sqlite3_file *)((File *)file + 1);
}

static gboolean fails(FaultCall call)
{
	if (call != armed)
		return FALSE;
	if (countdown > 1) {
		countdown--;
		return FALSE;
	}
	if (!failures)
		return FALSE;
	failures--;
	fired = TRUE;
	return TRUE;
}

void faulty_vfs_arm(FaultCall call, guint nth, guint more, int code)
{
	armed = call;
	countdown = nth;
	failures = more + 1;
	failure_code = code;
	fired = FALSE;
}

gboolean faulty_vfs_fired(void)
{
	return fired;
}

/* ---- files ---- */

static int file_close(sqlite3_file *file)
{
	return real_file(file)->pMethods->xClose(real_file(file));
}

static int file_read(sqlite3_file *file, void *data, int n, sqlite3_int64 at)
{
	return fails(FAULT_READ) ? failure_code
				 : real_file(file)->pMethods->xRead(real_file(file), data, n, at);
}

static int file_write(sqlite3_file *file, const void *data, int n, sqlite3_int64 at)
{
	return fails(FAULT_WRITE) ? failure_code
				  : real_file(file)->pMethods->xWrite(real_file(file), data, n, at);
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	return real_file(file)->pMethods->xTruncate(real_file(file), size);
}

static int file_sync(sqlite3_file *file, int flags)
{
	return fails(FAULT_SYNC) ? failure_code
				 : real_file(file)->pMethods->xSync(real_file(file), flags);
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size)
{
	return fails(FAULT_SIZE) ? failure_code
				 : real_file(file)->pMethods->xFileSize(real_file(file), size);
}

static int file_lock(sqlite3_file *file, int level)
{
	return fails(FAULT_LOCK) ? failure_code
				 : real_file(file)->pMethods->xLock(real_file(file), level);
}

static int file_unlock(sqlite3_file *file, int level)
{
	return real_file(file)->pMethods->xUnlock(real_file(file), level);
}

static int file_check_lock(sqlite3_file *file, int *held)
{
	return real_file(file)->pMethods->xCheckReservedLock(real_file(file), held);
}

static int file_control(sqlite3_file *file, int op, void *data)
{
	return real_file(file)->pMethods->xFileControl(real_file(file), op, data);
}

static int file_sector(sqlite3_file *file)
{
	return real_file(file)->pMethods->xSectorSize(real_file(file));
}

static int file_traits(sqlite3_file *file)
{
	return real_file(file)->pMethods->xDeviceCharacteristics(real_file(file));
}

static int file_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **data)
{
	return real_file(file)->pMethods->xShmMap(real_file(file), page, size, extend, data);
}

static int file_shm_lock(sqlite3_file *file, int at, int n, int flags)
{
	return fails(FAULT_LOCK)
		       ? failure_code
		       : real_file(file)->pMethods->xShmLock(real_file(file), at, n, flags);
}

static void file_shm_barrier(sqlite3_file *file)
{
	real_file(file)->pMethods->xShmBarrier(real_file(file));
}

static int file_shm_unmap(sqlite3_file *file, int remove)
{
	return real_file(file)->pMethods->xShmUnmap(real_file(file), remove);
}

static const sqlite3_io_methods methods = {
	.iVersion = 2,
	.xClose = file_close,
	.xRead = file_read,
	.xWrite = file_write,
	.xTruncate = file_truncate,
	.xSync = file_sync,
	.xFileSize = file_size,
	.xLock = file_lock,
	.xUnlock = file_unlock,
	.xCheckReservedLock = file_check_lock,
	.xFileControl = file_control,
	.xSectorSize = file_sector,
	.xDeviceCharacteristics = file_traits,
	.xShmMap = file_shm_map,
	.xShmLock = file_shm_lock,
	.xShmBarrier = file_shm_barrier,
	.xShmUnmap = file_shm_unmap,
};

/* Returns the flags that SQLite sets if the system refuses to open a file for writing. */
static int flags_for_reading(int flags)
{
	return (flags & ~(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)) | SQLITE_OPEN_READONLY;
}

static int vfs_open(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *file, int flags,
		    int *out)
{
	int code;

	file->pMethods = NULL;
	if (fails(FAULT_OPEN))
		return failure_code;
	if ((flags & SQLITE_OPEN_READWRITE) && fails(FAULT_OPEN_READ))
		flags = flags_for_reading(flags);
	code = real_vfs()->xOpen(real_vfs(), name, real_file(file), flags, out);
	if (real_file(file)->pMethods)
		file->pMethods = &methods;
	return code;
}

void faulty_vfs_register(void)
{
	sqlite3_vfs *real = sqlite3_vfs_find(NULL);

	if (real == &faulty)
		return;
	faulty = *real;
	faulty.pNext = NULL;
	faulty.zName = "faulty";
	faulty.pAppData = real;
	faulty.szOsFile = (int)sizeof(File) + real->szOsFile;
	faulty.xOpen = vfs_open;
	sqlite3_vfs_register(&faulty, TRUE);
}
