#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Hostile HTTP/2 against core/grpc: test-grpc-floods.py GRPC-ECHO GRPC-CALL

Every attack is written by hand, byte by byte.  Meanwhile another client is served, the attacker is
cut off (or costs nothing), and the server does not grow.
"""

import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
import tap  # noqa: E402

ECHO, CALL = sys.argv[1:3]
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION = range(10)
END_STREAM, END_HEADERS, ACK = 1, 4, 1
INSTRUMENTED = b"__asan_init" in open(ECHO, "rb").read()
SLOWER = 5 if INSTRUMENTED else 2  # than an idle machine
# meson's MALLOC_PERTURB_ writes to what the server only reserves, so that it counts as used.
PLAIN = {name: value for name, value in os.environ.items() if name != "MALLOC_PERTURB_"}
CUT = 2 * SLOWER  # seconds within which an attacker is cut


def frame(kind, flags=0, stream=0, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def text(value):
    if len(value) < 127:
        return bytes([len(value)]) + value
    rest, out = len(value) - 127, b"\x7f"
    while rest >= 128:
        out += bytes([rest % 128 + 128])
        rest //= 128
    return out + bytes([rest]) + value


def field(name, value, index=False):
    """A header field that is written out; with `index` it enters the dynamic table."""
    return (b"\x40" if index else b"\x00") + text(name) + text(value)


def request(path=b"/test.Echo/Echo", extra=b"", authority=b"localhost"):
    block = b"\x83\x86" + b"\x04" + text(path) + field(b"content-type", b"application/grpc")
    if authority is not None:
        block += b"\x01" + text(authority)
    return block + field(b"te", b"trailers") + extra


def message(body):
    return b"\0" + struct.pack(">I", len(body)) + body


def wait_for(condition):
    """Whether it has become true within a minute."""
    end = time.monotonic() + 60
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


class Raw:
    """A connection that does as it likes."""

    def __init__(self, path, hello=PREFACE + frame(SETTINGS)):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(5 * SLOWER)
        self.connect(path)
        self.buffer = b""
        if hello:
            self.socket.sendall(hello)

    def connect(self, path):
        while True:
            try:
                return self.socket.connect(path)
            except BlockingIOError:  # the backlog is full
                time.sleep(0.01)

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send(self, data):
        self.socket.sendall(data)

    def call(self, stream, path=b"/test.Echo/Echo", body=b"x", **more):
        self.send(frame(HEADERS, END_HEADERS, stream, request(path, **more)) +
                  frame(DATA, END_STREAM, stream, message(body)))

    def frames(self):
        """The server's output until it closes."""
        while True:
            while len(self.buffer) >= 9:
                size = int.from_bytes(self.buffer[:3], "big")
                if len(self.buffer) < 9 + size:
                    break
                kind, flags, stream = struct.unpack(">BBI", self.buffer[3:9])
                payload, self.buffer = self.buffer[9:9 + size], self.buffer[9 + size:]
                yield kind, flags, stream, payload
            try:
                data = self.socket.recv(65536)
            except ConnectionResetError:
                return
            if not data:
                return
            self.buffer += data

    def until(self, *kinds):
        for got in self.frames():
            if got[0] in kinds:
                return got
        raise AssertionError("the server closed the connection")

    def drained(self):
        """Reads to the end; whether a GOAWAY was there."""
        return any(kind == GOAWAY for kind, *_ in self.frames())


class Flood(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.directory.name, "echo.sock")
        self.server = subprocess.Popen([ECHO, self.path], stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, env=PLAIN)
        self.server.stdout.readline()
        with Raw(self.path) as warm:
            warm.call(1)
            warm.until(DATA)
        self.before = self.rss()
        self.stop = threading.Event()
        self.slowest = 0
        self.served = 0
        self.bystander = threading.Thread(target=self.stand_by)
        self.bystander.start()
        while self.served == 0:
            time.sleep(0.01)

    def tearDown(self):
        # The server may not have seen yet that an attacker left.
        wait_for(lambda: INSTRUMENTED or self.grown() < 4 << 20)
        grown = self.grown()
        self.stop.set()
        self.bystander.join()
        self.server.send_signal(signal.SIGINT)
        _, errors = self.server.communicate(timeout=20)
        self.directory.cleanup()
        self.assertEqual(self.server.returncode, 0, errors.decode())
        self.assertNotIn(b"Sanitizer", errors)
        self.assertGreater(self.served, 0)
        self.assertLess(self.slowest, 1 * SLOWER)
        if not INSTRUMENTED:
            self.assertLess(grown, 4 * 1024 * 1024)

    def grown(self):
        return self.rss() - self.before

    def rss(self):
        with open(f"/proc/{self.server.pid}/statm", encoding="ascii") as statm:
            return int(statm.read().split()[1]) * 4096

    def cpu_time(self):
        """Of the server, by the clock of clock_getcpuclockid(3)."""
        return time.clock_gettime(~self.server.pid << 3 | 2)

    def stand_by(self):
        """A server that holds up an honest client works for others meanwhile; one that is held up itself does not."""
        with Raw(self.path) as honest:
            stream = 1
            while not self.stop.is_set():
                began, ran = time.monotonic(), self.cpu_time()
                honest.call(stream)
                honest.until(DATA)
                self.slowest = max(self.slowest, min(time.monotonic() - began, self.cpu_time() - ran))
                self.served += 1
                stream += 2
                time.sleep(0.01)

    def flood(self, make, read=False, limit=200000, hello=PREFACE + frame(SETTINGS)):
        """Sends make(n) for ever; the server must cut it off."""
        with Raw(self.path, hello) as raw:
            if read:
                reader = threading.Thread(target=lambda: raw.drained())
                reader.start()
            raw.socket.settimeout(CUT)
            began = time.monotonic()
            sent = 0
            try:
                while sent < limit and time.monotonic() - began < CUT:
                    raw.send(b"".join(make(sent + n) for n in range(50)))
                    sent += 50
            except (BrokenPipeError, ConnectionResetError):
                pass
            except TimeoutError:
                self.fail("the server neither reads nor closes")
            else:
                self.fail(f"not cut after {sent} in {time.monotonic() - began:.1f} s")
            finally:
                if read:
                    raw.socket.shutdown(socket.SHUT_RDWR)
                    reader.join()
        return sent


class Floods(Flood):
    def test_rapid_reset(self):
        sent = self.flood(lambda n: frame(HEADERS, END_HEADERS, 2 * n + 1, request()) +
                          frame(RST, 0, 2 * n + 1, struct.pack(">I", 8)))
        self.assertLess(sent, 50000)

    def test_rapid_reset_of_running_calls(self):
        self.flood(lambda n: frame(HEADERS, END_HEADERS, 2 * n + 1, request(b"/test.Echo/Slow")) +
                   frame(DATA, END_STREAM, 2 * n + 1, message(b"x")) +
                   frame(RST, 0, 2 * n + 1, struct.pack(">I", 8)), read=True)

    def test_resets_that_the_server_is_made_to_send(self):
        self.flood(lambda n: frame(HEADERS, END_HEADERS, 2 * n + 1, request()) +
                   frame(WINDOW, 0, 2 * n + 1, struct.pack(">I", 0)), read=True)

    def test_refused_requests(self):
        """Header lists that are too large, one after the other."""
        big = request(extra=field(b"x", b"y" * 9000))
        with Raw(self.path) as raw:
            for n in range(500):
                raw.send(frame(HEADERS, END_HEADERS | END_STREAM, 2 * n + 1, big))
                self.assertEqual(raw.until(HEADERS)[2], 2 * n + 1)

    def test_continuation_flood(self):
        start = PREFACE + frame(SETTINGS) + frame(HEADERS, 0, 1, request())
        self.flood(lambda n: frame(CONTINUATION, 0, 1, field(b"a%d" % n, b"b")), hello=start)

    def test_empty_continuation_flood(self):
        start = PREFACE + frame(SETTINGS) + frame(HEADERS, 0, 1, request())
        self.flood(lambda n: frame(CONTINUATION, 0, 1), hello=start)

    def test_settings_flood(self):
        self.flood(lambda n: frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 65535)))

    def test_settings_flood_with_reading(self):
        self.flood(lambda n: frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 65535)), read=True)

    def test_large_settings(self):
        self.flood(lambda n: frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 65535) * 100))

    def test_ping_flood(self):
        self.flood(lambda n: frame(PING, 0, 0, b"12345678"))

    def test_ping_flood_with_reading(self):
        self.flood(lambda n: frame(PING, 0, 0, b"12345678"), read=True)

    def test_window_update_flood(self):
        self.flood(lambda n: frame(WINDOW, 0, 0, struct.pack(">I", 1)))

    def test_priority_flood(self):
        self.flood(lambda n: frame(PRIORITY, 0, 2 * n + 1, struct.pack(">IB", 0, 1)))

    def test_empty_data_flood(self):
        start = PREFACE + frame(SETTINGS) + frame(HEADERS, END_HEADERS, 1, request())
        self.flood(lambda n: frame(DATA, 0, 1), hello=start)

    def test_hpack_bomb(self):
        bomb = request(extra=field(b"x", b"y" * 3900, index=True) + b"\xbe" * 12000)
        self.flood(lambda n: frame(HEADERS, END_HEADERS, 2 * n + 1, bomb), limit=5000)

    def test_hpack_bombs_below_the_cut_cost_little(self):
        self.flood(lambda n: frame(HEADERS, END_HEADERS, 2 * n + 1,
                                   request(extra=field(b"x", b"y" * 3900, index=True) +
                                           b"\xbe" * 20)), limit=20000)

    def test_a_few_unknown_frames_cost_nothing(self):
        with Raw(self.path) as raw:
            for kind in range(CONTINUATION + 1, 256):
                raw.send(frame(kind, 0, 0, b"z" * 10) * 20)
            raw.call(1)
            raw.until(DATA)

    def test_unknown_frames_flood(self):
        for kind in (0x0a, 0x10, 0xfa):
            self.flood(lambda n: frame(kind, 0, 0, b"z" * 10))

    def test_empty_unknown_frames_flood(self):
        self.flood(lambda n: frame(0xfa, 0, 2 * n + 1))


class Memory(Flood):
    @staticmethod
    def is_alive(raw):
        try:
            while raw.socket.recv(4096):
                pass
        except BlockingIOError:
            return True
        except OSError:
            pass
        return False

    def test_idle_connections_are_bounded(self):
        raws = [Raw(self.path, b"") for _ in range(100)]
        for raw in raws:
            raw.socket.setblocking(False)
        self.assertTrue(wait_for(lambda: sum(map(self.is_alive, raws)) <= 15))
        for raw in raws:
            raw.close()

    def test_a_reader_without_a_window_costs_one_message(self):
        hello = PREFACE + frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 0))
        with Raw(self.path, hello) as raw:
            for n in range(90):
                raw.call(2 * n + 1, b"/test.Echo/Stream", b"100000 10000")
            time.sleep(0.3 * SLOWER)

    def test_replies_that_nobody_reads_are_bounded(self):
        """100 streams of 3.2 MB each, again and again, and not a byte of them is taken."""
        hello = PREFACE + frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 0))
        raw = Raw(self.path, hello)
        for n in range(100):
            raw.call(2 * n + 1, b"/test.Echo/BigReply", b"3200000")
        time.sleep(0.3 * SLOWER)
        self.assertLess(self.grown(), (64 + 16) << 20 if not INSTRUMENTED else 1 << 40)
        raw.close()

    def test_requests_that_never_end_are_bounded(self):
        """100 streams of nearly 4 MiB each, without the last byte."""
        with Raw(self.path) as raw:
            raw.socket.settimeout(0.3)
            head = b"\0" + struct.pack(">I", 4 << 20)
            try:
                for n in range(100):
                    raw.send(frame(HEADERS, END_HEADERS, 2 * n + 1, request()) +
                             frame(DATA, 0, 2 * n + 1, head))
                for _ in range(10):
                    for n in range(100):
                        raw.send(frame(DATA, 0, 2 * n + 1, b"z" * 16000))
            except OSError:
                pass
            self.assertLess(self.grown(), (64 + 16) << 20 if not INSTRUMENTED else 1 << 40)


class Admission(unittest.TestCase):
    """Admission of connections, and a server without free places."""

    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.directory.name, "echo.sock")
        os.chmod(self.directory.name, 0o755)

    def tearDown(self):
        self.directory.cleanup()

    def serve(self, *args, **kwargs):
        server = subprocess.Popen([ECHO, self.path, *args], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, **kwargs)
        server.stdout.readline()
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        return server

    def first_byte_as(self, uid):
        """Whether a client of that user hears anything of the server."""
        child = os.fork()
        if child == 0:
            try:
                os.setresuid(uid, uid, uid)
                os._exit(0 if Raw(self.path, b"").socket.recv(1) else 1)
            finally:
                os._exit(2)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        self.assertIn(status, (0, 1))
        return status == 0

    @unittest.skipUnless(os.geteuid() == 0, "needs root to be another user")
    def test_another_user_is_refused_even_where_the_mode_lets_it_in(self):
        self.serve()
        os.chmod(self.path, 0o666)
        self.assertTrue(self.first_byte_as(0))
        self.assertFalse(self.first_byte_as(65534))
        self.assertTrue(self.first_byte_as(0))

    @unittest.skipIf(INSTRUMENTED, "sanitizers need descriptors of their own")
    def test_a_server_without_descriptors_waits_and_does_not_spin(self):
        server = self.serve("64", preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_NOFILE, (14, 14)))
        raws = [Raw(self.path) for _ in range(30)]
        time.sleep(0.5)
        with open(f"/proc/{server.pid}/stat", encoding="ascii") as stat:
            ticks = sum(map(int, stat.read().rsplit(")", 1)[1].split()[11:13]))
        self.assertLess(ticks / os.sysconf("SC_CLK_TCK"), 0.2)
        for raw in raws:
            raw.close()
        with Raw(self.path) as raw:
            raw.call(1)
            self.assertEqual(raw.until(DATA)[3], message(b"x"))


class Wrong(Flood):
    """Single violations: the connection ends with GOAWAY, the others live."""

    def test_each_violation_ends_the_connection(self):
        hello = PREFACE + frame(SETTINGS)
        cases = {
            "no preface": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" + b" " * 40,
            "no settings": PREFACE + frame(PING, 0, 0, b"12345678"),
            "even stream": hello + frame(HEADERS, END_HEADERS, 2, request()),
            "stream 0": hello + frame(HEADERS, END_HEADERS, 0, request()),
            "window 0": hello + frame(WINDOW, 0, 0, struct.pack(">I", 0)),
            "window overflow": hello + frame(WINDOW, 0, 0, struct.pack(">I", 0x7fffffff)),
            "push": hello + frame(PUSH, END_HEADERS, 1, struct.pack(">I", 2) + request()),
            "too long": hello + b"\xff\xff\xff" + struct.pack(">BBI", DATA, 0, 1),
            "short ping": hello + frame(PING, 0, 0, b"1234"),
            "short settings": hello + frame(SETTINGS, 0, 0, b"12345"),
            "bad settings": hello + frame(SETTINGS, 0, 0, struct.pack(">HI", 5, 1)),
            "bad huffman": hello + frame(HEADERS, END_HEADERS, 1, b"\x04\xff\xff\xff\xff\xff"),
            "bad index": hello + frame(HEADERS, END_HEADERS, 1, b"\xff\xff\xff\xff\x7f"),
            "data on idle": hello + frame(DATA, 0, 1, b"x"),
            "continuation alone": hello + frame(CONTINUATION, END_HEADERS, 1, request()),
            "frame between": hello + frame(HEADERS, 0, 1, request()) +
                             frame(PING, 0, 0, b"12345678"),
        }
        for name, data in cases.items():
            with self.subTest(name), Raw(self.path, b"") as raw:
                raw.send(data)
                self.assertTrue(raw.drained() or name in ("no preface", "no settings"))

    def refused(self, **more):
        """The response's first header block, as bytes (written out: our table is of size 0)."""
        with Raw(self.path) as raw:
            raw.call(1, **more)
            kind, _, _, payload = raw.until(HEADERS, RST)
            return kind, payload

    def test_paths_must_be_exact(self):
        for path in (b"", b"/", b"test.Echo/Echo", b"//test.Echo/Echo", b"/test.Echo/Echo/",
                     b"/test.Echo/echo", b"/test.Echo/Echo\0", b"/test.Echo/Echo?x", b"*",
                     b"/test.Echo/../test.Echo/Echo", b"http://localhost/test.Echo/Echo",
                     b"/test.Echo/Ech", b"/" + b"a" * 4000):
            with self.subTest(path):
                kind, payload = self.refused(path=path)
                self.assertEqual(kind, HEADERS)
                self.assertIn(b"12", payload[-400:])
                self.assertNotIn(b"\x0212", request())

    def test_every_form_of_authority_is_served(self):
        for authority in (None, b"", b"localhost", b"/var/lib/x.sock", b"%2Fvar%2Flib%2Fx.sock"):
            with self.subTest(authority), Raw(self.path) as raw:
                raw.call(1, authority=authority)
                self.assertEqual(raw.until(DATA)[3], message(b"x"))

    def test_a_request_may_come_byte_by_byte(self):
        data = PREFACE + frame(SETTINGS) + frame(HEADERS, END_HEADERS, 1, request()) + \
            b"".join(frame(DATA, 0, 1, bytes([b])) for b in message(b"hello")) + \
            frame(DATA, END_STREAM, 1)
        with Raw(self.path, b"") as raw:
            for n in range(len(data)):
                raw.send(data[n:n + 1])
            self.assertEqual(raw.until(DATA)[3], message(b"hello"))

    def test_a_silent_connection_is_closed(self):
        began = time.monotonic()
        with Raw(self.path, b"") as raw:
            raw.socket.settimeout(30)
            raw.drained()
            self.assertGreater(time.monotonic() - began, 9)


if __name__ == "__main__":
    tap.main()
