/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods, as the API server and the kernel know them, independent of kubelet
 *
 *	waiting -> admission (Allocate) -> starting (PreStart) -> running -> ended -> deleted
 *
 * Each has one container, which requests slots of one resource.  After a reboot, the containers of
 * admitted pods start again without an Allocate.
 */
#pragma once

#include <glib.h>

typedef enum { POD_WAITING, POD_ADMITTING, POD_STARTING, POD_RUNNING, POD_ENDED } PodState;

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
	guint wanted;
	PodState state;
	gboolean has_process;
	Grant *had;   /* the grant when its process was started, or NULL */
	Grant *grant; /* the grant that kubelet knows; NULL: none, or forgotten */
	gint64 ended_us;
	gint64 since_us; /* time of the grant */
} Pod;

void pods_begin(void);
void pods_end(void);
/* Returns all pods that are not deleted, oldest first. */
GPtrArray *pods_all(void);
Pod *pods_create(const char *resource, guint wanted);
void pods_delete(Pod *pod);

Grant *grant_new(const char *const *slots, const char *directory);
void grant_free(Grant *grant);

/* Creates and starts the container. */
void pod_begin(Pod *pod);
void pod_run(Pod *pod);
/* Ends the container; `restarts`: kubelet will start it again. */
void pod_exit(Pod *pod);
/* Ends all processes of the machine. */
void pods_reboot(void);
