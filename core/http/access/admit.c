/* SPDX-License-Identifier: Apache-2.0 */
/* Admission of a request: checks its host, rate and password before anything else */
#include <string.h>
#include <sys/utsname.h>

#include "http/access/host.h"
#include "http/server.h"

#define CHECK_MS 60000u

/* A browser sends no password of another site, and has no certificate for rdmad, so listeners that
 * require either need no check of the host.  A path open to everyone needs it. */
static gboolean host_is_allowed(const HttpConnection *c)
{
	HttpWeb *web = c->listener->web;
	const char *host = rdmad_http_head_field(&c->request->head, "Host");
	struct utsname node;

	if (!c->is_local || !host || uname(&node) < 0)
		return TRUE;
	if (web && (http_web_users(web, c->request->head.path) || http_web_wants_certificates(web)))
		return TRUE;
	return http_host_is_local(host, node.nodename, c->listener->http->hosts);
}

/* Closes the connection if the request has a body: unread, it would be parsed as the next
 * request. */
static void refuse(HttpConnection *c, guint status, const char *text)
{
	if (c->request->head.content_length)
		http_connection_refuse(c, status, text);
	else
		rdmad_http_fail(c->request, status, "%s", text);
}

static void refuse_temporarily(HttpConnection *c, guint status, const char *text)
{
	rdmad_http_add_header(c->request, "Retry-After", "1");
	refuse(c, status, text);
}

static gboolean apply_result(HttpConnection *c, HttpAuth answer)
{
	if (answer == HTTP_AUTH_YES) {
		c->admitted = TRUE;
		return TRUE;
	}
	if (answer == HTTP_AUTH_BUSY) {
		refuse_temporarily(c, 503, "too many passwords are being checked");
		return FALSE;
	}
	rdmad_http_add_header(c->request, "WWW-Authenticate",
			      "Basic realm=\"rdmad\", charset=\"UTF-8\"");
	refuse(c, 401, "a name and a password are needed");
	return FALSE;
}

static void check_done(HttpAuth answer, gpointer data)
{
	HttpConnection *c = data;

	c->checking = NULL;
	if (apply_result(c, answer))
		http_connection_resume(c);
}

static gboolean check_password(HttpConnection *c, HttpUsers *users)
{
	const char *authorization = rdmad_http_head_field(&c->request->head, "Authorization");
	HttpAuth answer;

	/* Set before the call, which may run the callback itself. */
	c->state = HTTP_CHECKING;
	c->checking = users;
	http_connection_arm(c, CHECK_MS);
	answer = http_users_ask(users, &c->peer, authorization, check_done, c);
	if (answer == HTTP_AUTH_LATER)
		return FALSE;
	c->checking = NULL;
	c->state = HTTP_READING;
	return apply_result(c, answer);
}

gboolean http_connection_admit(HttpConnection *c)
{
	HttpWeb *web = c->listener->web;
	HttpUsers *users;

	if (web)
		http_web_refresh(web);
	if (!host_is_allowed(c)) {
		refuse(c, 421,
		       "this is not the host of that name; ask by address or as localhost, or list "
		       "the name in "
		       "http.hosts");
		return FALSE;
	}
	if (web && !http_web_admits(web)) {
		refuse_temporarily(c, 429, "too many requests");
		return FALSE;
	}
	users = web ? http_web_users(web, c->request->head.path) : NULL;
	if (users)
		return check_password(c, users);
	c->admitted = TRUE;
	return TRUE;
}
