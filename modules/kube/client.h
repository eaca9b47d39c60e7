/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to the API server, each with the token that there is then; counts, and the last error. */
#pragma once

#include <jansson.h>
#include <rdmad/module.h>

#include "settings.h"

typedef struct KubeClient KubeClient;
typedef struct KubeCall KubeCall;

typedef struct {
	guint status;	      /* 0: there is no response */
	const json_t *object; /* NULL: an error, or it was given in lines */
	const GError *error;
	guint retry_after_ms; /* what the server asks for; 0: nothing */
} KubeResult;

typedef struct {
	const char *verb; /* "list": for the counts */
	const char *method;
	/* NULL: the whole response is an object. */
	void (*line)(const char *line, gsize length, gpointer data);
	/* Called once; the call is gone before it. */
	void (*done)(const KubeResult *result, gpointer data);
} KubeCallClass;

KubeClient *kube_client_new(RdmadModule *self, const KubeSettings *settings, GError **error);
void kube_client_free(KubeClient *client);

/* `body` NULL: none; it is not taken over.  A call that cannot even begin is done from the loop, too. */
KubeCall *kube_client_call(KubeClient *client, const KubeCallClass *klass, const char *path,
			   const json_t *body, gpointer data);
/* One whose response is given in lines, and ends after `timeout_ms` at the latest. */
KubeCall *kube_client_watch(KubeClient *client, const KubeCallClass *klass, const char *path,
			    guint timeout_ms, gpointer data);
/* Neither callback comes after it.  NULL is fine. */
void kube_call_cancel(KubeCall *call);

/* How long to wait after `failures` failures in a row, the first being 1: doubled with each, half of it by
 * chance, and at least what the server asks for. */
guint kube_client_back_off_ms(const KubeClient *client, guint failures, guint retry_after_ms);

/* {"server", "state", "last_success", "last_error"} */
json_t *kube_client_status(const KubeClient *client);
void kube_client_doctor(const KubeClient *client, json_t *findings);
