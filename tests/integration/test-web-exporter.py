#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""One web configuration, two servers: ours and Prometheus' node_exporter, whose file format it is.

usage: test-web-exporter.py HTTP-SERVER DIRECTORY [TEST...]
"""

import collections
import os
import shutil
import socket
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
import tap  # noqa: E402
from ports import free_port  # noqa: E402
from web_case import FILES, HASH, WebCase  # noqa: E402

WebCase.server, WebCase.objects = sys.argv[1:3]
EXPORTER = shutil.which("prometheus-node-exporter")
USERS = f"basic_auth_users:\n  alice: {HASH}\n"
AUTHORITY = "  client_ca_file: ca.pem\n"

# Requests to both, as arguments of curl; @NAME is a client's certificate.
REQUESTS = {
    "nothing": (),
    "a password": ("-u", "alice:secret"),
    "a wrong password": ("-u", "alice:Secret"),
    "no password": ("-u", "alice:"),
    "nobody's password": ("-u", "bob:secret"),
    "the hash": ("-u", "alice:" + HASH),
    "half a header": ("-H", "Authorization: Basic"),
    "a header of another kind": ("-H", "Authorization: Bearer YWxpY2U6c2VjcmV0"),
    "a header in small letters": ("-H", "authorization: basic YWxpY2U6c2VjcmV0"),
    "no base64": ("-H", "Authorization: Basic YWxpY2U6c2VjcmV"),
    "a certificate": ("@client",),
    "a certificate of another authority": ("@stranger",),
    "both": ("@client", "-u", "alice:secret"),
    "TLS 1.2": ("--tls-max", "1.2", "-u", "alice:secret"),
    "TLS 1.3": ("--tlsv1.3", "-u", "alice:secret"),
    "TLS 1.2 with one cipher suite": ("--tls-max", "1.2", "--ciphers", "ECDHE-RSA-AES256-GCM-SHA384",
                                      "-u", "alice:secret"),
    "TLS 1.2 with another": ("--tls-max", "1.2", "--ciphers", "ECDHE-RSA-CHACHA20-POLY1305",
                             "-u", "alice:secret"),
    "one curve": ("--curves", "P-384", "-u", "alice:secret"),
    "another curve": ("--curves", "X25519", "-u", "alice:secret"),
    "HTTP/2 where it is offered": ("--http2", "-u", "alice:secret"),
}

GOOD = {
    "nothing": "",
    "passwords": USERS,
    "TLS": FILES,
    "TLS and passwords": FILES + USERS,
    "TLS 1.3 alone": FILES + "  min_version: TLS13\n",
    "TLS 1.2 alone": FILES + "  max_version: TLS12\n",
    "one cipher suite": FILES + "  cipher_suites: [ TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 ]\n"
                        "http_server_config: { http2: false }\n",
    "one curve": FILES + "  curve_preferences: [ CurveP384 ]\n",
    "without HTTP/2": FILES + "http_server_config:\n  http2: false\n",
    "certificates, if any": FILES + "  client_auth_type: RequestClientCert\n",
    "any certificate": FILES + "  client_auth_type: RequireAnyClientCert\n",
    "good certificates, if any": FILES + "  client_auth_type: VerifyClientCertIfGiven\n" + AUTHORITY,
    "good certificates": FILES + "  client_auth_type: RequireAndVerifyClientCert\n" + AUTHORITY,
    "good certificates and passwords":
        FILES + "  client_auth_type: RequireAndVerifyClientCert\n" + AUTHORITY + USERS,
    "headers": "http_server_config:\n  headers:\n    Strict-Transport-Security: max-age=5\n" + USERS,
}

BAD = {
    "no YAML": "{",
    "an unknown group": "tls_config: {}\n",
    "an unknown key": FILES + "  certfile: a\n",
    "a key twice": FILES + "  cert_file: a\n",
    "a list": "- a\n",
    "no such certificate": FILES.replace("server.pem", "none.pem"),
    "no such key": FILES.replace("server.key", "none.key"),
    "another key": FILES.replace("server.key", "server2.key"),
    "a certificate alone": "tls_server_config:\n  cert_file: server.pem\n",
    "an unknown way to ask": FILES + "  client_auth_type: Always\n",
    "authorities that are not asked": FILES + AUTHORITY,
    "no such authorities": FILES + "  client_auth_type: RequireAndVerifyClientCert\n"
                                   "  client_ca_file: none.pem\n",
    "an unknown version": FILES + "  min_version: TLS2\n",
    "an unknown cipher suite": FILES + "  cipher_suites: [ TLS_RSA_WITH_RC4_128_MD5 ]\n",
    "an unknown curve": FILES + "  curve_preferences: [ Curve25518 ]\n",
    "an unknown header": "http_server_config: { headers: { X-Own: a } }\n",
    "an unknown value": "http_server_config: { headers: { X-Frame-Options: allow } }\n",
    "a password": "basic_auth_users:\n  alice: secret\n",
    "a cost that is none": "basic_auth_users:\n  alice: " + HASH.replace("$05$", "$03$") + "\n",
}


@unittest.skipUnless(EXPORTER, "prometheus-node-exporter is not installed")
class Exporter(WebCase):
    def start_exporter(self, config):
        """Whether it runs."""
        self.write("exporter.yml", config)
        self.exporter_port = free_port()
        self.exporter = subprocess.Popen(
            [EXPORTER, f"--web.listen-address=127.0.0.1:{self.exporter_port}",
             "--web.config.file=" + self.path("exporter.yml"), "--collector.disable-defaults",
             "--collector.time", "--web.telemetry-path=/hello"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + 20
        while self.exporter.poll() is None and time.monotonic() < end:
            try:
                # It listens a moment before it reads the file, and answers after that.
                with socket.create_connection(("127.0.0.1", self.exporter_port), 20) as probe:
                    probe.sendall(b"GET / HTTP/1.0\r\n\r\n")
                    if probe.recv(1):
                        return True
            except OSError:
                pass
            time.sleep(0.05)
        return False

    def end_exporter(self):
        self.exporter.terminate()
        self.exporter.wait(10)

    def request(self, port, scheme, args):
        expanded = []
        for arg in args:
            expanded += self.client(arg[1:]) if arg.startswith("@") else [arg]
        return self.curl(*expanded, url=f"{scheme}://localhost:{port}/hello")

    def test_the_same_file_lets_the_same_clients_in(self):
        seen = collections.Counter()
        for name, config in GOOD.items():
            self.serve(config)
            self.assertTrue(self.start_exporter(config), name)
            for scheme in ("http", "https"):
                for what, args in REQUESTS.items():
                    with self.subTest(name, scheme=scheme, request=what):
                        ours = self.request(self.port, scheme, args)
                        self.assertEqual(ours, self.request(self.exporter_port, scheme, args))
                        seen[ours] += 1
            self.end_exporter()
        print(f"# {dict(seen)}")
        self.assertEqual(set(seen), {200, 400, 401, "failed"})

    def test_the_same_files_are_refused(self):
        for name, config in BAD.items():
            with self.subTest(name):
                ours, theirs = self.start(config), self.start_exporter(config)
                self.end_exporter()
                self.assertFalse(ours)
                # This one reads passwords when the first is sent.
                self.assertFalse(theirs and "password" not in name and "cost" not in name)


if __name__ == "__main__":
    tap.main(sys.argv[3:])
