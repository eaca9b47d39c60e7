# SPDX-License-Identifier: Apache-2.0
"""Helm values of NVIDIA's network operator and of spiderpool, whose charts make a plugin's configuration from them"""

from documents import Plain, Value, flag
import shared
import sriov
from fields import Table, as_written, below, mapping, number, read, sequence, text
from resources import Import


def is_on(imported: Import, path: str, switch: Value) -> bool:
    """An absent switch is on: somebody has configured what it is for."""
    if flag(switch) is False:
        imported.lose(path, "false, so nothing was offered")
        return False
    return True


def with_number(values: dict[str, Value], key: str) -> dict[str, Value]:
    """The template prints the number without its quotes."""
    return values | {key: Plain(values[key])} if isinstance(values.get(key), str) else values


# ---- NVIDIA's network operator ----

SHARED = "rdmaSharedDevicePlugin"
SHARED_RESOURCE: Table = {"name": text, "rdmaHcaMax": number, **shared.SELECTORS}
SHARED_SLOTS = 1000

SRIOV = "sriovDevicePlugin"
SRIOV_PREFIX = "nvidia.com"
SRIOV_RESOURCE: Table = {"name": text, **{key: sriov.SELECTORS[key] for key in (
    "vendors", "devices", "drivers", "pfNames", "pciAddresses", "rootDevices", "linkTypes")}}


def is_operator(values: Value) -> bool:
    return isinstance(below(values, SHARED), dict) or isinstance(below(values, SRIOV), dict)


def operator_resources(imported: Import, key: str) -> list[tuple[str, dict[str, Value]]]:
    """The resources of a plugin with their paths."""
    plugin = below(imported.source.config, key)
    if not isinstance(plugin, dict) or not is_on(imported, f"{key}.deploy", plugin.get("deploy")):
        return []
    imported.source.cdi = flag(plugin.get("useCdi")) is True
    if plugin.get("resources") is None:
        imported.lose(f"{key}.resources", "absent, so the chart's default: `helm get values --all` prints it")
        return []
    paths = {f"{key}.resources[{i}]": value
             for i, value in enumerate(sequence(imported, f"{key}.resources", plugin["resources"]))}
    return [(path, mapping(imported, path, as_written(value))) for path, value in paths.items()]


def add_operator_shared(imported: Import, path: str, value: dict[str, Value]) -> None:
    resource = read(imported, path, with_number(value, "rdmaHcaMax"), SHARED_RESOURCE, "the chart")
    slots = resource.values.get("rdmaHcaMax", 0)
    if slots == 0:
        imported.mind(f"{path}.rdmaHcaMax", f"absent or 0, so {SHARED_SLOTS} as the chart has it; its later versions "
                                            "have 63")
    if "name" not in resource.values:
        imported.refuse(path, "name is missing")
    shared.add_pool(imported, path, resource.values["name"], None, slots or SHARED_SLOTS, resource.group)


def add_operator_sriov(imported: Import, path: str, value: dict[str, Value]) -> None:
    resource = read(imported, path, value, SRIOV_RESOURCE, "the chart")
    if "name" not in resource.values:
        imported.refuse(path, "name is missing")
    sriov.complete_group(imported, path, resource.group, aux=False)
    if not sriov.is_duplicate(imported, path, [resource.group]):
        sriov.add_pool(imported, path, f"{SRIOV_PREFIX}/{resource.values['name']}", [resource.group], numa=True)


def import_operator(imported: Import) -> None:
    first = len(imported.resources)
    if flag(below(imported.source.config, "deployCR")) is False:
        imported.mind("deployCR", "false, so the chart made no NicClusterPolicy; the one of the cluster counts")
    for path, value in operator_resources(imported, SHARED):
        add_operator_shared(imported, path, value)
    shared.share(imported.resources[first:])
    for path, value in operator_resources(imported, SRIOV):
        add_operator_sriov(imported, path, value)


# ---- spiderpool ----

SPIDERPOOL = "rdma.rdmaSharedDevicePlugin"
SPIDERPOOL_DEFAULTS: dict[str, Value] = {
    "resourcePrefix": "spidernet.io", "resourceName": "hca_shared_devices", "rdmaHcaMax": 500, "vendors": "15b3",
    "deviceIDs": "1017",
}
SPIDERPOOL_CONFIG: Table = {
    **{key: shared.POOL[key] for key in ("resourceName", "resourcePrefix", "rdmaHcaMax")},
    **{key: shared.SELECTORS[key] for key in ("vendors", "deviceIDs", "ifNames")},
    "periodicUpdateInterval": shared.NO_INTERVAL,
}


def is_spiderpool(values: Value) -> bool:
    return isinstance(below(values, *SPIDERPOOL.split(".")), dict)


def import_spiderpool(imported: Import) -> None:
    plugin = below(imported.source.config, *SPIDERPOOL.split("."))
    path = f"{SPIDERPOOL}.deviceConfig"
    if not is_on(imported, f"{SPIDERPOOL}.install", plugin.get("install")):
        return
    given = mapping(imported, path, as_written(plugin.get("deviceConfig") or {}))
    for key, default in SPIDERPOOL_DEFAULTS.items():
        if given.get(key) is None:
            imported.mind(f"{path}.{key}", f"absent, so {default} as the chart has it")
            given = given | {key: default}
    # One text each, of which the template makes a list.
    lists = {key: [text(imported, f"{path}.{key}", given[key])] for key in ("vendors", "deviceIDs")}
    pool = read(imported, path, with_number(given | lists, "rdmaHcaMax"), SPIDERPOOL_CONFIG, "the chart")
    shared.add_pool(imported, path, pool.values["resourceName"], pool.values["resourcePrefix"],
                    pool.values["rdmaHcaMax"], pool.group)
