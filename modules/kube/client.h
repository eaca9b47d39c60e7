/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to the API server.  Each uses the current token, and is sent once more if the server
 * rejects a token that was replaced meanwhile.  The client counts the requests and keeps the last
 * error.
 *
 * The state of the API server is that of the problems: each is the error of something that is
 * requested again until it succeeds, and is over as soon as it is not due any more.
 */
#pragma once

#include <jansson.h>
#include <rdmad/module.h>

#include "settings.h"

#define KUBE_WATCH_STABLE_US (5 * G_USEC_PER_SEC) /* a watch that ends earlier has failed */

typedef struct KubeClient KubeClient;
typedef struct KubeCall KubeCall;
typedef struct KubeProblem KubeProblem;

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
	/* Called when the response begins, with a status of 2xx, before the first line.  May be
	 * NULL. */
	void (*begun)(gpointer data);
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

/* Returns the delay after `failures` consecutive failures, from 1: doubled with each up to
 * `retry_max`, half of it random, and at least what the server requests. */
guint kube_client_back_off_ms(const KubeClient *client, guint failures, guint retry_after_ms);

/* ---- problems ---- */

KubeProblem *kube_problem_new(KubeClient *client);
void kube_problem_free(KubeProblem *problem);
/* The last request failed. */
void kube_problem_set(KubeProblem *problem, guint status, const GError *error);
/* The last request succeeded, or what it was for is not due any more. */
void kube_problem_clear(KubeProblem *problem);
/* Returns the error of the last request, borrowed; NULL: there is no problem. */
const char *kube_problem_text(const KubeProblem *problem);
/* Adds a finding if there is a problem.  `without_right` is the advice if the server denies the
 * request. */
void kube_problem_doctor(const KubeProblem *problem, const char *subject, const char *without_right,
			 json_t *findings);

/* {"server", "state", "last_success", "last_error_time", "last_error"} */
json_t *kube_client_status(const KubeClient *client);
void kube_client_doctor(const KubeClient *client, json_t *findings);
