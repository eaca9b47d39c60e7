/* SPDX-License-Identifier: Apache-2.0 */
/*
 * List and watch of one object
 *
 *	list -> watch -> (its end, or an error) watch ... -> (410, or an invalid line) list
 *
 * An error, and the end of a watch within five seconds, double the delay before the next request.
 */
#pragma once

#include "client.h"

typedef struct KubeWatch KubeWatch;

typedef struct {
	const char *path;     /* "/api/v1/nodes" */
	const char *resource; /* "nodes", for messages */
	/* `object` is valid during the call. */
	void (*changed)(const json_t *object, gpointer data);
	/* The object does not exist: it was deleted, or the list is empty. */
	void (*removed)(gpointer data);
} KubeWatchClass;

/* Watches the one object that `selector` selects ("metadata.name=n1"). */
KubeWatch *kube_watch_new(RdmadModule *self, KubeClient *client, const KubeSettings *settings,
			  const KubeWatchClass *klass, const char *selector, gpointer data);
void kube_watch_free(KubeWatch *watch);

/* Passes the object of the response to another request.  `changed` is called if it is newer than
 * the watch's, and older events of the watch are then dropped. */
void kube_watch_update(KubeWatch *watch, const json_t *object);

/* Returns the seconds since the last valid line or list; -1: none yet. */
double kube_watch_age(const KubeWatch *watch);
/* {"state", "resource_version", "age", "error"} */
json_t *kube_watch_status(const KubeWatch *watch);
/* Returns the problem of the requests: it is over when a line comes, or a watch has lasted five
 * seconds. */
const KubeProblem *kube_watch_problem(const KubeWatch *watch);
