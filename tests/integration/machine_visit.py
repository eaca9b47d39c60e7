# SPDX-License-Identifier: Apache-2.0
"""A visit: rdmad with all modules on a machine, between the fake kubelet and a client who asks everything.

What is asked is judged by what must be so on any machine.
"""

import collections
import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "kubelet")]
sys.dont_write_bytecode = True

import exposition  # noqa: E402
from control_socket import Connection  # noqa: E402
from fake import AdmissionError, Kubelet, rpc  # noqa: E402

PATIENCE = 120      # seconds; the machine may be busy
MODULES = ("device-plugin", "cni", "metrics", "kube", "erdma", "nccl")
VERSIONS = [f"2.{minor}" for minor in range(18, 33)]     # those that module nccl knows
CONFIG = """modules = {
device-plugin = { cdi_dir = "{DIR}/cdi"; device_info_dir = ""; };
metrics = { listen = ( ); pod_log_dir = "{DIR}/pods"; }; cni = { };
nccl = { network = "host"; };
erdma = { driver = { load_with = "none"; }; nics = { manage = false; }; };
kube = { server = "https://127.0.0.1:9"; node = "zoo"; token_file = "{DIR}/token"; ca_file = "{DIR}/token"; };
};
"""
# Lines of a log that no machine may cause.
SAYS_WRONG = re.compile(r".*(?:Sanitizer|runtime error:|CRITICAL| glib: | behind; freed).*")
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f]")
PAGES = ("/", "/healthz", "/readyz", "/metrics")
ROUTES = ("status", "devices", "allocations", "topology", "events", "doctor", "attributes", "commands", "traffic",
          "nccl/containers", "attachments", "smc")
COMMANDS = (
    ["status"], ["devices"], ["devices", "-o", "wide"], ["devices", "--json"], ["allocations", "-o", "wide"], ["topology"],
    ["events"], ["doctor"], ["attributes"], ["commands"], ["attachments"], ["smc"], ["nccl-env"],
    ["nccl-env", "--explain"], ["nccl-env", "--format", "conf"],
)


class Problem(Exception):
    """`kind` says which rule was broken, whatever the machine is; `text` where."""

    def __init__(self, kind, text=""):
        super().__init__(f"{kind}: {text}" if text else kind)
        self.kind, self.text = kind, text


class Visit:
    """`programs`: rdmad, its modules' directory, rdmad-nccl-env.  `root`: the machine.  `changes`: of the kernel's,
    [(path, new value)] of files, None removes a link."""

    def __init__(self, programs, root, config=CONFIG, changes=(), commands=False, number=0):
        self.rdmad, self.modules, self.nccl_env = programs
        self.root, self.changes, self.commands, self.number = root, changes, commands, number
        self.problems = []
        # A path of a socket has 107 bytes.
        with tempfile.TemporaryDirectory(prefix="visit-", dir=os.path.dirname(root)) as self.directory:
            os.chmod(self.directory, 0o755)
            self.place = lambda *names: os.path.join(self.directory, *names)
            for name, text in (("token", "x\n"), ("rdmad.conf", config.replace("{DIR}", self.directory))):
                with open(self.place(name), "w") as file:
                    file.write(text)
            os.mkdir(self.place("k"))
            self.plan_alone()
            with Kubelet(self.place("k")) as self.kubelet:
                self.live()

    def wrong(self, kind, text=""):
        self.problems.append(Problem(kind, str(text)))

    # ---- the daemon ----

    def live(self):
        self.log = open(self.place("log"), "w+", errors="replace")
        self.process = subprocess.Popen(
            [self.rdmad, "--config", self.place("rdmad.conf"), "--module-dir", self.modules, "--sysroot", self.root,
             "--run-dir", self.place("run"), "--state-dir", self.place("state"), "--kubelet-dir", self.place("k")],
            stdout=self.log, stderr=self.log)
        try:
            if self.starts():
                self.connection = Connection(self.place("run/rdmad.sock"), PATIENCE)
                with contextlib.closing(self.connection):
                    self.look()
        except Problem as error:
            self.wrong(error.kind, error.text)
        except (OSError, http.client.HTTPException, rpc.grpc.RpcError) as error:
            self.wrong("no answer", error)
        finally:
            self.end()

    def starts(self):
        end = time.monotonic() + PATIENCE
        while self.process.poll() is None and time.monotonic() < end:
            with socket.socket(socket.AF_UNIX) as client:
                if client.connect_ex(self.place("run/rdmad.sock")) == 0:
                    return True
            time.sleep(0.005)
        return False

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = f"{self.process.wait()} after SIGTERM was not enough"
        self.log.seek(0)
        said = self.log.read()
        self.log.close()
        self.judge_said("rdmad", code, said, (0,))

    def judge_said(self, program, code, said, codes):
        found = SAYS_WRONG.search(said)
        if found:
            self.wrong(f"{program}: {without_names(found[0])}", said[found.start():][:3000])
        if code not in codes:
            self.wrong(f"{program} ends with {code}", said[-1500:])

    def ask(self, path, statuses=(200,), method="GET"):
        self.connection.request(method, path)
        answer = self.connection.getresponse()
        body = answer.read()
        if answer.status not in statuses:
            self.wrong(f"{answer.status} from {path.partition('?')[0]}", body[:300])
        return answer.status, body

    def api(self, path, statuses=(200,)):
        status, body = self.ask("/api/v1/" + path, statuses)
        try:
            return json.loads(body) if status != 404 else None
        except ValueError as error:
            raise Problem("no JSON from " + path.partition("?")[0], error) from error

    # ---- what is asked ----

    def look(self):
        self.resources = self.wait_registered()
        self.ask_all()
        self.ask("/api/v1/rescan", method="POST")
        self.allocate()
        self.pages()
        self.look_again()
        if self.changes:
            self.change()
        if self.commands:
            self.run_commands()

    def ask_all(self):
        self.answers = {route: self.api(route, (200, 404)) for route in ROUTES}
        self.devices = {device["device_name"]: device for device in self.answers["devices"]["devices"]}
        self.explained = {}
        for name in self.devices:
            quoted = urllib.parse.quote(name.encode(errors="surrogateescape"), safe="")
            self.explained[name] = self.api("explain?device=" + quoted)
            if self.api("devices/" + quoted) != self.devices[name]:
                self.wrong("devices/NAME differs from devices", name)
        self.judge_devices()
        self.judge_pools()
        self.judge_doctor()
        self.judge_topology()
        if self.alone:
            self.judge_plan({"plan": self.alone}, "rdmad-nccl-env")
        for version in ["any", *VERSIONS]:
            self.judge_plan(self.plan(f"&nccl-version={version}"), f"API {version}")

    def look_again(self):
        """Another scan of a machine that has not changed says the same."""
        self.wait_scans(2)
        again = {device["device_name"]: device for device in self.api("devices")["devices"]}
        for name in again.keys() | self.devices.keys():
            if again.get(name) != self.devices.get(name):
                self.wrong("a rescan changes a device", f"{name}: {self.devices.get(name)}, {again.get(name)}")

    def wait_scans(self, count):
        end = time.monotonic() + PATIENCE
        while exposition.values(self.series, "rdmad_hardware_scans_total", result="ok")[0][1] < count:
            if time.monotonic() > end:
                raise Problem("no scan follows a rescan")
            time.sleep(0.01)
            self.pages()

    def change(self):
        """The kernel changes the machine; what was granted stays."""
        for path, value in self.changes:
            place = os.path.join(self.root, path)
            if value is None and os.path.islink(place):
                os.unlink(place)
            elif value is not None and os.path.isfile(place):
                with open(place, "w") as file:
                    file.write(value + "\n")
        before = {allocation["id"] for allocation in self.api("allocations")["allocations"]}
        self.ask("/api/v1/rescan", method="POST")
        self.wait_scans(3)
        self.alone = None
        self.resources = self.wait_registered()
        self.ask_all()
        if before != {allocation["id"] for allocation in self.answers["allocations"]["allocations"]}:
            self.wrong("a change of the machine changes the allocations")

    def plan(self, query):
        """409: it is refused."""
        return self.api("nccl?format=json" + query, (200, 409))

    def plugin(self):
        modules = self.api("status")["modules"]
        return next((module["status"]["resources"] for module in modules if module["name"] == "device-plugin"), [])

    def wait_registered(self):
        end = time.monotonic() + PATIENCE
        while True:
            resources = self.plugin()
            seen = self.kubelet.resources()
            if all(one["registered"] and one["name"] in seen and seen[one["name"]]["capacity"] == one["slots"] and
                   seen[one["name"]]["allocatable"] == one["healthy"] for one in resources):
                return resources
            if time.monotonic() > end:
                raise Problem("kubelet has another list", f"{resources} {seen}")
            time.sleep(0.005)

    def pages(self):
        for path in PAGES:
            _, body = self.ask(path, (200, 503) if path == "/readyz" else (200,))
            try:
                text = body.decode()
                if path == "/metrics":
                    self.series, self.metrics = exposition.parse(text), text
            except (AssertionError, ValueError) as error:
                self.wrong("the text of " + path, error)
        for route in ("allocations", "devices", "doctor", "nccl/containers", "events"):
            self.api(route)

    def run(self, *command, codes=(0, 1)):
        done = subprocess.run(command, capture_output=True, timeout=PATIENCE)
        said = done.stderr.decode(errors="replace")
        program = " ".join([os.path.basename(command[0]), *command[1:2]])
        self.judge_said(program, done.returncode, said, codes)
        if CONTROL.search(done.stdout.decode(errors="replace")):
            self.wrong("control characters from " + program, done.stdout)
        return done.stdout

    def run_commands(self):
        named = [["devices", name] for name in self.devices] + [["explain", name] for name in self.devices]
        for command in [*COMMANDS, *(one for one in named if not one[1].startswith("-"))]:
            self.run(self.rdmad, *command, "--socket", self.place("run/rdmad.sock"))
        for version in VERSIONS:
            self.run(self.nccl_env, "--sysroot", self.root, "--nccl-version", version)
        self.run(self.rdmad, "--check", "--config", self.place("rdmad.conf"), "--module-dir", self.modules,
                 "--sysroot", self.root, "--run-dir", self.place("other"), codes=(0,))

    def plan_alone(self):
        """rdmad-nccl-env, with another version and format at each machine."""
        version = ["any", *VERSIONS][self.number % (1 + len(VERSIONS))]
        text = self.run(self.nccl_env, "--sysroot", self.root, "--nccl-version", version, "--format", "json")
        self.alone = json.loads(text) if text else None

    # ---- what is granted ----

    def allocate(self):
        """One slot of each resource, then the others, of large ones some."""
        for resource in self.resources:
            name = resource["name"]
            for count in (1, min(self.allocatable(name) - 1, 8)):
                if count <= 0 or self.allocatable(name) < count:
                    continue
                try:
                    grant = self.kubelet.allocate(f"zoo/{name.rpartition('/')[2]}-{count}", name, count)
                except AdmissionError as error:
                    if self.process.poll() is not None:
                        raise Problem("no answer", error) from error
                    self.wrong(f"Allocate of a {resource['mode']} slot is refused: {without_names(error)}", name)
                    continue
                self.judge_grant(resource, grant)
        table = self.api("allocations")["allocations"]
        modes = {resource["name"]: resource["mode"] for resource in self.resources}
        holders = collections.defaultdict(list)
        for allocation in table:
            for device in allocation["device_ids"]:
                holders[device].append(allocation["resource"])
            self.judge_plan(self.plan(f"&allocation={allocation['id']}"), "allocation")
        for device, names in holders.items():
            if len(names) > 1 and any(modes[name] == "exclusive" for name in names):
                self.wrong("an exclusive device has several holders", f"{device}: {names}")

    def allocatable(self, name):
        found = self.kubelet.resources()[name]
        return found["allocatable"] - found["in_use"]

    def judge_grant(self, resource, grant):
        reply = grant.reply
        if not reply.envs.get("RDMAD_ALLOCATION"):
            self.wrong("a grant without an allocation", resource["name"])
        paths = [device.host_path for device in reply.devices]
        if len(set(paths)) != len(paths):
            self.wrong("a grant has a file twice", paths)
        if not any("/uverbs" in device.host_path for device in reply.devices) and not reply.cdi_devices:
            self.wrong("a grant without a device", f"{resource}: {reply}")

    # ---- what must be so ----

    def judge_devices(self):
        """Those with ports in the tree, and no others."""
        path = os.path.join(self.root, "sys/class/infiniband")
        there = set(os.listdir(path)) if os.path.isdir(path) else set()
        for name in there - self.devices.keys():
            if os.path.isdir(os.path.join(path, name, "ports/1")) and name.isascii() and name.isprintable():
                self.wrong("a device is missing", name)
        for name, device in self.devices.items():
            if name.isascii() and name not in there and device["place"] == "host":
                self.wrong("a device is not there", name)
            if len({port["number"] for port in device["ports"]}) != len(device["ports"]):
                self.wrong("a port comes twice", name)
        ids = [device["device_id"] for device in self.devices.values()]
        if len(set(ids)) != len(ids):
            self.wrong("two devices have one id", sorted(ids))

    def judge_pools(self):
        for resource in self.resources:
            name = resource["name"]
            members = {device: one for device, answer in self.explained.items() for one in answer["resources"]
                       if one["name"] == name}
            selected = [device for device, one in members.items() if one["selected"]]
            if any(not one["selected"] and not one["reason"] for one in members.values()):
                self.wrong("not selected, and no reason", name)
            offered = self.kubelet.devices(name)
            if any(numa is not None and not 0 <= numa < 1024 for _, numa in offered.values()):
                self.wrong("kubelet gets a NUMA node that is none", offered)
            unhealthy = dict(text.rpartition(": ")[::2] for text in resource["unhealthy"])
            if not all(unhealthy.values()):
                self.wrong("unhealthy, and no reason", resource["unhealthy"])
            # Devices that have left are listed by their ids for a time.
            gone = {device for device, reason in unhealthy.items()
                    if reason in ("it is gone", "it is no longer selected")}
            if len(selected) + len(gone) != resource["devices"]:
                self.wrong("explain and the pool differ", f"{name}: {selected}, {resource}")
            if not unhealthy.keys() - gone <= set(selected):
                self.wrong("an unhealthy slot's device is not selected", f"{name}: {unhealthy}, {selected}")
            missing = resource["slots"] - resource["healthy"]
            if (missing and not unhealthy) or (resource["mode"] == "exclusive" and missing != len(unhealthy)):
                self.wrong("slots are missing without a reason", resource)

    def judge_doctor(self):
        unhealthy = {name for name, device in self.devices.items() if device["health"] != "healthy"}
        problems = {}
        for finding in self.answers["doctor"]["findings"]:
            if finding["level"] == "problem" and finding["subject"] in self.devices:
                problems.setdefault(finding["subject"], finding["text"])
        for name in unhealthy - problems.keys():
            self.wrong("doctor does not report an unhealthy device: " + without_names(self.devices[name]["health_reason"]), name)
        for name in problems.keys() - unhealthy:
            self.wrong("doctor has a problem of a healthy device: " + without_names(problems[name]), name)

    def judge_topology(self):
        topology = self.answers["topology"]
        table = topology["distances"]
        count = len(topology["gpus"]) + len(topology["nics"])
        if len(table) != count or any(len(row) != count for row in table):
            self.wrong("the table of distances has another size")
        elif any(table[i][i] != "X" or table[i][j] != table[j][i] for i in range(count) for j in range(i)):
            self.wrong("the table of distances is not symmetric", table)

    def judge_plan(self, answer, where):
        if "plan" not in answer:
            self.wrong("no plan: " + without_names(answer), f"{where}: {answer}")
            return
        plan = answer["plan"]
        if plan["refused"]:
            if not plan["reason"]:
                self.wrong("NCCL is refused without a reason", where)
            return
        selected = [rail for rail in plan["rails"] if rail["selected"]]
        named = [part for part in plan["env"].get("NCCL_IB_HCA", "").lstrip("=").split(",") if part]
        if sorted(named) != sorted(f"{rail['device_name']}:{rail['port']}" for rail in selected):
            self.wrong("NCCL_IB_HCA differs from the rails", f"{where}: {named}")
        if len({rail["link_layer"] for rail in selected}) > 1:
            self.wrong("NCCL gets several link layers", f"{where}: {named}")
        for rail in selected:
            port = next(port for port in self.devices[rail["device_name"]]["ports"] if port["number"] == rail["port"])
            if port["state"] not in ("active", "active defer"):
                self.wrong(f"NCCL gets a port that is {port['state']}", f"{where}: {rail['device_name']}")
            if rail["link_layer"] == "ethernet" and not any(gid["selected"] for gid in rail["gids"]):
                self.wrong("NCCL gets an Ethernet port without a GID", f"{where}: {rail['device_name']}")
        self.judge_index(plan, selected, where)

    def judge_index(self, plan, selected, where):
        index = plan["env"].get("NCCL_IB_GID_INDEX", "-1")
        for rail in selected if int(index) >= 0 else ():
            if rail["link_layer"] == "ethernet" and \
                    not any(gid["index"] == int(index) and gid["selected"] for gid in rail["gids"]):
                self.wrong("NCCL_IB_GID_INDEX is not that of a selected GID", f"{where}: {rail['device_name']}")


def without_names(text):
    """The kind of a message: without what is in quotes, numbers, addresses and names of devices."""
    text = re.sub(r"\"[^\"]*\"|'[^']*'|0x[0-9a-f]+|/\S+", "_", str(text))
    return re.sub(r"\S*\d\S*", "N", text)[:200]


@contextlib.contextmanager
def scratch():
    """A directory in memory, for machines."""
    where = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    path = tempfile.mkdtemp(prefix="rdmad-zoo-", dir=where)
    try:
        os.chmod(path, 0o755)
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
