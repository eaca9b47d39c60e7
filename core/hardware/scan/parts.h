/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of a scan */
#pragma once

#include <rdmad/device.h>
#include <rdmad/sysroot.h>

#include "hardware/scan/scan.h"

#define RDMAD_SCAN_MAX_DEVICES 4096u
#define RDMAD_SCAN_MAX_PORTS   255u
#define RDMAD_SCAN_MAX_GIDS    4096u /* limit of one port */
#define RDMAD_SCAN_MAX_NETDEVS 1024u /* limit of one device */

/* Data shared by all devices that one thread reads. */
typedef struct {
	const RdmadSysroot *root;
	GHashTable *chardevs; /* device name -> GArray of RdmadChardev; shared by all threads */
	const RdmadGidSource *gids; /* shared by all threads; or NULL */
	const GPtrArray *before;    /* RdmadDevice of the previous scan, shared; or NULL */
	GHashTable *vf_index;	    /* address of a VF -> GINT_TO_POINTER(index + 1) */
	GHashTable *pf_netdevs;	    /* path of a PF -> char **, its interfaces */
	char *base;		    /* of rdmad_sysroot_path_of(): a system call less a device */
} RdmadScanner;

/* A directory of attributes of `dev`; problems are named `label` + attribute. */
typedef struct {
	const RdmadSysroot *root;
	RdmadDevice *dev;
	const char *path;  /* "sys/class/infiniband/mlx5_0/ports/1" */
	const char *label; /* "ports/1/" */
	int fd;		   /* of the directory; -1: it cannot be opened */
} RdmadAttrDir;

typedef enum {
	RDMAD_ATTR_REQUIRED, /* a missing attribute is a problem */
	RDMAD_ATTR_VALUE,    /* required, but EINVAL means that there is no value now */
	RDMAD_ATTR_OPTIONAL, /* an unreadable attribute is a problem, a missing one is not */
	RDMAD_ATTR_QUIET,    /* never a problem: the kernel rejects reads in some states */
} RdmadAttrNeed;

typedef struct {
	const char *name;
	RdmadAttrNeed need;
	gboolean (*parse)(const char *text, gpointer member); /* a function of value.h */
	gsize offset;
} RdmadAttr;

/* Fills the members of `out`; a member stays unchanged if its attribute cannot be read. */
void rdmad_attrs_read(const RdmadAttrDir *dir, const RdmadAttr *attrs, guint n, gpointer out);
/* Records `error` as a problem of the device, with its path shortened to the label. */
void rdmad_attr_problem(const RdmadAttrDir *dir, const GError *error);

/* Returns NULL if the device was removed, is not a device, or cannot be read
 * (rdmad_sysroot_passing_error()).  Its id is the device name for now. */
RdmadDevice *rdmad_scan_device(RdmadScanner *scanner, const char *name);

/* Each of these fills its own members of `dev`; `dir` is the directory of the RDMA device
 * itself. */
/* Returns FALSE if the device's place, and so its id, is in doubt. */
gboolean rdmad_scan_pci(RdmadScanner *scanner, const RdmadAttrDir *dir);
/* Fills the same members, except the address and the name of the auxiliary device, which the caller
 * has set, of a device in another namespace.  Returns FALSE if its function is not there. */
gboolean rdmad_scan_pci_function(RdmadScanner *scanner, RdmadDevice *dev);
/* Reads the vital product data of a PCI function, whose directory is `function`. */
void rdmad_scan_vpd(const RdmadAttrDir *function);
/* `gids` has the RdmadKnownGid of all ports; NULL: reads them from files. */
void rdmad_scan_ports(const RdmadAttrDir *dir, const GArray *gids);
/* Call after rdmad_scan_ports(), because GIDs identify the interfaces of the device. */
void rdmad_scan_netdevs(const RdmadAttrDir *dir);
/* Returns whether both are of one PCI function, or auxiliary device of it; FALSE if `before` is
 * NULL. */
gboolean rdmad_scan_same_function(const RdmadDevice *dev, const RdmadDevice *before);
/* Returns names (char *) in natural order; some interfaces may not exist. */
GPtrArray *rdmad_scan_netdev_names(const RdmadAttrDir *dir);
/* Returns the interfaces of a PCI function, without representors of other functions. */
char **rdmad_scan_function_netdevs(const RdmadSysroot *root, const char *function);

/* Reads all character devices from their classes. */
void rdmad_scan_chardevs(RdmadScanner *scanner);
/* Keeps the character devices of the last scan, which are constant while the device exists. */
void rdmad_scan_keep_chardevs(RdmadScanner *scanner, const RdmadDevice *dev);
/* Returns GIDs (RdmadKnownGid) from a source other than files, or NULL. */
GArray *rdmad_scan_query_gids(const RdmadScanner *scanner, const char *name);
/* Sets the character devices of a device. */
void rdmad_scan_take_chardevs(const RdmadScanner *scanner, const char *name, RdmadDevice *dev);

/* Returns the components from the host bridge down to the last PCI function; NULL: not on a PCI
 * bus.  Sets `below` (may be NULL) to the rest of the path, with its slash. */
char **rdmad_pci_path_parse(const char *resolved, const char **below);
void rdmad_scan_gpus(const RdmadSysroot *root, GPtrArray *gpus);
