/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of a scan. */
#pragma once

#include <rdmad/device.h>
#include <rdmad/sysroot.h>

#include "hardware/scan/scan.h"

#define RDMAD_SCAN_MAX_DEVICES 4096u
#define RDMAD_SCAN_MAX_PORTS   255u
#define RDMAD_SCAN_MAX_GIDS    4096u /* of one port */
#define RDMAD_SCAN_MAX_NETDEVS 1024u /* of one device */

/* One scan of the hardware: data shared by all devices that one thread reads. */
typedef struct {
	const RdmadSysroot *root;
	GHashTable *chardevs;	    /* device name -> GArray of RdmadChardev; of all threads */
	const RdmadGidSource *gids; /* or NULL; of all threads */
	GHashTable *vf_index;	    /* address of a VF -> GINT_TO_POINTER(index + 1) */
	GHashTable *pf_netdevs;	    /* path of a PF -> char **, its interfaces */
} RdmadScanner;

/* A directory of attributes of `dev`; problems are called `label` + attribute. */
typedef struct {
	const RdmadSysroot *root;
	RdmadDevice *dev;
	const char *path;  /* "sys/class/infiniband/mlx5_0/ports/1" */
	const char *label; /* "ports/1/" */
} RdmadAttrDir;

typedef enum {
	RDMAD_ATTR_REQUIRED, /* every RDMA device has it: a problem when it is missing */
	RDMAD_ATTR_OPTIONAL, /* may be missing; a problem when it cannot be read */
	RDMAD_ATTR_QUIET,    /* the kernel refuses it in some states: never a problem */
} RdmadAttrNeed;

typedef struct {
	const char *name;
	RdmadAttrNeed need;
	gboolean (*parse)(const char *text, gpointer member); /* of value.h */
	gsize offset;
} RdmadAttr;

/* Fills the members of `out`; one that cannot be had is left as it was. */
void rdmad_attrs_read(const RdmadAttrDir *dir, const RdmadAttr *attrs, guint n, gpointer out);
/* Notes `error` as a problem of the device, with the path shortened to its label. */
void rdmad_attr_problem(const RdmadAttrDir *dir, const GError *error);

/* NULL: it went away meanwhile, is not a device, or cannot be read (rdmad_sysroot_passing_error()).
 * The id is still the device name. */
RdmadDevice *rdmad_scan_device(RdmadScanner *scanner, const char *name);

/* Each fills its own members of `dev`; `dir` is that of the RDMA device itself. */
/* FALSE: its place is in doubt, and with it the id that it has. */
gboolean rdmad_scan_pci(RdmadScanner *scanner, const RdmadAttrDir *dir);
/* `gids`: RdmadKnownGid of all ports, or NULL: they are read from files. */
void rdmad_scan_ports(const RdmadAttrDir *dir, const GArray *gids);
/* After ports: their GIDs identify the device's interfaces. */
void rdmad_scan_netdevs(const RdmadAttrDir *dir);
/* Names (char *) in natural order; some may not be there at all. */
GPtrArray *rdmad_scan_netdev_names(const RdmadAttrDir *dir);
/* Names below the `net` of a PCI function, without the representors of others. */
char **rdmad_scan_function_netdevs(const RdmadSysroot *root, const char *function);

/* Learns all character devices at once, from their classes. */
void rdmad_scan_chardevs(RdmadScanner *scanner);
/* As they were: they stay for as long as the device is there. */
void rdmad_scan_keep_chardevs(RdmadScanner *scanner, const RdmadDevice *dev);
/* GID tables from elsewhere than files (RdmadKnownGid), or NULL. */
GArray *rdmad_scan_query_gids(const RdmadScanner *scanner, const char *name);
/* Gives a device its own. */
void rdmad_scan_take_chardevs(const RdmadScanner *scanner, const char *name, RdmadDevice *dev);

/* Components from the host bridge down to the last PCI function; NULL: not on a PCI bus.
 * `below` (may be NULL) gets what stands behind the function, with its slash. */
char **rdmad_pci_path_parse(const char *resolved, const char **below);
void rdmad_scan_gpus(const RdmadSysroot *root, GPtrArray *gpus);
