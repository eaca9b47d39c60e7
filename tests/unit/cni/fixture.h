/* SPDX-License-Identifier: Apache-2.0 */
/* Settings, requests and devices for the tests of module cni */
#pragma once

#include <jansson.h>
#include <rdmad/json.h>
#include <string.h>
#include <sys/socket.h>

#include "choice.h"
#include "config/config-private.h"
#include "config/node.h"
#include "error.h"
#include "hardware/device.h"

static inline CniSettings *fixture_settings(const char *text, GError **error)
{
	g_autofree char *whole = g_strdup_printf("cni = { %s };", text);
	g_autoptr(RdmadConfig) config =
		rdmad_config_load_text("test.conf", whole, strlen(whole), error);

	if (!config)
		return NULL;
	return cni_settings_parse(rdmad_config_child(rdmad_config_root(config), "cni"), error);
}

/* An ADD of eth1 for container c1; `keys`: more of the network's configuration, ",\"a\":1". */
static inline CniRequest *fixture_request(const char *keys)
{
	static const char environment[] = "CNI_COMMAND=ADD\0CNI_CONTAINERID=c1\0"
					  "CNI_NETNS=/run/netns/a\0CNI_IFNAME=eth1";
	g_autofree char *input =
		g_strdup_printf("{\"cniVersion\":\"1.1.0\",\"name\":\"rdma\"%s}", keys ? keys : "");
	g_autoptr(GError) error = NULL;
	CniRequest *request =
		cni_request_parse(environment, sizeof(environment), input, strlen(input), &error);

	g_assert_no_error(error);
	return request;
}

static inline RdmadDevice *fixture_device(const char *id, const char *name, const char *netdev)
{
	RdmadDevice *dev = rdmad_device_new(id, name);

	dev->pci_address = strchr(id, ':') ? g_strdup(id) : NULL;
	dev->node_guid = g_strdup("0c42:a103:0065:4321");
	dev->index = 3;
	dev->n_ports = 1;
	dev->ports = g_new0(RdmadPort, 1);
	dev->ports[0].number = 1;
	dev->ports[0].link_layer = RDMAD_LINK_LAYER_ETHERNET;
	dev->ports[0].netdev = g_strdup(netdev);
	return dev;
}
