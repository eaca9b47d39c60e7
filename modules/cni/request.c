/* SPDX-License-Identifier: Apache-2.0 */
#include "request.h"

#include <jansson.h>
#include <limits.h>
#include <rdmad/json.h>
#include <string.h>

#include "error.h"

#define NAME_MAX_BYTES	253u /* container IDs, networks, pods */
#define POD_ANNOTATIONS "io.kubernetes.cri.pod-annotations"
#define POD_NETWORKS	"k8s.volcengine.com/pod-networks"

/* The first version that has a command, and whether the command requires a container and a
 * namespace. */
static const struct {
	const char *name;
	CniVersion since;
	gboolean container, netns;
} commands[CNI_N_COMMANDS] = {
	[CNI_ADD] = { "ADD", CNI_0_3_0, TRUE, TRUE },
	[CNI_DEL] = { "DEL", CNI_0_3_0, TRUE, FALSE },
	[CNI_CHECK] = { "CHECK", CNI_0_4_0, TRUE, TRUE },
	[CNI_GC] = { "GC", CNI_1_1_0, FALSE, FALSE },
	[CNI_STATUS] = { "STATUS", CNI_1_1_0, FALSE, FALSE },
	[CNI_VERSION] = { "VERSION", CNI_0_3_0, FALSE, FALSE },
};

const char *cni_command_name(CniCommand command)
{
	return commands[command].name;
}

/* ---- the object ---- */

static void key_clear(gpointer data)
{
	CniAttachmentKey *key = data;

	g_free(key->container_id);
	g_free(key->ifname);
}

static CniRequest *request_new(void)
{
	CniRequest *request = g_new0(CniRequest, 1);

	request->command = CNI_N_COMMANDS;
	request->version = CNI_NEWEST;
	request->keys = cni_network_keys_none;
	request->ips = g_array_new(FALSE, TRUE, sizeof(RdmadIp));
	request->valid = g_array_new(FALSE, TRUE, sizeof(CniAttachmentKey));
	g_array_set_clear_func(request->valid, key_clear);
	return request;
}

void cni_request_free(CniRequest *request)
{
	if (!request)
		return;
	g_free(request->container_id);
	g_free(request->netns);
	g_free(request->ifname);
	g_free(request->path);
	g_free(request->pod_namespace);
	g_free(request->pod_name);
	g_free(request->pod_uid);
	g_strfreev(request->environment);
	json_decref(request->config);
	g_free(request->network);
	g_free(request->ipam_type);
	g_free(request->device_id);
	g_array_unref(request->ips);
	g_free(request->pod_networks);
	cni_network_keys_clear(&request->keys);
	cni_result_free(request->previous);
	g_array_unref(request->valid);
	g_free(request);
}

gboolean cni_request_is_for(const CniRequest *request, const char *pod_namespace,
			    const char *pod_name)
{
	return g_strcmp0(request->pod_namespace, pod_namespace) == 0 &&
	       g_strcmp0(request->pod_name, pod_name) == 0;
}

/* ---- names ---- */

/* utils.go of containernetworking/cni: ^[a-zA-Z0-9][a-zA-Z0-9_.\-]*$ */
static gboolean name_check(const char *name)
{
	const gsize length = strlen(name);

	if (length > NAME_MAX_BYTES || !g_ascii_isalnum(name[0]))
		return FALSE;
	for (; *name; name++)
		if (!g_ascii_isalnum(*name) && !strchr("_.-", *name))
			return FALSE;
	return TRUE;
}

static gboolean path_check(const char *path)
{
	return g_path_is_absolute(path) && strlen(path) < PATH_MAX &&
	       g_utf8_validate(path, -1, NULL);
}

/* ---- environment ---- */

static gboolean environment_split(CniRequest *request, const char *block, gsize length,
				  GError **error)
{
	g_autoptr(GPtrArray) list = g_ptr_array_new();

	if (length > CNI_ENVIRONMENT_MAX || (length && block[length - 1]))
		return cni_refuse(error, CNI_ERROR_ENVIRONMENT,
				  "the environment is larger than %u bytes, or cut off",
				  CNI_ENVIRONMENT_MAX);
	for (gsize at = 0; at < length; at += strlen(block + at) + 1)
		g_ptr_array_add(list, g_strdup(block + at));
	g_ptr_array_add(list, NULL);
	request->environment = (char **)g_ptr_array_free(g_steal_pointer(&list), FALSE);
	return TRUE;
}

/* Returns NULL if the variable is unset or empty. */
static const char *variable(const CniRequest *request, const char *name)
{
	const char *value = g_environ_getenv(request->environment, name);

	return value && value[0] ? value : NULL;
}

static gboolean command_parse(CniRequest *request, GError **error)
{
	const char *text = variable(request, "CNI_COMMAND");

	for (CniCommand command = 0; text && command < CNI_N_COMMANDS; command++) {
		if (g_str_equal(commands[command].name, text)) {
			request->command = command;
			return TRUE;
		}
	}
	return cni_refuse(error, CNI_ERROR_ENVIRONMENT,
			  text ? "unknown CNI_COMMAND \"%.32s\""
			       : "required env variables [CNI_COMMAND] missing%s",
			  text ? text : "");
}

/* The wording is that of skel in the reference plugins, because people search for it. */
static gboolean missing_check(const CniRequest *request, GError **error)
{
	g_autoptr(GString) missing = g_string_new(NULL);

	if (commands[request->command].container && !variable(request, "CNI_CONTAINERID"))
		g_string_append(missing, ",CNI_CONTAINERID");
	if (commands[request->command].netns && !variable(request, "CNI_NETNS"))
		g_string_append(missing, ",CNI_NETNS");
	if (commands[request->command].container && !variable(request, "CNI_IFNAME"))
		g_string_append(missing, ",CNI_IFNAME");
	return !missing->len || cni_refuse(error, CNI_ERROR_ENVIRONMENT,
					   "required env variables [%s] missing", missing->str + 1);
}

static gboolean attachment_parse(CniRequest *request, GError **error)
{
	const char *id = variable(request, "CNI_CONTAINERID");
	const char *ifname = variable(request, "CNI_IFNAME");
	const char *netns = variable(request, "CNI_NETNS");

	if (!commands[request->command].container)
		return TRUE;
	request->is_void = request->command == CNI_DEL &&
			   (!name_check(id) || !rdmad_interface_name_is_valid(ifname));
	if (request->is_void)
		return TRUE;
	if (!name_check(id))
		return cni_refuse(error, CNI_ERROR_ENVIRONMENT,
				  "CNI_CONTAINERID \"%.64s\" is not a container ID", id);
	if (!rdmad_interface_name_is_valid(ifname))
		return cni_refuse(error, CNI_ERROR_ENVIRONMENT,
				  "CNI_IFNAME \"%.32s\" is not an interface name", ifname);
	if (commands[request->command].netns && !path_check(netns))
		return cni_refuse(error, CNI_ERROR_ENVIRONMENT,
				  "CNI_NETNS \"%.64s\" is not an absolute path", netns);
	request->container_id = g_strdup(id);
	request->ifname = g_strdup(ifname);
	request->netns = g_strdup(netns);
	return TRUE;
}

/* "IgnoreUnknown=1;K8S_POD_NAME=p;...", in any order. */
static gboolean arguments_parse(CniRequest *request, GError **error)
{
	g_auto(GStrv) pairs = g_strsplit(variable(request, "CNI_ARGS") ?: "", ";", 256);
	const struct {
		const char *key;
		char **value;
	} known[] = { { "K8S_POD_NAMESPACE=", &request->pod_namespace },
		      { "K8S_POD_NAME=", &request->pod_name },
		      { "K8S_POD_UID=", &request->pod_uid } };

	for (char **pair = pairs; *pair; pair++) {
		if (!**pair)
			continue;
		if (!strchr(*pair, '='))
			return cni_refuse(error, CNI_ERROR_ENVIRONMENT,
					  "CNI_ARGS: \"%.64s\" is not a pair KEY=VALUE", *pair);
		if (g_str_has_prefix(*pair, "MAC=") && !rdmad_mac_parse(*pair + 4, &request->mac))
			return cni_refuse(error, CNI_ERROR_ENVIRONMENT,
					  "CNI_ARGS: MAC \"%.64s\" is not an address", *pair + 4);
		for (guint i = 0; i < G_N_ELEMENTS(known); i++) {
			const char *value = *pair + strlen(known[i].key);

			if (!g_str_has_prefix(*pair, known[i].key))
				continue;
			if (value[0] && !name_check(value))
				return cni_refuse(error, CNI_ERROR_ENVIRONMENT,
						  "CNI_ARGS: \"%.64s\" is not a name", *pair);
			g_free(*known[i].value);
			*known[i].value = value[0] ? g_strdup(value) : NULL;
		}
	}
	return TRUE;
}

/* ---- standard input ---- */

static gboolean config_load(CniRequest *request, const char *input, gsize length, GError **error)
{
	g_autoptr(GError) problem = NULL;

	if (length > CNI_STDIN_MAX)
		return cni_refuse(error, CNI_ERROR_DECODE,
				  "the network configuration is larger than %u bytes",
				  CNI_STDIN_MAX);
	g_clear_pointer(&request->config, json_decref);
	request->config = rdmad_json_parse(input, length, CNI_STDIN_DEPTH, &problem);
	if (!request->config)
		return cni_refuse(error, CNI_ERROR_DECODE, "the network configuration: %s",
				  problem->message);
	return json_is_object(request->config) ||
	       cni_refuse(error, CNI_ERROR_DECODE, "the network configuration is not an object");
}

static gboolean version_parse(CniRequest *request, GError **error)
{
	const json_t *value = json_object_get(request->config, "cniVersion");
	const char *text = json_string_value(value);
	const CniVersion version = cni_version_parse(text);

	if (value && !text)
		return cni_refuse(error, CNI_ERROR_DECODE, "cniVersion: not a string");
	/* A configuration without cniVersion is version 0.1.0. */
	if (version == CNI_N_VERSIONS)
		return cni_refuse(error, CNI_ERROR_VERSION,
				  "cniVersion \"%.16s\" is not spoken; %s to %s are",
				  text ? text : "0.1.0", cni_versions[0], cni_versions[CNI_NEWEST]);
	request->version = version;
	return version >= commands[request->command].since ||
	       cni_refuse(error, CNI_ERROR_VERSION, "config version does not allow %s",
			  commands[request->command].name);
}

static gboolean network_parse(CniRequest *request, GError **error)
{
	const char *name = json_string_value(json_object_get(request->config, "name"));

	request->is_void |= request->command == CNI_DEL && (!name || !name_check(name));
	if (request->is_void)
		return TRUE;
	if (!name || !name_check(name))
		return cni_refuse(error, CNI_ERROR_CONFIG,
				  name ? "name: \"%.64s\" is not a network name"
				       : "name: the network has none%s",
				  name ? name : "");
	request->network = g_strdup(name);
	return TRUE;
}

/* The type must be a plain file name: it is looked up in CNI_PATH. */
static gboolean ipam_parse(CniRequest *request, GError **error)
{
	const json_t *ipam = json_object_get(request->config, "ipam");
	const char *type = json_string_value(json_object_get(ipam, "type"));

	if (!ipam || json_is_null(ipam) || (json_is_object(ipam) && !json_object_size(ipam)))
		return TRUE;
	if (!type || !name_check(type))
		return cni_refuse(error, CNI_ERROR_CONFIG, "ipam: its type is not a plugin name");
	request->ipam_type = g_strdup(type);
	return TRUE;
}

/* Sets `*text` to the string of `key`, unless it is set already or the string is empty. */
static gboolean string_parse(const json_t *json, const char *key, gsize max, char **text,
			     GError **error)
{
	const json_t *value = json_object_get(json, key);
	const char *string = json_string_value(value);

	if (!value || json_is_null(value) || *text || (string && !string[0]))
		return TRUE;
	if (!string || strlen(string) > max)
		return cni_refuse(error, CNI_ERROR_CONFIG,
				  "%s: not a string of at most %" G_GSIZE_FORMAT " bytes", key,
				  max);
	*text = g_strdup(string);
	return TRUE;
}

static gboolean ips_parse(CniRequest *request, const json_t *runtime, GError **error)
{
	const json_t *list = json_object_get(runtime, "ips");

	if (list && !json_is_null(list) &&
	    (!json_is_array(list) || json_array_size(list) > CNI_RESULT_ENTRIES_MAX))
		return cni_refuse(error, CNI_ERROR_CONFIG, "runtimeConfig: ips: not a list");
	for (size_t i = 0; i < json_array_size(list); i++) {
		RdmadIp ip;

		if (!rdmad_ip_parse(json_string_value(json_array_get(list, i)), &ip, NULL))
			return cni_refuse(error, CNI_ERROR_CONFIG,
					  "runtimeConfig: ips %zu: not an address", i + 1);
		g_array_append_val(request->ips, ip);
	}
	return TRUE;
}

static gboolean mac_parse(CniRequest *request, const json_t *runtime, GError **error)
{
	g_autofree char *text = NULL;

	return string_parse(runtime, "mac", RDMAD_MAC_TEXT, &text, error) &&
	       (!text || rdmad_mac_parse(text, &request->mac) ||
		cni_refuse(error, CNI_ERROR_CONFIG,
			   "runtimeConfig: mac \"%.64s\" is not an address", text));
}

static gboolean guid_parse(CniRequest *request, const json_t *runtime, GError **error)
{
	g_autofree char *text = NULL;

	return string_parse(runtime, "infinibandGUID", RDMAD_MAC_TEXT, &text, error) &&
	       (!text || cni_guid_parse(text, &request->guid) ||
		cni_refuse(error, CNI_ERROR_CONFIG,
			   "runtimeConfig: infinibandGUID \"%.64s\" is not a GUID", text));
}

static gboolean annotation_find(CniRequest *request, const json_t *runtime, GError **error)
{
	const json_t *annotations = json_object_get(runtime, POD_ANNOTATIONS);

	if (annotations && !json_is_null(annotations) && !json_is_object(annotations))
		return cni_refuse(error, CNI_ERROR_CONFIG,
				  "runtimeConfig: " POD_ANNOTATIONS ": not an object");
	return string_parse(annotations, POD_NETWORKS, CNI_STDIN_MAX, &request->pod_networks,
			    error);
}

static gboolean runtime_parse(CniRequest *request, GError **error)
{
	const json_t *runtime = json_object_get(request->config, "runtimeConfig");

	if (runtime && !json_is_null(runtime) && !json_is_object(runtime))
		return cni_refuse(error, CNI_ERROR_CONFIG, "runtimeConfig: not an object");
	if (!string_parse(runtime, "deviceID", NAME_MAX_BYTES, &request->device_id, error) ||
	    !string_parse(request->config, "deviceID", NAME_MAX_BYTES, &request->device_id,
			  error) ||
	    !string_parse(request->config, "pciBusID", NAME_MAX_BYTES, &request->device_id, error))
		return FALSE;
	return mac_parse(request, runtime, error) && ips_parse(request, runtime, error) &&
	       guid_parse(request, runtime, error) && annotation_find(request, runtime, error);
}

static gboolean previous_parse(CniRequest *request, GError **error)
{
	const json_t *previous = json_object_get(request->config, "prevResult");

	if (!previous || json_is_null(previous))
		return request->command != CNI_CHECK ||
		       cni_refuse(error, CNI_ERROR_CONFIG, "prevResult: CHECK needs it");
	request->previous = cni_result_parse(previous, request->version, error);
	if (!request->previous)
		g_prefix_error(error, "prevResult: ");
	return request->previous != NULL;
}

/* ---- GC ---- */

static gboolean valid_entry_parse(CniRequest *request, const json_t *json)
{
	const char *id = json_string_value(json_object_get(json, "containerID"));
	const char *ifname = json_string_value(json_object_get(json, "ifname"));
	CniAttachmentKey key;

	if (!id || !name_check(id) || !rdmad_interface_name_is_valid(ifname))
		return FALSE;
	key = (CniAttachmentKey){ g_strdup(id), g_strdup(ifname) };
	g_array_append_val(request->valid, key);
	return TRUE;
}

/* Attachments that are not in the list are removed, so a list with one invalid entry is rejected as
 * a whole. */
static gboolean valid_parse(CniRequest *request, GError **error)
{
	const json_t *list = json_object_get(request->config, CNI_VALID_ATTACHMENTS)
				     ?: json_object_get(request->config, CNI_OLDER_ATTACHMENTS);

	if (!json_is_array(list) || json_array_size(list) > CNI_ATTACHMENTS_MAX)
		return cni_refuse(error, CNI_ERROR_CONFIG,
				  CNI_VALID_ATTACHMENTS ": %s; nothing is freed",
				  list ? "not a list, or too long" : "missing");
	for (size_t i = 0; i < json_array_size(list); i++)
		if (!valid_entry_parse(request, json_array_get(list, i)))
			return cni_refuse(error, CNI_ERROR_CONFIG,
					  CNI_VALID_ATTACHMENTS
					  " %zu: no attachment; nothing is freed",
					  i + 1);
	return TRUE;
}

/* ---- the request ---- */

static gboolean config_parse(CniRequest *request, GError **error)
{
	switch (request->command) {
	case CNI_ADD:
	case CNI_CHECK:
		return ipam_parse(request, error) && runtime_parse(request, error) &&
		       cni_network_keys_parse(request->config, &request->keys, error) &&
		       previous_parse(request, error);
	case CNI_DEL:
		/* The journal has all that the undo needs, so errors here are ignored. */
		previous_parse(request, NULL);
		ipam_parse(request, NULL);
		return TRUE;
	case CNI_GC:
		return ipam_parse(request, error) && valid_parse(request, error);
	case CNI_STATUS:
		return ipam_parse(request, error);
	case CNI_VERSION:
	case CNI_N_COMMANDS:
		break;
	}
	return TRUE;
}

static gboolean request_parse(CniRequest *request, const char *environment,
			      gsize environment_length, const char *input, gsize input_length,
			      GError **error)
{
	const gboolean split = environment_split(request, environment, environment_length, error);
	/* The version comes first: every later error is reported in it. */
	const gboolean loaded = config_load(request, input, input_length, NULL);
	const CniVersion version = cni_version_parse(
		json_string_value(json_object_get(request->config, "cniVersion")));

	if (version != CNI_N_VERSIONS)
		request->version = version;
	if (!split || !command_parse(request, error))
		return FALSE;
	if (request->command == CNI_VERSION)
		return TRUE;
	if (!missing_check(request, error) || !attachment_parse(request, error))
		return FALSE;
	if (!arguments_parse(request, request->command == CNI_DEL ? NULL : error) &&
	    request->command != CNI_DEL)
		return FALSE;
	request->path = g_strdup(variable(request, "CNI_PATH"));
	if (!loaded)
		return config_load(request, input, input_length, error);
	/* The ADD of an unknown version was refused, unless the configuration has changed since. */
	if (!version_parse(request, request->command == CNI_DEL ? NULL : error) &&
	    request->command != CNI_DEL)
		return FALSE;
	return network_parse(request, error) && config_parse(request, error);
}

CniRequest *cni_request_parse(const char *environment, gsize environment_length, const char *input,
			      gsize input_length, GError **error)
{
	CniRequest *request = request_new();

	request_parse(request, environment, environment_length, input, input_length, error);
	return request;
}
