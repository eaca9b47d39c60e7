/* SPDX-License-Identifier: Apache-2.0 */
/* rdmad itself: versions, configuration, modules, database */
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/capabilities.h"
#include "build-info.h"
#include "module/host.h"
#include "api/doctor.h"
#include "http/http.h"

#define LARGE_DATABASE (64 << 20)

/* Libraries whose versions were relevant to bugs. */
static gboolean is_notable(const char *file)
{
	static const char *const stems[] = {
		"libevent",   "libnghttp2", "libglib-2", "libconfig",  "libprotobuf-c",
		"libsqlite3", "libjansson", "libnl-3",	 "libibverbs", "libssl",
	};

	for (gsize i = 0; i < G_N_ELEMENTS(stems); i++)
		if (g_str_has_prefix(file, stems[i]))
			return TRUE;
	return FALSE;
}

/* The file name behind the link has the version: libnghttp2.so.14.24.1. */
static int note_library(struct dl_phdr_info *info, size_t size, void *data)
{
	GString *names = data;
	char path[PATH_MAX];
	const char *file;

	if (!info->dlpi_name || !*info->dlpi_name || !realpath(info->dlpi_name, path))
		return 0;
	file = strrchr(path, '/') + 1;
	if (is_notable(file))
		g_string_append_printf(names, "%s%s", names->len ? ", " : "", file);
	return 0;
}

char *doctor_libraries(void)
{
	GString *names = g_string_new(NULL);

	dl_iterate_phdr(note_library, names);
	return g_string_free(names, FALSE);
}

static void check_versions(const DoctorFiles *files, json_t *findings)
{
	doctor_say(findings, RDMAD_FINDING_OK, "version", NULL, "rdmad %s%s%s", RDMAD_VERSION,
		   files ? "; " : "", files ? files->libraries : "");
}

static void check_config(const RdmadServices *services, json_t *findings)
{
	if (services->config_error)
		doctor_say(findings, RDMAD_FINDING_PROBLEM, "configuration",
			   "correct it, try it with `rdmad --check`, then reload rdmad (SIGHUP)",
			   "the last reload was refused and the configuration before it is still "
			   "in use: %s",
			   services->config_error);
	else
		doctor_say(findings, RDMAD_FINDING_OK, "configuration", NULL, "%s",
			   services->config_path ?: "no file; defaults are in use");
}

static void check_instances(const RdmadServices *services, json_t *findings)
{
	for (guint i = 0; services->other_instances && services->other_instances[i]; i++)
		doctor_say(
			findings, RDMAD_FINDING_PROBLEM, "instance",
			"a node has one rdmad: remove one of the two releases or units from this "
			"node, or narrow its node selector",
			"rdmad of %s waits for this node, which instance %s serves",
			services->other_instances[i], services->instance);
}

static void check_listeners(const RdmadServices *services, json_t *findings)
{
	for (guint i = 0; i < rdmad_http_listener_count(services->http); i++) {
		RdmadHttpListenerInfo info;

		rdmad_http_listener_info(services->http, i, &info);
		if (info.web_config_error)
			doctor_say(findings, RDMAD_FINDING_PROBLEM, "listener",
				   "correct it; it is read again when it changes",
				   "%s continues with the previous web configuration: %s",
				   info.address, info.web_config_error);
		else if (info.scope != RDMAD_HTTP_LOCAL)
			doctor_say(findings, RDMAD_FINDING_OK, "listener", NULL, "%s, %s%s",
				   info.address, info.tls ? "TLS" : "plain HTTP",
				   info.passwords || info.certificates
					   ? ", for those with a password or certificate"
					   : ", for every client that can connect");
	}
}

static void check_modules(const RdmadServices *services, json_t *findings)
{
	for (guint i = 0; i < rdmad_modules_count(services->modules); i++) {
		RdmadModuleInfo info;

		rdmad_modules_info(services->modules, i, &info);
		if (info.state == RDMAD_MODULE_FAILED)
			doctor_say(findings, RDMAD_FINDING_PROBLEM, "modules",
				   "remove the cause, then reload or restart rdmad",
				   "module %s did not start: %s", info.name,
				   info.error ?: "it gave no reason");
	}
}

static void check_executor(const RdmadServices *services, json_t *findings)
{
	g_autofree char *lacks = NULL;

	if (!services->privileges.executor_lacks)
		return;
	lacks = rdmad_capabilities_text(services->privileges.executor_lacks);
	doctor_say(findings, RDMAD_FINDING_PROBLEM, "executor",
		   "`rdmad --privileges` tells what for; the package rdmad-cni, drop-ins of "
		   "rdmad.service and the chart's `modules` give them",
		   "rdmad was started without %s", lacks);
}

static void check_database_file(const DoctorFiles *files, json_t *findings)
{
	if (files->database_errnum)
		doctor_say(findings, RDMAD_FINDING_PROBLEM, "database",
			   "restart rdmad; allocations are taken from kubelet again",
			   "%s cannot be read: %s", files->database,
			   g_strerror(files->database_errnum));
	else
		doctor_say(findings,
			   files->database_size > LARGE_DATABASE ? RDMAD_FINDING_NOTE
								 : RDMAD_FINDING_OK,
			   "database", NULL, "%s has %" G_GINT64_FORMAT " KiB", files->database,
			   files->database_size / 1024);
}

static void check_database(const RdmadServices *services, const DoctorFiles *files,
			   json_t *findings)
{
	if (!services->state_dir) {
		doctor_say(findings, RDMAD_FINDING_NOTE, "database",
			   "set state_dir where allocations are to outlive rdmad",
			   "none: allocations end with rdmad");
		return;
	}
	if (services->state_set_aside)
		doctor_say(
			findings, RDMAD_FINDING_PROBLEM, "database",
			"allocations were taken from kubelet again; look for disk errors, keep the "
			"file for support, then remove it and restart rdmad",
			"the database was damaged and was set aside as %s",
			services->state_set_aside);
	if (files)
		check_database_file(files, findings);
}

void doctor_check_daemon(const RdmadServices *services, const DoctorFiles *files, json_t *findings)
{
	check_versions(files, findings);
	check_config(services, findings);
	check_instances(services, findings);
	check_listeners(services, findings);
	check_modules(services, findings);
	check_executor(services, findings);
	check_database(services, files, findings);
	if (geteuid() != 0)
		doctor_say(findings, RDMAD_FINDING_NOTE, "user",
			   "kubelet's sockets need uid 0; metrics alone do not",
			   "rdmad runs as uid %u", (guint)geteuid());
}
