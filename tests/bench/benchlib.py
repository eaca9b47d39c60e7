# SPDX-License-Identifier: Apache-2.0
"""Shared by the benchmarks: the daemon on a recorded machine in memory, numbers, the table.

Each benchmark takes the build directory and prints its tables, and saves them for results.py in the
directory $RDMAD_BENCH_RESULTS, if that is set.  A missed goal is a line of the table; only a run that broke
exits with other than 0.
"""

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
TESTS = os.path.dirname(HERE)
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(TESTS, "kubelet"))

PATIENCE = 120
SKIP = 77
BEGUN = time.monotonic()


class Build:
    """The programs of a build directory."""

    def __init__(self, directory):
        self.directory = os.path.realpath(directory)
        self.rdmad = os.path.join(self.directory, "core/rdmad")
        self.modules = os.path.join(self.directory, "modules")
        with open(self.rdmad, "rb") as file:
            if b"__asan_init" in file.read():
                print("skipped: a build with sanitizers says nothing about speed or memory")
                sys.exit(SKIP)

    def program(self, name):
        return os.path.join(self.directory, "tests/bench", name)

    def has(self, name):
        return os.path.exists(self.program(name))

    def ask(self, name, *args):
        """The output of a measuring program, which is JSON."""
        done = subprocess.run([self.program(name), *map(str, args)], check=True,
                              stdout=subprocess.PIPE, timeout=PATIENCE)
        return json.loads(done.stdout)


def earlier_build():
    """A build directory of an earlier commit, to be compared with: $RDMAD_BENCH_BEFORE, or None."""
    directory = os.environ.get("RDMAD_BENCH_BEFORE")
    return Build(directory) if directory else None


def build_from_command_line():
    if len(sys.argv) != 2:
        sys.exit(f"usage: {os.path.basename(sys.argv[0])} BUILD-DIRECTORY")
    return Build(sys.argv[1])


class Scratch(tempfile.TemporaryDirectory):
    """A directory that goes with the benchmark: in memory, or where the disk is."""

    def __init__(self, on_disk=False):
        super().__init__(prefix="rdmad-bench-", dir="/var/tmp" if on_disk else "/dev/shm")
        os.chmod(self.name, 0o755)

    def __enter__(self):
        return self

    def path(self, *names):
        return os.path.join(self.name, *names)


def expand(machine, directory, **values):
    """The tree of a recorded machine."""
    subprocess.run([os.path.join(TESTS, "machines/expand"), machine, directory,
                    *(f"{name}={value}" for name, value in values.items())],
                   check=True, stdout=subprocess.DEVNULL)
    return directory


def expand_rails(directory, devices):
    """`devices` HCAs alike, with GID tables of 32 entries."""
    return expand("rails", directory, RAILS=devices, LAST=31)


# ---- the daemon ----

class Daemon:
    """rdmad with its device plugin, or other modules.  `registry`: kubelet's plugins_registry directory
    is there, which is enough for rdmad to make its sockets.  `run_dir`: elsewhere than below `directory`."""

    def __init__(self, build, root, directory, config=None, registry=True, modules=("device-plugin",),
                 run_dir=None):
        self.directory = directory
        self.kubelet = os.path.join(directory, "kubelet")
        os.makedirs(os.path.join(self.kubelet, "plugins_registry") if registry else self.kubelet,
                    exist_ok=True)
        self.command = [build.rdmad, *(f"--module={name}" for name in modules),
                        "--module-dir", build.modules,
                        "--sysroot", root, "--run-dir", run_dir or os.path.join(directory, "run"),
                        "--state-dir", os.path.join(directory, "state"),
                        "--kubelet-dir", self.kubelet]
        if config:
            path = os.path.join(directory, "rdmad.conf")
            with open(path, "w") as file:
                file.write(config)
            self.command += ["--config", path]

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        """Seconds from exec to READY=1."""
        notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        path = os.path.join(self.directory, "notify")
        if os.path.exists(path):
            os.unlink(path)
        notify.bind(path)
        notify.settimeout(PATIENCE)
        self.log = open(os.path.join(self.directory, "log"), "w+b")
        begun = time.monotonic()
        self.process = subprocess.Popen(self.command, stderr=self.log,
                                        env={**os.environ, "NOTIFY_SOCKET": path})
        while b"READY=1" not in notify.recv(4096):
            pass
        took = time.monotonic() - begun
        notify.close()
        return took

    @property
    def pid(self):
        return self.process.pid

    def said(self):
        self.log.seek(0)
        return self.log.read().decode(errors="replace")

    def socket(self):
        """Where the device plugin listens."""
        directory = os.path.join(self.kubelet, "plugins_registry")
        names = wait_for(lambda: [n for n in os.listdir(directory) if n.startswith("rdmad-")],
                         "socket of the device plugin")
        return os.path.join(directory, names[0])

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(PATIENCE)
        text = self.said()
        self.log.close()
        if code:
            raise RuntimeError(f"rdmad ended with {code}:\n{text}")


def wait_for(what, name):
    end = time.monotonic() + PATIENCE
    while True:
        found = what()
        if found:
            return found
        if time.monotonic() > end:
            raise TimeoutError(f"no {name} within {PATIENCE} s")
        time.sleep(0.005)


def wait_for_server(path):
    """Until somebody takes connections there."""
    def answers():
        with socket.socket(socket.AF_UNIX) as client:
            return client.connect_ex(path) == 0
    wait_for(answers, path)


# ---- Allocate ----

class Offer:
    """The slots of ListAndWatch: sorted ids.  The stream stays open as kubelet's does, because rdmad
    registers again, with another socket, when it is lost."""

    def __init__(self, plugin_socket):
        from fake import rpc
        from fake.messages import plugin

        self.channel = rpc.dial(plugin_socket)
        self.stream = rpc.stream(self.channel, "/v1beta1.DevicePlugin/ListAndWatch", plugin.Empty(),
                                 plugin.ListAndWatchResponse)
        self.slots = sorted(device.ID for device in next(self.stream).devices)

    def close(self):
        self.stream.cancel()
        self.channel.close()


def write_requests(path, slots):
    """An Allocate request for each slot, each behind its length, for bench-client."""
    from fake.messages import plugin

    with open(path, "wb") as file:
        for slot in slots:
            request = plugin.AllocateRequest()
            request.container_requests.add(devices_ids=[slot])
            message = request.SerializeToString()
            file.write(struct.pack(">I", len(message)) + message)
    return path


ALLOCATE = "/v1beta1.DevicePlugin/Allocate"


# ---- numbers ----

def percentile(values, percent):
    values = sorted(values)
    return values[min(len(values) - 1, len(values) * percent // 100)]


def median(values):
    return percentile(values, 50)


def ratios(values, others):
    """Of each round, for the spread."""
    return [value / other for value, other in zip(values, others)]


def memory_of(pid):
    """{"Rss": KiB, "Pss": KiB, ...} of a process."""
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return {line.split(":")[0]: int(line.split()[1]) for line in file if line.endswith("kB\n")}


def largest_mappings(pid, count):
    """[(name, PSS in KiB)], the mappings of one file together."""
    sums, name = {}, ""
    with open(f"/proc/{pid}/smaps") as file:
        for line in file:
            words = line.split()
            if "-" in words[0] and not words[0].endswith(":"):
                name = os.path.basename(words[5]) if len(words) > 5 else "anonymous"
            elif words[0] == "Pss:":
                sums[name] = sums.get(name, 0) + int(words[1])
    return sorted(sums.items(), key=lambda item: -item[1])[:count]


def processor_us_of(pid):
    """CPU time that a process has had, all threads."""
    total = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/schedstat") as file:
            total += int(file.read().split()[0])
    return total / 1000


def all_processor_us_of(pid):
    """The same with the threads that have ended: the process's own clock (clock_getcpuclockid)."""
    return time.clock_gettime_ns(~pid << 3 | 2) / 1000


def sleeps_of(pid):
    """How often the threads of a process have gone to sleep."""
    total = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/status") as file:
            for line in file:
                if line.startswith("voluntary_ctxt_switches:"):
                    total += int(line.split()[1])
    return total


# ---- the table ----

class Table:
    HEAD = ("", "ratio", "measured", "against", "goal", "")

    def __init__(self, title, unit):
        self.title, self.unit = title, unit
        self.rows, self.notes = [], []

    def show(self, number):
        if self.unit == "" or number == int(number) or abs(number) >= 100:
            return f"{number:.0f} {self.unit}".strip()
        return f"{number:.{1 if abs(number) >= 10 else 2}f} {self.unit}"

    def _add(self, what, ratio, measured, against, goal, met):
        verdict = "" if met is None else "met" if met else "NOT MET"
        self.rows.append((what, ratio, self.show(measured), against, goal, verdict))

    @staticmethod
    def spread(rounds):
        """The middle half of the rounds."""
        return f" ({percentile(rounds, 25):.2f} to {percentile(rounds, 75):.2f})" if rounds else ""

    def at_most_times(self, what, measured, name, baseline, limit=None, rounds=None):
        """`limit` times the baseline is the most that it may be.  `rounds`: the ratio in each, of which the
        median is taken: the machine is another one from round to round."""
        ratio = median(rounds) if rounds else measured / baseline
        self._add(what, f"{ratio:.2f} x{self.spread(rounds)}", measured,
                  f"{name} {self.show(baseline)}", "" if limit is None else f"<= {limit:g} x",
                  None if limit is None else ratio <= limit)

    def times_better(self, what, measured, name, other, limit=None, rounds=None):
        """The counterpart takes at least `limit` times as much.  `rounds`: how many times, in each."""
        ratio = median(rounds) if rounds else other / measured
        self._add(what, f"1/{ratio:.2f}{self.spread(rounds)}", measured,
                  f"{name} {self.show(other)}", "" if limit is None else f"<= 1/{limit:g}",
                  None if limit is None else ratio >= limit)

    def value(self, what, measured, limit=None):
        self._add(what, "", measured, "", "" if limit is None else f"<= {self.show(limit)}",
                  None if limit is None else measured <= limit)

    def note(self, text):
        self.notes.append(text)

    def print(self):
        rows = [self.HEAD, *self.rows]
        wide = [max(len(row[i]) for row in rows) for i in range(len(self.HEAD))]
        print(f"\n{self.title}")
        for row in rows:
            cells = [row[0].ljust(wide[0]), row[1].rjust(wide[1]), row[2].rjust(wide[2]),
                     row[3].ljust(wide[3]), row[4].ljust(wide[4]), row[5]]
            print("  " + "  ".join(cells).rstrip())
        for note in self.notes:
            print(f"  ({note})")
        sys.stdout.flush()
        self.save()

    def save(self):
        """With the other tables of this program, for results.py."""
        directory = os.environ.get("RDMAD_BENCH_RESULTS")
        if not directory:
            return
        program = os.path.splitext(os.path.basename(sys.argv[0]))[0]
        with open(os.path.join(directory, f"{program}.jsonl"), "a") as file:
            json.dump({"title": self.title, "rows": self.rows, "notes": self.notes,
                       "seconds": round(time.monotonic() - BEGUN)}, file)
            file.write("\n")
