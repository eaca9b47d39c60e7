# SPDX-License-Identifier: Apache-2.0
"""CNI configuration of Volcano Engine (volcengine/cello)

A list of CNI plugins, one of which attaches the devices of a resource to pods: `meta.resourceName` of the plugin or of
the list.  Pods name the list in an annotation.  A label of the node sets the mode of the devices, as in the profile
"vke".
"""

from documents import Value
from fields import Lost, Table, get, items, mapping, read, sequence, text
from resources import Import, Resource

MODE_LABEL = "label:vke.node.rdma.mode"

LIST: Table = {"name": text, "plugins": sequence, "meta": mapping,
               "cniVersion": Lost("rdmad-cni speaks every version")}
PLUGIN: Table = {"type": text, "meta": mapping}
META: Table = {"resourceName": text, "ipRangesSource": text}


def names_resource(value: Value) -> bool:
    return get(get(value, "meta"), "resourceName") is not None


def is_cello(config: Value) -> bool:
    plugins = get(config, "plugins")
    return any(map(names_resource, items(plugins))) or plugins is not None and names_resource(config)


def add_resource(imported: Import, path: str, value: Value) -> None:
    meta = read(imported, path, value, META).values
    vendor, slash, name = meta.get("resourceName", "").partition("/")
    if not slash:
        imported.refuse(path, 'resourceName is not of the form "vendor/name"')
    if "ipRangesSource" in meta:
        imported.mind(path, "ipRangesSource: a NIC that goes into a pod has its own addresses; for others give "
                            "netDeviceSubnet to rdmad-cni")
    imported.add(Resource(f"{vendor}/{name}", path, [{}], count=1, mode_from=MODE_LABEL, numa=True))


def import_cello(imported: Import) -> None:
    found = read(imported, "", imported.source.config, LIST).values
    if "name" not in found:
        imported.refuse("", "name is missing")
    imported.cni_network = found["name"]
    if "meta" in found:
        add_resource(imported, "meta", found["meta"])
    for i, value in enumerate(found.get("plugins", [])):
        path = f"plugins[{i}]"
        plugin = read(imported, path, value, PLUGIN).values
        if "meta" in plugin:
            imported.mind(path, "put the plugin rdmad-cni in its place, as contrib/cni/30-vke.conflist has it")
            add_resource(imported, path, plugin["meta"])
