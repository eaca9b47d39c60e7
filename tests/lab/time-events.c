/* SPDX-License-Identifier: Apache-2.0 */
/*
 * time-events PLUGIN-SOCKET DEVICE NETNS INTERFACE ROUNDS
 *
 * Watches a resource as kubelet does, takes INTERFACE, the far end of the cable of DEVICE, down and
 * up again ROUNDS times in the namespace NETNS, and prints two times of each change, from the call
 * that makes it:
 * {"coalesce_us", "down": {"floor_us": [], "told_us": []}, "up": {...}}.
 *
 * floor: a plain listener has read the port's new state.  told: the ListAndWatch message with the
 * device's new health has come.
 */
#include <deviceplugin.pb-c.h>
#include <errno.h>
#include <net/if.h>
#include <pthread.h>
#include <rdmad/grpc.h>
#include <rdmad/loop.h>
#include <rdmad/netns.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/loop.h"
#include "port-listener.h"
#include "samples.h"
#include "service/scanner.h"

/* Between a message and the next change: what one change sets off is over by then. */
#define PAUSE_MS 300

typedef enum { DOWN, UP, N_STATES } State;

typedef struct {
	RdmadLoop *loop;
	RdmadEvent *pause;
	PortListener *listener;
	const char *device, *interface;
	int far; /* a socket in the namespace of the interface */
	pthread_t changer;
	State state;
	gboolean awaited;   /* the message */
	gint64 began, told; /* of the last change */
	guint left;	    /* changes */
	GArray *floor[N_STATES], *tolds[N_STATES];
	gboolean failed;
} Timer;

/* ---- the change ---- */

static gboolean far_open(gpointer data, GError **error)
{
	*(int *)data = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return *(int *)data >= 0;
}

static void link_set(const Timer *t)
{
	struct ifreq request = { 0 };

	g_strlcpy(request.ifr_name, t->interface, sizeof(request.ifr_name));
	if (ioctl(t->far, SIOCGIFFLAGS, &request) < 0)
		g_error("%s: %s", t->interface, g_strerror(errno));
	request.ifr_flags =
		(short)(t->state == UP ? request.ifr_flags | IFF_UP : request.ifr_flags & ~IFF_UP);
	if (ioctl(t->far, SIOCSIFFLAGS, &request) < 0)
		g_error("%s: %s", t->interface, g_strerror(errno));
}

/* A thread of its own: the call may return after the message has come. */
static void *changer_run(void *data)
{
	Timer *t = data;

	t->began = samples_now();
	link_set(t);
	return NULL;
}

static void change_begin(Timer *t)
{
	t->state = t->state == UP ? DOWN : UP;
	t->awaited = TRUE;
	port_listener_expect(t->listener, t->state == UP);
	if (pthread_create(&t->changer, NULL, changer_run, t) != 0)
		g_error("no thread");
}

static void sample_add(GArray *samples, const Timer *t, gint64 at)
{
	const gint64 took = at - t->began;

	g_array_append_val(samples, took);
}

static void change_end(Timer *t)
{
	const gint64 seen = port_listener_seen(t->listener);

	pthread_join(t->changer, NULL);
	if (!seen)
		g_error("the listener has not seen the change");
	sample_add(t->floor[t->state], t, seen);
	sample_add(t->tolds[t->state], t, t->told);
	t->left--;
}

static void pause_over(gpointer data)
{
	Timer *t = data;

	if (t->told)
		change_end(t);
	if (t->left)
		change_begin(t);
	else
		rdmad_loop_stop(t->loop);
}

/* ---- the message ---- */

static gboolean is_told(const V1beta1__ListAndWatchResponse *list, const Timer *t)
{
	const char *health = t->state == UP ? "Healthy" : "Unhealthy";

	for (gsize i = 0; i < list->n_devices; i++)
		if (g_str_equal(list->devices[i]->id, t->device))
			return g_str_equal(list->devices[i]->health, health);
	return FALSE;
}

static void on_message(const guint8 *message, gsize size, gpointer data)
{
	const gint64 now = samples_now();
	Timer *t = data;
	V1beta1__ListAndWatchResponse *list =
		v1beta1__list_and_watch_response__unpack(NULL, size, message);

	if (list && is_told(list, t)) {
		if (t->awaited)
			t->told = now;
		t->awaited = FALSE;
		rdmad_event_arm(t->pause, PAUSE_MS);
	}
	v1beta1__list_and_watch_response__free_unpacked(list, NULL);
}

static void on_done(RdmadGrpcStatus status, const char *text, gpointer data)
{
	Timer *t = data;

	fprintf(stderr, "ListAndWatch ended: %s: %s\n", rdmad_grpc_status_name(status), text);
	t->failed = TRUE;
	rdmad_loop_stop(t->loop);
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

/* ---- the program ---- */

static void print_samples(const char *name, GArray *samples, const char *end)
{
	printf("\"%s\": [", name);
	for (guint i = 0; i < samples->len; i++)
		printf("%s%" G_GINT64_FORMAT, i ? ", " : "",
		       g_array_index(samples, gint64, i) / 1000);
	printf("]%s", end);
	g_array_unref(samples);
}

static void print_results(const Timer *t)
{
	printf("{\"coalesce_us\": %u, ", RDMAD_COALESCE_MS * 1000);
	for (State state = DOWN; state < N_STATES; state++) {
		printf("\"%s\": {", state == UP ? "up" : "down");
		print_samples("floor_us", t->floor[state], ", ");
		print_samples("told_us", t->tolds[state], state == UP ? "}}\n" : "}, ");
	}
}

int main(int argc, char **argv)
{
	g_autoptr(RdmadLoop) loop = rdmad_loop_new();
	g_autoptr(GError) error = NULL;
	Timer t = { .loop = loop, .state = UP };
	int netns;

	if (argc != 6) {
		fputs("usage: time-events PLUGIN-SOCKET DEVICE NETNS INTERFACE ROUNDS\n", stderr);
		return 2;
	}
	t.device = argv[2];
	t.interface = argv[4];
	t.left = 2 * (guint)CLAMP(atoi(argv[5]), 1, 1000);
	for (State state = DOWN; state < N_STATES; state++) {
		t.floor[state] = samples_new();
		t.tolds[state] = samples_new();
	}
	netns = rdmad_netns_open(argv[3], NULL, &error);
	if (netns < 0 || !rdmad_netns_call(netns, far_open, &t.far, &error))
		g_error("%s: %s", argv[3], error ? error->message : g_strerror(errno));
	t.listener = port_listener_new(t.device);
	measure_events(&t, argv[1]);
	if (!t.failed)
		print_results(&t);
	return t.failed;
}
