/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of a plan: one table of fields describes each struct for writing, parsing and freeing
 */
#include <rdmad/step.h>

#include <jansson.h>
#include <string.h>
#include <sys/socket.h>
#include <rdmad/error.h>
#include <rdmad/json.h>
#include <rdmad/smc.h>

#define TEXT_MAX  256u
#define DEPTH_MAX 8 /* of JSON: the plan, a step, a list, an entry, and some reserve */

typedef enum {
	FIELD_BOOL,
	FIELD_NUMBER, /* guint32, up to `max` */
	FIELD_FAMILY, /* int */
	FIELD_WORD,   /* int, an index into `words` */
	FIELD_GUID,   /* guint64, as 16 hexadecimal digits */
	FIELD_TEXT,
	FIELD_TEXTS, /* char **, each as FIELD_TEXT */
	FIELD_IP,
	FIELD_MAC,
	FIELD_GROUP, /* a struct in place */
	FIELD_LIST,  /* GArray * of structs */
} FieldType;

typedef struct Shape Shape;

typedef struct {
	const char *key;
	FieldType type;
	gsize offset;
	gboolean required;
	guint32 max;
	const char *const *words;
	gboolean (*check)(const char *text);
	const Shape *shape; /* GROUP, LIST */
} Field;

struct Shape {
	const Field *fields; /* terminated by an entry without a key */
	GArray *(*list_new)(void);
};

/* ---- texts ---- */

static gboolean text_check(const char *text)
{
	const gsize length = strlen(text);

	for (gsize i = 0; i < length; i++)
		if (g_ascii_iscntrl(text[i]))
			return FALSE;
	return length > 0 && length <= TEXT_MAX;
}

/* Accepts one component of a path: an RDMA device, a PCI address, an alternative name. */
static gboolean word_check(const char *text)
{
	return text_check(text) && !strpbrk(text, "/ ") && !g_str_equal(text, ".") &&
	       !g_str_equal(text, "..");
}

/* Values of sysctls may be empty and may contain tabs. */
static gboolean value_check(const char *text)
{
	return strlen(text) <= TEXT_MAX && !strpbrk(text, "\n\r");
}

static gboolean link_kind_check(const char *text)
{
	static const char *const link_kinds[] = { "macvlan", "ipvlan", "ipoib", "vlan", NULL };

	return g_strv_contains(link_kinds, text);
}

static gboolean link_mode_check(const char *text)
{
	static const char *const modes[] = { "bridge", "private", "vepa",     "passthru",  "l2",
					     "l3",     "l3s",	  "datagram", "connected", NULL };

	return g_strv_contains(modes, text);
}

static gboolean sysctl_path_check(const char *text)
{
	g_auto(GStrv) parts = g_strsplit(text, "/", 8);
	guint i;

	for (i = 0; parts[i]; i++)
		if (!word_check(parts[i]))
			return FALSE;
	return i >= 3 && strlen(text) <= TEXT_MAX && g_str_equal(parts[0], "net");
}

/* ---- tables ---- */

#define AT(type, member) .offset = G_STRUCT_OFFSET(type, member)
#define INTERFACE	 .check = rdmad_interface_name_is_valid
#define END                                                                                        \
	{                                                                                          \
		0                                                                                  \
	}

static const char *const place_words[] = { "host", "pod", NULL };
static const char *const switch_words[] = { "keep", "on", "off", NULL };

static const Field address_fields[] = {
	{ "link", FIELD_TEXT, AT(RdmadStepAddress, link), INTERFACE },
	{ "ip", FIELD_IP, AT(RdmadStepAddress, ip), .required = TRUE },
	{ "peer", FIELD_IP, AT(RdmadStepAddress, peer) },
	{ "broadcast", FIELD_IP, AT(RdmadStepAddress, broadcast) },
	{ "flags", FIELD_NUMBER, AT(RdmadStepAddress, flags) },
	{ "metric", FIELD_NUMBER, AT(RdmadStepAddress, metric) },
	{ "scope", FIELD_NUMBER, AT(RdmadStepAddress, scope), .max = 255 },
	{ "label", FIELD_TEXT, AT(RdmadStepAddress, label), .check = text_check },
	{ "valid_s", FIELD_NUMBER, AT(RdmadStepAddress, valid_s) },
	{ "preferred_s", FIELD_NUMBER, AT(RdmadStepAddress, preferred_s) },
	{ "remove", FIELD_BOOL, AT(RdmadStepAddress, remove) },
	END,
};
static const Field route_fields[] = {
	{ "link", FIELD_TEXT, AT(RdmadStepRoute, link), INTERFACE },
	{ "to", FIELD_IP, AT(RdmadStepRoute, to), .required = TRUE },
	{ "gateway", FIELD_IP, AT(RdmadStepRoute, gateway) },
	{ "source", FIELD_IP, AT(RdmadStepRoute, source) },
	{ "table", FIELD_NUMBER, AT(RdmadStepRoute, table), .required = TRUE },
	{ "metric", FIELD_NUMBER, AT(RdmadStepRoute, metric) },
	{ "scope", FIELD_NUMBER, AT(RdmadStepRoute, scope), .max = 255 },
	{ "type", FIELD_NUMBER, AT(RdmadStepRoute, type), .max = 255 },
	{ "protocol", FIELD_NUMBER, AT(RdmadStepRoute, protocol), .max = 255 },
	{ "mtu", FIELD_NUMBER, AT(RdmadStepRoute, mtu) },
	{ "advmss", FIELD_NUMBER, AT(RdmadStepRoute, advmss) },
	{ "onlink", FIELD_BOOL, AT(RdmadStepRoute, onlink) },
	{ "remove", FIELD_BOOL, AT(RdmadStepRoute, remove) },
	{ "replace", FIELD_BOOL, AT(RdmadStepRoute, replace) },
	END,
};
static const Field rule_fields[] = {
	{ "family", FIELD_FAMILY, AT(RdmadStepRule, family), .required = TRUE },
	{ "priority", FIELD_NUMBER, AT(RdmadStepRule, priority), .required = TRUE },
	{ "table", FIELD_NUMBER, AT(RdmadStepRule, table), .required = TRUE },
	{ "from", FIELD_IP, AT(RdmadStepRule, from) },
	{ "to", FIELD_IP, AT(RdmadStepRule, to) },
	{ "iif", FIELD_TEXT, AT(RdmadStepRule, iif), INTERFACE },
	{ "oif", FIELD_TEXT, AT(RdmadStepRule, oif), INTERFACE },
	{ "mark", FIELD_NUMBER, AT(RdmadStepRule, mark) },
	{ "mask", FIELD_NUMBER, AT(RdmadStepRule, mask) },
	{ "protocol", FIELD_NUMBER, AT(RdmadStepRule, protocol), .max = 255 },
	{ "remove", FIELD_BOOL, AT(RdmadStepRule, remove) },
	END,
};
static const Field neighbour_fields[] = {
	{ "link", FIELD_TEXT, AT(RdmadStepNeighbour, link), INTERFACE },
	{ "ip", FIELD_IP, AT(RdmadStepNeighbour, ip), .required = TRUE },
	{ "mac", FIELD_MAC, AT(RdmadStepNeighbour, mac), .required = TRUE },
	END,
};
static const Field sysctl_fields[] = {
	{ "path", FIELD_TEXT, AT(RdmadStepSysctl, path), .required = TRUE,
	  .check = sysctl_path_check },
	{ "value", FIELD_TEXT, AT(RdmadStepSysctl, value), .required = TRUE, .check = value_check },
	{ "before", FIELD_TEXT, AT(RdmadStepSysctl, before), .check = value_check },
	END,
};
static const Field create_fields[] = {
	{ "kind", FIELD_TEXT, AT(RdmadStepLinkCreate, kind), .required = TRUE,
	  .check = link_kind_check },
	{ "parent_index", FIELD_NUMBER, AT(RdmadStepLinkCreate, parent_index), .required = TRUE,
	  .max = G_MAXINT },
	{ "parent", FIELD_TEXT, AT(RdmadStepLinkCreate, parent), .required = TRUE, INTERFACE },
	{ "name", FIELD_TEXT, AT(RdmadStepLinkCreate, name), .required = TRUE, INTERFACE },
	{ "mode", FIELD_TEXT, AT(RdmadStepLinkCreate, mode), .check = link_mode_check },
	{ "vlan", FIELD_NUMBER, AT(RdmadStepLinkCreate, vlan), .max = 4094 },
	{ "is_8021ad", FIELD_BOOL, AT(RdmadStepLinkCreate, is_8021ad) },
	{ "pkey", FIELD_NUMBER, AT(RdmadStepLinkCreate, pkey), .max = 0xffff },
	{ "mac", FIELD_MAC, AT(RdmadStepLinkCreate, mac) },
	{ "mtu", FIELD_NUMBER, AT(RdmadStepLinkCreate, mtu), .max = G_MAXINT },
	END,
};

static const Shape addresses_shape = { address_fields, rdmad_step_addresses_new };
static const Shape routes_shape = { route_fields, rdmad_step_routes_new };
static const Shape neighbours_shape = { neighbour_fields, rdmad_step_neighbours_new };
static const Shape sysctls_shape = { sysctl_fields, rdmad_step_sysctls_new };

static const Field move_fields[] = {
	{ "index", FIELD_NUMBER, AT(RdmadStepLinkMove, index), .required = TRUE, .max = G_MAXINT },
	{ "host_name", FIELD_TEXT, AT(RdmadStepLinkMove, host_name), .required = TRUE, INTERFACE },
	{ "pod_name", FIELD_TEXT, AT(RdmadStepLinkMove, pod_name), .required = TRUE, INTERFACE },
	{ "pci", FIELD_TEXT, AT(RdmadStepLinkMove, pci), .check = word_check },
	{ "parent_device", FIELD_TEXT, AT(RdmadStepLinkMove, parent_device), .check = word_check },
	{ "kind", FIELD_TEXT, AT(RdmadStepLinkMove, kind), .check = value_check },
	{ "permanent_mac", FIELD_MAC, AT(RdmadStepLinkMove, permanent_mac) },
	{ "parent", FIELD_NUMBER, AT(RdmadStepLinkMove, parent), .max = G_MAXINT },
	{ "pod_mac", FIELD_MAC, AT(RdmadStepLinkMove, pod_mac) },
	{ "altnames", FIELD_TEXTS, AT(RdmadStepLinkMove, altnames), .check = word_check },
	{ "mtu", FIELD_NUMBER, AT(RdmadStepLinkMove, mtu), .required = TRUE, .max = G_MAXINT },
	{ "mac", FIELD_MAC, AT(RdmadStepLinkMove, mac) },
	{ "up", FIELD_BOOL, AT(RdmadStepLinkMove, up) },
	{ "flags", FIELD_NUMBER, AT(RdmadStepLinkMove, flags) },
	{ "link_mode", FIELD_NUMBER, AT(RdmadStepLinkMove, link_mode), .max = G_MAXUINT8 },
	{ "xdp", FIELD_NUMBER, AT(RdmadStepLinkMove, xdp) },
	{ "group", FIELD_NUMBER, AT(RdmadStepLinkMove, group) },
	{ "is_marked", FIELD_BOOL, AT(RdmadStepLinkMove, is_marked) },
	{ "addresses", FIELD_LIST, AT(RdmadStepLinkMove, addresses), .shape = &addresses_shape },
	{ "routes", FIELD_LIST, AT(RdmadStepLinkMove, routes), .shape = &routes_shape },
	{ "neighbours", FIELD_LIST, AT(RdmadStepLinkMove, neighbours), .shape = &neighbours_shape },
	{ "sysctls", FIELD_LIST, AT(RdmadStepLinkMove, sysctls), .shape = &sysctls_shape },
	END,
};
static const Field link_fields[] = {
	{ "link", FIELD_TEXT, AT(RdmadStepLinkSet, link), .required = TRUE, INTERFACE },
	{ "up", FIELD_WORD, AT(RdmadStepLinkSet, up), .words = switch_words },
	{ "mtu", FIELD_NUMBER, AT(RdmadStepLinkSet, mtu), .max = G_MAXINT },
	{ "mac", FIELD_MAC, AT(RdmadStepLinkSet, mac) },
	{ "up_before", FIELD_WORD, AT(RdmadStepLinkSet, up_before), .words = switch_words },
	{ "mtu_before", FIELD_NUMBER, AT(RdmadStepLinkSet, mtu_before), .max = G_MAXINT },
	{ "mac_before", FIELD_MAC, AT(RdmadStepLinkSet, mac_before) },
	END,
};
static const Field altname_fields[] = {
	{ "link", FIELD_TEXT, AT(RdmadStepAltname, link), .required = TRUE, INTERFACE },
	{ "name", FIELD_TEXT, AT(RdmadStepAltname, name), .required = TRUE, .check = word_check },
	{ "remove", FIELD_BOOL, AT(RdmadStepAltname, remove) },
	END,
};
static const Field announce_fields[] = {
	{ "link", FIELD_TEXT, AT(RdmadStepAnnounce, link), .required = TRUE, INTERFACE },
	{ "ip", FIELD_IP, AT(RdmadStepAnnounce, ip), .required = TRUE },
	{ "count", FIELD_NUMBER, AT(RdmadStepAnnounce, count), .required = TRUE, .max = 16 },
	END,
};
static const Field vf_state_fields[] = {
	{ "set", FIELD_NUMBER, AT(RdmadVfState, set), .max = 0xff },
	{ "mac", FIELD_MAC, AT(RdmadVfState, mac) },
	{ "vlan", FIELD_NUMBER, AT(RdmadVfState, vlan), .max = 4094 },
	{ "qos", FIELD_NUMBER, AT(RdmadVfState, qos), .max = 7 },
	{ "vlan_protocol", FIELD_NUMBER, AT(RdmadVfState, vlan_protocol), .max = 0xffff },
	{ "spoof_check", FIELD_BOOL, AT(RdmadVfState, spoof_check) },
	{ "trust", FIELD_BOOL, AT(RdmadVfState, trust) },
	{ "min_rate", FIELD_NUMBER, AT(RdmadVfState, min_rate) },
	{ "max_rate", FIELD_NUMBER, AT(RdmadVfState, max_rate) },
	{ "link_state", FIELD_NUMBER, AT(RdmadVfState, link_state), .max = 2 },
	{ "node_guid", FIELD_GUID, AT(RdmadVfState, node_guid) },
	{ "port_guid", FIELD_GUID, AT(RdmadVfState, port_guid) },
	END,
};
static const Shape vf_state_shape = { vf_state_fields, NULL };

static const Field vf_fields[] = {
	{ "pf_index", FIELD_NUMBER, AT(RdmadStepVfSet, pf_index), .required = TRUE,
	  .max = G_MAXINT },
	{ "pf", FIELD_TEXT, AT(RdmadStepVfSet, pf), .required = TRUE, INTERFACE },
	{ "vf", FIELD_NUMBER, AT(RdmadStepVfSet, vf), .max = 0xffff },
	{ "pci", FIELD_TEXT, AT(RdmadStepVfSet, pci), .required = TRUE, .check = word_check },
	{ "wanted", FIELD_GROUP, AT(RdmadStepVfSet, wanted), .required = TRUE,
	  .shape = &vf_state_shape },
	{ "before", FIELD_GROUP, AT(RdmadStepVfSet, before), .required = TRUE,
	  .shape = &vf_state_shape },
	{ "rebind", FIELD_BOOL, AT(RdmadStepVfSet, rebind) },
	END,
};
static const Field rdma_fields[] = {
	{ "index", FIELD_NUMBER, AT(RdmadStepRdmaMove, index), .required = TRUE },
	{ "host_name", FIELD_TEXT, AT(RdmadStepRdmaMove, host_name), .required = TRUE,
	  .check = word_check },
	{ "pod_name", FIELD_TEXT, AT(RdmadStepRdmaMove, pod_name), .check = word_check },
	{ "node_guid", FIELD_GUID, AT(RdmadStepRdmaMove, node_guid) },
	{ "pci", FIELD_TEXT, AT(RdmadStepRdmaMove, pci), .check = word_check },
	END,
};
static const Field gid_fields[] = {
	{ "device", FIELD_TEXT, AT(RdmadStepWaitGid, device), .required = TRUE,
	  .check = word_check },
	{ "port", FIELD_NUMBER, AT(RdmadStepWaitGid, port), .required = TRUE, .max = 255 },
	{ "link", FIELD_TEXT, AT(RdmadStepWaitGid, link), .required = TRUE, INTERFACE },
	{ "ip", FIELD_IP, AT(RdmadStepWaitGid, ip), .required = TRUE },
	{ "timeout_ms", FIELD_NUMBER, AT(RdmadStepWaitGid, timeout_ms), .required = TRUE,
	  .max = 600000 },
	END,
};
static const Field wait_fields[] = {
	{ "link", FIELD_TEXT, AT(RdmadStepWaitLink, link), .required = TRUE, INTERFACE },
	{ "carrier", FIELD_BOOL, AT(RdmadStepWaitLink, carrier) },
	{ "addresses", FIELD_BOOL, AT(RdmadStepWaitLink, addresses) },
	{ "timeout_ms", FIELD_NUMBER, AT(RdmadStepWaitLink, timeout_ms), .required = TRUE,
	  .max = 600000 },
	{ "may_fail", FIELD_BOOL, AT(RdmadStepWaitLink, may_fail) },
	END,
};
static const Field bind_fields[] = {
	{ "device", FIELD_TEXT, AT(RdmadStepRdmaBind, device), .required = TRUE,
	  .check = word_check },
	{ "port", FIELD_NUMBER, AT(RdmadStepRdmaBind, port), .required = TRUE, .max = 255 },
	{ "ip", FIELD_IP, AT(RdmadStepRdmaBind, ip), .required = TRUE },
	END,
};
static const Field smc_fields[] = {
	{ "eid", FIELD_TEXT, AT(RdmadStepSmc, eid), .check = rdmad_smc_eid_is_valid },
	{ "pnetid", FIELD_TEXT, AT(RdmadStepSmc, pnetid), .check = rdmad_smc_pnetid_is_valid },
	{ "link", FIELD_TEXT, AT(RdmadStepSmc, link), INTERFACE },
	{ "device", FIELD_TEXT, AT(RdmadStepSmc, device), .check = word_check },
	END,
};

static const Field common_fields[] = {
	{ "in", FIELD_WORD, AT(RdmadStep, where), .required = TRUE, .words = place_words },
	{ "goes_with_link", FIELD_BOOL, AT(RdmadStep, goes_with_link) },
	END,
};

/* All members of a step's union start at the same address. */
#define OWN(step) ((guint8 *)&(step)->create)

static const struct {
	const char *name;
	const Field *fields;
	const char *subject; /* the key shown by rdmad_step_describe() */
} kinds[RDMAD_N_STEPS] = {
	[RDMAD_STEP_LINK_CREATE] = { "link-create", create_fields, "name" },
	[RDMAD_STEP_LINK_MOVE] = { "link-move", move_fields, "host_name" },
	[RDMAD_STEP_LINK_SET] = { "link-set", link_fields, "link" },
	[RDMAD_STEP_ALTNAME] = { "altname", altname_fields, "name" },
	[RDMAD_STEP_SYSCTL] = { "sysctl", sysctl_fields, "path" },
	[RDMAD_STEP_ADDRESS] = { "address", address_fields, "ip" },
	[RDMAD_STEP_ROUTE] = { "route", route_fields, "to" },
	[RDMAD_STEP_RULE] = { "rule", rule_fields, "from" },
	[RDMAD_STEP_NEIGHBOUR] = { "neighbour", neighbour_fields, "ip" },
	[RDMAD_STEP_ANNOUNCE] = { "announce", announce_fields, "ip" },
	[RDMAD_STEP_VF_SET] = { "vf-set", vf_fields, "pci" },
	[RDMAD_STEP_RDMA_MOVE] = { "rdma-move", rdma_fields, "host_name" },
	[RDMAD_STEP_WAIT_GID] = { "wait-gid", gid_fields, "ip" },
	[RDMAD_STEP_WAIT_LINK] = { "wait-link", wait_fields, "link" },
	[RDMAD_STEP_RDMA_BIND] = { "rdma-bind", bind_fields, "ip" },
	[RDMAD_STEP_SMC] = { "smc", smc_fields, "pnetid" },
};

/* ---- freeing ---- */

static void fields_clear(const Field *fields, guint8 *base)
{
	for (const Field *field = fields; field->key; field++) {
		guint8 *at = base + field->offset;

		if (field->type == FIELD_TEXT)
			g_clear_pointer((char **)(gpointer)at, g_free);
		else if (field->type == FIELD_TEXTS)
			g_clear_pointer((char ***)(gpointer)at, g_strfreev);
		else if (field->type == FIELD_LIST)
			g_clear_pointer((GArray **)(gpointer)at, g_array_unref);
		else if (field->type == FIELD_GROUP)
			fields_clear(field->shape->fields, at);
	}
}

#define LIST_NEW(name, type, fields)                                                               \
	static void name##_clear(gpointer entry)                                                   \
	{                                                                                          \
		fields_clear(fields, entry);                                                       \
	}                                                                                          \
	GArray *rdmad_step_##name##_new(void)                                                      \
	{                                                                                          \
		GArray *list = g_array_new(FALSE, TRUE, sizeof(type));                             \
                                                                                                   \
		g_array_set_clear_func(list, name##_clear);                                        \
		return list;                                                                       \
	}
LIST_NEW(addresses, RdmadStepAddress, address_fields)
LIST_NEW(routes, RdmadStepRoute, route_fields)
LIST_NEW(neighbours, RdmadStepNeighbour, neighbour_fields)
LIST_NEW(sysctls, RdmadStepSysctl, sysctl_fields)

RdmadStep *rdmad_step_new(RdmadStepKind kind, RdmadStepPlace where)
{
	RdmadStep *step = g_new0(RdmadStep, 1);

	g_assert(kind < RDMAD_N_STEPS);
	step->kind = kind;
	step->where = where;
	return step;
}

void rdmad_step_free(RdmadStep *step)
{
	if (!step)
		return;
	fields_clear(kinds[step->kind].fields, OWN(step));
	g_free(step);
}

static void step_destroy(gpointer step)
{
	rdmad_step_free(step);
}

GPtrArray *rdmad_steps_new(void)
{
	return g_ptr_array_new_with_free_func(step_destroy);
}

/* ---- writing ---- */

static json_t *fields_to_json(const Field *fields, const guint8 *base, json_t *json);

static json_t *texts_to_json(char *const *texts)
{
	json_t *json = texts && texts[0] ? json_array() : NULL;

	for (; json && *texts; texts++)
		json_array_append_new(json, json_string(*texts));
	return json;
}

static json_t *list_to_json(const Field *field, GArray *list)
{
	const guint size = list ? g_array_get_element_size(list) : 0;
	json_t *json = list && list->len ? json_array() : NULL;

	for (guint i = 0; json && i < list->len; i++)
		json_array_append_new(json, fields_to_json(field->shape->fields,
							   (guint8 *)list->data + i * size,
							   json_object()));
	return json;
}

static json_t *guid_to_json(guint64 guid)
{
	char text[17];

	g_snprintf(text, sizeof(text), "%016" G_GINT64_MODIFIER "x", guid);
	return guid ? json_string(text) : NULL;
}

static json_t *ip_to_json(const RdmadIp *ip)
{
	char text[RDMAD_IP_TEXT];

	return rdmad_ip_is_set(ip) ? json_string(rdmad_ip_text(ip, FALSE, text)) : NULL;
}

static json_t *mac_to_json(const RdmadMac *mac)
{
	char text[RDMAD_MAC_TEXT];

	return mac->length ? json_string(rdmad_mac_format(mac, text)) : NULL;
}

/* Returns NULL, which omits the field, for an optional 0 or NULL. */
static json_t *field_to_json(const Field *field, const guint8 *base)
{
	gconstpointer at = base + field->offset;

	switch (field->type) {
	case FIELD_BOOL:
		return *(const gboolean *)at ? json_true() : NULL;
	case FIELD_NUMBER:
		return field->required || *(const guint32 *)at ? json_integer(*(const guint32 *)at)
							       : NULL;
	case FIELD_FAMILY:
		return json_integer(*(const int *)at == AF_INET6 ? 6 : 4);
	case FIELD_WORD:
		return field->required || *(const int *)at
			       ? json_string(field->words[*(const int *)at])
			       : NULL;
	case FIELD_GUID:
		return guid_to_json(*(const guint64 *)at);
	case FIELD_TEXT:
		return *(char *const *)at ? json_string(*(char *const *)at) : NULL;
	case FIELD_TEXTS:
		return texts_to_json(*(char *const *const *)at);
	case FIELD_IP:
		return ip_to_json(at);
	case FIELD_MAC:
		return mac_to_json(at);
	case FIELD_GROUP:
		return fields_to_json(field->shape->fields, at, json_object());
	case FIELD_LIST:
		return list_to_json(field, *(GArray *const *)at);
	}
	return NULL;
}

static json_t *fields_to_json(const Field *fields, const guint8 *base, json_t *json)
{
	for (const Field *field = fields; field->key; field++) {
		json_t *value = field_to_json(field, base);

		if (value)
			json_object_set_new_nocheck(json, field->key, value);
	}
	return json;
}

json_t *rdmad_step_to_json(const RdmadStep *step)
{
	json_t *json = json_object();

	json_object_set_new(json, "step", json_string(kinds[step->kind].name));
	fields_to_json(common_fields, (const guint8 *)step, json);
	return fields_to_json(kinds[step->kind].fields, OWN(step), json);
}

char *rdmad_steps_to_text(const GPtrArray *steps)
{
	json_t *json = json_array();

	for (guint i = 0; i < steps->len; i++)
		json_array_append_new(json, rdmad_step_to_json(g_ptr_array_index(steps, i)));
	return rdmad_json_dump(json, JSON_COMPACT);
}

/* ---- parsing ---- */

static gboolean fields_from_json(const Field *fields, const json_t *json, guint8 *base,
				 GError **error);

static gboolean field_error(const Field *field, GError **error, const char *what)
{
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "%s: %s", field->key, what);
	return FALSE;
}

static gboolean text_from_json(const Field *field, const json_t *json, char **at, GError **error)
{
	const char *text = json_string_value(json);

	if (!text || !field->check(text))
		return field_error(field, error, text ? "malformed" : "not a string");
	*at = g_strdup(text);
	return TRUE;
}

static gboolean texts_from_json(const Field *field, const json_t *json, char ***at, GError **error)
{
	const gsize n = json_array_size(json);

	if (!json_is_array(json) || n > RDMAD_STEP_LIST_MAX)
		return field_error(field, error, "not a list of strings, or too long");
	*at = g_new0(char *, n + 1);
	for (gsize i = 0; i < n; i++)
		if (!text_from_json(field, json_array_get(json, i), &(*at)[i], error))
			return FALSE;
	return TRUE;
}

static gboolean list_from_json(const Field *field, const json_t *json, GArray **at, GError **error)
{
	const gsize n = json_array_size(json);
	guint size;

	if (!json_is_array(json) || n > RDMAD_STEP_LIST_MAX)
		return field_error(field, error, "not a list, or too long");
	*at = field->shape->list_new();
	size = g_array_get_element_size(*at);
	for (guint i = 0; i < n; i++) {
		g_array_set_size(*at, i + 1);
		if (!fields_from_json(field->shape->fields, json_array_get(json, i),
				      (guint8 *)(*at)->data + i * size, error)) {
			g_prefix_error(error, "%s %u: ", field->key, i + 1);
			return FALSE;
		}
	}
	return TRUE;
}

static gboolean group_from_json(const Field *field, const json_t *json, guint8 *at, GError **error)
{
	if (fields_from_json(field->shape->fields, json, at, error))
		return TRUE;
	g_prefix_error(error, "%s: ", field->key);
	return FALSE;
}

static gboolean word_from_json(const Field *field, const json_t *json, int *at, GError **error)
{
	const char *text = json_string_value(json);

	for (int i = 0; text && field->words[i]; i++) {
		if (g_str_equal(text, field->words[i])) {
			*at = i;
			return TRUE;
		}
	}
	return field_error(field, error, "not one of its words");
}

static gboolean number_from_json(const Field *field, const json_t *json, guint32 *at,
				 GError **error)
{
	const json_int_t value = json_integer_value(json);

	if (!json_is_integer(json) || value < 0 || value > (field->max ? field->max : G_MAXUINT32))
		return field_error(field, error, "not a number, or out of bounds");
	*at = (guint32)value;
	return TRUE;
}

static gboolean family_from_json(const Field *field, const json_t *json, int *at, GError **error)
{
	const json_int_t value = json_integer_value(json);

	if (value != 4 && value != 6)
		return field_error(field, error, "neither 4 nor 6");
	*at = value == 4 ? AF_INET : AF_INET6;
	return TRUE;
}

static gboolean guid_from_json(const Field *field, const json_t *json, guint64 *at, GError **error)
{
	const char *text = json_string_value(json);

	if (!text || strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16)
		return field_error(field, error, "not 16 hexadecimal digits");
	*at = g_ascii_strtoull(text, NULL, 16);
	return TRUE;
}

static gboolean field_from_json(const Field *field, const json_t *json, guint8 *base,
				GError **error)
{
	gpointer at = base + field->offset;

	switch (field->type) {
	case FIELD_BOOL:
		*(gboolean *)at = json_is_true(json);
		return json_is_boolean(json) || field_error(field, error, "not a boolean");
	case FIELD_NUMBER:
		return number_from_json(field, json, at, error);
	case FIELD_FAMILY:
		return family_from_json(field, json, at, error);
	case FIELD_WORD:
		return word_from_json(field, json, at, error);
	case FIELD_GUID:
		return guid_from_json(field, json, at, error);
	case FIELD_TEXT:
		return text_from_json(field, json, at, error);
	case FIELD_TEXTS:
		return texts_from_json(field, json, at, error);
	case FIELD_IP:
		return rdmad_ip_parse(json_string_value(json), at, NULL) ||
		       field_error(field, error, "not an address");
	case FIELD_MAC:
		return rdmad_mac_parse(json_string_value(json), at) ||
		       field_error(field, error, "not a link-layer address");
	case FIELD_GROUP:
		return group_from_json(field, json, at, error);
	case FIELD_LIST:
		return list_from_json(field, json, at, error);
	}
	return FALSE;
}

static gboolean key_is_known(const Field *fields, const char *key)
{
	for (const Field *field = fields; field->key; field++)
		if (g_str_equal(field->key, key))
			return TRUE;
	return FALSE;
}

/* `more` has the keys common to all steps, which share the object with those of the kind; NULL: the
 * object is not a step. */
static gboolean keys_check(const json_t *json, const Field *fields, const Field *more,
			   GError **error)
{
	json_t *object = (json_t *)json, *value;
	const char *key;

	json_object_foreach(object, key, value)
	{
		if (key_is_known(fields, key) ||
		    (more && (key_is_known(more, key) || g_str_equal(key, "step"))))
			continue;
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "%.32s: unknown key", key);
		return FALSE;
	}
	return TRUE;
}

static gboolean values_from_json(const Field *fields, const json_t *json, guint8 *base,
				 GError **error)
{
	for (const Field *field = fields; field->key; field++) {
		const json_t *value = json_object_get(json, field->key);

		if (!value && field->required)
			return field_error(field, error, "missing");
		if (value && !field_from_json(field, value, base, error))
			return FALSE;
	}
	return TRUE;
}

static gboolean fields_from_json(const Field *fields, const json_t *json, guint8 *base,
				 GError **error)
{
	if (!json_is_object(json)) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "not an object");
		return FALSE;
	}
	return keys_check(json, fields, NULL, error) && values_from_json(fields, json, base, error);
}

static RdmadStepKind kind_of(const char *name)
{
	RdmadStepKind kind;

	for (kind = 0; kind < RDMAD_N_STEPS; kind++)
		if (g_str_equal(kinds[kind].name, name))
			break;
	return kind;
}

RdmadStep *rdmad_step_from_json(const json_t *json, GError **error)
{
	const char *name = json_string_value(json_object_get(json, "step"));
	const RdmadStepKind kind = name ? kind_of(name) : RDMAD_N_STEPS;
	g_autoptr(RdmadStep) step = NULL;

	if (kind == RDMAD_N_STEPS) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "no step \"%.32s\"",
			    name ? name : "");
		return NULL;
	}
	step = rdmad_step_new(kind, RDMAD_STEP_IN_HOST);
	if (keys_check(json, kinds[kind].fields, common_fields, error) &&
	    values_from_json(common_fields, json, (guint8 *)step, error) &&
	    values_from_json(kinds[kind].fields, json, OWN(step), error))
		return g_steal_pointer(&step);
	g_prefix_error(error, "%s: ", name);
	return NULL;
}

static GPtrArray *steps_from_json(const json_t *json, GError **error)
{
	g_autoptr(GPtrArray) steps = rdmad_steps_new();

	if (!json_is_array(json) || json_array_size(json) > RDMAD_STEPS_MAX) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
			    "not a list of at most %u steps", RDMAD_STEPS_MAX);
		return NULL;
	}
	for (guint i = 0; i < json_array_size(json); i++) {
		RdmadStep *step = rdmad_step_from_json(json_array_get(json, i), error);

		if (!step) {
			g_prefix_error(error, "step %u: ", i + 1);
			return NULL;
		}
		g_ptr_array_add(steps, step);
	}
	return g_steal_pointer(&steps);
}

GPtrArray *rdmad_steps_from_text(const char *text, gsize length, GError **error)
{
	GPtrArray *steps;
	json_t *json;

	if (length > RDMAD_STEP_JSON_MAX) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_LIMIT,
			    "a plan of %" G_GSIZE_FORMAT " bytes, more than %u", length,
			    RDMAD_STEP_JSON_MAX);
		return NULL;
	}
	json = rdmad_json_parse(text, length, DEPTH_MAX, error);
	if (!json)
		return NULL;
	steps = steps_from_json(json, error);
	json_decref(json);
	return steps;
}

/* ---- describing ---- */

const char *rdmad_step_name(RdmadStepKind kind)
{
	return kinds[kind].name;
}

char *rdmad_step_describe(const RdmadStep *step)
{
	json_t *json = rdmad_step_to_json(step);
	const char *subject = json_string_value(json_object_get(json, kinds[step->kind].subject));
	char *text = g_strdup_printf("%s%s%s in the %s", kinds[step->kind].name, subject ? " " : "",
				     subject ? subject : "", place_words[step->where]);

	json_decref(json);
	return text;
}
