#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""core/http against raw sockets: test-http.py HTTP-SERVER [TEST...]"""

import os
import re
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
import tap  # noqa: E402
from ports import free_port  # noqa: E402

SERVER = sys.argv[1]
LIMIT = 8           # connections a listener, as http-server.c has it
IDLE_S = 6
UNSENT_MIB = 40     # likewise
HUGE_MIB = 16       # of its /huge


class Http(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.path = os.path.join(cls.directory.name, "http.sock")
        cls.port = free_port()
        cls.process = subprocess.Popen([SERVER, cls.path, str(cls.port)],
                                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert cls.process.stdout.readline() == b"ready\n"

    @classmethod
    def tearDownClass(cls):
        cls.process.send_signal(signal.SIGINT)
        code = cls.process.wait(10)
        cls.process.stdout.close()
        assert code == 0, code
        assert not os.path.exists(cls.path)
        cls.directory.cleanup()

    def connect(self, tcp=False, source="127.0.0.1"):
        if tcp:
            sock = socket.create_connection(("127.0.0.1", self.port), 10, (source, 0))
        else:
            sock = socket.socket(socket.AF_UNIX)
            sock.settimeout(10)
            sock.connect(self.path)
        self.addCleanup(sock.close)
        return sock

    def read_all(self, sock):
        answer = b""
        try:
            while part := sock.recv(65536):
                answer += part
        except ConnectionResetError:
            answer += b"<reset>"
        return answer

    def ask(self, request, tcp=False):
        sock = self.connect(tcp)
        sock.sendall(request)
        return self.read_all(sock)

    def status(self, request, tcp=False):
        answer = self.ask(request, tcp)
        match = re.match(rb"HTTP/1\.1 (\d{3}) ", answer)
        return int(match.group(1)) if match else answer

    def assert_served(self, tcp=False):
        start = time.monotonic()
        answer = self.ask(b"GET /hello HTTP/1.0\r\n\r\n", tcp)
        self.assertTrue(answer.endswith(b"\r\n\r\nhello\n"), answer)
        # Before those who say nothing are sent away.
        self.assertLess(time.monotonic() - start, IDLE_S - 0.5)

    def settle(self, tcp):
        """Whatever was sent before in the same way has been read: the server takes what is ready in turn."""
        self.ask(b"GET /hello HTTP/1.0\r\n\r\n", tcp)

    def test_five_hundred_slow_clients_leave_room_for_another(self):
        for tcp in (False, True):
            slow = []
            for i in range(500):
                sock = self.connect(tcp)
                sock.sendall(b"GET /hello HTTP/1.1\r\nX-Slow: ")
                slow.append(sock)
                if i % 100 == 0:
                    self.assert_served(tcp)
            self.assert_served(tcp)
            descriptors = len(os.listdir(f"/proc/{self.process.pid}/fd"))
            self.assertLess(descriptors, 2 * LIMIT + 16)
            for sock in slow:
                sock.close()

    def test_five_hundred_idle_clients_leave_room_for_another(self):
        for tcp in (False, True):
            idle = []
            for i in range(500):
                idle.append(self.connect(tcp, f"127.0.0.{1 + i % 250}"))
                if i % 50 == 0:  # the kernel's queue is no longer than that of the server
                    self.assert_served(tcp)
            self.assert_served(tcp)
            self.assertLess(self.descriptors(), 2 * LIMIT + 16)
            for sock in idle:
                sock.close()

    def busy(self, path, source="127.0.0.1", tcp=True):
        """A connection whose request is not answered."""
        sock = self.connect(tcp, source)
        sock.sendall(b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.settle(tcp)
        return sock

    def test_one_address_has_a_quarter_of_the_places(self):
        held = [self.busy(b"/never", "127.0.0.2") for _ in range(LIMIT // 4)]
        answer = self.read_all(self.connect(True, "127.0.0.2"))
        self.assertIn(b" 503 ", answer)
        self.assertIn(b"\r\nRetry-After: 1\r\n", answer)
        self.assert_served(tcp=True)
        self.assert_served()
        held[0].close()
        self.settle(True)
        sock = self.connect(True, "127.0.0.2")
        sock.sendall(b"GET /hello HTTP/1.0\r\n\r\n")
        self.assertIn(b"hello\n", self.read_all(sock))
        for sock in held:
            sock.close()

    def unread(self, path, number):
        """A connection whose client does not read the response, as over a network: the kernel keeps little of it."""
        sock = socket.socket()
        self.addCleanup(sock.close)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 1200)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.bind((f"127.0.0.{2 + number // (LIMIT // 4)}", 0))
        sock.connect(("127.0.0.1", self.port))
        sock.sendall(b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return sock

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def test_responses_that_nobody_reads_are_bounded(self):
        self.settle(True)
        before = self.descriptors()
        for sock in [self.unread(b"/huge", number) for number in range(LIMIT)]:
            sock.settimeout(20)
            self.assertEqual(sock.recv(1), b"H")    # those before it have been closed
        self.assertLessEqual(self.descriptors() - before, UNSENT_MIB // HUGE_MIB + 1)
        self.assert_served(tcp=True)

    def test_clients_that_do_not_read_make_room_for_another_address(self):
        for number in range(LIMIT):
            self.assertEqual(self.unread(b"/large", number).recv(1), b"H")
        hello = b"GET /hello HTTP/1.0\r\n\r\n"
        self.assertEqual(self.status(hello, True), 503)
        end = time.monotonic() + 20     # the response may take a minute
        while (status := self.status(hello, True)) == 503 and time.monotonic() < end:
            time.sleep(0.1)
        self.assertEqual(status, 200)

    def test_an_idle_connection_makes_room_for_the_same_address_first(self):
        first, other = self.connect(True, "127.0.0.3"), self.connect(True, "127.0.0.4")
        rest = [self.connect(True, "127.0.0.3") for _ in range(LIMIT // 4)]
        self.assertEqual(self.read_all(first), b"")
        other.sendall(b"GET /hello HTTP/1.0\r\n\r\n")
        self.assertIn(b"hello\n", self.read_all(other))
        for sock in rest:
            sock.close()

    def test_those_who_wait_for_news_have_half_of_the_places(self):
        held = [self.busy(b"/parked", tcp=False) for _ in range(LIMIT // 2)]
        answer = self.ask(b"GET /parked HTTP/1.0\r\n\r\n")
        self.assertIn(b" 503 ", answer)
        self.assertIn(b"\r\nRetry-After: 1\r\n", answer)
        self.assert_served()
        held.pop().close()
        self.settle(False)
        held.append(self.busy(b"/parked", tcp=False))
        held[-1].settimeout(0.3)
        self.assertRaises(socket.timeout, held[-1].recv, 1)
        for sock in held:
            sock.close()

    def test_a_trickle_does_not_put_off_the_end(self):
        sock = self.connect()
        start = time.monotonic()
        sock.settimeout(0.2)
        answer = b""
        while time.monotonic() - start < 3 * IDLE_S:
            try:
                sock.sendall(b"G")
                answer = sock.recv(1000)
                break
            except socket.timeout:
                pass
        self.assertIn(b" 408 ", answer)
        self.assertLess(time.monotonic() - start, 2 * IDLE_S)

    def test_an_idle_connection_is_closed(self):
        start = time.monotonic()
        self.assertEqual(self.read_all(self.connect()), b"")
        self.assertGreater(time.monotonic() - start, IDLE_S - 1)
        self.assertLess(time.monotonic() - start, 2 * IDLE_S)

    def test_a_client_that_does_not_read_holds_up_nobody(self):
        sock = self.connect()
        sock.sendall(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n" * 10)
        time.sleep(0.1)
        self.assert_served()

    def test_a_large_answer_arrives_whole(self):
        for tcp in (False, True):
            answer = self.ask(b"GET /large HTTP/1.0\r\n\r\n", tcp)
            self.assertEqual(len(answer.split(b"\r\n\r\n", 1)[1]), 4 << 20)

    def headers(self, request, tcp=False):
        head = self.ask(request, tcp).split(b"\r\n\r\n", 1)[0].decode()
        return [line.split(": ", 1) for line in head.split("\r\n")[1:]]

    def test_every_public_answer_tells_browsers_to_do_nothing_with_it(self):
        for request in (b"GET /hello HTTP/1.0\r\n\r\n", b"GET /none HTTP/1.0\r\n\r\n",
                        b"HEAD /hello HTTP/1.0\r\n\r\n", b"nonsense\r\n\r\n"):
            with self.subTest(request):
                headers = self.headers(request, tcp=True)
                for header in (["X-Content-Type-Options", "nosniff"], ["X-Frame-Options", "DENY"],
                               ["Referrer-Policy", "no-referrer"], ["Cache-Control", "no-store"],
                               ["Content-Security-Policy",
                                "default-src 'none'; frame-ancestors 'none'"]):
                    self.assertEqual(headers.count(header), 1, headers)

    def test_a_handler_s_header_replaces_the_server_s(self):
        headers = self.headers(b"GET /page HTTP/1.0\r\n\r\n", tcp=True)
        policies = [value for name, value in headers
                    if name.lower() == "content-security-policy"]
        self.assertEqual(policies, ["script-src 'self'"])

    def test_a_mebibyte_of_header_is_431(self):
        for request in (b"GET /" + b"a" * (1 << 20),
                        b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * (1 << 20),
                        b"GET / HTTP/1.1\r\n" + b"X: a\r\n" * (1 << 17)):
            self.assertEqual(self.status(request), 431)

    def test_a_body_above_the_limit_is_413(self):
        size = 2 << 20
        request = b"POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % size
        self.assertEqual(self.status(request + b"a" * size), 413)
        self.assertEqual(self.status(request), 413)

    def test_a_body_within_the_limit_comes_back(self):
        body = os.urandom(1 << 20)
        request = b"POST /body HTTP/1.0\r\nContent-Length: %d\r\n\r\n" % len(body)
        self.assertEqual(self.ask(request + body).split(b"\r\n\r\n", 1)[1], body)

    def test_over_tcp_no_body_is_waited_for(self):
        for method in (b"POST /body", b"GET /hello"):
            request = method + b" HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n"
            self.assertEqual(self.status(request, tcp=True), 413)

    def test_methods(self):
        for tcp, method, path, status, allow in (
                (False, b"DELETE", b"/hello", 405, b"GET, HEAD"),
                (False, b"OPTIONS", b"/hello", 405, b"GET, HEAD"),
                (False, b"GET", b"/body", 405, b"POST"),
                (True, b"POST", b"/hello", 405, b"GET, HEAD"),
                (True, b"CONNECT", b"/hello", 405, b"GET, HEAD"),
                (True, b"POST", b"/body", 404, None),
                (True, b"GET", b"/local", 404, None),
                (False, b"GET", b"/local", 200, None)):
            with self.subTest(method=method, path=path, tcp=tcp):
                answer = self.ask(method + b" " + path + b" HTTP/1.0\r\n\r\n", tcp)
                self.assertIn(b"HTTP/1.1 %d " % status, answer)
                if allow:
                    self.assertIn(b"\r\nAllow: " + allow + b"\r\n", answer)

    def test_what_is_no_method_is_refused(self):
        for line, status in ((b"get /hello HTTP/1.1", 405), (b"G\tT /hello HTTP/1.1", 400),
                             (b"GET,POST /hello HTTP/1.1", 400), (b" GET /hello HTTP/1.1", 400),
                             (b"GET  /hello HTTP/1.1", 400), (b"GET /hello", 400),
                             (b"PRI * HTTP/2.0", 505), (b"\x16\x03\x01", 400),
                             (b"A" * 8000 + b" /hello HTTP/1.1", 405), (b"", 400),
                             (b"GET http://127.0.0.1/hello HTTP/1.1", 400),
                             (b"CONNECT 127.0.0.1:22 HTTP/1.1", 400)):
            for tcp in (False, True):
                with self.subTest(line=line[:40], tcp=tcp):
                    request = line + b"\r\nHost: localhost\r\nConnection: close\r\n\r\n"
                    self.assertEqual(self.status(request, tcp), status)

    def test_a_thousand_pipelined_requests_are_answered(self):
        sock = self.connect()
        sock.sendall(b"GET /hello HTTP/1.1\r\nHost: a\r\n\r\n" * 1000 +
                     b"GET /none HTTP/1.0\r\n\r\n")
        answer = self.read_all(sock)
        self.assertEqual(answer.count(b"\r\n\r\nhello\n"), 1000)
        self.assertEqual(answer.count(b" 404 "), 1)

    def test_smuggled_requests_are_not_served(self):
        inner = b"GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"
        head = b"POST /body HTTP/1.1\r\nHost: a\r\n"
        for name, request in {
                "two lengths": head + b"Content-Length: 0\r\nContent-Length: 35\r\n\r\n",
                "the same twice": head + b"Content-Length: 0\r\nContent-Length: 0\r\n\r\n",
                "a list": head + b"Content-Length: 0, 35\r\n\r\n",
                "length and chunks":
                    head + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                "chunks": head + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                "hidden chunks": head + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
                "folded chunks": head + b"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
                "bare CR": head + b"A: b\rContent-Length: 35\r\n\r\n",
                "bare LF": head + b"A: b\nContent-Length: 35\r\n\r\n",
                "NUL": head + b"A: \0\r\n\r\n",
                "encoded NUL": b"GET /hello%00 HTTP/1.1\r\nHost: a\r\n\r\n",
                "a sign": head + b"Content-Length: +0\r\n\r\n",
                "octal": head + b"Content-Length: 0x0\r\n\r\n",
                "no host": b"GET /hello HTTP/1.1\r\n\r\n",
                "two hosts": head + b"Host: b\r\n\r\n",
                "space in front": head + b" Content-Length: 0\r\n\r\n"}.items():
            with self.subTest(name):
                answer = self.ask(request + inner)
                self.assertRegex(answer, rb"^HTTP/1\.1 (400|501) ")
                self.assertIn(b"Connection: close", answer)
                self.assertNotIn(b"hello\n", answer)

    def test_the_control_socket_is_for_its_user_alone(self):
        self.assertEqual(stat.S_IMODE(os.stat(self.path).st_mode), 0o600)
        if os.geteuid() != 0:
            self.skipTest("needs root to become another user")
        # Even one who may open the file is refused.
        os.chmod(self.directory.name, 0o755)
        os.chmod(self.path, 0o666)
        script = ("import os, socket, sys\n"
                  "os.setuid(65534)\n"
                  "s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])\n"
                  "s.settimeout(5)\n"
                  "try:\n"
                  "    s.sendall(b'GET /hello HTTP/1.0\\r\\n\\r\\n'); print(s.recv(100))\n"
                  "except OSError: print(b'')\n")
        out = subprocess.run([sys.executable, "-c", script, self.path], capture_output=True)
        os.chmod(self.path, 0o600)
        self.assertEqual(out.stdout, b"b''\n", out.stderr)

    def test_waiting_clients_that_leave_give_their_place_back(self):
        for _ in range(3 * LIMIT):
            sock = self.connect()
            sock.sendall(b"GET /never HTTP/1.1\r\nHost: a\r\n\r\n")
            sock.close()
        self.assert_served()

    def test_one_that_leaves_in_the_middle_of_an_answer_harms_nobody(self):
        for _ in range(50):
            sock = self.connect()
            sock.sendall(b"GET /large HTTP/1.0\r\n\r\n")
            sock.recv(10)
            sock.close()
        self.assert_served()


if __name__ == "__main__":
    tap.main(sys.argv[2:])
