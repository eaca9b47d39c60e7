/* SPDX-License-Identifier: Apache-2.0 */
/* The table of client commands, and their options. */
#include "cli/cli.h"

#include <getopt.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/default-dirs.h"
#include "cli/command.h"
#include "cli/module-command.h"

#define DEFAULT_SOCKET RDMAD_RUN_DIR "/rdmad.sock"
#define EXIT_USAGE     2

static const Command commands[] = {
	{ "status", "", "modules, devices and recent errors", "", COMMAND_ASKS, command_status },
	{ "devices", " [NAME]", "RDMA devices and their ports; with NAME, all of one", "",
	  COMMAND_ASKS, command_devices },
	{ "allocations", "", "which pod holds which devices",
	  "\n  -r, --refresh        ask kubelet before", COMMAND_ASKS "r", command_allocations },
	{ "topology", "", "how near GPUs and devices are to each other", "", COMMAND_ASKS,
	  command_topology },
	{ "events", "", "events of devices and their holders",
	  "\n  -f, --follow         go on as events come", COMMAND_ASKS "f", command_events },
	{ "doctor", "", "problems of this node, with advice",
	  "\n  -b, --bundle FILE    write what support asks for into FILE (.tar.gz)"
	  "\n      --sysroot DIR    for --bundle: the machine recorded under DIR",
	  COMMAND_ASKS "bR", command_doctor },
	{ "attributes", " [set NAME VALUE | unset NAME]",
	  "attributes of the node, such as its labels; or set them", "", COMMAND_ASKS,
	  command_attributes, 3 },
	{ "commands", "", "commands of the running modules", "", COMMAND_ASKS,
	  module_command_list },
	{ "import-config", " FILE",
	  "Another device plugin's configuration, as rdmad.conf on standard output.  FILE is JSON, "
	  "or\n"
	  "a ConfigMap in JSON or YAML; - is standard input.",
	  "\n  -k, --key KEY        this key of the ConfigMap's data"
	  "\n  -p, --resource-prefix PREFIX  as the SR-IOV plugin was started with (intel.com)",
	  "kp", command_import },
};

static const struct option long_options[] = {
	{ "socket", required_argument, NULL, 's' },
	{ "json", no_argument, NULL, 'j' },
	{ "no-headers", no_argument, NULL, 'n' },
	{ "follow", no_argument, NULL, 'f' },
	{ "refresh", no_argument, NULL, 'r' },
	{ "key", required_argument, NULL, 'k' },
	{ "resource-prefix", required_argument, NULL, 'p' },
	{ "bundle", required_argument, NULL, 'b' },
	{ "sysroot", required_argument, NULL, 'R' },
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
	       "  topology               how near GPUs and devices are to each other\n"
	       "  events                 events of devices and their holders\n"
	       "  doctor                 problems of this node, with advice\n"
	       "  attributes [set|unset ...]  attributes of the node\n"
	       "  import-config FILE     another device plugin's configuration as rdmad.conf\n"
	       "  commands               commands of the running modules\n";
}

/* Of our own rdmad where it runs; else of the node's.  g_free() */
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
		fputs("  -j, --json           as JSON\n"
		      "  -n, --no-headers     tables without their first line\n"
		      "  -s, --socket PATH    rdmad's control socket (" DEFAULT_SOCKET ")\n",
		      to);
	fputs("  -h, --help           this text\n", to);
}

static int usage_error(const Command *command)
{
	fprintf(stderr, "Try `rdmad %s --help`.\n", command->name);
	return EXIT_USAGE;
}

static gboolean want_colour(void)
{
	const char *no_colour = g_getenv("NO_COLOR");

	return isatty(STDOUT_FILENO) && (!no_colour || !*no_colour) &&
	       g_strcmp0(g_getenv("TERM"), "dumb") != 0;
}

static void option_set(CommandOptions *options, int letter)
{
	switch (letter) {
	case 's':
		options->socket = optarg;
		break;
	case 'j':
		options->json = TRUE;
		break;
	case 'n':
		options->headers = FALSE;
		break;
	case 'f':
		options->follow = TRUE;
		break;
	case 'r':
		options->refresh = TRUE;
		break;
	case 'k':
		options->key = optarg;
		break;
	case 'p':
		options->prefix = optarg;
		break;
	case 'b':
		options->bundle = optarg;
		break;
	case 'R':
		options->sysroot = optarg;
		break;
	default:
		g_assert_not_reached();
	}
}

/* FALSE for an option that the command does not have. */
static gboolean option_take(CommandOptions *options, const Command *command, int letter)
{
	if (letter == '?')
		return FALSE; /* getopt printed the error */
	if (!strchr(command->flags, letter)) {
		fprintf(stderr, "rdmad: `%s` has no option -%c\n", command->name, letter);
		return FALSE;
	}
	option_set(options, letter);
	return TRUE;
}

/* Handles the arguments after the options; -1: continue. */
static int argument_take(CommandOptions *options, const Command *command, int argc, char **argv)
{
	const int most = *command->argument ? MAX(command->max_arguments, 1) : 0;

	options->arguments = &argv[optind];
	options->argument = most ? argv[optind] : NULL;
	optind += most;
	if (optind < argc) {
		fprintf(stderr, "rdmad: `%s` takes no \"%s\"\n", command->name, argv[optind]);
		return usage_error(command);
	}
	if (!options->argument && *command->argument && command->argument[1] != '[') {
		fprintf(stderr, "rdmad: `%s` needs%s\n", command->name, command->argument);
		return usage_error(command);
	}
	return -1;
}

/* -1: go on; else the exit status. */
static int options_parse(CommandOptions *options, const Command *command, int argc, char **argv)
{
	int letter;

	while ((letter = getopt_long(argc, argv, "s:jnfrk:p:b:h", long_options, NULL)) != -1) {
		if (letter == 'h') {
			print_usage(command, stdout);
			return 0;
		}
		if (!option_take(options, command, letter))
			return usage_error(command);
	}
	return argument_take(options, command, argc, argv);
}

int rdmad_cli_run(int argc, char **argv)
{
	const Command *command = argc > 1 ? command_find(argv[1]) : NULL;
	g_autofree char *socket = default_socket();
	CommandOptions options = { .socket = socket, .headers = TRUE };
	int status;

	setlocale(LC_CTYPE, "");
	signal(SIGPIPE, SIG_IGN);
	options.colour = want_colour();
	if (!command)
		return module_command_run(&options, argc, argv);
	argv[1] = argv[0]; /* getopt's own messages begin with it */
	status = options_parse(&options, command, argc - 1, argv + 1);
	return status >= 0 ? status : command->run(&options);
}
