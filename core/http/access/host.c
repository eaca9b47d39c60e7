/* SPDX-License-Identifier: Apache-2.0 */
#include "http/access/host.h"

#include <arpa/inet.h>
#include <rdmad/error.h>
#include <string.h>

#include "http/http.h"

#define NAME_MAX_LENGTH	 253u
#define LABEL_MAX_LENGTH 63u

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

/* "*.example.com" is all names below it. */
static gboolean is_named(const char *name, const char *entry)
{
	const gboolean below = g_str_has_prefix(entry, "*.");
	const char *own = entry + (below ? 1 : 0);
	const gsize length = strlen(own) - (g_str_has_suffix(own, ".") ? 1 : 0);
	const gsize name_length = strlen(name);

	if (below ? name_length <= length : name_length != length)
		return FALSE;
	return g_ascii_strncasecmp(name + name_length - length, own, length) == 0;
}

static gboolean is_one_of(const char *name, char *const *names)
{
	for (; names && *names; names++)
		if (is_named(name, *names))
			return TRUE;
	return FALSE;
}

static gboolean label_is_valid(const char *label)
{
	const gsize length = strlen(label);

	return length && length <= LABEL_MAX_LENGTH &&
	       length == strspn(label, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "-_");
}

/* A final dot is allowed. */
static gboolean name_is_valid(const char *name)
{
	g_auto(GStrv) labels = g_strsplit(name, ".", -1);
	const guint n = g_strv_length(labels);
	const guint end = n > 1 && !labels[n - 1][0] ? n - 1 : n;

	for (guint i = 0; i < end; i++)
		if (!label_is_valid(labels[i]))
			return FALSE;
	return end > 0 && strlen(name) <= NAME_MAX_LENGTH;
}

gboolean rdmad_http_host_check(const char *name, GError **error)
{
	if (name_is_valid(name + (g_str_has_prefix(name, "*.") ? 2 : 0)))
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
		    "invalid host name \"%s\": write \"rdmad.example.com\", without a port, or "
		    "\"*.example.com\" for all names below it",
		    name);
	return FALSE;
}

gboolean http_host_is_local(const char *host, const char *node, char *const *names)
{
	g_autofree char *name = host_name(host);

	if (!name || *host == '[')
		return name && is_address(AF_INET6, name);
	return is_address(AF_INET, name) || g_str_equal(name, "localhost") ||
	       g_str_has_suffix(name, ".localhost") || is_node(name, node) ||
	       is_one_of(name, names);
}
