/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of doctor, one file for each part of the node.  Each check adds findings to the JSON
 * array.  `files` is NULL if they could not be read in time. */
#pragma once

#include <jansson.h>
#include <rdmad/doctor.h>

#include "api/json.h"
#include "module/services.h"

typedef struct {
	char *path;
	gboolean exists, dead; /* dead: no process listens */
} DoctorSocket;

/* Contents of the machine's files, read on a worker. */
typedef struct {
	char *kernel; /* release; NULL: kernel_error is set */
	GError *kernel_error;
	gint64 inotify_instances; /* RDMAD_UNKNOWN: unreadable */
	char *libraries;	  /* "libnghttp2.so.14.24.1, ..." */
	gboolean infiniband_missing, rdma_cm_missing;
	GHashTable *missing; /* set of paths of device files */
	gboolean kubelet_dir, registry_dir;
	DoctorSocket plugins, pods;
	pid_t kubelet_pid; /* 0: unknown */
	char *kubelet_version;
	char *database; /* path; NULL: no database */
	int database_errnum;
	gint64 database_size;
} DoctorFiles;

extern const RdmadJobClass doctor_files_class;
gpointer doctor_files_input(const RdmadServices *services);
/* Returns the file names, with versions, of libraries that had relevant bugs; reads links.
 * g_free(). */
char *doctor_libraries(void);

void doctor_check_daemon(const RdmadServices *services, const DoctorFiles *files, json_t *findings);
void doctor_check_node(const RdmadServices *services, const DoctorFiles *files, json_t *findings);
void doctor_check_devices(const RdmadServices *services, const DoctorFiles *files,
			  json_t *findings);
void doctor_check_kubelet(const RdmadServices *services, const DoctorFiles *files,
			  json_t *findings);

/* rdmad_doctor_add() with a formatted text; the advice is not formatted. */
void doctor_say(json_t *findings, RdmadFinding level, const char *subject, const char *advice,
		const char *format, ...) G_GNUC_PRINTF(5, 6);
