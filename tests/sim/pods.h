/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods, as the API server and the kernel know them, whatever kubelet has forgotten
 *
 *	waiting -> admission (Allocate) -> starting (PreStart) -> running -> ended -> deleted
 *
 * Each has one container, which asks for slots of one resource.  After a reboot the containers of pods that
 * had been admitted start again, without an Allocate.
 */
#pragma once

#include <glib.h>

typedef enum { POD_WAITING, POD_ADMITTING, POD_STARTING, POD_RUNNING, POD_ENDED } PodState;

/* What Allocate has answered. */
typedef struct {
	char **slots;
	char *directory; /* on the host, mounted at /run/rdmad; its name is the id of the allocation */
	char *id;	 /* borrowed from `directory` */
} Grant;

typedef struct {
	char *name, *uid;
	const char *resource;
	guint wanted;
	PodState state;
	gboolean has_cgroup, has_process;
	Grant *had;   /* what its process was started with, or NULL */
	Grant *grant; /* in kubelet's books; NULL: it has none, or has forgotten it */
	gint64 ended_us;
	gint64 cleaned_us; /* when kubelet will remove its cgroup; 0: not decided */
	gint64 since_us;   /* of its grant */
} Pod;

void pods_begin(void);
void pods_end(void);
/* All that are not deleted, the oldest first. */
GPtrArray *pods_all(void);
Pod *pods_create(const char *resource, guint wanted);
void pods_delete(Pod *pod);

Grant *grant_new(const char *const *slots, const char *directory);
void grant_free(Grant *grant);

/* Its container is made, and then runs. */
void pod_begin(Pod *pod);
void pod_run(Pod *pod);
/* The container ends, and stays so. */
void pod_exit(Pod *pod);
/* Its cgroup is removed. */
void pod_clean(Pod *pod);
/* All processes of the machine have ended. */
void pods_reboot(void);
