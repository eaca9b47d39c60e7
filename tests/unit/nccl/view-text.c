/* SPDX-License-Identifier: Apache-2.0 */
#include "view-text.h"

#include <stdlib.h>
#include <string.h>

#include "config/config-private.h"
#include "gid.h"
#include "hardware/device.h"

static RdmadPort *add_port(RdmadDevice *device, guint number)
{
	RdmadPort *port;

	device->ports = g_renew(RdmadPort, device->ports, device->n_ports + 1);
	port = &device->ports[device->n_ports++];
	*port = (RdmadPort){ .number = number,
			     .link_layer = RDMAD_LINK_LAYER_ETHERNET,
			     .state = RDMAD_PORT_ACTIVE,
			     .rate_mbps = 400000 };
	return port;
}

static void add_gid(RdmadPort *port, const char *word)
{
	g_auto(GStrv) parts = g_strsplit(word, "/", 3);
	g_auto(GStrv) address = g_strsplit(parts[2], "%", 2);
	RdmadGid gid = { .index = strtoul(parts[0], NULL, 10) };
	NcclRange range;

	g_assert_true(nccl_range_parse(address[0], &range, NULL));
	memcpy(gid.raw, range.raw, 16);
	gid.type = g_str_equal(parts[1], "v2")	 ? RDMAD_GID_ROCE_V2
		   : g_str_equal(parts[1], "v1") ? RDMAD_GID_ROCE_V1
						 : RDMAD_GID_UNKNOWN;
	gid.netdev = g_strdup(address[1] ? address[1] : port->netdev);
	port->gids = g_renew(RdmadGid, port->gids, port->n_gids + 1);
	port->gids[port->n_gids++] = gid;
}

/* Functions behind one bridge, so that a GPU of the same number is PIX and others are SYS. */
static char **path_next_to(guint number, guint slot)
{
	g_autofree char *root = g_strdup_printf("pci%04x:00", number);
	g_autofree char *port = g_strdup_printf("%04x:00:01.0", number);
	g_autofree char *end = g_strdup_printf("%04x:%02x:00.0", number, slot);
	const char *const path[] = { root, port, end, NULL };

	return g_strdupv((char **)path);
}

static void device_word(RdmadDevice *device, const char *word, gboolean *granted)
{
	RdmadPort *port = &device->ports[device->n_ports - 1];

	if (g_ascii_isdigit(word[0]))
		add_gid(port, word);
	else if (g_str_has_prefix(word, "port="))
		device->n_ports == 1 && !port->n_gids && !port->netdev
			? (void)(port->number = atoi(word + 5))
			: (void)add_port(device, atoi(word + 5));
	else if (g_str_has_prefix(word, "net="))
		port->netdev = g_strdup(word + 4);
	else if (g_str_has_prefix(word, "bond="))
		device->bond = g_strdup(word + 5);
	else if (g_str_has_prefix(word, "driver="))
		device->driver = g_strdup(word + 7);
	else if (g_str_has_prefix(word, "gpu="))
		device->pci_path = path_next_to(atoi(word + 4), 2);
	else if (g_str_has_prefix(word, "rate="))
		port->rate_mbps = atoi(word + 5);
	else if (g_str_equal(word, "ib"))
		port->link_layer = RDMAD_LINK_LAYER_INFINIBAND;
	else if (g_str_equal(word, "down"))
		port->state = RDMAD_PORT_DOWN;
	else if (g_str_equal(word, "init"))
		port->state = RDMAD_PORT_INIT;
	else if (g_str_equal(word, "switch"))
		device->vpd_model = g_strdup("SW_MNG");
	else if (g_str_equal(word, "denied"))
		*granted = FALSE;
	else if (g_str_equal(word, "iwarp"))
		device->node_type = RDMAD_NODE_RNIC;
	else if (g_str_equal(word, "efa"))
		port->link_layer = RDMAD_LINK_LAYER_UNKNOWN;
	else if (g_str_equal(word, "fatal"))
		device->fatal = TRUE;
	else if (g_str_has_prefix(word, "without=")) /* by its caller, when it is in the view */
		return;
	else if (g_str_equal(word, "soft"))
		g_clear_pointer(&device->pci_address, g_free);
	else
		g_error("what is \"%s\"?", word);
}

static void add_device(NcclView *view, char *const *words)
{
	RdmadDevice *device = rdmad_device_new(words[0], words[0]);
	gboolean granted = TRUE;

	device->node_type = RDMAD_NODE_CA;
	device->pci_address = g_strdup("0000:01:00.0");
	add_port(device, 1);
	for (guint i = 1; words[i]; i++)
		device_word(device, words[i], &granted);
	nccl_view_add_device(view, device, granted);
	for (guint i = 1; words[i]; i++)
		if (g_str_has_prefix(words[i], "without="))
			nccl_view_leave_out(view, &device->ports[atoi(words[i] + 8) - 1]);
	rdmad_device_unref(device);
}

static void add_gpu(NcclView *view, const char *number)
{
	g_auto(GStrv) path = path_next_to(atoi(number), 1);
	RdmadGpu gpu = { .pci_address = path[2], .numa_node = RDMAD_UNKNOWN, .pci_path = path };

	nccl_view_add_gpu(view, &gpu);
}

NcclView *view_from_text(const char *text)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	g_autoptr(GStrvBuilder) defaults = g_strv_builder_new();
	NcclAddresses *addresses = NULL;
	NcclView *view = nccl_view_new();

	view->allocated = TRUE;
	for (guint i = 0; lines[i]; i++) {
		g_auto(GStrv) words = g_strsplit(g_strstrip(lines[i]), " ", -1);

		if (!words[0] || !words[0][0])
			continue;
		if (g_str_equal(words[0], "address")) {
			addresses = addresses ? addresses : nccl_addresses_new();
			if (!g_str_equal(words[1], "none"))
				g_assert_true(nccl_addresses_add(&addresses, words[1], NULL));
		} else if (g_str_equal(words[0], "default")) {
			g_strv_builder_add(defaults, words[1]);
		} else if (g_str_equal(words[0], "gpu")) {
			add_gpu(view, words[1]);
		} else if (g_str_equal(words[0], "host")) {
			view->allocated = FALSE;
		} else {
			add_device(view, words);
		}
	}
	nccl_view_set_network(view, addresses, g_strv_builder_end(defaults));
	nccl_view_sort(view);
	return view;
}

NcclSettings *settings_from_text(const char *text)
{
	g_autofree char *whole = g_strdup_printf("nccl = { %s };", text ? text : "");
	g_autoptr(GError) error = NULL;
	g_autoptr(RdmadConfig) config =
		rdmad_config_load_text("test.conf", whole, strlen(whole), &error);
	NcclSettings *settings;

	g_assert_no_error(error);
	settings =
		nccl_settings_parse(rdmad_config_child(rdmad_config_root(config), "nccl"), &error);
	g_assert_no_error(error);
	return settings;
}

char *plan_to_text(const NcclPlan *plan)
{
	GString *text = g_string_new(NULL);

	if (plan->refusal)
		g_string_append_printf(text, "refused: %s", nccl_refusal_name(plan->refusal));
	for (guint i = 0; i < plan->env->variables->len; i++) {
		const NcclVariable *variable = nccl_env_nth(plan->env, i);

		g_string_append_printf(text, "%s%s=%s", text->len ? " " : "", variable->name,
				       variable->value);
	}
	return g_string_free(text, FALSE);
}

NcclEnv *env_from_text(const char *text)
{
	g_auto(GStrv) words = g_strsplit(text, " ", -1);
	NcclEnv *env = nccl_env_new();

	for (guint i = 0; words[i]; i++) {
		g_auto(GStrv) parts = g_strsplit(words[i], "=", 2);

		if (parts[0] && parts[1])
			nccl_env_set(env, parts[0], parts[1], "");
	}
	return env;
}
