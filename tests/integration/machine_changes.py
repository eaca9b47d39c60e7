# SPDX-License-Identifier: Apache-2.0
"""Changes to an expanded machine, as the kernel would make them, and the look at it that follows."""

import os
import string

from control_socket import Connection


def request(control_socket, method, path):
    """Status and text."""
    connection = Connection(control_socket)
    try:
        connection.request(method, path)
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def post(control_socket, path):
    return request(control_socket, "POST", path)[0]


VPD = (b"\x82\x1c\0NVIDIA ConnectX-7 for NVLink\x90>\0VA7MLX:MN=MLNX:CSKU=V2:UUID=V3:PCI=V0:MODL=CX7:"
       b"SMDL=SW_MNGRV\x01ux")


class Machine:
    def __init__(self, root):
        self.root = root
        self.parked = {}    # device -> [(link, target)]

    def path(self, *names):
        return os.path.join(self.root, "sys/class", *names)

    def read(self, attribute):
        with open(self.path(attribute)) as file:
            return file.read().rstrip("\n")

    def write(self, attribute, value):
        with open(self.path(attribute), "w") as file:
            file.write(value + "\n")

    def manage_switches(self, device):
        """Makes the device the management function of NVSwitches; returns the file by which it is one."""
        vpd = self.path("infiniband", device, "device/vpd")
        with open(vpd, "wb") as file:
            file.write(VPD)
        return vpd

    def separate_namespaces(self):
        """As `rdma system set netns exclusive` does; returns the parameter's file."""
        parameter = os.path.join(self.root, "sys/module/ib_core/parameters/netns_mode")
        os.makedirs(os.path.dirname(parameter), exist_ok=True)
        with open(parameter, "w") as file:
            file.write("N\n")
        return parameter

    def devices(self):
        return sorted(os.listdir(self.path("infiniband")))

    def netdev(self, device):
        return os.listdir(self.path("infiniband", device, "device/net"))[0]

    def _links(self, device):
        """Those by which a class knows the device."""
        yield self.path("infiniband", device)
        for uverbs in os.listdir(self.path("infiniband", device, "device/infiniband_verbs")):
            yield self.path("infiniband_verbs", uverbs)

    def unplug(self, device):
        links = [(link, os.readlink(link)) for link in self._links(device)]
        self.parked[device] = links
        for link, _ in links:
            os.unlink(link)

    def plug(self, device):
        for link, target in self.parked.pop(device):
            os.symlink(target, link)

    def renumber(self, group, names):
        """Files of devices (infiniband_verbs, infiniband_mad) get other numbers, {old name: new name}, and with the
        number its minor; the names are of one prefix."""
        def number(name):
            return int(name.lstrip(string.ascii_lowercase))

        links = {old: os.readlink(self.path(group, old)) for old in names}
        aside = {old: os.path.realpath(self.path(group, old)) + ".aside" for old in names}
        for old, directory in aside.items():
            os.rename(directory.removesuffix(".aside"), directory)
            os.unlink(self.path(group, old))
        for old, new in names.items():
            os.rename(aside[old], os.path.join(os.path.dirname(aside[old]), new))
            os.symlink(os.path.join(os.path.dirname(links[old]), new), self.path(group, new))
            major, minor = self.read(f"{group}/{new}/dev").split(":")
            self.write(f"{group}/{new}/dev", f"{major}:{int(minor) + number(new) - number(old)}")

    def mend(self):
        for device in list(self.parked):
            self.plug(device)
