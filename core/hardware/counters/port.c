/* SPDX-License-Identifier: Apache-2.0 */
#include "hardware/counters/port.h"

#include <errno.h>
#include <rdmad/device.h>
#include <rdmad/fd.h>

#include "base/error.h"
#include "hardware/netlink/rdma.h"
#include "hardware/scan/value.h"
#include "hardware/sysroot.h"

#define VALUE_MAX 128

typedef struct {
	const char *name;
	gboolean (*parse)(const char *text, gpointer out);
	gsize offset;
} PortAttribute;

enum { STATE, PHYS_STATE, N_ATTRIBUTES };

static const PortAttribute attributes[N_ATTRIBUTES] = {
	[STATE] = { "state", rdmad_sysfs_port_state, G_STRUCT_OFFSET(RdmadPortReading, state) },
	[PHYS_STATE] = { "phys_state", rdmad_sysfs_phys_state,
			 G_STRUCT_OFFSET(RdmadPortReading, phys_state) },
};

void rdmad_counter_port_init(RdmadCounterPort *port, const RdmadDevice *dev, guint number)
{
	*port = (RdmadCounterPort){ .number = number };
	rdmad_kept_files_init(&port->files, g_strdup_printf("sys/class/infiniband/%s/ports/%u",
							    dev->name, number));
	rdmad_kept_files_expect(&port->files, N_ATTRIBUTES);
	rdmad_counter_directory_init(&port->link, RDMAD_COUNTER_PORT, number,
				     g_strdup_printf("%s/counters", port->files.path));
	rdmad_counter_directory_init(&port->link_ext, RDMAD_COUNTER_PORT, number,
				     g_strdup_printf("%s/counters_ext", port->files.path));
	rdmad_counter_directory_init(&port->hw, RDMAD_COUNTER_HW, number,
				     g_strdup_printf("%s/hw_counters", port->files.path));
}

void rdmad_counter_port_clear(RdmadCounterPort *port)
{
	rdmad_counter_directory_clear(&port->link);
	rdmad_counter_directory_clear(&port->link_ext);
	rdmad_counter_directory_clear(&port->hw);
	rdmad_kept_files_clear(&port->files);
}

/* Leaves unreadable attributes unknown. */
static void read_files(RdmadCounterPort *port, RdmadReadingBuilder *builder,
		       RdmadPortReading *reading)
{
	if (rdmad_kept_files_begin(&port->files, builder->root, builder->budget, NULL) != 0) {
		builder->missing = TRUE;
		return;
	}
	for (guint i = 0; i < N_ATTRIBUTES; i++) {
		char text[VALUE_MAX];

		if (rdmad_kept_files_read(&port->files, builder->root, i, attributes[i].name, text,
					  sizeof(text)) >= 0)
			attributes[i].parse(text, G_STRUCT_MEMBER_P(reading, attributes[i].offset));
		else
			builder->missing |= errno == ENOENT || errno == ENODEV;
	}
	rdmad_kept_files_end(&port->files);
}

/* Returns 0 or an errno. */
static int read_rate(const RdmadCounterPort *port, RdmadReadingBuilder *builder, gint64 *rate_mbps)
{
	rdmad_autofd int dir = rdmad_sysroot_open_dir(builder->root, port->files.path);
	char text[VALUE_MAX];

	if (dir < 0 || rdmad_sysroot_read_at(dir, "rate", text, sizeof(text)) < 0)
		return errno;
	if (!rdmad_sysfs_rate(text, rate_mbps))
		*rate_mbps = RDMAD_UNKNOWN;
	return 0;
}

/* Reads the rate only when the state changes or after a while, because each read is a firmware
 * command. */
static void complete_rate(RdmadCounterPort *port, RdmadReadingBuilder *builder,
			  RdmadPortReading *reading)
{
	const RdmadPortReading *rated = &port->rated;
	const gboolean same = port->rated_us && rated->state == reading->state &&
			      rated->phys_state == reading->phys_state;
	int errnum;

	if (same)
		reading->rate_mbps = rated->rate_mbps;
	if (same && builder->time_us < port->rated_us + RDMAD_COUNTER_AGAIN_US)
		return;
	errnum = read_rate(port, builder, &reading->rate_mbps);
	if (rdmad_errno_may_pass(errnum))
		return;
	builder->missing |= errnum == ENOENT || errnum == ENODEV;
	if (errnum)
		reading->rate_mbps = RDMAD_UNKNOWN;
	port->rated = *reading;
	port->rated_us = builder->time_us;
}

static int bounded(int value, int min, int max)
{
	return value >= min && value <= max ? value : RDMAD_UNKNOWN;
}

void rdmad_counter_port_read_state(RdmadCounterPort *port, RdmadReadingBuilder *builder,
				   const RdmadNldevPort *known)
{
	RdmadPortReading reading = {
		.number = port->number,
		.state = known ? bounded(known->state, 0, RDMAD_PORT_ACTIVE_DEFER) : RDMAD_UNKNOWN,
		.phys_state = known ? bounded(known->phys_state, 1, 7) : RDMAD_UNKNOWN,
		.rate_mbps = RDMAD_UNKNOWN,
	};

	if (reading.state == RDMAD_UNKNOWN)
		read_files(port, builder, &reading);
	complete_rate(port, builder, &reading);
	g_array_append_val(builder->ports, reading);
}

void rdmad_counter_port_read_link(RdmadCounterPort *port, RdmadReadingBuilder *builder)
{
	rdmad_counter_directory_read(&port->link, builder);
	rdmad_counter_directory_read(&port->link_ext, builder);
}

/* Reads the setting only once in a while, because it costs a file. */
static void add_lifespan(RdmadCounterPort *port, RdmadReadingBuilder *builder)
{
	RdmadCounterKey key = port->hw.place;

	key.name = RDMAD_COUNTER_LIFESPAN;
	if (!rdmad_reading_builder_may_read(builder, &key))
		return;
	if (builder->time_us >= port->lifespan_until_us) {
		port->lifespan_errnum = rdmad_counter_directory_value(
			&port->hw, builder, RDMAD_COUNTER_LIFESPAN, &port->lifespan);
		port->lifespan_until_us = builder->time_us + RDMAD_COUNTER_AGAIN_US;
	}
	if (port->lifespan_errnum == ENOENT)
		return;
	/* A failed read is repeated after its back-off. */
	if (port->lifespan_errnum)
		port->lifespan_until_us = 0;
	rdmad_reading_builder_add_result(builder, &key, port->lifespan, port->lifespan_errnum);
}

typedef struct {
	RdmadReadingBuilder *builder;
	RdmadCounterKey key;
	guint n;
} Statistics;

static void take_statistic(const char *name, guint64 value, gpointer data)
{
	Statistics *statistics = data;

	statistics->key.name = name;
	if (statistics->n++ < RDMAD_COUNTERS_MAX)
		rdmad_reading_builder_add(statistics->builder, &statistics->key, value);
}

/* Returns 0, or an errno if nothing was added. */
static int ask_kernel(RdmadCounterPort *port, RdmadReadingBuilder *builder)
{
	Statistics statistics = { builder, port->hw.place, 0 };
	const guint before = builder->counters->len;
	int errnum = rdmad_nldev_get_statistics(builder->rdma, (guint)builder->dev->index,
						port->number, take_statistic, &statistics);

	if (!errnum && statistics.n > RDMAD_COUNTERS_MAX)
		errnum = E2BIG;
	if (errnum)
		g_array_set_size(builder->counters, before);
	return errnum;
}

/*
 * A kernel without the command, a port without counters and a driver that failed return the same
 * errno; a response may be too long for the kernel.  One file distinguishes them: missing,
 * readable, or failing too.
 */
static gboolean files_are_better(RdmadCounterPort *port, RdmadReadingBuilder *builder, int errnum)
{
	guint64 value;
	int from_file;

	if (errnum == ETIMEDOUT)
		return FALSE;
	from_file = rdmad_counter_directory_value(&port->hw, builder, NULL, &value);
	if (from_file != 0 && from_file != ENOENT)
		return FALSE;
	/* The failure may be temporary, so netlink is tried again later. */
	port->hw_files_us = builder->time_us + RDMAD_COUNTER_AGAIN_US;
	return TRUE;
}

/* Returns FALSE if files must be read. */
static gboolean read_hw_by_netlink(RdmadCounterPort *port, RdmadReadingBuilder *builder)
{
	int errnum;

	if (!rdmad_reading_builder_may_read(builder, &port->hw.place))
		return TRUE;
	errnum = ask_kernel(port, builder);
	if (errnum && files_are_better(port, builder, errnum))
		return FALSE;
	if (errnum) {
		rdmad_reading_builder_add_failed(builder, &port->hw.place, errnum);
		return TRUE;
	}
	rdmad_backoff_lift(builder->backoff, &port->hw.place);
	add_lifespan(port, builder);
	return TRUE;
}

void rdmad_counter_port_read_hw(RdmadCounterPort *port, RdmadReadingBuilder *builder)
{
	const gboolean ask = builder->rdma && builder->time_us >= port->hw_files_us;

	if (ask && read_hw_by_netlink(port, builder))
		return;
	rdmad_counter_directory_read(&port->hw, builder);
}
