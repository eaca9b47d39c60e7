# SPDX-License-Identifier: Apache-2.0
"""The predecessor of both other plugins (Mellanox/k8s-rdma-sriov-dev-plugin, and cloud providers' forks)

{"mode": "hca"}: rdma/hca has 1000 slots, each for all devices of the node.  {"mode": "sriov", "pfNetdevices": [...]}:
rdma/vhca has a slot for each virtual function; the plugin creates the functions itself.
"""

from documents import Value
from fields import Selector, Table, get, pattern, read, text
from resources import Import, Resource

HCA_SLOTS = 1000
MODES = ("hca", "sriov")

CONFIG: Table = {"mode": text, "pfNetdevices": Selector("pf_names", pattern)}


def is_legacy(config: Value) -> bool:
    return get(config, "mode") is not None


def import_legacy(imported: Import) -> None:
    config = read(imported, "", imported.source.config, CONFIG)
    mode = config.values["mode"]
    if mode not in MODES:
        imported.refuse("mode", f'"{mode}" is neither "hca" nor "sriov"')
    if mode == "hca":
        if config.group:
            imported.lose("pfNetdevices", 'mode "hca" gives all devices and ignores it')
        imported.add(Resource("rdma/hca", "mode", [{}], HCA_SLOTS))
        return
    if not config.group:
        imported.refuse("pfNetdevices", 'mode "sriov" needs the names of interfaces here')
    imported.mind("pfNetdevices", "the plugin made the virtual functions itself; make them by sriov_numvfs before "
                                  "rdmad starts")
    imported.add(Resource("rdma/vhca", "mode", [config.group], exclusive=True))
