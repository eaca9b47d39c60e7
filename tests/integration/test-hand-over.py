#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""One rdmad gives over to another while kubelet admits pods.

usage: test-hand-over.py RDMAD MODULE-DIR [TEST...]
"""

import contextlib
import fcntl
import json
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

    def test_one_that_fails_to_start_is_not_noticed(self):
        self.begin_listening(free_port())
        old, port, before = self.daemon, free_port(), self.endpoint()
        old.send_signal(signal.SIGSTOP)     # nothing is handed over until the port is taken
        self.daemon = None
        new = self.spawn_daemon(self.LISTENS % port, "--take-over", modules=())
        self.others += [old, new]
        self.wait_for(lambda: "waiting for rdmad pid" in self.log(), "second that waits")
        with contextlib.closing(socket.create_server(("127.0.0.1", port))), Admission(self.kubelet) as admission:
            old.send_signal(signal.SIGCONT)
            self.assertEqual(new.wait(PATIENCE), 1)
            self.wait_for(lambda: self.serving() == old.pid, "first again")
            self.wait_ready(100)
            self.until_admitted(admission)
        self.check_unnoticed(admission)
        self.assertIs(self.endpoint(), before)
        self.assertIn("handed over; waiting", self.log())
        self.assertIn("Address already in use", self.log())

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
                while not (part := socket.recv_fds(giver, 65536, 253))[0].startswith(b'{"given"'):
                    self.daemon.send_signal(signal.SIGCONT)
                    socket.send_fds(peer, [part[0]], part[1])
                    for fd in part[1]:
                        os.close(fd)
                    asked = peer.recv(4096)
                    self.daemon.send_signal(signal.SIGSTOP)
                    giver.send(asked)
                self.others[-1].kill()      # with its copies
                self.others[-1].wait()
                for fd in part[1]:          # the locks
                    os.close(fd)
                peer.send(part[0])
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

    def test_one_that_is_killed_is_followed_at_its_own_directories(self):
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
        held = self.kubelet.allocate("ml/train-0", HCA, 3).reply.envs["RDMAD_ALLOCATION"]
        old = self.take_over("handed over; waiting")
        self.until_served_by(self.daemon)
        self.daemon.kill()
        self.daemon.wait()
        self.daemon = old
        self.others.remove(old)
        self.until_served_by(old)
        self.assertIn(held, self.allocations())
        self.wait_for(self.is_admitted, "admission")

    def test_the_end_of_one_that_has_no_lock_yet_is_not_noticed(self):
        self.begin()
        before = self.endpoint()
        with Admission(self.kubelet) as admission:
            old = self.take_over("handing over to")
            new, self.daemon = self.daemon, None
            self.others.append(new)
            new.send_signal(signal.SIGSTOP)
            self.wait_for(lambda: "handed over; waiting" in self.log(), "end of the hand-over")
            new.kill()
            new.wait()
            self.until_served_by(old)
            self.until_admitted(admission)
        self.check_unnoticed(admission)
        self.assertIs(self.endpoint(), before)

    def has_lock_between_lives(self, lock):
        """Takes the lock when the daemon does not wait for the successor any more, unless the next life was faster."""
        lives = self.log().count("is ready")
        while self.log().count("is ready") == lives:
            for _ in range(1000):
                with contextlib.suppress(BlockingIOError):
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return True
        return False

    def be_late(self):
        """Returns whether this process, a successor that was given up, had the lock before the next life."""
        path = os.path.join(self.dir, "run")
        who = {"instance": self.ask("status")["instance"], "pid": os.getpid(), "id": 7}
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as late, \
                open(os.path.join(path, "rdmad.lock"), "r+", encoding="ascii") as lock:
            late.connect(os.path.join(path, "hand-over.sock"))
            late.send(json.dumps({"now": True, "from": who}).encode())
            part = socket.recv_fds(late, 65536, 253)
            had = self.has_lock_between_lives(lock)
            if had:
                lock.truncate()
                lock.write(f"{who['pid']}\n{who['id']:016x}\n")
                lock.flush()
            for fd in part[1]:
                os.close(fd)
        return had

    def test_one_that_was_late_and_has_the_lock_cannot_say_what_it_used(self):
        """What it was given is not continued after its end."""
        self.begin()
        before = self.endpoint()
        while not self.be_late():
            self.ready()
            before = self.endpoint()
        self.ready()
        self.wait_for(lambda: self.endpoint() is not before, "another endpoint")
        self.ready()
        self.assertNotIn("taken over, ", self.log().rpartition("handed over; waiting")[2])

    def test_a_third_one_hands_back_to_either(self):
        self.begin()
        before = self.endpoint()
        with Admission(self.kubelet) as admission:
            processes = [self.take_over("handed over; waiting") for _ in range(2)]
            self.until_served_by(self.daemon)
            self.wait_for(lambda: unix_sockets(os.path.join(self.dir, "run", "hand-over.sock")) == 3,
                          "first that asks the third, which listens and is connected to the second")
            while processes:
                self.until_admitted(admission)
                self.end_daemon()
                self.wait_for(lambda: self.serving() in (p.pid for p in processes), "one of the others")
                [self.daemon] = [p for p in processes if p.pid == self.serving()]
                processes.remove(self.daemon)
                self.others.remove(self.daemon)
                self.ready()
            self.until_admitted(admission)
        self.check_unnoticed(admission)
        self.assertIs(self.endpoint(), before)

    def test_an_update_to_a_wrong_configuration_and_one_to_a_right_one(self):
        """As the DaemonSet controller does it: the container of the wrong revision restarts with what is right by now,
        takes over, and its pod is deleted; then comes the pod of the right one, and the first is deleted."""
        self.begin()
        first, self.daemon, before = self.daemon, None, self.endpoint()
        self.others.append(first)
        with Admission(self.kubelet) as admission:
            wrong = self.spawn_daemon("modules = { device-plugin = { nonsense = 1; }; };", "--take-over")
            self.assertEqual(wrong.wait(PATIENCE), 2)
            again = self.spawn_daemon(CONFIG % 100, "--take-over")
            self.others.append(again)
            self.wait_for(lambda: "handing over to" in self.log(), "container that restarts")
            again.send_signal(signal.SIGTERM)
            self.assertEqual(again.wait(PATIENCE), 0)
            self.until_served_by(first)
            self.until_admitted(admission)
            self.daemon = self.spawn_daemon(CONFIG % 100, "--take-over")
            self.until_served_by(self.daemon)
            first.send_signal(signal.SIGTERM)
            self.assertEqual(first.wait(PATIENCE), 0)
            self.until_admitted(admission)
        self.check_unnoticed(admission)
        self.assertIs(self.endpoint(), before)

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


class InstanceTest(Case):
    """An rdmad gives over to its own instance only."""

    OTHER = """instance = "other/release"; """

    def other(self, *options, text=CONFIG % 100, name="other.conf", modules=("--module=device-plugin",)):
        """A second one with a configuration file of its own."""
        path = os.path.join(self.dir, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        process = self.spawn_daemon(None, "--take-over", "--config", path, *options, modules=modules)
        self.others.append(process)
        return process

    def ready_as(self, instance):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(self.socket)
            client.send(f"GET /readyz?instance={instance} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
            return client.makefile().read().startswith("HTTP/1.1 200")

    def check_waits(self, other):
        """It says so on both sides, and serves when the first has ended."""
        first = self.daemon
        self.wait_for(lambda: self.ask("status")["other_instances"], "report of the second")
        status = self.ask("status")
        [text] = status["other_instances"]
        self.assertIn(f"process {other.pid}", text)
        self.assertEqual(status["pid"], first.pid)
        [event] = [e for e in self.ask("events")["events"] if e["kind"] == "other-instance"]
        self.assertEqual((event["level"], text in event["message"]), ("warning", True))
        [finding] = [f for f in self.findings() if "waits for this node" in f["text"]]
        self.assertEqual((finding["level"], text in finding["text"]), ("problem", True))
        self.wait_for(lambda: f"process {first.pid}," in self.log(), "line of the second")
        self.assertIn("does not give over to", self.log())
        self.assertTrue(self.ready_as(status["instance"].replace(" ", "%20")))
        self.assertFalse(self.ready_as("other"))
        self.assertIsNone(other.poll())

    def check_follows(self, other, signum):
        first, self.daemon = self.daemon, None
        first.send_signal(signum)
        first.wait(PATIENCE)
        self.until_served_by(other)
        [event] = [e for e in self.ask("events")["events"] if e["kind"] == "other-instance"]
        self.assertIn(f"process {first.pid},", event["message"])

    def test_another_one_is_refused_and_follows(self):
        cases = (("path", {}), ("name", {"text": self.OTHER + CONFIG % 100}), ("option", {"options": ["--instance", "x"]}),
                 ("modules", {"name": "rdmad.conf", "modules": ("--module=device-plugin", "--module=metrics"),
                              "text": CONFIG[:-2] % 100 + ' metrics = { listen = "127.0.0.1:%d"; }; };' % free_port()}))
        for (name, values), signum in zip(cases, [signal.SIGTERM, signal.SIGKILL] * 2):
            with self.part(name=name):
                self.begin()
                before, values = self.endpoint(), dict(values)
                with Admission(self.kubelet) as admission:
                    other = self.other(*values.pop("options", ()), **values)
                    self.check_waits(other)
                    self.until_admitted(admission)
                self.check_unnoticed(admission)
                self.assertIs(self.endpoint(), before)
                self.check_follows(other, signum)
                self.wait_for(self.is_admitted, "admission")

    def test_an_update_is_the_same_instance(self):
        self.begin()
        cases = ({"options": ["--instance", "a/b"]}, {"options": ["--instance", "a/b"], "name": "elsewhere.conf"},
                 {"options": ["--instance", "a/b"], "modules": (), "text": CONFIG[:-2] % 90 + " nccl = { }; };"})
        first = self.other("--instance", "a/b", "--any-instance")
        self.until_served_by(first)
        for values in cases:
            values = dict(values)
            new = self.other(*values.pop("options"), **values)
            self.wait_for(lambda pid=new.pid: self.serving() == pid, "next version")
            self.assertNotIn(f"does not give over to instance a/b (process {new.pid}", self.log())
        self.assertEqual(self.ask("status")["instance"], "a/b")

    def test_an_option_allows_it_and_both_say_so(self):
        self.begin()
        first = self.daemon
        with Admission(self.kubelet) as admission:
            self.until_admitted(admission)
            self.others.append(first)
            self.daemon = self.other("--any-instance")
            self.until_served_by(self.daemon)
            self.until_admitted(admission)
            [text] = self.ask("status")["other_instances"]
            self.assertIn(f"process {first.pid}", text)
            messages = [e["message"] for e in self.ask("events")["events"] if e["kind"] == "other-instance"]
            self.assertTrue(all(f"process {first.pid}," in message for message in messages) and len(messages) == 2)
            self.assertIn(f"process {self.daemon.pid}, configuration {self.dir}/other.conf) waits for this node", self.log())
            self.end_daemon()
            self.daemon = first
            self.others.remove(first)
            self.until_served_by(first)
        self.check_unnoticed(admission)

    def test_a_name_is_printable(self):
        for name in "", "a b", "a\n", "\u00e4", "x" * 256:
            result = subprocess.run([RDMAD, "--instance", name, "--check"], capture_output=True, text=True)
            self.assertEqual((result.returncode, "--instance" in result.stderr), (2, True))


class EndTest(Case):
    """The end of either, at any moment: the other one serves, and nobody has to start it again."""

    # The last line of the log before the end, and the delay after it.
    MOMENTS = [(line, delay) for line in ("waiting for rdmad pid", "handing over to", "has started")
               for delay in (0, 0.002, 0.005, 0.01, 0.02, 0.05)]
    MOMENTS += [("taken over, ", 0), ("handed over; waiting", 0), ("handed over; waiting", 0.1)]
    DELAYS = range(10, 400, 10)     # ms after the start of the second

    def pods(self, end, refused):
        """A pod each 50 ms, as of a controller that creates them."""
        number = 0
        while not end.wait(0.05):
            number += 1
            try:
                self.kubelet.allocate(f"ml/p-{number}", HCA, 1)
                self.kubelet.release(f"ml/p-{number}")
            except AdmissionError as error:
                refused.append(str(error))

    @contextlib.contextmanager
    def admitting(self):
        """Yields the list of pods that were refused."""
        end, refused = threading.Event(), []
        thread = threading.Thread(target=self.pods, args=(end, refused))
        thread.start()
        try:
            yield refused
        finally:
            end.set()
            thread.join()

    def check_second_ends(self, signum, delay_ms):
        """The first serves all the time, or again.  One that is killed while kubelet is connected to it is noticed."""
        first, used = self.daemon, self.log().count("taken over, ")
        with self.admitting() as refused:
            second = self.spawn_daemon(CONFIG % 100, "--take-over")
            self.others.append(second)
            time.sleep(delay_ms / 1000)
            second.send_signal(signum)
            status = second.wait(PATIENCE)
            self.until_served_by(first)
        self.assertEqual(status, -signum if signum == signal.SIGKILL or status < 0 else 0)
        self.assertIsNone(first.poll())
        if signum == signal.SIGTERM or self.log().count("taken over, ") == used:
            self.assertEqual(refused, [], self.log())

    def test_the_second_may_end_after_any_time(self):
        self.begin()
        held = self.kubelet.allocate("ml/train-0", HCA, 3).reply.envs["RDMAD_ALLOCATION"]
        for signum in signal.SIGTERM, signal.SIGKILL:
            for delay_ms in self.DELAYS if SLOW else self.DELAYS[::5]:
                with self.subTest(signum=signum, delay_ms=delay_ms):
                    self.check_second_ends(signum, delay_ms)
        self.assertIn(held, self.allocations())

    def check_end(self, victim, signum, line, delay):
        self.begin()
        held = self.kubelet.allocate("ml/train-0", HCA, 3).reply.envs["RDMAD_ALLOCATION"]
        with self.admitting() as refused:
            old = self.take_over(line)
            new, self.daemon = self.daemon, None
            self.others.append(new)
            time.sleep(delay)
            ends, stays = (old, new) if victim == "old" else (new, old)
            ends.send_signal(signum)
            ends.wait(PATIENCE)
            self.until_served_by(stays)
        if signum == signal.SIGTERM:
            self.assertEqual(refused, [], self.log())
        self.wait_for(self.is_admitted, "admission")
        self.assertIn(held, self.allocations())
        self.assertIsNone(stays.poll())

    def test_either_may_end_at_any_moment(self):
        for victim in "old", "new":
            for signum in signal.SIGTERM, signal.SIGKILL:
                for line, delay in self.MOMENTS if SLOW else self.MOMENTS[::4]:
                    with self.part(victim=victim, signum=signum, line=line, delay=delay):
                        self.check_end(victim, signum, line, delay)


if __name__ == "__main__":
    tap.main(sys.argv[3:])
