#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""rdmad-cni against a daemon of a few lines, and against none.

usage: test-cni-shim.py SHIM
"""

import json
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import tap

SHIM = sys.argv[1]

REQUEST = struct.Struct("=IHHII")
ANSWER = struct.Struct("=IHHII")
SPOOLED = struct.Struct("=IHHIIQQ40sQ")
MAGIC, SPOOL_MAGIC = 0x434D4452, 0x53434452
HAS_NETNS, IN_FILE = 1, 2
CONFIG = {"cniVersion": "1.0.0", "name": "rdma", "type": "rdmad-cni"}
RESULT = {"cniVersion": "1.0.0", "interfaces": []}


class Request:
    """One request as the daemon gets it."""

    def __init__(self, message, descriptors):
        magic, version, self.flags, environment, size = REQUEST.unpack_from(message)
        assert (magic, version) == (MAGIC, 1), (magic, version)
        rest = message[REQUEST.size:]
        variables = rest[:environment].decode().split("\0")[:-1]
        self.environment = dict(v.split("=", 1) for v in variables)
        self.netns = os.fstat(descriptors.pop(0)) if self.flags & HAS_NETNS else None
        self.input = os.pread(descriptors.pop(0), size, 0) if self.flags & IN_FILE \
            else rest[environment:]
        assert len(self.input) == size and not descriptors


class Daemon:
    """Answers each request with what `answer` returns: (status, text), None to hang up, a number of
    seconds to be silent for so long."""

    def __init__(self, path, answer):
        self.path, self.answer, self.requests = path, answer, []
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(str(path))
        self.listener.listen(16)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            with peer:
                self.converse(peer)

    def converse(self, peer):
        message, descriptors, _, _ = socket.recv_fds(peer, 1 << 17, 4)
        request = Request(message, list(descriptors))
        for descriptor in descriptors:
            os.close(descriptor)
        self.requests.append(request)
        answer = self.answer(request)
        if isinstance(answer, bytes):
            peer.send(answer)
        elif isinstance(answer, (int, float)):
            time.sleep(answer)
        elif answer is not None:
            send_answer(peer, *answer)

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.path.unlink()


def send_answer(peer, status, text):
    body = text.encode()
    if len(body) <= 49152:
        peer.send(ANSWER.pack(MAGIC, 1, 0, status, len(body)) + body)
        return
    file = os.memfd_create("answer")
    os.write(file, body)
    socket.send_fds(peer, [ANSWER.pack(MAGIC, 1, IN_FILE, status, len(body))], [file])
    os.close(file)


def boot_id():
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def fnv(data):
    total = 0xCBF29CE484222325
    for byte in data:
        total = (total ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return total


class ShimCase(unittest.TestCase):
    def setUp(self):
        self.directory = Path(tempfile.mkdtemp(prefix="rdmad-cni-"))
        self.addCleanup(shutil.rmtree, self.directory)
        self.socket, self.spool = self.directory / "cni.sock", self.directory / "state/spool"

    def daemon(self, answer):
        daemon = Daemon(self.socket, answer)
        self.addCleanup(lambda: daemon.listener.fileno() >= 0 and daemon.close())
        return daemon

    def environment(self, command, **more):
        environment = {"CNI_COMMAND": command, "CNI_CONTAINERID": "c1", "CNI_IFNAME": "eth1",
                       "CNI_NETNS": "/proc/self/ns/net", "CNI_PATH": "/opt/cni/bin",
                       "RDMAD_CNI_SOCKET": str(self.socket), "RDMAD_CNI_SPOOL": str(self.spool),
                       "RDMAD_CNI_WAIT_MS": "0"}
        environment.update(more)
        return {name: value for name, value in environment.items() if value is not None}

    def run_shim(self, command, config=None, before=(), **more):
        config = CONFIG if config is None else config
        text = config if isinstance(config, bytes) else json.dumps(config).encode()
        return subprocess.run([*before, SHIM], input=text, capture_output=True, timeout=60,
                              check=False, env=self.environment(command, **more))

    def records(self):
        return sorted(self.spool.iterdir()) if self.spool.is_dir() else []

    def assert_error(self, done, code, version="1.0.0", contains=""):
        self.assertEqual(done.returncode, 1, done)
        error = json.loads(done.stdout)
        self.assertEqual((error["cniVersion"], error["code"]), (version, code), error)
        self.assertIn(contains, error["msg"])


class TestWithDaemon(ShimCase):
    def test_the_answer_is_printed_and_its_status_returned(self):
        daemon = self.daemon(lambda request: (0, json.dumps(RESULT)))
        done = self.run_shim("ADD")
        self.assertEqual((done.returncode, json.loads(done.stdout), done.stderr), (0, RESULT, b""))
        self.assertEqual(daemon.requests[0].environment["CNI_CONTAINERID"], "c1")
        self.assertEqual(json.loads(daemon.requests[0].input), CONFIG)

    def test_an_error_of_the_daemon_is_passed_on(self):
        self.daemon(lambda request: (1, '{"code":100}'))
        done = self.run_shim("ADD")
        self.assertEqual((done.returncode, done.stdout), (1, b'{"code":100}'))

    def test_an_empty_answer_prints_nothing(self):
        self.daemon(lambda request: (0, ""))
        done = self.run_shim("DEL")
        self.assertEqual((done.returncode, done.stdout), (0, b""))
        self.assertEqual(self.records(), [])

    def test_the_namespace_is_opened_here(self):
        daemon = self.daemon(lambda request: (0, "{}"))
        self.run_shim("ADD")
        here = os.stat("/proc/self/ns/net")
        self.assertEqual((daemon.requests[0].netns.st_dev, daemon.requests[0].netns.st_ino),
                         (here.st_dev, here.st_ino))

    def test_only_cni_and_tracing_leave_the_runtimes_environment(self):
        daemon = self.daemon(lambda request: (0, "{}"))
        self.run_shim("ADD", TRACEPARENT="t", LD_PRELOAD="", SECRET="s", PATH="/bin")
        self.assertEqual(set(daemon.requests[0].environment),
                         {"CNI_COMMAND", "CNI_CONTAINERID", "CNI_IFNAME", "CNI_NETNS", "CNI_PATH",
                          "TRACEPARENT"})

    def test_large_input_and_output_go_whole(self):
        large = dict(CONFIG, padding="x" * 900000)
        daemon = self.daemon(lambda request: (0, request.input.decode()))
        done = self.run_shim("ADD", large)
        self.assertEqual(done.returncode, 0, done.stdout[:200])
        self.assertEqual(json.loads(done.stdout), large)
        self.assertTrue(daemon.requests[0].flags & IN_FILE)

    def test_a_del_needs_no_namespace(self):
        fifo = self.directory / "fifo"
        os.mkfifo(fifo)
        plain = self.directory / "plain"
        plain.touch()
        daemon = self.daemon(lambda request: (0, ""))
        for path in ("", None, "/nowhere/at/all", str(plain), str(fifo), "/dev/null"):
            with self.subTest(path=path):
                done = self.run_shim("DEL", CNI_NETNS=path)
                self.assertEqual((done.returncode, done.stdout), (0, b""))
                self.assertIsNone(daemon.requests[-1].netns)

    def test_a_daemon_that_comes_late_is_waited_for(self):
        timer = threading.Timer(0.3, self.daemon, [lambda request: (0, "{}")])
        timer.start()
        self.addCleanup(timer.join)
        done = self.run_shim("ADD", RDMAD_CNI_WAIT_MS="20000")
        self.assertEqual((done.returncode, done.stdout), (0, b"{}"))

    def test_a_daemon_that_restarts_in_between_is_asked_again(self):
        daemon = self.daemon(lambda request: None if len(daemon.requests) < 3 else (0, "{}"))
        done = self.run_shim("ADD", RDMAD_CNI_WAIT_MS="20000")
        self.assertEqual((done.returncode, done.stdout, len(daemon.requests)), (0, b"{}", 3))

    def test_a_daemon_that_is_silent_ends_in_try_again(self):
        self.daemon(lambda request: 30)
        for command in ("ADD", "DEL", "CHECK"):
            with self.subTest(command=command):
                self.assert_error(self.run_shim(command, RDMAD_CNI_DEADLINE_MS="2000"), 11)
        self.assertEqual(self.records(), [])

    def test_what_is_no_answer_is_an_error(self):
        for answer in (b"x", b"x" * 100, ANSWER.pack(MAGIC, 2, 0, 0, 0),
                       ANSWER.pack(MAGIC, 1, 0, 0, 7), ANSWER.pack(MAGIC, 1, IN_FILE, 0, 0),
                       ANSWER.pack(MAGIC, 1, 0, 0, 0xFFFFFFFF)):
            with self.subTest(answer=answer):
                daemon = self.daemon(lambda request, answer=answer: answer)
                self.assert_error(self.run_shim("ADD"), 5)
                daemon.close()

    def test_an_output_that_takes_little_at_once_gets_all(self):
        self.daemon(lambda request: (0, "x" * 500000))
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        with subprocess.Popen([SHIM], stdin=subprocess.PIPE, stdout=writer,
                              env=self.environment("ADD")) as shim, os.fdopen(reader, "rb") as out:
            os.close(writer)
            shim.stdin.write(json.dumps(CONFIG).encode())
            shim.stdin.close()
            self.assertEqual(len(out.read()), 500000)
        self.assertEqual(shim.returncode, 0)

    def test_a_closed_standard_output_is_a_failure_and_no_signal(self):
        self.daemon(lambda request: (0, json.dumps(RESULT)))
        reader, writer = os.pipe()
        os.close(reader)
        with os.fdopen(writer, "wb") as output:
            done = subprocess.run([SHIM], input=json.dumps(CONFIG).encode(), stdout=output,
                                  stderr=subprocess.PIPE, timeout=60, check=False,
                                  env=self.environment("ADD"))
        self.assertEqual(done.returncode, 1)


class TestWithoutDaemon(ShimCase):
    def test_each_command_ends_as_the_specification_wants(self):
        for command, code in (("ADD", 11), ("CHECK", 11), ("GC", 11), ("STATUS", 50)):
            with self.subTest(command=command):
                self.assert_error(self.run_shim(command), code, contains="rdmad is not there")

    def test_the_wait_for_it_is_bounded(self):
        begin = time.monotonic()
        self.assert_error(self.run_shim("ADD", RDMAD_CNI_WAIT_MS="300"), 11)
        self.assertGreaterEqual(time.monotonic() - begin, 0.3)

    def test_a_stale_socket_is_as_none(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(str(self.socket))
        self.assert_error(self.run_shim("ADD"), 11)

    def test_errors_are_told_in_the_version_of_the_configuration(self):
        for text, version in ((b'{"cniVersion":"0.3.1"}', "0.3.1"),
                              (b'{"a":{"cniVersion":"9"},"cniVersion" : "0.4.0"}', "0.4.0"),
                              (b'{"a":"cniVersion","b":"\\"{","cniVersion":"0.4.0"}', "0.4.0"),
                              (b'{"cniVersion":"\\"},{"}', "1.1.0"), (b'{"cniVersion":7}', "1.1.0"),
                              (b'{"cniVersion"', "1.1.0"), (b'{"cniVersion":"1.1.0', "1.1.0"),
                              (b'"cniVersion":"0.4.0"', "1.1.0"), (b"", "1.1.0"),
                              (b'{"x":"\\', "1.1.0"), (b"\0\0", "1.1.0")):
            with self.subTest(text=text):
                self.assert_error(self.run_shim("ADD", text), 11, version)

    def test_bad_input_has_its_code(self):
        plain = self.directory / "plain"
        plain.touch()
        for more, code in (({"CNI_COMMAND": None}, 4), ({"CNI_COMMAND": ""}, 4),
                           ({"CNI_COMMAND": "BOOT"}, 4), ({"CNI_NETNS": "/nowhere"}, 8),
                           ({"CNI_NETNS": str(plain)}, 8), ({"CNI_NETNS": "/dev/null"}, 8),
                           ({"CNI_ARGS": "x" * 70000}, 4)):
            with self.subTest(more=more):
                command = more.pop("CNI_COMMAND", "ADD")
                self.assert_error(self.run_shim(command, **more), code)

    def test_input_of_ten_megabytes_is_refused(self):
        done = self.run_shim("ADD", b'{"cniVersion":"0.4.0","x":"' + b"x" * (10 << 20) + b'"}')
        self.assert_error(done, 6, "0.4.0")

    def test_input_that_never_ends_is_not_waited_for(self):
        with subprocess.Popen([SHIM], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              env=self.environment("ADD", RDMAD_CNI_DEADLINE_MS="200")) as shim:
            text = shim.stdout.read()
        self.assertEqual(json.loads(text)["code"], 5)

    def test_version_is_answered_always(self):
        done = self.run_shim("VERSION", b'{"cniVersion":"0.4.0"}')
        self.assertEqual(done.returncode, 0)
        self.assertEqual(json.loads(done.stdout),
                         {"cniVersion": "0.4.0",
                          "supportedVersions": ["0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"]})


class TestSpool(ShimCase):
    def test_a_del_is_kept_and_has_succeeded(self):
        done = self.run_shim("DEL")
        self.assertEqual((done.returncode, done.stdout), (0, b""))
        record, = self.records()
        self.assertRegex(record.name, "^[0-9a-f]{32}$")
        self.assertEqual(record.stat().st_mode & 0o777, 0o600)
        self.assertEqual(self.spool.stat().st_mode & 0o777, 0o700)
        magic, version, _, environment, size, device, inode, boot, total = \
            SPOOLED.unpack_from(record.read_bytes())
        rest = record.read_bytes()[SPOOLED.size:]
        here = os.stat("/proc/self/ns/net")
        self.assertEqual((magic, version, device, inode),
                         (SPOOL_MAGIC, 1, here.st_dev, here.st_ino))
        self.assertEqual(boot.split(b"\0")[0].decode(), boot_id())
        self.assertIn(b"CNI_CONTAINERID=c1\0", rest[:environment])
        self.assertEqual(json.loads(rest[environment:]), CONFIG)
        self.assertEqual(len(rest), environment + size)
        head = record.read_bytes()[:SPOOLED.size - 8] + bytes(8)
        self.assertEqual(total, fnv(head + rest))

    def test_repeated_dels_are_one_record_and_others_are_others(self):
        for _ in range(3):
            self.run_shim("DEL")
        self.assertEqual(len(self.records()), 1)
        self.run_shim("DEL", CNI_CONTAINERID="c2")
        self.run_shim("DEL", CNI_IFNAME="eth2")
        self.run_shim("DEL", CNI_NETNS="")
        self.assertEqual(len(self.records()), 4)

    def test_a_daemon_that_came_meanwhile_gets_the_del_too(self):
        # It hangs up at first, as one that ends; the DEL is kept, and asked again at once.
        daemon = self.daemon(lambda request: None if len(daemon.requests) < 2 else (0, ""))
        done = self.run_shim("DEL")
        self.assertEqual((done.returncode, len(daemon.requests), self.records()), (0, 2, []))

    def test_a_full_spool_takes_no_further_del_and_repeated_ones(self):
        self.run_shim("DEL")
        for number in range(9998):
            (self.spool / f"{number:032x}").touch()
        self.assertEqual(self.run_shim("DEL", CNI_CONTAINERID="c2").returncode, 0)
        for repeated in ("c1", "c2"):
            self.assertEqual(self.run_shim("DEL", CNI_CONTAINERID=repeated).returncode, 0)
        self.assert_error(self.run_shim("DEL", CNI_CONTAINERID="c3"), 11, contains="spool of DELs is full")
        self.assertEqual(len(self.records()), 10000)

    def test_a_spool_that_cannot_be_written_is_an_error(self):
        (self.directory / "state").touch()
        self.assert_error(self.run_shim("DEL"), 5, contains="cannot be kept")
        (self.directory / "state").unlink()
        elsewhere = self.directory / "elsewhere"
        elsewhere.mkdir()
        self.spool.parent.mkdir()
        self.spool.symlink_to(elsewhere)
        self.assert_error(self.run_shim("DEL"), 5, contains="cannot be kept")
        self.assertEqual(list(elsewhere.iterdir()), [])

    def test_a_record_names_the_boot_or_the_del_fails(self):
        statuses = set()
        for limit in range(4, 12):
            with self.subTest(limit=limit):
                done = self.run_shim("DEL", before=["bash", "-c", f'ulimit -n {limit}; exec "$0"'])
                statuses.add(done.returncode)
                if done.returncode == 0:
                    record, = self.records()
                    boot = SPOOLED.unpack_from(record.read_bytes())[7]
                    self.assertEqual(boot.split(b"\0")[0].decode(), boot_id())
                else:
                    self.assertEqual(self.records(), [])
            shutil.rmtree(self.spool.parent, ignore_errors=True)
        self.assertEqual(statuses, {0, 1})


def traceable():
    if not shutil.which("strace"):
        return "there is no strace"
    done = subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, check=False)
    return "" if done.returncode == 0 else "strace may not trace"


@unittest.skipIf(traceable(), traceable())
class TestSpoolFaults(ShimCase):
    """Killed before each system call, and each of them failing: either the runtime was told that it
    failed, or the record is whole."""

    CALLS = ("openat", "mkdir", "write", "fsync", "rename", "renameat", "close", "unlinkat", "open")

    def trace(self, inject):
        log = self.directory / "log"
        done = self.run_shim("DEL", before=["strace", "-o", str(log), "-e", f"inject={inject}"])
        return done, log.read_text()

    def count(self, call):
        log = self.directory / "log"
        self.run_shim("DEL", before=["strace", "-o", str(log)])
        shutil.rmtree(self.spool.parent)
        return len(re.findall(rf"^{call}\(", log.read_text(), re.M))

    def check_records(self, expect):
        """Records are whole; incomplete ones have other names."""
        whole = [r for r in self.records() if re.fullmatch("[0-9a-f]{32}", r.name)]
        for record in whole:
            data = record.read_bytes()
            self.assertEqual(SPOOLED.unpack_from(data)[-1],
                             fnv(data[:SPOOLED.size - 8] + bytes(8) + data[SPOOLED.size:]))
        if expect:
            self.assertEqual(len(whole), 1)
        return whole

    def test_killed_before_each_call_it_loses_nothing_that_was_acknowledged(self):
        points = 0
        for call in self.CALLS:
            for when in range(1, self.count(call) + 1):
                with self.subTest(call=call, when=when):
                    done, _ = self.trace(f"{call}:signal=SIGKILL:when={when}")
                    acknowledged = done.returncode == 0
                    self.check_records(acknowledged)
                    again = self.run_shim("DEL")
                    self.assertEqual(again.returncode, 0)
                    self.check_records(True)
                    points += 1
                shutil.rmtree(self.spool.parent, ignore_errors=True)
        self.assertGreater(points, 10)

    def test_each_call_that_fails_is_told_or_the_record_is_whole(self):
        for call in self.CALLS:
            for error in ("EIO", "ENOSPC", "EINTR"):
                for when in range(1, self.count(call) + 1):
                    with self.subTest(call=call, error=error, when=when):
                        done, _ = self.trace(f"{call}:error={error}:when={when}")
                        if done.returncode == 0:
                            self.check_records(True)
                            self.assertNotEqual(call, "fsync")
                        left = [r.name for r in self.records() if r.name.startswith(".")]
                        if call != "unlinkat":
                            self.assertEqual(left, [])
                    shutil.rmtree(self.spool.parent, ignore_errors=True)


class TestInstall(ShimCase):
    def test_it_replaces_itself_by_rename(self):
        place = self.directory / "rdmad-cni"
        place.write_text("old")
        before = place.stat().st_ino
        done = subprocess.run([SHIM, "--install", self.directory], capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertNotEqual(place.stat().st_ino, before)
        self.assertEqual(place.stat().st_mode & 0o777, 0o755)
        self.assertEqual(place.read_bytes(), Path(SHIM).read_bytes())
        self.assertEqual([p.name for p in self.directory.iterdir()], ["rdmad-cni"])

    def test_it_replaces_one_that_runs(self):
        subprocess.run([SHIM, "--install", self.directory], check=True)
        with subprocess.Popen([self.directory / "rdmad-cni"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, env=self.environment("VERSION")) as running:
            done = subprocess.run([SHIM, "--install", self.directory], check=False)
            self.assertEqual(done.returncode, 0)
            self.assertIn(b"supportedVersions", running.communicate(b"{}")[0])

    def test_the_file_of_another_with_the_same_pid_stays(self):
        """The other one is in another PID namespace, and writes its file."""
        make = f'echo begun >{self.directory}/.rdmad-cni.$$; exec "$0" --install {self.directory}'
        done = subprocess.run(["bash", "-c", make, SHIM], capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual((self.directory / "rdmad-cni").read_bytes(), Path(SHIM).read_bytes())
        left, = self.directory.glob(".rdmad-cni.*")
        self.assertEqual(left.read_text(), "begun\n")

    def test_what_killed_ones_have_left_is_removed_when_it_is_old(self):
        kept = ("rdmad-cni", ".rdmad-cni.bak", ".rdmad-cni.", ".other.77", ".rdmad-cni.5")
        for name in (*kept, ".rdmad-cni.77", ".rdmad-cni.0123456789abcdef"):
            (self.directory / name).touch()
            if name != ".rdmad-cni.5":
                os.utime(self.directory / name, (0, 0))
        subprocess.run([SHIM, "--install", self.directory], check=True)
        self.assertEqual({p.name for p in self.directory.iterdir()}, set(kept))

    def test_a_directory_that_is_none_is_an_error(self):
        done = subprocess.run([SHIM, "--install", self.directory / "x"], capture_output=True,
                              check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"No such file or directory", done.stderr)

    def test_other_arguments_are_a_usage_error(self):
        self.assertEqual(subprocess.run([SHIM, "x"], capture_output=True,
                                        check=False).returncode, 2)


class TestSize(ShimCase):
    def test_it_is_static_and_below_a_megabyte(self):
        if b"libasan" in Path(SHIM).read_bytes():
            self.skipTest("built with sanitizers")
        stripped = self.directory / "stripped"
        subprocess.run(["strip", "-o", stripped, SHIM], check=True)
        self.assertLess(stripped.stat().st_size, 1 << 20)
        needs = subprocess.run(["readelf", "-d", SHIM], capture_output=True, text=True, check=True)
        self.assertNotIn("NEEDED", needs.stdout)


if __name__ == "__main__":
    tap.main()
