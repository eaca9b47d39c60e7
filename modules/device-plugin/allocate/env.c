/* SPDX-License-Identifier: Apache-2.0 */
#include "allocate/env.h"

#include <jansson.h>
#include <rdmad/json.h>
#include <string.h>

#include "allocate/allocation-devices.h"

#define INFO_MAX 65536u /* below the kernel's limit of 128 KiB for a string */

/* ---- names ---- */

char *device_env_name(const char *resource)
{
	GString *name = g_string_new("PCIDEVICE_");

	for (const char *c = resource; *c; c++)
		g_string_append_c(name, g_ascii_isalnum(*c) ? g_ascii_toupper(*c) : '_');
	return g_string_free(name, FALSE);
}

static gboolean is_info_of(const char *name, const char *other)
{
	g_autofree char *info = g_strconcat(other, "_INFO", NULL);

	return g_str_equal(name, info);
}

gboolean device_env_clash(const char *resource, const char *other)
{
	g_autofree char *a = device_env_name(resource);
	g_autofree char *b = device_env_name(other);

	return g_str_equal(a, b) || is_info_of(a, b) || is_info_of(b, a);
}

/* ---- values ---- */

/* Returns the name that the SR-IOV plugin uses: the PCI address, or a subfunction's auxiliary
 * device. */
static const char *device_name(const RdmadDevice *dev)
{
	return dev->aux_name ? dev->aux_name : dev->id;
}

char *device_env_list(const GPtrArray *devices)
{
	GString *list = g_string_new(NULL);

	for (guint i = 0; i < devices->len; i++)
		g_string_append_printf(list, "%s%s", i ? "," : "", device_name(devices->pdata[i]));
	return g_string_free(list, FALSE);
}

static json_t *rdma_info(const RdmadDevice *dev, const ResourceSettings *settings)
{
	return json_pack("{s:s*, s:s*, s:s*, s:s*, s:s}", "uverbs",
			 device_node(dev, settings, RDMAD_CHARDEV_UVERBS), "umad",
			 device_node(dev, settings, RDMAD_CHARDEV_UMAD), "issm",
			 device_node(dev, settings, RDMAD_CHARDEV_ISSM), "rdma_cm",
			 device_node(dev, settings, RDMAD_CHARDEV_RDMA_CM), "rdma_dev", dev->name);
}

static json_t *devices_info(const GPtrArray *devices, const ResourceSettings *settings)
{
	json_t *info = json_object();

	for (guint i = 0; i < devices->len; i++) {
		const char *name = device_name(devices->pdata[i]);

		json_object_set_new(info, name,
				    json_pack("{s:{s:s}, s:o}", "generic", "deviceID", name, "rdma",
					      rdma_info(devices->pdata[i], settings)));
	}
	return info;
}

char *device_env_info(const GPtrArray *devices, const ResourceSettings *settings)
{
	g_autofree char *text =
		rdmad_json_dump(devices_info(devices, settings), JSON_COMPACT | JSON_SORT_KEYS);

	return text && strlen(text) <= INFO_MAX ? g_steal_pointer(&text) : NULL;
}
