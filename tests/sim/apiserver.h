/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The API server of Kubernetes: the Node of this machine with its history, its pods, and Events
 *
 * Sources: the API's conventions for resourceVersion, watch, bookmarks, status 410 and JSON merge
 * patch, and tests/integration/test-kube.py.
 */
#pragma once

#include <rdmad/fetch.h>

#include "decisions.h"

#define APISERVER_URL  "https://192.0.2.1:6443"
#define APISERVER_NODE "node-1"

typedef struct {
	guint status; /* 0: the connection is refused */
	char *body;   /* g_free(); NULL for a watch */
	guint retry_after_s;
	guint watch_s;	  /* the time that a watch lasts; 0: none */
	guint64 version;  /* that a watch has got */
	gboolean is_lost; /* the response never comes */
} ApiResponse;

void apiserver_begin(Decisions *decisions);
void apiserver_end(void);
/* Some requests fail, in several ways, and the history is short. */
void apiserver_set_failing(gboolean fails);
/* Somebody changes or removes a label of the Node, or kubelet makes the Node again. */
void apiserver_change(void);

/* ---- for fetcher.c ---- */

void apiserver_ask(const RdmadFetchSpec *spec, ApiResponse *response);
/* Returns the lines of a watch that are new, and moves its version; g_free().  NULL: there are
 * none. */
char *apiserver_lines(ApiResponse *watch);
/* Returns the line that a watch without changes gets each minute; g_free(). */
char *apiserver_bookmark(void);

/* ---- for the judge ---- */

/* Returns the labels of the Node. */
GHashTable *apiserver_labels(void);
