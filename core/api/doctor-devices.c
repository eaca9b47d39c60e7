/* SPDX-License-Identifier: Apache-2.0 */
/* Drivers, device files, and every device */
#include <rdmad/allocations.h>
#include <rdmad/device.h>
#include <rdmad/inventory.h>
#include <rdmad/sysroot.h>
#include <string.h>

#include "hardware/verbs/verbs.h"
#include "api/doctor.h"
#include "api/json.h"
#include "service/handed-out.h"

static void check_any(const DoctorFiles *files, json_t *findings)
{
	if (!files->infiniband_missing)
		doctor_say(
			findings, RDMAD_FINDING_PROBLEM, "devices",
			"load the driver of your adapter (`modprobe mlx5_ib`, `bnxt_re`, `irdma`, "
			"...; `lspci -nn` shows the adapter, `dmesg` why a driver refused it)",
			"the RDMA core is loaded, but there is no RDMA device");
	else
		doctor_say(
			findings, RDMAD_FINDING_PROBLEM, "devices",
			"load the driver of your adapter (`modprobe mlx5_ib`, `bnxt_re`, `irdma`, "
			"...); to try rdmad without an adapter: `modprobe rdma_rxe; rdma link add "
			"rxe0 type rxe netdev eth0`",
			"no RDMA driver is loaded: there is no /sys/class/infiniband");
}

static void check_drivers(RdmadInventory *inventory, json_t *findings)
{
	g_autoptr(GHashTable) counts = g_hash_table_new(g_str_hash, g_str_equal);
	GHashTableIter iter;
	gpointer driver, count;

	for (guint i = 0; i < rdmad_inventory_count(inventory); i++) {
		const RdmadDevice *dev = rdmad_inventory_nth(inventory, i);
		char *name = dev->driver ?: (char *)"(no driver)";
		const gpointer n = g_hash_table_lookup(counts, name);

		g_hash_table_insert(counts, name, GUINT_TO_POINTER(GPOINTER_TO_UINT(n) + 1));
	}
	g_hash_table_iter_init(&iter, counts);
	while (g_hash_table_iter_next(&iter, &driver, &count))
		doctor_say(findings, RDMAD_FINDING_OK, "drivers", NULL, "%s: %u %s", (char *)driver,
			   GPOINTER_TO_UINT(count),
			   GPOINTER_TO_UINT(count) == 1 ? "device" : "devices");
}

static void check_nodes(const DoctorFiles *files, json_t *findings)
{
	if (!files->rdma_cm_missing)
		doctor_say(findings, RDMAD_FINDING_OK, "device files", NULL,
			   "/dev/infiniband/rdma_cm is there");
	else
		doctor_say(findings, RDMAD_FINDING_PROBLEM, "device files",
			   "`modprobe rdma_ucm`; in a container, mount the host's /dev",
			   "/dev/infiniband/rdma_cm is missing: connections by address (librdmacm) "
			   "will not work");
}

static void check_uverbs(const RdmadServices *services, const DoctorFiles *files,
			 const RdmadDevice *dev, json_t *findings)
{
	const RdmadChardev *uverbs = rdmad_device_chardev(dev, RDMAD_CHARDEV_UVERBS);

	if (!uverbs)
		doctor_say(findings, RDMAD_FINDING_PROBLEM, dev->name, "`modprobe ib_uverbs`",
			   "it has no uverbs device: no program can use it");
	else if (files && rdmad_sysroot_is_live(services->sysroot) &&
		 g_hash_table_contains(files->missing, uverbs->path))
		doctor_say(findings, RDMAD_FINDING_PROBLEM, dev->name,
			   "in a container, mount the host's /dev; on the host, see that udev or "
			   "devtmpfs makes the node",
			   "%s does not exist: pods cannot be given it", uverbs->path);
}

/* A device that cannot be opened has neither events nor limits. */
static void check_verbs(const RdmadVerbs *verbs, const RdmadDevice *dev, json_t *findings)
{
	const char *problem = rdmad_verbs_problem(verbs, dev->id);
	const char *limits_problem = rdmad_verbs_limits_problem(verbs, dev->id);
	const int gids_errnum = rdmad_verbs_gids_errnum(verbs, dev->id);

	if (problem)
		doctor_say(
			findings, RDMAD_FINDING_NOTE, dev->name,
			"give rdmad access to /dev/infiniband to learn of errors at once, and to "
			"read GID tables in one call; link changes are seen by netlink in any case",
			"no asynchronous events%s, and its GID tables are read from files: %s",
			rdmad_verbs_limits(verbs, dev->id) ? "" : " and no limits", problem);
	if (gids_errnum)
		doctor_say(findings, RDMAD_FINDING_NOTE, dev->name,
			   "rdmad works without; Linux 5.10 and later answer in one call",
			   "its GID tables are read from files, one an entry: %s",
			   g_strerror(gids_errnum));
	if (limits_problem)
		doctor_say(findings, RDMAD_FINDING_NOTE, dev->name,
			   "rdmad works without; see `dmesg`, and that the driver's library "
			   "(rdma-core, or the vendor's) fits the driver",
			   "%s", limits_problem);
}

static void check_problems(const RdmadServices *services, const RdmadDevice *dev, json_t *findings)
{
	for (char **problem = dev->problems; problem && *problem; problem++)
		doctor_say(findings, RDMAD_FINDING_NOTE, dev->name,
			   "rdmad works without this value; `dmesg` may show why the driver does "
			   "not give it",
			   "%s", *problem);
	if (services->verbs)
		check_verbs(services->verbs, dev, findings);
}

static const char *down_advice(const RdmadDevice *dev, const RdmadPort *port, gboolean rest)
{
	if (rest && port->link_layer == RDMAD_LINK_LAYER_INFINIBAND)
		return "the CNI plugin of the pod that gets it sets its GUIDs; by hand: "
		       "`ip link set PF vf N node_guid GUID port_guid GUID`, then bind its driver "
		       "again";
	if (rest)
		return "the CNI plugin of the pod that gets it alone sets it up; for the host, and "
		       "for pods that share it: `ip link set INTERFACE up`";
	if (dev->pf_link == 0)
		return "the link of its physical function is down: check the cable and the switch "
		       "port of that one, and set its interface up (`ip link`)";
	if (port->link_layer == RDMAD_LINK_LAYER_ETHERNET && dev->n_netdevs == 0)
		return "its interface is in another network namespace: set it up there (`rdmad "
		       "allocations` lists the pods), and check the cable and the switch port";
	if (port->link_layer == RDMAD_LINK_LAYER_ETHERNET)
		return "check the cable and the switch port, and set the interface up (`ip "
		       "link`)";
	if (port->state == RDMAD_PORT_INIT || port->state == RDMAD_PORT_ARMED)
		return "the link is up, but no subnet manager has taken it: see that opensm or the "
		       "switch's manager runs";
	return "check the cable and the switch port";
}

static gboolean port_has_gid(const RdmadPort *port, RdmadGidType type)
{
	for (guint i = 0; i < port->n_gids; i++)
		if (port->gids[i].type == type)
			return TRUE;
	return FALSE;
}

/* Returns TRUE if the port is a problem.  If the device is healthy, another port is active. */
static gboolean check_port(const RdmadDevice *dev, const RdmadPort *port, gboolean healthy,
			   json_t *findings)
{
	if (port->state == RDMAD_UNKNOWN)
		return FALSE;
	if (port->state != RDMAD_PORT_ACTIVE) {
		const gboolean rest = rdmad_port_is_at_rest(dev, port);

		doctor_say(findings, healthy ? RDMAD_FINDING_NOTE : RDMAD_FINDING_PROBLEM,
			   dev->name, down_advice(dev, port, rest), "port %u is %s%s", port->number,
			   rdmad_port_state_name(port->state),
			   rest ? ", and nobody has set it up" : "");
		return !healthy;
	}
	doctor_say(findings, RDMAD_FINDING_OK, dev->name, NULL, "port %u is active%s%s",
		   port->number, port->rate_text ? ", " : "", port->rate_text ?: "");
	if (dev->node_type != RDMAD_NODE_CA || port->link_layer != RDMAD_LINK_LAYER_ETHERNET ||
	    port_has_gid(port, RDMAD_GID_ROCE_V2))
		return FALSE;
	/* The interface may get its address in a pod. */
	doctor_say(findings, RDMAD_FINDING_NOTE, dev->name,
		   "give the interface an address (`ip addr add`); link-local IPv6 is enough "
		   "for one network",
		   "port %u has no RoCE v2 GID: nothing can be routed to it", port->number);
	return FALSE;
}

/* EFA and usNIC have no GUIDs, and no connections by address. */
static void check_guid(const RdmadDevice *dev, json_t *findings)
{
	const gboolean has_guids =
		dev->node_type == RDMAD_NODE_CA || dev->node_type == RDMAD_NODE_RNIC;

	if (has_guids && rdmad_device_lacks_guid(dev) && !rdmad_device_rest(dev, NULL, NULL))
		doctor_say(findings, RDMAD_FINDING_NOTE, dev->name,
			   dev->pci_role == RDMAD_PCI_VF
				   ? "`ip link set PF vf N node_guid GUID` (InfiniBand: port_guid "
				     "too), then bind the driver of the virtual function again"
				   : "its firmware or driver has to give it one",
			   "its node GUID is 0: connections by address (librdmacm) will not work");
}

/* Reports an unhealthy device whose problem no other check has reported. */
static void check_health(const RdmadDevice *dev, const char *problem, json_t *findings)
{
	doctor_say(findings, RDMAD_FINDING_PROBLEM, dev->name,
		   "`rdmad devices NAME` shows its ports, `rdmad explain NAME` its resources",
		   "unhealthy: %s", problem);
}

static void check_device(const RdmadServices *services, const DoctorFiles *files,
			 const RdmadDevice *dev, json_t *findings)
{
	const ApiHealth health = api_device_health(services, dev);
	g_autofree char *role = rdmad_device_role_text(dev);
	/* A device whose slots are withheld may be well, and in the pod that has it. */
	const gboolean works =
		!health.problem ||
		g_strcmp0(health.problem, rdmad_device_problem(dev, NULL, NULL)) != 0;
	gboolean known = dev->fatal || !rdmad_device_chardev(dev, RDMAD_CHARDEV_UVERBS);

	if (dev->fatal)
		doctor_say(findings, RDMAD_FINDING_PROBLEM, dev->name,
			   "`dmesg` may show the reason; reset the device or load its driver "
			   "again, rdmad "
			   "takes it up again once it was removed and added",
			   "its driver reports a fatal error and gave it up");
	if (role && !health.offered) {
		doctor_say(findings, RDMAD_FINDING_OK, dev->name, NULL, "no NIC: %s", role);
		return;
	}
	check_uverbs(services, files, dev, findings);
	for (guint i = 0; i < dev->n_ports; i++)
		known |= check_port(dev, &dev->ports[i], works, findings);
	if (health.problem && !known)
		check_health(dev, health.problem, findings);
	check_guid(dev, findings);
	check_problems(services, dev, findings);
}

typedef struct {
	const RdmadServices *services;
	json_t *findings;
	guint n; /* devices or allocations with a finding */
} Check;

static void check_away(const RdmadAwayDevice *away, gpointer data)
{
	Check *check = data;
	const RdmadAllocation *holder =
		rdmad_allocations_lookup(check->services->allocations, away->allocation);

	check->n++;
	if (!holder)
		doctor_say(check->findings, RDMAD_FINDING_PROBLEM, away->device->name,
			   "a process may still use the pod's network namespace: `lsns -t net` "
			   "lists the namespaces",
			   "it has not returned from the pod of its last holder");
	else if (holder->pod_name)
		doctor_say(check->findings, RDMAD_FINDING_OK, away->device->name, NULL,
			   "in the pod %s/%s", holder->pod_namespace, holder->pod_name);
	else
		doctor_say(check->findings, RDMAD_FINDING_OK, away->device->name, NULL,
			   "in the pod that it was given to");
}

#define FILES_FINDINGS_MAX 64u

static void check_files(const RdmadAllocation *allocation, gpointer data)
{
	Check *check = data;
	const GPtrArray *wrong = rdmad_handed_out_wrong(check->services->handed_out, allocation);
	g_autofree char *text = NULL;

	if (!wrong || check->n++ >= FILES_FINDINGS_MAX)
		return;
	text = rdmad_handed_out_text(wrong);
	doctor_say(
		check->findings, RDMAD_FINDING_PROBLEM, "device files",
		"restart the pod: delete it, and its controller makes another; a container keeps "
		"the files that it was given",
		"%s%s%s (allocation %s) has wrong ones: %s",
		allocation->pod_name ? allocation->pod_namespace : "an unknown pod",
		allocation->pod_name ? "/" : "", allocation->pod_name ?: "", allocation->id, text);
}

static void check_handed_out(const RdmadServices *services, json_t *findings)
{
	Check check = { services, findings, 0 };

	rdmad_allocations_foreach(services->allocations, check_files, &check);
	if (check.n > FILES_FINDINGS_MAX)
		doctor_say(findings, RDMAD_FINDING_PROBLEM, "device files",
			   "`rdmad allocations -o wide` lists them",
			   "%u more allocations have wrong ones", check.n - FILES_FINDINGS_MAX);
}

void doctor_check_devices(const RdmadServices *services, const DoctorFiles *files, json_t *findings)
{
	g_autoptr(GPtrArray) devices = api_devices_by_name(services);
	Check away = { services, findings, 0 };

	check_handed_out(services, findings);
	rdmad_inventory_foreach_away(services->inventory, check_away, &away);
	if (devices->len == 0) {
		if (files && !away.n)
			check_any(files, findings);
		return;
	}
	check_drivers(services->inventory, findings);
	if (files && rdmad_sysroot_is_live(services->sysroot)) /* a recording has no device files */
		check_nodes(files, findings);
	for (guint i = 0; i < devices->len; i++)
		check_device(services, files, g_ptr_array_index(devices, i), findings);
}
