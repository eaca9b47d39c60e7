/* SPDX-License-Identifier: Apache-2.0 */
#include "pf-use.h"

static const RdmadResourceSettings *resource_of(const RdmadDevice *vf, const GPtrArray *resources)
{
	for (guint i = 0; i < resources->len; i++) {
		const RdmadResourceSettings *resource = resources->pdata[i];

		if (rdmad_selector_takes(&resource->selector, vf))
			return resource;
	}
	return NULL;
}

/* While RDMA devices are seen everywhere, what tells is that the interface has gone to a pod. */
static gboolean has_lost_its_interface(const RdmadDevice *vf)
{
	return vf->n_netdevs == 0 && vf->n_ports > 0 &&
	       vf->ports[0].link_layer == RDMAD_LINK_LAYER_ETHERNET;
}

static char *vf_use(const RdmadDevice *vf, const GPtrArray *resources)
{
	const RdmadResourceSettings *resource = resource_of(vf, resources);

	if (resource)
		return g_strdup_printf("its virtual function %s is in %s", vf->name,
				       resource->name);
	if (has_lost_its_interface(vf))
		return g_strdup_printf("the interface of its virtual function %s is in a pod",
				       vf->name);
	return NULL;
}

char *rdmad_pf_use(const RdmadDevice *dev, const GPtrArray *devices, const GPtrArray *resources)
{
	int seen = 0;

	if (dev->pci_role != RDMAD_PCI_PF || dev->num_vfs <= 0)
		return NULL;
	for (guint i = 0; i < devices->len; i++) {
		const RdmadDevice *vf = devices->pdata[i];
		char *use;

		if (g_strcmp0(vf->pf_address, dev->pci_address) != 0)
			continue;
		seen++;
		use = vf_use(vf, resources);
		if (use)
			return use;
	}
	if (seen < dev->num_vfs)
		return g_strdup_printf("%d of its %d virtual functions are not RDMA devices here: "
				       "in pods or virtual machines, or without a driver",
				       dev->num_vfs - seen, dev->num_vfs);
	return NULL;
}
