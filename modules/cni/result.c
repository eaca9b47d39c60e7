/* SPDX-License-Identifier: Apache-2.0 */
#include "result.h"

#include <jansson.h>
#include <rdmad/json.h>
#include <string.h>
#include <sys/socket.h>

#include "error.h"
#include "shim/message.h"

#define TEXT_MAX 4096u

/* ---- the object ---- */

static void interface_clear(gpointer data)
{
	CniInterface *interface = data;

	g_free(interface->name);
	g_free(interface->mac);
	g_free(interface->sandbox);
	g_free(interface->socket_path);
	g_free(interface->pci_id);
}

CniResult *cni_result_new(void)
{
	CniResult *result = g_new0(CniResult, 1);

	result->interfaces = g_array_new(FALSE, TRUE, sizeof(CniInterface));
	g_array_set_clear_func(result->interfaces, interface_clear);
	result->ips = g_array_new(FALSE, TRUE, sizeof(CniIp));
	result->routes = g_array_new(FALSE, TRUE, sizeof(CniRoute));
	return result;
}

void cni_result_free(CniResult *result)
{
	if (!result)
		return;
	g_array_unref(result->interfaces);
	g_array_unref(result->ips);
	g_array_unref(result->routes);
	json_decref(result->dns);
	g_free(result);
}

void cni_result_add_interface(CniResult *result, const CniInterface *interface)
{
	const CniInterface copy = {
		.name = g_strdup(interface->name),
		.mac = g_strdup(interface->mac),
		.sandbox = g_strdup(interface->sandbox),
		.mtu = interface->mtu,
		.socket_path = g_strdup(interface->socket_path),
		.pci_id = g_strdup(interface->pci_id),
	};

	g_array_append_val(result->interfaces, copy);
}

void cni_result_merge(CniResult *result, const CniResult *own)
{
	const int base = (int)result->interfaces->len;

	for (guint i = 0; i < own->interfaces->len; i++)
		cni_result_add_interface(result, &g_array_index(own->interfaces, CniInterface, i));
	for (guint i = 0; i < own->ips->len; i++) {
		CniIp ip = g_array_index(own->ips, CniIp, i);

		ip.interface += ip.interface < 0 ? 0 : base;
		g_array_append_val(result->ips, ip);
	}
	g_array_append_vals(result->routes, own->routes->data, own->routes->len);
	if (!result->dns && own->dns)
		result->dns = json_incref(own->dns);
}

/* ---- parsing ---- */

/* Sets `*text` to NULL if the value is absent, null or empty.  Returns FALSE if it is not a
 * string. */
static gboolean text_get(const json_t *json, const char *key, char **text, GError **error)
{
	const json_t *value = json_object_get(json, key);
	const char *string = json_string_value(value);

	if (value && !json_is_null(value) && (!string || strlen(string) > TEXT_MAX))
		return cni_refuse(error, CNI_ERROR_DECODE, "%s: not a string, or too long", key);
	*text = string && string[0] ? g_strdup(string) : NULL;
	return TRUE;
}

static gboolean number_get(const json_t *json, const char *key, gint64 *number, GError **error)
{
	const json_t *value = json_object_get(json, key);

	if (!value || json_is_null(value))
		return TRUE;
	if (!json_is_integer(value) || json_integer_value(value) < 0 ||
	    json_integer_value(value) > G_MAXUINT32)
		return cni_refuse(error, CNI_ERROR_DECODE, "%s: not a number of 32 bits", key);
	*number = json_integer_value(value);
	return TRUE;
}

static gboolean ip_get(const json_t *json, const char *key, gboolean required, RdmadIp *ip,
		       GError **error)
{
	const json_t *value = json_object_get(json, key);
	const char *text = json_string_value(value);

	if (!required && (!value || json_is_null(value) || (text && !text[0])))
		return TRUE;
	return rdmad_ip_parse(text, ip, NULL) ||
	       cni_refuse(error, CNI_ERROR_DECODE, "%s: not an address", key);
}

static gboolean interface_parse(CniResult *result, const json_t *json, GError **error)
{
	CniInterface *interface;
	gint64 mtu = 0;

	g_array_set_size(result->interfaces, result->interfaces->len + 1);
	interface = &g_array_index(result->interfaces, CniInterface, result->interfaces->len - 1);
	if (!text_get(json, "name", &interface->name, error) ||
	    !text_get(json, "mac", &interface->mac, error) ||
	    !text_get(json, "sandbox", &interface->sandbox, error) ||
	    !text_get(json, "socketPath", &interface->socket_path, error) ||
	    !text_get(json, "pciID", &interface->pci_id, error) ||
	    !number_get(json, "mtu", &mtu, error))
		return FALSE;
	interface->mtu = (guint32)mtu;
	return TRUE;
}

static gboolean ip_entry_parse(CniResult *result, const json_t *json, GError **error)
{
	CniIp ip = { .interface = -1 };
	gint64 interface = -1;

	if (!ip_get(json, "address", TRUE, &ip.address, error) ||
	    !ip_get(json, "gateway", FALSE, &ip.gateway, error) ||
	    !number_get(json, "interface", &interface, error))
		return FALSE;
	if (interface >= (gint64)result->interfaces->len)
		return cni_refuse(error, CNI_ERROR_DECODE, "interface: no such interface");
	ip.interface = (int)interface;
	g_array_append_val(result->ips, ip);
	return TRUE;
}

static gboolean route_parse(CniResult *result, const json_t *json, GError **error)
{
	CniRoute route = { .priority = -1, .table = -1, .scope = -1 };
	gint64 mtu = 0, advmss = 0;

	if (!ip_get(json, "dst", TRUE, &route.to, error) ||
	    !ip_get(json, "gw", FALSE, &route.gateway, error) ||
	    !number_get(json, "mtu", &mtu, error) || !number_get(json, "advmss", &advmss, error) ||
	    !number_get(json, "priority", &route.priority, error) ||
	    !number_get(json, "table", &route.table, error) ||
	    !number_get(json, "scope", &route.scope, error))
		return FALSE;
	route.mtu = (guint32)mtu;
	route.advmss = (guint32)advmss;
	g_array_append_val(result->routes, route);
	return TRUE;
}

static gboolean list_parse(CniResult *result, const json_t *json, const char *key,
			   gboolean (*parse)(CniResult *, const json_t *, GError **),
			   GError **error)
{
	const json_t *list = json_object_get(json, key);

	if (!list || json_is_null(list))
		return TRUE;
	if (!json_is_array(list) || json_array_size(list) > CNI_RESULT_ENTRIES_MAX)
		return cni_refuse(error, CNI_ERROR_DECODE, "%s: not a list of at most %u", key,
				  CNI_RESULT_ENTRIES_MAX);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *entry = json_array_get(list, i);

		if (!json_is_object(entry))
			return cni_refuse(error, CNI_ERROR_DECODE, "%s %zu: not an object", key,
					  i + 1);
		if (!parse(result, entry, error)) {
			g_prefix_error(error, "%s %zu: ", key, i + 1);
			return FALSE;
		}
	}
	return TRUE;
}

static gboolean version_check(const json_t *json, CniVersion version, GError **error)
{
	const json_t *value = json_object_get(json, "cniVersion");
	const char *text = json_string_value(value);

	if (value && text && text[0])
		version = cni_version_parse(text);
	else if (value && !text)
		return cni_refuse(error, CNI_ERROR_DECODE, "cniVersion: not a string");
	return version != CNI_N_VERSIONS ||
	       cni_refuse(error, CNI_ERROR_VERSION, "a result of version %.16s is not understood",
			  text ? text : "");
}

CniResult *cni_result_parse(const json_t *json, CniVersion version, GError **error)
{
	g_autoptr(CniResult) result = cni_result_new();
	json_t *dns = json_object_get(json, "dns");

	if (!json_is_object(json)) {
		cni_refuse(error, CNI_ERROR_DECODE, "a result is an object");
		return NULL;
	}
	/* Interfaces come first: addresses refer to them by index. */
	if (!version_check(json, version, error) ||
	    !list_parse(result, json, "interfaces", interface_parse, error) ||
	    !list_parse(result, json, "ips", ip_entry_parse, error) ||
	    !list_parse(result, json, "routes", route_parse, error))
		return NULL;
	if (json_is_object(dns) && json_object_size(dns))
		result->dns = json_incref(dns);
	return g_steal_pointer(&result);
}

/* ---- rendering ---- */

static void text_put(json_t *json, const char *key, const char *text)
{
	if (text)
		json_object_set_new(json, key, json_string(text));
}

static void number_put(json_t *json, const char *key, gint64 number, gint64 none)
{
	if (number != none)
		json_object_set_new(json, key, json_integer(number));
}

static void ip_put(json_t *json, const char *key, const RdmadIp *ip, gboolean with_prefix)
{
	char text[RDMAD_IP_TEXT];

	if (rdmad_ip_is_set(ip))
		json_object_set_new(json, key, json_string(rdmad_ip_text(ip, with_prefix, text)));
}

static json_t *interface_render(const CniInterface *interface, CniVersion version)
{
	json_t *json = json_object();

	text_put(json, "name", interface->name);
	text_put(json, "mac", interface->mac);
	text_put(json, "sandbox", interface->sandbox);
	if (version >= CNI_1_1_0) {
		number_put(json, "mtu", interface->mtu, 0);
		text_put(json, "socketPath", interface->socket_path);
		text_put(json, "pciID", interface->pci_id);
	}
	return json;
}

static json_t *ip_render(const CniIp *ip, CniVersion version)
{
	json_t *json = json_object();

	if (version < CNI_1_0_0)
		text_put(json, "version", ip->address.family == AF_INET ? "4" : "6");
	ip_put(json, "address", &ip->address, TRUE);
	ip_put(json, "gateway", &ip->gateway, FALSE);
	number_put(json, "interface", ip->interface, -1);
	return json;
}

static json_t *route_render(const CniRoute *route, CniVersion version)
{
	json_t *json = json_object();

	ip_put(json, "dst", &route->to, TRUE);
	ip_put(json, "gw", &route->gateway, FALSE);
	if (version >= CNI_1_1_0) {
		number_put(json, "mtu", route->mtu, 0);
		number_put(json, "advmss", route->advmss, 0);
		number_put(json, "priority", route->priority, -1);
		number_put(json, "table", route->table, -1);
		number_put(json, "scope", route->scope, -1);
	}
	return json;
}

json_t *cni_result_render(const CniResult *result, CniVersion version)
{
	json_t *json = json_object(), *interfaces = json_array(), *ips = json_array(),
	       *routes = json_array();

	for (guint i = 0; i < result->interfaces->len; i++)
		json_array_append_new(
			interfaces,
			interface_render(&g_array_index(result->interfaces, CniInterface, i),
					 version));
	for (guint i = 0; i < result->ips->len; i++)
		json_array_append_new(ips,
				      ip_render(&g_array_index(result->ips, CniIp, i), version));
	for (guint i = 0; i < result->routes->len; i++)
		json_array_append_new(
			routes, route_render(&g_array_index(result->routes, CniRoute, i), version));
	json_object_set_new(json, "cniVersion", json_string(cni_versions[version]));
	json_object_set_new(json, "interfaces", interfaces);
	json_object_set_new(json, "ips", ips);
	json_object_set_new(json, "routes", routes);
	json_object_set_new(json, "dns", result->dns ? json_incref(result->dns) : json_object());
	return json;
}

char *cni_result_text(const CniResult *result, CniVersion version)
{
	return rdmad_json_dump(cni_result_render(result, version), JSON_COMPACT);
}

char *cni_result_answer(const CniResult *result, CniVersion version, GError **error)
{
	g_autofree char *text = cni_result_text(result, version);

	if (text && strlen(text) <= CNI_SHIM_INPUT_MAX)
		return g_steal_pointer(&text);
	cni_refuse(error, CNI_ERROR_DECODE, "the result is larger than %u bytes",
		   CNI_SHIM_INPUT_MAX);
	return NULL;
}

char *cni_error_text(const GError *problem, CniVersion version)
{
	json_t *json =
		json_pack("{s:s, s:i, s:o}", "cniVersion", cni_versions[version], "code",
			  cni_error_code(problem), "msg", rdmad_json_string(problem->message));

	return rdmad_json_dump(json, JSON_COMPACT);
}
