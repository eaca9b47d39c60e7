# SPDX-License-Identifier: Apache-2.0
"""rdmad with its module erdma on a host of veth NICs, and a metadata service on loopback.

The RDMA devices are those of the recorded machine `erdma`, whose interfaces are made as veth with the MACs of
their GUIDs.  eth0 is the primary NIC.  usage of the tests that import it: test-X.py RDMAD MODULE-DIR [...]
"""

import http.server
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from private_host import RDMAD, TESTS, HostCase, addresses, ip, run, until

MODULES = sys.argv[2]
MAC0, MAC1, MAC2 = "00:16:3e:01:02:01", "00:16:3e:01:02:0a", "00:16:3e:01:02:0b"
MACS = {"eth0": MAC0, "eth1": MAC1, "eth2": MAC2}
PORT = 9100
GATEWAY = "10.0.0.253"


class Metadata(http.server.ThreadingHTTPServer):
    """The service; `mode` is what it does to each request."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self):
        self.mode = "good"
        self.asked = []         # (method, path, token)
        self.values = {"mac": MAC0}
        self.nic(MAC1, "10.0.0.11")
        self.nic(MAC2, "10.0.0.12")
        super().__init__(("127.0.0.1", PORT), MetadataHandler)
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def nic(self, mac, address, network="10.0.0.0/24", gateway=GATEWAY):
        base = f"network/interfaces/macs/{mac}"
        self.values.update({f"{base}/primary-ip-address": address, f"{base}/vswitch-cidr-block": network,
                            f"{base}/gateway": gateway})

    def handle_error(self, request, client_address):
        """Clients that leave early are what is tested."""

    def end(self):
        self.shutdown()
        self.server_close()


class MetadataHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def handle_one(self):
        server, mode = self.server, self.server.mode
        server.asked.append((self.command, self.path, self.headers.get("X-aliyun-ecs-metadata-token")))
        if mode == "slow":
            time.sleep(30)
        elif mode == "huge":
            return self.answer(200, b"1" * (4 << 20))
        elif mode == "redirect":
            return self.answer(302, headers=[("Location", f"http://127.0.0.1:{PORT}/elsewhere")])
        elif mode == "broken":
            return self.answer(500)
        elif mode == "cut":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n10.0")
            self.close_connection = True
            return None
        if self.command == "PUT":
            if mode == "hardened" and self.headers.get("X-aliyun-ecs-metadata-token-ttl-seconds"):
                return self.answer(200, b"tOkEn==\n")
            return self.answer(404)
        if mode == "hardened" and self.headers.get("X-aliyun-ecs-metadata-token") != "tOkEn==":
            return self.answer(403)
        if mode == "wrong":
            return self.answer(200, b"<html>not here</html>")
        value = server.values.get(self.path.removeprefix("/latest/meta-data/"))
        return self.answer(200, value.encode()) if value else self.answer(404)

    do_GET = do_PUT = handle_one


class ErdmaCase(HostCase):
    METADATA_S = 25     # that the service may take: a NIC that it answers late is configured behind the others

    @classmethod
    def setUpClass(cls):
        cls.machine = tempfile.mkdtemp(prefix="rdmad-machine-")
        cls.addClassCleanup(shutil.rmtree, cls.machine)
        subprocess.run([TESTS / "machines/expand", "erdma", cls.machine], check=True, stdout=subprocess.DEVNULL)

    def setUp(self):
        run("ip", "link", "set", "lo", "up")
        self.metadata = Metadata()
        self.addCleanup(self.metadata.end)
        super().setUp()
        for name in MACS:
            self.make_link(name)
            self.addCleanup(self.remove_link, name)
        run("ip", "addr", "add", "10.0.0.5/24", "dev", "eth0")
        run("ip", "link", "set", "eth0", "up")
        run("ip", "route", "add", "default", "via", GATEWAY, "dev", "eth0", "metric", "100")

    # ---- the host ----

    def make_link(self, name):
        run("ip", "link", "add", name, "address", MACS[name], "mtu", "1500", "type", "veth", "peer", "name",
            f"wire-{name}")
        run("ip", "link", "set", f"wire-{name}", "mtu", "9000", "up")

    def remove_link(self, name):
        subprocess.run(["ip", "link", "del", name], stderr=subprocess.DEVNULL)

    @staticmethod
    def routes(name, table="main", to=None):
        """[(destination, gateway, metric)]"""
        try:
            found = ip("route", "show", "table", table, *([to] if to else []))
        except subprocess.CalledProcessError:   # no such table
            return []
        return sorted((r["dst"], r.get("gateway"), r.get("metric", 0)) for r in found if r.get("dev") == name)

    @staticmethod
    def way_out():
        """The interface of the default route that is used."""
        return ip("route", "get", "203.0.113.1")[0]["dev"]

    def is_configured(self, name, address, metric):
        return addresses(name) == [address] and self.routes(name) == [
            ("10.0.0.0/24", None, metric), ("default", GATEWAY, metric)]

    def are_configured(self):
        """In either order: the one that failed first comes second."""
        return any(self.is_configured("eth1", "10.0.0.11/24", one) and
                   self.is_configured("eth2", "10.0.0.12/24", 401 - one) for one in (200, 201))

    def assertConfigured(self):
        until(lambda: self.is_configured("eth1", "10.0.0.11/24", 200), "eth1")
        until(lambda: self.is_configured("eth2", "10.0.0.12/24", 201), "eth2")
        self.assertEqual(self.way_out(), "eth0")
        self.assertEqual(self.routes("eth0"), [("10.0.0.0/24", None, 0), ("default", GATEWAY, 100)])

    # ---- rdmad ----

    def write_config(self, nics=""):
        (self.dir / "rdmad.conf").write_text("""
            modules = { erdma = {
              driver = { load_with = "none"; pci_device = ""; };
              nics = { metadata = { url = "http://127.0.0.1:%d"; connect_timeout = "%ds"; timeout = "%ds";
                                    tries = 1; }; %s };
            }; };""" % (PORT, self.METADATA_S, self.METADATA_S, nics))

    def start_daemon(self, nics=""):
        self.write_config(nics)
        self.launch("--module=erdma", "--module-dir", MODULES)

    def reload(self, nics):
        self.write_config(nics)
        self.daemon.send_signal(signal.SIGHUP)

    def nic(self, name):
        """Its part of the status; {}: none."""
        for nic in self.module_status("erdma").get("nics", []):
            if nic.get("netdev") == name or nic["device_name"] == name:
                return nic
        return {}

    def until_state(self, name, state):
        try:
            until(lambda: self.nic(name).get("state") == state, f"{name} to be {state}")
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.nic(name)}") from None
        return self.nic(name)
