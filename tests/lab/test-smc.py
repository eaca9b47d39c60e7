#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""SMC-R of pods with a real kernel: PNETIDs, EID, sockets and fallbacks, and what is left of a pod: nothing.

The NIC is a bridge that rdma_rxe stands on as erdma_0; pods are namespaces on it.  rxe does not reach itself,
so within one machine connections fall back.  Two machines with a cable between them have SMC-R: tests/lab/pair test-smc.
"""

import json
import os
import socket
import struct
import subprocess
import sys
import time

sys.dont_write_bytecode = True
LAB, BUILD, TMP = (os.environ[name] for name in ("LAB_DIR", "LAB_BUILD", "LAB_TMP"))
sys.path[:0] = [os.path.join(LAB, "..", "kubelet"), os.path.join(LAB, "..", "integration")]

import api_schema  # noqa: E402
from fake import Kubelet, Runtime  # noqa: E402

RESOURCE = "aliyun/erdma"
KEY = "network.alibabacloud.com/erdma-smcr"
MAC = "00:16:3e:0a:0b:0c"
UIDS = {"a": "1c8b5f0e-8a5e-4a3c-9a57-0e7d3c1f2b11", "b": "1c8b5f0e-8a5e-4a3c-9a57-0e7d3c1f2b12",
        "c": "1c8b5f0e-8a5e-4a3c-9a57-0e7d3c1f2b13", "d": "1c8b5f0e-8a5e-4a3c-9a57-0e7d3c1f2b14", "e": "1c8b5f0e-8a5e-4a3c-9a57-0e7d3c1f2b15"}
CONFIG = """modules = {
  device-plugin = { cri_socket = "%s"; resources = ( { name = "aliyun/erdma"; selectors = { names = "erdma_0"; }; } ); };
  erdma = { driver = { load_with = "none"; }; nics = { manage = false; }; smc = { mode = "%s"; survey = "1s"; %s }; };
  metrics = { };
};"""
# Tells the address of each client: smc_diag has the addresses of AF_SMC sockets only, which Python has not, and
# the ports of all.
ECHO = """
import socket, sys, threading
def echo(c, peer):
    print(*peer, flush=True)
    while (data := c.recv(65536)):
        c.sendall(data)
s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, int(sys.argv[1]))
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("", 7000)); s.listen()
print("ready", flush=True)
while True:
    threading.Thread(target=echo, args=s.accept(), daemon=True).start()
"""
CLIENT = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 256)
s.settimeout(60)
s.connect((sys.argv[1], 7000))
sent = b"x" * 65536
s.sendall(sent)
got = b""
while len(got) < len(sent):
    got += s.recv(65536)
print("echoed", flush=True)
s.settimeout(None)
s.recv(1)
"""


def run(command):
    return subprocess.run(command, shell=True, check=True, capture_output=True, text=True).stdout


def until(what, ready, seconds=90):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = ready()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError(f"waited in vain for {what}")


# ---- generic netlink, by itself: rdmad's own reading is what is tested ----

def attributes(data):
    while len(data) >= 4:
        size, kind = struct.unpack_from("=HH", data)
        yield kind & 0x3fff, data[4:size]
        data = data[(size + 3) & ~3:]


def talk(sock, family, command, flags, payload=b""):
    body = struct.pack("=BBH", command, 1, 0) + payload
    sock.send(struct.pack("=IHHII", 16 + len(body), family, 1 | flags, 1, 0) + body)
    messages = []
    while True:
        data = sock.recv(65536)
        while data:
            size, kind = struct.unpack_from("=IH", data)
            if kind in (2, 3):
                return messages
            messages.append(dict(attributes(data[20:size])))
            data = data[(size + 3) & ~3:]
        if not flags & 0x300:
            return messages


def dump(family, command):
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16) as sock:
        name = family.encode() + b"\0"
        reply = talk(sock, 16, 3, 0, struct.pack("=HH", 4 + len(name), 2) + name + b"\0" * (-len(name) % 4))
        return talk(sock, struct.unpack("=H", reply[0][1])[0], command, 0x300)


def tables(netns=None):
    """(the PNETIDs with what has them, the EIDs) of a namespace: this program itself, inside."""
    inside = ["ip", "netns", "exec", netns] if netns else []
    return json.loads(subprocess.run([*inside, sys.executable, __file__, "tables"], check=True,
                                     capture_output=True, text=True).stdout)


def print_tables():
    def text(value):
        return value.split(b"\0")[0].decode().strip()
    pnets = [[text(entry[1]), text(entry.get(2, b"")), text(entry.get(3, b""))] for entry in dump("SMC_PNETID", 1)]
    print(json.dumps([pnets, [text(entry[1]) for entry in dump("SMC_GEN_NETLINK", 9)]]))


# ---- the machine ----

class Machine:
    def __init__(self, number=1):
        self.number = number
        self.daemon = None
        self.runtime = Runtime(os.path.join(TMP, "cri.sock"))
        mac = MAC[:-1] + f"{number:x}"
        self.pnetid = mac.replace(":", "").upper()
        run(f"ip link add br0 type bridge; ip link set br0 address {mac} up;"
            f"ip address add 10.9.0.{number}/24 dev br0; rdma link add erdma_0 type rxe netdev br0")

    def pod(self, name, last, annotation):
        run(f"ip netns add {name}; ip link add v{name} type veth peer name eth0 netns {name};"
            f"ip link set v{name} master br0 up; ip -n {name} link set lo up; ip -n {name} link set eth0 up;"
            f"ip -n {name} address add 10.9.0.{last}/24 dev eth0; ip -n {name} route add default via 10.9.0.{self.number}")
        annotations = {} if annotation is None else {KEY: annotation}
        self.runtime.run(f"default/{name}", UIDS[name], annotations=annotations, netns=f"/run/netns/{name}")

    def start(self, mode, more=""):
        config = os.path.join(TMP, "rdmad.conf")
        with open(config, "w", encoding="utf-8") as file:
            file.write(CONFIG % (os.path.join(TMP, "cri.sock"), mode, more))
        with open(os.path.join(TMP, "rdmad.log"), "a", encoding="utf-8") as log:
            self.daemon = subprocess.Popen(
                [f"{BUILD}/core/rdmad", "--config", config, "--module-dir", f"{BUILD}/modules", "--run-dir",
                 f"{TMP}/run", "--state-dir", f"{TMP}/state", "--kubelet-dir", f"{TMP}/kubelet"],
                stdout=log, stderr=log)

    def stop(self):
        self.daemon.terminate()
        assert self.daemon.wait(60) == 0, "rdmad did not end well"

    def ask(self, command, *options):
        done = subprocess.run([f"{BUILD}/core/rdmad", command, *options, "--json", "--socket", f"{TMP}/run/rdmad.sock"],
                              capture_output=True, text=True, check=False)
        return json.loads(done.stdout) if done.stdout else {}

    def state(self, name):
        smc = self.ask("status")
        text = json.dumps(smc)
        assert "smc" in text, text
        for module in smc["modules"]:
            for pod in (module.get("status") or {}).get("smc", {}).get("pods", []):
                if pod["pod"] == name:
                    return pod
        return None

    def sockets(self, name):
        answer = self.ask("smc")
        if api_schema.jsonschema and answer:
            assert api_schema.problems("GET /api/v1/smc", 200, answer) == [], answer
        return [s for s in answer.get("sockets", []) if s["pod"] == name and s.get("peer")]


def echo_server(name, protocol):
    server = subprocess.Popen(["ip", "netns", "exec", name, sys.executable, "-c", ECHO, str(protocol)],
                              stdout=subprocess.PIPE, text=True)
    assert server.stdout.readline() == "ready\n"
    return server


def connect(name, address):
    client = subprocess.Popen(["ip", "netns", "exec", name, sys.executable, "-c", CLIENT, address],
                              stdout=subprocess.PIPE, text=True)
    assert client.stdout.readline() == "echoed\n", f"no echo from {address}"
    return client


def end(*programs):
    for program in programs:
        program.kill()
        program.wait()


def check_set_up(machine, kubelet):
    kubelet.allocate("default/a", RESOURCE, 1)
    pnets, eids = tables("a")
    assert [machine.pnetid, "eth0", "n/a"] in pnets, pnets
    assert eids == ["RDMAD"], eids
    assert [machine.pnetid, "n/a", "erdma_0"] in tables()[0], tables()
    state = machine.state("a")
    assert state["state"] == "prepared" and "tcp2smc" in state["reason"], state
    assert state["interface"] == "eth0" and state["pnetid"] == machine.pnetid, state


def ipv6_is_disabled(netns, interface="all"):
    return run(f"ip netns exec {netns} sysctl -n net.ipv6.conf.{interface}.disable_ipv6").strip()


def check_no_ipv6(kubelet):
    """Of a second container too, whose set-up reads the value that the first one has set."""
    assert ipv6_is_disabled("a") == "1" and ipv6_is_disabled("b") == "0"
    kubelet.allocate("default/a", RESOURCE, 1, "second")
    assert ipv6_is_disabled("a") == "1"


def check_unasked(machine, kubelet):
    kubelet.allocate("default/b", RESOURCE, 1)
    assert tables("b")[0] == [] and machine.state("b") is None
    kubelet.allocate("default/c", RESOURCE, 1)
    assert tables("c")[0] == [] and machine.state("c") is None
    events = [e for e in machine.ask("events")["events"] if e["kind"] == "erdma-smc-annotation"]
    assert len(events) == 1 and '"yes please"' in events[0]["message"], events


def check_fallback(machine):
    server = echo_server("b", 0)
    client = connect("a", "10.9.0.12")
    found = until("the socket", lambda: machine.sockets("a"))
    # smc_diag has the addresses of AF_SMC sockets only, the ports of all.
    assert [(s["mode"], s["reason_code"]) for s in found] == [("TCP", 0x03010000)], found
    assert found[0]["peer"].endswith(":7000"), found
    print("sockets of pod a:", json.dumps(found))
    end(server, client)


def check_end(machine, kubelet):
    kubelet.complete("default/a")
    until("the end of pod a", lambda: machine.ask("allocations", "--refresh") and machine.state("a") is None)
    assert ipv6_is_disabled("a") == "0" and tables("a") == [[], []], tables("a")
    assert ipv6_is_disabled("a", "eth0") == "0" and ipv6_is_disabled("a", "lo") == "1"
    run("ip netns delete a")
    until("the host's tables as they were", lambda: tables() == [[], []])


def check_without_smc(machine, kubelet, mode):
    """A kernel without SMC: `prefer` starts the pod on TCP, `require` does not start it."""
    if mode == "prefer":
        kubelet.allocate("default/d", RESOURCE, 1)
        state = machine.state("d")
        assert state["state"] == "tcp" and "has no SMC" in state["reason"], state
        kubelet.complete("default/d")
        return
    try:
        kubelet.allocate("default/e", RESOURCE, 1)
    except Exception as error:
        print("refused:", error)
        assert "SMC-R is not available" in str(error) and "has no SMC" in str(error), error
    else:
        raise AssertionError("the pod started without SMC-R")


# ---- two machines ----

def packets():
    with open("/sys/class/infiniband/erdma_0/ports/1/hw_counters/sent_pkts", encoding="ascii") as file:
        return int(file.read())


def sockets_of(machine, port):
    """Of the server in pod a: those of the client with this port."""
    return [s for s in machine.sockets("a") if s["peer"].endswith(f":{port}")]


def serve_peer(machine):
    """Pod a: the peer's pod a has SMC-R, and its pod b, which did not ask, TCP and the reason.

    Pod c only looks whether the server is there.
    """
    server = echo_server("a", 256)
    wanted = {"10.9.0.21": "SMCR", "10.9.0.22": "TCP"}
    for line in server.stdout:
        peer, port = line.split()
        if peer not in wanted:
            continue
        found = until(f"the socket of {peer}", lambda port=port: sockets_of(machine, port))
        print(f"server, from {peer}:", json.dumps(found), flush=True)
        assert [s["mode"] for s in found] == [wanted.pop(peer)], found
        if found[0]["mode"] == "TCP":
            # The peer declined, since it had no device for SMC.
            assert (found[0]["reason_code"], found[0]["peer_reason_code"]) == (0x05000000, 0x03030000), found
        if not wanted:
            break
    assert not wanted, f"the server ended before {wanted}"
    end(server)


def join_peer(machine):
    until("the peer's server", lambda: subprocess.run(
        ["ip", "netns", "exec", "c", sys.executable, "-c",
         "import socket; socket.create_connection(('10.9.0.11', 7000), 3)"],
        stderr=subprocess.DEVNULL, check=False).returncode == 0, 600)
    before = packets()
    client = connect("a", "10.9.0.11")
    found = until("the socket", lambda: machine.sockets("a"))
    print("client:", json.dumps(found), "packets of RDMA:", packets() - before, flush=True)
    assert [s["mode"] for s in found] == ["SMCR"] and packets() > before, found
    other = connect("b", "10.9.0.11")
    for one in (client, other):     # the server ends when it has seen both
        one.wait()


def main_of_two():
    number = 1 if os.environ["LAB_CABLE"].startswith("listen") else 2
    machine = Machine(number)
    # SMC-Rv2 of the kernel looks for the way to the peer's GID on the host, from the pod's address: it has to be one
    # of the host's too, which does not answer for it.
    run("ip link set eth0 master br0 up; sysctl -w net.ipv4.conf.br0.arp_ignore=1;"
        f"ip address add 10.9.0.{10 * number + 1}/32 dev lo")
    for name, last, annotation in (("a", 1, "true"), ("b", 2, None), ("c", 3, None)):
        machine.pod(name, 10 * number + last, annotation)
    machine.start("require")
    with Kubelet(os.path.join(TMP, "kubelet")) as kubelet:
        kubelet.wait(RESOURCE, 1000, 120)
        check_set_up(machine, kubelet)
        if number == 1:
            serve_peer(machine)
        else:
            join_peer(machine)
        check_end(machine, kubelet)
    machine.stop()
    machine.runtime.close()
    return 0


def main():
    if os.environ.get("LAB_CABLE"):
        if sys.argv[1:] != ["tables"]:
            return main_of_two()
    if sys.argv[1:] == ["tables"]:
        return print_tables()
    machine = Machine()
    for name, last, annotation in (("a", 11, "true"), ("b", 12, None), ("c", 13, "yes please"), ("d", 14, "True"),
                                   ("e", 15, "true")):
        machine.pod(name, last, annotation)
    run("ip netns exec a sysctl -w net.ipv6.conf.lo.disable_ipv6=1")
    machine.start("prefer", "disable_ipv6 = true;")
    with Kubelet(os.path.join(TMP, "kubelet")) as kubelet:
        kubelet.wait(RESOURCE, 1000, 120)
        check_set_up(machine, kubelet)
        check_no_ipv6(kubelet)
        check_unasked(machine, kubelet)
        check_fallback(machine)
        check_end(machine, kubelet)
        run("rmmod smc_diag smc")
        check_without_smc(machine, kubelet, "prefer")
        machine.stop()
        machine.start("require")
        kubelet.wait(RESOURCE, 1000, 120)
        until("rdmad", lambda: machine.ask("status").get("modules"))
        check_without_smc(machine, kubelet, "require")
    machine.stop()
    machine.runtime.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
