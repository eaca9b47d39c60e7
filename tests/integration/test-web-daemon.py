#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The daemon with a web configuration: test-web-daemon.py RDMAD EXPAND MODULE-DIR [TEST...]"""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
import tap  # noqa: E402
from machine_daemon import EXPAND, MODULES, RDMAD, Daemon  # noqa: E402
from ports import free_port  # noqa: E402
from prometheus_server import Prometheus, installed, wait_for  # noqa: E402
from web_case import FILES, HASH, make_certificates  # noqa: E402

USERS = f"basic_auth_users:\n  alice: {HASH}\n"
CLIENTS = "  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: ca.pem\n"
METRICS = 'modules = {{ metrics = {{ listen = "{}"; web_config = "{}"; }}; }};'


class WebDaemon(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory(prefix="rdmad-web-")
        cls.directory = cls.place.name
        make_certificates(cls.directory)
        cls.machine = os.path.join(cls.directory, "machine")
        subprocess.run([EXPAND, "gpu-8rail", cls.machine], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.place.cleanup()

    def path(self, name):
        return os.path.join(self.directory, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def start(self, text, listen=None, core=""):
        if text is not None:
            self.write("web.yml", text)
        self.port = free_port()
        web = self.path("web.yml") if text is not None else ""
        self.daemon = Daemon(None, core + METRICS.format(listen or f"127.0.0.1:{self.port}", web),
                             root=self.machine)
        self.addCleanup(self.daemon.close)

    def listener(self):
        return [one for one in self.daemon.json("status")["listeners"] if one["public"]][0]

    def check(self, text, modules=MODULES):
        self.write("checked.yml", text)
        self.write("rdmad.conf", METRICS.format(":1", self.path("checked.yml")))
        return subprocess.run([RDMAD, "--check", "--config", self.path("rdmad.conf"),
                               "--module-dir", modules], capture_output=True, text=True, check=False)

    def make_foreign(self, path):
        """Gives a part the version of another rdmad."""
        version = subprocess.run([RDMAD, "--version"], capture_output=True, check=True).stdout.split()[1]
        with open(path, "rb") as file:
            content = file.read()
        self.assertEqual(content.count(version + b"\0"), 1)
        os.chmod(path, 0o755)
        with open(path, "wb") as file:
            file.write(content.replace(version + b"\0", b"9" * len(version) + b"\0"))

    def maps(self):
        with open(f"/proc/{self.daemon.process.pid}/maps", encoding="ascii") as file:
            return file.read()

    def curl(self, *args):
        return subprocess.run(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", *args],
                              capture_output=True, text=True, check=False).stdout

    @unittest.skipUnless(installed(), "prometheus is not installed")
    def test_prometheus_scrapes_by_tls_with_certificate_and_password(self):
        self.start(FILES + CLIENTS + USERS)
        with tempfile.TemporaryDirectory() as directory:
            jobs = []
            for name, password, certificate in (("good", "secret", "client"),
                                                ("wrong-password", "wrong", "client"),
                                                ("stranger", "secret", "stranger")):
                jobs.append({"job_name": name, "scheme": "https", "scrape_interval": "1s",
                             "static_configs": [{"targets": [f"localhost:{self.port}"]}],
                             "basic_auth": {"username": "alice", "password": password},
                             "tls_config": {"ca_file": self.path("ca.pem"),
                                            "cert_file": self.path(certificate + ".pem"),
                                            "key_file": self.path(certificate + ".key")}})
            prometheus = Prometheus(directory, {"scrape_configs": jobs})
            try:
                def errors():
                    return {t["labels"]["job"]: t["lastError"] for t in prometheus.targets()}

                wait_for(lambda: all(part in errors().get(job, "") for job, part in
                                     (("wrong-password", "401"), ("stranger", "tls"))), lambda: f"refusals: {errors()}")
                wait_for(lambda: prometheus.query('count({job="good"}) > 500'), lambda: f"series: {errors()}")
            finally:
                prometheus.stop()

    def test_a_proxy_may_keep_the_names_that_are_listed(self):
        self.start(None, core='http = { hosts = ( "rdmad.monitoring.svc", "*.example.com" ); };\n')
        for host, wanted in (("rdmad.monitoring.svc:9443", "200"), ("VM.Example.com.", "200"), ("[::1]:9443", "200"),
                             ("example.com", "421"), ("evil.example", "421"),
                             ("rdmad.monitoring.svc.evil.example", "421")):
            for path in ("/metrics", "/", "/api/v1/devices"):
                with self.subTest(host=host, path=path):
                    self.assertEqual(self.curl("-H", f"Host: {host}", f"http://127.0.0.1:{self.port}{path}"), wanted)

    def test_status_and_doctor_tell_how_it_listens(self):
        self.start(FILES + USERS)
        listener = self.listener()
        self.assertEqual({key: listener[key] for key in ("address", "tls", "passwords",
                                                         "client_certificates", "error")},
                         {"address": f"127.0.0.1:{self.port}", "tls": True, "passwords": True,
                          "client_certificates": False, "error": None})
        self.assertIn(f"listener       127.0.0.1:{self.port}, TLS, passwords\n",
                      self.daemon.run("status").stdout)
        # Nobody comes while it is broken, so nobody has looked.
        self.write("web.yml", FILES + "basic_auth_user: {}\n")
        time.sleep(1.1)
        self.assertEqual(self.curl("-k", f"https://127.0.0.1:{self.port}/metrics"), "401")
        self.assertIn("web.yml:4: basic_auth_user: unknown key; did you mean `basic_auth_users`",
                      self.listener()["error"])
        self.assertIn("WEB CONFIGURATION REFUSED: ", self.daemon.run("status").stdout)
        doctor = self.daemon.run("doctor")
        self.assertEqual(doctor.returncode, 1)
        self.assertIn("continues with the previous web configuration", doctor.stdout)
        self.write("web.yml", FILES + USERS)
        time.sleep(1.1)
        self.assertEqual(self.curl("-k", f"https://127.0.0.1:{self.port}/metrics"), "401")
        self.assertIsNone(self.listener()["error"])

    def test_check_reads_all_that_the_file_names(self):
        self.assertEqual(self.check(FILES + USERS).returncode, 0)
        for text, why in ((FILES + "a: 1\n", "checked.yml:4: a: unknown key"),
                          (FILES.replace("server.key", "none.key"), "none.key: No such file"),
                          (FILES.replace("server.key", "client.key"), "client.key: no usable key"),
                          ("basic_auth_users: { a: b }\n", "checked.yml:1: ")):
            with self.subTest(text):
                done = self.check(text)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(why, done.stderr)

    def test_a_reload_that_names_a_bad_file_changes_nothing(self):
        self.start(USERS)
        self.write("bad.yml", "{")
        self.daemon.configure(METRICS.format(f"127.0.0.1:{self.port}", self.path("bad.yml")))
        self.daemon.process.send_signal(1)
        wait_for(lambda: self.daemon.json("status")["config"]["error"], "refusal")
        self.assertIn("bad.yml:2:1: ", self.daemon.json("status")["config"]["error"])
        self.assertEqual(self.curl(f"http://127.0.0.1:{self.port}/metrics"), "401")
        self.assertEqual(self.curl("-u", "alice:secret", f"http://127.0.0.1:{self.port}/metrics"),
                         "200")

    def test_parts_are_loaded_only_where_they_are_wanted(self):
        for text, wanted in ((None, set()), (USERS, {"rdmad-crypt.so", "libcrypt.so"}),
                             (FILES, {"rdmad-tls.so", "libssl.so"})):
            with self.subTest(text):
                self.start(text)
                maps = self.maps()
                for name in ("rdmad-crypt.so", "libcrypt.so", "rdmad-tls.so", "libssl.so"):
                    self.assertEqual(f"/{name}" in maps, name in wanted, name)

    def test_a_first_user_loads_the_check_of_passwords(self):
        self.start("{}\n")
        self.assertEqual(self.curl(f"http://127.0.0.1:{self.port}/metrics"), "200")
        self.write("web.yml", USERS)
        time.sleep(1.1)
        self.assertEqual(self.curl(f"http://127.0.0.1:{self.port}/metrics"), "401")
        self.assertIn("/rdmad-crypt.so", self.maps())
        self.assertEqual(self.curl("-u", "alice:secret", f"http://127.0.0.1:{self.port}/metrics"),
                         "200")

    def test_a_part_that_does_not_fit_is_an_error_of_the_web_configuration(self):
        for text, part in ((USERS, "rdmad-crypt.so"), (FILES, "rdmad-tls.so")):
            directory = self.path("modules-" + part)
            os.makedirs(directory)
            for name in ("metrics.so", part):
                shutil.copy(os.path.join(MODULES, name), directory)
            path = os.path.join(directory, part)
            for spoil, why in ((lambda: None, None),
                               (lambda: os.chmod(path, 0o777), "others may write to this file"),
                               (lambda: self.make_foreign(path), "of another rdmad than"),
                               (lambda: os.unlink(path), "no such file")):
                with self.subTest(part=part, why=why):
                    spoil()
                    done = self.check(text, directory)
                    self.assertEqual(done.returncode == 0, why is None, done.stderr)
                    self.assertIn(f"{path}: {why}" if why else "", done.stderr)

    def test_a_port_alone_is_of_both_families_and_can_be_had_again_at_once(self):
        port = free_port()
        for _ in range(2):
            self.start(USERS, listen=f":{port}")
            for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
                with socket.socket(family) as sock:
                    try:
                        sock.bind((address, 0))
                    except OSError:
                        continue    # a machine without IPv6
                    wait_for(lambda sock=sock, at=(address, port): sock.connect_ex(at) == 0, "the port")
                    sock.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
                    # The server closes first, so the port is in TIME_WAIT afterwards.
                    self.assertIn(b" 401 ", sock.recv(65536))
            self.doCleanups()


if __name__ == "__main__":
    tap.main(sys.argv[4:])
