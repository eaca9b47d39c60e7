# SPDX-License-Identifier: Apache-2.0
"""kubelet_internal_checkpoint: the cached answers of plugins, which outlive kubelet."""

import base64
import json
import os
import zlib

from .messages import plugin

NAME = "kubelet_internal_checkpoint"


def _entry(key, grant):
    (namespace, pod, container), resource = key
    return {"PodUID": f"{namespace}/{pod}", "ContainerName": container, "ResourceName": resource,
            "DeviceIDs": {str(numa): ids for numa, ids in grant.by_numa().items()},
            "AllocResp": base64.b64encode(grant.reply.SerializeToString()).decode()}


def save(directory, grants, registered):
    """`grants`: {((namespace, pod, container), resource): Grant}; `registered`: {resource: ids}."""
    data = {"PodDeviceEntries": [_entry(*item) for item in sorted(grants.items())],
            "RegisteredDevices": registered}
    text = json.dumps({"Data": data, "Checksum": _checksum(data)})
    temporary = os.path.join(directory, "." + NAME)
    with open(temporary, "w", encoding="ascii") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.rename(temporary, os.path.join(directory, NAME))


def lose(directory):
    """Damage to it while kubelet is away."""
    try:
        os.unlink(os.path.join(directory, NAME))
    except FileNotFoundError:
        pass


def load(directory):
    """(entries, registered), empty where there is none or a damaged one, as kubelet goes on."""
    try:
        with open(os.path.join(directory, NAME), encoding="ascii") as file:
            document = json.load(file)
        if document["Checksum"] != _checksum(document["Data"]):
            raise ValueError("wrong checksum")
        return [_parse(entry) for entry in document["Data"]["PodDeviceEntries"]], \
            document["Data"]["RegisteredDevices"]
    except (OSError, ValueError, KeyError):
        return [], {}


def _parse(entry):
    namespace, _, pod = entry["PodUID"].partition("/")
    reply = plugin.ContainerAllocateResponse.FromString(base64.b64decode(entry["AllocResp"]))
    numa = {id: int(node) for node, ids in entry["DeviceIDs"].items() for id in ids}
    return ((namespace, pod, entry["ContainerName"]), entry["ResourceName"]), numa, reply


def _checksum(data):
    return zlib.crc32(json.dumps(data, sort_keys=True).encode())
