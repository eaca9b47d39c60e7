/* SPDX-License-Identifier: Apache-2.0 */
#include "machine.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <spawn.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "disk.h"
#include "files.h"

#define PODS   "sys/fs/cgroup/kubepods/burstable"
#define LOGS   "var/log/pods"
#define BOOT   "proc/sys/kernel/random"
#define SPARES "spares" /* copies of the devices' directories; rdmad does not look there */

#define FIRST_PID 100u
#define TICK_US	  (10 * SIM_MS)

typedef struct {
	gint64 since_us;
	guint64 packets;
} Count;

static struct {
	char *root, *boot_id;
	gboolean present[MACHINE_DEVICES], up[MACHINE_DEVICES];
	char *links[MACHINE_DEVICES];	 /* target of the link in the device class */
	GArray *counts[MACHINE_DEVICES]; /* of Count, oldest first, since the device appeared */
	guint boots;
	gint64 booted_us;
	guint processes; /* begun in this boot */
} machine;

static char *path_of(const char *format, ...) G_GNUC_PRINTF(1, 2);
static char *path_of(const char *format, ...)
{
	g_autofree char *below = NULL;
	va_list args;

	va_start(args, format);
	below = g_strdup_vprintf(format, args);
	va_end(args);
	return g_build_filename(machine.root, below, NULL);
}

/* Writes in place, as the kernel changes its files. */
static void put(const char *path, const char *text)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	g_assert_cmpint(fd, >=, 0);
	g_assert_cmpint(write(fd, text, strlen(text)), ==, (gssize)strlen(text));
	close(fd);
}

static char *directory_of(guint device)
{
	return path_of("sys/class/infiniband/%s", machine.links[device]);
}

static void make(const char *path)
{
	g_assert_cmpint(g_mkdir_with_parents(path, 0755), ==, 0);
}

static void copy(const char *from, const char *to);

static void copy_directory(const char *from, const char *to)
{
	g_autoptr(GDir) dir = g_dir_open(from, 0, NULL);
	const char *name;

	make(to);
	while ((name = g_dir_read_name(dir))) {
		g_autofree char *one = g_build_filename(from, name, NULL);
		g_autofree char *other = g_build_filename(to, name, NULL);

		copy(one, other);
	}
}

static void copy(const char *from, const char *to)
{
	g_autofree char *target = g_file_read_link(from, NULL);
	g_autofree char *bytes = NULL;

	if (target)
		g_assert_cmpint(symlink(target, to), ==, 0);
	else if (g_file_test(from, G_FILE_TEST_IS_DIR))
		copy_directory(from, to);
	else if (g_file_get_contents(from, &bytes, NULL, NULL))
		put(to, bytes);
}

/* The program writes to the kernel's files. */
static void expand(const char *to)
{
	const char *argv[] = { MACHINES_DIR "/expand", SIM_DIR "/node.machine", to, NULL };
	pid_t pid;
	int status;

	make(to);
	g_assert_cmpint(posix_spawn(&pid, argv[0], NULL, NULL, (char **)argv, environ), ==, 0);
	g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
	g_assert_cmpint(status, ==, 0);
}

static void mount(const char *below, TreeKind kind)
{
	g_autofree char *path = path_of("%s", below);
	TreeEntry *entry;

	make(path);
	g_assert_true(files_find_entry(AT_FDCWD, path, TRUE, &entry));
	entry->file->kind = kind;
}

static void copy_expanded(const char *root)
{
	g_autofree char *expanded = g_strdup_printf("/dev/shm/rdmad-sim-%d-XXXXXX",
						    (int)syscall(SYS_getpid)); /* of the kernel */

	g_assert_nonnull(g_mkdtemp(expanded));
	expand(expanded);
	copy_directory(expanded, root);
	disk_empty_directory(expanded);
	g_assert_cmpint(rmdir(expanded), ==, 0);
}

static void spare_make(guint device)
{
	g_autofree char *spare = path_of(SPARES "/erdma_%u", device);
	g_autofree char *directory = directory_of(device);

	copy_directory(directory, spare);
}

void machine_make(const char *root)
{
	machine.root = g_strdup(root);
	machine.boot_id = path_of(BOOT "/boot_id");
	mount("proc", TREE_KERNEL);
	mount("sys", TREE_KERNEL);
	mount("sys/fs/cgroup", TREE_CGROUP);
	copy_expanded(root);
	for (guint i = 0; i < MACHINE_DEVICES; i++) {
		g_autofree char *link = path_of("sys/class/infiniband/erdma_%u", i);

		machine.links[i] = g_file_read_link(link, NULL);
		machine.present[i] = machine.up[i] = TRUE;
		machine.counts[i] = g_array_new(FALSE, FALSE, sizeof(Count));
		spare_make(i);
	}
}

const char *machine_root(void)
{
	return machine.root;
}

const char *machine_boot_id(void)
{
	return machine.boot_id;
}

static void boot_name(void)
{
	g_autofree char *dir = path_of(BOOT);
	g_autofree char *text =
		g_strdup_printf("%08x-0000-4000-8000-000000000000\n", machine.boots);

	make(dir);
	put(machine.boot_id, text);
}

/* ---- processes ---- */

static char *process_path(guint pid)
{
	return path_of("proc/%u", pid);
}

guint machine_process_begin(guint group, const char *environment)
{
	const guint pid = FIRST_PID + machine.processes++;
	const gint64 ticks = (clock_now_us() - machine.booted_us) / TICK_US;
	g_autofree char *dir = process_path(pid);
	g_autofree char *stat = g_build_filename(dir, "stat", NULL);
	g_autofree char *environ_file = g_build_filename(dir, "environ", NULL);
	g_autofree char *text = g_strdup_printf(
		"%u (one) S 1 %u 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %" G_GINT64_FORMAT " 0\n", pid,
		group ? group : pid, ticks);

	make(dir);
	put(stat, text);
	put(environ_file, environment);
	return pid;
}

void machine_process_end(guint pid)
{
	g_autofree char *dir = process_path(pid);

	disk_empty_directory(dir);
	rmdir(dir);
}

static void processes_end(void)
{
	g_autofree char *pods = path_of(PODS);

	make(pods);
	disk_empty_directory(pods);
	while (machine.processes)
		machine_process_end(FIRST_PID + --machine.processes);
	machine.booted_us = clock_now_us();
}

void machine_begin(void)
{
	g_autofree char *logs = path_of(LOGS);
	g_autofree char *mount = path_of("sys/fs/cgroup/cgroup.controllers");

	processes_end();
	put(mount, "cpu memory\n");
	make(logs);
	disk_empty_directory(logs);
	machine.boots = 1;
	boot_name();
	for (guint i = 0; i < MACHINE_DEVICES; i++) {
		machine.up[i] = TRUE;
		machine_plug(i, FALSE);
		machine_plug(i, TRUE);
	}
}

void machine_reboot(void)
{
	processes_end();
	machine.boots++;
	boot_name();
}

/* ---- devices ---- */

gboolean machine_has(guint device)
{
	return machine.present[device];
}

gboolean machine_is_up(guint device)
{
	return machine.up[device];
}

static void put_port(guint device, const char *file, const char *text)
{
	g_autofree char *directory = directory_of(device);
	g_autofree char *path = g_build_filename(directory, "ports/1", file, NULL);

	put(path, text);
}

static void put_counts(guint device, guint64 packets)
{
	const Count count = { clock_now_us(), packets };
	g_autofree char *text = g_strdup_printf("%" G_GUINT64_FORMAT "\n", packets);

	g_array_append_val(machine.counts[device], count);
	put_port(device, "hw_counters/tx_packets_cnt", text);
	put_port(device, "hw_counters/rx_packets_cnt", text);
}

static void put_state(guint device)
{
	const gboolean up = machine.up[device];

	put_port(device, "state", up ? "4: ACTIVE\n" : "1: DOWN\n");
	put_port(device, "phys_state", up ? "5: LinkUp\n" : "3: Disabled\n");
}

static void device_appear(guint device)
{
	g_autofree char *spare = path_of(SPARES "/erdma_%u", device);
	g_autofree char *directory = directory_of(device);

	copy_directory(spare, directory);
	g_array_set_size(machine.counts[device], 0);
	put_counts(device, 0);
	put_state(device);
}

static void device_disappear(guint device)
{
	g_autofree char *directory = directory_of(device);

	disk_empty_directory(directory);
	rmdir(directory);
}

void machine_plug(guint device, gboolean in)
{
	g_autofree char *link = path_of("sys/class/infiniband/erdma_%u", device);

	if (machine.present[device] == in)
		return;
	machine.present[device] = in;
	if (in) {
		device_appear(device);
		g_assert_cmpint(symlink(machine.links[device], link), ==, 0);
	} else {
		unlink(link);
		device_disappear(device);
	}
}

void machine_set_port(guint device, gboolean up)
{
	machine.up[device] = up;
	if (machine.present[device])
		put_state(device);
}

void machine_count(guint device, guint64 packets)
{
	const GArray *counts = machine.counts[device];

	if (machine.present[device])
		put_counts(device, g_array_index(counts, Count, counts->len - 1).packets + packets);
}

guint64 machine_counted(guint device, gint64 at_us)
{
	const GArray *counts = machine.counts[device];

	for (guint i = counts->len; i-- > 0;)
		if (g_array_index(counts, Count, i).since_us <= at_us)
			return g_array_index(counts, Count, i).packets;
	return 0;
}

gint64 machine_plugged_us(guint device)
{
	return g_array_index(machine.counts[device], Count, 0).since_us;
}

gboolean machine_shows_netdev(guint device)
{
	g_autofree char *link = path_of("sys/class/net/eth%u", 1 + device);

	return g_file_test(link, G_FILE_TEST_IS_SYMLINK);
}

void machine_show_netdev(guint device, gboolean shown)
{
	g_autofree char *function =
		path_of("sys/devices/pci0000:00/0000:00:%02x.0/virtio%u", 0x0c + device, device);
	g_autofree char *there = g_build_filename(function, "net", NULL);
	g_autofree char *away = g_build_filename(function, ".net", NULL);
	g_autofree char *link = path_of("sys/class/net/eth%u", 1 + device);
	g_autofree char *target =
		g_strdup_printf("../../devices/pci0000:00/0000:00:%02x.0/virtio%u/net/eth%u",
				0x0c + device, device, 1 + device);

	/* The tree may be that of a run in another process (shrink.c). */
	if (g_file_test(there, G_FILE_TEST_EXISTS) == shown)
		return;
	g_assert_cmpint(g_rename(shown ? away : there, shown ? there : away), ==, 0);
	if (shown)
		g_assert_cmpint(symlink(target, link), ==, 0);
	else
		unlink(link);
}

/* ---- pods ---- */

/* `pid` 0: there is none. */
static void populated(const char *uid, guint pid)
{
	g_autofree char *events = path_of(PODS "/pod%s/cgroup.events", uid);
	g_autofree char *procs = path_of(PODS "/pod%s/cgroup.procs", uid);
	g_autofree char *text = pid ? g_strdup_printf("%u\n", pid) : g_strdup("");

	put(procs, text);
	put(events, pid ? "populated 1\nfrozen 0\n" : "populated 0\nfrozen 0\n");
}

void machine_pod_begin(const char *uid, const char *name)
{
	g_autofree char *cgroup = path_of(PODS "/pod%s", uid);
	g_autofree char *logs = path_of(LOGS "/ns_%s_%s", name, uid);

	make(cgroup);
	populated(uid, 0);
	make(logs);
}

/* The process has an interface of another network plugin, with a default route. */
void machine_pod_populate(const char *uid)
{
	static const char routes[] = "Iface\tDestination\tGateway "
				     "\tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
				     "eth0\t00000000\t0100F40A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n";
	static const char addresses[] = "Local:\n  +-- 0.0.0.0/0 1 0 2\n     |-- 10.244.0.9\n"
					"        /32 host LOCAL\n";
	const guint pid = machine_process_begin(0, "");
	g_autofree char *cgroup = path_of("proc/%u/cgroup", pid);
	g_autofree char *net = path_of("proc/%u/net", pid);
	g_autofree char *fib_trie = g_build_filename(net, "fib_trie", NULL);
	g_autofree char *route = g_build_filename(net, "route", NULL);
	g_autofree char *own = g_strdup_printf("0::/kubepods/burstable/pod%s\n", uid);

	put(cgroup, own);
	make(net);
	put(fib_trie, addresses);
	put(route, routes);
	populated(uid, pid);
}

void machine_pod_empty(const char *uid)
{
	populated(uid, 0);
}

void machine_pod_end(const char *uid)
{
	g_autofree char *cgroup = path_of(PODS "/pod%s", uid);

	disk_empty_directory(cgroup);
	rmdir(cgroup);
}

void machine_pod_forget(const char *uid, const char *name)
{
	g_autofree char *logs = path_of(LOGS "/ns_%s_%s", name, uid);

	rmdir(logs);
}
