/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the HTTP server: who owns what
 *
 *	RdmadHttp -> routes
 *	          -> listeners -> connections -> at most one request under way
 */
#pragma once

#include "base/unix-socket.h"
#include "http/head.h"
#include "http/output.h"
#include "http/access/peer.h"
#include "http/http.h"
#include "http/transport.h"
#include "http/turns.h"
#include "http/access/users.h"
#include "http/access/web.h"

#define HTTP_START_MS	10000u	/* for a TLS handshake */
#define HTTP_REQUEST_MS 10000u	/* from the first byte of a request to its last */
#define HTTP_WAIT_MS	30000u	/* for its turn to have an answer built */
#define HTTP_ANSWER_MS	300000u /* for a handler that answers later */
#define HTTP_SEND_MS	60000u	/* for the client to take the whole answer */
#define HTTP_LINGER_MS	2000u	/* for the client to read why it was refused */

typedef struct {
	RdmadModule *owner;
	char *method, *path;
	RdmadHttpScope scope;
	RdmadHttpHandler handler;
	gpointer data;
} HttpRoute;

typedef struct {
	RdmadHttp *http;
	RdmadModule *owner;
	char *name; /* address or path, as it was given */
	RdmadHttpScope scope;
	int fd;
	RdmadEvent *io, *retry;
	HttpWeb *web;	    /* NULL: neither TLS nor passwords */
	GQueue connections; /* HttpConnection, oldest first */
	gboolean started;   /* a handshake was worked at in this turn of the loop */
	RdmadEvent *next_turn;
	RdmadUnixFile file; /* of the control socket */
} HttpListener;

struct RdmadHttp {
	RdmadLoop *loop;
	RdmadHttpLimits limits;
	guint places;	   /* connections that each listener may have: max_connections, or fewer */
	GPtrArray *routes; /* HttpRoute */
	GPtrArray *listeners; /* HttpListener */
	RdmadStat *requests, *connections;
	GPtrArray *webs; /* HttpWeb, borrowed */
	HttpTurns *turns;
	RdmadWorkers *workers;
	const HttpTlsClass *tls;     /* NULL until it is needed */
	const RdmadFetcher *fetcher; /* the same */
	struct HttpFetchLoop *fetch_loop;
	RdmadHttpLoad load;
	gpointer load_data;
};

struct RdmadHttpRequest {
	HttpConnection *connection;
	RdmadModule *owner; /* of the route */
	RdmadHttpHead head;
	const char *tail; /* of the path, below a route that ends in "/" and an asterisk */
	guint8 *body;
	gsize body_size;
	GString *headers; /* of the answer */
	gboolean parked;
	void (*gone)(gpointer data);
	gpointer gone_data;
};

typedef enum {
	HTTP_STARTING, /* the transport is not ready for bytes */
	HTTP_READING,  /* between requests, or a request is not all there */
	HTTP_CHECKING, /* whether the password is right */
	HTTP_WAITING,  /* for its turn */
	HTTP_HANDLING,
	HTTP_SENDING,
	HTTP_LINGERING, /* answered and shut down; later input is dropped */
} HttpState;

struct HttpConnection {
	HttpListener *listener;
	GList node;
	int fd;
	HttpTransport *transport;
	RdmadEvent *io, *deadline;
	HttpState state;
	GByteArray *in;
	HttpOutput out;		   /* while SENDING */
	gsize scanned;		   /* of `in`, for the end of the head */
	RdmadHttpRequest *request; /* while HANDLING, or while its body comes */
	HttpPeer peer;
	HttpTurn turn;	     /* while WAITING or HANDLING, at a public listener */
	HttpUsers *checking; /* while CHECKING */
	gboolean head_only, close_after, linger_after;
	gboolean admitted; /* the request under way needs no password, or has the right one */
	gboolean greeted;  /* the client began as one of TLS does */
	gboolean is_local; /* it came to a loopback address */
	gboolean lost;	   /* nothing can be waited for any more: its deadline ends it */
	gboolean stepping; /* inside connection_step(): answers need not call it */
	gsize drained;
};

/* Sets the deadline of its state. */
void http_connection_arm(HttpConnection *c, guint timeout_ms);
/* Has the request handled. */
void http_connection_handle(HttpConnection *c);
/* Reads on after a check. */
void http_connection_resume(HttpConnection *c);

#define HTTP_BACKLOG 128

/* connection.c; takes the descriptor over.  `peer` NULL on the control socket. */
void http_connection_new(HttpListener *listener, int fd, const HttpPeer *peer);
void http_connection_free(HttpConnection *c);
/* TRUE when no request is all there: it may be closed to make room. */
gboolean http_connection_is_idle(const HttpConnection *c);
/* Puts a whole answer in the place of the request, and sends it when the time has come.  Takes `body`
 * over. */
void http_connection_answer(HttpConnection *c, guint status, const char *content_type,
			    GBytes *body);
/* The server's own refusal: {"error": ...}, then the connection ends. */
void http_connection_refuse(HttpConnection *c, guint status, const char *text);

/* request.c */
void http_request_free(RdmadHttpRequest *request);

/* listener.c; take the descriptor over. */
HttpListener *http_listener_new(RdmadHttp *http, RdmadModule *owner, const char *name,
				RdmadHttpScope scope, int fd, GError **error);
guint http_listener_parked(const HttpListener *listener);
void http_listener_free(HttpListener *listener);

/* socket.c: a listening descriptor, or -1. */
int http_socket_tcp(const char *address, GError **error);
/* The number of connections for each of `n_listeners`, from the limit of open files. */
guint http_socket_places(guint n_listeners, guint max_connections);

/* stats.c */
void http_stats_init(RdmadHttp *http);
void http_stats_answered(const HttpListener *listener, guint status);
/* One came or went. */
void http_stats_connections(const HttpListener *listener);
void http_stats_listener_gone(const HttpListener *listener);

/* access/admit.c: TRUE when the request may be served; else it was refused, or waits for its check. */
gboolean http_connection_admit(HttpConnection *c);

/* access/web.c: RDMAD_ERROR_FAILED and others when TLS cannot be had. */
gboolean http_load_tls(RdmadHttp *http, GError **error);

/* server.c: finds the route and calls its handler, or refuses. */
void http_dispatch(RdmadHttpRequest *request);

typedef struct {
	const char *name, *value;
} HttpHeader;

typedef struct {
	guint status;
	const char *content_type; /* may be NULL */
	const char *headers;	  /* whole lines, which replace the server's own; may be NULL */
	gsize body_size;
	const GPtrArray *web_headers; /* WebHeader, which replace the server's own; may be NULL */
	gboolean close, is_public;
} HttpAnswer;

/* response.c: status line and headers, and the body of a refusal. */
char *http_answer_head(const HttpAnswer *answer, gsize *size);
char *http_answer_error(const char *text);
