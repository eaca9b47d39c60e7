/* SPDX-License-Identifier: Apache-2.0 */
#include "http/access/host.h"

#include <arpa/inet.h>
#include <string.h>

/* Accepts "" and ":9889". */
static gboolean is_port(const char *text)
{
	if (!*text)
		return TRUE;
	return *text == ':' && text[1 + strspn(text + 1, "0123456789")] == '\0';
}

/* Returns the name without port, brackets and final dot; NULL if the header is invalid. */
static char *host_name(const char *host)
{
	const gboolean brackets = *host == '[';
	gsize length = strcspn(host, brackets ? "]" : ":");

	if (!host[length] && brackets)
		return NULL;
	if (!is_port(host + length + brackets))
		return NULL;
	if (brackets)
		return g_strndup(host + 1, length - 1);
	if (length && host[length - 1] == '.')
		length--;
	return g_ascii_strdown(host, length);
}

static gboolean is_address(int family, const char *name)
{
	struct in6_addr address;

	return inet_pton(family, name, &address) == 1;
}

/* Compares the whole name of the node, or its first label.  Rejects longer names such as
 * "gpu-7.evil.example". */
static gboolean is_node(const char *name, const char *node)
{
	g_autofree char *own = g_ascii_strdown(node, -1);
	const gsize own_length = strcspn(own, "."), length = strcspn(name, ".");

	if (!own_length || length != own_length || strncmp(name, own, length) != 0)
		return FALSE;
	return !name[length] || g_str_equal(name, own);
}

gboolean http_host_is_local(const char *host, const char *node)
{
	g_autofree char *name = host_name(host);

	if (!name || *host == '[')
		return name && is_address(AF_INET6, name);
	return is_address(AF_INET, name) || g_str_equal(name, "localhost") ||
	       g_str_has_suffix(name, ".localhost") || is_node(name, node);
}
