/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/options.h"

#include <getopt.h>
#include <rdmad/error.h>
#include <string.h>

#include "base/log.h"
#include "base/nearest.h"
#include "build-info.h"
#include "daemon/instance.h"

#define LOCK_WAIT_DEFAULT_S 60
#define LOCK_WAIT_MAX_S	    86400
#define MODULES_MAX	    64u

enum { /* options without a letter */
       OPT_MODULE_DIR = 256,
       OPT_PROFILE_DIR,
       OPT_SYSROOT,
       OPT_RUN_DIR,
       OPT_STATE_DIR,
       OPT_KUBELET_DIR,
       OPT_CHECK,
       OPT_PRINT_CONFIG,
       OPT_PRIVILEGES,
       OPT_LOG_LEVEL,
       OPT_LOG_FORMAT,
       OPT_LOCK_WAIT,
       OPT_TAKE_OVER,
       OPT_INSTANCE,
       OPT_ANY_INSTANCE,
};

static const char short_options[] = ":c:m:hV";

static const struct option long_options[] = {
	{ "config", required_argument, NULL, 'c' },
	{ "module", required_argument, NULL, 'm' },
	{ "module-dir", required_argument, NULL, OPT_MODULE_DIR },
	{ "profile-dir", required_argument, NULL, OPT_PROFILE_DIR },
	{ "sysroot", required_argument, NULL, OPT_SYSROOT },
	{ "run-dir", required_argument, NULL, OPT_RUN_DIR },
	{ "state-dir", required_argument, NULL, OPT_STATE_DIR },
	{ "kubelet-dir", required_argument, NULL, OPT_KUBELET_DIR },
	{ "check", no_argument, NULL, OPT_CHECK },
	{ "print-config", no_argument, NULL, OPT_PRINT_CONFIG },
	{ "privileges", no_argument, NULL, OPT_PRIVILEGES },
	{ "log-level", required_argument, NULL, OPT_LOG_LEVEL },
	{ "log-format", required_argument, NULL, OPT_LOG_FORMAT },
	{ "lock-wait", required_argument, NULL, OPT_LOCK_WAIT },
	{ "take-over", no_argument, NULL, OPT_TAKE_OVER },
	{ "instance", required_argument, NULL, OPT_INSTANCE },
	{ "any-instance", no_argument, NULL, OPT_ANY_INSTANCE },
	{ "version", no_argument, NULL, 'V' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL },
};

static const char help[] =
	"Usage: rdmad [OPTION]...\n"
	"       rdmad COMMAND [OPTION]...\n"
	"\n"
	"Runs the RDMA daemon of this node, or queries the running one.\n"
	"\n"
	"  -c, --config FILE      configuration (" RDMAD_CONFIG_FILE ")\n"
	"  -m, --module NAME      run this module, and only those named so; may be repeated\n"
	"      --module-dir DIR   where modules are (" RDMAD_MODULE_DIR ")\n"
	"      --profile-dir DIR  where profiles are (" RDMAD_PROFILE_DIR ")\n"
	"      --sysroot DIR      use the machine recorded under DIR instead of this one\n"
	"      --run-dir DIR      sockets, lock, directories of allocations (/run/rdmad)\n"
	"      --state-dir DIR    the database (/var/lib/rdmad)\n"
	"      --kubelet-dir DIR  kubelet's directory (/var/lib/kubelet)\n"
	"      --check            read the configuration, create the modules, and end\n"
	"      --print-config     print the merged configuration, and exit\n"
	"      --privileges       print the capabilities that the modules need, and exit\n"
	"      --log-level L      error, warning, notice, info or debug (info)\n"
	"      --log-format F     auto, text, json or journal (auto)\n"
	"      --lock-wait SECS   wait so long for another rdmad to end; 0: not at all (60)\n"
	"      --take-over        have another rdmad that runs give over to this one\n"
	"      --instance NAME    an rdmad gives over to others of this name (--config, --module)\n"
	"      --any-instance     have an rdmad of another instance give over too\n"
	"  -V, --version          print the version, and end\n"
	"  -h, --help             print this, and end\n"
	"\n"
	"Exit status: 0 success, 1 failure, 2 wrong usage or configuration.\n";

const char *rdmad_options_help(void)
{
	return help;
}

gboolean rdmad_module_name_valid(const char *name)
{
	const gsize length = strlen(name);

	return length >= 1 && length <= 32 &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == length;
}

static gboolean options_error(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);

static gboolean options_error(GError **error, const char *format, ...)
{
	g_autofree char *text = NULL;
	va_list args;

	va_start(args, format);
	text = g_strdup_vprintf(format, args);
	va_end(args);
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "%s; see rdmad --help", text);
	return FALSE;
}

static gboolean set_file(char **where, const char *option, const char *value, GError **error)
{
	if (!*value)
		return options_error(error, "--%s needs a path", option);
	g_free(*where);
	*where = g_canonicalize_filename(value, NULL);
	return TRUE;
}

static gboolean set_level(int *where, const char *value, GError **error)
{
	RdmadLogLevel level;

	if (!rdmad_log_parse_level(value, &level))
		return options_error(error,
				     "--log-level cannot be \"%s\"; it is one of error, warning, "
				     "notice, info, debug",
				     value);
	*where = level;
	return TRUE;
}

static gboolean set_format(int *where, const char *value, GError **error)
{
	g_autofree char *all = g_strjoinv(", ", (char **)rdmad_log_format_names);

	for (int i = 0; rdmad_log_format_names[i]; i++) {
		if (strcmp(value, rdmad_log_format_names[i]))
			continue;
		*where = i;
		return TRUE;
	}
	return options_error(error, "--log-format cannot be \"%s\"; it is one of %s", value, all);
}

static gboolean set_lock_wait(guint *where, const char *value, GError **error)
{
	guint64 seconds;

	if (!g_ascii_string_to_unsigned(value, 10, 0, LOCK_WAIT_MAX_S, &seconds, NULL))
		return options_error(error, "--lock-wait cannot be \"%s\"; it is 0 to %d seconds",
				     value, LOCK_WAIT_MAX_S);
	*where = seconds;
	return TRUE;
}

static gboolean set_instance(char **where, const char *value, GError **error)
{
	g_autoptr(GError) problem = NULL;

	if (!rdmad_instance_name_check(value, &problem))
		return options_error(error, "--instance: %s", problem->message);
	g_free(*where);
	*where = g_strdup(value);
	return TRUE;
}

static gboolean add_module(GPtrArray *modules, const char *name, GError **error)
{
	if (!rdmad_module_name_valid(name))
		return options_error(error,
				     "\"%s\" cannot be the name of a module: it has 1 to 32 of "
				     "a-z, 0-9 and -",
				     name);
	if (g_ptr_array_find_with_equal_func(modules, name, g_str_equal, NULL))
		return options_error(error, "--module %s is given twice", name);
	if (modules->len == MODULES_MAX)
		return options_error(error, "more than %u modules", MODULES_MAX);
	g_ptr_array_add(modules, g_strdup(name));
	return TRUE;
}

static gboolean options_set(RdmadOptions *options, GPtrArray *modules, int option,
			    const char *value, GError **error)
{
	switch (option) {
	case 'c':
		return set_file(&options->config, "config", value, error);
	case 'm':
		return add_module(modules, value, error);
	case OPT_MODULE_DIR:
		return set_file(&options->module_dir, "module-dir", value, error);
	case OPT_PROFILE_DIR:
		return set_file(&options->profile_dir, "profile-dir", value, error);
	case OPT_SYSROOT:
		return set_file(&options->sysroot, "sysroot", value, error);
	case OPT_RUN_DIR:
		return set_file(&options->run_dir, "run-dir", value, error);
	case OPT_STATE_DIR:
		return set_file(&options->state_dir, "state-dir", value, error);
	case OPT_KUBELET_DIR:
		return set_file(&options->kubelet_dir, "kubelet-dir", value, error);
	case OPT_LOG_LEVEL:
		return set_level(&options->log_level, value, error);
	case OPT_LOG_FORMAT:
		return set_format(&options->log_format, value, error);
	case OPT_LOCK_WAIT:
		return set_lock_wait(&options->lock_wait_s, value, error);
	case OPT_TAKE_OVER:
		options->take_over = TRUE;
		return TRUE;
	case OPT_INSTANCE:
		return set_instance(&options->instance, value, error);
	case OPT_ANY_INSTANCE:
		options->any_instance = TRUE;
		return TRUE;
	default:
		g_assert_not_reached();
	}
}

/* The options that select an action; of several the last one counts. */
static gboolean options_set_action(RdmadOptions *options, int option)
{
	switch (option) {
	case OPT_CHECK:
		options->action = RDMAD_ACTION_CHECK;
		return TRUE;
	case OPT_PRIVILEGES:
		options->action = RDMAD_ACTION_PRIVILEGES;
		return TRUE;
	case OPT_PRINT_CONFIG:
		options->action = RDMAD_ACTION_PRINT_CONFIG;
		return TRUE;
	case 'V':
		options->action = RDMAD_ACTION_VERSION;
		return TRUE;
	case 'h':
		options->action = RDMAD_ACTION_HELP;
		return TRUE;
	default:
		return FALSE;
	}
}

static gboolean is_option(int value)
{
	for (const struct option *o = long_options; o->name; o++)
		if (o->val == value)
			return TRUE;
	return FALSE;
}

static gboolean options_unknown(const char *word, GError **error)
{
	const char *meant = rdmad_nearest_option(word, long_options, NULL);

	if (!meant)
		return options_error(error, "unknown option '%s'", word);
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
		    "unknown option '%s'; did you mean `--%s`?", word, meant);
	return FALSE;
}

static gboolean options_refuse(int option, char *const *argv, GError **error)
{
	const char *word = argv[optind - 1];

	if (option == ':')
		return options_error(error, "option '%s' needs a value", word);
	if (!optopt)
		return options_unknown(word, error);
	if (is_option(optopt))
		return options_error(error, "option '%s' takes no value", word);
	return options_error(error, "unknown option '-%c'", optopt); /* `word` may be another */
}

static gboolean options_parse(RdmadOptions *options, GPtrArray *modules, int argc, char **argv,
			      GError **error)
{
	int option;

	optind = 0; /* makes getopt start again */
	opterr = 0;
	while ((option = getopt_long(argc, argv, short_options, long_options, NULL)) != -1) {
		if (option == '?' || option == ':')
			return options_refuse(option, argv, error);
		if (options_set_action(options, option))
			continue;
		if (!options_set(options, modules, option, optarg, error))
			return FALSE;
	}
	if (optind < argc)
		return options_error(error,
				     argc == 2
					     ? "unknown command \"%s\""
					     : "unexpected \"%s\": a command comes before options",
				     argv[optind]);
	return TRUE;
}

RdmadOptions *rdmad_options_new(int argc, char **argv, GError **error)
{
	g_autoptr(RdmadOptions) options = g_new0(RdmadOptions, 1);
	g_autoptr(GPtrArray) modules = g_ptr_array_new_with_free_func(g_free);

	options->log_level = -1;
	options->log_format = -1;
	options->lock_wait_s = LOCK_WAIT_DEFAULT_S;
	if (!options_parse(options, modules, argc, argv, error))
		return NULL;
	if (modules->len) {
		g_ptr_array_add(modules, NULL);
		options->modules = (char **)g_ptr_array_steal(modules, NULL);
	}
	return g_steal_pointer(&options);
}

void rdmad_options_free(RdmadOptions *options)
{
	if (!options)
		return;
	g_free(options->config);
	g_strfreev(options->modules);
	g_free(options->module_dir);
	g_free(options->profile_dir);
	g_free(options->sysroot);
	g_free(options->run_dir);
	g_free(options->state_dir);
	g_free(options->kubelet_dir);
	g_free(options->instance);
	g_free(options);
}
