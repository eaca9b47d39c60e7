/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of one device; its sources are in the order of reading. */
#include "hardware/counters/reader.h"

#include <errno.h>
#include <rdmad/clock.h>
#include <rdmad/device.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>

#include "hardware/counters/port.h"
#include "hardware/counters/users.h"
#include "hardware/counters/netdev.h"
#include "hardware/sysroot.h"

struct RdmadCounterReader {
	gatomicrefcount refs;
	const RdmadSysroot *root;
	const RdmadDevice *dev;
	RdmadReadWhat what;
	RdmadBackoff *backoff;
	RdmadFileBudget *budget; /* or NULL */
	RdmadClock clock;
	char *path; /* of the device */
	RdmadCounterPort *ports;
	RdmadCounterDirectory device;
	RdmadNetdevCounters *netdevs;
	RdmadDeviceUsers *users;
};

/* Takes `backoff` over. */
static RdmadCounterReader *reader_new(const RdmadSysroot *root, const RdmadDevice *dev,
				      RdmadReadWhat what, RdmadBackoff *backoff)
{
	RdmadCounterReader *reader = g_new0(RdmadCounterReader, 1);

	g_atomic_ref_count_init(&reader->refs);
	reader->root = root;
	reader->dev = rdmad_device_ref(dev);
	reader->what = what;
	reader->backoff = backoff;
	reader->clock = rdmad_now_us;
	reader->path = g_strdup_printf("sys/class/infiniband/%s", dev->name);
	reader->ports = g_new0(RdmadCounterPort, dev->n_ports);
	for (guint i = 0; i < dev->n_ports; i++)
		rdmad_counter_port_init(&reader->ports[i], dev, dev->ports[i].number);
	rdmad_counter_directory_init(
		&reader->device, RDMAD_COUNTER_DEVICE, 0,
		g_strdup_printf("sys/class/infiniband/%s/hw_counters", dev->name));
	reader->netdevs = rdmad_netdev_counters_new(root, dev);
	reader->users = rdmad_device_users_new(root, dev);
	return reader;
}

RdmadCounterReader *rdmad_counter_reader_new(const RdmadSysroot *root, const RdmadDevice *dev,
					     RdmadReadWhat what)
{
	return reader_new(root, dev, what, rdmad_backoff_new());
}

RdmadCounterReader *rdmad_counter_reader_renew(const RdmadCounterReader *old,
					       const RdmadDevice *dev)
{
	RdmadCounterReader *reader =
		reader_new(old->root, dev, old->what, rdmad_backoff_ref(old->backoff));

	reader->clock = old->clock;
	if (old->budget)
		rdmad_counter_reader_set_budget(reader, old->budget);
	return reader;
}

void rdmad_counter_reader_set_budget(RdmadCounterReader *reader, RdmadFileBudget *budget)
{
	g_assert(!reader->budget);
	reader->budget = rdmad_file_budget_ref(budget);
}

RdmadCounterReader *rdmad_counter_reader_ref(RdmadCounterReader *reader)
{
	g_atomic_ref_count_inc(&reader->refs);
	return reader;
}

void rdmad_counter_reader_unref(RdmadCounterReader *reader)
{
	if (!reader || !g_atomic_ref_count_dec(&reader->refs))
		return;
	for (guint i = 0; i < reader->dev->n_ports; i++)
		rdmad_counter_port_clear(&reader->ports[i]);
	g_free(reader->ports);
	rdmad_counter_directory_clear(&reader->device);
	rdmad_netdev_counters_free(reader->netdevs);
	rdmad_device_users_free(reader->users);
	rdmad_backoff_unref(reader->backoff);
	rdmad_file_budget_unref(reader->budget);
	g_free(reader->path);
	rdmad_device_unref(reader->dev);
	g_free(reader);
}

void rdmad_counter_reader_set_clock(RdmadCounterReader *reader, RdmadClock clock)
{
	reader->clock = clock;
}

/* Opens a socket for each reading, which takes some microseconds: with hundreds of devices,
 * permanent sockets would use as many descriptors.  Returns NULL if files have to be read. */
static RdmadNetlink *open_netlink(const RdmadCounterReader *reader)
{
	if (!rdmad_sysroot_is_live(reader->root) || reader->dev->index == RDMAD_UNKNOWN)
		return NULL;
	return rdmad_netlink_open(NETLINK_RDMA, NULL);
}

/* Reads in the order of the reading's groups. */
static void read_counters(RdmadCounterReader *reader, RdmadReadingBuilder *builder)
{
	for (guint i = 0; i < reader->dev->n_ports && !rdmad_reading_builder_cancelled(builder);
	     i++)
		rdmad_counter_port_read_link(&reader->ports[i], builder);
	for (guint i = 0; i < reader->dev->n_ports && !rdmad_reading_builder_cancelled(builder);
	     i++)
		rdmad_counter_port_read_hw(&reader->ports[i], builder);
	if (!rdmad_reading_builder_cancelled(builder))
		rdmad_counter_directory_read(&reader->device, builder);
}

static const RdmadNldevPort *find_port(const GPtrArray *ports, guint number)
{
	for (guint i = 0; ports && i < ports->len; i++) {
		const RdmadNldevPort *port = ports->pdata[i];

		if (port->number == number)
			return port;
	}
	return NULL;
}

static void read_states(RdmadCounterReader *reader, RdmadReadingBuilder *builder)
{
	g_autoptr(GPtrArray) known =
		builder->rdma
			? rdmad_nldev_get_ports(builder->rdma, (guint)reader->dev->index, NULL)
			: NULL;

	for (guint i = 0; i < reader->dev->n_ports; i++)
		rdmad_counter_port_read_state(&reader->ports[i], builder,
					      find_port(known, reader->dev->ports[i].number));
}

static void read_all(RdmadCounterReader *reader, RdmadReadingBuilder *builder)
{
	read_states(reader, builder);
	if (reader->what & RDMAD_READ_COUNTERS)
		read_counters(reader, builder);
	if (reader->what & RDMAD_READ_NETDEVS && !rdmad_reading_builder_cancelled(builder))
		rdmad_netdev_counters_read(reader->netdevs, builder);
	if (reader->what & RDMAD_READ_USERS && !rdmad_reading_builder_cancelled(builder))
		rdmad_device_users_read(reader->users, builder);
}

/* An unreadable device is not gone. */
static gboolean device_is_gone(const RdmadCounterReader *reader)
{
	rdmad_autofd int fd = rdmad_sysroot_open_dir(reader->root, reader->path);

	return fd < 0 && (errno == ENOENT || errno == ENODEV || errno == ENXIO);
}

RdmadReading *rdmad_counter_reader_read(RdmadCounterReader *reader, const RdmadJob *job,
					GError **error)
{
	g_autoptr(RdmadNetlink) rdma = open_netlink(reader);
	g_auto(RdmadReadingBuilder) builder = {
		.root = reader->root,
		.dev = reader->dev,
		.rdma = rdma,
		.backoff = reader->backoff,
		.budget = reader->budget,
		.job = job,
		.clock = reader->clock,
	};

	rdmad_reading_builder_init(&builder);
	read_all(reader, &builder);
	if (rdmad_reading_builder_cancelled(&builder)) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_CANCELLED,
			    "%s: its counters are no longer needed", reader->dev->name);
		return NULL;
	}
	if ((builder.missing || reader->dev->n_ports == 0) && device_is_gone(reader)) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_GONE, "%s: the device has left",
			    reader->dev->name);
		return NULL;
	}
	return rdmad_reading_builder_finish(&builder);
}
