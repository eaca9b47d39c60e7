/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters and users of a device
 *
 * A reader belongs to one device.  It keeps state that makes the next reading cheap, and a back-off
 * for each counter that failed, because each try may log a line in the kernel.  A counter that
 * cannot be read is reported with its errno, never as 0.
 *
 * Sources: Documentation/ABI/stable/sysfs-class-infiniband; include/uapi/rdma/rdma_netlink.h;
 * Documentation/networking/ethtool-netlink.rst, statistics.rst.
 */
#pragma once

#include <rdmad/types.h>

typedef enum {
	RDMAD_COUNTER_PORT,   /* of the port: ports/N/counters{,_ext}, by sysfs name
			     * ("port_xmit_data") */
	RDMAD_COUNTER_HW,     /* of the driver, for a port: RDMA netlink's statistics, or
			   * ports/N/hw_counters */
	RDMAD_COUNTER_DEVICE, /* of the driver, for the device: hw_counters beside ports */
	RDMAD_COUNTER_LINK,   /* of an interface: "carrier_changes", "carrier_up_count",
			     * "carrier_down_count" */
	RDMAD_COUNTER_PAUSE,  /* of an interface, ethtool netlink: "tx_frames", "rx_frames" */
	RDMAD_COUNTER_FEC, /* of an interface, ethtool netlink: "corrected", "uncorr", "corr_bits"
			    * (sums) */
	RDMAD_COUNTER_ETHTOOL, /* of an interface, `ethtool -S` names: "rx_prio3_pause" */
} RdmadCounterGroup;

/* Parts of a reading.  The state of the ports is always read. */
typedef enum {
	RDMAD_READ_COUNTERS = 1 << 0, /* PORT, HW, DEVICE */
	RDMAD_READ_NETDEVS = 1 << 1,  /* LINK, PAUSE, FEC, ETHTOOL */
	RDMAD_READ_USERS = 1 << 2,    /* processes with objects of the device; needs RDMA netlink */
} RdmadReadWhat;

typedef struct {
	RdmadCounterGroup group;
	guint port;	    /* PORT, HW: from 1; else 0 */
	const char *netdev; /* LINK, PAUSE, FEC, ETHTOOL; else NULL */
	const char *name;   /* the kernel's name; NULL: the whole group failed */
	guint64 value;
	int errnum; /* not 0: errno, and no value; EBADMSG: the text is not a number */
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

/* Objects of the device that one process has, by kind. */
typedef struct {
	guint pid;		  /* in rdmad's pid namespace; 0: all users without one: the kernel,
				 * threads that have ended, other pid namespaces, and users after
				 * the first 4096 */
	const char *pod_uid;	  /* from its cgroup; NULL: the process is in no pod */
	const char *container_id; /* NULL: without `pod_uid`, or in a form that is unknown */
	guint objects[RDMAD_USES_KINDS];
} RdmadDeviceUser;

typedef struct {
	RdmadCounter *counters; /* in the order of group, port, interface, name; no duplicates */
	guint n_counters;
	RdmadPortReading *ports;
	guint n_ports;
	RdmadDeviceUser *users; /* in the order of pids */
	guint n_users;
	int users_errnum; /* not 0: errno of the list of users; ETIMEDOUT: the list would take too
			   * long */
	gint64 time_us;	  /* monotonic, at the start of the reading */
	GStringChunk *strings; /* storage of the names, with `names` */
	GPtrArray *names;
	guint users_unlisted; /* bits, 1 << RdmadUses: kinds that the kernel counts but does not
			       * list; their objects are counted for pid 0 */
} RdmadReading;

RDMAD_API void rdmad_reading_free(RdmadReading *reading);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadReading, rdmad_reading_free)

/*
 * File budget: the maximum number of counter files that its readers keep open between readings
 *
 * Files are kept in the order of their first reading.  A reader closes its files when its device
 * leaves or the reader is freed.  An open sysfs file that was read takes about 4.5 KiB of kernel
 * memory. For any thread.
 */
typedef struct RdmadFileBudget RdmadFileBudget;

/* `max` files, but at most a quarter of RLIMIT_NOFILE. */
RDMAD_API RdmadFileBudget *rdmad_file_budget_new(guint max);
RDMAD_API RdmadFileBudget *rdmad_file_budget_ref(RdmadFileBudget *budget);
RDMAD_API void rdmad_file_budget_unref(RdmadFileBudget *budget);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadFileBudget, rdmad_file_budget_unref)
/* Sets `max` as rdmad_file_budget_new() does.  Readers close excess files at their next reading. */
RDMAD_API void rdmad_file_budget_set_max(RdmadFileBudget *budget, guint max);
RDMAD_API guint rdmad_file_budget_used(const RdmadFileBudget *budget);

typedef struct RdmadCounterReader RdmadCounterReader;

/* Takes a reference to the device; `root` must outlive the reader. */
RDMAD_API RdmadCounterReader *rdmad_counter_reader_new(const RdmadSysroot *root,
						       const RdmadDevice *dev, RdmadReadWhat what);
/* Sets the budget, once and before the first reading, and takes a reference to it.  A reader
 * without a budget opens each file at each reading. */
RDMAD_API void rdmad_counter_reader_set_budget(RdmadCounterReader *reader, RdmadFileBudget *budget);
/* Returns a reader for another snapshot of the same device.  It shares the back-off and the budget
 * of `old`, which may still be reading. */
RDMAD_API RdmadCounterReader *rdmad_counter_reader_renew(const RdmadCounterReader *old,
							 const RdmadDevice *dev);
RDMAD_API RdmadCounterReader *rdmad_counter_reader_ref(RdmadCounterReader *reader);
RDMAD_API void rdmad_counter_reader_unref(RdmadCounterReader *reader);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadCounterReader, rdmad_counter_reader_unref)

/*
 * Reads the device.  For a worker: it blocks as long as the driver does; one call at a time for
 * each reader.  RDMAD_ERROR_CANCELLED: `job` (may be NULL) was cancelled; RDMAD_ERROR_GONE: the
 * device has left.  A counter that fails is not an error.
 */
RDMAD_API RdmadReading *rdmad_counter_reader_read(RdmadCounterReader *reader, const RdmadJob *job,
						  GError **error);
