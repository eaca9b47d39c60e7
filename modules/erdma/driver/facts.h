/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's facts about the driver: /sys/module, the PCI functions, and the index of modules
 * (/lib/modules/RELEASE/modules.dep).  No program's output is parsed.
 *
 * Sources: Documentation/ABI/testing/sysfs-module; kernel/module/sysfs.c; compat_mode, a parameter
 * of Alibaba's driver that the mainline driver does not have.
 */
#pragma once

#include <rdmad/kernel-modules.h>

typedef enum {
	ERDMA_MODULE_ABSENT,
	ERDMA_MODULE_COMING, /* its init function runs */
	ERDMA_MODULE_LIVE,
	ERDMA_MODULE_GOING,
} ErdmaModuleState;

/* COMPAT: RoCE semantics (compat_mode=Y); OFED: the same on the RDMA core of OFED. */
typedef enum {
	ERDMA_MODE_UNKNOWN,
	ERDMA_MODE_DEFAULT,
	ERDMA_MODE_COMPAT,
	ERDMA_MODE_OFED,
} ErdmaMode;

/* Modules that are loaded beside the driver. */
typedef enum { ERDMA_COMPANION_SMC, ERDMA_COMPANION_PEERMEM, ERDMA_COMPANION_COUNT } ErdmaCompanion;

/* The structure has no pointers, and zero padding, so that equal facts are equal bytes. */
typedef struct {
	gboolean has_nic; /* the node has a PCI function of the driver, or none is required */
	ErdmaModuleState module;
	gboolean has_modes; /* the driver has the parameter */
	ErdmaMode mode;	    /* of a LIVE module; UNKNOWN: neither parameter nor device has it */
	RdmadKernelModuleFile file;
	gboolean companion[ERDMA_COMPANION_COUNT]; /* loaded, or built into the kernel */
	RdmadKernelModuleFile companion_file[ERDMA_COMPANION_COUNT];
	/* From the inventory. */
	guint devices;	      /* RDMA devices of the driver */
	guint devices_compat; /* of them, channel adapters, as in the RoCE modes */
	gboolean has_gpu;
} ErdmaFacts;

extern const char *const erdma_mode_names[]; /* by ErdmaMode */
/* "smc", "nvidia_peermem", by ErdmaCompanion */
extern const char *const erdma_companion_names[];

/* Reads the facts on a worker.  `pci_device`: "1ded:107f" or "".  An error says nothing about the
 * driver's state. */
ErdmaFacts *erdma_facts_read(const RdmadSysroot *root, const char *module, const char *pci_device,
			     GError **error);
/* Returns whether the device is one of the module's; rdma_rxe has devices of driver rxe. */
gboolean erdma_module_has_device(const char *module, const RdmadDevice *dev);
/* Adds the facts of the inventory. */
void erdma_facts_add_devices(ErdmaFacts *facts, RdmadInventory *inventory, const char *module);
