/* SPDX-License-Identifier: Apache-2.0 */
#include "selector/selector.h"

#include <rdmad/error.h>
#include <string.h>

/* One group of selector keys. */
typedef struct {
	char **patterns[SELECT_N]; /* NULL: the key is not given */
	GPtrArray *exclude; /* groups to exclude, without `exclude` of their own; may be NULL */
	const RdmadConfigNode *exclude_node; /* only while parsing */
} SelectorGroup;

/* ---- configuration ---- */

#define PATTERN_MAX 128u

static gboolean pattern_is_negative(const char *pattern)
{
	return pattern[0] == '!';
}

/* Returns the pattern without its "!". */
static const char *pattern_text(const char *pattern)
{
	return pattern_is_negative(pattern) ? pattern + 1 : pattern;
}

static gboolean pattern_check(const char *pattern, GError **error)
{
	if (pattern_text(pattern)[0] && strlen(pattern) <= PATTERN_MAX)
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG,
		    "a pattern has 1 to %u characters, after a \"!\" for an exclusion",
		    PATTERN_MAX);
	return FALSE;
}

/* Fills in the keys, `exclude` and the end. */
static void fields_make(RdmadConfigField fields[SELECT_N + 2], gboolean may_exclude)
{
	for (guint key = 0; key < SELECT_N; key++)
		fields[key] = (RdmadConfigField){
			.key = select_key_name(key),
			.type = RDMAD_CONFIG_STRINGS,
			.offset = G_STRUCT_OFFSET(SelectorGroup, patterns) + key * sizeof(char **),
			.check = pattern_check,
		};
	fields[SELECT_N] = (RdmadConfigField)RDMAD_CONFIG_GROUPS_FIELD(
		may_exclude ? "exclude" : NULL, SelectorGroup, exclude_node);
	fields[SELECT_N + 1] = (RdmadConfigField)RDMAD_CONFIG_FIELDS_END;
}

static void group_free(gpointer data)
{
	SelectorGroup *group = data;

	for (guint key = 0; key < SELECT_N; key++)
		g_strfreev(group->patterns[key]);
	if (group->exclude)
		g_ptr_array_unref(group->exclude);
	g_free(group);
}

static gboolean group_check(const SelectorGroup *group, const RdmadConfigNode *node, GError **error)
{
	gboolean good = TRUE;

	for (guint key = 0; key < SELECT_N; key++)
		for (char **pattern = group->patterns[key]; pattern && *pattern; pattern++) {
			g_autoptr(GError) reason = NULL;

			if (!select_key_check(key, pattern_text(*pattern), &reason))
				good = rdmad_config_error(node, select_key_name(key), error, "%s",
							  reason->message);
		}
	return good;
}

/* Parses a group or a list of groups; NULL: none.  The caller must free `out`, also after an
 * error. */
static gboolean groups_parse(const RdmadConfigNode *node, gboolean may_exclude, GPtrArray **out,
			     GError **error)
{
	const guint n = rdmad_config_length(node);
	RdmadConfigField fields[SELECT_N + 2];

	fields_make(fields, may_exclude);
	if (n)
		*out = g_ptr_array_new_with_free_func(group_free);
	for (guint i = 0; i < n; i++) {
		const RdmadConfigNode *entry = rdmad_config_entry(node, i);
		SelectorGroup *group = g_new0(SelectorGroup, 1);

		g_ptr_array_add(*out, group);
		if (!rdmad_config_parse(entry, fields, group, error) ||
		    !group_check(group, entry, error) ||
		    !groups_parse(group->exclude_node, FALSE, &group->exclude, error))
			return FALSE;
		group->exclude_node = NULL;
	}
	return TRUE;
}

/* Returns one group with one key. */
static GPtrArray *groups_of(SelectKey key, const char *const *patterns)
{
	GPtrArray *groups = g_ptr_array_new_with_free_func(group_free);
	SelectorGroup *group = g_new0(SelectorGroup, 1);

	group->patterns[key] = g_strdupv((char **)patterns);
	g_ptr_array_add(groups, group);
	return groups;
}

/* ---- equality ---- */

static gboolean groups_equal(const GPtrArray *a, const GPtrArray *b);

static gboolean group_equal(const SelectorGroup *a, const SelectorGroup *b)
{
	for (guint key = 0; key < SELECT_N; key++) {
		const char *const *x = (const char *const *)a->patterns[key];
		const char *const *y = (const char *const *)b->patterns[key];

		if (!x != !y || (x && !g_strv_equal(x, y)))
			return FALSE;
	}
	return groups_equal(a->exclude, b->exclude);
}

/* Either may be NULL. */
static gboolean groups_equal(const GPtrArray *a, const GPtrArray *b)
{
	if ((a ? a->len : 0) != (b ? b->len : 0))
		return FALSE;
	for (guint i = 0; a && i < a->len; i++)
		if (!group_equal(a->pdata[i], b->pdata[i]))
			return FALSE;
	return TRUE;
}

gboolean selector_parse(const RdmadConfigNode *node, Selector *out, GError **error)
{
	return groups_parse(node, TRUE, &out->groups, error);
}

void selector_set(Selector *selector, SelectKey key, const char *const *patterns)
{
	selector_clear(selector);
	selector->groups = groups_of(key, patterns);
}

void selector_clear(Selector *selector)
{
	g_clear_pointer(&selector->groups, g_ptr_array_unref);
}

gboolean selector_equal(const Selector *a, const Selector *b)
{
	return groups_equal(a->groups, b->groups);
}

/* ---- matching ---- */

/* The comparison of a key of a group with a device or a port. */
typedef struct {
	const SelectorGroup *group;
	SelectKey key;
	const RdmadDevice *dev;
	const RdmadPort *port;	/* for keys of ports */
	const char *refused_by; /* the "!x" that matched */
} Match;

static gboolean key_matches(Match *match)
{
	char *const *patterns = match->group->patterns[match->key];
	g_autoptr(GPtrArray) values = NULL;
	gboolean required = FALSE, found = FALSE;

	match->refused_by = NULL;
	if (!patterns)
		return TRUE;
	values = select_key_values(match->key, match->dev, match->port);
	for (guint i = 0; patterns[i]; i++) {
		const gboolean negative = pattern_is_negative(patterns[i]);
		const gboolean matches = select_key_matches(match->key, pattern_text(patterns[i]),
							    match->dev, values);

		if (negative && matches) {
			match->refused_by = patterns[i];
			return FALSE;
		}
		required |= !negative;
		found |= !negative && matches;
	}
	return found || !required;
}

/* Sets `key` to the first key from `from` to before `to` that does not match, or to `to`. */
static gboolean keys_match(Match *match, SelectKey from, SelectKey to)
{
	for (match->key = from; match->key < to; match->key++)
		if (!key_matches(match))
			return FALSE;
	return TRUE;
}

/* If no port matches, `match` describes the port that matches the most keys. */
static gboolean any_port_matches(Match *match)
{
	const Match fresh = *match;
	const RdmadDevice *dev = match->dev;

	for (guint i = 0; i < dev->n_ports; i++) {
		Match one = fresh;

		one.port = &dev->ports[i];
		keys_match(&one, SELECT_OF_PORT, SELECT_N);
		if (!match->port || one.key > match->key)
			*match = one;
	}
	return match->key == SELECT_N;
}

/* A device without ports matches no key of ports. */
static gboolean has_no_port_key(Match *match)
{
	while (match->key < SELECT_N && !match->group->patterns[match->key])
		match->key++;
	return match->key == SELECT_N;
}

/* Returns FALSE if `key` does not match. */
static gboolean group_matches(Match *match)
{
	if (!keys_match(match, SELECT_NAMES, SELECT_OF_PORT))
		return FALSE;
	return match->dev->n_ports ? any_port_matches(match) : has_no_port_key(match);
}

static const SelectorGroup *group_excluding(const SelectorGroup *group, const RdmadDevice *dev)
{
	for (guint i = 0; group->exclude && i < group->exclude->len; i++) {
		Match match = { .group = group->exclude->pdata[i], .dev = dev };

		if (group_matches(&match))
			return match.group;
	}
	return NULL;
}

/* Returns whether a pattern of the key is the device's own name, address or GUID, or that of its
 * interface, without a wildcard. */
static gboolean key_names(const SelectorGroup *group, SelectKey key, const RdmadDevice *dev)
{
	g_autoptr(GPtrArray) values = NULL;

	for (char **pattern = group->patterns[key]; pattern && *pattern; pattern++) {
		if (pattern_is_negative(*pattern) || strpbrk(*pattern, "*?"))
			continue;
		if (!values)
			values = select_key_values(key, dev, NULL);
		if (select_key_matches(key, *pattern, dev, values))
			return TRUE;
	}
	return FALSE;
}

/* A management function of a switch is selected only by name, and a sub-device never: no program
 * can open it. */
static gboolean group_wants_role(const SelectorGroup *group, const RdmadDevice *dev)
{
	switch (rdmad_device_role(dev)) {
	case RDMAD_ROLE_NIC:
		return TRUE;
	case RDMAD_ROLE_SWITCH_MANAGEMENT:
		return key_names(group, SELECT_NAMES, dev) ||
		       key_names(group, SELECT_PCI_ADDRESSES, dev) ||
		       key_names(group, SELECT_GUIDS, dev) || key_names(group, SELECT_NETDEVS, dev);
	case RDMAD_ROLE_SUB_DEVICE:
		break;
	}
	return FALSE;
}

static gboolean group_takes(const SelectorGroup *group, const RdmadDevice *dev)
{
	Match match = { .group = group, .dev = dev };

	return group_matches(&match) && !group_excluding(group, dev) &&
	       group_wants_role(group, dev);
}

gboolean selector_takes(const Selector *selector, const RdmadDevice *dev)
{
	for (guint i = 0; selector->groups && i < selector->groups->len; i++)
		if (group_takes(selector->groups->pdata[i], dev))
			return TRUE;
	return !selector->groups && rdmad_device_role(dev) == RDMAD_ROLE_NIC;
}

static gboolean port_has_netdev(const RdmadPort *port, const char *name)
{
	if (g_strcmp0(port->netdev, name) == 0 || g_strcmp0(port->netdev_in_pod, name) == 0)
		return TRUE;
	for (guint i = 0; i < port->n_gids; i++)
		if (g_strcmp0(port->gids[i].netdev, name) == 0)
			return TRUE;
	return FALSE;
}

/* Returns whether a pattern of the key, which has names of interfaces, matches this one. */
static gboolean key_has_netdev(const SelectorGroup *group, SelectKey key, const RdmadDevice *dev,
			       const char *name)
{
	g_autoptr(GPtrArray) value = g_ptr_array_new();

	g_ptr_array_add(value, (gpointer)name);
	for (char **pattern = group->patterns[key]; pattern && *pattern; pattern++)
		if (!pattern_is_negative(*pattern) && select_key_matches(key, *pattern, dev, value))
			return TRUE;
	return FALSE;
}

/* Returns whether the port has one of the interfaces that the key names; TRUE if none of these is
 * known to be a port's. */
static gboolean key_names_port(const SelectorGroup *group, SelectKey key, const RdmadDevice *dev,
			       const RdmadPort *port)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	gboolean of_port = FALSE;

	if (!group->patterns[key])
		return TRUE;
	select_key_add_netdevs(names, dev);
	for (guint i = 0; i < names->len; i++) {
		const char *name = names->pdata[i];

		if (!key_has_netdev(group, key, dev, name))
			continue;
		if (port_has_netdev(port, name))
			return TRUE;
		for (guint p = 0; p < dev->n_ports; p++)
			of_port |= port_has_netdev(&dev->ports[p], name);
	}
	return !of_port;
}

/* `pf_names` has the own interfaces of a physical function. */
static gboolean names_port(const SelectorGroup *group, const RdmadDevice *dev,
			   const RdmadPort *port)
{
	return key_names_port(group, SELECT_NETDEVS, dev, port) &&
	       key_names_port(group, SELECT_PF_NAMES, dev, port);
}

gboolean selector_takes_port(const Selector *selector, const RdmadDevice *dev,
			     const RdmadPort *port)
{
	for (guint i = 0; selector->groups && i < selector->groups->len; i++) {
		Match match = { .group = selector->groups->pdata[i], .dev = dev };

		if (!group_takes(match.group, dev))
			continue;
		match.port = port;
		if (keys_match(&match, SELECT_OF_PORT, SELECT_PORT_STATES) &&
		    names_port(match.group, dev, port))
			return TRUE;
	}
	return !selector->groups;
}

/* ---- reasons ---- */

static char *values_text(const Match *match)
{
	g_autoptr(GPtrArray) values = NULL;

	if (match->key >= SELECT_OF_PORT && !match->port)
		return g_strdup("it has no port");
	values = select_key_values(match->key, match->dev, match->port);
	if (values->len == 0)
		return g_strdup("it has none");
	g_ptr_array_add(values, NULL);
	return g_strjoinv(", ", (char **)values->pdata);
}

static char *refusal_text(const Match *match)
{
	const char *name = select_key_name(match->key);
	g_autofree char *values = values_text(match);
	g_autofree char *patterns = g_strjoinv("\", \"", match->group->patterns[match->key]);

	if (match->refused_by)
		return g_strdup_printf("%s: \"%s\" refuses %s", name, match->refused_by, values);
	return g_strdup_printf("%s: %s, which is not \"%s\"", name, values, patterns);
}

/* Returns the keys of an excluding group. */
static char *exclude_text(const SelectorGroup *group)
{
	g_autoptr(GString) text = g_string_new("exclude:");

	for (guint key = 0; key < SELECT_N; key++) {
		g_autofree char *patterns =
			group->patterns[key] ? g_strjoinv("\", \"", group->patterns[key]) : NULL;

		if (patterns)
			g_string_append_printf(text, " %s \"%s\"", select_key_name(key), patterns);
	}
	return g_strdup(text->str);
}

static char *group_refusal(const SelectorGroup *group, const RdmadDevice *dev)
{
	Match match = { .group = group, .dev = dev };
	const SelectorGroup *excluding;

	if (!group_matches(&match))
		return refusal_text(&match);
	excluding = group_excluding(group, dev);
	if (excluding)
		return exclude_text(excluding);
	return group_wants_role(group, dev) ? NULL : rdmad_device_role_text(dev);
}

char *selector_refusal(const Selector *selector, const RdmadDevice *dev)
{
	g_autoptr(GString) text = g_string_new(NULL);

	if (selector_takes(selector, dev))
		return NULL;
	if (!selector->groups)
		return rdmad_device_role_text(dev);
	for (guint i = 0; i < selector->groups->len; i++) {
		g_autofree char *one = group_refusal(selector->groups->pdata[i], dev);

		if (selector->groups->len > 1)
			g_string_append_printf(text, "%sselectors[%u]: ", i ? "; " : "", i);
		g_string_append(text, one);
	}
	return g_strdup(text->str);
}

/* ---- unused patterns ---- */

static gboolean pattern_matches_device(SelectKey key, const char *pattern, const RdmadDevice *dev)
{
	const guint n_ports = key < SELECT_OF_PORT ? 1 : dev->n_ports;

	for (guint i = 0; i < n_ports; i++) {
		const RdmadPort *port = key < SELECT_OF_PORT ? NULL : &dev->ports[i];
		g_autoptr(GPtrArray) values = select_key_values(key, dev, port);

		if (select_key_matches(key, pattern, dev, values))
			return TRUE;
	}
	return FALSE;
}

static gboolean pattern_matches_any(SelectKey key, const char *pattern, const GPtrArray *devices)
{
	for (guint i = 0; i < devices->len; i++)
		if (pattern_matches_device(key, pattern, devices->pdata[i]))
			return TRUE;
	return FALSE;
}

void selector_foreach_unused(const Selector *selector, const GPtrArray *devices,
			     void (*fn)(const char *key, const char *pattern, gpointer data),
			     gpointer data)
{
	for (guint i = 0; selector->groups && i < selector->groups->len; i++) {
		const SelectorGroup *group = selector->groups->pdata[i];

		for (guint key = 0; key < SELECT_N; key++)
			for (char **p = group->patterns[key]; p && *p; p++)
				if (!pattern_is_negative(*p) &&
				    !pattern_matches_any(key, *p, devices))
					fn(select_key_name(key), *p, data);
	}
}
