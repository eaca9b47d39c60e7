/* SPDX-License-Identifier: Apache-2.0 */
/* The table of client commands, and their options. */
#include "cli/cli.h"

#include <getopt.h>
#include <locale.h>
#include <rdmad/clock.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/default-dirs.h"
#include "base/nearest.h"
#include "base/terminal.h"
#include "build-info.h"
#include "commit.h"
#include "cli/command.h"

#define DEFAULT_SOCKET RDMAD_RUN_DIR "/rdmad.sock"
#define EXIT_USAGE     2

static const Command commands[] = {
	{ "status", "", "modules, devices and recent errors",
	  "\n      --instance NAME  exit with 1 if the rdmad that runs is of another instance",
	  COMMAND_ASKS "I", command_status },
	{ "devices", " [NAME]", "RDMA devices and their ports; with NAME, all of one", "",
	  COMMAND_ASKS, command_devices },
	{ "allocations", "", "which pod holds which devices",
	  "\n  -r, --refresh        query kubelet first", COMMAND_ASKS "r", command_allocations },
	{ "topology", "", "distances of GPUs and devices", "", COMMAND_ASKS, command_topology },
	{ "events", "", "events of devices and their holders",
	  "\n  -f, --follow         continue with new events"
	  "\n  -n, --lines N        the last N events"
	  "\n      --since AGE      events of the last 30s, 10m, 2h, 3d"
	  "\n      --device NAME    events of a device, by name or id"
	  "\n      --pod NAME       events of a pod, NAMESPACE/NAME or a part of it",
	  COMMAND_ASKS "fnSDP", command_events },
	{ "doctor", "", "problems of this node, with advice",
	  "\n  -b, --bundle FILE    write an archive for support, FILE (.tar.gz)"
	  "\n      --sysroot DIR    for --bundle: the machine recorded under DIR",
	  COMMAND_ASKS "bR", command_doctor },
	{ "attributes", " [set NAME VALUE | unset NAME]",
	  "attributes of the node, such as its labels; or set them", "", COMMAND_ASKS,
	  command_attributes, 3 },
	{ "commands", "", "commands of the running modules", "", COMMAND_ASKS,
	  module_command_list },
	{ "import-config", " FILE",
	  "Another device plugin's configuration, as rdmad.conf on standard output.  FILE is JSON\n"
	  "or YAML: the plugin's own, or manifests or Helm values with it; - is standard input.",
	  "\n  -k, --key KEY        this key of the ConfigMap's data"
	  "\n  -p, --resource-prefix PREFIX  that option of the SR-IOV plugin (intel.com)",
	  "kp", command_import },
	{ "version", "", "the version of this program, with its commit", "", "", command_version },
	{ "help", " [COMMAND]", "all commands, or the options of one", "", "", command_help },
};

static const struct option long_options[] = {
	{ "socket", required_argument, NULL, 's' },
	{ "json", no_argument, NULL, 'j' },
	{ "output", required_argument, NULL, 'o' },
	{ "no-headers", no_argument, NULL, 'H' },
	{ "watch", no_argument, NULL, 'w' },
	{ "verbose", no_argument, NULL, 'v' },
	{ "lines", required_argument, NULL, 'n' },
	{ "since", required_argument, NULL, 'S' },
	{ "device", required_argument, NULL, 'D' },
	{ "pod", required_argument, NULL, 'P' },
	{ "follow", no_argument, NULL, 'f' },
	{ "refresh", no_argument, NULL, 'r' },
	{ "key", required_argument, NULL, 'k' },
	{ "resource-prefix", required_argument, NULL, 'p' },
	{ "bundle", required_argument, NULL, 'b' },
	{ "sysroot", required_argument, NULL, 'R' },
	{ "instance", required_argument, NULL, 'I' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static const Command *command_find(const char *word)
{
	for (gsize i = 0; i < G_N_ELEMENTS(commands); i++)
		if (g_str_equal(commands[i].name, word))
			return &commands[i];
	return NULL;
}

gboolean rdmad_cli_is_command(const char *word)
{
	return word && *word && *word != '-';
}

const char *rdmad_cli_help(void)
{
	return "\n"
	       "Commands, each with its own --help:\n"
	       "  status                 modules, devices and recent errors\n"
	       "  devices [NAME]         RDMA devices and their ports; with NAME, all of one\n"
	       "  allocations            which pod holds which devices\n"
	       "  topology               distances of GPUs and devices\n"
	       "  events                 events of devices and their holders\n"
	       "  doctor                 problems of this node, with advice\n"
	       "  attributes [set|unset ...]  attributes of the node\n"
	       "  import-config FILE     another device plugin's configuration as rdmad.conf\n"
	       "  commands               commands of the running modules\n"
	       "  version                the version, with its commit\n"
	       "  help [COMMAND]         this, or the options of a command\n";
}

/* Returns the socket of the user's own rdmad if it runs, else of the node's; g_free(). */
static char *default_socket(void)
{
	const char *named = g_getenv("RDMAD_SOCKET");
	g_autofree char *directory = rdmad_run_dir_default();
	g_autofree char *own = g_build_filename(directory, "rdmad.sock", NULL);

	if (named && *named)
		return g_strdup(named);
	return g_strdup(access(own, F_OK) == 0 ? own : DEFAULT_SOCKET);
}

static void print_usage(const Command *command, FILE *to)
{
	fprintf(to, "usage: rdmad %s%s [OPTION]...\n\n%s\n\nOptions:%s\n", command->name,
		command->argument, command->summary, command->usage);
	if (strchr(command->flags, 's'))
		fputs(command_common_usage, to);
	fputs("  -h, --help           this text\n", to);
}

static gboolean want_colour(void)
{
	const char *no_colour = g_getenv("NO_COLOR");

	return isatty(STDOUT_FILENO) && (!no_colour || !*no_colour) &&
	       g_strcmp0(g_getenv("TERM"), "dumb") != 0;
}

/* Returns 0 if the output is not a terminal. */
static guint terminal_width(void)
{
	struct winsize size;

	if (!isatty(STDOUT_FILENO))
		return 0;
	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
}

/* Parses a duration before now: "90s", "10m", "2h", "3d". */
static gboolean since_set(CommandOptions *options, const char *text)
{
	static const char units[] = "smhd";
	static const gint64 seconds[] = { 1, 60, 3600, 86400 };
	char *end = NULL;
	const guint64 n = g_ascii_strtoull(text, &end, 10);
	const char *unit = *end ? strchr(units, *end) : NULL;
	const gint64 unit_us = unit ? seconds[unit - units] * G_USEC_PER_SEC : 1;

	if (!g_ascii_isdigit(*text) || !unit || end[1] || n > G_MAXINT64 / (guint64)unit_us) {
		rdmad_terminal_error("invalid age \"%s\"; write 30s, 10m, 2h or 3d", text);
		return FALSE;
	}
	options->since_us = rdmad_wall_us() - (gint64)n * unit_us;
	return TRUE;
}

static gboolean lines_set(CommandOptions *options, const char *text)
{
	guint64 n;

	if (!g_ascii_string_to_unsigned(text, 10, 1, G_MAXUINT32, &n, NULL)) {
		rdmad_terminal_error("invalid number of lines \"%s\"; write 1 or more", text);
		return FALSE;
	}
	options->lines = (guint)n;
	return TRUE;
}

static gboolean option_set(CommandOptions *options, int letter)
{
	switch (letter) {
	case 'n':
		return lines_set(options, optarg);
	case 'S':
		return since_set(options, optarg);
	case 'D':
		options->device = optarg;
		return TRUE;
	case 'P':
		options->pod = optarg;
		return TRUE;
	case 'f':
		options->follow = TRUE;
		return TRUE;
	case 'r':
		options->refresh = TRUE;
		return TRUE;
	case 'k':
		options->key = optarg;
		return TRUE;
	case 'p':
		options->prefix = optarg;
		return TRUE;
	case 'b':
		options->bundle = optarg;
		return TRUE;
	case 'I':
		options->instance = optarg;
		return TRUE;
	case 'R':
		options->sysroot = optarg;
		return TRUE;
	default:
		return command_option_set(options, letter, optarg);
	}
}

/* Returns the option as users write it. */
static const char *option_word(int letter)
{
	for (const struct option *option = long_options; option->name; option++)
		if (option->val == letter)
			return option->name;
	return "?";
}

/* Handles an argument after the options.  Returns -1 to continue, else the exit status. */
static int argument_take(CommandOptions *options, const Command *command, int argc, char **argv)
{
	const int most = *command->argument ? MAX(command->max_arguments, 1) : 0;

	options->arguments = &argv[optind];
	options->argument = most ? argv[optind] : NULL;
	optind += most;
	if (optind < argc)
		return command_usage_error(command->name, "unexpected argument \"%s\"",
					   argv[optind]);
	if (!options->argument && *command->argument && command->argument[1] != '[')
		return command_usage_error(command->name, "needs%s", command->argument);
	return -1;
}

/* Returns -1 to continue, else the exit status. */
static int options_parse(CommandOptions *options, const Command *command, int argc, char **argv)
{
	g_autofree char *letters = g_strconcat(command->flags, "h", NULL);
	int letter;

	opterr = 0;
	while ((letter = getopt_long(argc, argv, "s:o:jwvfrn:k:p:b:h", long_options, NULL)) != -1) {
		if (letter == 'h') {
			print_usage(command, stdout);
			return 0;
		}
		if (letter == '?')
			return command_option_unknown(command->name, long_options, letters, argv);
		if (!strchr(command->flags, letter))
			return command_usage_error(command->name, "has no option --%s",
						   option_word(letter));
		if (!option_set(options, letter))
			return EXIT_USAGE;
	}
	return argument_take(options, command, argc, argv);
}

int command_version(const CommandOptions *options)
{
	puts("rdmad " RDMAD_VERSION " (" RDMAD_COMMIT ")");
	return 0;
}

static const char *command_nearest(const char *word, const json_t *of_modules)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new();
	const json_t *command;
	size_t at;

	for (gsize i = 0; i < G_N_ELEMENTS(commands); i++)
		g_ptr_array_add(names, (gpointer)commands[i].name);
	json_array_foreach(json_object_get(of_modules, "commands"), at, command)
		g_ptr_array_add(names, (gpointer)format_text(command, "name"));
	g_ptr_array_add(names, NULL);
	return rdmad_nearest(word, (const char *const *)names->pdata);
}

/* `error` is the reason if `of_modules` is NULL. */
static int command_unknown(const char *word, const json_t *of_modules, const GError *error)
{
	const char *meant = command_nearest(word, of_modules);

	if (meant)
		rdmad_terminal_error("unknown command \"%s\"; did you mean `%s`?", word, meant);
	else if (error)
		rdmad_terminal_error(
			"unknown command \"%s\"; those of modules need the daemon, and are "
			"in rdmad-cli(8): %s",
			word, error->message);
	else
		rdmad_terminal_error("unknown command \"%s\"; see `rdmad help`", word);
	return EXIT_USAGE;
}

/* argv[1] is the command. */
static int run_of_module(CommandOptions *options, int argc, char **argv)
{
	const char *name = argv[1];
	g_autoptr(GError) error = NULL;
	json_t *all = module_commands_ask(options, argc - 1, argv + 1, &error);
	const json_t *command = module_command_find(all, name);
	int status;

	argv[1] = argv[0]; /* the prefix of getopt's messages */
	status = command ? module_command_run(command, options, argc - 1, argv + 1)
			 : command_unknown(name, all, error);
	json_decref(all);
	return status;
}

/* Prints the --help of a module's command, which the daemon has. */
static int help_of_module(const CommandOptions *options, const char *name)
{
	char *argv[] = { (char *)"rdmad", (char *)name, (char *)"--help", NULL };
	CommandOptions own = *options;

	optind = 0; /* makes getopt start again */
	return run_of_module(&own, 3, argv);
}

int command_help(const CommandOptions *options)
{
	const Command *command = options->argument ? command_find(options->argument) : NULL;

	if (options->argument && !command)
		return help_of_module(options, options->argument);
	if (command)
		print_usage(command, stdout);
	else
		printf("usage: rdmad COMMAND [OPTION]...\n%s\n`rdmad --help` has the daemon's "
		       "options.\n",
		       rdmad_cli_help());
	return 0;
}

int rdmad_cli_run(int argc, char **argv)
{
	const Command *command = argc > 1 ? command_find(argv[1]) : NULL;
	g_autofree char *socket = default_socket();
	CommandOptions options = { .socket = socket, .style = { .headers = TRUE } };
	int status;

	setlocale(LC_CTYPE, "");
	signal(SIGPIPE, SIG_IGN);
	options.style.colour = want_colour();
	options.style.width = terminal_width();
	if (!command)
		return run_of_module(&options, argc, argv);
	status = options_parse(&options, command, argc - 1, argv + 1);
	while (status < 0) {
		status = command->run(&options);
		if (command_watches(&options, status))
			status = -1;
	}
	return status;
}
