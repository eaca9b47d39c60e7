/* SPDX-License-Identifier: Apache-2.0 */
/*
 * time-events PLUGIN-SOCKET PID INTERFACE ROUNDS
 *
 * Watches a resource as kubelet does, takes the link of a device down and up again ROUNDS times, and
 * prints the time from the call that changes the link to the ListAndWatch message that says so; how
 * long one bare look at the hardware takes on this machine, the GID tables alone of it; and how many
 * looks the daemon PID took for a change, by its count of reads.
 */
#include <errno.h>
#include <net/if.h>
#include <rdmad/grpc.h>
#include <rdmad/loop.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/loop.h"
#include "service/scanner.h"
#include "hardware/scan/netlink.h"
#include "hardware/scan/scan.h"
#include "hardware/sysroot.h"
#include "samples.h"

/* Between a message and the next change: what one change sets off is over by then. */
#define PAUSE_MS 1000
#define LOOKS	 21

typedef struct {
	RdmadLoop *loop;
	RdmadEvent *pause;
	const char *interface;
	gint64 changed; /* 0: nothing is awaited */
	GArray *down, *up;
	guint rounds;
	gboolean is_up, failed;
} Timer;

static void link_set(const char *interface, gboolean up)
{
	struct ifreq request = { 0 };
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	g_strlcpy(request.ifr_name, interface, sizeof(request.ifr_name));
	if (ioctl(fd, SIOCGIFFLAGS, &request) < 0)
		g_error("%s: %s", interface, g_strerror(errno));
	request.ifr_flags = (short)(up ? request.ifr_flags | IFF_UP : request.ifr_flags & ~IFF_UP);
	if (ioctl(fd, SIOCSIFFLAGS, &request) < 0)
		g_error("%s: %s", interface, g_strerror(errno));
	close(fd);
}

static void pause_over(gpointer data)
{
	Timer *t = data;

	if (t->up->len == t->rounds) {
		rdmad_loop_stop(t->loop);
		return;
	}
	t->is_up = !t->is_up;
	t->changed = samples_now();
	link_set(t->interface, t->is_up);
}

/* Any message counts: the resource has nothing else to tell. */
static void on_message(const guint8 *message, gsize size, gpointer data)
{
	Timer *t = data;

	if (t->changed)
		samples_add(t->is_up ? t->up : t->down, t->changed);
	t->changed = 0;
	rdmad_event_arm(t->pause, PAUSE_MS);
}

static void on_done(RdmadGrpcStatus status, const char *text, gpointer data)
{
	Timer *t = data;

	fprintf(stderr, "ListAndWatch ended: %s: %s\n", rdmad_grpc_status_name(status), text);
	t->failed = TRUE;
	rdmad_loop_stop(t->loop);
}

static void print_times(const char *what, GArray *took)
{
	printf("%-44s p50 %6.1f ms  p99 %6.1f ms\n", what, samples_percentile(took, 50) / 1000,
	       samples_percentile(took, 99) / 1000);
}

/* Reads from files that a process has done. */
static guint64 reads_of(const char *pid)
{
	g_autofree char *path = g_strdup_printf("/proc/%s/io", pid);
	g_autofree char *text = NULL;
	const char *count;

	if (!g_file_get_contents(path, &text, NULL, NULL))
		g_error("%s: not readable", path);
	count = strstr(text, "syscr: ");
	return count ? g_ascii_strtoull(count + strlen("syscr: "), NULL, 10) : 0;
}

/* ---- one look ---- */

static void look_sysfs(const RdmadSysroot *root)
{
	g_autoptr(RdmadScan) scan G_GNUC_UNUSED = rdmad_scan_sysfs(root, NULL);
}

static void look_all(const RdmadSysroot *root)
{
	g_autoptr(RdmadScan) scan = rdmad_scan_sysfs(root, NULL);

	rdmad_netlink_complete(scan, NULL);
}

static void ignore(const char *name, const char *value, const GError *error, gpointer data)
{
}

static void look_gids(const RdmadSysroot *root)
{
	g_auto(GStrv) names = rdmad_sysroot_list(root, "sys/class/infiniband", NULL);

	for (guint i = 0; names && names[i]; i++) {
		g_autofree char *path =
			g_strdup_printf("sys/class/infiniband/%s/ports/1/gids", names[i]);

		rdmad_sysroot_read_dir(root, path, ignore, NULL, NULL);
	}
}

static const struct {
	const char *name;
	void (*look)(const RdmadSysroot *root);
} looks[] = {
	{ "one look, sysfs and netlink", look_all },
	{ "of that sysfs", look_sysfs },
	{ "of that GID tables", look_gids },
};

/* The kinds in turn, so that what disturbs the machine disturbs all of them. */
static void measure_looks(void)
{
	g_autoptr(RdmadSysroot) root = rdmad_sysroot_new(NULL, NULL);
	GArray *took[G_N_ELEMENTS(looks)];

	for (guint i = 0; i < G_N_ELEMENTS(looks); i++)
		took[i] = samples_new();
	for (guint round = 0; round < LOOKS; round++)
		for (guint i = 0; i < G_N_ELEMENTS(looks); i++) {
			const gint64 began = samples_now();

			looks[i].look(root);
			samples_add(took[i], began);
		}
	for (guint i = 0; i < G_N_ELEMENTS(looks); i++) {
		print_times(looks[i].name, took[i]);
		g_array_unref(took[i]);
	}
}

static guint64 reads_of_a_look(void)
{
	g_autoptr(RdmadSysroot) root = rdmad_sysroot_new(NULL, NULL);
	const guint64 before = reads_of("self");

	look_all(root);
	return reads_of("self") - before;
}

static const RdmadGrpcRequestOps ops = { on_message, on_done };

static void measure_events(Timer *t, const char *socket)
{
	RdmadGrpcChannel *channel = rdmad_grpc_channel_new(t->loop, NULL, socket, 16u << 20);

	t->pause = rdmad_loop_add_timer(t->loop, NULL, pause_over, t);
	rdmad_grpc_channel_call(channel, "/v1beta1.DevicePlugin/ListAndWatch", NULL, 0, 0, &ops, t);
	rdmad_loop_run(t->loop);
	rdmad_event_free(t->pause);
	rdmad_grpc_channel_free(channel);
}

int main(int argc, char **argv)
{
	g_autoptr(RdmadLoop) loop = rdmad_loop_new();
	Timer t = { .loop = loop, .is_up = TRUE };
	guint64 reads;

	if (argc != 5) {
		fputs("usage: time-events PLUGIN-SOCKET PID INTERFACE ROUNDS\n", stderr);
		return 2;
	}
	t.interface = argv[3];
	t.rounds = (guint)CLAMP(atoi(argv[4]), 1, 1000);
	t.down = samples_new();
	t.up = samples_new();
	reads = reads_of(argv[2]);
	measure_events(&t, argv[1]);
	reads = reads_of(argv[2]) - reads;
	if (!t.failed) {
		print_times("link down to ListAndWatch", t.down);
		print_times("link up to ListAndWatch", t.up);
		printf("%-44s     %6u ms\n", "of that waiting for more events (coalescing)",
		       RDMAD_COALESCE_MS);
		measure_looks();
		printf("%-44s     %6.1f\n", "looks for a change",
		       (double)reads / (double)reads_of_a_look() / (2 * t.rounds));
	}
	g_array_unref(t.down);
	g_array_unref(t.up);
	return t.failed;
}
