/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods, as the API server and the kernel know them, independent of kubelet
 *
 *	waiting -> admission (Allocate) -> starting (PreStart) -> running -> ended -> deleted
 *	                                                          running -> forced -> deleted
 *
 * Each has one container, which requests slots of one resource; some have an init container before
 * it, which requests slots of the same.  After a reboot, the containers of admitted pods start
 * again without an Allocate.
 */
#pragma once

#include "decisions.h"

#define POD_GRANTS_MAX 3u

typedef enum {
	POD_WAITING,
	POD_ADMITTING,
	POD_STARTING,
	POD_RUNNING,
	POD_FORCED,
	POD_ENDED
} PodState;

/* A response of Allocate. */
typedef struct {
	char **slots;
	/* On the host, mounted at /run/rdmad; its name is the ID of the allocation. */
	char *directory;
	char *id; /* borrowed from `directory` */
} Grant;

typedef struct {
	char *name, *uid;
	const char *resource;
	guint wanted, init_wanted; /* by its container, and by its init container; 0: it has none */
	PodState state;
	/* It was sent to this node although there may be no slots: by a scheduler that did not know
	 * it yet, or as a static pod.  Others wait until there are. */
	gboolean is_bound;
	gboolean has_cgroup, has_sandbox;
	gboolean has_process; /* of a container */
	gboolean is_set_up;   /* its init container has ended */
	/* Kubelet has started a boot with it, or has lost its checkpoint. */
	gboolean may_be_readmitted;
	Grant *had;	      /* the grant when its process was started, or NULL */
	Grant *grant, *init;  /* the grants that kubelet knows; NULL: none, or forgotten */
	gint64 init_until_us; /* end of its init container, while it runs */
	gint64 ended_us;
	gint64 cleaned_us;	/* time at which kubelet will remove its cgroup; 0: not decided */
	gint64 since_us;	/* time of the grant */
	gint64 listed_us;	/* when a List with its grant was sent last; 0: none */
	gint64 forced_until_us; /* end of its processes; FORCED */
} Pod;

void pods_begin(Decisions *decisions);
void pods_end(void);
/* Returns all pods that are not deleted, oldest first. */
GPtrArray *pods_all(void);
/* NULL: it is deleted. */
Pod *pods_find(const char *uid);
Pod *pods_create(const char *resource, guint wanted, guint init_wanted);
void pods_delete(Pod *pod);

Grant *grant_new(const char *const *slots, const char *directory);
void grant_free(Grant *grant);

/* Returns whether a running init container was forgotten by kubelet: no list will show its
 * slots. */
gboolean pod_has_forgotten_init(const Pod *pod);
/* Collects the grants of its processes and of kubelet's checkpoint; returns their number. */
guint pod_grants(const Pod *pod, const Grant *grants[POD_GRANTS_MAX]);
/* Returns the grant of the container that starts next. */
Grant *pod_next_grant(const Pod *pod);
/* Creates the cgroup, then starts the sandbox's process, then that container; an init container
 * runs until that time. */
void pod_begin(Pod *pod);
void pod_make_sandbox(Pod *pod);
void pod_run(Pod *pod, gint64 init_until_us);
/* Ends the init container. */
void pod_set_up(Pod *pod);
/* Ends the container; kubelet will start it again with the same devices, or call Allocate if it has
 * forgotten them. */
void pod_restart(Pod *pod);
/* Kubelet forgets it, and its processes run until then. */
void pod_force(Pod *pod, gint64 until_us);
/* Ends all its containers for good. */
void pod_exit(Pod *pod);
/* Removes its cgroup. */
void pod_clean(Pod *pod);
/* Ends all processes of the machine. */
void pods_reboot(void);
