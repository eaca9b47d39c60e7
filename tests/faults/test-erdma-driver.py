#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 of rdmad, or of the processes that run programs of the host for it, before each call that changes
something while eRDMA's driver is installed, loaded and changed to another mode, and at a start that finds it missing;
and calls that fail once.

After a restart, or by itself, the driver is there in its mode.  Nothing was done twice at once, or again where the
kernel said that it was done.  No process and no cgroup is left.  Some points of one operation a class are tried, but
for RDMAD_TEST_SLOW=1.

usage: test-erdma-driver.py RDMAD MODULE-DIR INJECT.SO [TEST...]
"""

import contextlib
import ctypes
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "integration"))
from erdma_driver_case import RELEASE, DriverCase  # noqa: E402
from machine_changes import request  # noqa: E402
from plugin_case import MODULES, PATIENCE, RDMAD, SLOW, tap  # noqa: E402
from injector import ALL, CHANGES, KEEPS, KILL, Injector, Point  # noqa: E402

LIBRARY = os.path.abspath(sys.argv[3])
HOST = "RDMAD_TEST_HOST"
POINTS = None if SLOW else 3    # of one sweep
CGROUP = "rdmad-erdma-installer"
ERRNOS = ("EIO", "ENOMEM", "EMFILE", "EINTR", "EPERM")
PR_SET_CHILD_SUBREAPER = 36

# Both complain of another one that runs, and of what is there already.
COMMON = r"""
root=${0%/*/*}
wrong() { echo "$*" >>"$root/wrong"; }
exec 9>>"$root/lock"
flock -n 9 || wrong "two at once: $0 $*"
echo "${0##*/} $*" >>"$root/calls"
"""
MODPROBE = "#!/bin/sh" + COMMON + r"""
if [ "$1" = -r ]; then
	[ -e "$root/sys/module/$2" ] || wrong "$2 is unloaded again"
	mv "$root/sys/module/$2" "$root/old.$$" && rm -r "$root/old.$$"
	exit 0
fi
[ ! -e "$root/sys/module/$1" ] || wrong "$1 is loaded again"
mkdir -p "$root/new.$$/parameters"
[ "$1" != erdma ] || echo "${2#compat_mode=}" >"$root/new.$$/parameters/compat_mode"
echo live >"$root/new.$$/initstate"
mkdir -p "$root/sys/module"
mv -T "$root/new.$$" "$root/sys/module/$1"
"""
# The program that the installer leaves behind never has the lock.
INSTALLER = r"""#!/bin/sh
$LEAVE sleep 1000 &""" + COMMON + r"""
dep="$root/lib/modules/$RELEASE/modules.dep"
! grep -q erdma "$dep" || wrong "erdma is installed again"
sleep 0.1
echo "kernel/erdma.ko: " | cat "$dep" - >"$dep.new"
mv "$dep.new" "$dep"
"""
CONFIG = """modules = { erdma = {
  driver = { retry = "200ms"; prefer_driver = "%s"; modprobe = "%s"; pci_device = "%s"; install = { command = "%s"; environment = ( "RELEASE=%s", "LEAVE=%s" ); }; };
  nics = { manage = false; }; smc = { mode = "off"; };
}; };
"""


def processes():
    """{pid: (its name, its parent)} of all that run."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            name, rest = file.read().rsplit(")", 1)
            state, parent = rest.split()[:2]
            if state != "Z":
                found[int(pid)] = name.split("(", 1)[1], int(parent)
    return found


def descendants(found, of):
    children = {pid for pid, (_, parent) in found.items() if parent == of}
    return children.union(*(descendants(found, child) for child in children))


class Sweep(DriverCase):
    """On a recorded machine, which has no cgroups."""

    WHAT = KILL
    EXECUTOR = False    # what is struck: the daemon, or the processes of its keeper
    SHORT = "test_install"
    LEAVE = ""          # how the installer starts a program that it leaves behind
    RELEASE, PCI = RELEASE, "1ded:107f"

    def setUp(self):
        if not SLOW and self._testMethodName != self.SHORT:
            self.skipTest("one operation a class is tried each time, all with RDMAD_TEST_SLOW=1")
        super().setUp()
        self.injector = Injector(LIBRARY, os.path.join(self.dir, "faults"), RDMAD, self.EXECUTOR)
        self.addCleanup(self.injector.close)
        self.environment = self.injector.environment
        self.put("sbin/modprobe", MODPROBE, 0o755)
        self.put("opt/install", INSTALLER, 0o755)
        self.mode = "default"

    # ---- the machine ----

    def path(self, name):
        """As the configuration has it."""
        return "/" + name

    def configure(self):
        self.write_config(CONFIG % (self.mode, self.path("sbin/modprobe"), self.PCI, self.path("opt/install"),
                                    self.RELEASE, self.LEAVE))

    def has(self, module):
        return os.path.exists(os.path.join(self.machine, "sys/module", module, "initstate"))

    def forget(self, *modules):
        """They are not loaded."""
        for module in modules:
            if self.has(module):
                self.unload(module)

    def text(self, name):
        with contextlib.suppress(FileNotFoundError):
            with open(os.path.join(self.machine, name), encoding="utf-8") as file:
                return file.read()
        return ""

    # ---- the daemon ----

    def start(self):
        self.injector.new_process()
        self.daemon = self.spawn_daemon(None, "--config", os.path.join(self.dir, "rdmad.conf"),
                                        modules=("--module=erdma",))

    def until(self, condition, what):
        end = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > end:
                self.fail(f"waited in vain for {what}\n{self.log()[-4000:]}")
            time.sleep(0.02)

    def has_ended(self):
        return self.daemon.poll() is not None

    def is_whole(self):
        """The driver in its mode with what is beside it, and rdmad knows."""
        wanted = "Y" if self.mode == "compat" else "N"
        if self.text("sys/module/erdma/parameters/compat_mode").strip() != wanted or not self.has("smc"):
            return False
        with contextlib.suppress(Exception):    # it may be ending
            driver = self.driver()
            return driver["state"] == "ready" and driver["mode"] == self.mode
        return False

    def ask_again(self):
        with contextlib.suppress(OSError, ValueError):
            request(self.socket, "POST", "/api/v1/rescan")

    # ---- a point ----

    def ready(self):
        """What each operation but a start begins with."""
        self.put("calls", "")
        if self.daemon and not self.has_ended() and self.is_whole():
            return
        self.no_daemon()
        self.depmod("erdma", "smc")
        self.configure()
        self.start()
        self.until(self.is_whole, "the driver")
        self.put("calls", "")

    def depmod(self, *modules):
        self.put(f"lib/modules/{self.RELEASE}/modules.dep",
                 "\n".join(f"kernel/{name}.ko: kernel/ib_core.ko" for name in modules))

    def no_daemon(self):
        if self.daemon:
            self.end_daemon(signal.SIGKILL)
        self.assertNothingLeft()

    def strike(self, point, act):
        """Returns how many calls there are, if `point` is None."""
        self.injector.arm(point)
        act()
        # The question that brings the change to light may have failed: settle() asks again.
        self.until(lambda: self.has_ended() or self.injector.struck() or self.is_whole(), "the driver, or the end")
        self.injector.disarm()
        return self.injector.calls(self.function)

    def settle(self):
        """As a service manager: it is started again where it has ended."""
        if not self.has_ended():
            # A call that is on its way may still be the one; and the question may not have come through.
            self.ask_again()
        self.until(lambda: self.has_ended() or self.is_whole(), "the driver, or the end")
        if self.has_ended():
            self.daemon = None
            self.start()
            self.until(self.is_whole, "the driver after a restart")
        self.assertEqual(self.text("wrong"), "")
        calls = self.text("calls").split("\n")
        for call in set(filter(None, calls)):
            self.assertLessEqual(calls.count(call), 2, f"{call}: {calls}")
        self.assertNothingLeft()

    def left(self):
        """What runs below this test but rdmad, its keeper and the keeper's executor; orphans are ours."""
        found = processes()
        daemon = {self.daemon.pid} if self.daemon else set()
        return [found[pid] for pid in descendants(found, os.getpid()) - daemon
                if found[pid][0] not in ("rdmad-keeper", "rdmad-executor") or not daemon]

    def assertNothingLeft(self):
        try:
            self.until(lambda: not self.left(), "the end of all programs")
        except AssertionError:
            self.fail(f"left: {self.left()}\n{self.log()[-3000:]}")

    def points(self, total):
        numbers = range(1, total + 1)
        if "RDMAD_TEST_POINT" in os.environ:
            numbers = [int(os.environ["RDMAD_TEST_POINT"])]
        elif POINTS:
            numbers = sorted(random.sample(numbers, min(POINTS, total)))
        for number in numbers:
            what = KILL if self.WHAT == KILL else random.choice(ERRNOS)
            yield Point(self._testMethodName, self.function, number, False, what)

    def sweep(self, prepare, act, function=CHANGES):
        self.function = function
        prepare()
        total = self.strike(None, act)
        self.settle()
        self.assertGreater(total, 0)
        tried = 0
        for point in self.points(total):
            prepare()
            with self.subTest(point=str(point)):
                try:
                    self.strike(point, act)
                    self.settle()
                except AssertionError as error:
                    self.fail(f"{error}\ncalled by: {' < '.join(self.injector.stack()[:8])}")
                finally:
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(os.path.join(self.machine, "wrong"))
            tried += 1
        self.end_daemon()
        self.assertNothingLeft()
        print(f"# {self.id()}: {tried} of {total} points", flush=True)

    # ---- the operations ----

    def test_install(self):
        def act():
            self.depmod("smc")
            self.forget("erdma")
            self.ask_again()

        self.sweep(self.ready, act)

    def test_load(self):
        def act():
            self.forget("erdma", "smc")
            self.ask_again()

        self.sweep(self.ready, act)

    def test_switch(self):
        """Unload, and load."""
        def act():
            self.mode = "compat" if self.mode == "default" else "default"
            self.configure()
            self.daemon.send_signal(signal.SIGHUP)

        self.sweep(self.ready, act)

    def test_start(self):
        def prepare():
            self.no_daemon()
            self.forget("erdma", "smc")
            self.depmod("smc")
            self.configure()
            self.put("calls", "")

        self.sweep(prepare, self.start, ALL if self.EXECUTOR else KEEPS)


class SweepExecutor(Sweep):
    EXECUTOR = True
    # Nobody is left to kill the group of a program whose own process is killed.
    LEAVE = ":"
    SHORT = "test_load"


class SweepErrno(Sweep):
    SHORT = "test_switch"
    WHAT = "errno"


class SweepExecutorErrno(SweepExecutor):
    SHORT = "test_start"
    WHAT = "errno"


class Live(Sweep):
    """On this kernel, in a mount and cgroup namespace whose PID 1 is this test: the installer has its cgroup,
    which what it leaves behind cannot leave."""

    LEAVE = "setsid"
    RELEASE, PCI = os.uname().release, ""
    PLACES = ("sys/module", "lib/modules")

    def setUp(self):
        if os.environ.get(HOST) != "private":
            self.skipTest("namespaces and cgroups of its own need root and cgroups of version 2")
        super().setUp()
        for place in self.PLACES:
            os.makedirs(os.path.join(self.machine, place), exist_ok=True)
            os.makedirs("/" + place, exist_ok=True)
            subprocess.run(["mount", "--bind", os.path.join(self.machine, place), "/" + place], check=True)
            self.addCleanup(subprocess.run, ["umount", "-l", "/" + place], check=True)

    def path(self, name):
        return os.path.join(self.machine, name)

    def spawn_daemon(self, config=None, *options, modules=()):
        command = [RDMAD, *modules, "--module-dir", MODULES, "--run-dir", os.path.join(self.dir, "run"),
                   "--state-dir", os.path.join(self.dir, "state"), "--kubelet-dir", self.kubelet_dir,
                   "--log-level", "debug", *options]
        with open(os.path.join(self.dir, "log"), "a", encoding="utf-8") as log:
            return subprocess.Popen(command, stdout=log, stderr=log, env=self.environment)

    def left(self):
        found = processes()
        return super().left() + [(str(path), [found.get(pid) for pid in self.members(path)])
                                 for path in Path("/sys/fs/cgroup").glob(f"**/{CGROUP}")]

    @staticmethod
    def members(cgroup):
        with contextlib.suppress(FileNotFoundError, OSError):
            return [int(pid) for pid in (cgroup / "cgroup.procs").read_text().split()]
        return []


class LiveExecutor(Live):
    """The next program's process kills what is in the cgroup; an empty one stays for it."""

    EXECUTOR = True

    def left(self):
        return [what for what in super().left() if what[1]]


class LiveErrno(Live):
    WHAT = "errno"


class LiveExecutorErrno(LiveExecutor):
    WHAT = "errno"


def cgroup_directory():
    """Of the hierarchy of version 2; None: there is none that may be changed."""
    with open("/proc/mounts", encoding="utf-8") as file:
        mounts = [line.split() for line in file]
    trees = [words[1] for words in mounts if words[2] == "cgroup2" and words[3].startswith("rw")]
    return Path(trees[0]) if trees and os.geteuid() == 0 else None


def run_in_private_host(tree):
    """This program again, as PID 1 in a cgroup of its own, which is removed."""
    own = tree / f"rdmad-test-{os.getpid()}"
    own.mkdir()
    try:
        (own / "cgroup.procs").write_text("0")
        status = subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--cgroup",
                                 sys.executable, *sys.argv], env={**os.environ, HOST: "private"}).returncode
    finally:
        (tree / "cgroup.procs").write_text("0")
        for directory, _, _ in os.walk(own, topdown=False):
            os.rmdir(directory)
    return status


def enter_private_host():
    """Never returns the first time, where the machine lets it."""
    if os.environ.get(HOST) == "private":
        subprocess.run(["umount", "-R", "-l", "/sys/fs/cgroup"], check=True)
        subprocess.run(["mount", "-t", "cgroup2", "cgroup2", "/sys/fs/cgroup"], check=True)
        os.mkdir("/sys/fs/cgroup/system.slice")     # where one is made if it is refused at the top
        # A machine without a kernel of its own has no /lib/modules.
        with tempfile.TemporaryDirectory() as scratch:
            subprocess.run(["mount", "-t", "tmpfs", "tmpfs", scratch], check=True)
            for name in ("upper", "work"):
                os.mkdir(f"{scratch}/{name}")
            lib = os.path.realpath("/lib")
            subprocess.run(["mount", "-t", "overlay", "overlay", "-o",
                            f"lowerdir={lib},upperdir={scratch}/upper,workdir={scratch}/work", lib], check=True)
            subprocess.run(["umount", "-l", scratch], check=True)
        return
    tree = cgroup_directory()
    if tree:
        sys.exit(run_in_private_host(tree))
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)


if __name__ == "__main__":
    enter_private_host()
    del sys.argv[1:4]
    tap.main(sys.argv[1:])
