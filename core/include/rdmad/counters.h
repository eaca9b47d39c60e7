/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters and users of a device
 *
 * A reader belongs to one device and remembers what makes the next reading cheap, and what failed
 * lately: a counter that fails is left alone for a while, since each try may be a line in the
 * kernel's log. A counter that cannot be read is reported as such, never as 0.
 *
 * Sources: Documentation/ABI/stable/sysfs-class-infiniband; include/uapi/rdma/rdma_netlink.h;
 * Documentation/networking/ethtool-netlink.rst, statistics.rst.
 */
#pragma once

#include <rdmad/types.h>

typedef enum {
	RDMAD_COUNTER_PORT,   /* ports/N/counters{,_ext}: of the link, by sysfs name
			     * ("port_xmit_data") */
	RDMAD_COUNTER_HW,     /* of the driver, by port: RDMA netlink's statistics, or
			   * ports/N/hw_counters */
	RDMAD_COUNTER_DEVICE, /* of the driver, for the whole device: hw_counters beside ports */
	RDMAD_COUNTER_LINK,   /* of an interface: "carrier_changes", "carrier_up_count",
			     * "carrier_down_count" */
	RDMAD_COUNTER_PAUSE,  /* of an interface, ethtool netlink: "tx_frames", "rx_frames" */
	RDMAD_COUNTER_FEC, /* of an interface, ethtool netlink: "corrected", "uncorr", "corr_bits"
			    * (sums) */
	RDMAD_COUNTER_ETHTOOL, /* of an interface, `ethtool -S` names: "rx_prio3_pause" */
} RdmadCounterGroup;

/* Parts to read; the state of the ports always is. */
typedef enum {
	RDMAD_READ_COUNTERS = 1 << 0, /* PORT, HW, DEVICE */
	RDMAD_READ_NETDEVS = 1 << 1,  /* LINK, PAUSE, FEC, ETHTOOL */
	RDMAD_READ_USERS = 1 << 2,    /* owners of queue pairs; needs RDMA netlink */
} RdmadReadWhat;

typedef struct {
	RdmadCounterGroup group;
	guint port;	    /* PORT and HW: from 1; else 0 */
	const char *netdev; /* LINK, PAUSE, FEC, ETHTOOL; else NULL */
	const char *name;   /* the kernel's name; NULL: the whole group failed */
	guint64 value;
	int errnum; /* not 0: no value; errno, or EBADMSG for what is not a number */
} RdmadCounter;

typedef struct {
	guint number;
	int state, phys_state; /* as in RdmadPort */
	gint64 rate_mbps;
} RdmadPortReading;

typedef enum {
	RDMAD_USES_QP,
	RDMAD_USES_CQ,
	RDMAD_USES_MR,
	RDMAD_USES_CM_ID,
	RDMAD_USES_PD,
	RDMAD_USES_SRQ,
	RDMAD_USES_CTX,
	RDMAD_USES_KINDS,
} RdmadUses;

/* Objects of the device that one process has. */
typedef struct {
	guint pid;		  /* in our namespace; 0: users without one: the kernel itself, a
				 * thread that has ended, another pid namespace, all beyond the
				 * first 4096 */
	const char *pod_uid;	  /* from its cgroup; NULL: it is in no pod */
	const char *container_id; /* NULL with pod_uid, or where the runtime's form is not known */
	guint objects[RDMAD_USES_KINDS];
} RdmadDeviceUser;

typedef struct {
	RdmadCounter
		*counters; /* by group, port, interface, name; names are unique in their place */
	guint n_counters;
	RdmadPortReading *ports;
	guint n_ports;
	RdmadDeviceUser *users; /* by pid */
	guint n_users;
	int users_errnum; /* not 0: users could not be listed; ETIMEDOUT: that would take too long
			   * */
	gint64 time_us;	  /* monotonic, when the reading began */
	GStringChunk *strings; /* and `names`: what the names point into */
	GPtrArray *names;
	guint users_unlisted; /* bits, 1 << RdmadUses: kinds that are counted but could not be listed; all
				 * of these are pid 0's */
} RdmadReading;

RDMAD_API void rdmad_reading_free(RdmadReading *reading);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadReading, rdmad_reading_free)

/*
 * Budget of files of counters that may stay open between readings, of all readers that have it.  The first
 * ones have them; a reader gives its files back when its device leaves or it is freed.  An open file of
 * sysfs that has been read takes about 4.5 KiB of the kernel's memory.  For any thread.
 */
typedef struct RdmadFileBudget RdmadFileBudget;

/* `max`: at most a quarter of what the process may have open (RLIMIT_NOFILE). */
RDMAD_API RdmadFileBudget *rdmad_file_budget_new(guint max);
RDMAD_API RdmadFileBudget *rdmad_file_budget_ref(RdmadFileBudget *budget);
RDMAD_API void rdmad_file_budget_unref(RdmadFileBudget *budget);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadFileBudget, rdmad_file_budget_unref)
/* Readers give back what is too much as they read. */
RDMAD_API void rdmad_file_budget_set_max(RdmadFileBudget *budget, guint max);
RDMAD_API guint rdmad_file_budget_used(const RdmadFileBudget *budget);

typedef struct RdmadCounterReader RdmadCounterReader;

/* Takes a reference of the device; `root` must outlive it. */
RDMAD_API RdmadCounterReader *rdmad_counter_reader_new(const RdmadSysroot *root,
						       const RdmadDevice *dev, RdmadReadWhat what);
/* Before its first reading: files stay open, as far as `budget` allows.  A reader without one opens each
 * file each time. */
RDMAD_API void rdmad_counter_reader_set_budget(RdmadCounterReader *reader, RdmadFileBudget *budget);
/* A reader for another snapshot of the same device.  It shares the old reader's back-off, even
 * while that one still reads, and its budget. */
RDMAD_API RdmadCounterReader *rdmad_counter_reader_renew(const RdmadCounterReader *old,
							 const RdmadDevice *dev);
RDMAD_API RdmadCounterReader *rdmad_counter_reader_ref(RdmadCounterReader *reader);
RDMAD_API void rdmad_counter_reader_unref(RdmadCounterReader *reader);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadCounterReader, rdmad_counter_reader_unref)

/*
 * Blocks for as long as the driver takes: for a worker, and one call at a time to a reader.  Stops
 * early when `job` (may be NULL) is cancelled: RDMAD_ERROR_CANCELLED.  RDMAD_ERROR_GONE: the device
 * has left. Single counters that fail are not an error.
 */
RDMAD_API RdmadReading *rdmad_counter_reader_read(RdmadCounterReader *reader, const RdmadJob *job,
						  GError **error);
