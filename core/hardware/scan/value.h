/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values as sysfs writes them
 *
 * Each function takes the text of one attribute, stripped of trailing white space, and writes
 * through `out`, a pointer to what its comment names.  FALSE: not understood, nothing was written.
 */
#pragma once

#include <rdmad/types.h>

#define RDMAD_SYSFS_TEXT_MAX 256u /* limit of a string that describes a device */

/* char **: printable, not empty; an empty text is valid and leaves NULL */
gboolean rdmad_sysfs_text(const char *text, gpointer out);
/* char **: "0c42:a103:0065:4321" */
gboolean rdmad_sysfs_guid(const char *text, gpointer out);
/* guint8[16]: "fe80:0000:0000:0000:0e42:a1ff:fe65:4321" */
gboolean rdmad_sysfs_gid(const char *text, gpointer out);
/* guint8[6]: "0c:42:a1:65:43:21" */
gboolean rdmad_sysfs_mac(const char *text, gpointer out);
/* int *: decimal */
gboolean rdmad_sysfs_int(const char *text, gpointer out);
/* int *: "0x15b3", at most 16 bits */
gboolean rdmad_sysfs_hex16(const char *text, gpointer out);
/* int *: whether "0x1003", the flags of an interface, has IFF_UP: 1 or 0 */
gboolean rdmad_sysfs_is_up(const char *text, gpointer out);
/* guint32 *: "0x020000", a PCI class with its programming interface */
gboolean rdmad_sysfs_pci_class(const char *text, gpointer out);
/* RdmadNodeType *: "1: CA"; unknown numbers become RDMAD_NODE_UNKNOWN */
gboolean rdmad_sysfs_node_type(const char *text, gpointer out);
/* int *: "4: ACTIVE" */
gboolean rdmad_sysfs_port_state(const char *text, gpointer out);
/* int *: "5: LinkUp"; RDMAD_UNKNOWN for "0: <unknown>" */
gboolean rdmad_sysfs_phys_state(const char *text, gpointer out);
/* gint64 *: megabits per second, of "2.5 Gb/sec (1X SDR)".  0 needs no unit: NVIDIA's driver prints
 * "0 GB/sec" for an empty cage. */
gboolean rdmad_sysfs_rate(const char *text, gpointer out);
/* RdmadLinkLayer *: UNKNOWN unless it is InfiniBand or Ethernet */
gboolean rdmad_sysfs_link_layer(const char *text, gpointer out);
/* int *: the kernel prints an unsigned number; RDMAD_UNKNOWN for "-1", "4294967295" and "0" */
gboolean rdmad_sysfs_speed(const char *text, gpointer out);
/* guint64 *: decimal, without sign and blanks */
gboolean rdmad_sysfs_counter(const char *text, gpointer out);
/* guint[2]: "231:192" */
gboolean rdmad_sysfs_major_minor(const char *text, gpointer out);

/* "0000:3b:00.0" */
gboolean rdmad_sysfs_is_pci_address(const char *name);
/* "pci0000:3a" */
gboolean rdmad_sysfs_is_host_bridge(const char *name);
/* Returns whether the kernel accepts this name for a network interface.  Such a name is safe in a
 * path. */
gboolean rdmad_sysfs_is_netdev_name(const char *name);
