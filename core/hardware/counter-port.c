/* SPDX-License-Identifier: Apache-2.0 */
#include "hardware/counter-port.h"

#include <errno.h>
#include <rdmad/device.h>
#include <rdmad/fd.h>

#include "hardware/sysfs-value.h"
#include "hardware/sysroot-private.h"

#define VALUE_MAX 128

void rdmad_counter_port_init(RdmadCounterPort *port, const RdmadDevice *dev, guint number)
{
	*port = (RdmadCounterPort){
		.number = number,
		.path = g_strdup_printf("sys/class/infiniband/%s/ports/%u", dev->name, number),
	};
	rdmad_counter_directory_init(&port->link, RDMAD_COUNTER_PORT, number,
				     g_strdup_printf("%s/counters", port->path));
	rdmad_counter_directory_init(&port->link_ext, RDMAD_COUNTER_PORT, number,
				     g_strdup_printf("%s/counters_ext", port->path));
	rdmad_counter_directory_init(&port->hw, RDMAD_COUNTER_HW, number,
				     g_strdup_printf("%s/hw_counters", port->path));
}

void rdmad_counter_port_clear(RdmadCounterPort *port)
{
	rdmad_counter_directory_clear(&port->link);
	rdmad_counter_directory_clear(&port->link_ext);
	rdmad_counter_directory_clear(&port->hw);
	g_clear_pointer(&port->path, g_free);
}

/* What cannot be read leaves `out` as it is. */
static void read_attribute(RdmadDraft *draft, int fd, const char *name,
			   gboolean (*parse)(const char *text, gpointer out), gpointer out)
{
	char text[VALUE_MAX];

	if (rdmad_sysroot_read_at(fd, name, text, sizeof(text)) >= 0)
		parse(text, out);
	else
		draft->missing |= errno == ENOENT || errno == ENODEV;
}

void rdmad_counter_port_read_state(RdmadCounterPort *port, RdmadDraft *draft)
{
	RdmadPortReading reading = {
		.number = port->number,
		.state = RDMAD_UNKNOWN,
		.phys_state = RDMAD_UNKNOWN,
		.rate_mbps = RDMAD_UNKNOWN,
	};
	rdmad_autofd int fd = rdmad_sysroot_open_dir(draft->root, port->path);

	if (fd >= 0) {
		read_attribute(draft, fd, "state", rdmad_sysfs_port_state, &reading.state);
		read_attribute(draft, fd, "phys_state", rdmad_sysfs_phys_state,
			       &reading.phys_state);
		read_attribute(draft, fd, "rate", rdmad_sysfs_rate, &reading.rate_mbps);
	} else {
		draft->missing = TRUE;
	}
	g_array_append_val(draft->ports, reading);
}

void rdmad_counter_port_read_link(RdmadCounterPort *port, RdmadDraft *draft)
{
	rdmad_counter_directory_read(&port->link, draft);
	rdmad_counter_directory_read(&port->link_ext, draft);
}

void rdmad_counter_port_read_hw(RdmadCounterPort *port, RdmadDraft *draft)
{
	rdmad_counter_directory_read(&port->hw, draft);
}
