/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RDMA devices
 *
 * An RdmadDevice is an immutable snapshot, shared by reference.  When the hardware changes, the
 * inventory has another snapshot under the same id.  A string that could not be read is NULL, a
 * number RDMAD_UNKNOWN; `problems` has the reason.
 *
 * Sources: Documentation/ABI/stable/sysfs-class-infiniband, sysfs-bus-pci, sysfs-class-net;
 * include/uapi/rdma/rdma_netlink.h.
 */
#pragma once

#include <rdmad/types.h>

#define RDMAD_UNKNOWN (-1)

typedef enum { /* include/rdma/ib_verbs.h enum rdma_node_type */
	       RDMAD_NODE_UNKNOWN = 0,
	       RDMAD_NODE_CA = 1,
	       RDMAD_NODE_SWITCH = 2,
	       RDMAD_NODE_ROUTER = 3,
	       RDMAD_NODE_RNIC = 4, /* iWARP */
	       RDMAD_NODE_USNIC = 5,
	       RDMAD_NODE_USNIC_UDP = 6,
	       RDMAD_NODE_UNSPECIFIED = 7, /* EFA and others with their own protocol */
} RdmadNodeType;

typedef enum {
	RDMAD_LINK_LAYER_UNKNOWN,
	RDMAD_LINK_LAYER_INFINIBAND,
	RDMAD_LINK_LAYER_ETHERNET,
} RdmadLinkLayer;

typedef enum { /* enum ib_port_state; sysfs "4: ACTIVE" */
	       RDMAD_PORT_NOP = 0,
	       RDMAD_PORT_DOWN = 1,
	       RDMAD_PORT_INIT = 2,
	       RDMAD_PORT_ARMED = 3,
	       RDMAD_PORT_ACTIVE = 4,
	       RDMAD_PORT_ACTIVE_DEFER = 5,
} RdmadPortState;

typedef enum { /* enum ib_port_phys_state; sysfs "5: LinkUp" */
	       RDMAD_PHYS_SLEEP = 1,
	       RDMAD_PHYS_POLLING = 2,
	       RDMAD_PHYS_DISABLED = 3,
	       RDMAD_PHYS_TRAINING = 4,
	       RDMAD_PHYS_LINK_UP = 5,
	       RDMAD_PHYS_ERROR_RECOVERY = 6,
	       RDMAD_PHYS_TEST = 7,
} RdmadPhysState;

typedef enum { /* sysfs gid_attrs/types/N */
	       RDMAD_GID_UNKNOWN,
	       RDMAD_GID_IB,	  /* "IB/RoCE v1" on an InfiniBand port */
	       RDMAD_GID_ROCE_V1, /* "IB/RoCE v1" on an Ethernet port */
	       RDMAD_GID_ROCE_V2,
} RdmadGidType;

typedef struct {
	guint index;
	guint8 raw[16];
	RdmadGidType type;
	char *netdev; /* the interface of the entry; NULL on InfiniBand */
} RdmadGid;

struct RdmadPort {
	guint number; /* from 1 */
	RdmadLinkLayer link_layer;
	int state;	  /* RdmadPortState, or RDMAD_UNKNOWN */
	int phys_state;	  /* RdmadPhysState, or RDMAD_UNKNOWN */
	gint64 rate_mbps; /* 400000 for "400 Gb/sec (4X NDR)" */
	char *rate_text;  /* the kernel's text */
	int lid, sm_lid;  /* InfiniBand; 0 elsewhere */
	int pkey0;	  /* entry 0 of the P_Key table, or RDMAD_UNKNOWN */
	char *netdev;	  /* the interface of this port, or NULL */
	/* The interface of this port that is in the network namespace of the device's holder, or
	 * was when the holder ended and has not returned; NULL: none. */
	char *netdev_in_pod;
	/* Counted since rdmad first saw the port: changes of its state, with changes between two
	 * scans that the kernel reported, and of its GID table; `changed_us` is the wall clock of
	 * the last change of its state, 0: none. */
	guint64 transitions, gid_changes;
	/* Times that it went down and came back, counted likewise, while its interface and the
	 * holder of the device stayed the same: not the work of a pod or of this node's
	 * administrator. */
	guint64 flaps;
	gint64 changed_us;
	RdmadGid *gids; /* in index order; empty entries are left out */
	guint n_gids;
};

typedef struct {
	char *name;
	int ifindex;
	char *mac; /* "0c:42:a1:.."; 20 bytes for IPoIB */
	int mtu;
	int up;	     /* set up by an administrator (IFF_UP): 1, 0, RDMAD_UNKNOWN */
	int carrier; /* 1, 0, RDMAD_UNKNOWN (the interface is not up) */
	char *operstate;
	int carrier_changes; /* since the interface exists; RDMAD_UNKNOWN without netlink */
	int speed_mbps;	     /* RDMAD_UNKNOWN: not reported by the driver */
	char *master;	     /* bond or bridge above it, or NULL */
	char **addresses;    /* "192.0.2.7/24", "2001:db8::7/64"; empty without netlink */
} RdmadNetdev;

/* Character devices in /dev/infiniband. */
typedef enum {
	RDMAD_CHARDEV_UVERBS,
	RDMAD_CHARDEV_UMAD,
	RDMAD_CHARDEV_ISSM,
	RDMAD_CHARDEV_UCM,
	RDMAD_CHARDEV_RDMA_CM, /* one for the whole node */
} RdmadChardevKind;

typedef struct {
	RdmadChardevKind kind;
	char *path;	    /* "/dev/infiniband/uverbs0" */
	guint major, minor; /* 0, 0: unknown */
	guint port;	    /* of umad and issm; 0: of no port, or unknown */
} RdmadChardev;

/* SR-IOV: the role of a function. */
typedef enum {
	RDMAD_PCI_PLAIN,
	RDMAD_PCI_PF, /* has or can have virtual functions */
	RDMAD_PCI_VF,
} RdmadPciRole;

/* What an RDMA device is for.  Only a NIC reaches other nodes; no pod, job or label has another
 * device. */
typedef enum {
	RDMAD_ROLE_NIC,
	/* A function that manages the NVSwitches of its board, an HCA by class and link layer. */
	RDMAD_ROLE_SWITCH_MANAGEMENT,
	/* A part of another RDMA device, for subnet management by umad: the kernel gives it no
	 * verbs. */
	RDMAD_ROLE_SUB_DEVICE,
} RdmadDeviceRole;

struct RdmadDevice {
	int refs;
	/* Unique, stable, of [A-Za-z0-9._:-]: the PCI address "0000:3b:00.0"; with "-" and the name
	 * of the auxiliary device for a subfunction, or with "-" and the device name for a second
	 * RDMA device of one function; the device name if there is no PCI function. */
	char *id;
	char *name; /* the kernel's present name, "mlx5_0"; a rename changes it */
	int index;  /* RDMA netlink's dev_index, or RDMAD_UNKNOWN without netlink */
	RdmadNodeType node_type;
	char *node_guid; /* "0c42:a103:0065:4321" */
	char *sys_image_guid;
	char *driver; /* PCI or auxiliary driver, "mlx5_core"; "rxe", "siw" for software devices */
	char *firmware;
	char *board_id;
	char *hca_type;

	/* PCI; NULL and RDMAD_UNKNOWN for software devices. */
	char *pci_address;
	int vendor, device, subsystem_vendor, subsystem_device; /* 0x15b3 .. */
	int numa_node;
	char **pci_path; /* from the root "pci0000:3a" down to the function, inclusive */
	RdmadPciRole pci_role;
	char *pf_address;  /* of a VF */
	char **pf_netdevs; /* of a VF or a subfunction: interfaces of its PF; else NULL */
	int vf_index;	   /* of a VF, else RDMAD_UNKNOWN */
	int num_vfs;	   /* of a PF: number of configured VFs */
	char *aux_name;	   /* auxiliary device, "mlx5_core.sf.4", or NULL */
	int sf_number;	   /* of a subfunction, else RDMAD_UNKNOWN */
	int acpi_index;	   /* the firmware's number of the slot, or RDMAD_UNKNOWN */
	/* Of a VF or a subfunction: whether the link of its PF is up; 1, 0, RDMAD_UNKNOWN. */
	int pf_link;
	/* Field SMDL of the function's vital product data (VPD), empty if there is none; NULL: not
	 * read, as of functions that are not InfiniBand controllers of NVIDIA. */
	char *vpd_model;
	char *parent; /* name of the RDMA device that it is a sub-device of, or NULL */

	RdmadPort *ports;
	guint n_ports;
	RdmadNetdev *netdevs; /* sorted by name */
	guint n_netdevs;
	char *bond;		/* bond of one of its interfaces, or NULL */
	RdmadChardev *chardevs; /* in the order of their kinds, rdma_cm last */
	guint n_chardevs;
	gboolean fatal;	 /* its driver reported a fatal error; set until it is removed or added
			  * again */
	guint stale;	 /* number of consecutive failed scans; the other members precede them */
	char **problems; /* "ports/1/rate: Input/output error"; empty if there is none */
};

/* Returns a new reference, with all strings NULL, numbers RDMAD_UNKNOWN and lists empty. */
RDMAD_API RdmadDevice *rdmad_device_new(const char *id, const char *name);
RDMAD_API const RdmadDevice *rdmad_device_ref(const RdmadDevice *dev);
RDMAD_API void rdmad_device_unref(const RdmadDevice *dev);

/* Returns a copy that the caller may modify, and releases by rdmad_device_unref(). */
RDMAD_API RdmadDevice *rdmad_device_copy(const RdmadDevice *dev);

/* Returns the interface of that name, or NULL. */
RDMAD_API const RdmadNetdev *rdmad_device_netdev(const RdmadDevice *dev, const char *name);
/* Returns the first interface of the device that is in a pod (`netdev_in_pod`), or NULL. */
RDMAD_API const char *rdmad_device_netdev_in_pod(const RdmadDevice *dev);
/* Returns the first character device of a kind, or NULL. */
RDMAD_API const RdmadChardev *rdmad_device_chardev(const RdmadDevice *dev, RdmadChardevKind kind);

RDMAD_API RdmadDeviceRole rdmad_device_role(const RdmadDevice *dev);
/* Returns "nic", "switch-management" or "sub-device". */
RDMAD_API const char *rdmad_device_role_name(RdmadDeviceRole role);
/* Returns why the device is no NIC, for people, g_free(); NULL: it is one. */
RDMAD_API char *rdmad_device_role_text(const RdmadDevice *dev);

typedef gboolean (*RdmadPortFilter)(const RdmadDevice *dev, const RdmadPort *port,
				    gconstpointer data);
/*
 * Health of a device, among the ports that `counts` accepts, or all if it is NULL: one usable port
 * suffices.
 *
 * A port is at rest if it is down because nobody has set it up:
 *
 * - Ethernet: its interface lacks IFF_UP, and its physical state is Disabled or unknown;
 * - InfiniBand: it is of a VF whose node or port GUID is 0.
 *
 * The port of a VF or a subfunction is not at rest, but down, if the link of its PF is down.
 *
 * A device is at rest if none of its ports is usable and one is at rest.  The pod that gets it
 * alone sets it up, by its CNI plugin: it can be allocated in mode exclusive.  Pods that share a
 * device use the host's interface: it has to be set up before.
 */
/* Returns the reason why no program can use the device, static text, or NULL if it is healthy or
 * at rest. */
RDMAD_API const char *rdmad_device_problem(const RdmadDevice *dev, RdmadPortFilter counts,
					   gconstpointer data);
/* Returns the reason why the device is at rest, static text, or NULL if it is not. */
RDMAD_API const char *rdmad_device_rest(const RdmadDevice *dev, RdmadPortFilter counts,
					gconstpointer data);
/* Returns whether this port is at rest. */
RDMAD_API gboolean rdmad_port_is_at_rest(const RdmadDevice *dev, const RdmadPort *port);
/* Returns whether the node GUID is known to be 0: connections by address (rdma_cm) do not work. */
RDMAD_API gboolean rdmad_device_lacks_guid(const RdmadDevice *dev);

/* Return static words as users write them: "infiniband", "ethernet"; "active"; "RoCE v2". */
RDMAD_API const char *rdmad_link_layer_name(RdmadLinkLayer layer);
RDMAD_API const char *rdmad_port_state_name(int state);
RDMAD_API const char *rdmad_gid_type_name(RdmadGidType type);
RDMAD_API const char *rdmad_node_type_name(RdmadNodeType type);
RDMAD_API const char *rdmad_chardev_kind_name(RdmadChardevKind kind); /* "uverbs" */
/* Compares ids or names as strcmp() does, but runs of digits as numbers: mlx5_2 before mlx5_10. */
RDMAD_API int rdmad_natural_compare(const char *a, const char *b);
/* Extracts the MAC address of a GUID that is made of one (EUI-64, RFC 4291, appendix A), such as
 * eRDMA's and soft-RoCE's: 00:16:3e:01:02:0a of "0216:3eff:fe01:020a".  Returns FALSE for other
 * GUIDs and for NULL. */
RDMAD_API gboolean rdmad_guid_get_mac(const char *guid, guint8 mac[6]);
/* Formats a GID as "fe80:0000:..", eight groups of four hex digits. */
RDMAD_API void rdmad_gid_format(const guint8 raw[16], char text[40]);

/* A GPU or other accelerator: a function of PCI class 03 or 12 with an ID in gpu.c, with or without
 * driver; no graphics of a processor or of a management controller. */
struct RdmadGpu {
	char *pci_address;
	int vendor, device;
	int numa_node;
	char **pci_path;
};

/* Distance between two PCI functions, in the terms of `nvidia-smi topo -m`. */
typedef enum {
	RDMAD_DISTANCE_SELF, /* X */
	RDMAD_DISTANCE_PIX,  /* at most one PCIe bridge between them */
	RDMAD_DISTANCE_PXB,  /* several bridges, no host bridge */
	RDMAD_DISTANCE_PHB,  /* the same host bridge */
	RDMAD_DISTANCE_NODE, /* the same NUMA node */
	RDMAD_DISTANCE_SYS,  /* across NUMA nodes, or unknown */
} RdmadDistance;

/* Returns the distance; SYS if either path is NULL or empty (a software device). */
RDMAD_API RdmadDistance rdmad_pci_distance(char *const *path_a, int numa_a, char *const *path_b,
					   int numa_b);
RDMAD_API const char *rdmad_distance_name(RdmadDistance distance);

/* Returns the index of the GPU in `gpus` (of RdmadGpu; may be NULL) that is nearest to the device,
 * and stores its distance.  The first of equals counts.  Returns -1, and stores SYS, if there is
 * none. */
RDMAD_API int rdmad_nearest_gpu(const RdmadDevice *device, const GPtrArray *gpus,
				RdmadDistance *distance);
/* Compares two NICs of a container in the order of its rails: by distance to the nearest of its
 * GPUs, by the order of these GPUs, by PCI address, then by name.  A NIC without PCI address comes
 * after the others. */
RDMAD_API int rdmad_nics_compare(const RdmadDevice *a, const RdmadDevice *b, const GPtrArray *gpus);
