/* SPDX-License-Identifier: Apache-2.0 */
/* PCI functions in a sysroot of a test */
#pragma once

#include <glib.h>
#include <glib/gstdio.h>
#include <unistd.h>

/* Makes the function at the end of `pci_path`, or gives it another driver. */
static inline void function_tree_add(const char *root, char *const *pci_path, const char *driver)
{
	g_autofree char *path = g_strjoinv("/", (char **)pci_path);
	g_autofree char *target = g_strconcat("../../../devices/", path, NULL);
	g_autofree char *devices = g_build_filename(root, "sys/bus/pci/devices", NULL);
	g_autofree char *link =
		g_build_filename(devices, pci_path[g_strv_length((char **)pci_path) - 1], NULL);
	g_autofree char *function = g_build_filename(root, "sys/devices", path, NULL);
	g_autofree char *driver_link = g_build_filename(function, "driver", NULL);
	g_autofree char *driver_path = g_strconcat("../../../bus/pci/drivers/", driver, NULL);

	g_assert_cmpint(g_mkdir_with_parents(devices, 0755), ==, 0);
	g_assert_cmpint(g_mkdir_with_parents(function, 0755), ==, 0);
	g_unlink(driver_link);
	g_unlink(link);
	g_assert_cmpint(symlink(driver_path, driver_link), ==, 0);
	g_assert_cmpint(symlink(target, link), ==, 0);
}

static inline void function_tree_unbind(const char *root, const char *address)
{
	g_autofree char *driver =
		g_build_filename(root, "sys/bus/pci/devices", address, "driver", NULL);

	g_assert_cmpint(g_unlink(driver), ==, 0);
}
