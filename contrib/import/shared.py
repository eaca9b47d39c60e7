# SPDX-License-Identifier: Apache-2.0
"""The RDMA shared device plugin (Mellanox/k8s-rdma-shared-dev-plugin)

A pool is rdmaHcaMax slots without a NUMA node, and each slot gives all devices of the pool.  A device may be in
several pools.
"""

from documents import Value
from fields import Lost, Selector, Table, get, link_type, mapping, number, one_name, pci_id, read, sequence, text
from resources import Group, Import, Resource

SLOTS_MAX = 32768  # the limit of rdmad's device-plugin for one resource

NO_INTERVAL = Lost("the kernel notifies rdmad of devices; no interval is needed")

CONFIG: Table = {"configList": sequence, "periodicUpdateInterval": number}
POOL: Table = {
    "resourceName": text, "resourcePrefix": text, "rdmaHcaMax": number, "selectors": mapping,
    "devices": Selector("netdevs", one_name),
}
SELECTORS: Table = {
    "vendors": Selector("vendors", pci_id),
    "deviceIDs": Selector("devices", pci_id),
    "drivers": Selector("drivers", one_name),
    "ifNames": Selector("netdevs", one_name),
    "linkTypes": Selector("link_layers", link_type),
}


def add_pool(imported: Import, path: str, name: str | None, prefix: str | None, slots: int, group: Group) -> None:
    if name is None:
        imported.refuse(path, "resourceName is missing")
    if not group:
        imported.refuse(path, "neither selectors nor devices are given")
    if slots == 0:
        imported.lose(path, "rdmaHcaMax is 0 or absent, so nothing was offered")
        return
    if slots > SLOTS_MAX:
        imported.mind(f"{path}.rdmaHcaMax", f"{SLOTS_MAX} is the most that rdmad offers")
    imported.add(Resource(f"{prefix or 'rdma'}/{name}", path, [group], min(slots, SLOTS_MAX)))


def add_configured(imported: Import, path: str, value: Value) -> None:
    pool = read(imported, path, value, POOL)
    group = pool.group
    if "selectors" in pool.values:
        selected = read(imported, f"{path}.selectors", pool.values["selectors"], SELECTORS).group
        if "resourceName" in pool.values and selected and group:
            imported.refuse(path, "only one of devices and selectors may be given")
        group = selected or group
    add_pool(imported, path, pool.values.get("resourceName"), pool.values.get("resourcePrefix"),
             pool.values.get("rdmaHcaMax", 0), group)


def share(resources: list[Resource]) -> None:
    """Resources that may have a device in common share it."""
    for one in resources:
        one.shared_with = [other.name for other in resources if other is not one and one.overlaps(other)]


def is_shared(config: Value) -> bool:
    return get(config, "configList") is not None


def import_shared(imported: Import) -> None:
    first = len(imported.resources)
    config = read(imported, "", imported.source.config, CONFIG).values
    if "periodicUpdateInterval" in config:
        imported.lose("periodicUpdateInterval", NO_INTERVAL.why)
    for i, value in enumerate(config.get("configList", [])):
        add_configured(imported, f"configList[{i}]", value)
    share(imported.resources[first:])
