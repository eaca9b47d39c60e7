# SPDX-License-Identifier: Apache-2.0
"""ACK eRDMA Controller: the values of its Helm chart, the parameters of its add-on, or its config.json

The chart has the agent's settings in a group, the add-on beside the others, and config.json not at all: they are
arguments of the agent, of which wrappers.py makes a group.  The agent's settings become the module erdma and
aliyun/erdma.  The controller itself, which makes and attaches network interfaces by the cloud's API, stays as it is.
"""

from typing import Any

from documents import Value
from fields import Lost, Table, boolean, get, one_name, read, sequence, text
from resources import Choice, Import, Resource

SLOTS = 200  # per device
RESOURCE = "aliyun/erdma"
DRIVERS = ("default", "compat", "ofed")

AGENT: Table = {
    "preferDriver": text, "allocateAllDevices": boolean, "exposedLocalERIs": sequence,
    "jumboFrameMTU": Lost("see the MTU of the NICs in rdmad-erdma(7)"),
}
BY_CONTROLLER = Lost("the controller's, which stays")
NO_INIT_CONTAINER = Lost("rdmad needs no init container for SMC-R; remove the webhook")
# Keys of `config`, which becomes config.json.
CONTROLLER: Table = {
    "enableDevicePlugin": boolean,
    "localERIDiscovery": Lost("rdmad always reads the node itself"),
    **dict.fromkeys(("enableWebhook", "enableInitContainerInject", "smcInitImage"), NO_INIT_CONTAINER),
    **dict.fromkeys(("manageNonOwnedENIs", "region", "controllerNamespace", "controllerName", "clusterDomain",
                     "certDir", "waitNodeReadyTimeoutSeconds", "nodeSelector", "credentials"), BY_CONTROLLER),
}


def has_agent_keys(value: Value) -> bool:
    return get(value, "preferDriver") is not None or get(value, "allocateAllDevices") is not None


def is_erdma(config: Value) -> bool:
    return (has_agent_keys(get(config, "agent")) or has_agent_keys(config)
            or get(config, "manageNonOwnedENIs") is not None or get(config, "enableDevicePlugin") is not None
            or get(get(config, "config"), "localERIDiscovery") is not None)


def the_resource(imported: Import) -> Resource:
    """That of an earlier source, or a new one."""
    return imported.find(RESOURCE) or imported.add(Resource(
        RESOURCE, "agent", [{"drivers": Choice(["erdma"])}], SLOTS, per_device=True, numa=True))


def import_exposed(imported: Import, path: str, entries: list[Value], resource: Resource) -> None:
    """Entries "i-XXX erdma_0/erdma_1"; "i-*" is every instance.  The imported configuration is for all nodes and cannot
    hold the entries of one instance."""
    names: list[str] = []
    for entry in entries:
        if not isinstance(entry, str):
            imported.refuse(path, "an entry is not text")
        instance, blank, devices = entry.partition(" ")
        if instance != "i-*" or not blank:
            imported.lose(path, "an entry for one instance: give that node a selector `names` in a drop-in of its own")
            continue
        names += [name for name in devices.strip(" \t\n\f\r").split("/") if name]
    for name in names:
        try:
            one_name(name)
        except ValueError as error:
            imported.refuse(path, str(error))
    if names:
        imported.mind(path, "a slot gave all devices with it")
        resource.all_devices = True
        resource.groups[0]["names"] = Choice(names)


def import_agent(imported: Import, group: str, values: Value) -> None:
    """`group` is the path of the settings, or "" if they are beside the controller's."""
    before = f"{group}." if group else ""
    resource = the_resource(imported)
    agent: dict[str, Any] = read(imported, group, values, AGENT).values
    resource.all_devices = agent.get("allocateAllDevices", False)
    import_exposed(imported, f"{before}exposedLocalERIs", agent.get("exposedLocalERIs", []), resource)
    prefer = agent.get("preferDriver", "")
    if prefer and prefer not in DRIVERS:
        imported.refuse(f"{before}preferDriver", f'"{prefer}" is not one of "default", "compat", "ofed"')
    # "" means "auto": the choice depends on the GPUs if the driver is not loaded yet.
    imported.erdma_driver = prefer or "auto"
    imported.mind("agent", "a missing driver is not downloaded: see driver.install in rdmad-erdma(7)")


def import_controller(imported: Import, path: str, config: Value) -> None:
    controller = read(imported, path, config, CONTROLLER).values
    if not controller.get("enableDevicePlugin", True):
        imported.lose("enableDevicePlugin", "false: remove the resource below if nothing is to offer it")
    if not imported.erdma_driver:
        imported.erdma_driver = "auto"
        imported.mind("agent", "its arguments --prefer-driver and --allocate-all-devices are not here: import its "
                               "DaemonSet too, or set prefer_driver and expose")
    the_resource(imported)


def import_erdma(imported: Import) -> None:
    values = imported.source.config
    agent, config = get(values, "agent"), get(values, "config")
    if agent is None and config is None and has_agent_keys(values):
        of_agent = {key.lower() for key in AGENT}
        import_agent(imported, "", {key: value for key, value in values.items() if key.lower() in of_agent})
        import_controller(imported, "", {key: value for key, value in values.items() if key.lower() not in of_agent})
        return
    if agent is not None:
        import_agent(imported, "agent", agent)
    if config is not None:
        import_controller(imported, "config", config)
    elif agent is None:
        import_controller(imported, "", values)
