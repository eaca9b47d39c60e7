/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internals of the HTTP server: ownership
 *
 *	RdmadHttp -> routes
 *	          -> listeners -> connections -> at most one request
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
#define HTTP_WAIT_MS	30000u	/* for the turn to build its response */
#define HTTP_ANSWER_MS	300000u /* for an asynchronous handler */
#define HTTP_SEND_MS	60000u	/* for the client to read the whole response */
#define HTTP_LINGER_MS	2000u	/* for the client to read the error response */

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
	char *name; /* address or path, as configured */
	RdmadHttpScope scope;
	int fd;
	RdmadEvent *io, *retry;
	HttpWeb *web;	    /* NULL: neither TLS nor passwords */
	GQueue connections; /* HttpConnection, oldest first */
	gboolean started;   /* a handshake step ran in this iteration of the loop */
	RdmadEvent *next_turn;
	RdmadUnixFile file; /* of the control socket */
} HttpListener;

struct RdmadHttp {
	RdmadLoop *loop;
	RdmadHttpLimits limits;
	guint places;	      /* connections of each listener: max_connections, or fewer */
	GPtrArray *routes;    /* HttpRoute */
	GPtrArray *listeners; /* HttpListener */
	RdmadStat *requests, *connections;
	GPtrArray *webs; /* HttpWeb, borrowed */
	HttpTurns *turns;
	RdmadWorkers *workers;
	const HttpTlsClass *tls;     /* NULL until needed */
	const HttpCryptClass *crypt; /* NULL until needed */
	const RdmadFetcher *fetcher; /* NULL until needed */
	struct HttpFetchLoop *fetch_loop;
	char **hosts;	    /* names of this host on loopback, besides its own; or NULL */
	char **predecessor; /* addresses of the running rdmad, or NULL */
	RdmadHttpLoad load;
	gpointer load_data;
};

struct RdmadHttpRequest {
	HttpConnection *connection;
	RdmadModule *owner; /* of the route */
	RdmadHttpHead head;
	const char *tail; /* rest of the path, below a route that ends in "/" and an asterisk */
	guint8 *body;
	gsize body_size;
	GString *headers; /* of the response */
	gboolean parked;
	void (*gone)(gpointer data);
	gpointer gone_data;
};

typedef enum {
	HTTP_STARTING, /* handshake of the transport */
	HTTP_READING,  /* between requests, or a request is incomplete */
	HTTP_CHECKING, /* the password is checked */
	HTTP_WAITING,  /* queued for its turn */
	HTTP_HANDLING,
	HTTP_SENDING,
	HTTP_LINGERING, /* response sent and shut down; further input is dropped */
} HttpState;

struct HttpConnection {
	HttpListener *listener;
	GList node;
	int fd;
	HttpTransport *transport;
	RdmadEvent *io, *deadline;
	HttpState state;
	GByteArray *in;
	HttpOutput out; /* while SENDING */
	gint64 sending_since_us;
	gsize scanned;		   /* of `in`, for the end of the head */
	RdmadHttpRequest *request; /* while HANDLING, or while its body is read */
	HttpPeer peer;
	HttpTurn turn;	     /* while WAITING or HANDLING, at a public listener */
	HttpUsers *checking; /* while CHECKING */
	gboolean head_only, close_after, linger_after;
	gboolean admitted; /* the request needs no password, or has a correct one */
	gboolean greeted;  /* the client's first bytes are those of TLS */
	gboolean is_local; /* its local address is a loopback address */
	gboolean lost;	   /* its events cannot be watched any more: the deadline closes it */
	gboolean stepping; /* inside connection_step(): responses need not call it */
	gsize drained;
};

/* Sets the deadline of the current state. */
void http_connection_arm(HttpConnection *c, guint timeout_ms);
/* Passes the request to its handler. */
void http_connection_handle(HttpConnection *c);
/* Continues reading after a check. */
void http_connection_resume(HttpConnection *c);

#define HTTP_BACKLOG 128

/* connection.c.  Takes the descriptor over.  `peer` is NULL on the control socket. */
void http_connection_new(HttpListener *listener, int fd, const HttpPeer *peer);
void http_connection_free(HttpConnection *c);
/* Returns whether its client has not read the whole response for that time. */
gboolean http_connection_is_slow(const HttpConnection *c, gint64 patience_us);
/* Returns TRUE if no request is complete, so the connection may be closed to make room. */
gboolean http_connection_is_idle(const HttpConnection *c);
/* Replaces the request by its response, which is sent in its turn.  Takes `body` over. */
void http_connection_answer(HttpConnection *c, guint status, const char *content_type,
			    GBytes *body);
/* Sends the server's error response, {"error": ...}, then closes the connection. */
void http_connection_refuse(HttpConnection *c, guint status, const char *text);

/* request.c */
void http_request_free(RdmadHttpRequest *request);

/* listener.c.  Takes the descriptor over. */
HttpListener *http_listener_new(RdmadHttp *http, RdmadModule *owner, const char *name,
				RdmadHttpScope scope, int fd, GError **error);
guint http_listener_parked(const HttpListener *listener);
/* Returns the bytes of responses that clients have not read; 0 for the control socket. */
gsize http_listener_unsent(const HttpListener *listener);
/* Closes a connection whose client has not read its response for that time.  Returns FALSE if there
 * is none, and for the control socket. */
gboolean http_listener_close_slow(HttpListener *listener, gint64 patience_us);
void http_listener_free(HttpListener *listener);

/* socket.c: returns a listening descriptor, or -1. */
int http_socket_tcp(const char *address, GError **error);
/* Returns the number of connections for each of `n_listeners`, from the limit of open files. */
guint http_socket_places(guint n_listeners, guint max_connections);

/* stats.c */
void http_stats_init(RdmadHttp *http);
void http_stats_answered(const HttpListener *listener, guint status);
/* Call after a connection was opened or closed. */
void http_stats_connections(const HttpListener *listener);
void http_stats_listener_removed(const HttpListener *listener);

/* access/admit.c: returns TRUE if the request may be served, else it was rejected or waits for the
 * password check. */
gboolean http_connection_admit(HttpConnection *c);

/* server.c: calls the handler of the route, or sends an error response. */
void http_dispatch(RdmadHttpRequest *request);

typedef struct {
	const char *name, *value;
} HttpHeader;

typedef struct {
	guint status;
	const char *content_type; /* may be NULL */
	const char *headers;	  /* complete lines, which override the server's; may be NULL */
	gsize body_size;
	const GPtrArray *web_headers; /* WebHeader, which override the server's; may be NULL */
	gboolean close, is_public;
} HttpAnswer;

/* response.c: status line with headers, and the body of an error response. */
char *http_answer_head(const HttpAnswer *answer, gsize *size);
char *http_answer_error(const char *text);
