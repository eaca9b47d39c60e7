/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/bundle/bundle.h"

#include <rdmad/error.h>
#include <rdmad/sysroot.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "build-info.h"
#include "cli/client.h"
#include "hardware/sysroot.h"

#define CONFIG_MAX (1u << 20)
#define REDACTED   "REDACTED"

#define API "/api/v1/"

/* Resources of the API, beside the status and the commands. */
static const char *const answers[] = { "doctor",   "devices", "allocations",
				       "topology", "events",  "attributes" };

/* ---- configuration ---- */

/* Matches the value of a key that sounds like a secret, up to the end of the line: strings may have
 * escaped quotes, which need no parser here. */
static const char secret_pattern[] = "(?im)^(.*?[\\w-]*(?:passw|secret|token|credential|api_?key|"
				     "private_?key)[\\w-]*\"?\\s*[=:]\\s*)"
				     "\\S.*$";
/* https://user:password@host */
static const char userinfo_pattern[] = "://[^/\\s\"@]+@";

static char *replace(const char *text, const char *pattern, const char *by)
{
	g_autoptr(GRegex) regex = g_regex_new(pattern, 0, 0, NULL);

	return g_regex_replace(regex, text, -1, 0, by, 0, NULL);
}

static char *redact(const char *text)
{
	g_autofree char *valid = g_utf8_make_valid(text, -1);
	g_autofree char *without = replace(valid, secret_pattern, "\\1" REDACTED);

	return without ? replace(without, userinfo_pattern, "://" REDACTED "@") : NULL;
}

static void add_config_file(Archive *archive, const char *path)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *name = g_strconcat("config", path, NULL);
	g_autofree char *text = NULL, *redacted = NULL;
	gsize size;

	if (!g_file_get_contents(path, &text, &size, &error)) {
		archive_note(archive, name, error->message);
		return;
	}
	redacted = size <= CONFIG_MAX ? redact(text) : NULL;
	if (redacted)
		archive_file(archive, name, redacted, strlen(redacted));
	else
		archive_note(archive, name, "it is too large to be searched for passwords");
}

/* Adds the file that rdmad reports, or the default, and its drop-ins. */
static void add_config(Archive *archive, const json_t *status)
{
	const json_t *config = json_object_get(status, "config");
	const char *path = status ? format_text(config, "path") : RDMAD_CONFIG_FILE;
	g_autofree char *beside = path ? g_path_get_dirname(path) : NULL;
	g_autofree char *drop_ins = path ? g_build_filename(beside, "conf.d", NULL) : NULL;
	GDir *dir;
	const char *name;

	if (!path)
		return;
	add_config_file(archive, path);
	dir = g_dir_open(drop_ins, 0, NULL);
	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *drop_in = g_build_filename(drop_ins, name, NULL);

		if (g_str_has_suffix(name, ".conf"))
			add_config_file(archive, drop_in);
	}
	if (dir)
		g_dir_close(dir);
}

/* ---- responses of the daemon ---- */

/* Returns a new reference; notes a missing response in the archive and returns NULL. */
static json_t *add_answer(Archive *archive, const char *socket, const char *what)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *path = g_strconcat(API, what, NULL);
	g_autofree char *name = g_strconcat("api/", what, ".json", NULL);
	json_t *answer =
		rdmad_client_call(socket, "GET", path, NULL, COMMAND_TIMEOUT_S, NULL, &error);
	char *text = answer ? json_dumps(answer, JSON_INDENT(1)) : NULL;

	if (text)
		archive_file(archive, name, text, strlen(text));
	else
		archive_note(archive, name, error ? error->message : "no JSON");
	free(text);
	return answer;
}

/* Adds the responses of modules' commands that need no argument. */
static void add_module_answers(Archive *archive, const char *socket, const json_t *commands)
{
	const json_t *command;
	size_t i;

	json_array_foreach(json_object_get(commands, "commands"), i, command)
	{
		const char *path = format_text(command, "path");

		if (path && g_str_has_prefix(path, API) && !format_text(command, "argument"))
			json_decref(add_answer(archive, socket, path + strlen(API)));
	}
}

static void add_metrics(Archive *archive, const char *socket)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *text = rdmad_client_text(socket, "/metrics", COMMAND_TIMEOUT_S, &error);

	if (text)
		archive_file(archive, "metrics", text, strlen(text));
	else
		archive_note(archive, "metrics", error->message);
}

static void add_versions(Archive *archive)
{
	g_autofree char *os = NULL, *text = NULL;
	struct utsname kernel;

	uname(&kernel);
	g_file_get_contents("/etc/os-release", &os, NULL, NULL);
	text = g_strdup_printf("rdmad %s\n%s %s %s %s\n%s", RDMAD_VERSION, kernel.sysname,
			       kernel.release, kernel.version, kernel.machine, os ?: "");
	archive_file(archive, "versions", text, strlen(text));
}

static void add_all(Archive *archive, const CommandOptions *options, const RdmadSysroot *root)
{
	json_t *status, *commands;

	add_versions(archive);
	status = add_answer(archive, options->socket, "status");
	for (guint i = 0; i < G_N_ELEMENTS(answers); i++)
		json_decref(add_answer(archive, options->socket, answers[i]));
	commands = add_answer(archive, options->socket, "commands");
	add_module_answers(archive, options->socket, commands);
	json_decref(commands);
	add_config(archive, status);
	json_decref(status);
	add_metrics(archive, options->socket);
	machine_record(archive, root);
}

int bundle_write(const CommandOptions *options)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(RdmadSysroot) root = rdmad_sysroot_new(options->sysroot, &error);
	Archive *archive = root ? archive_new(options->bundle, &error) : NULL;

	if (archive) {
		add_all(archive, options, root);
		if (archive_finish(archive, &error))
			return 0;
	}
	fprintf(stderr, "rdmad: %s\n", error->message);
	return 1;
}
