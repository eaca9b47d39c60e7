/* SPDX-License-Identifier: Apache-2.0 */
#include "annotation.h"

#include <jansson.h>
#include <rdmad/json.h>
#include <string.h>

#include "error.h"

#define DEPTH_MAX 16u
#define LIST_MAX  256u
#define TEXT_MAX  253u

static void entry_free(gpointer data)
{
	CniAnnotationEntry *entry = data;

	g_free(entry->network);
	g_free(entry->ifname);
	g_array_unref(entry->ips);
	g_array_unref(entry->routes);
	g_free(entry);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CniAnnotationEntry, entry_free)

static CniAnnotationEntry *entry_new(void)
{
	CniAnnotationEntry *entry = g_new0(CniAnnotationEntry, 1);

	entry->ips = g_array_new(FALSE, TRUE, sizeof(RdmadIp));
	entry->routes = g_array_new(FALSE, TRUE, sizeof(CniAnnotationRoute));
	entry->vlan = -1;
	return entry;
}

/* Gets a member of an entry: an object, null, or absent. */
static gboolean part_get(const json_t *json, const char *key, const json_t **part, GError **error)
{
	*part = json_object_get(json, key);
	return !*part || json_is_null(*part) || json_is_object(*part) ||
	       cni_refuse(error, CNI_ERROR_CONFIG, "%s: not an object", key);
}

static gboolean text_get(const json_t *json, const char *key, char **text, GError **error)
{
	const json_t *value = json_object_get(json, key);
	const char *string = json_string_value(value);

	if (value && !json_is_null(value) && (!string || strlen(string) > TEXT_MAX))
		return cni_refuse(error, CNI_ERROR_CONFIG, "%s: not a string, or too long", key);
	*text = string && string[0] ? g_strdup(string) : NULL;
	return TRUE;
}

static gboolean list_get(const json_t *json, const char *key, const json_t **list, GError **error)
{
	*list = json_object_get(json, key);
	return !*list || json_is_null(*list) ||
	       (json_is_array(*list) && json_array_size(*list) <= LIST_MAX) ||
	       cni_refuse(error, CNI_ERROR_CONFIG, "%s: not a list of at most %u", key, LIST_MAX);
}

static gboolean ips_parse(CniAnnotationEntry *entry, const json_t *device, GError **error)
{
	const json_t *list;

	if (!list_get(device, "ips", &list, error))
		return FALSE;
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *text = json_string_value(json_array_get(list, i));
		RdmadIp ip;

		if (!rdmad_ip_parse(text, &ip, NULL))
			return cni_refuse(error, CNI_ERROR_CONFIG, "ips %zu: not an address",
					  i + 1);
		g_array_append_val(entry->ips, ip);
	}
	return TRUE;
}

static gboolean name_parse(CniAnnotationEntry *entry, const json_t *device, guint number,
			   GError **error)
{
	if (!text_get(device, "ifName", &entry->ifname, error))
		return FALSE;
	if (!entry->ifname)
		entry->ifname = g_strdup_printf("eth%u", number);
	return rdmad_interface_name_is_valid(entry->ifname) ||
	       cni_refuse(error, CNI_ERROR_CONFIG, "ifName: \"%.32s\" is not an interface name",
			  entry->ifname);
}

/* Options are texts; a number is clear, too. */
static gboolean vlan_parse(CniAnnotationEntry *entry, const json_t *vlan, GError **error)
{
	const char *text = json_string_value(vlan);
	guint64 number = G_MAXUINT64;

	if (!vlan || json_is_null(vlan) || (text && !text[0]))
		return TRUE;
	if (json_is_integer(vlan))
		number = (guint64)json_integer_value(vlan);
	if (number > 4094 &&
	    !(text && g_ascii_string_to_unsigned(text, 10, 0, 4094, &number, NULL)))
		return cni_refuse(error, CNI_ERROR_CONFIG, "vlanID: not from 0 to 4094");
	entry->vlan = (gint64)number;
	return TRUE;
}

static gboolean options_parse(CniAnnotationEntry *entry, const json_t *device, GError **error)
{
	g_autofree char *mac = NULL;
	const json_t *options;

	if (!part_get(device, "options", &options, error) || !text_get(device, "mac", &mac, error))
		return FALSE;
	if (mac && !rdmad_mac_parse(mac, &entry->mac))
		return cni_refuse(error, CNI_ERROR_CONFIG, "mac: not an address");
	return vlan_parse(entry, json_object_get(options, "vlanID"), error);
}

static gboolean route_parse(CniAnnotationEntry *entry, const json_t *json, GError **error)
{
	const char *gateway = json_string_value(json_object_get(json, "gw"));
	CniAnnotationRoute route = { 0 };

	if (!rdmad_ip_parse(json_string_value(json_object_get(json, "dst")), &route.to, NULL))
		return cni_refuse(error, CNI_ERROR_CONFIG, "dst: not a network");
	if (gateway && gateway[0] && !rdmad_ip_parse(gateway, &route.gateway, NULL))
		return cni_refuse(error, CNI_ERROR_CONFIG, "gw: not an address");
	g_array_append_val(entry->routes, route);
	return TRUE;
}

static gboolean traffic_parse(CniAnnotationEntry *entry, const json_t *json, GError **error)
{
	const json_t *traffic, *routes, *list;

	if (!part_get(json, "traffic", &traffic, error) ||
	    !part_get(traffic, "routes", &routes, error) ||
	    !list_get(routes, "extraRoutes", &list, error))
		return FALSE;
	entry->default_route = json_is_true(json_object_get(routes, "default"));
	for (size_t i = 0; i < json_array_size(list); i++) {
		if (!route_parse(entry, json_array_get(list, i), error)) {
			g_prefix_error(error, "extraRoutes %zu: ", i + 1);
			return FALSE;
		}
	}
	return TRUE;
}

/* `number`: of the default name. */
static CniAnnotationEntry *entry_parse(const json_t *json, guint number, GError **error)
{
	g_autoptr(CniAnnotationEntry) entry = entry_new();
	const json_t *conf, *device;

	if (!json_is_object(json)) {
		cni_refuse(error, CNI_ERROR_CONFIG, "not an object");
		return NULL;
	}
	if (!part_get(json, "cniConf", &conf, error) ||
	    !part_get(json, "deviceConf", &device, error) ||
	    !text_get(conf, "name", &entry->network, error) ||
	    !name_parse(entry, device, number, error) || !ips_parse(entry, device, error) ||
	    !options_parse(entry, device, error) || !traffic_parse(entry, json, error))
		return NULL;
	return g_steal_pointer(&entry);
}

/* A duplicate name would fail only after the first NIC was attached. */
static gboolean names_check(const GPtrArray *entries, const CniAnnotationEntry *last,
			    GError **error)
{
	for (guint i = 0; i < entries->len; i++) {
		const CniAnnotationEntry *entry = entries->pdata[i];

		if (g_str_equal(entry->ifname, last->ifname))
			return cni_refuse(error, CNI_ERROR_CONFIG,
					  "ifName: entry %u is called \"%s\" too", i + 1,
					  entry->ifname);
	}
	return TRUE;
}

static GPtrArray *entries_parse(const json_t *json, GError **error)
{
	g_autoptr(GPtrArray) entries = g_ptr_array_new_with_free_func(entry_free);
	const gboolean has_first = json_is_true(json_object_get(json_array_get(json, 0), "master"));

	if (!json_is_array(json) || json_array_size(json) > CNI_ANNOTATION_ENTRIES_MAX) {
		cni_refuse(error, CNI_ERROR_CONFIG, "not a list of at most %u networks",
			   CNI_ANNOTATION_ENTRIES_MAX);
		return NULL;
	}
	for (guint i = 0; i < json_array_size(json); i++) {
		g_autoptr(CniAnnotationEntry) entry =
			entry_parse(json_array_get(json, i), i + !has_first, error);

		if (!entry || !names_check(entries, entry, error)) {
			g_prefix_error(error, "entry %u: ", i + 1);
			return NULL;
		}
		entry->is_first = has_first && i == 0;
		g_ptr_array_add(entries, g_steal_pointer(&entry));
	}
	return g_steal_pointer(&entries);
}

GPtrArray *cni_annotation_parse(const char *text, GError **error)
{
	g_autoptr(GError) problem = NULL;
	json_t *json = rdmad_json_parse(text, strlen(text), DEPTH_MAX, &problem);
	GPtrArray *entries = NULL;

	if (json)
		entries = entries_parse(json, error);
	else
		cni_refuse(error, CNI_ERROR_CONFIG, "%s", problem->message);
	if (!entries)
		g_prefix_error(error, "k8s.volcengine.com/pod-networks: ");
	json_decref(json);
	return entries;
}
