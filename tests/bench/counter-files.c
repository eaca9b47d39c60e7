/* SPDX-License-Identifier: Apache-2.0 */
#include "counter-files.h"

#include <fcntl.h>
#include <rdmad/device.h>
#include <time.h>
#include <unistd.h>

static void add_file(GPtrArray *files, const char *dir, const char *name)
{
	g_autofree char *path = g_build_filename(dir, name, NULL);

	if (access(path, F_OK) == 0)
		g_ptr_array_add(files, g_steal_pointer(&path));
}

static void add_all(GPtrArray *files, const char *dir)
{
	g_autoptr(GDir) entries = g_dir_open(dir, 0, NULL);
	const char *name;

	while (entries && (name = g_dir_read_name(entries)))
		add_file(files, dir, name);
}

static void add_port(GPtrArray *files, const char *root, const char *device, guint port)
{
	static const char *const states[] = { "state", "phys_state", "rate" };
	static const char *const dirs[] = { "counters", "hw_counters" };
	g_autofree char *dir =
		g_strdup_printf("%s/sys/class/infiniband/%s/ports/%u", root, device, port);

	for (guint i = 0; i < G_N_ELEMENTS(states); i++)
		add_file(files, dir, states[i]);
	for (guint i = 0; i < G_N_ELEMENTS(dirs); i++) {
		g_autofree char *below = g_build_filename(dir, dirs[i], NULL);

		add_all(files, below);
	}
}

static void add_netdev(GPtrArray *files, const char *root, const char *netdev)
{
	static const char *const names[] = { "carrier_changes", "carrier_down_count",
					     "carrier_up_count" };
	g_autofree char *dir = g_strdup_printf("%s/sys/class/net/%s", root, netdev);

	for (guint i = 0; i < G_N_ELEMENTS(names); i++)
		add_file(files, dir, names[i]);
}

GPtrArray *counter_files_new(const char *root, const GPtrArray *devices, gboolean netdevs)
{
	GPtrArray *files = g_ptr_array_new_with_free_func(g_free);

	for (guint i = 0; i < devices->len; i++) {
		const RdmadDevice *dev = devices->pdata[i];

		for (guint p = 0; p < dev->n_ports; p++) {
			add_port(files, root, dev->name, dev->ports[p].number);
			if (netdevs && dev->ports[p].netdev)
				add_netdev(files, root, dev->ports[p].netdev);
		}
	}
	return files;
}

gint64 counter_files_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * G_GINT64_CONSTANT(1000000000) + now.tv_nsec;
}

gint64 counter_files_read(const GPtrArray *files)
{
	const gint64 began = counter_files_clock();
	char buf[4096];

	for (guint i = 0; i < files->len; i++) {
		const int fd = open(files->pdata[i], O_RDONLY | O_CLOEXEC);

		if (fd < 0 || read(fd, buf, sizeof(buf)) < 0)
			g_error("%s", (char *)files->pdata[i]);
		close(fd);
	}
	return counter_files_clock() - began;
}
