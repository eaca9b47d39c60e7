/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/instance.h"

#include <rdmad/error.h>
#include <string.h>

#define NAME_MAX_BYTES 255u

gboolean rdmad_instance_name_check(const char *name, GError **error)
{
	gsize length = 0;

	while (g_ascii_isgraph(name[length]))
		length++;
	if (length >= 1 && length <= NAME_MAX_BYTES && !name[length])
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG,
		    "\"%.80s\" cannot be the name of an instance: it has 1 to %u printable ASCII "
		    "characters and no space",
		    name, NAME_MAX_BYTES);
	return FALSE;
}

static int compare_names(gconstpointer a, gconstpointer b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

char *rdmad_instance_default_name(const char *config, char *const *modules)
{
	const guint n = modules ? g_strv_length((char **)modules) : 0;
	g_autofree const char **sorted = g_memdup2(modules, n * sizeof(*modules));
	GString *name = g_string_new(config);

	if (n)
		qsort(sorted, n, sizeof(*sorted), compare_names);
	for (guint i = 0; i < n; i++)
		g_string_append_printf(name, "%s--module=%s", name->len ? " " : "", sorted[i]);
	if (!name->len)
		g_string_append(name, "no file");
	return g_string_free(name, FALSE);
}

RdmadInstance *rdmad_instance_new(const char *name, const char *config,
				  const RdmadLockHolder *holder)
{
	RdmadInstance *instance = g_new0(RdmadInstance, 1);

	instance->name = g_strdup(name);
	instance->config = g_strdup(config);
	instance->holder = *holder;
	return instance;
}

void rdmad_instance_free(RdmadInstance *instance)
{
	if (!instance)
		return;
	g_free(instance->name);
	g_free(instance->config);
	g_free(instance);
}

gboolean rdmad_instance_equal(const RdmadInstance *a, const RdmadInstance *b)
{
	return g_str_equal(a->name, b->name);
}

char *rdmad_instance_text(const RdmadInstance *instance)
{
	return g_strdup_printf("instance %s (process %d, %s%s)", instance->name,
			       (int)instance->holder.pid,
			       instance->config ? "configuration " : "no configuration file",
			       instance->config ?: "");
}

/* ---- in messages ---- */

json_t *rdmad_instance_to_json(const RdmadInstance *instance)
{
	/* JSON's integers have a sign. */
	return json_pack("{s:s, s:s*, s:i, s:I}", "instance", instance->name, "config",
			 instance->config, "pid", (int)instance->holder.pid, "id",
			 (json_int_t)instance->holder.id);
}

RdmadInstance *rdmad_instance_from_json(const json_t *object)
{
	const json_t *id = json_object_get(object, "id");
	const char *name = json_string_value(json_object_get(object, "instance"));
	const RdmadLockHolder holder = {
		.pid = (pid_t)json_integer_value(json_object_get(object, "pid")),
		.id = (guint64)json_integer_value(id),
	};

	if (!name || !json_is_integer(id))
		return NULL;
	return rdmad_instance_new(name, json_string_value(json_object_get(object, "config")),
				  &holder);
}
