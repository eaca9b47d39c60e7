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

#include "cli/command.h"

#define DEFAULT_SOCKET "/run/rdmad/rdmad.sock"
#define EXIT_USAGE     2

static const Command commands[] = {
	{ "status", "what runs, and what goes wrong", "", "", command_status },
	{ "devices", "RDMA devices and their ports; with NAME, all of one", " [NAME]", "N",
	  command_devices },
	{ "allocations", "which pod holds which devices",
	  "\n  -r, --refresh        ask kubelet before", "r", command_allocations },
	{ "topology", "how near GPUs and devices are to each other", "", "", command_topology },
	{ "events", "what happened to devices and their holders",
	  "\n  -f, --follow         go on as events come", "f", command_events },
	{ "doctor", "what is wrong on this node, and what to do about it", "", "", command_doctor },
};

static const struct option long_options[] = {
	{ "socket", required_argument, NULL, 's' },
	{ "json", no_argument, NULL, 'j' },
	{ "no-headers", no_argument, NULL, 'n' },
	{ "follow", no_argument, NULL, 'f' },
	{ "refresh", no_argument, NULL, 'r' },
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
	return word && command_find(word);
}

const char *rdmad_cli_help(void)
{
	return "\n"
	       "Commands, each with its own --help:\n"
	       "  status                 what runs, and what goes wrong\n"
	       "  devices [NAME]         RDMA devices and their ports; with NAME, all of one\n"
	       "  allocations            which pod holds which devices\n"
	       "  topology               how near GPUs and devices are to each other\n"
	       "  events                 what happened to devices and their holders\n"
	       "  doctor                 what is wrong on this node, and what to do about it\n";
}

static const char *default_socket(void)
{
	const char *named = g_getenv("RDMAD_SOCKET");

	return named && *named ? named : DEFAULT_SOCKET;
}

static void print_usage(const Command *command, FILE *to)
{
	const gboolean named = strchr(command->flags, 'N') != NULL;

	fprintf(to, "usage: rdmad %s%s [OPTION]...\n\n%s\n", command->name,
		named ? command->usage : "", command->summary);
	fprintf(to,
		"\nOptions:%s\n"
		"  -j, --json           as JSON\n"
		"  -n, --no-headers     tables without their first line\n"
		"  -s, --socket PATH    rdmad's control socket (" DEFAULT_SOCKET ")\n"
		"  -h, --help           this text\n",
		named ? "" : command->usage);
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

/* FALSE for an option that the command does not have. */
static gboolean options_take(CommandOptions *options, const Command *command, int letter)
{
	switch (letter) {
	case 's':
		options->socket = optarg;
		return TRUE;
	case 'j':
		options->json = TRUE;
		return TRUE;
	case 'n':
		options->headers = FALSE;
		return TRUE;
	case 'f':
		options->follow = TRUE;
		break;
	case 'r':
		options->refresh = TRUE;
		break;
	default:
		return FALSE; /* getopt has said why */
	}
	if (strchr(command->flags, letter))
		return TRUE;
	fprintf(stderr, "rdmad: `%s` has no option -%c\n", command->name, letter);
	return FALSE;
}

/* -1: go on; else the exit status. */
static int options_parse(CommandOptions *options, const Command *command, int argc, char **argv)
{
	int letter;

	while ((letter = getopt_long(argc, argv, "s:jnfrh", long_options, NULL)) != -1) {
		if (letter == 'h') {
			print_usage(command, stdout);
			return 0;
		}
		if (!options_take(options, command, letter))
			return usage_error(command);
	}
	if (optind < argc && strchr(command->flags, 'N'))
		options->argument = argv[optind++];
	if (optind == argc)
		return -1;
	fprintf(stderr, "rdmad: `%s` takes no \"%s\"\n", command->name, argv[optind]);
	return usage_error(command);
}

int rdmad_cli_run(int argc, char **argv)
{
	const Command *command = argc > 1 ? command_find(argv[1]) : NULL;
	CommandOptions options = { .socket = default_socket(), .headers = TRUE };
	int status;

	g_assert(command);
	setlocale(LC_CTYPE, "");
	signal(SIGPIPE, SIG_IGN);
	options.colour = want_colour();
	argv[1] = argv[0]; /* getopt's own messages begin with it */
	status = options_parse(&options, command, argc - 1, argv + 1);
	return status >= 0 ? status : command->run(&options);
}
