/* SPDX-License-Identifier: Apache-2.0 */
/* Devices for tests, and settings from short configurations */
#pragma once

#include <rdmad/error.h>

#include "config/config-private.h"
#include "hardware/device.h"
#include "settings.h"

/* For devices that a test still modifies. */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadDevice, rdmad_device_unref)

/* A ConnectX-7 at a PCI address, with one active Ethernet port and a uverbs file. */
static inline RdmadDevice *fixture_device(const char *id, const char *name, int numa_node)
{
	RdmadDevice *dev = rdmad_device_new(id, name);

	dev->pci_address = g_strdup(id);
	dev->driver = g_strdup("mlx5_core");
	dev->vendor = 0x15b3;
	dev->device = 0x1021;
	dev->numa_node = numa_node;
	dev->n_ports = 1;
	dev->ports = g_new0(RdmadPort, 1);
	dev->ports[0].number = 1;
	dev->ports[0].link_layer = RDMAD_LINK_LAYER_ETHERNET;
	dev->ports[0].state = RDMAD_PORT_ACTIVE;
	dev->n_netdevs = 2;
	dev->netdevs = g_new0(RdmadNetdev, 2);
	dev->netdevs[0].name = g_strdup_printf("eth-%s", name);
	dev->netdevs[1].name = g_strdup_printf("vlan-%s", name);
	dev->netdevs[0].up = dev->netdevs[1].up = 1;
	dev->n_chardevs = 2;
	dev->chardevs = g_new0(RdmadChardev, 2);
	dev->chardevs[0].kind = RDMAD_CHARDEV_UVERBS;
	dev->chardevs[0].path = g_strdup_printf("/dev/infiniband/uverbs-%s", name);
	dev->chardevs[1].kind = RDMAD_CHARDEV_RDMA_CM;
	dev->chardevs[1].path = g_strdup("/dev/infiniband/rdma_cm");
	return dev;
}

/* `text` is the contents of the module's group. */
static inline PluginSettings *fixture_settings(const char *text, GError **error)
{
	g_autofree char *whole = g_strdup_printf("plugin = { %s };", text);
	g_autoptr(RdmadConfig) config =
		rdmad_config_load_text("test.conf", whole, strlen(whole), error);

	if (!config)
		return NULL;
	return plugin_settings_parse(rdmad_config_child(rdmad_config_root(config), "plugin"),
				     error);
}

/* One resource. */
static inline ResourceSettings *fixture_resource(const char *text)
{
	g_autofree char *list = g_strdup_printf("resources = ( { %s } );", text);
	g_autoptr(GError) error = NULL;
	g_autoptr(PluginSettings) settings = fixture_settings(list, &error);

	g_assert_no_error(error);
	return resource_settings_ref(settings->resources->pdata[0]);
}
