/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read-counters DEVICE [READINGS [ROOT]]
 *
 * Prints the last reading of the counters, a line each; ROOT: of a recorded machine.
 */
#include <rdmad/counters.h>
#include <rdmad/device.h>
#include <stdio.h>
#include <stdlib.h>

#include "hardware/scan/netlink.h"
#include "hardware/scan/scan.h"
#include "hardware/sysroot.h"

static const RdmadDevice *find_device(const RdmadScan *scan, const char *name)
{
	for (guint i = 0; i < scan->devices->len; i++) {
		const RdmadDevice *dev = scan->devices->pdata[i];

		if (!g_strcmp0(dev->name, name))
			return dev;
	}
	return NULL;
}

static void print_counter(const RdmadCounter *counter)
{
	static const char *const groups[] = { "port",  "hw",  "device", "link",
					      "pause", "fec", "ethtool" };

	printf("%s/%u%s%s %s ", groups[counter->group], counter->port, counter->netdev ? "/" : "",
	       counter->netdev ? counter->netdev : "", counter->name ? counter->name : "*");
	if (counter->errnum)
		printf("%s\n", g_strerror(counter->errnum));
	else
		printf("%" G_GUINT64_FORMAT "\n", counter->value);
}

/* "user PID pod container: objects by kind" */
static void print_user(const RdmadDeviceUser *user)
{
	static const char *const kinds[] = { "qp", "cq", "mr", "cm_id", "pd", "srq", "ctx" };

	printf("user %u %s %s:", user->pid, user->pod_uid ? user->pod_uid : "-",
	       user->container_id ? user->container_id : "-");
	for (guint kind = 0; kind < RDMAD_USES_KINDS; kind++)
		printf(" %s=%u", kinds[kind], user->objects[kind]);
	printf("\n");
}

static void print_reading(const RdmadReading *reading)
{
	for (guint i = 0; i < reading->n_ports; i++)
		printf("state/%u %d %d %" G_GINT64_FORMAT "\n", reading->ports[i].number,
		       reading->ports[i].state, reading->ports[i].phys_state,
		       reading->ports[i].rate_mbps);
	for (guint i = 0; i < reading->n_counters; i++)
		print_counter(&reading->counters[i]);
	for (guint i = 0; i < reading->n_users; i++)
		print_user(&reading->users[i]);
	if (reading->users_errnum)
		printf("users %s\n", g_strerror(reading->users_errnum));
}

static int fail(const GError *error)
{
	fprintf(stderr, "%s\n", error->message);
	return 1;
}

int main(int argc, char **argv)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(RdmadSysroot) root = rdmad_sysroot_new(argc > 3 ? argv[3] : NULL, NULL);
	g_autoptr(RdmadScan) scan = root ? rdmad_scan_sysfs(root, &error) : NULL;
	g_autoptr(RdmadCounterReader) reader = NULL;
	const RdmadDevice *dev;

	if (argc < 2 || !scan)
		return error ? fail(error) : 2;
	if (rdmad_sysroot_is_live(root) && !rdmad_netlink_complete(scan, &error))
		return fail(error);
	dev = find_device(scan, argv[1]);
	if (!dev)
		return 3;
	reader = rdmad_counter_reader_new(
		root, dev, RDMAD_READ_COUNTERS | RDMAD_READ_NETDEVS | RDMAD_READ_USERS);
	for (int left = argc > 2 ? atoi(argv[2]) : 1; left > 0; left--) {
		g_autoptr(RdmadReading) reading = rdmad_counter_reader_read(reader, NULL, &error);

		if (!reading)
			return fail(error);
		if (left == 1)
			print_reading(reading);
	}
	return 0;
}
