/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods, as the API server and the kernel know them, whatever kubelet has forgotten
 *
 *	waiting -> admission (Allocate) -> starting (PreStart) -> running -> ended -> deleted
 *
 * Each has one container, which asks for slots of one resource, and some an init container before it, which asks for
 * slots of the same.  After a reboot the containers of pods that had been admitted start again, without an Allocate.
 */
#pragma once

#include <glib.h>

#define POD_GRANTS_MAX 3u

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
	guint wanted, init_wanted; /* by its container, and by its init container; 0: it has none */
	PodState state;
	gboolean has_cgroup, has_sandbox;
	gboolean has_process; /* of a container */
	gboolean is_set_up;   /* its init container has ended */
	Grant *had;	      /* what its process was started with, or NULL */
	Grant *grant, *init;  /* in kubelet's books; NULL: it has none, or has forgotten it */
	gint64 init_until_us; /* while its init container runs */
	gint64 ended_us;
	gint64 cleaned_us; /* when kubelet will remove its cgroup; 0: not decided */
	gint64 since_us;   /* of its grant */
} Pod;

void pods_begin(void);
void pods_end(void);
/* All that are not deleted, the oldest first. */
GPtrArray *pods_all(void);
/* NULL: it is deleted. */
Pod *pods_find(const char *uid);
Pod *pods_create(const char *resource, guint wanted, guint init_wanted);
void pods_delete(Pod *pod);

Grant *grant_new(const char *const *slots, const char *directory);
void grant_free(Grant *grant);

/* An init container runs that kubelet has forgotten: no list will ever show what it has. */
gboolean pod_has_forgotten_init(const Pod *pod);
/* The grants that it was promised, by its processes and kubelet's books; returns how many. */
guint pod_grants(const Pod *pod, const Grant *grants[POD_GRANTS_MAX]);
/* The grant of the container that starts next. */
Grant *pod_next_grant(const Pod *pod);
/* Its cgroup is made, and then that container runs, an init container until that time. */
void pod_begin(Pod *pod);
void pod_run(Pod *pod, gint64 init_until_us);
/* The init container has ended. */
void pod_set_up(Pod *pod);
/* The container ends, and kubelet will start it again, with what it has for it. */
void pod_restart(Pod *pod);
/* All its containers end, and stay so. */
void pod_exit(Pod *pod);
/* Its cgroup is removed. */
void pod_clean(Pod *pod);
/* All processes of the machine have ended. */
void pods_reboot(void);
