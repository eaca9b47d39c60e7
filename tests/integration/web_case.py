# SPDX-License-Identifier: Apache-2.0
"""Certificates, and the HTTP server with a web configuration, for tests of both."""

import os
import re
import signal
import socket
import ssl
import subprocess
import tempfile
import time
import unittest

from ports import free_port

# "secret", at a low cost.
PATIENCE = 60       # seconds; the machine may be busy
HASH = "$2y$05$s07FJFZUV0sA1apmjFapGewTGKuJXtFEbLFID3UjTu0hnHorRQp9G"
FILES = "tls_server_config:\n  cert_file: server.pem\n  key_file: server.key\n"


def openssl(directory, *args):
    subprocess.run(["openssl", *args], cwd=directory, check=True, capture_output=True)


def make_authority(directory, name):
    openssl(directory, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
            "-keyout", name + ".key", "-out", name + ".pem", "-days", "2", "-subj", "/CN=" + name)


def make_certificate(directory, name, authority, names, key="ec:P-256", more=""):
    kind, size = key.split(":")
    option = "ec_paramgen_curve:" + size if kind == "ec" else "rsa_keygen_bits:" + size
    with open(os.path.join(directory, "extensions"), "w", encoding="ascii") as file:
        file.write("subjectAltName = " + names + "\n" + more)
    openssl(directory, "req", "-newkey", kind, "-pkeyopt", option, "-nodes", "-keyout", name + ".key",
            "-out", name + ".csr", "-subj", "/CN=" + name)
    openssl(directory, "x509", "-req", "-in", name + ".csr", "-CA", authority + ".pem", "-CAkey",
            authority + ".key", "-CAcreateserial", "-out", name + ".pem", "-days", "2", "-extfile",
            "extensions")


def make_certificates(directory):
    """ca, other-ca; server, server2 of ca; client of ca, stranger of other-ca."""
    make_authority(directory, "ca")
    make_authority(directory, "other-ca")
    for name in ("server", "server2"):
        make_certificate(directory, name, "ca", "DNS:localhost,IP:127.0.0.1", "rsa:2048")
    make_certificate(directory, "client", "ca", "DNS:prometheus,IP:192.0.2.7,URI:spiffe://x/y")
    make_certificate(directory, "stranger", "other-ca", "DNS:prometheus")


class WebCase(unittest.TestCase):
    """One server with what the test gives it."""
    server = directory = objects = process = None

    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory(prefix="rdmad-web-")
        os.chmod(cls.place.name, 0o755)
        cls.directory = cls.place.name
        make_certificates(cls.directory)

    @classmethod
    def tearDownClass(cls):
        cls.place.cleanup()

    def path(self, name):
        return os.path.join(self.directory, name)

    def write(self, name, text):
        # As one does who cares: never half of it is there.
        with open(self.path(name) + ".new", "w", encoding="utf-8") as file:
            file.write(text)
        os.rename(self.path(name) + ".new", self.path(name))

    def wait_until(self, test):
        end = time.monotonic() + PATIENCE
        while not test():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.2)

    def start(self, config):
        """In the place of the one before.  False: it did not start, and self.said is why."""
        self.end()
        self.write("web.yml", config)
        self.port = free_port()
        self.control = self.path("http.sock")
        self.process = subprocess.Popen([self.server, self.control, str(self.port),
                                         self.path("web.yml"), self.objects],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.said = self.process.stdout.readline().decode()
        if self.said == "ready\n":
            return True
        _, self.log = self.process.communicate(timeout=PATIENCE)
        self.process = None
        return False

    def end(self):
        if not self.process:
            return
        self.process.send_signal(signal.SIGINT)
        _, self.log = self.process.communicate(timeout=PATIENCE)
        code, self.process = self.process.returncode, None
        self.assertEqual(code, 0, self.log.decode(errors="replace"))

    def tearDown(self):
        self.end()

    def serve(self, config):
        self.assertTrue(self.start(config), self.said)

    def curl(self, *args, url=None, port=None):
        """The status, or "failed"."""
        url = url or f"https://127.0.0.1:{port or self.port}/hello"
        done = subprocess.run(["curl", "-s", "-o", self.path("body"), "-w", "%{http_code}", "-m", str(PATIENCE),
                               "--cacert", self.path("ca.pem"), *args, url],
                              capture_output=True, text=True, check=False)
        return int(done.stdout) if done.returncode == 0 else "failed"

    def client(self, name):
        return ("--cert", self.path(name + ".pem"), "--key", self.path(name + ".key"))

    def context(self, name=None):
        context = ssl.create_default_context(cafile=self.path("ca.pem"))
        if name:
            context.load_cert_chain(self.path(name + ".pem"), self.path(name + ".key"))
        return context

    def connect(self, source="127.0.0.1"):
        sock = socket.create_connection(("127.0.0.1", self.port), PATIENCE, (source, 0))
        self.addCleanup(sock.close)
        return sock

    def connect_tls(self, context=None, source="127.0.0.1"):
        sock = (context or self.context()).wrap_socket(self.connect(source),
                                                       server_hostname="localhost")
        self.addCleanup(sock.close)
        return sock

    def read_all(self, sock):
        answer = b""
        try:
            while part := sock.recv(65536):
                answer += part
        except (ConnectionResetError, ssl.SSLError) as error:
            answer += b"<" + type(error).__name__.encode() + b">"
        return answer

    def ask(self, request, sock):
        sock.sendall(request)
        return self.read_all(sock)

    def status(self, answer):
        match = re.match(rb"HTTP/1\.1 (\d{3}) ", answer)
        return int(match.group(1)) if match else answer

    def control_delay(self):
        """Seconds that the control socket takes for an answer."""
        start = time.monotonic()
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(PATIENCE)
            sock.connect(self.control)
            self.assertIn(b"hello\n", self.ask(b"GET /hello HTTP/1.0\r\n\r\n", sock))
        return time.monotonic() - start
