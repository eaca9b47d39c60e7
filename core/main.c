/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "build-info.h"
#include "base/terminal.h"
#include "cli/cli.h"
#include "daemon/daemon.h"
#include "daemon/options.h"
#include "daemon/privileges.h"
#include "network/keeper.h"

static int main_act(const RdmadOptions *options, GError **error)
{
	switch (options->action) {
	case RDMAD_ACTION_VERSION:
		puts("rdmad " RDMAD_VERSION);
		return 0;
	case RDMAD_ACTION_HELP:
		fputs(rdmad_options_help(), stdout);
		fputs(rdmad_cli_help(), stdout);
		return 0;
	case RDMAD_ACTION_CHECK:
		return rdmad_daemon_check(options, error);
	case RDMAD_ACTION_PRINT_CONFIG:
		return rdmad_daemon_print_config(options, error);
	case RDMAD_ACTION_PRIVILEGES:
		return rdmad_privileges_print(options, error);
	case RDMAD_ACTION_RUN:
		return rdmad_daemon_run(options, error);
	}
	g_assert_not_reached();
}

/* Returns `status`, or failure if the output is incomplete. */
static int main_flush(int status)
{
	errno = 0;
	if (status != 0 || (fflush(stdout) == 0 && !ferror(stdout)))
		return status;
	/* A reader that closes the pipe early (`| head`) needs no message. */
	if (errno != EPIPE)
		rdmad_terminal_error("cannot write: %s", g_strerror(errno ?: EIO));
	return RDMAD_EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(RdmadOptions) options = NULL;
	int status;

	if (argc > 1 && strcmp(argv[1], RDMAD_KEEPER_OPTION) == 0)
		return rdmad_keeper_main(argc, argv);
	if (argc > 1 && rdmad_cli_is_command(argv[1]))
		return main_flush(rdmad_cli_run(argc, argv));
	options = rdmad_options_new(argc, argv, &error);
	status = options ? main_act(options, &error) : rdmad_daemon_status(error);
	if (error)
		rdmad_terminal_error("%s", error->message);
	return main_flush(status);
}
