/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of doctor, one file a part of the node; each adds to the JSON array.  `files` NULL: they
 * have not been read in time. */
#pragma once

#include <jansson.h>
#include <rdmad/doctor.h>

#include "api/json.h"
#include "module/services.h"

typedef struct {
	char *path;
	gboolean exists, dead; /* nobody listens */
} DoctorSocket;

/* Contents of the machine's files, read on a worker. */
typedef struct {
	char *kernel; /* release; NULL: see kernel_error */
	GError *kernel_error;
	char *netns_mode;	  /* ib_core's parameter, or NULL */
	gint64 inotify_instances; /* RDMAD_UNKNOWN: it cannot be read */
	char *libraries;	  /* "libnghttp2.so.14.24.1, ..." */
	gboolean infiniband_missing, rdma_cm_missing;
	GHashTable *missing; /* set of paths of device files */
	gboolean kubelet_dir, registry_dir;
	DoctorSocket plugins, pods;
	pid_t kubelet_pid; /* 0: not known */
	char *kubelet_version;
	char *database; /* path; NULL: there is none */
	int database_errnum;
	gint64 database_size;
} DoctorFiles;

extern const RdmadJobClass doctor_files_class;
gpointer doctor_files_input(const RdmadServices *services);
/* The files of the libraries whose version has decided about bugs before; reads links.  g_free(). */
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
