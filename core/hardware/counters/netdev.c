/* SPDX-License-Identifier: Apache-2.0 */
#include "hardware/counters/netdev.h"

#include <errno.h>
#include <rdmad/device.h>

#include "hardware/counters/ethtool.h"
#include "hardware/counters/kept-files.h"
#include "hardware/netlink/ethtool.h"
#include "hardware/scan/value.h"
#include "hardware/sysroot.h"

typedef struct {
	RdmadNameList *names; /* the interface's name, then those of its carrier counters */
	const char *name;     /* the interface's */
	RdmadKeptFiles files; /* the carrier counters */
	RdmadEthtoolStats *stats;
} Interface;

struct RdmadNetdevCounters {
	GPtrArray *interfaces;
	gboolean live;
	guint16 family; /* of ethtool in generic netlink; 0: unknown */
};

/* One group of one interface while it is read. */
typedef struct {
	RdmadReadingBuilder *builder;
	RdmadCounterKey key;
} Group;

static Interface *interface_new(const char *name)
{
	const char *const names[] = { name, "carrier_changes", "carrier_down_count",
				      "carrier_up_count" };
	Interface *interface = g_new0(Interface, 1);

	interface->names = rdmad_name_list_new(names, G_N_ELEMENTS(names));
	interface->name = interface->names->names[0];
	rdmad_kept_files_init(&interface->files, g_strdup_printf("sys/class/net/%s", name));
	rdmad_kept_files_expect(&interface->files, interface->names->n - 1);
	interface->stats = rdmad_ethtool_stats_new(name, rdmad_ethtool_name_matters);
	return interface;
}

static void interface_free(Interface *interface)
{
	rdmad_ethtool_stats_free(interface->stats);
	rdmad_name_list_unref(interface->names);
	rdmad_kept_files_clear(&interface->files);
	g_free(interface);
}

static gboolean has_name(gconstpointer interface, gconstpointer name)
{
	return g_str_equal(((const Interface *)interface)->name, name);
}

static void add_interface(GPtrArray *interfaces, const char *name)
{
	if (name && rdmad_sysfs_is_netdev_name(name) &&
	    !g_ptr_array_find_with_equal_func(interfaces, name, has_name, NULL))
		g_ptr_array_add(interfaces, interface_new(name));
}

/* Returns TRUE for a bond and its members.  VLANs and similar interfaces have no counters of their
 * own. */
static gboolean is_of_bond(const RdmadDevice *dev, const RdmadNetdev *netdev)
{
	return dev->bond &&
	       (g_str_equal(netdev->name, dev->bond) || !g_strcmp0(netdev->master, dev->bond));
}

static void add_interfaces(GPtrArray *interfaces, const RdmadDevice *dev)
{
	for (guint i = 0; i < dev->n_ports; i++)
		add_interface(interfaces, dev->ports[i].netdev);
	for (guint i = 0; i < dev->n_netdevs; i++)
		if (is_of_bond(dev, &dev->netdevs[i]))
			add_interface(interfaces, dev->netdevs[i].name);
	if (interfaces->len > 0)
		return;
	for (guint i = 0; i < dev->n_netdevs; i++)
		add_interface(interfaces, dev->netdevs[i].name);
}

RdmadNetdevCounters *rdmad_netdev_counters_new(const RdmadSysroot *root, const RdmadDevice *dev)
{
	RdmadNetdevCounters *netdevs = g_new0(RdmadNetdevCounters, 1);

	netdevs->interfaces = g_ptr_array_new_with_free_func((GDestroyNotify)interface_free);
	netdevs->live = rdmad_sysroot_is_live(root);
	add_interfaces(netdevs->interfaces, dev);
	return netdevs;
}

void rdmad_netdev_counters_free(RdmadNetdevCounters *netdevs)
{
	if (!netdevs)
		return;
	g_ptr_array_unref(netdevs->interfaces);
	g_free(netdevs);
}

static int read_carrier(Interface *interface, const RdmadReadingBuilder *builder, guint i,
			guint64 *value)
{
	char text[32];

	if (rdmad_kept_files_read(&interface->files, builder->root, i - 1,
				  interface->names->names[i], text, sizeof(text)) < 0)
		return errno;
	return rdmad_sysfs_counter(text, value) ? 0 : EBADMSG;
}

static void read_carriers(Interface *interface, RdmadReadingBuilder *builder)
{
	rdmad_reading_builder_hold(builder, interface->names);
	for (guint i = 1; i < interface->names->n; i++) {
		const RdmadCounterKey key = { .group = RDMAD_COUNTER_LINK,
					      .netdev = interface->name,
					      .name = interface->names->names[i],
					      .held = TRUE };
		guint64 value = 0;
		int errnum;

		if (!rdmad_reading_builder_may_read(builder, &key))
			continue;
		errnum = read_carrier(interface, builder, i, &value);
		/* Kernels before 4.16 have only a count of all changes. */
		if (errnum != ENOENT && errnum != ENODEV)
			rdmad_reading_builder_add_result(builder, &key, value, errnum);
	}
}

/* Returns FALSE if the interface is missing; it may have moved to the network namespace of a
 * pod. */
static gboolean read_link(Interface *interface, RdmadReadingBuilder *builder)
{
	const int errnum =
		rdmad_kept_files_begin(&interface->files, builder->root, builder->budget, NULL);

	if (!errnum)
		read_carriers(interface, builder);
	rdmad_kept_files_end(&interface->files);
	return errnum != ENOENT && errnum != ENODEV;
}

/* Returns FALSE if the driver has no counters of this kind, which is not an error and is not
 * queried each time. */
static gboolean group_may_read(const Group *group)
{
	if (rdmad_backoff_errnum(group->builder->backoff, &group->key, group->builder->time_us) ==
	    EOPNOTSUPP)
		return FALSE;
	return rdmad_reading_builder_may_read(group->builder, &group->key);
}

static void group_end(const Group *group, int errnum)
{
	RdmadReadingBuilder *builder = group->builder;

	/* The interface was removed meanwhile. */
	if (errnum == ENODEV)
		return;
	if (errnum == EOPNOTSUPP)
		rdmad_backoff_hold(builder->backoff, &group->key, errnum, builder->clock());
	else if (errnum)
		rdmad_reading_builder_add_failed(builder, &group->key, errnum);
	else
		rdmad_backoff_lift(builder->backoff, &group->key);
}

static void group_add(const char *name, guint64 value, gpointer data)
{
	const Group *group = data;
	RdmadCounterKey key = group->key;

	key.name = name;
	rdmad_reading_builder_add(group->builder, &key, value);
}

typedef gboolean (*GetCounts)(RdmadNetlink *nl, guint16 family, const char *netdev,
			      RdmadEthtoolCounts *counts, GError **error);

static void read_netlink(RdmadNetdevCounters *netdevs, RdmadNetlink *nl, Group *group,
			 GetCounts get)
{
	RdmadEthtoolCounts counts = { .n = 0 };

	if (!group_may_read(group))
		return;
	if (!get(nl, netdevs->family, group->key.netdev, &counts, NULL)) {
		group_end(group, rdmad_netlink_errnum(nl));
		return;
	}
	group_end(group, 0);
	for (guint i = 0; i < counts.n; i++)
		group_add(counts.counts[i].name, counts.counts[i].value, group);
}

static void read_ethtool(const Interface *interface, Group *group)
{
	if (group_may_read(group))
		group_end(group, rdmad_ethtool_stats_read(interface->stats, group_add, group));
}

/*
 * On a function with limited rights the firmware refuses all counters of the port (EINVAL).
 * Ethtool succeeds there, but each try logs some lines in the kernel.
 */
static gboolean is_refused(const RdmadReadingBuilder *builder)
{
	gboolean refused = FALSE;

	for (guint i = 0; i < builder->counters->len; i++) {
		const RdmadCounter *counter = &g_array_index(builder->counters, RdmadCounter, i);

		if (counter->group == RDMAD_COUNTER_PORT && counter->errnum == 0)
			return FALSE;
		if (counter->group == RDMAD_COUNTER_PORT && counter->errnum == EINVAL)
			refused = TRUE;
	}
	return refused;
}

static void refuse(const Group *group)
{
	if (group_may_read(group))
		group_end(group, EINVAL);
}

static void read_interface(RdmadNetdevCounters *netdevs, RdmadNetlink *nl,
			   const Interface *interface, RdmadReadingBuilder *builder)
{
	Group pause = { builder, { .group = RDMAD_COUNTER_PAUSE, .netdev = interface->name } };
	Group fec = { builder, { .group = RDMAD_COUNTER_FEC, .netdev = interface->name } };
	Group ethtool = { builder, { .group = RDMAD_COUNTER_ETHTOOL, .netdev = interface->name } };

	if (is_refused(builder)) {
		refuse(&pause);
		refuse(&fec);
		refuse(&ethtool);
		return;
	}
	if (nl)
		read_netlink(netdevs, nl, &pause, rdmad_ethtool_get_pause);
	if (nl && !rdmad_reading_builder_cancelled(builder))
		read_netlink(netdevs, nl, &fec, rdmad_ethtool_get_fec);
	if (!rdmad_reading_builder_cancelled(builder))
		read_ethtool(interface, &ethtool);
}

/* Returns NULL if ethtool netlink is not available. */
static RdmadNetlink *open_ethtool(RdmadNetdevCounters *netdevs)
{
	g_autoptr(RdmadNetlink) nl = rdmad_netlink_open(NETLINK_GENERIC, NULL);

	if (nl && !netdevs->family)
		netdevs->family = rdmad_ethtool_get_family(nl, NULL);
	return netdevs->family ? g_steal_pointer(&nl) : NULL;
}

void rdmad_netdev_counters_read(RdmadNetdevCounters *netdevs, RdmadReadingBuilder *builder)
{
	/* Opened for each reading, because there may be hundreds of devices. */
	g_autoptr(RdmadNetlink) nl =
		netdevs->live && netdevs->interfaces->len > 0 ? open_ethtool(netdevs) : NULL;

	for (guint i = 0; i < netdevs->interfaces->len && !rdmad_reading_builder_cancelled(builder);
	     i++) {
		Interface *interface = netdevs->interfaces->pdata[i];

		/* For a missing interface, the ioctl of ethtool would make the kernel run
		 * modprobe. */
		if (read_link(interface, builder) && netdevs->live)
			read_interface(netdevs, nl, interface, builder);
	}
}
