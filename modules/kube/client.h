/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to the API server.  Each uses the current token, and is sent once more if the server
 * rejects a token that was replaced meanwhile.  The client counts the requests and keeps the last error. */
#pragma once

#include <jansson.h>
#include <rdmad/module.h>

#include "settings.h"

#define KUBE_WATCH_STABLE_US (5 * G_USEC_PER_SEC) /* a watch that ends earlier has failed */

typedef struct KubeClient KubeClient;
typedef struct KubeCall KubeCall;

typedef struct {
	guint status;	      /* 0: no response */
	const json_t *object; /* NULL: an error, or the response was passed as lines */
	const GError *error;
	guint retry_after_ms; /* requested by the server; 0: not */
} KubeResult;

typedef struct {
	const char *verb; /* label of the metrics, "list" */
	const char *method;
	/* Called for each line; NULL: the whole response is one object. */
	void (*line)(const char *line, gsize length, gpointer data);
	/* Called once, after the call was freed. */
	void (*done)(const KubeResult *result, gpointer data);
} KubeCallClass;

KubeClient *kube_client_new(RdmadModule *self, const KubeSettings *settings, GError **error);
void kube_client_free(KubeClient *client);

/* Starts a request; `body` NULL: none, else kept by the caller.  `done` is called from the loop,
 * even if the request cannot be started. */
KubeCall *kube_client_call(KubeClient *client, const KubeCallClass *klass, const char *path,
			   const json_t *body, gpointer data);
/* Starts a request whose response is passed as lines, and that ends after `timeout_ms` at the
 * latest.  It is no error if its connection is lost when it is stable. */
KubeCall *kube_client_watch(KubeClient *client, const KubeCallClass *klass, const char *path,
			    guint timeout_ms, gpointer data);
/* Cancels a call, without callbacks.  `call` may be NULL. */
void kube_call_cancel(KubeCall *call);

/* Returns the delay after `failures` consecutive failures, from 1: doubled with each up to `retry_max`,
 * half of it random, and at least what the server requests. */
guint kube_client_back_off_ms(const KubeClient *client, guint failures, guint retry_after_ms);

/* {"server", "state", "last_success", "last_error_time", "last_error"} */
json_t *kube_client_status(const KubeClient *client);
void kube_client_doctor(const KubeClient *client, json_t *findings);
