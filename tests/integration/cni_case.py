# SPDX-License-Identifier: Apache-2.0
"""rdmad with its module cni on a host of a few veth NICs, pods that are network namespaces, and libcni's part.

The test runs again in network and mount namespaces of its own; the RDMA devices are those of a recorded
machine, whose interfaces are made as veth.  usage of the tests that import it: test-X.py RDMAD MODULE-DIR
RDMAD-CNI [TEST...]
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from private_host import (INSTRUMENTED, PATIENCE, RDMAD, SLOW, TESTS, HostCase, addresses,  # noqa: F401
                          enter_private_host, ip, link, run, tap, until)

MODULES, SHIM = sys.argv[2:4]
PLUGINS = "/usr/lib/cni"
NICS = ("enp24s0np0", "enp42s0np0")     # of the machine


class Failure(Exception):
    def __init__(self, answer, errors):
        super().__init__(f"{answer} {errors}")
        self.code = answer.get("code") if isinstance(answer, dict) else None
        self.message = answer.get("msg", "") if isinstance(answer, dict) else ""


class CniCase(HostCase):
    CONFIG = ""     # of the module
    WITH_CONFIG = ""    # of other modules, which RUN names
    NETWORKS = ""   # of each network in it
    NETWORK = {"cniVersion": "1.0.0", "name": "rdma", "type": "rdmad-cni"}
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.machine = tempfile.mkdtemp(prefix="rdmad-machine-")
        cls.addClassCleanup(shutil.rmtree, cls.machine)
        subprocess.run([TESTS / "machines/expand", "gpu-8rail", cls.machine], check=True,
                       stdout=subprocess.DEVNULL)
        cls.widen_gid_tables(1024)

    @classmethod
    def widen_gid_tables(cls, entries):
        """The 256 of the recorded devices are those of 60 pods."""
        for name in NICS:
            for table in Path(cls.machine).glob(f"sys/class/net/{name}/device/infiniband/*/ports/1/gids"):
                for index in range(1024):
                    path = table / str(index)
                    if index >= entries and path.exists():
                        path.unlink()
                    elif index < entries and not path.exists():
                        path.write_text("0000:0000:0000:0000:0000:0000:0000:0000\n")

    def setUp(self):
        super().setUp()
        shutil.rmtree("/var/lib/cni/networks", ignore_errors=True)
        self.pods = set()
        self.addCleanup(self.remove_pods)
        self.nics = {}
        self.addCleanup(self.remove_nics)
        for number in (0, 1):
            self.make_nic(number)
        until(lambda: all(link(name)["operstate"] == "UP" for name in self.nics), "NICs that are up")
        self.before = self.snapshot()

    # ---- the host ----

    def make_nic(self, number):
        name = NICS[number]
        device = os.path.realpath(f"{self.machine}/sys/class/net/{name}/device")
        run("ip", "link", "add", name, "type", "veth", "peer", "name", f"wire{number}")
        run("ip", "link", "set", name, "mtu", "4200")
        run("ip", "link", "set", f"wire{number}", "mtu", "4200", "up")
        run("ip", "link", "property", "add", "dev", name, "altname", f"rail{number}")
        run("ip", "addr", "add", f"198.51.{number}.7/24", "dev", name)
        run("ip", "link", "set", name, "up")
        # Linkwatch tells it up to a second later, which is not a change by rdmad.
        until(lambda: link(name)["operstate"] == link(f"wire{number}")["operstate"] == "UP", f"{name} to be up")
        run("ip", "route", "add", f"203.0.{number}.0/24", "via", f"198.51.{number}.1", "dev", name)
        Path(f"/proc/sys/net/ipv4/conf/{name}/arp_ignore").write_text("1")
        self.nics[name] = os.path.basename(device)

    def remove_nics(self):
        # By the other end: a NIC may be in a namespace that ends.
        for number in range(len(self.nics)):
            subprocess.run(["ip", "link", "del", f"wire{number}"], stderr=subprocess.DEVNULL)

    def snapshot(self):
        """All of the host's network, without what differs by itself."""
        links = [{key: entry.get(key) for key in ("ifname", "mtu", "address", "altnames", "operstate", "flags")}
                 for entry in ip("link")]
        found = sorted((entry["ifname"], f"{a['local']}/{a['prefixlen']}") for entry in ip("addr")
                       for a in entry["addr_info"] if a["scope"] == "global")
        routes = sorted(json.dumps(route, sort_keys=True) for route in ip("route", "show", "table", "all")
                        if route.get("table") != "local")
        sysctls = {name: Path(f"/proc/sys/net/ipv4/conf/{name}/arp_ignore").read_text()
                   for name in self.nics if os.path.exists(f"/proc/sys/net/ipv4/conf/{name}")}
        return {"links": sorted(links, key=lambda l: l["ifname"]), "addresses": found, "routes": routes,
                "sysctls": sysctls}

    def assertHostIs(self, before):
        """A snapshot; the kernel tells of carriers up to a second later."""
        try:
            until(lambda: self.snapshot() == before, "the host")
        except AssertionError:
            self.assertEqual(self.snapshot(), before)

    # ---- pods ----

    def pod(self, name):
        run("ip", "netns", "add", name)
        self.pods.add(name)
        return name

    def remove_pod(self, name):
        run("ip", "netns", "del", name)
        self.pods.discard(name)

    def remove_pods(self):
        for name in list(self.pods):
            subprocess.run(["ip", "netns", "del", name], stderr=subprocess.DEVNULL)

    # ---- rdmad ----

    def write_config(self, groups):
        (self.dir / "rdmad.conf").write_text(f"modules = {{ {groups} }};")

    def start_daemon(self, environment=None):
        self.write_config(self.GROUPS or self.WITH_CONFIG + "cni = { carrier_timeout = 0; " + self.CONFIG + """
            networks = ( { name = "all"; wait_gid = false; prove = false; announce = false; %s } ); };
            """ % self.NETWORKS)
        self.launch(*(f"--module={name}" for name in self.RUN), "--module-dir", MODULES, environment=environment)
        self.assertIsNone(self.daemon.poll(), "the daemon ended")
        if "cni" in self.RUN:
            until(self.is_served, "the socket")

    RUN = ("cni",)  # modules; none: those of GROUPS
    GROUPS = None   # of the configuration; None: what a test of cni needs

    def wait_for_log(self, words):
        until(lambda: words in (self.dir / "log").read_text(), repr(words))

    @staticmethod
    def children(pid):
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def is_served(self):
        """By this daemon: the socket of a killed one is still there."""
        self.assertIsNone(self.daemon.poll(), "the daemon ended")
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:
            return peer.connect_ex(str(self.dir / "run/cni.sock")) == 0

    def executor(self):
        """Its process; the keeper of executors is between it and the daemon."""
        pid = self.daemon.pid
        for _ in range(2):
            pid, = self.children(pid)
        return pid

    def rows(self):
        """Of the event log."""
        import sqlite3
        base = sqlite3.connect(f"file:{self.dir}/state/rdmad.db?mode=ro&nolock=1", uri=True)
        try:
            return base.execute("SELECT container, interface, state FROM module_cni_journal").fetchall()
        finally:
            base.close()

    def left(self):
        return self.module_status("cni").get("attachments")

    # ---- the runtime ----

    def environment(self, command, container, netns, ifname, arguments=None):
        return {"PATH": os.environ["PATH"], "CNI_COMMAND": command, "CNI_CONTAINERID": container or "",
                "CNI_NETNS": netns or "", "CNI_IFNAME": ifname or "", "CNI_PATH": PLUGINS,
                **({"CNI_ARGS": arguments} if arguments else {}),
                "RDMAD_CNI_SOCKET": str(self.dir / "run/cni.sock"),
                "RDMAD_CNI_SPOOL": str(self.dir / "state/cni-spool"), "RDMAD_CNI_WAIT_MS": "200"}

    def start_plugin(self, command, container, netns, ifname, network, plugin=None, arguments=None):
        child = subprocess.Popen([plugin or SHIM], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True,
                                 env=self.environment(command, container, netns, ifname, arguments))
        child.stdin.write(json.dumps(network) if isinstance(network, dict) else network)
        child.stdin.close()
        child.stdin = None
        return child

    def end_plugin(self, child):
        text, errors = child.communicate(timeout=120)
        answer = json.loads(text) if text.strip() else None
        if child.returncode:
            raise Failure(answer, errors)
        return answer

    def plugin(self, command, container, netns, ifname, network, plugin=None):
        return self.end_plugin(self.start_plugin(command, container, netns, ifname, network, plugin))

    def network(self, nic=None, **more):
        device = {"runtimeConfig": {"deviceID": self.nics[nic]}} if nic else {}
        return {**self.NETWORK, **device, **more}

    def add(self, container, pod, network, ifname="net1"):
        return self.plugin("ADD", container, f"/run/netns/{pod}", ifname, network)

    def delete(self, container, pod, network, ifname="net1"):
        return self.plugin("DEL", container, pod and f"/run/netns/{pod}", ifname, network)

    def check(self, container, pod, network, ifname="net1"):
        network = {"prevResult": {"cniVersion": network["cniVersion"]}, **network}
        return self.plugin("CHECK", container, f"/run/netns/{pod}", ifname, network)

