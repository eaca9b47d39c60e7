/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The core's keys
 *
 *	log = { level = "info"; format = "auto"; topics = { loop = "debug"; }; };
 *	run_dir = "/run/rdmad";			these two: see base/default-dirs.h
 *	state_dir = "/var/lib/rdmad";
 *	module_dir = "...";			as built
 *	attributes = ( { name = "label:x"; value = "y"; } );		see settings-attributes.c
 *	kubelet = { root_dir = "/var/lib/kubelet"; };
 *	http = { max_connections = 64; idle_timeout = "30s"; max_header = "16K"; max_body = "1M";
 *		 hosts = ( ); };
 *	seccomp = "enforce";			"log", "off": system calls that are not expected
 *	instance = "kube-system/rdmad";		see instance.h
 *	profile = "vke";			overridden by this file; see rdmad_config_load()
 *	include = "conf.d";			directory of more files, beside this one
 *	modules = { ... };			see settings-modules.c
 *
 * The command line overrides the configuration.
 */
#include "daemon/settings.h"

#include <rdmad/error.h>
#include <string.h>

#include "base/default-dirs.h"
#include "build-info.h"
#include "daemon/instance.h"
#include "daemon/settings-attributes.h"
#include "daemon/settings-modules.h"

#define TOPICS_MAX 256u
#define HOSTS_MAX  256

static const char *const level_names[] = { "error", "warning", "notice", "info",
					   "debug", "warn",    NULL };

typedef struct {
	RdmadConfigNode *log, *kubelet, *http, *attributes, *modules;
	char *include; /* merged by rdmad_config_load() */
	char *run_dir, *state_dir, *module_dir, *instance;
	int seccomp;
} RootKeys;

typedef struct {
	int level, format;
	RdmadConfigNode *topics;
} LogKeys;

typedef struct {
	gint64 max_connections;
	guint64 idle_ms, max_header, max_body;
	char **hosts;
} HttpKeys;

static gboolean check_absolute(const char *path, GError **error)
{
	if (g_path_is_absolute(path))
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG,
		    "\"%s\" is not absolute; begin it with /", path);
	return FALSE;
}

/* clang-format off */
#define DIRECTORY_FIELD(key_, type_, member_)                                                      \
	{ .key = (key_), .type = RDMAD_CONFIG_STRING, .offset = G_STRUCT_OFFSET(type_, member_),   \
	  .check = check_absolute }
/* clang-format on */

static const RdmadConfigField root_fields[] = {
	RDMAD_CONFIG_GROUP_FIELD("log", RootKeys, log),
	RDMAD_CONFIG_GROUP_FIELD("kubelet", RootKeys, kubelet),
	RDMAD_CONFIG_GROUP_FIELD("http", RootKeys, http),
	RDMAD_CONFIG_LIST_FIELD("attributes", RootKeys, attributes),
	RDMAD_CONFIG_GROUP_FIELD("modules", RootKeys, modules),
	RDMAD_CONFIG_ENUM_FIELD("seccomp", RootKeys, seccomp, rdmad_seccomp_names),
	RDMAD_CONFIG_STRING_FIELD("include", RootKeys, include),
	{ .key = "instance",
	  .type = RDMAD_CONFIG_STRING,
	  .offset = G_STRUCT_OFFSET(RootKeys, instance),
	  .check = rdmad_instance_name_check },
	DIRECTORY_FIELD("run_dir", RootKeys, run_dir),
	DIRECTORY_FIELD("state_dir", RootKeys, state_dir),
	DIRECTORY_FIELD("module_dir", RootKeys, module_dir),
	RDMAD_CONFIG_FIELDS_END,
};

static const RdmadConfigField log_fields[] = {
	RDMAD_CONFIG_ENUM_FIELD("level", LogKeys, level, level_names),
	RDMAD_CONFIG_ENUM_FIELD("format", LogKeys, format, rdmad_log_format_names),
	RDMAD_CONFIG_GROUP_FIELD("topics", LogKeys, topics),
	RDMAD_CONFIG_FIELDS_END,
};

static const RdmadConfigField http_fields[] = {
	RDMAD_CONFIG_INT_FIELD("max_connections", HttpKeys, max_connections, 1, 4096),
	RDMAD_CONFIG_DURATION_FIELD("idle_timeout", HttpKeys, idle_ms, 1000, 3600 * 1000),
	RDMAD_CONFIG_SIZE_FIELD("max_header", HttpKeys, max_header, 1024, 1024 * 1024),
	RDMAD_CONFIG_SIZE_FIELD("max_body", HttpKeys, max_body, 1024, 64 * 1024 * 1024),
	{ .key = "hosts",
	  .type = RDMAD_CONFIG_STRINGS,
	  .offset = G_STRUCT_OFFSET(HttpKeys, hosts),
	  .max = HOSTS_MAX,
	  .check = rdmad_http_host_check },
	RDMAD_CONFIG_FIELDS_END,
};

static const RdmadConfigField kubelet_fields[] = {
	DIRECTORY_FIELD("root_dir", RdmadSettings, kubelet_dir),
	RDMAD_CONFIG_FIELDS_END,
};

/* "warn", after the levels, is an alias of "warning". */
static RdmadLogLevel level_at(int index)
{
	return level_names[index + 1] ? RDMAD_LOG_ERR + index : RDMAD_LOG_WARNING;
}

/* Any key is a topic, so the table of fields is made from the keys. */
static gboolean settings_read_topics(RdmadSettings *settings, const RdmadConfigNode *node,
				     GError **error)
{
	g_auto(GStrv) topics = rdmad_config_keys(node);
	const guint n = g_strv_length(topics);
	g_autofree RdmadConfigField *fields = g_new0(RdmadConfigField, n + 1);
	g_autofree int *levels = g_new0(int, n + 1);

	if (n > TOPICS_MAX)
		return rdmad_config_error(node, NULL, error, "more than %u topics", TOPICS_MAX);
	for (guint i = 0; i < n; i++)
		fields[i] = (RdmadConfigField){
			.key = topics[i],
			.type = RDMAD_CONFIG_ENUM,
			.offset = i * sizeof(int),
			.choices = level_names,
		};
	if (!rdmad_config_parse(node, fields, levels, error))
		return FALSE;
	for (guint i = 0; i < n; i++)
		g_hash_table_insert(settings->log_topics, g_strdup(topics[i]),
				    GINT_TO_POINTER(level_at(levels[i])));
	return TRUE;
}

static gboolean settings_read_log(RdmadSettings *settings, const RdmadConfigNode *node,
				  GError **error)
{
	LogKeys keys = { .level = RDMAD_LOG_INFO - RDMAD_LOG_ERR, .format = RDMAD_LOG_AUTO };

	if (!rdmad_config_parse(node, log_fields, &keys, error))
		return FALSE;
	settings->log_level = level_at(keys.level);
	settings->log_format = keys.format;
	return !keys.topics || settings_read_topics(settings, keys.topics, error);
}

static gboolean settings_read_http(RdmadSettings *settings, const RdmadConfigNode *node,
				   GError **error)
{
	HttpKeys keys = { 0 };
	const gboolean good = rdmad_config_parse(node, http_fields, &keys, error);

	settings->http_hosts = keys.hosts ?: g_new0(char *, 1);
	if (!good)
		return FALSE;
	settings->http = (RdmadHttpLimits){
		.max_connections = keys.max_connections,
		.idle_ms = keys.idle_ms,
		.max_header = keys.max_header,
		.max_body = keys.max_body,
	};
	return TRUE;
}

static gboolean settings_read_root(RdmadSettings *settings, RootKeys *keys, GError **error)
{
	const RdmadConfigNode *root = rdmad_config_root(settings->config);
	gboolean ok;

	keys->run_dir = rdmad_run_dir_default();
	keys->state_dir = rdmad_state_dir_default();
	keys->module_dir = g_strdup(RDMAD_MODULE_DIR);
	keys->seccomp = (int)rdmad_seccomp_default();
	ok = rdmad_config_parse(root, root_fields, keys, error);
	settings->seccomp = keys->seccomp;
	settings->instance = keys->instance;
	settings->run_dir = g_canonicalize_filename(keys->run_dir, "/");
	if (keys->state_dir)
		settings->state_dir = g_canonicalize_filename(keys->state_dir, "/");
	settings->module_dir = g_canonicalize_filename(keys->module_dir, "/");
	g_free(keys->run_dir);
	g_free(keys->state_dir);
	g_free(keys->module_dir);
	g_free(keys->include);
	return ok;
}

static gboolean settings_read_kubelet(RdmadSettings *settings, const RdmadConfigNode *node,
				      GError **error)
{
	g_autofree char *given = NULL;

	settings->kubelet_dir = g_strdup("/var/lib/kubelet");
	if (!rdmad_config_parse(node, kubelet_fields, settings, error))
		return FALSE;
	given = settings->kubelet_dir;
	settings->kubelet_dir = g_canonicalize_filename(given, "/");
	return TRUE;
}

/* Reads all groups even after an error, to report all errors at once. */
static gboolean settings_read(RdmadSettings *settings, const RdmadOptions *options, GError **error)
{
	RootKeys keys = { 0 };
	gboolean good = settings_read_root(settings, &keys, error);

	good &= settings_read_log(settings, keys.log, error);
	good &= settings_read_kubelet(settings, keys.kubelet, error);
	good &= settings_read_http(settings, keys.http, error);
	good &= rdmad_settings_read_attributes(settings, keys.attributes, error);
	return rdmad_settings_read_modules(settings, keys.modules, options, error) && good;
}

/* Only the default file may be missing. */
static gboolean settings_read_files(RdmadSettings *settings, const RdmadOptions *options,
				    GError **error)
{
	const char *path = options->config ?: RDMAD_CONFIG_FILE;
	const char *profile_dir = options->profile_dir ?: RDMAD_PROFILE_DIR;
	GError *problem = NULL;

	settings->config = rdmad_config_load(path, profile_dir, &problem);
	if (settings->config) {
		settings->path = g_strdup(path);
		return TRUE;
	}
	if (!options->config && g_error_matches(problem, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND)) {
		g_error_free(problem);
		settings->config = rdmad_config_new_empty();
		return TRUE;
	}
	g_propagate_error(error, problem);
	return FALSE;
}

static void replace_string(char **where, const char *value)
{
	if (!value)
		return;
	g_free(*where);
	*where = g_strdup(value);
}

static void settings_apply_options(RdmadSettings *settings, const RdmadOptions *options)
{
	replace_string(&settings->run_dir, options->run_dir);
	replace_string(&settings->state_dir, options->state_dir);
	replace_string(&settings->module_dir, options->module_dir);
	replace_string(&settings->kubelet_dir, options->kubelet_dir);
	replace_string(&settings->instance, options->instance);
	if (!settings->instance)
		settings->instance = rdmad_instance_default_name(settings->path, options->modules);
	if (options->log_level >= 0)
		settings->log_level = options->log_level;
	if (options->log_format >= 0)
		settings->log_format = options->log_format;
}

RdmadSettings *rdmad_settings_load(const RdmadOptions *options, GError **error)
{
	g_autoptr(RdmadSettings) settings = g_new0(RdmadSettings, 1);

	settings->log_topics = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	if (!settings_read_files(settings, options, error) ||
	    !settings_read(settings, options, error))
		return NULL;
	settings_apply_options(settings, options);
	return g_steal_pointer(&settings);
}

void rdmad_settings_free(RdmadSettings *settings)
{
	if (!settings)
		return;
	g_clear_pointer(&settings->modules, g_ptr_array_unref);
	g_hash_table_unref(settings->log_topics);
	g_clear_pointer(&settings->attributes, g_hash_table_unref);
	g_free(settings->run_dir);
	g_free(settings->state_dir);
	g_free(settings->module_dir);
	g_free(settings->kubelet_dir);
	g_strfreev(settings->http_hosts);
	g_free(settings->path);
	g_free(settings->instance);
	rdmad_config_free(settings->config);
	g_free(settings);
}

void rdmad_settings_apply_log(const RdmadSettings *settings)
{
	rdmad_log_setup(settings->log_level, settings->log_format, settings->log_topics);
}

static gboolean limits_equal(const RdmadHttpLimits *a, const RdmadHttpLimits *b)
{
	return a->max_connections == b->max_connections && a->idle_ms == b->idle_ms &&
	       a->max_header == b->max_header && a->max_body == b->max_body;
}

void rdmad_settings_keep(RdmadSettings *now, const RdmadSettings *before)
{
	replace_string(&now->run_dir, before->run_dir);
	g_free(now->state_dir);
	now->state_dir = g_strdup(before->state_dir);
	replace_string(&now->kubelet_dir, before->kubelet_dir);
	replace_string(&now->instance, before->instance);
	now->seccomp = before->seccomp;
	now->http = before->http;
}

char *rdmad_settings_need_restart(const RdmadSettings *before, const RdmadSettings *now)
{
	g_autoptr(GString) keys = g_string_new(NULL);

	if (strcmp(before->run_dir, now->run_dir))
		g_string_append(keys, ", run_dir");
	if (g_strcmp0(before->state_dir, now->state_dir))
		g_string_append(keys, ", state_dir");
	if (strcmp(before->kubelet_dir, now->kubelet_dir))
		g_string_append(keys, ", kubelet.root_dir");
	if (before->seccomp != now->seccomp)
		g_string_append(keys, ", seccomp");
	if (strcmp(before->instance, now->instance))
		g_string_append(keys, ", instance");
	if (!limits_equal(&before->http, &now->http) ||
	    !g_strv_equal((const char *const *)before->http_hosts,
			  (const char *const *)now->http_hosts))
		g_string_append(keys, ", http");
	return keys->len ? g_strdup(keys->str + 2) : NULL;
}
