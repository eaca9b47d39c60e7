/* SPDX-License-Identifier: Apache-2.0 */
#include "resource-name.h"

#include <rdmad/error.h>
#include <string.h>

/* Kubernetes prefixes the name with "requests." for quotas, and limits a subdomain to 253
 * characters. */
#define DOMAIN_MAX (253 - (sizeof("requests.") - 1))
#define BASE_MAX   63u

static gboolean name_refuse(const char *name, const char *why, GError **error)
{
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG, "\"%s\" is not a resource name: %s",
		    name, why);
	return FALSE;
}

static gboolean label_ok(const char *label)
{
	const size_t length = strlen(label);

	for (size_t i = 0; i < length; i++)
		if (!g_ascii_islower(label[i]) && !g_ascii_isdigit(label[i]) && label[i] != '-')
			return FALSE;
	return length > 0 && label[0] != '-' && label[length - 1] != '-';
}

static gboolean domain_ok(const char *domain)
{
	g_auto(GStrv) labels = g_strsplit(domain, ".", -1);

	for (guint i = 0; labels[i]; i++)
		if (!label_ok(labels[i]))
			return FALSE;
	return labels[0] != NULL && strlen(domain) <= DOMAIN_MAX;
}

static gboolean base_ok(const char *base)
{
	const size_t length = strlen(base);

	for (size_t i = 0; i < length; i++)
		if (!g_ascii_isalnum(base[i]) && !strchr("-_.", base[i]))
			return FALSE;
	return length > 0 && length <= BASE_MAX && g_ascii_isalnum(base[0]) &&
	       g_ascii_isalnum(base[length - 1]);
}

gboolean resource_name_check(const char *name, GError **error)
{
	const char *slash = strchr(name, '/');
	g_autofree char *domain = slash ? g_strndup(name, (gsize)(slash - name)) : NULL;

	if (!domain)
		return name_refuse(name, "it needs a domain and a slash, as \"rdma/hca\" has",
				   error);
	if (g_str_has_prefix(name, "requests."))
		return name_refuse(name, "\"requests.\" is kept for quotas", error);
	if (g_str_equal(domain, "kubernetes.io") || g_str_has_suffix(domain, ".kubernetes.io"))
		return name_refuse(name, "kubernetes.io is kept for Kubernetes itself", error);
	if (!domain_ok(domain))
		return name_refuse(name,
				   "before the slash stands a DNS name in lower-case letters, "
				   "digits, \"-\" and \".\"",
				   error);
	if (!base_ok(slash + 1))
		return name_refuse(
			name,
			"after the slash stand at most 63 letters, digits, \"-\", \"_\", "
			"\".\", a letter or digit first and last",
			error);
	return TRUE;
}

const char *resource_name_base(const char *name)
{
	const char *slash = strchr(name, '/');

	return slash ? slash + 1 : name;
}
