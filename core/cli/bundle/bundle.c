/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/bundle/bundle.h"

#include <rdmad/error.h>
#include <rdmad/sysroot.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/redactor.h"
#include "base/terminal.h"
#include "build-info.h"
#include "cli/client.h"
#include "hardware/sysroot.h"

#define CONFIG_MAX (1u << 20)

#define API "/api/v1/"

/* Resources of the API, beside the status and the commands. */
static const char *const answers[] = { "doctor",   "devices", "allocations",
				       "topology", "events",  "attributes" };

typedef struct {
	Archive *archive;
	RdmadRedactor *redactor;
	const char *socket;
} Bundle;

static void add_text(const Bundle *bundle, const char *name, const char *text)
{
	g_autofree char *redacted = rdmad_redactor_text(bundle->redactor, text);

	if (redacted)
		archive_file(bundle->archive, name, redacted, strlen(redacted));
	else
		archive_note(bundle->archive, name, "it cannot be searched for secrets");
}

/* ---- configuration ---- */

static void add_config_file(const Bundle *bundle, const char *path)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *name = g_strconcat("config", path, NULL);
	g_autofree char *text = NULL;
	gsize size;

	if (!g_file_get_contents(path, &text, &size, &error))
		archive_note(bundle->archive, name, error->message);
	else if (size > CONFIG_MAX)
		archive_note(bundle->archive, name, "it is too large for a configuration");
	else
		add_text(bundle, name, text);
}

/* Adds the file that rdmad reports, or the default, and its drop-ins. */
static void add_config(const Bundle *bundle, const json_t *status)
{
	const json_t *config = json_object_get(status, "config");
	const char *path = status ? format_text(config, "path") : RDMAD_CONFIG_FILE;
	g_autofree char *beside = path ? g_path_get_dirname(path) : NULL;
	g_autofree char *drop_ins = path ? g_build_filename(beside, "conf.d", NULL) : NULL;
	GDir *dir;
	const char *name;

	if (!path)
		return;
	add_config_file(bundle, path);
	dir = g_dir_open(drop_ins, 0, NULL);
	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *drop_in = g_build_filename(drop_ins, name, NULL);

		if (g_str_has_suffix(name, ".conf"))
			add_config_file(bundle, drop_in);
	}
	if (dir)
		g_dir_close(dir);
}

/* ---- responses of the daemon ---- */

/* Returns a new reference; notes a missing response in the archive and returns NULL. */
static json_t *add_answer(const Bundle *bundle, const char *what)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *path = g_strconcat(API, what, NULL);
	g_autofree char *name = g_strconcat("api/", what, ".json", NULL);
	json_t *answer = rdmad_client_call(bundle->socket, "GET", path, NULL, COMMAND_TIMEOUT_S,
					   NULL, &error);
	json_t *redacted = json_deep_copy(answer);
	char *text = NULL;

	rdmad_redactor_json(bundle->redactor, redacted);
	text = redacted ? json_dumps(redacted, JSON_INDENT(1)) : NULL;
	if (text)
		archive_file(bundle->archive, name, text, strlen(text));
	else
		archive_note(bundle->archive, name, error ? error->message : "no JSON");
	free(text);
	json_decref(redacted);
	return answer;
}

/* Adds the responses of modules' commands that need no argument. */
static void add_module_answers(const Bundle *bundle, const json_t *commands)
{
	const json_t *command;
	size_t i;

	json_array_foreach(json_object_get(commands, "commands"), i, command)
	{
		const char *path = format_text(command, "path");

		if (path && g_str_has_prefix(path, API) && !format_text(command, "argument"))
			json_decref(add_answer(bundle, path + strlen(API)));
	}
}

static void add_metrics(const Bundle *bundle)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *text =
		rdmad_client_text(bundle->socket, "/metrics", COMMAND_TIMEOUT_S, &error);

	if (text)
		add_text(bundle, "metrics", text);
	else
		archive_note(bundle->archive, "metrics", error->message);
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

static void add_all(const Bundle *bundle, const RdmadSysroot *root)
{
	json_t *status, *commands;

	add_versions(bundle->archive);
	status = add_answer(bundle, "status");
	for (guint i = 0; i < G_N_ELEMENTS(answers); i++)
		json_decref(add_answer(bundle, answers[i]));
	commands = add_answer(bundle, "commands");
	add_module_answers(bundle, commands);
	json_decref(commands);
	add_config(bundle, status);
	json_decref(status);
	add_metrics(bundle);
	machine_record(bundle->archive, root);
}

int bundle_write(const CommandOptions *options)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(RdmadSysroot) root = rdmad_sysroot_new(options->sysroot, &error);
	Bundle bundle = { root ? archive_new(options->bundle, &error) : NULL, NULL,
			  options->socket };

	if (bundle.archive) {
		bundle.redactor = rdmad_redactor_new();
		add_all(&bundle, root);
		rdmad_redactor_free(bundle.redactor);
		if (archive_finish(bundle.archive, &error))
			return 0;
	}
	rdmad_terminal_error("%s", error->message);
	return 1;
}
