/* SPDX-License-Identifier: Apache-2.0 */
#include "allocate/env.h"

#include <rdmad/json.h>
#include <string.h>

#include "allocate/allocation-devices.h"

#define INFO_MAX 65536u /* the kernel takes strings of 128 KiB */

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

/* As the SR-IOV plugin names it: the PCI address, or a subfunction's auxiliary device. */
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

static void info_add_name(GString *info, const char *name)
{
	if (info->str[info->len - 1] != '{')
		g_string_append_c(info, ',');
	rdmad_json_append_string(info, name);
	g_string_append_c(info, ':');
}

/* A member whose value is NULL is left out. */
static void info_add(GString *info, const char *name, const char *value)
{
	if (!value)
		return;
	info_add_name(info, name);
	rdmad_json_append_string(info, value);
}

static void info_add_device(GString *info, const RdmadDevice *dev, const ResourceSettings *settings)
{
	info_add_name(info, device_name(dev));
	g_string_append(info, "{\"generic\":{");
	info_add(info, "deviceID", device_name(dev));
	g_string_append(info, "},\"rdma\":{");
	info_add(info, "issm", device_node(dev, settings, RDMAD_CHARDEV_ISSM));
	info_add(info, "rdma_cm", device_node(dev, settings, RDMAD_CHARDEV_RDMA_CM));
	info_add(info, "rdma_dev", dev->name);
	info_add(info, "umad", device_node(dev, settings, RDMAD_CHARDEV_UMAD));
	info_add(info, "uverbs", device_node(dev, settings, RDMAD_CHARDEV_UVERBS));
	g_string_append(info, "}}");
}

char *device_env_info(const GPtrArray *devices, const ResourceSettings *settings)
{
	GString *info = g_string_new("{");

	for (guint i = 0; i < devices->len; i++)
		info_add_device(info, devices->pdata[i], settings);
	g_string_append_c(info, '}');
	return g_string_free(info, info->len > INFO_MAX);
}
