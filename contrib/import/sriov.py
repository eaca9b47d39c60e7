# SPDX-License-Identifier: Apache-2.0
"""The SR-IOV network device plugin (k8snetworkplumbingwg/sriov-network-device-plugin)

A pool is a list of functions, one slot each, with their NUMA nodes.  A device is in the first pool that selects it.
Pools without RDMA are not imported.
"""

from typing import Any

from documents import Value
from fields import (Lost, Selector, Table, acpi_index, boolean, get, link_type, mappings, netdev_range, one_name,
                    pattern, pci_address, pci_id, pci_range, pkey, read, sequence, text)
from resources import Choice, Group, Import, Resource, group_values

DEFAULT_PREFIX = "intel.com"
GROUPS_MAX = 32

CONFIG: Table = {"resourceList": sequence}
POOL: Table = {
    "resourceName": text, "resourcePrefix": text, "deviceType": text, "excludeTopology": boolean,
    "isRdma": boolean,  # its place in older versions
    "selectors": mappings,
    "additionalInfo": Lost("containers get only attributes that rdmad has read itself"),
}
SELECTORS: dict[str, Selector] = {
    "vendors": Selector("vendors", pci_id),
    "devices": Selector("devices", pci_id),
    "drivers": Selector("drivers", one_name),
    "pciAddresses": Selector("pci_addresses", pci_address),
    "acpiIndexes": Selector("acpi_indexes", acpi_index),
    "auxTypes": Selector("aux_types", pattern),
    "pfNames": Selector("pf_names", netdev_range),
    "rootDevices": Selector("root_devices", pci_range),
    "linkTypes": Selector("link_layers", link_type),
    "pKeys": Selector("pkeys", pkey),
}
GROUP: Table = {
    **SELECTORS, "isRdma": boolean, "needVhostNet": boolean, "vdpaType": text,
    "ddpProfiles": Lost("profiles of Intel's packet parser are nothing of RDMA; devices with any profile are selected"),
}


def drop(imported: Import, path: str, group: Group, ours: str, why: str) -> None:
    if group.pop(ours, None):
        imported.lose(path, why)


def apply_device_type(imported: Import, path: str, group: Group, aux: bool) -> None:
    """A pool has either functions or subfunctions (auxNetDevice); each type has its own selectors."""
    if not aux:
        drop(imported, path, group, "aux_types", "auxTypes is for deviceType auxNetDevice only")
        group["aux_types"] = Choice(["!*"], "no subfunctions")
        return
    for theirs in ("pciAddresses", "acpiIndexes", "pKeys"):
        drop(imported, path, group, SELECTORS[theirs].ours, f"{theirs} is not for deviceType auxNetDevice")
    group.setdefault("aux_types", Choice(["*"], "only subfunctions"))


def drop_second_range(imported: Import, path: str, group: Group, ours: str) -> None:
    """Of "ens1f0#0-3" and "ens1f0#7" in one list, the plugin uses only the first."""
    if ours not in group:
        return
    kept: dict[str, str] = {}
    for value in group[ours].values:
        interface = value.partition("#")[0].lower()
        if interface in kept:
            imported.lose(path, "of several entries for one interface the plugin uses the first only")
        else:
            kept[interface] = value
    group[ours] = Choice(list(kept.values()))


def complete_group(imported: Import, path: str, group: Group, aux: bool) -> None:
    drop_second_range(imported, path, group, "pf_names")
    drop_second_range(imported, path, group, "root_devices")
    if not aux and not group.keys() & {"pci_addresses", "pf_names", "root_devices", "acpi_indexes"}:
        imported.mind(path, "the plugin left out the interface of the default route; if it is one of these, "
                            'add netdevs = "!NAME"')
    apply_device_type(imported, path, group, aux)


def add_group(imported: Import, path: str, pool: dict[str, Any], value: Value, groups: list[Group]) -> None:
    found = read(imported, path, value, GROUP)
    if found.values.get("vdpaType"):
        imported.lose(path, "vdpaType: vDPA devices are not RDMA devices; leave them to the SR-IOV plugin")
        return
    if not found.values.get("isRdma") and not pool.get("isRdma"):
        imported.lose(path, "isRdma is not true, so these are network functions without RDMA; leave them to the "
                            "SR-IOV plugin")
        return
    if found.values.get("needVhostNet"):
        imported.lose(f"{path}.needVhostNet", "rdmad does not hand out /dev/vhost-net and /dev/net/tun")
    complete_group(imported, path, found.group, pool.get("deviceType") == "auxNetDevice")
    groups.append(found.group)


def pool_groups(imported: Import, path: str, pool: dict[str, Any]) -> list[Group]:
    groups: list[Group] = []
    given = pool["selectors"]
    if isinstance(given, dict):
        add_group(imported, path, pool, given, groups)
        return groups
    if len(given) > GROUPS_MAX:
        imported.refuse(path, f"more than {GROUPS_MAX} groups")
    for i, value in enumerate(given):
        add_group(imported, f"{path}[{i}]", pool, value, groups)
    return groups


def is_duplicate(imported: Import, path: str, groups: list[Group]) -> bool:
    """A device is in the first pool that selects it, so a second pool with the same selectors is empty."""
    for other in imported.resources:
        if other.exclusive and list(map(group_values, other.groups)) == list(map(group_values, groups)):
            imported.lose(path, f"{other.origin} takes the same devices before it")
            return True
    return False


def pool_prefix(imported: Import, path: str, pool: dict[str, Any]) -> str:
    for prefix in (pool.get("resourcePrefix") or None, imported.options.prefix, imported.source.prefix):
        if prefix is not None:
            return str(prefix)
    imported.mind(f"{path}.resourcePrefix", f"absent, so {DEFAULT_PREFIX} as the plugin has it; if that was started "
                                            "with -resource-prefix, give --resource-prefix here")
    return DEFAULT_PREFIX


def add_pool(imported: Import, path: str, name: str, groups: list[Group], numa: bool) -> None:
    imported.add(Resource(name, path, groups, exclusive=True, numa=numa))


def add_configured(imported: Import, path: str, value: Value) -> None:
    pool = read(imported, path, value, POOL).values
    device_type = pool.get("deviceType")
    if "resourceName" not in pool:
        imported.refuse(path, "resourceName is missing")
    if device_type and device_type not in ("netDevice", "auxNetDevice", "accelerator"):
        imported.refuse(path, f'deviceType "{device_type}" is neither netDevice, auxNetDevice nor accelerator')
    if "selectors" not in pool:
        imported.refuse(path, "selectors are missing")
    if device_type == "accelerator":
        imported.lose(path, "accelerators are not RDMA devices; leave them to the SR-IOV plugin")
        return
    groups = pool_groups(imported, f"{path}.selectors", pool)
    if groups and not is_duplicate(imported, path, groups):
        add_pool(imported, path, f"{pool_prefix(imported, path, pool)}/{pool['resourceName']}", groups,
                 numa=not pool.get("excludeTopology"))


def is_sriov(config: Value) -> bool:
    return get(config, "resourceList") is not None


def import_sriov(imported: Import) -> None:
    config = read(imported, "", imported.source.config, CONFIG).values
    for i, value in enumerate(config.get("resourceList", [])):
        add_configured(imported, f"resourceList[{i}]", value)
