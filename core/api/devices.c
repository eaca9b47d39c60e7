/* SPDX-License-Identifier: Apache-2.0 */
/* GET /api/v1/devices, GET /api/v1/devices/NAME: all members of struct RdmadDevice */
#include <rdmad/inventory.h>

#include "hardware/verbs/verbs.h"
#include "api/json.h"
#include "hardware/device.h"
#include "module/host.h"

static json_t *gid_json(const RdmadGid *gid)
{
	json_t *object = json_object();
	char text[40];

	rdmad_gid_format(gid->raw, text);
	api_set(object, "index", json_integer(gid->index));
	api_set(object, "gid", json_string(text));
	api_set(object, "type", json_string(rdmad_gid_type_name(gid->type)));
	api_set(object, "netdev", rdmad_json_string(gid->netdev));
	return object;
}

static const char *phys_state_name(int state)
{
	static const char *const names[] = { NULL,
					     "sleep",
					     "polling",
					     "disabled",
					     "training",
					     "link up",
					     "link error recovery",
					     "phy test" };

	return state > 0 && state < (int)G_N_ELEMENTS(names) ? names[state] : NULL;
}

static json_t *port_json(const RdmadPort *port, const RdmadVerbsLimits *limits)
{
	json_t *object = json_object();
	json_t *gids = json_array();

	for (guint i = 0; i < port->n_gids; i++)
		json_array_append_new(gids, gid_json(&port->gids[i]));
	api_set(object, "number", json_integer(port->number));
	api_set(object, "link_layer", json_string(rdmad_link_layer_name(port->link_layer)));
	api_set(object, "state",
		port->state == RDMAD_UNKNOWN
			? json_null()
			: rdmad_json_string(rdmad_port_state_name(port->state)));
	api_set(object, "phys_state", rdmad_json_string(phys_state_name(port->phys_state)));
	api_set(object, "rate_mbps", api_json_number(port->rate_mbps));
	api_set(object, "rate_text", rdmad_json_string(port->rate_text));
	api_set(object, "lid", api_json_number(port->lid));
	api_set(object, "sm_lid", api_json_number(port->sm_lid));
	api_set(object, "pkey0", api_json_hex(port->pkey0));
	api_set(object, "netdev", rdmad_json_string(port->netdev));
	api_set(object, "netdev_in_pod", rdmad_json_string(port->netdev_in_pod));
	api_set(object, "transitions", json_integer((json_int_t)port->transitions));
	api_set(object, "flaps", json_integer((json_int_t)port->flaps));
	api_set(object, "gid_changes", json_integer((json_int_t)port->gid_changes));
	api_set(object, "last_state_change", api_json_time(port->changed_us));
	api_set(object, "gids", gids);
	api_set(object, "limits", api_port_limits_json(limits, port->number));
	return object;
}

/* 1, 0 or RDMAD_UNKNOWN */
static json_t *flag_json(int flag)
{
	return flag == RDMAD_UNKNOWN ? json_null() : json_boolean(flag);
}

static json_t *netdev_json(const RdmadNetdev *netdev)
{
	json_t *object = json_object();

	api_set(object, "name", rdmad_json_string(netdev->name));
	api_set(object, "ifindex", json_integer(netdev->ifindex));
	api_set(object, "mac", rdmad_json_string(netdev->mac));
	api_set(object, "mtu", api_json_number(netdev->mtu));
	api_set(object, "up", flag_json(netdev->up));
	api_set(object, "carrier", flag_json(netdev->carrier));
	api_set(object, "carrier_changes", api_json_number(netdev->carrier_changes));
	api_set(object, "operstate", rdmad_json_string(netdev->operstate));
	api_set(object, "speed_mbps", api_json_number(netdev->speed_mbps));
	api_set(object, "master", rdmad_json_string(netdev->master));
	api_set(object, "addresses", api_json_strings(netdev->addresses));
	return object;
}

static json_t *chardev_json(const RdmadChardev *chardev)
{
	json_t *object = json_object();

	api_set(object, "kind", json_string(rdmad_chardev_kind_name(chardev->kind)));
	api_set(object, "path", rdmad_json_string(chardev->path));
	api_set(object, "major", json_integer(chardev->major));
	api_set(object, "minor", json_integer(chardev->minor));
	return object;
}

static void device_add_identity(json_t *object, const RdmadDevice *dev)
{
	g_autofree char *role = rdmad_device_role_text(dev);

	api_set(object, "device_id", rdmad_json_string(dev->id));
	api_set(object, "device_name", rdmad_json_string(dev->name));
	api_set(object, "index", api_json_number(dev->index));
	api_set(object, "node_type", rdmad_json_string(rdmad_node_type_name(dev->node_type)));
	api_set(object, "transport", rdmad_json_string(api_device_transport(dev)));
	api_set(object, "role", json_string(rdmad_device_role_name(rdmad_device_role(dev))));
	api_set(object, "role_reason", rdmad_json_string(role));
	api_set(object, "parent", rdmad_json_string(dev->parent));
	api_set(object, "node_guid", rdmad_json_string(dev->node_guid));
	api_set(object, "sys_image_guid", rdmad_json_string(dev->sys_image_guid));
	api_set(object, "driver", rdmad_json_string(dev->driver));
	api_set(object, "firmware", rdmad_json_string(dev->firmware));
	api_set(object, "board_id", rdmad_json_string(dev->board_id));
	api_set(object, "hca_type", rdmad_json_string(dev->hca_type));
}

static void device_add_pci(json_t *object, const RdmadDevice *dev)
{
	static const char *const roles[] = { "plain", "pf", "vf" };

	api_set(object, "pci_address", rdmad_json_string(dev->pci_address));
	api_set(object, "vendor", api_json_hex(dev->vendor));
	api_set(object, "pci_device_id", api_json_hex(dev->device));
	api_set(object, "subsystem_vendor", api_json_hex(dev->subsystem_vendor));
	api_set(object, "subsystem_device", api_json_hex(dev->subsystem_device));
	api_set(object, "numa_node", api_json_number(dev->numa_node));
	api_set(object, "pci_path", api_json_strings(dev->pci_path));
	api_set(object, "pci_role",
		dev->pci_address ? json_string(roles[dev->pci_role]) : json_null());
	api_set(object, "pf_address", rdmad_json_string(dev->pf_address));
	api_set(object, "pf_netdevs", api_json_strings(dev->pf_netdevs));
	api_set(object, "pf_link", flag_json(dev->pf_link));
	api_set(object, "vf_index", api_json_number(dev->vf_index));
	api_set(object, "num_vfs", api_json_number(dev->num_vfs));
	api_set(object, "aux_name", rdmad_json_string(dev->aux_name));
	api_set(object, "sf_number", api_json_number(dev->sf_number));
	api_set(object, "acpi_index", api_json_number(dev->acpi_index));
}

static void device_add_place(const RdmadServices *services, json_t *object, const RdmadDevice *dev)
{
	const RdmadAwayDevice *away = rdmad_inventory_find_away(services->inventory, dev->id);

	api_set(object, "place", json_string(away ? "pod" : "host"));
	api_set(object, "place_allocation", rdmad_json_string(away ? away->allocation : NULL));
	api_set(object, "place_since", api_json_time(away ? away->since_us : 0));
}

static json_t *nearest_gpu_json(const RdmadServices *services, const RdmadDevice *dev)
{
	RdmadDistance distance;
	guint index;
	const RdmadGpu *gpu = api_nearest_gpu(services, dev, &distance, &index);
	json_t *object;

	if (!gpu)
		return json_null();
	object = json_object();
	api_set(object, "index", json_integer(index));
	api_set(object, "pci_address", rdmad_json_string(gpu->pci_address));
	api_set(object, "distance", json_string(rdmad_distance_name(distance)));
	return object;
}

static void device_add_parts(json_t *object, const RdmadDevice *dev, const RdmadVerbsLimits *limits)
{
	json_t *ports = json_array(), *netdevs = json_array(), *chardevs = json_array();

	for (guint i = 0; i < dev->n_ports; i++)
		json_array_append_new(ports, port_json(&dev->ports[i], limits));
	for (guint i = 0; i < dev->n_netdevs; i++)
		json_array_append_new(netdevs, netdev_json(&dev->netdevs[i]));
	for (guint i = 0; i < dev->n_chardevs; i++)
		json_array_append_new(chardevs, chardev_json(&dev->chardevs[i]));
	api_set(object, "ports", ports);
	api_set(object, "netdevs", netdevs);
	api_set(object, "bond", rdmad_json_string(dev->bond));
	api_set(object, "chardevs", chardevs);
	api_set(object, "fatal", json_boolean(dev->fatal));
	api_set(object, "stale", json_boolean(dev->stale > 0));
	api_set(object, "problems", api_json_strings(dev->problems));
}

ApiHealth api_device_health(const RdmadServices *services, const RdmadDevice *dev)
{
	ApiHealth health = { NULL, NULL, FALSE };

	health.offered =
		rdmad_modules_device_health(services->modules, dev, &health.problem, &health.rest);
	if (!health.offered && (dev->fatal || rdmad_device_role(dev) == RDMAD_ROLE_NIC)) {
		health.problem = rdmad_device_problem(dev, NULL, NULL);
		health.rest = rdmad_device_rest(dev, NULL, NULL);
	}
	return health;
}

json_t *api_device_json(const RdmadServices *services, const RdmadDevice *dev)
{
	json_t *object = json_object();
	const ApiHealth health = api_device_health(services, dev);
	const char *verbs_problem =
		services->verbs ? rdmad_verbs_problem(services->verbs, dev->id) : NULL;
	const RdmadVerbsLimits *limits =
		services->verbs ? rdmad_verbs_limits(services->verbs, dev->id) : NULL;

	device_add_identity(object, dev);
	device_add_pci(object, dev);
	device_add_place(services, object, dev);
	api_set(object, "nearest_gpu", nearest_gpu_json(services, dev));
	device_add_parts(object, dev, limits);
	api_set(object, "health", json_string(health.problem ? "unhealthy" : "healthy"));
	api_set(object, "health_reason", rdmad_json_string(health.problem));
	api_set(object, "rest_reason", rdmad_json_string(health.rest));
	api_set(object, "limits", api_limits_json(limits));
	api_set(object, "verbs_problem", rdmad_json_string(verbs_problem));
	return object;
}

const char *api_device_transport(const RdmadDevice *dev)
{
	if (dev->node_type == RDMAD_NODE_RNIC)
		return "iWARP";
	if (dev->node_type != RDMAD_NODE_CA || dev->n_ports == 0)
		return NULL;
	switch (dev->ports[0].link_layer) {
	case RDMAD_LINK_LAYER_INFINIBAND:
		return "InfiniBand";
	case RDMAD_LINK_LAYER_ETHERNET:
		return "RoCE";
	case RDMAD_LINK_LAYER_UNKNOWN:
		break;
	}
	return NULL;
}

static int compare_names(gconstpointer a, gconstpointer b)
{
	const RdmadDevice *const *x = a, *const *y = b;

	return rdmad_natural_compare((*x)->name, (*y)->name);
}

GPtrArray *api_devices_by_name(const RdmadServices *services)
{
	GPtrArray *devices = g_ptr_array_new();

	for (guint i = 0; i < rdmad_inventory_count(services->inventory); i++)
		g_ptr_array_add(devices, (gpointer)rdmad_inventory_nth(services->inventory, i));
	g_ptr_array_sort(devices, compare_names);
	return devices;
}

static GBytes *devices_build(const RdmadServices *services, gconstpointer read)
{
	g_autoptr(GPtrArray) sorted = rdmad_inventory_list_everywhere(services->inventory);
	json_t *devices = json_array();

	g_ptr_array_sort(sorted, compare_names);
	for (guint i = 0; i < sorted->len; i++)
		json_array_append_new(devices,
				      api_device_json(services, g_ptr_array_index(sorted, i)));
	return api_json_bytes(json_pack("{s:o}", "devices", devices));
}

static const ApiResource devices_resource = { .build = devices_build };

void api_get_devices(RdmadHttpRequest *request, gpointer data)
{
	api_reply_shared(request, data, API_SHARED_DEVICES, &devices_resource);
}

const RdmadDevice *api_find_device(const RdmadServices *services, const char *name)
{
	return rdmad_inventory_lookup(services->inventory, name)
		       ?: rdmad_inventory_lookup_name(services->inventory, name);
}

void api_get_device(RdmadHttpRequest *request, gpointer data)
{
	const RdmadServices *services = data;
	const char *name = rdmad_http_request_tail(request);
	const RdmadDevice *dev = rdmad_inventory_find_everywhere(services->inventory, name);

	if (dev)
		rdmad_http_reply_json(request, api_device_json(services, dev));
	else
		rdmad_http_fail(request, 404, "there is no RDMA device \"%s\"", name);
}
