/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what the hardware service sees, one line a change; for the tests in this directory. */
#include <rdmad/device.h>
#include <rdmad/attributes.h>
#include <rdmad/inventory.h>
#include <signal.h>
#include <stdio.h>

#include "base/loop.h"
#include "base/work.h"
#include "service/scanner.h"
#include "hardware/sysroot.h"
#include "hardware/verbs/verbs.h"
#include "service/attributes-private.h"
#include "service/inventory-private.h"
#include "service/event-log-private.h"

typedef struct {
	RdmadLoop *loop;
	RdmadHardware *hw;
} Watcher;

static void print_port(const RdmadPort *port)
{
	char text[40];

	printf(" port=%u state=%s netdev=%s", port->number, rdmad_port_state_name(port->state),
	       port->netdev ? port->netdev : "-");
	for (guint i = 0; i < port->n_gids; i++) {
		rdmad_gid_format(port->gids[i].raw, text);
		printf(" gid%u=%s", port->gids[i].index, text);
	}
}

static void print_device(const char *what, const RdmadDevice *dev)
{
	printf("%s %s id=%s index=%d driver=%s guid=%s", what, dev->name, dev->id, dev->index,
	       dev->driver ? dev->driver : "-", dev->node_guid ? dev->node_guid : "-");
	for (guint i = 0; i < dev->n_ports; i++)
		print_port(&dev->ports[i]);
	for (guint i = 0; i < dev->n_netdevs; i++) {
		g_autofree char *addresses = g_strjoinv(",", dev->netdevs[i].addresses);

		printf(" %s=mtu:%d,carrier:%d,addresses:%s", dev->netdevs[i].name,
		       dev->netdevs[i].mtu, dev->netdevs[i].carrier, addresses);
	}
	for (guint i = 0; i < dev->n_chardevs; i++)
		printf(" %s", dev->chardevs[i].path);
	for (char *const *problem = dev->problems; problem && *problem; problem++)
		printf(" problem='%s'", *problem);
	printf("%s\n", dev->fatal ? " FATAL" : "");
}

static void added(const RdmadDevice *dev, gpointer data)
{
	print_device("added", dev);
}

static void changed(const RdmadDevice *before, const RdmadDevice *now, gpointer data)
{
	print_device("changed", now);
}

static void removed(const RdmadDevice *dev, gpointer data)
{
	print_device("removed", dev);
}

static void settled(gpointer data)
{
	puts("settled");
}

static void attribute(const char *name, const char *value, gpointer data)
{
	printf("attribute %s=%s\n", name, value ? value : "-");
}

/* SIGUSR1: prints the state of verbs of each device. */
static void on_signal(int signum, gpointer data)
{
	Watcher *watcher = data;
	char name[8];

	if (signum == SIGTERM)
		rdmad_loop_stop(watcher->loop);
	for (int i = 0; signum == SIGUSR1 && i < 8; i++) {
		const char *problem;

		g_snprintf(name, sizeof(name), "rxe%d", i);
		problem = rdmad_verbs_problem(rdmad_hardware_verbs(watcher->hw), name);
		printf("verbs %s: %s\n", name, problem ? problem : "listening");
	}
}

int main(void)
{
	static const RdmadInventoryOps ops = { added, changed, removed, settled };
	g_autoptr(GError) error = NULL;
	g_autoptr(RdmadSysroot) sysroot = rdmad_sysroot_new(NULL, &error);
	RdmadLoop *loop = rdmad_loop_new();
	RdmadWorkers *workers = rdmad_workers_new(loop, 2, NULL);
	RdmadEventLog *event_log = rdmad_event_log_new(loop);
	RdmadAttributes *attributes = rdmad_attributes_new(loop);
	RdmadInventory *inventory = rdmad_inventory_new(loop, event_log);
	RdmadHardware *hw =
		rdmad_hardware_new(loop, workers, sysroot, inventory, attributes, event_log);
	Watcher watcher = { loop, hw };
	RdmadEvent *stop = rdmad_loop_add_signal(loop, SIGTERM, on_signal, &watcher);
	RdmadEvent *ask = rdmad_loop_add_signal(loop, SIGUSR1, on_signal, &watcher);
	RdmadWatch *devices = rdmad_inventory_watch(inventory, NULL, &ops, NULL);
	RdmadWatch *all = rdmad_attributes_watch(attributes, NULL, NULL, attribute, NULL);

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!rdmad_hardware_start(hw, &error)) {
		fprintf(stderr, "%s\n", error->message);
		return 1;
	}
	rdmad_loop_run(loop);
	rdmad_event_free(stop);
	rdmad_event_free(ask);
	rdmad_watch_free(devices);
	rdmad_watch_free(all);
	rdmad_hardware_free(hw);
	rdmad_inventory_free(inventory);
	rdmad_attributes_free(attributes);
	rdmad_event_log_free(event_log);
	rdmad_workers_free(workers);
	rdmad_loop_free(loop);
	return 0;
}
