/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The planner and the matcher, by tables of texts
 *
 *	link eth1 MAC up|down [mtu N] [kind K] [parent LINK] [master LINK]
 *	addr eth1 ADDRESS/PREFIX [metric N] [noprefixroute] [valid N] [peer ADDRESS]
 *	route eth1 default|NETWORK [via GATEWAY] [metric N] [proto N] [table N] [type N]
 *	rule FROM table N [prio N] [proto N]
 *	metadata ADDRESS/PREFIX GATEWAY | metadata failed
 *	done netdev|metadata|static ADDRESS/PREFIX GATEWAY|- [begun]
 *	former ADDRESS/PREFIX	an address that was to be removed when rdmad ended
 *	primary MAC
 *	managed LINK	rdmad has configured it before; eth1 by `done`
 *
 * Links have the indexes 2, 3, ... in their order; eth1 is planned.
 */
#include <linux/if_addr.h>
#include <rdmad/error.h>
#include <rdmad/step.h>
#include <string.h>
#include <sys/socket.h>

#include "config/config-private.h"
#include "config/node.h"
#include "hardware/device.h"
#include "nic/plan.h"
#include "settings.h"
#include "support/ip.h"
#include "support/unit.h"

#define MAC0 "00:16:3e:01:02:01"
#define MAC1 "00:16:3e:01:02:0a"
#define MAC2 "00:16:3e:01:02:0b"

typedef struct {
	ErdmaView *view;
	GPtrArray *matches;
	GArray *managed;
	ErdmaNicNetwork *metadata, *done;
	ErdmaSettings *settings;
	ErdmaPlanInput input;
} World;

/* ---- the text ---- */

/* The word behind `key`, or NULL. */
static const char *word_after(char *const *words, const char *key)
{
	for (; *words; words++)
		if (g_str_equal(*words, key))
			return words[1];
	return NULL;
}

static guint number_after(char *const *words, const char *key, guint missing)
{
	const char *word = word_after(words, key);

	return word ? (guint)g_ascii_strtoull(word, NULL, 10) : missing;
}

static gboolean has_word(char *const *words, const char *word)
{
	return g_strv_contains((const char *const *)words, word);
}

static int index_of(const World *world, const char *name)
{
	const RdmadLink *link = name ? erdma_view_link_named(world->view, name) : NULL;

	return link ? link->ifindex : 0;
}

static void take_link(World *world, char *const *words)
{
	RdmadLink *link = g_new0(RdmadLink, 1);

	link->ifindex = (int)world->view->links->len + 2;
	link->name = g_strdup(words[1]);
	link->mac = g_strdup(words[2]);
	link->up = has_word(words, "up");
	link->mtu = number_after(words, "mtu", 1500);
	link->kind = g_strdup(word_after(words, "kind"));
	link->parent = index_of(world, word_after(words, "parent"));
	link->master = index_of(world, word_after(words, "master"));
	link->parent_netns = -1;
	g_ptr_array_add(world->view->links, link);
}

static void take_addr(World *world, char *const *words)
{
	RdmadAddress *address = g_new0(RdmadAddress, 1);

	address->ifindex = index_of(world, words[1]);
	address->ip = ip(words[2]);
	address->metric = number_after(words, "metric", 0);
	address->valid_s = number_after(words, "valid", 0);
	address->flags = has_word(words, "noprefixroute") ? IFA_F_NOPREFIXROUTE : 0;
	if (word_after(words, "peer"))
		address->peer = ip(word_after(words, "peer"));
	g_ptr_array_add(world->view->addresses, address);
}

static void take_route(World *world, char *const *words)
{
	RdmadRoute *route = g_new0(RdmadRoute, 1);
	const char *via = word_after(words, "via");

	if (!g_str_equal(words[2], "default"))
		route->to = ip(words[2]);
	route->family = route->to.family ?: via && strchr(via, ':') ? AF_INET6 : AF_INET;
	route->metric = number_after(words, "metric", 0);
	route->protocol = number_after(words, "proto", RDMAD_ROUTE_BY_KERNEL);
	route->table = number_after(words, "table", RDMAD_ROUTE_TABLE_MAIN);
	route->type = number_after(words, "type", RDMAD_ROUTE_UNICAST);
	route->n_hops = 1;
	route->hops[0].ifindex = index_of(world, words[1]);
	if (via)
		route->hops[0].gateway = ip(via);
	g_ptr_array_add(world->view->routes, route);
}

static void take_rule(World *world, char *const *words)
{
	RdmadRule *rule = g_new0(RdmadRule, 1);

	rule->from = ip(words[1]);
	rule->family = rule->from.family;
	rule->table = number_after(words, "table", 0);
	rule->priority = number_after(words, "prio", 20000);
	rule->protocol = number_after(words, "proto", 0);
	g_ptr_array_add(world->view->rules, rule);
}

static ErdmaNicNetwork *network(ErdmaAddressFrom from, const char *address, const char *gateway)
{
	ErdmaNicNetwork *made = erdma_nic_network_new(from);
	const RdmadIp own = ip(address);

	g_array_append_val(made->addresses, own);
	if (!g_str_equal(gateway, "-"))
		made->gateway[strchr(gateway, ':') != NULL] = ip(gateway);
	return made;
}

static void take_metadata(World *world, char *const *words)
{
	world->input.metadata_failed = g_str_equal(words[1], "failed");
	if (!world->input.metadata_failed)
		world->metadata = network(ERDMA_ADDRESS_METADATA, words[1], words[2]);
}

static void managed_add(World *world, const char *link)
{
	const int index = index_of(world, link);

	g_array_append_val(world->managed, index);
}

static void take_managed(World *world, char *const *words)
{
	managed_add(world, words[1]);
}

static void take_done(World *world, char *const *words)
{
	const ErdmaAddressFrom from = g_str_equal(words[1], "netdev")	  ? ERDMA_ADDRESS_NETDEV
				      : g_str_equal(words[1], "metadata") ? ERDMA_ADDRESS_METADATA
									  : ERDMA_ADDRESS_STATIC;

	world->done = network(from, words[2], words[3]);
	world->done->complete = !has_word(words, "begun");
	managed_add(world, "eth1");
}

static void take_former(World *world, char *const *words)
{
	const RdmadIp own = ip(words[1]);

	g_array_append_val(world->done->former, own);
}

static void take_primary(World *world, char *const *words)
{
	g_assert_true(rdmad_mac_parse(words[1], &world->input.primary_mac));
}

static void take_given(World *world, char *const *words)
{
	world->input.is_given = TRUE;
}

static void take_line(World *world, const char *line)
{
	static const struct {
		const char *word;
		void (*take)(World *world, char *const *words);
	} kinds[] = {
		{ "link", take_link },	     { "addr", take_addr },
		{ "route", take_route },     { "rule", take_rule },
		{ "done", take_done },	     { "metadata", take_metadata },
		{ "primary", take_primary }, { "managed", take_managed },
		{ "former", take_former },   { "given", take_given },
	};
	g_auto(GStrv) words = g_strsplit(line, " ", -1);

	for (guint i = 0; i < G_N_ELEMENTS(kinds); i++)
		if (g_str_equal(words[0], kinds[i].word)) {
			kinds[i].take(world, words);
			return;
		}
	g_error("no line \"%s\"", line);
}

/* ---- the world ---- */

static RdmadDevice *device(const char *name, const char *guid)
{
	RdmadDevice *dev = rdmad_device_new(name, name);

	dev->node_guid = g_strdup(guid);
	return dev;
}

static ErdmaSettings *settings_of(const char *text)
{
	g_autofree char *whole = g_strdup_printf("erdma = { nics = { %s }; };", text ? text : "");
	g_autoptr(GError) error = NULL;
	g_autoptr(RdmadConfig) config =
		rdmad_config_load_text("test.conf", whole, strlen(whole), &error);
	ErdmaSettings *settings;

	g_assert_no_error(error);
	settings = erdma_settings_parse(rdmad_config_child(rdmad_config_root(config), "erdma"),
					&error);
	g_assert_no_error(error);
	return settings;
}

static void match_add(World *world, const char *name, const char *guid)
{
	RdmadDevice *dev = device(name, guid);

	g_ptr_array_add(world->matches, erdma_match(dev, world->view));
	rdmad_device_unref(dev);
}

static void world_make(World *world, const char *settings, const char *text)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

	*world = (World){ .view = erdma_view_new(), .settings = settings_of(settings) };
	world->matches = g_ptr_array_new_with_free_func(erdma_match_free);
	world->managed = g_array_new(FALSE, FALSE, sizeof(int));
	for (char **line = lines; *line; line++)
		if (**line)
			take_line(world, *line);
	match_add(world, "erdma_0", "0216:3eff:fe01:020a");
	match_add(world, "erdma_1", "0216:3eff:fe01:020b");
	world->input.settings = world->settings->nics;
	world->input.view = world->view;
	world->input.matches = world->matches;
	world->input.match = world->matches->pdata[0];
	world->input.metadata = world->metadata;
	world->input.done = world->done;
	world->input.managed = world->managed;
}

static void world_clear(World *world)
{
	erdma_view_free(world->view);
	g_ptr_array_unref(world->matches);
	g_array_unref(world->managed);
	erdma_nic_network_free(world->metadata);
	erdma_nic_network_free(world->done);
	erdma_settings_free(world->settings);
}

/* ---- steps as text ---- */

static void append_route(GString *text, const RdmadStepRoute *route)
{
	char to[RDMAD_IP_TEXT], via[RDMAD_IP_TEXT];

	g_string_append_printf(text, "%sroute %s", route->remove ? "-" : "",
			       route->to.prefix ? rdmad_ip_text(&route->to, TRUE, to) : "default");
	if (route->gateway.family)
		g_string_append_printf(text, " via %s", rdmad_ip_text(&route->gateway, FALSE, via));
	if (route->metric)
		g_string_append_printf(text, " metric %u", route->metric);
	if (route->table != RDMAD_ROUTE_TABLE_MAIN)
		g_string_append_printf(text, " table %u", route->table);
	if (route->onlink)
		g_string_append(text, " onlink");
	if (route->replace)
		g_string_append(text, " replace");
	if (route->remove)
		g_string_append_printf(text, " proto %u", route->protocol);
}

static void append_address(GString *text, const RdmadStepAddress *address)
{
	char own[RDMAD_IP_TEXT];

	g_string_append_printf(text, "%saddr %s", address->remove ? "-" : "",
			       rdmad_ip_text(&address->ip, TRUE, own));
	if (address->metric)
		g_string_append_printf(text, " metric %u", address->metric);
	if (address->valid_s)
		g_string_append_printf(text, " valid %u", address->valid_s);
}

static void append_step(GString *text, const RdmadStep *step)
{
	char own[RDMAD_IP_TEXT];

	g_string_append(text, text->len ? "; " : "");
	if (step->kind == RDMAD_STEP_LINK_SET)
		g_string_append_printf(text, "link%s%s%.0u", step->link.up ? " up" : "",
				       step->link.mtu ? " mtu " : "", 0u);
	if (step->kind == RDMAD_STEP_LINK_SET && step->link.mtu)
		g_string_append_printf(text, "%u", step->link.mtu);
	if (step->kind == RDMAD_STEP_ADDRESS)
		append_address(text, &step->address);
	if (step->kind == RDMAD_STEP_ROUTE)
		append_route(text, &step->route);
	if (step->kind == RDMAD_STEP_RULE)
		g_string_append_printf(text, "%srule %s table %u", step->rule.remove ? "-" : "",
				       rdmad_ip_text(&step->rule.from, FALSE, own),
				       step->rule.table);
	if (step->kind == RDMAD_STEP_SYSCTL)
		g_string_append_printf(text, "sysctl %s=%s", step->sysctl.path, step->sysctl.value);
}

static char *plan_text(const ErdmaPlan *plan)
{
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < plan->steps->len; i++)
		append_step(text, plan->steps->pdata[i]);
	if (!text->len)
		g_string_append_printf(text, "%s%s%s", erdma_nic_state_name(plan->state),
				       plan->reason ? ": " : "", plan->reason ?: "");
	if (plan->note)
		g_string_append_printf(text, "; note: %s", plan->note);
	return g_string_free(text, FALSE);
}

/* ---- the table ---- */

typedef struct {
	const char *name;
	const char *settings;
	const char *world;
	const char *expected; /* its beginning, where it ends with "*" */
} Row;

#define HOST                                                                                       \
	"link eth0 " MAC0 " up\n"                                                                  \
	"addr eth0 10.0.0.5/24\n"                                                                  \
	"route eth0 default via 10.0.0.253 metric 100 proto 16\n"                                  \
	"route eth0 10.0.0.0/24\n"
#define ETH1	 "link eth1 " MAC1 " down\n"
#define ETH1_UP	 "link eth1 " MAC1 " up\n"
#define METADATA "primary " MAC0 "\nmetadata 10.0.1.5/24 10.0.1.253\n"
#define READY                                                                                      \
	"addr eth1 10.0.1.5/24 metric 200\n"                                                       \
	"route eth1 10.0.1.0/24 metric 200\n"                                                      \
	"route eth1 default via 10.0.1.253 metric 200 proto 237\n"
#define DONE "done metadata 10.0.1.5/24 10.0.1.253\n"
#define GONE                                                                                       \
	"addr eth1 10.0.1.77/24 metric 200\n"                                                      \
	"route eth1 10.0.1.0/24 metric 200\n"                                                      \
	"route eth1 default via 10.0.1.253 metric 200 proto 237\n"

/* Another eRDMA device is that of the primary NIC. */
#define PRIMARY_ETH2                                                                               \
	"link eth2 " MAC2 " up\n"                                                                  \
	"addr eth2 10.0.0.5/24\nroute eth2 10.0.0.0/24\n"                                          \
	"route eth2 default via 10.0.0.253 metric 100 proto 16\n"
#define BEFORE_ETH1                                                                                \
	"addr eth1 10.0.0.7/24 metric 200\nroute eth1 10.0.0.0/24 metric 200\n"                    \
	"route eth1 default via 10.0.0.253 metric 50 proto 16\n"

static const Row rows[] = {
	/* A fresh NIC: seed 004, "a default routing priority of 200". */
	{ "a fresh NIC gets link, address and routes in this order", NULL, HOST ETH1 METADATA,
	  "link up; addr 10.0.1.5/24 metric 200; route default via 10.0.1.253 metric 200" },
	{ "in the primary's subnet both routes come behind the primary's", NULL,
	  HOST ETH1 "primary " MAC0 "\nmetadata 10.0.0.9/24 10.0.0.253\n",
	  "link up; addr 10.0.0.9/24 metric 200; route default via 10.0.0.253 metric 200" },
	{ "a higher metric of the primary is exceeded", NULL,
	  "link eth0 " MAC0 " up\n"
	  "route eth0 default via 10.0.0.253 metric 1024 proto 16\n"
	  "route eth0 10.0.1.0/24 metric 1024 proto 2\n" ETH1 METADATA,
	  "link up; addr 10.0.1.5/24 metric 1025; route default via 10.0.1.253 metric 1025" },
	{ "the second NIC of a subnet gets the next metric", NULL,
	  HOST ETH1 "link eth2 " MAC2 " up\n"
		    "addr eth2 10.0.1.6/24 metric 200\n"
		    "route eth2 10.0.1.0/24 metric 200\n"
		    "route eth2 default via 10.0.1.253 metric 200 proto 237\n" METADATA,
	  "link up; addr 10.0.1.5/24 metric 201; route default via 10.0.1.253 metric 201" },
	{ "a route of the user's own is not touched, only exceeded", NULL,
	  HOST ETH1 "route eth0 10.0.1.0/24 metric 250 proto 4\n" METADATA,
	  "link up; addr 10.0.1.5/24 metric 251; route default via 10.0.1.253 metric 200" },
	{ "unreachable routes of the highest metric do not count", NULL,
	  HOST ETH1 "route eth0 default metric 4294967295 type 7 proto 4\n" METADATA,
	  "link up; addr 10.0.1.5/24 metric 200; route default via 10.0.1.253 metric 200" },
	{ "without a higher metric it is refused, not wrapped to 0", NULL,
	  HOST ETH1 "route eth0 default via 10.0.0.1 metric 4294967295 proto 4\n" METADATA,
	  "refused: a route to 0.0.0.0/0 has the highest metric there is" },
	{ "routes of other tables do not count", NULL,
	  HOST ETH1 "route eth0 10.0.1.0/24 metric 900 table 100\n" METADATA,
	  "link up; addr 10.0.1.5/24 metric 200; route default via 10.0.1.253 metric 200" },
	{ "no default route where it is not wanted", "default_route = false;", HOST ETH1 METADATA,
	  "link up; addr 10.0.1.5/24 metric 200" },
	{ "another lowest metric", "metric = 3000;", HOST ETH1 METADATA,
	  "link up; addr 10.0.1.5/24 metric 3000; route default via 10.0.1.253 metric 3000" },

	{ "a NIC that lost its routes gets the metric again that is free", NULL,
	  HOST ETH1_UP DONE METADATA "link eth2 " MAC2 " up\n"
				     "addr eth2 10.0.1.6/24 metric 201\n"
				     "route eth2 10.0.1.0/24 metric 201\n"
				     "route eth2 default via 10.0.1.253 metric 201 proto 237\n",
	  "addr 10.0.1.5/24 metric 200; route default via 10.0.1.253 metric 200" },

	/* Present configuration stays. */
	{ "a configured NIC is left alone", NULL, HOST ETH1_UP READY METADATA DONE, "ready" },
	{ "it is left alone without the metadata service", NULL,
	  HOST ETH1_UP READY "metadata failed\n" DONE, "ready" },
	{ "of two in one subnet neither moves", NULL,
	  HOST ETH1_UP READY METADATA DONE
	  "link eth2 " MAC2 " up\n"
	  "addr eth2 10.0.1.6/24 metric 201\nroute eth2 10.0.1.0/24 metric 201\n"
	  "route eth2 default via 10.0.1.253 metric 201 proto 237\n",
	  "ready" },
	{ "what the ACK controller left is adopted", NULL,
	  HOST ETH1_UP "addr eth1 10.0.1.5/24\nroute eth1 10.0.1.0/24 metric 200 proto 3\n"
		       "route eth1 default via 10.0.1.253 metric 200 proto 3\n",
	  "ready" },
	{ "addresses of other people's hands stay", NULL,
	  HOST ETH1_UP "addr eth1 192.0.2.7/24\nroute eth1 192.0.2.0/24\n", "ready" },
	{ "an adopted NIC that is down goes up", NULL, HOST ETH1 "addr eth1 192.0.2.7/24\n",
	  "link up" },

	/* An entry of `addresses` that the configuration no longer has. */
	{ "the address of an entry that is gone gives way to the metadata service's", NULL,
	  HOST ETH1_UP GONE METADATA "done static 10.0.1.77/24 10.0.1.253\n",
	  "addr 10.0.1.5/24 metric 200; sysctl net/ipv4/conf/eth1/promote_secondaries=1; "
	  "-addr 10.0.1.77/24" },
	{ "for which the service is queried", NULL,
	  HOST ETH1_UP GONE "done static 10.0.1.77/24 10.0.1.253\n",
	  "metadata: it has no address, and the metadata service is asked" },
	{ "it stays while the service fails", NULL,
	  HOST ETH1_UP GONE "metadata failed\ndone static 10.0.1.77/24 10.0.1.253\n", "ready" },
	{ "it gives way to an address of others", NULL,
	  HOST ETH1_UP GONE "addr eth1 192.0.2.7/24\nroute eth1 192.0.2.0/24\n"
			    "done static 10.0.1.77/24 10.0.1.253\n",
	  "sysctl net/ipv4/conf/eth1/promote_secondaries=1; -addr 10.0.1.77/24*" },
	/* rdmad ended before it had removed the former address. */
	{ "neither of two addresses that rdmad has set is taken for one of others", NULL,
	  HOST ETH1_UP READY "addr eth1 10.0.1.77/24 metric 200\n" METADATA
			     "done static 10.0.1.77/24 10.0.1.253 begun\nformer 10.0.1.5/24\n",
	  "sysctl net/ipv4/conf/eth1/promote_secondaries=1; -addr 10.0.1.77/24" },
	{ "a former address is not set again without the metadata service", NULL,
	  HOST ETH1_UP GONE "done metadata 10.0.1.5/24 10.0.1.253 begun\nformer 10.0.1.77/24\n",
	  "addr 10.0.1.5/24 metric 200; sysctl net/ipv4/conf/eth1/promote_secondaries=1; "
	  "-addr 10.0.1.77/24" },
	{ "a former address is removed beside one of others", NULL,
	  HOST ETH1_UP GONE "addr eth1 192.0.2.7/24\nroute eth1 192.0.2.0/24\n"
			    "done netdev 192.0.2.7/24 - begun\nformer 10.0.1.77/24\n",
	  "sysctl net/ipv4/conf/eth1/promote_secondaries=1; -addr 10.0.1.77/24*" },

	/* EC 1dd5fe6: up, with an address of the link alone. */
	{ "an interface that is up with a link-local address only is configured", NULL,
	  HOST ETH1_UP "addr eth1 fe80::216:3eff:fe01:20a/64\n" METADATA,
	  "addr 10.0.1.5/24 metric 200; route default via 10.0.1.253 metric 200" },
	{ "so is one with an address of RFC 3927", NULL,
	  HOST ETH1_UP "addr eth1 169.254.7.7/16\n" METADATA,
	  "addr 10.0.1.5/24 metric 200; route default via 10.0.1.253 metric 200" },

	/* EC f697c84: a DHCP client overrides the default route. */
	{ "a default route before the primary's is lowered, the new one first", NULL,
	  HOST ETH1_UP "addr eth1 10.0.1.5/24 valid 3600\nroute eth1 10.0.1.0/24\n"
		       "route eth1 default via 10.0.1.253 proto 3\nprimary " MAC0 "\n",
	  "route default via 10.0.1.253 metric 200; -route default via 10.0.1.253 proto 3" },
	{ "it is lowered too if the primary NIC has an eRDMA device", NULL,
	  PRIMARY_ETH2 ETH1_UP BEFORE_ETH1 "done netdev 10.0.0.7/24 10.0.0.253\nprimary " MAC2 "\n",
	  "route default via 10.0.0.253 metric 200; "
	  "-route default via 10.0.0.253 metric 50 proto 16" },
	{ "and if only its default route tells which one is the primary", NULL,
	  PRIMARY_ETH2 ETH1_UP BEFORE_ETH1 "done netdev 10.0.0.7/24 10.0.0.253\n",
	  "route default via 10.0.0.253 metric 200; "
	  "-route default via 10.0.0.253 metric 50 proto 16" },
	{ "such a route of a managed NIC does not make the primary one manageable", NULL,
	  "link eth2 " MAC2 " up\naddr eth2 10.0.0.7/24 metric 200\n"
	  "route eth2 default via 10.0.0.253 metric 50 proto 16\nmanaged eth2\n" ETH1_UP
	  "addr eth1 10.0.0.5/24\nroute eth1 default via 10.0.0.253 metric 100 proto 16\n",
	  "primary: it has the only default route" },
	{ "nor if its eRDMA device is gone", NULL,
	  "link eth3 " MAC0 " up\naddr eth3 10.0.0.7/24 metric 200\n"
	  "route eth3 default via 10.0.0.253 metric 50 proto 16\nmanaged eth3\n" ETH1_UP
	  "addr eth1 10.0.0.5/24\nroute eth1 default via 10.0.0.253 metric 100 proto 16\n",
	  "primary: it has the only default route" },
	{ "behind the route of an unknown NIC it may be the primary one", NULL,
	  "link eth2 " MAC2 " up\naddr eth2 10.0.0.7/24\n"
	  "route eth2 default via 10.0.0.253 metric 50 proto 16\n" ETH1_UP
	  "addr eth1 10.0.0.5/24\nroute eth1 default via 10.0.0.253 metric 100 proto 16\n",
	  "metadata: the primary NIC is not known yet" },
	{ "without knowing the primary NIC it is not touched", "address_from = \"netdev\";",
	  HOST ETH1_UP "addr eth1 10.0.1.5/24\nroute eth1 10.0.1.0/24\n"
		       "route eth1 default via 10.0.1.253 proto 3\n",
	  "primary: its default route is the first of several*" },
	{ "the metadata service is asked which one is the primary", NULL,
	  HOST ETH1_UP "addr eth1 10.0.1.5/24\nroute eth1 default via 10.0.1.253 proto 3\n",
	  "metadata: the primary NIC is not known yet" },
	{ "the last default route is never removed", "primary = \"eth0\";",
	  "link eth0 " MAC0 " up\n" ETH1_UP "addr eth1 10.0.1.5/24\nroute eth1 10.0.1.0/24\n"
	  "route eth1 default via 10.0.1.253 proto 3\nroute eth0 10.0.0.0/24\n",
	  "ready" },
	{ "routes of others stay where they are to stay", "lower_routes = false;",
	  HOST ETH1_UP "addr eth1 10.0.1.5/24\nroute eth1 10.0.1.0/24\n"
		       "route eth1 default via 10.0.1.253 proto 3\nprimary " MAC0 "\n",
	  "ready" },
	{ "the network of an address of the kernel's is lowered with its life kept", NULL,
	  HOST ETH1_UP "addr eth1 10.0.0.9/24 valid 3600\nroute eth1 10.0.0.0/24\n",
	  "addr 10.0.0.9/24 metric 200 valid 3600" },
	{ "a network that another program routes is lowered by a route", NULL,
	  HOST ETH1_UP "addr eth1 10.0.0.9/24 noprefixroute\nroute eth1 10.0.0.0/24 proto 16\n",
	  "route 10.0.0.0/24 metric 200; -route 10.0.0.0/24 proto 16" },
	{ "on a link that is down the metric is set before it goes up", NULL,
	  HOST ETH1 "addr eth1 10.0.0.9/24\n", "addr 10.0.0.9/24 metric 200; link up" },

	/* Drift. */
	{ "an address that is gone comes back", NULL, HOST ETH1_UP DONE METADATA,
	  "addr 10.0.1.5/24 metric 200; route default via 10.0.1.253 metric 200" },
	{ "it does so from the journal", NULL, HOST ETH1_UP DONE "metadata failed\n",
	  "addr 10.0.1.5/24 metric 200; route default via 10.0.1.253 metric 200" },
	{ "an adopted address that is gone comes back", NULL,
	  HOST ETH1_UP "done netdev 192.0.2.7/24 192.0.2.1\n",
	  "addr 192.0.2.7/24 metric 200; route default via 192.0.2.1 metric 200" },
	{ "another adopted address takes its place", NULL,
	  HOST ETH1_UP "done netdev 192.0.2.7/24 192.0.2.1\n"
		       "addr eth1 192.0.2.8/24\nroute eth1 192.0.2.0/24\n"
		       "route eth1 default via 192.0.2.1 metric 200 proto 237\n",
	  "ready" },
	{ "the default route comes back", NULL,
	  HOST ETH1_UP DONE METADATA
	  "addr eth1 10.0.1.5/24 metric 200\nroute eth1 10.0.1.0/24 metric 200\n",
	  "route default via 10.0.1.253 metric 200" },
	{ "the network's route comes back", NULL,
	  HOST ETH1_UP DONE METADATA "addr eth1 10.0.1.5/24 metric 200\n"
				     "route eth1 default via 10.0.1.253 metric 200 proto 237\n",
	  "route 10.0.1.0/24 metric 200" },
	{ "a link that went down comes up", NULL,
	  HOST ETH1 DONE METADATA "addr eth1 10.0.1.5/24 metric 200\n",
	  "link up; route default via 10.0.1.253 metric 200" },
	{ "a metric that was lost is set", NULL,
	  HOST ETH1_UP DONE METADATA "addr eth1 10.0.1.5/24\nroute eth1 10.0.1.0/24\n"
				     "route eth1 default via 10.0.1.253 metric 200 proto 237\n",
	  "addr 10.0.1.5/24 metric 200" },
	{ "a primary that got a higher metric is exceeded again", NULL,
	  "link eth0 " MAC0
	  " up\nroute eth0 default via 10.0.0.253 metric 1024 proto 16\n" ETH1_UP READY METADATA
		  DONE,
	  "route default via 10.0.1.253 metric 1025; "
	  "-route default via 10.0.1.253 metric 200 proto 237" },
	{ "a gateway that changed is replaced in place", NULL,
	  HOST ETH1_UP DONE "primary " MAC0 "\nmetadata 10.0.1.5/24 10.0.1.1\n" READY,
	  "route default via 10.0.1.1 metric 200 replace" },
	{ "nothing is repaired where that is not wanted", "repair = false;",
	  HOST ETH1_UP DONE METADATA, "ready; note: another program changed it*" },
	{ "what was begun is completed all the same", "repair = false;",
	  HOST ETH1_UP METADATA "done metadata 10.0.1.5/24 10.0.1.253 begun\n",
	  "addr 10.0.1.5/24 metric 200; route default via 10.0.1.253 metric 200" },

	/* MTU. */
	{ "jumbo frames", "jumbo_frames = \"on\";", HOST ETH1 METADATA,
	  "link up mtu 8500; addr 10.0.1.5/24 metric 200; route default via 10.0.1.253 metric "
	  "200" },
	{ "no jumbo frames", "jumbo_frames = \"off\";", HOST ETH1_UP READY DONE METADATA,
	  "link mtu 1400" },
	{ "an MTU of its own", "addresses = ( { nic = \"eth1\"; mtu = 4200; } );",
	  HOST ETH1_UP READY DONE METADATA, "link mtu 4200" },
	{ "an MTU that is right", "jumbo_frames = \"on\";",
	  HOST "link eth1 " MAC1 " up mtu 8500\n" READY DONE METADATA, "ready" },

	/* NICs that rdmad leaves alone. */
	{ "the primary NIC is never touched", "jumbo_frames = \"on\";",
	  "link eth1 " MAC1 " up\nroute eth1 default via 10.0.0.253 metric 100 proto 16\n",
	  "primary: it has the only default route" },
	{ "even if it is down and has nothing", NULL, HOST ETH1 "primary " MAC1 "\n",
	  "primary: it is the primary NIC" },
	{ "nor is one that is named", "primary = \"eth1\";", HOST ETH1 METADATA,
	  "primary: it is the primary NIC" },
	{ "a name counts more than the metadata service", "primary = \"eth0\";",
	  HOST ETH1 "primary " MAC1 "\nmetadata 10.0.1.5/24 10.0.1.253\n",
	  "link up; addr 10.0.1.5/24 metric 200; route default via 10.0.1.253 metric 200" },
	{ "a primary MAC of another machine does not count", NULL,
	  "link eth1 " MAC1 " up\nroute eth1 default via 10.0.0.253 proto 16\n"
	  "primary 00:16:3e:ff:ff:ff\n",
	  "primary: it has the only default route" },
	{ "before the primary has its default route nobody knows it", "address_from = \"netdev\";",
	  "link eth0 " MAC0 " up\n" ETH1_UP, "refused: no interface has a default route*" },
	{ "the metadata service knows it then", NULL, "link eth0 " MAC0 " up\n" ETH1_UP,
	  "metadata: the primary NIC is not known yet" },
	{ "where there is no primary NIC", "primary = \"none\";",
	  ETH1_UP "metadata 10.0.1.5/24 10.0.1.253\n",
	  "addr 10.0.1.5/24 metric 200; route default via 10.0.1.253 metric 200" },
	{ "an excluded interface is not touched", "exclude = \"eth*\";", HOST ETH1 METADATA,
	  "excluded: nics.exclude names it" },
	{ "nor by its MAC", "exclude = \"00:16:3E:01:02:0A\";", HOST ETH1 METADATA,
	  "excluded: nics.exclude names it" },
	{ "nor by its RDMA device", "exclude = \"erdma_0\";", HOST ETH1 METADATA,
	  "excluded: nics.exclude names it" },
	{ "another one's name excludes nothing", "exclude = \"eth2\";",
	  HOST ETH1_UP READY DONE METADATA, "ready" },
	{ "nothing is managed", "manage = false;", HOST ETH1 METADATA,
	  "excluded: nics.manage is false" },
	{ "Terway's rule makes it Terway's", NULL,
	  HOST ETH1_UP DONE "rule 10.0.1.77 table 1003 prio 2048\n", "foreign: Terway uses it*" },
	{ "so does its table", NULL,
	  HOST ETH1_UP DONE "route eth1 default via 10.0.1.253 table 1003 proto 3\n",
	  "foreign: Terway uses it*" },
	{ "so does its ipvlan", NULL,
	  HOST ETH1_UP "link ipvl_3 " MAC1 " up kind ipvlan parent eth1\n",
	  "foreign: Terway uses it*" },
	{ "the table of another interface is another's", NULL,
	  HOST ETH1_UP READY DONE METADATA "rule 10.0.1.77 table 1002 prio 2048\n", "ready" },
	{ "a member of a bond is the bond's", NULL,
	  HOST "link bond0 02:00:00:00:00:01 up kind bond\nlink eth1 " MAC1 " up master bond0\n",
	  "foreign: it is part of bond0" },
	{ "an address of Terway's instead of the ENI's own is remarked", NULL,
	  HOST ETH1_UP METADATA "addr eth1 10.0.1.99/24\nroute eth1 10.0.1.0/24\n"
				"route eth1 default via 10.0.1.253 metric 200 proto 237\n",
	  "ready; note: it has not the address 10.0.1.5/24*" },

	/* Sources. */
	{ "the service is asked for a NIC without an address", NULL, HOST ETH1,
	  "metadata: it has no address*" },
	{ "its failure is told", NULL, HOST ETH1 "metadata failed\n",
	  "refused: it has no address, and the metadata service gives none" },
	{ "its failure leaves an address alone", "address_from = \"metadata\";",
	  HOST ETH1_UP "metadata failed\naddr eth1 192.0.2.7/24\nroute eth1 192.0.2.0/24\n",
	  "ready" },
	{ "it is not asked where it is not wanted", "address_from = \"netdev\";", HOST ETH1,
	  "refused: it has no address" },
	{ "an entry counts more than anything else",
	  "addresses = ( { nic = \"" MAC1 "\"; addresses = ( \"192.0.2.7/24\" ); "
	  "gateways = \"192.0.2.1\"; } );",
	  HOST ETH1 METADATA,
	  "link up; addr 192.0.2.7/24 metric 200; route default via 192.0.2.1 metric 200" },
	{ "without an entry there is nothing", "address_from = \"static\";", HOST ETH1 METADATA,
	  "refused: no entry of nics.addresses is for it" },
	{ "an entry of IPv6",
	  "addresses = ( { nic = \"eth1\"; addresses = ( \"2001:db8::7/64\", \"192.0.2.7/24\" ); "
	  "gateways = ( \"2001:db8::1\", \"192.0.2.1\" ); } );",
	  HOST ETH1 "route eth0 default via fe80::1 metric 1024 proto 9\n",
	  "link up; addr 2001:db8::7/64 metric 200; addr 192.0.2.7/24 metric 200; "
	  "route default via 192.0.2.1 metric 200; route default via 2001:db8::1 metric 1025" },
	{ "an address that rdmad set before is removed last, the others of its network kept",
	  "addresses = ( { nic = \"eth1\"; addresses = \"10.0.1.6/24\"; } );",
	  HOST ETH1_UP READY DONE,
	  "addr 10.0.1.6/24 metric 200; -route default via 10.0.1.253 metric 200 proto 237; "
	  "sysctl net/ipv4/conf/eth1/promote_secondaries=1; -addr 10.0.1.5/24" },
	{ "an adopted address is not removed",
	  "addresses = ( { nic = \"eth1\"; addresses = \"10.0.1.6/24\"; } );",
	  HOST ETH1_UP "addr eth1 10.0.1.5/24\nroute eth1 10.0.1.0/24\n"
		       "done netdev 10.0.1.5/24 -\n",
	  "addr 10.0.1.6/24 metric 200" },
	{ "a gateway outside of the network is on the link",
	  "addresses = ( { nic = \"eth1\"; addresses = \"10.0.1.6/32\"; } );",
	  HOST ETH1_UP "addr eth1 10.0.1.6/32\nroute eth1 default via 10.9.9.9 proto 3 metric 50\n"
		       "primary " MAC0 "\n",
	  "route default via 10.9.9.9 metric 200 onlink; "
	  "-route default via 10.9.9.9 metric 50 proto 3" },

	/* A table of its own. */
	{ "a table and a rule, the rule last", "policy_routing = true;",
	  HOST ETH1_UP READY DONE METADATA,
	  "route 10.0.1.0/24 table 20003 replace; "
	  "route default via 10.0.1.253 table 20003 replace; rule 10.0.1.5 table 20003" },
	{ "that are there", "policy_routing = true;",
	  HOST ETH1_UP READY DONE METADATA
	  "route eth1 10.0.1.0/24 table 20003 proto 237\n"
	  "route eth1 default via 10.0.1.253 table 20003 proto 237\n"
	  "rule 10.0.1.5 table 20003 proto 237\n",
	  "ready" },
	{ "that are no longer wanted, the rule first", NULL,
	  HOST ETH1_UP READY DONE METADATA "route eth1 10.0.1.0/24 table 20003 proto 237\n"
					   "rule 10.0.1.5 table 20003 proto 237\n",
	  "-rule 10.0.1.5 table 20003; -route 10.0.1.0/24 table 20003 proto 237" },
	{ "a rule of an address that is gone", "policy_routing = true;",
	  HOST ETH1_UP READY DONE METADATA
	  "route eth1 10.0.1.0/24 table 20003 proto 237\n"
	  "route eth1 default via 10.0.1.253 table 20003 proto 237\n"
	  "rule 10.0.1.5 table 20003 proto 237\nrule 10.0.1.4 table 20003 proto 237\n",
	  "-rule 10.0.1.4 table 20003" },
	{ "a rule of the user's own stays", NULL,
	  HOST ETH1_UP READY DONE METADATA "rule 10.0.1.5 table 20003 prio 5 proto 3\n", "ready" },

	/* Bad hardware. */
	{ "two interfaces with one MAC", NULL, HOST ETH1 "link eth7 " MAC1 " up\n" METADATA,
	  "refused: eth1 and eth7 have the same MAC " MAC1 },
	{ "a vlan of the same MAC is not a second one", NULL,
	  HOST ETH1_UP READY DONE METADATA "link vlan7 " MAC1 " up kind vlan parent eth1\n",
	  "ready" },
	{ "no interface", NULL, HOST, "refused: no interface of this namespace has the MAC*" },
	{ "an interface in a pod", NULL, HOST "given\n", "excluded: its interface is in a pod" },
	{ "a pod that shares the interface", NULL, HOST ETH1_UP READY DONE METADATA "given\n",
	  "ready" },
};

static void test_plan(gconstpointer data)
{
	const Row *row = data;
	const gsize length = strlen(row->expected);
	const gboolean prefix = row->expected[length - 1] == '*';
	g_autoptr(ErdmaPlan) plan = NULL;
	g_autofree char *text = NULL;
	World world;

	world_make(&world, row->settings, row->world);
	plan = erdma_plan(&world.input);
	text = plan_text(plan);
	if (prefix && strncmp(text, row->expected, length - 1) == 0)
		g_assert_cmpstr(text, !=, "");
	else
		g_assert_cmpstr(text, ==, row->expected);
	world_clear(&world);
}

/* ---- the matcher ---- */

/* In the compatible mode the GID table names it: it tells two of one MAC apart. */
static void test_gids_tell_two_interfaces_apart(void)
{
	RdmadDevice *dev = device("erdma_0", "0216:3eff:fe01:020a");
	ErdmaMatch *match;
	World world;

	world_make(&world, NULL, HOST ETH1 "link eth7 " MAC1 " up\n");
	dev->n_ports = 1;
	dev->ports = g_new0(RdmadPort, 1);
	dev->ports[0].netdev = g_strdup("eth7");
	match = erdma_match(dev, world.view);
	g_assert_cmpint(match->ifindex, ==, 0);
	erdma_match_free(match);
	dev->ports[0].n_gids = 1;
	dev->ports[0].gids = g_new0(RdmadGid, 1);
	dev->ports[0].gids[0].netdev = g_strdup("eth7");
	match = erdma_match(dev, world.view);
	g_assert_cmpstr(match->netdev, ==, "eth7");
	erdma_match_free(match);
	rdmad_device_unref(dev);
	world_clear(&world);
}

static void test_the_inventory_finds_one_whose_guid_says_nothing(void)
{
	RdmadDevice *dev = device("erdma_0", "0000:0000:0000:0000");
	ErdmaMatch *match;
	World world;

	world_make(&world, NULL, HOST ETH1);
	dev->n_ports = 1;
	dev->ports = g_new0(RdmadPort, 1);
	dev->ports[0].netdev = g_strdup("eth1");
	match = erdma_match(dev, world.view);
	g_assert_cmpstr(match->netdev, ==, "eth1");
	erdma_match_free(match);
	rdmad_device_unref(dev);
	world_clear(&world);
}

const UnitTest unit_tests[] = {
	UNIT_CASES("/erdma-nic-plan/", rows, test_plan),
	UNIT_TEST("/erdma-nic-match/gids-tell-two-interfaces-apart",
		  test_gids_tell_two_interfaces_apart),
	UNIT_TEST("/erdma-nic-match/the-inventory-finds-one-whose-guid-says-nothing",
		  test_the_inventory_finds_one_whose_guid_says_nothing),
	{ 0 },
};
