/* SPDX-License-Identifier: Apache-2.0 */
/*
 * List and watch of a few objects
 *
 *	list -> watch -> (its end) watch ... -> (410, an error, a line that is none) list
 *
 * Each end that comes early is waited for longer than the one before.
 */
#pragma once

#include "client.h"

typedef struct KubeWatch KubeWatch;

typedef struct {
	const char *path;     /* "/api/v1/nodes" */
	const char *resource; /* "nodes": for the status */
	/* `object` is borrowed. */
	void (*changed)(const json_t *object, gpointer data);
	/* NULL: one that the last list did not have, or all of them, where there is but one. */
	void (*removed)(gpointer data);
} KubeWatchClass;

/* Of the one object that `selector` selects ("metadata.name=n1"). */
KubeWatch *kube_watch_new(RdmadModule *self, KubeClient *client, const KubeSettings *settings,
			  const KubeWatchClass *klass, const char *selector, gpointer data);
void kube_watch_free(KubeWatch *watch);

/* The object is that of the response to another request, which may be older than what the watch has given, or
 * newer: `changed` is called if it is newer, and then the watch gives nothing that is older. */
void kube_watch_learn(KubeWatch *watch, const json_t *object);

/* Seconds since the last byte of sense; -1: there was none. */
double kube_watch_age(const KubeWatch *watch);
/* {"state", "resource_version", "age", "error"} */
json_t *kube_watch_status(const KubeWatch *watch);
const char *kube_watch_error(const KubeWatch *watch); /* NULL: none now */
