#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""One rdmad gives over to another while kubelet admits pods.

usage: test-hand-over.py RDMAD MODULE-DIR [TEST...]
"""

import contextlib
import fcntl
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from unittest import mock

sys.dont_write_bytecode = True

from plugin_case import HCA, MODULES, PATIENCE, RDMAD, SLOW, AdmissionError, PluginCase, tap  # noqa: E402
from fake.endpoint import Endpoint  # noqa: E402
from ports import free_port  # noqa: E402
from processes import unix_sockets  # noqa: E402

WAYS = ({"registry": False}, {"legacy": False}, {"era": "1.30"}, {"era": "1.24", "registry": False})
RAIL = "rdma/rail"
CONFIG = """modules = { device-plugin = { resources = ( { name = "rdma/hca"; count = %d;
    selectors = { names = "mlx5_2"; }; }, { name = "rdma/rail"; mode = "exclusive";
    selectors = { names = ( "mlx5_0", "mlx5_1" ); }; } ); }; };"""


def blocks(pid, signum):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        blocked = re.search(r"^SigBlk:\s*(\w+)", file.read(), re.MULTILINE)
    return int(blocked[1], 16) >> (signum - 1) & 1


class Admission:
    """Pods that come and go, and what kubelet says of the resource meanwhile."""

    def __init__(self, kubelet, name=HCA):
        self.kubelet, self.name = kubelet, name
        self.refused, self.admitted, self.longest = [], 0, 0.0
        self.without, self.since = 0.0, None        # the longest time, and the present one
        self.enough = threading.Event()
        self.threads = [threading.Thread(target=self.admit, args=(n,)) for n in range(2)]
        self.threads.append(threading.Thread(target=self.watch))

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.enough.set()
        for thread in self.threads:
            thread.join()

    def admit(self, who):
        number = 0
        while not self.enough.is_set():
            number += 1
            begun = time.monotonic()
            try:
                self.kubelet.allocate(f"ml/p{who}-{number}", self.name, 1)
                self.admitted += 1
                self.longest = max(self.longest, time.monotonic() - begun)
                self.kubelet.release(f"ml/p{who}-{number}")
            except AdmissionError as error:
                self.refused.append(str(error))
            time.sleep(0.001)

    def watch(self):
        while not self.enough.is_set():
            found = self.kubelet.resources().get(self.name)
            now = time.monotonic()
            if found and found["connected"] and found["allocatable"]:
                self.since = None
            else:
                self.since = self.since or now
                self.without = max(self.without, now - self.since)
            time.sleep(0.001)

    def __str__(self):
        return (f"{self.admitted} pods admitted, {len(self.refused)} refused; {self.without:.3f} s without the "
                f"resource; the longest Allocate took {self.longest:.3f} s")


class Case(PluginCase):
    def setUp(self):
        super().setUp()
        self.others = []
        self.addCleanup(self.end_others)

    def end_others(self):
        for process in self.others:
            if process.poll() is None:
                process.kill()
                process.wait()
        self.others.clear()

    def begin(self, count=100, **kubelet):
        self.both(CONFIG % count, **kubelet)
        self.ready(count)

    def ready(self, count=100):
        self.wait_ready(count)
        self.wait_ready(2, RAIL)

    @contextlib.contextmanager
    def part(self, **values):
        """A subtest with processes and directories of its own, which end with it."""
        with self.subTest(**values):
            try:
                yield
            except BaseException:
                self.end_daemon(signal.SIGKILL)
                raise
            finally:
                self.start_over()

    def successor(self, *options, count=100):
        """It is the daemon from now on."""
        old = self.daemon
        self.others.append(old)
        self.daemon = self.spawn_daemon(CONFIG % count, *options)
        return old

    def serving(self):
        """The process that answers, or None."""
        try:
            return self.ask("status")["pid"]
        except Exception:       # one that starts, or ends
            return None

    def take_over(self, line):
        """Returns the old daemon, after that line of the log."""
        said = self.log().count(line)
        old = self.successor("--take-over")
        self.wait_for(lambda: self.log().count(line) > said, line)
        return old

    def until_served_by(self, process):
        self.wait_for(lambda: self.serving() == process.pid, f"answer of {process.pid}")
        self.ready()

    def until_admitted(self, admission, more=20):
        target = admission.admitted + more
        self.wait_for(lambda: admission.admitted >= target, "more pods")

    def is_admitted(self):
        """A pod; it is not while kubelet knows only of the plugin that has ended."""
        with contextlib.suppress(AdmissionError):
            return self.kubelet.allocate("ml/after", HCA, 1)

    def check_unnoticed(self, admission):
        print(f"# {admission}", flush=True)
        self.assertEqual(admission.refused, [])
        self.assertEqual(admission.without, 0)


class HandOverTest(Case):
    def test_kubelet_notices_nothing(self):
        for way in WAYS:
            with self.part(**way):
                self.begin(**way)
                held = self.kubelet.allocate("ml/train-0", HCA, 3).reply.envs["RDMAD_ALLOCATION"]
                endpoints = self.endpoint(), self.endpoint(RAIL)
                with Admission(self.kubelet) as admission:
                    for _ in range(3):      # the third goes on with what the second has taken over
                        self.until_admitted(admission)
                        old = self.successor("--take-over")
                        self.until_served_by(self.daemon)
                        self.until_admitted(admission)
                        self.assertIsNone(old.poll(), "it stays, so that nobody starts it again")
                        old.send_signal(signal.SIGTERM)
                        self.assertEqual(old.wait(PATIENCE), 0)
                self.check_unnoticed(admission)
                self.assertEqual((self.endpoint(), self.endpoint(RAIL)), endpoints)
                self.assertIn(held, self.allocations())
                self.assertEqual(len(self.kubelet.allocate("ml/rail", RAIL, 2).ids), 2)
                self.end_daemon()
                self.wait_for(lambda: not self.kubelet.resources()[HCA]["connected"], "its end")
                self.assertEqual(self.sockets("plugins_registry") if way.get("registry", True) else [], [])
                self.assertEqual(self.sockets("device-plugins"), [])

    def test_a_signal_to_stop_gives_over_to_one_that_waits(self):
        self.begin()
        with Admission(self.kubelet) as admission:
            old = self.successor()
            self.wait_for(lambda: unix_sockets(os.path.join(self.dir, "run", "hand-over.sock")) == 2, "second that asks")
            self.until_admitted(admission)
            self.assertEqual(self.serving(), old.pid, "it disturbs nobody while it waits")
            old.send_signal(signal.SIGTERM)
            self.assertEqual(old.wait(PATIENCE), 0)
            self.until_served_by(self.daemon)
            self.until_admitted(admission)
        self.check_unnoticed(admission)

    def test_lists_go_on_where_kubelet_has_them(self):
        """Long ones: the window of the stream is not whole when it is given."""
        self.begin(count=1000)
        old = self.successor("--take-over", count=1000)
        self.wait_for(lambda: self.serving() == self.daemon.pid, "second")
        before = self.endpoint()
        for count in 900, 1000, 800, 1000, 700:
            self.write_config(CONFIG % count)
            self.daemon.send_signal(signal.SIGHUP)
            self.ready(count)
        self.assertIs(self.endpoint(), before)
        self.assertIsNone(old.poll())

    def test_a_signal_to_stop_before_it_asks(self):
        """A pod may be deleted while its container starts."""
        self.begin()
        old = self.daemon
        old.send_signal(signal.SIGSTOP)     # so that the rehearsal waits for its addresses
        self.daemon = None
        new = self.spawn_daemon(CONFIG % 100, "--take-over")
        self.others += [old, new]
        self.wait_for(lambda: blocks(new.pid, signal.SIGTERM), "start")
        new.send_signal(signal.SIGTERM)
        self.assertEqual(new.wait(PATIENCE), 0)
        old.send_signal(signal.SIGCONT)
        self.wait_for(lambda: self.serving() == old.pid, "old one")
        self.ready()
        self.assertNotIn("handing over to", self.log())

    def test_a_configuration_that_lacks_a_resource_ends_it_alone(self):
        self.begin()
        before = self.endpoint()
        self.others.append(self.daemon)
        self.daemon = self.spawn_daemon("""modules = { device-plugin = { resources = ( { name = "rdma/hca";
            count = 100; selectors = { names = "mlx5_2"; }; } ); }; };""", "--take-over")
        self.wait_for(lambda: self.serving() == self.daemon.pid, "second")
        self.wait_ready(100)
        self.wait_for(lambda: not self.kubelet.resources()[RAIL]["connected"], "end of the other")
        self.assertIs(self.endpoint(), before)
        self.assertEqual(len(self.sockets("plugins_registry")), 1)

    def test_another_registration_method_leaves_no_socket(self):
        self.begin()
        self.others.append(self.daemon)
        self.daemon = self.spawn_daemon((CONFIG % 100).replace("resources =", 'registration = "legacy"; resources ='),
                                        "--take-over")
        self.wait_for(lambda: self.serving() == self.daemon.pid, "second")
        self.wait_for(lambda: len(self.sockets("device-plugins")) == 2, "other sockets")
        self.ready()
        self.assertEqual(self.sockets("plugins_registry"), [])

    def test_one_that_could_not_start_takes_nothing_over(self):
        self.begin()
        before = self.endpoint(), self.endpoint(RAIL)
        for modules in ("device-plugin = { nonsense = 1; };",
                        "device-plugin = { resources = ( { name = \"no slash\"; } ); };",
                        "device-plugin = { }; no-such-module = { };"):
            for options in ["--take-over"], []:
                with self.subTest(modules=modules, options=options), Admission(self.kubelet) as admission:
                    self.until_admitted(admission)
                    bad = self.spawn_daemon("modules = { %s };" % modules, *options, modules=())
                    self.others.append(bad)
                    self.assertEqual(bad.wait(PATIENCE), 2)
                    self.until_admitted(admission)
                self.check_unnoticed(admission)
        self.assertEqual(self.serving(), self.daemon.pid)
        self.assertEqual((self.endpoint(), self.endpoint(RAIL)), before)
        self.assertEqual(self.log().count("nonsense"), 2, "each says why, once")

    LISTENS = """modules = { device-plugin = { resources = ( { name = "rdma/hca"; count = 100;
        selectors = { names = "mlx5_2"; }; } ); }; metrics = { listen = "127.0.0.1:%d"; }; };"""

    def begin_listening(self, port):
        self.start_kubelet()
        self.daemon = self.spawn_daemon(self.LISTENS % port, modules=())
        self.wait_ready(100)

    def check_refused(self, status, words, successor):
        self.others.append(successor)
        self.assertEqual(successor.wait(PATIENCE), status)
        self.assertIn(words, self.log())
        self.assertEqual(self.serving(), self.daemon.pid)

    def test_a_port_that_another_program_has_is_noticed_before(self):
        self.begin_listening(free_port())
        with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as other, \
                Admission(self.kubelet) as admission:
            self.until_admitted(admission)
            self.check_refused(1, "Address already in use",
                               self.spawn_daemon(self.LISTENS % other.getsockname()[1], "--take-over", modules=()))
            self.until_admitted(admission)
        self.check_unnoticed(admission)

    def test_a_database_of_a_newer_rdmad_is_noticed_before(self):
        self.begin()
        version = struct.pack(">I", 1000)
        with Admission(self.kubelet) as admission:
            self.until_admitted(admission)
            with open(os.path.join(self.dir, "state", "rdmad.db"), "r+b") as file:
                file.seek(60)
                before = file.read(4)
                file.seek(60)
                file.write(version)
                file.flush()
                self.check_refused(2, "version 1000", self.spawn_daemon(CONFIG % 100, "--take-over"))
                file.seek(60)
                file.write(before)
            self.until_admitted(admission)
        self.check_unnoticed(admission)

    def test_the_port_of_the_other_is_free_for_it(self):
        port = free_port()
        self.begin_listening(port)
        self.others.append(self.daemon)
        self.daemon = self.spawn_daemon(self.LISTENS % port, "--take-over", modules=())
        self.wait_for(lambda: self.serving() == self.daemon.pid, "second")
        self.wait_ready(100)

    def test_one_that_has_failed_to_start_is_followed_at_once(self):
        self.begin()
        old, port = self.daemon, free_port()
        old.send_signal(signal.SIGSTOP)     # nothing is handed over until the port is taken
        self.daemon = None
        new = self.spawn_daemon(self.LISTENS % port, "--take-over", modules=())
        self.others += [old, new]
        self.wait_for(lambda: "waiting for rdmad pid" in self.log(), "second that waits")
        with contextlib.closing(socket.create_server(("127.0.0.1", port))):
            begun = time.monotonic()
            old.send_signal(signal.SIGCONT)
            self.assertEqual(new.wait(PATIENCE), 1)
            self.assertEqual(old.wait(PATIENCE), 1, "to be started again")
        self.assertLess(time.monotonic() - begun, 10, "without the time that is for one that starts slowly")

    def test_a_run_directory_that_was_removed_has_the_socket_again(self):
        self.begin()
        os.rename(os.path.join(self.dir, "run"), os.path.join(self.dir, "run.gone"))
        self.wait_for(lambda: os.path.exists(os.path.join(self.dir, "run", "hand-over.sock")), "socket")
        before = self.endpoint()
        self.successor("--take-over")
        self.until_served_by(self.daemon)
        self.assertIs(self.endpoint(), before)

    def give_to_stopped(self):
        """Returns a successor that is stopped with all that the daemon has given: its messages are relayed."""
        path = os.path.join(self.dir, "run", "hand-over.sock")
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as giver, \
                socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            giver.connect(path)
            listener.bind(path + ".relay")
            listener.listen()
            os.rename(path + ".relay", path)
            self.successor("--take-over")
            peer, _ = listener.accept()
            with peer:
                giver.send(peer.recv(4096))
                while (part := socket.recv_fds(giver, 65536, 253))[0]:
                    self.daemon.send_signal(signal.SIGCONT)
                    socket.send_fds(peer, [part[0]], part[1])
                    for fd in part[1]:
                        os.close(fd)
                    asked = peer.recv(4096)
                    self.daemon.send_signal(signal.SIGSTOP)
                    giver.send(asked)
        return self.daemon

    def let_a_third_register(self):
        """Returns the successor that is stopped meanwhile, with the connections of the first."""
        before = [self.endpoint(), self.endpoint(RAIL)]
        new = self.give_to_stopped()
        self.successor()
        self.wait_for(lambda: not {*before} & {self.endpoint(), self.endpoint(RAIL)}, "other endpoints")
        return new

    def test_connections_of_the_last_but_one_are_not_taken_over(self):
        """Kubelet has given them up.  If the last one lives, kubelet notices their end after that has registered,
        and stops its endpoint instead."""
        for end in None, signal.SIGTERM, signal.SIGKILL:
            for way in WAYS:
                with self.part(end=end, **way):
                    self.begin(**way)
                    new = self.let_a_third_register()
                    third, self.daemon = self.daemon, new
                    self.others.append(third)
                    if end:
                        third.send_signal(end)
                        third.wait(PATIENCE)
                    new.send_signal(signal.SIGCONT)
                    self.until_served_by(new)
                    self.wait_for(self.is_admitted, "admission")
                    self.assertNotIn("taken over, ", self.log())

    def test_the_last_but_one_ends_late(self):
        """A list that follows hides from the check of the endpoint that kubelet has stopped it."""
        for way in WAYS[:3]:        # 1.24 stops the endpoint of the stream that ended
            with self.part(**way):
                self.begin(**way)
                new = self.let_a_third_register()
                new.kill()
                self.wait_for(lambda: not self.kubelet.resources()[HCA]["connected"], "end of the older connections")
                self.write_config(CONFIG % 90)
                self.daemon.send_signal(signal.SIGHUP)
                self.ready(90)
                self.kubelet.allocate("ml/after", HCA, 1)

    def test_a_stream_that_begins_meanwhile(self):
        """The hand-over waits for the rest of a frame when kubelet asks for the list of another resource."""
        run, asks = Endpoint.run, threading.Event()

        def run_later(endpoint):
            wait = asks.wait if endpoint.resource == RAIL else lambda: True
            threading.Thread(target=lambda: wait() and run(endpoint), daemon=True).start()

        for way in WAYS:
            with self.part(**way), mock.patch.object(Endpoint, "run", run_later):
                self.both(CONFIG % 100, **way)
                self.wait_ready(100)
                self.wait_for(lambda: RAIL in self.kubelet.resources(), "other resource")
                with socket.socket(socket.AF_UNIX) as half:
                    half.connect(self.endpoint().path)
                    half.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0" + b"\0\0\0\4")
                    self.ask("status")
                    self.take_over("handing over to")
                    asks.set()
                    time.sleep(0.1)     # for the request; it may not be read
                    half.send(b"\0\0\0\0\0")
                self.until_served_by(self.daemon)
                self.kubelet.allocate("ml/after", RAIL, 1)
            asks.clear()

    @contextlib.contextmanager
    def locked(self):
        """The locks are held, as by the successor of a successor."""
        with contextlib.ExitStack() as stack:
            for path in ("run", "rdmad.lock"), ("state", "state.lock"):
                file = stack.enter_context(open(os.path.join(self.dir, *path), "rb"))
                fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def hand_over_and_kill(self):
        """Returns the first, which waits."""
        old = self.take_over("handed over; waiting")
        self.until_served_by(self.daemon)
        time.sleep(0.1)     # for a look of the first at the locks
        new, self.daemon = self.daemon, None
        new.kill()
        new.wait()
        return old

    def test_it_waits_on_while_the_locks_are_free_for_a_moment(self):
        self.begin()
        old = self.hand_over_and_kill()
        time.sleep(0.7)     # it looks at them each half second
        with self.locked():
            time.sleep(1)
            self.assertIsNone(old.poll(), self.log())
            old.send_signal(signal.SIGTERM)
            self.assertEqual(old.wait(PATIENCE), 0)

    def test_it_ends_once_the_locks_are_free_for_longer(self):
        self.begin()
        old = self.hand_over_and_kill()
        self.assertEqual(old.wait(PATIENCE), 1, "to be started again")

    def test_it_waits_at_its_own_directories(self):
        """A reload may name others, which have an effect after a restart."""
        def write(run, state):
            return self.write_config(f'run_dir = "{self.dir}/{run}"; state_dir = "{self.dir}/{state}"; {CONFIG % 100}')

        self.start_kubelet()
        with open(os.path.join(self.dir, "log"), "a") as log:
            self.daemon = subprocess.Popen(
                [RDMAD, "--module=device-plugin", "--module-dir", MODULES, "--sysroot", self.machine,
                 "--kubelet-dir", self.kubelet_dir, "--config", write("run", "state")], stdout=log, stderr=log)
        self.ready()
        write("other-run", "other-state")
        self.daemon.send_signal(signal.SIGHUP)
        self.wait_for(lambda: "only after a restart: run_dir" in self.log(), "warning")
        old = self.hand_over_and_kill()
        with self.locked():
            time.sleep(1)
            self.assertIsNone(old.poll(), self.log())

    def test_the_end_of_one_that_has_no_lock_yet_is_noticed_at_once(self):
        self.begin()
        old = self.take_over("handing over to")
        new, self.daemon = self.daemon, None
        self.others.append(new)
        new.send_signal(signal.SIGSTOP)
        self.wait_for(lambda: "handed over; waiting" in self.log(), "end of the hand-over")
        begun = time.monotonic()
        new.kill()
        new.wait()
        self.assertEqual(old.wait(PATIENCE), 1, "to be started again")
        self.assertLess(time.monotonic() - begun, 5, "without the time that is for one that starts slowly")

    def test_kubelet_restarts_after_it(self):
        for way in WAYS:
            with self.part(**way):
                self.begin(**way)
                self.successor("--take-over")
                self.until_served_by(self.daemon)
                self.kubelet.restart()
                self.ready()
                self.kubelet.allocate("ml/after", HCA, 1)


class StopTest(Case):
    """Nothing that a client does, or does not do, delays the end."""

    def check_stops(self):
        begun = time.monotonic()
        daemon, self.daemon = self.daemon, None
        daemon.send_signal(signal.SIGTERM)
        yield
        self.assertEqual(daemon.wait(PATIENCE), 0)
        self.assertLess(time.monotonic() - begun, 2.5)

    def test_kubelet_opens_its_stream_meanwhile(self):
        run = Endpoint.run
        for way in WAYS:
            asks, registry = threading.Event(), way.get("registry", True)

            def run_later(endpoint, asks=asks):
                threading.Thread(target=lambda: asks.wait() and run(endpoint), daemon=True).start()

            with self.part(**way), mock.patch.object(Endpoint, "run", run_later):
                self.both(CONFIG % 100, **way)
                self.wait_for(lambda: {HCA, RAIL} <= self.kubelet.resources().keys(), "connections")
                for _ in self.check_stops():
                    # The sockets are gone: streams are over, and there are calls only of connections that stay.
                    self.wait_for(lambda registry=registry: not self.sockets("device-plugins") +
                                  (self.sockets("plugins_registry") if registry else []), "end")
                    asks.set()

    def test_another_client_keeps_its_connection(self):
        self.begin()
        with socket.socket(socket.AF_UNIX) as silent, socket.socket(socket.AF_UNIX) as idle:
            for client in silent, idle:
                client.connect(self.endpoint().path)
            idle.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0")
            idle.recv(9)        # its SETTINGS
            for _ in self.check_stops():
                pass


class KillTest(Case):
    """kill -9 of either, at any moment; supervisors start what ends with a failure."""

    # The last line of the log before the kill, and the delay after it.
    MOMENTS = [(line, delay) for line in ("waiting for rdmad pid", "handing over to", "has started")
               for delay in (0, 0.002, 0.005, 0.01, 0.02, 0.05)]
    MOMENTS += [("taken over, ", 0), ("handed over; waiting", 0), ("handed over; waiting", 0.1)]

    def supervise(self):
        """Starts what has failed, until one serves: the successor, if it lives, which has taken over then."""
        self.others.append(self.daemon)
        successor, self.daemon = self.daemon, None
        processes, end = self.others, time.monotonic() + PATIENCE

        def may_serve():
            return [successor] if successor.poll() is None else [p for p in processes if p.poll() is None]

        while (pid := self.serving()) not in (process.pid for process in may_serve()):
            for process in processes:
                if process.poll() not in (None, 0):
                    processes.remove(process)
                    processes.append(self.spawn_daemon(CONFIG % 100))
                    break
            self.assertLess(time.monotonic(), end, self.log())
            time.sleep(0.02)
        [self.daemon] = [process for process in processes if process.pid == pid]
        processes.remove(self.daemon)

    def check_kill(self, victim, line, delay):
        self.begin()
        held = self.kubelet.allocate("ml/train-0", HCA, 3).reply.envs["RDMAD_ALLOCATION"]
        old = self.take_over(line)
        time.sleep(delay)
        victim = old if victim == "old" else self.daemon
        victim.kill()
        victim.wait()
        self.supervise()
        self.ready()
        self.wait_for(self.is_admitted, "admission")
        self.assertIn(held, self.allocations())
        # The others are those that gave over, or wait.
        self.end_others()
        self.assertEqual(self.serving(), self.daemon.pid)
        self.ready()

    def test_either_may_be_killed_at_any_moment(self):
        for victim in "old", "new":
            for line, delay in self.MOMENTS if SLOW else self.MOMENTS[::4]:
                with self.part(victim=victim, line=line, delay=delay):
                    self.check_kill(victim, line, delay)


if __name__ == "__main__":
    tap.main(sys.argv[3:])
