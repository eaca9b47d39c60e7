/* SPDX-License-Identifier: Apache-2.0 */
#include "http/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <rdmad/error.h>
#include <rdmad/http.h>
#include <string.h>

#define FORMS "\"127.0.0.1:9889\", \"[::1]:9889\" or \":9889\""

static gboolean address_error(const char *text, const char *what, GError **error)
{
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
		    "listen address \"%s\": %s; it is written " FORMS, text, what);
	return FALSE;
}

static gboolean parse_port(const char *text, guint16 *port)
{
	guint64 value;

	if (!g_ascii_isdigit(*text) ||
	    !g_ascii_string_to_unsigned(text, 10, 1, 65535, &value, NULL))
		return FALSE;
	*port = htons(value);
	return TRUE;
}

static gboolean parse_v4(const char *host, RdmadHttpAddress *address)
{
	struct sockaddr_in *in = (void *)&address->addr;

	in->sin_family = AF_INET;
	in->sin_port = address->port;
	address->size = sizeof(*in);
	return inet_pton(AF_INET, host, &in->sin_addr) == 1;
}

static gboolean parse_v6(const char *host, RdmadHttpAddress *address)
{
	struct sockaddr_in6 *in6 = (void *)&address->addr;

	in6->sin6_family = AF_INET6;
	in6->sin6_port = address->port;
	address->size = sizeof(*in6);
	return inet_pton(AF_INET6, host, &in6->sin6_addr) == 1;
}

gboolean rdmad_http_address_parse(const char *text, RdmadHttpAddress *address, GError **error)
{
	const char *colon = strrchr(text, ':');
	g_autofree char *host = NULL;
	gsize length;

	*address = (RdmadHttpAddress){ 0 };
	if (!colon || !parse_port(colon + 1, &address->port))
		return address_error(text, "no port from 1 to 65535 at its end", error);
	host = g_strndup(text, colon - text);
	length = strlen(host);
	if (length == 0) {
		address->any = TRUE;
		return parse_v6("::", address);
	}
	if (*host != '[')
		return parse_v4(host, address) || address_error(text, "not an IPv4 address", error);
	if (host[length - 1] != ']')
		return address_error(text, "the ] is missing", error);
	host[length - 1] = '\0';
	return parse_v6(host + 1, address) || address_error(text, "not an IPv6 address", error);
}

gboolean rdmad_http_address_check(const char *text, GError **error)
{
	RdmadHttpAddress address;

	return rdmad_http_address_parse(text, &address, error);
}
