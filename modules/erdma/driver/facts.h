/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's facts about the driver: /sys/module, the PCI functions, and the index of its modules
 * (/lib/modules/RELEASE/modules.dep).  A program's output is never asked.
 *
 * Sources: Documentation/ABI/testing/sysfs-module; kernel/module/sysfs.c; erdma's compat_mode, a
 * parameter of Alibaba's driver that the kernel's own does not have.
 */
#pragma once

#include <rdmad/kernel-modules.h>

typedef enum {
	ERDMA_MODULE_ABSENT,
	ERDMA_MODULE_COMING, /* its init function runs */
	ERDMA_MODULE_LIVE,
	ERDMA_MODULE_GOING,
} ErdmaModuleState;

/* COMPAT: RoCE semantics (compat_mode=Y); OFED: the same with the RDMA core of OFED below it. */
typedef enum {
	ERDMA_MODE_UNKNOWN,
	ERDMA_MODE_DEFAULT,
	ERDMA_MODE_COMPAT,
	ERDMA_MODE_OFED,
} ErdmaMode;

/* Modules that are loaded beside the driver. */
typedef enum { ERDMA_BESIDE_SMC, ERDMA_BESIDE_PEERMEM, ERDMA_BESIDE_COUNT } ErdmaBeside;

/* Without pointers and padding that is not zero: equal facts are equal bytes. */
typedef struct {
	gboolean has_nic; /* a PCI function of the driver, or none is asked for */
	ErdmaModuleState module;
	gboolean has_modes; /* the driver has the parameter */
	ErdmaMode mode;	    /* of a LIVE module; UNKNOWN: no parameter and no device says it */
	RdmadKernelModuleFile file;
	gboolean beside[ERDMA_BESIDE_COUNT]; /* loaded, or a part of the kernel */
	RdmadKernelModuleFile beside_file[ERDMA_BESIDE_COUNT];
	/* From the inventory. */
	guint devices;	      /* RDMA devices of the driver */
	guint devices_compat; /* those that are channel adapters, as in the modes of RoCE */
	gboolean has_gpu;
} ErdmaFacts;

extern const char *const erdma_mode_names[]; /* by ErdmaMode */
/* "smc", "nvidia_peermem", by ErdmaBeside */
extern const char *const erdma_beside_names[];

/* For a worker.  `pci_device` "1ded:107f" or "".  An error is not a statement about the driver. */
ErdmaFacts *erdma_facts_read(const RdmadSysroot *root, const char *module, const char *pci_device,
			     GError **error);
/* Whether the device is the module's; that of driver rxe is rdma_rxe. */
gboolean erdma_module_has_device(const char *module, const RdmadDevice *dev);
/* Adds what the inventory knows. */
void erdma_facts_add_devices(ErdmaFacts *facts, RdmadInventory *inventory, const char *module);
