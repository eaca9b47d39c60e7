/* SPDX-License-Identifier: Apache-2.0 */
#include "ipam/ipam.h"

#include <jansson.h>
#include <rdmad/child.h>
#include <rdmad/error.h>
#include <rdmad/json.h>
#include <string.h>
#include <unistd.h>

#include "error.h"

#define WORDS_MAX 256 /* bytes of a plugin's output in an error */
/* For a plugin to end by itself: between the creation and the contents of a lease, the signal would
 * leave an address that nobody can free. */
#define PATIENCE_MS 1000u

struct CniIpam {
	CniIpamRecords *records;
	char *container_id;
	pid_t pid; /* 0: not recorded */
	RdmadChild *child;
	char *type;
	CniCommand command;
	gboolean has_refused;
	CniIpamDone done;
	gpointer data;
};

static void ipam_free(CniIpam *ipam)
{
	if (ipam->pid)
		cni_ipam_records_remove(ipam->records, ipam->pid);
	g_free(ipam->container_id);
	g_free(ipam->type);
	g_free(ipam);
}

/* ---- environment and program ---- */

static const char *variable(char *const *environment, const char *name)
{
	const gsize length = strlen(name);

	for (; *environment; environment++)
		if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
			return *environment + length + 1;
	return NULL;
}

static char **environment_make(const CniIpamCall *call, char *const *received)
{
	static const char *const own[] = { "CNI_COMMAND", "CNI_NETNS", "CNI_IFNAME", "CNI_PATH",
					   "PATH" };
	g_autofree char *more = g_strjoinv(":", call->settings->plugin_path);
	const char *path = variable(received, "CNI_PATH");
	GPtrArray *made = g_ptr_array_new();

	for (; *received; received++) {
		gboolean mine = FALSE;

		for (guint i = 0; i < G_N_ELEMENTS(own); i++)
			mine |= strncmp(*received, own[i], strlen(own[i])) == 0 &&
				(*received)[strlen(own[i])] == '=';
		if (!mine)
			g_ptr_array_add(made, g_strdup(*received));
	}
	g_ptr_array_add(made, g_strconcat("CNI_COMMAND=", cni_command_name(call->command), NULL));
	g_ptr_array_add(made, g_strconcat("CNI_NETNS=", call->netns ? call->netns : "", NULL));
	g_ptr_array_add(made, g_strconcat("CNI_IFNAME=", call->nic ? call->nic->ifname : "", NULL));
	g_ptr_array_add(made,
			g_strconcat("CNI_PATH=", path ? path : "", path ? ":" : "", more, NULL));
	g_ptr_array_add(made, g_strdup("PATH=/usr/sbin:/usr/bin:/sbin:/bin"));
	g_ptr_array_add(made, NULL);
	return (char **)g_ptr_array_free(made, FALSE);
}

/* Of a failure of the plugin, which has the given code, or 0. */
static CniError code_of(CniCommand command, json_int_t code)
{
	if (code == CNI_ERROR_TRY_AGAIN || code == CNI_ERROR_VERSION)
		return (CniError)code;
	if (command != CNI_STATUS)
		return CNI_ERROR_IPAM;
	return code == CNI_ERROR_LIMITED ? CNI_ERROR_LIMITED : CNI_ERROR_NOT_AVAILABLE;
}

/* Returns an absolute path, or NULL.  The network names the plugin, so a "/" in the name is
 * rejected. */
static char *plugin_find(const CniIpamCall *call, const char *type, char *const *environment,
			 GError **error)
{
	g_auto(GStrv) directories = g_strsplit(variable(environment, "CNI_PATH"), ":", -1);

	for (guint i = 0; !strchr(type, '/') && directories[i]; i++) {
		g_autofree char *path = g_build_filename(directories[i], type, NULL);

		if (g_path_is_absolute(path) && access(path, X_OK) == 0)
			return g_steal_pointer(&path);
	}
	cni_refuse(error, code_of(call->command, 0), "ipam: there is no plugin \"%.64s\"", type);
	return NULL;
}

char *cni_ipam_type(const char *config)
{
	json_t *json = rdmad_json_parse(config, strlen(config), CNI_STDIN_DEPTH, NULL);
	char *type =
		g_strdup(json_string_value(json_object_get(json_object_get(json, "ipam"), "type")));

	json_decref(json);
	return type;
}

/* ---- standard input ---- */

static void ranges_put(json_t *json, const char *ranges)
{
	json_t *runtime = json_object_get(json, "runtimeConfig");

	if (!json_is_object(runtime)) {
		runtime = json_object();
		json_object_set_new(json, "runtimeConfig", runtime);
	}
	json_object_set_new(runtime, "ipRanges",
			    rdmad_json_parse(ranges, strlen(ranges), CNI_STDIN_DEPTH, NULL));
}

/* A plugin gets the same ranges in each call for a NIC: host-local needs them to free a lease. */
static char *config_make(const CniIpamCall *call)
{
	const char *config = call->attachment->config;
	const char *ranges = call->nic ? call->nic->ranges : NULL;
	json_t *json;

	if (!ranges && !call->previous)
		return g_strdup(config);
	json = rdmad_json_parse(config, strlen(config), CNI_STDIN_DEPTH, NULL);
	if (ranges)
		ranges_put(json, ranges);
	if (call->previous)
		json_object_set(json, "prevResult", (json_t *)call->previous);
	return rdmad_json_dump(json, JSON_COMPACT);
}

/* ---- the answer ---- */

/* Returns whether the plugin does not support GC or STATUS.  That is no error: each removed
 * attachment had its DEL, and ADD may be supported. */
static gboolean is_unsupported(const CniIpam *ipam, json_int_t code)
{
	return (ipam->command == CNI_GC && code == CNI_ERROR_VERSION) ||
	       ((ipam->command == CNI_GC || ipam->command == CNI_STATUS) &&
		(code == CNI_ERROR_UNKNOWN_CONTAINER || code == CNI_ERROR_ENVIRONMENT));
}

static gboolean failure_set(CniIpam *ipam, const RdmadChildResult *result, GError **error)
{
	json_t *json =
		rdmad_json_parse(result->output.bytes, result->output.size, CNI_STDIN_DEPTH, NULL);
	const char *message = json_string_value(json_object_get(json, "msg"));
	const char *details = json_string_value(json_object_get(json, "details"));
	const json_int_t code = json_integer_value(json_object_get(json, "code"));

	ipam->has_refused = message && code != CNI_ERROR_TRY_AGAIN;
	if (!is_unsupported(ipam, code))
		cni_refuse(error, code_of(ipam->command, code), "ipam %s: %.*s%s%.*s", ipam->type,
			   WORDS_MAX,
			   message		 ? message
			   : result->errors.size ? result->errors.bytes
						 : "it failed without output",
			   details && *details ? ": " : "", WORDS_MAX, details ? details : "");
	json_decref(json);
	return FALSE;
}

static CniResult *answer_parse(CniIpam *ipam, const RdmadChildResult *result, GError **error)
{
	json_t *json;
	CniResult *parsed = NULL;

	if (result->timed_out) {
		cni_refuse(error, CNI_ERROR_TRY_AGAIN, "ipam %s: it did not end in time",
			   ipam->type);
		return NULL;
	}
	if (result->exit_status != 0) {
		failure_set(ipam, result, error);
		return NULL;
	}
	if (ipam->command != CNI_ADD)
		return NULL;
	json = result->output.lost ? NULL
				   : rdmad_json_parse(result->output.bytes, result->output.size,
						      CNI_STDIN_DEPTH, error);
	if (json)
		parsed = cni_result_parse(json, CNI_1_0_0, error);
	else if (result->output.lost)
		cni_refuse(error, CNI_ERROR_IPAM, "too long an answer");
	json_decref(json);
	if (!parsed && error && *error) {
		g_autofree char *why = g_strdup((*error)->message);

		g_clear_error(error);
		cni_refuse(error, CNI_ERROR_IPAM, "ipam %s: it returned no result: %s", ipam->type,
			   why);
	}
	return parsed;
}

static void ended(const RdmadChildResult *result, const GError *problem, gpointer data)
{
	CniIpam *ipam = data;
	g_autoptr(GError) error = NULL;
	CniResult *answer = NULL;

	if (problem)
		cni_refuse(&error, code_of(ipam->command, 0), "ipam %s: %s", ipam->type,
			   problem->message);
	else
		answer = answer_parse(ipam, result, &error);
	ipam->done(answer, error, ipam->data);
	ipam_free(ipam);
}

static gboolean child_started(pid_t pid, gpointer data, GError **error)
{
	CniIpam *ipam = data;

	if (!cni_ipam_records_add(ipam->records, pid, ipam->container_id, error))
		return FALSE;
	ipam->pid = pid;
	return TRUE;
}

CniIpam *cni_ipam_start(const CniIpamCall *call, CniIpamDone done, gpointer data, GError **error)
{
	g_auto(GStrv) received = g_strsplit(call->attachment->environment, "\n", -1);
	g_auto(GStrv) environment = environment_make(call, received);
	g_autofree char *type = cni_ipam_type(call->attachment->config);
	g_autofree char *config = config_make(call);
	g_autofree char *path = plugin_find(call, type ? type : "", environment, error);
	const char *const argv[] = { path, NULL };
	const RdmadChildSpec spec = { .argv = argv,
				      .envp = (const char *const *)environment,
				      .input = config,
				      .input_size = strlen(config),
				      .survives = TRUE,
				      .deadline_ms = (guint)call->settings->ipam_timeout_ms,
				      .born = child_started };
	CniIpam *ipam;

	if (!path)
		return NULL;
	ipam = g_new0(CniIpam, 1);
	ipam->records = call->records;
	ipam->container_id = g_strdup(call->attachment->container_id);
	ipam->type = g_steal_pointer(&type);
	ipam->command = call->command;
	ipam->done = done;
	ipam->data = data;
	ipam->child = rdmad_child_start(rdmad_module_loop(call->self), call->self, &spec, ended,
					ipam, error);
	if (!ipam->child)
		g_clear_pointer(&ipam, ipam_free);
	return ipam;
}

gboolean cni_ipam_has_refused(const CniIpam *ipam)
{
	return ipam->has_refused;
}

void cni_ipam_terminate(CniIpam *ipam)
{
	rdmad_child_terminate(ipam->child, PATIENCE_MS);
}

void cni_ipam_cancel(CniIpam *ipam)
{
	if (!ipam)
		return;
	rdmad_child_cancel(ipam->child);
	ipam_free(ipam);
}
