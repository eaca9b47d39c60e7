/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of one device: which sources there are, and in what order they are asked. */
#include "hardware/counter-reader.h"

#include <errno.h>
#include <rdmad/device.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>

#include "hardware/counter-port.h"
#include "hardware/device-users.h"
#include "hardware/netdev-counters.h"
#include "hardware/sysroot-private.h"

struct RdmadCounterReader {
	gatomicrefcount refs;
	const RdmadSysroot *root;
	const RdmadDevice *dev;
	RdmadReadWhat what;
	RdmadQuarantine *quarantine;
	RdmadClock clock;
	char *path; /* of the device */
	RdmadCounterPort *ports;
	RdmadCounterDirectory device;
	RdmadNetdevCounters *netdevs;
	RdmadDeviceUsers *users;
};

/* Takes `quarantine` over. */
static RdmadCounterReader *reader_new(const RdmadSysroot *root, const RdmadDevice *dev,
				      RdmadReadWhat what, RdmadQuarantine *quarantine)
{
	RdmadCounterReader *reader = g_new0(RdmadCounterReader, 1);

	g_atomic_ref_count_init(&reader->refs);
	reader->root = root;
	reader->dev = rdmad_device_ref(dev);
	reader->what = what;
	reader->quarantine = quarantine;
	reader->clock = g_get_monotonic_time;
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
	return reader_new(root, dev, what, rdmad_quarantine_new());
}

RdmadCounterReader *rdmad_counter_reader_renew(const RdmadCounterReader *old,
					       const RdmadDevice *dev)
{
	RdmadCounterReader *reader =
		reader_new(old->root, dev, old->what, rdmad_quarantine_ref(old->quarantine));

	reader->clock = old->clock;
	return reader;
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
	rdmad_quarantine_unref(reader->quarantine);
	g_free(reader->path);
	rdmad_device_unref(reader->dev);
	g_free(reader);
}

void rdmad_counter_reader_set_clock(RdmadCounterReader *reader, RdmadClock clock)
{
	reader->clock = clock;
}

/* For one reading, which it costs some microseconds: hundreds of devices would hold as many of the
 * process's descriptors.  Without one there are files. */
static RdmadNetlink *open_netlink(const RdmadCounterReader *reader)
{
	if (!rdmad_sysroot_is_live(reader->root) || reader->dev->index == RDMAD_UNKNOWN)
		return NULL;
	return rdmad_netlink_open(NETLINK_RDMA, NULL);
}

/* In the order in which readings have them. */
static void read_counters(RdmadCounterReader *reader, RdmadDraft *draft)
{
	for (guint i = 0; i < reader->dev->n_ports && !rdmad_draft_cancelled(draft); i++)
		rdmad_counter_port_read_link(&reader->ports[i], draft);
	for (guint i = 0; i < reader->dev->n_ports && !rdmad_draft_cancelled(draft); i++)
		rdmad_counter_port_read_hw(&reader->ports[i], draft);
	if (!rdmad_draft_cancelled(draft))
		rdmad_counter_directory_read(&reader->device, draft);
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

static void read_states(RdmadCounterReader *reader, RdmadDraft *draft)
{
	g_autoptr(GPtrArray) known =
		draft->rdma ? rdmad_nldev_get_ports(draft->rdma, (guint)reader->dev->index, NULL)
			    : NULL;

	for (guint i = 0; i < reader->dev->n_ports; i++)
		rdmad_counter_port_read_state(&reader->ports[i], draft,
					      find_port(known, reader->dev->ports[i].number));
}

static void read_all(RdmadCounterReader *reader, RdmadDraft *draft)
{
	read_states(reader, draft);
	if (reader->what & RDMAD_READ_COUNTERS)
		read_counters(reader, draft);
	if (reader->what & RDMAD_READ_NETDEVS && !rdmad_draft_cancelled(draft))
		rdmad_netdev_counters_read(reader->netdevs, draft);
	if (reader->what & RDMAD_READ_USERS && !rdmad_draft_cancelled(draft))
		rdmad_device_users_read(reader->users, draft);
}

/* What could not be looked at has not left. */
static gboolean device_is_gone(const RdmadCounterReader *reader)
{
	rdmad_autofd int fd = rdmad_sysroot_open_dir(reader->root, reader->path);

	return fd < 0 && (errno == ENOENT || errno == ENODEV || errno == ENXIO);
}

RdmadReading *rdmad_counter_reader_read(RdmadCounterReader *reader, const RdmadJob *job,
					GError **error)
{
	g_autoptr(RdmadNetlink) rdma = open_netlink(reader);
	g_auto(RdmadDraft) draft = {
		.root = reader->root,
		.dev = reader->dev,
		.rdma = rdma,
		.quarantine = reader->quarantine,
		.job = job,
		.clock = reader->clock,
	};

	rdmad_draft_init(&draft);
	read_all(reader, &draft);
	if (rdmad_draft_cancelled(&draft)) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_CANCELLED,
			    "%s: nobody waits for its counters any more", reader->dev->name);
		return NULL;
	}
	if ((draft.missing || reader->dev->n_ports == 0) && device_is_gone(reader)) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_GONE, "%s: the device has left",
			    reader->dev->name);
		return NULL;
	}
	return rdmad_draft_finish(&draft);
}
