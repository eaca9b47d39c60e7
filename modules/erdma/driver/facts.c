/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/facts.h"

#include <rdmad/device.h>
#include <rdmad/error.h>
#include <rdmad/inventory.h>
#include <rdmad/sysroot.h>
#include <string.h>

const char *const erdma_mode_names[] = { "unknown", "default", "compat", "ofed" };
const char *const erdma_companion_names[] = { "smc", "nvidia_peermem" };

/* Sets `value` to NULL if the file does not exist.  Returns FALSE if it cannot be read. */
static gboolean read_if_there(const RdmadSysroot *root, const char *path, char **value,
			      GError **error)
{
	g_autoptr(GError) wrong = NULL;

	*value = rdmad_sysroot_read(root, path, &wrong);
	if (*value || g_error_matches(wrong, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND))
		return TRUE;
	g_propagate_prefixed_error(error, g_steal_pointer(&wrong), "%s: ", path);
	return FALSE;
}

/* A built-in module has a directory but no initstate. */
static gboolean module_read(const RdmadSysroot *root, const char *module, ErdmaModuleState *state,
			    GError **error)
{
	g_autofree char *dir = g_strdup_printf("sys/module/%s", module);
	g_autofree char *path = g_strdup_printf("%s/initstate", dir);
	g_autofree char *text = NULL;

	if (!read_if_there(root, path, &text, error))
		return FALSE;
	if (!text)
		*state = rdmad_sysroot_exists(root, dir) ? ERDMA_MODULE_LIVE : ERDMA_MODULE_ABSENT;
	else if (strcmp(text, "coming") == 0)
		*state = ERDMA_MODULE_COMING;
	else
		*state = strcmp(text, "going") == 0 ? ERDMA_MODULE_GOING : ERDMA_MODULE_LIVE;
	return TRUE;
}

/* Every module of OFED needs mlx_compat. */
static gboolean mode_read(const RdmadSysroot *root, const char *module, ErdmaFacts *facts,
			  GError **error)
{
	g_autofree char *path = g_strdup_printf("sys/module/%s/parameters/compat_mode", module);
	g_autofree char *text = NULL;

	if (!read_if_there(root, path, &text, error))
		return FALSE;
	facts->has_modes = text != NULL;
	if (!text)
		facts->mode = ERDMA_MODE_UNKNOWN;
	else if (text[0] != 'Y' && text[0] != '1')
		facts->mode = ERDMA_MODE_DEFAULT;
	else
		facts->mode = rdmad_sysroot_exists(root, "sys/module/mlx_compat")
				      ? ERDMA_MODE_OFED
				      : ERDMA_MODE_COMPAT;
	return TRUE;
}

/* A PCI function whose IDs cannot be read is not the driver's. */
static gboolean nic_read(const RdmadSysroot *root, const char *pci_device, gboolean *found,
			 GError **error)
{
	const guint64 vendor = g_ascii_strtoull(pci_device, NULL, 16);
	const guint64 device = pci_device[0] ? g_ascii_strtoull(pci_device + 5, NULL, 16) : 0;
	g_autoptr(GError) wrong = NULL;
	g_auto(GStrv) names = NULL;

	*found = pci_device[0] == '\0';
	if (*found)
		return TRUE;
	names = rdmad_sysroot_list(root, "sys/bus/pci/devices", &wrong);
	if (!names && !g_error_matches(wrong, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND)) {
		g_propagate_error(error, g_steal_pointer(&wrong));
		return FALSE;
	}
	for (guint i = 0; names && names[i] && !*found; i++) {
		g_autofree char *v = g_strdup_printf("sys/bus/pci/devices/%s/vendor", names[i]);
		g_autofree char *d = g_strdup_printf("sys/bus/pci/devices/%s/device", names[i]);
		gint64 function_vendor, function_device;

		*found = rdmad_sysroot_read_int(root, v, &function_vendor, NULL) &&
			 (guint64)function_vendor == vendor &&
			 rdmad_sysroot_read_int(root, d, &function_device, NULL) &&
			 (guint64)function_device == device;
	}
	return TRUE;
}

/* smc may be built into the kernel without a directory in /sys/module. */
static gboolean companions_read(const RdmadSysroot *root, ErdmaFacts *facts, GError **error)
{
	for (guint i = 0; i < ERDMA_COMPANION_COUNT; i++) {
		ErdmaModuleState state;

		if (!module_read(root, erdma_companion_names[i], &state, error))
			return FALSE;
		facts->companion[i] = state == ERDMA_MODULE_LIVE;
	}
	if (rdmad_sysroot_exists(root, "proc/sys/net/smc"))
		facts->companion[ERDMA_COMPANION_SMC] = TRUE;
	return TRUE;
}

static gboolean files_read(const RdmadSysroot *root, const char *module, ErdmaFacts *facts,
			   GError **error)
{
	const char *names[ERDMA_COMPANION_COUNT + 2] = { erdma_companion_names[0],
							 erdma_companion_names[1], module, NULL };
	RdmadKernelModuleFile files[ERDMA_COMPANION_COUNT + 1];

	if (!rdmad_kernel_modules_find(root, names, files, error))
		return FALSE;
	memcpy(facts->companion_file, files, sizeof(facts->companion_file));
	facts->file = files[ERDMA_COMPANION_COUNT];
	return TRUE;
}

ErdmaFacts *erdma_facts_read(const RdmadSysroot *root, const char *module, const char *pci_device,
			     GError **error)
{
	g_autofree ErdmaFacts *facts = g_new0(ErdmaFacts, 1);

	if (!nic_read(root, pci_device, &facts->has_nic, error) ||
	    !module_read(root, module, &facts->module, error) ||
	    !mode_read(root, module, facts, error) || !companions_read(root, facts, error) ||
	    !files_read(root, module, facts, error))
		return NULL;
	return g_steal_pointer(&facts);
}

gboolean erdma_module_has_device(const char *module, const RdmadDevice *dev)
{
	return dev->driver && (strcmp(dev->driver, module) == 0 ||
			       (g_str_has_prefix(module, "rdma_") &&
				strcmp(dev->driver, module + strlen("rdma_")) == 0));
}

/* The mainline driver has no parameter, so its devices determine the mode. */
void erdma_facts_add_devices(ErdmaFacts *facts, RdmadInventory *inventory, const char *module)
{
	for (guint i = 0; i < rdmad_inventory_count(inventory); i++) {
		const RdmadDevice *dev = rdmad_inventory_nth(inventory, i);

		if (!erdma_module_has_device(module, dev))
			continue;
		facts->devices++;
		facts->devices_compat += dev->node_type == RDMAD_NODE_CA;
	}
	facts->has_gpu = rdmad_inventory_gpu_count(inventory) > 0;
	if (facts->module == ERDMA_MODULE_LIVE && !facts->has_modes && facts->devices > 0)
		facts->mode = facts->devices_compat ? ERDMA_MODE_COMPAT : ERDMA_MODE_DEFAULT;
}
