/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rdmad-cni: the CNI plugin that a runtime starts
 *
 * It opens the namespace, sends namespace, environment and standard input to the module cni of
 * rdmad, and prints the answer of the module.  It has no knowledge of networks.  It answers only
 * the requests that must be answered while no daemon runs:
 *
 *	VERSION	always
 *	ADD	waits for the daemon, then code 11
 *	DEL	is spooled, and succeeds
 *	CHECK, GC	code 11
 *	STATUS	code 50
 *
 * libcni reads errors from standard output, so each error is printed there, with exit status 1.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/rdmad-cni.h"

#define SOCKET	    "/run/rdmad/cni.sock"
#define SPOOL	    "/var/lib/rdmad/cni-spool"
#define DEADLINE_MS 110000 /* of the whole call; runtimes allow two minutes or more */

static const struct {
	const char *name;
	int wait_ms; /* for a daemon to start */
	int code;    /* if it does not; 0: none */
} commands[] = {
	{ "ADD", 10000, 11 }, { "DEL", 1000, 0 },     { "CHECK", 10000, 11 },
	{ "GC", 10000, 11 },  { "STATUS", 2000, 50 },
};

/* One call of the plugin; too large for the stack. */
typedef struct {
	ShimRequest request;
	CallAnswer answer;
	Deadline deadline;
} Plugin;

static const char *setting(const char *name, const char *fallback)
{
	const char *value = getenv(name);

	return value && value[0] ? value : fallback;
}

static int print(const char *text, size_t size)
{
	return write_all(STDOUT_FILENO, text, size) == 0 ? 0 : 1;
}

/* Messages are constants and texts of strerror(), which need no escapes. */
static int fail(const Plugin *plugin, int code, const char *message)
{
	char text[512];
	const int n = snprintf(text, sizeof(text),
			       "{\"cniVersion\":\"%s\",\"code\":%d,\"msg\":\"rdmad-cni: %s\"}\n",
			       plugin->request.version, code, message);

	print(text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
	return 1;
}

static int fail_errno(const Plugin *plugin, int code, const char *message, int errnum)
{
	char text[256];

	snprintf(text, sizeof(text), "%s: %s", message, strerror(errnum));
	return fail(plugin, code, text);
}

static int version_print(const Plugin *plugin)
{
	char text[256];
	const int n = snprintf(text, sizeof(text),
			       "{\"cniVersion\":\"%s\",\"supportedVersions\":[\"0.3.0\",\"0.3.1\","
			       "\"0.4.0\",\"1.0.0\",\"1.1.0\"]}\n",
			       plugin->request.version);

	return print(text, (size_t)n);
}

static int answer_print(const Plugin *plugin)
{
	const int status = print(plugin->answer.output, plugin->answer.size);

	return plugin->answer.status ? 1 : status;
}

static int spool_fail(const Plugin *plugin, int errnum)
{
	if (errnum == ENOBUFS)
		return fail(plugin, 11, "rdmad is not there, and its spool of DELs is full");
	return fail_errno(plugin, 5, "rdmad is not there, and the DEL cannot be kept for it",
			  errnum);
}

/* A daemon that has started by now is called, because it may have read the spool before the record
 * was written. */
static int spool_del(Plugin *plugin, const char *socket)
{
	const char *directory = setting("RDMAD_CNI_SPOOL", SPOOL);
	char name[SPOOL_NAME_SIZE];

	if (spool_write(&plugin->request, directory, name) < 0)
		return spool_fail(plugin, errno);
	if (call_daemon(&plugin->request, socket, 0, plugin->deadline, &plugin->answer) ==
		    CALL_ANSWERED &&
	    plugin->answer.status == 0)
		spool_remove(directory, name);
	return 0;
}

static int unreachable_handle(Plugin *plugin, unsigned command, const char *socket)
{
	if (!commands[command].code)
		return spool_del(plugin, socket);
	return fail(plugin, commands[command].code, "rdmad is not there; try again later");
}

static int run(Plugin *plugin, unsigned command)
{
	const char *socket = setting("RDMAD_CNI_SOCKET", SOCKET);
	const char *wait = setting("RDMAD_CNI_WAIT_MS", NULL);
	const int64_t wait_ms = wait ? atoi(wait) : commands[command].wait_ms;

	switch (call_daemon(&plugin->request, socket, wait_ms, plugin->deadline, &plugin->answer)) {
	case CALL_ANSWERED:
		return answer_print(plugin);
	case CALL_UNREACHABLE:
		return unreachable_handle(plugin, command, socket);
	case CALL_TIMED_OUT:
		return fail(plugin, 11, "rdmad did not answer in time; try again later");
	case CALL_REFUSED:
		break;
	}
	return fail_errno(plugin, 5, "rdmad cannot be asked", errno);
}

static int plugin_run(Plugin *plugin)
{
	const char *problem = NULL;
	const int code = request_read(&plugin->request, plugin->deadline, &problem);

	if (code)
		return fail(plugin, code, problem);
	if (strcmp(plugin->request.command, "VERSION") == 0)
		return version_print(plugin);
	for (unsigned i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strcmp(plugin->request.command, commands[i].name) == 0)
			return run(plugin, i);
	return fail(plugin, 4, "unknown CNI_COMMAND");
}

static int plugin_main(void)
{
	const char *limit = setting("RDMAD_CNI_DEADLINE_MS", NULL);
	Plugin *plugin = calloc(1, sizeof(*plugin));
	int status;

	if (!plugin) {
		fprintf(stderr, "rdmad-cni: %s\n", strerror(errno));
		return 1;
	}
	plugin->deadline = deadline_in(limit ? atoi(limit) : DEADLINE_MS);
	status = plugin_run(plugin);
	free(plugin);
	return status;
}

static int usage(FILE *to, int status)
{
	fprintf(to, "usage: rdmad-cni			as a CNI plugin, by its environment\n"
		    "       rdmad-cni --install DIR	puts a copy of itself into DIR\n");
	return status;
}

int main(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN);
	if (argc == 1)
		return plugin_main();
	if (argc == 3 && strcmp(argv[1], "--install") == 0)
		return install_into(argv[2]) < 0;
	if (argc == 2 && strcmp(argv[1], "--help") == 0)
		return usage(stdout, 0);
	return usage(stderr, 2);
}
