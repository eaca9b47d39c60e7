#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`rdmad --module=metrics` of a user who may do nothing: no root, no capability, no file.

usage: test-unprivileged.py RDMAD EXPAND MODULE-DIR [TEST...]

In a network namespace of its own, since the default address is one.
"""

import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
import tap  # noqa: E402

# The daemon runs in a directory of its own.
RDMAD, EXPAND, MODULES = map(os.path.realpath, sys.argv[1:4])
# Nobody's; more than one of these tests may run at a time.
UID = 60000 + 2 * (os.getpid() % 2500)
OTHER = UID + 1
PATIENCE = 60
INSIDE = "RDMAD_TEST_INSIDE"


def enter_private_network():
    """The same program, where nobody else listens; returns where that cannot be."""
    if os.environ.get(INSIDE) or os.geteuid() != 0:
        return
    if subprocess.run(["unshare", "--net", "true"], stderr=subprocess.DEVNULL, check=False).returncode:
        return
    os.environ[INSIDE] = "1"
    os.execvp("unshare", ["unshare", "--net", "sh", "-c", 'ip link set lo up; exec "$@"', "sh",
                          sys.executable, *sys.argv])


def can_enter(path, uid):
    return not subprocess.run(["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups",
                               "test", "-r", path], check=False).returncode


@unittest.skipUnless(os.environ.get(INSIDE),
                     "needs root and unshare(1), to be another user in another network")
class UnprivilegedTest(unittest.TestCase):
    def setUp(self):
        if not can_enter(RDMAD, UID):
            self.skipTest(f"other users may not enter the directory of {RDMAD}")
        self.directory = tempfile.mkdtemp(prefix="rdmad-test-")
        self.addCleanup(shutil.rmtree, self.directory)
        os.chmod(self.directory, 0o755)
        self.made_up = f"/tmp/rdmad-{UID}"
        self.addCleanup(shutil.rmtree, self.made_up, ignore_errors=True)
        self.daemon = None
        self.log = open(os.path.join(self.directory, "log"), "a+b")
        self.addCleanup(self.log.close)

    def tearDown(self):
        if self.daemon and self.daemon.poll() is None:
            self.daemon.send_signal(signal.SIGTERM)
            self.assertEqual(self.daemon.wait(PATIENCE), 0, self.said())

    def said(self):
        self.log.seek(0)
        return self.log.read().decode(errors="replace")

    def command(self, *args, uid=UID, env=()):
        return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--inh-caps=-all",
                "--bounding-set=-all", "--no-new-privs", "env", "-i", *env, RDMAD, *args]

    def run_it(self, *args, **who):
        return subprocess.run(self.command(*args, **who), capture_output=True, text=True,
                              timeout=PATIENCE, cwd="/", check=False)

    def start(self, *args, env=()):
        self.daemon = subprocess.Popen(
            self.command("--module=metrics", "--module-dir", MODULES, *args, env=env),
            stderr=self.log, cwd="/")
        end = time.monotonic() + PATIENCE
        while "is ready" not in self.said():
            self.assertIsNone(self.daemon.poll(), self.said())
            self.assertLess(time.monotonic(), end, self.said())
            time.sleep(0.02)

    def machine(self, name):
        root = os.path.join(self.directory, "machine")
        subprocess.run([EXPAND, name, root], check=True)
        subprocess.run(["chmod", "-R", "a+rX", root], check=True)
        return root

    def metrics(self):
        with urllib.request.urlopen("http://127.0.0.1:9889/metrics", timeout=PATIENCE) as answer:
            return answer.read().decode()

    def assert_private(self, path):
        status = os.lstat(path)
        self.assertTrue(stat.S_ISDIR(status.st_mode))
        self.assertEqual((status.st_uid, stat.S_IMODE(status.st_mode)), (UID, 0o700))

    def test_it_starts_without_anything_and_complains_about_nothing(self):
        self.start()
        self.metrics()
        self.assert_private(self.made_up)
        # A kernel without RDMA has no such netlink, whoever asks.
        complaints = [line for line in self.said().splitlines()
                      if (" warning " in line or " error " in line) and "RDMA netlink" not in line]
        self.assertEqual(complaints, [])

    def test_it_reads_every_device(self):
        self.start("--sysroot", self.machine("gpu-8rail"))
        text = self.metrics()
        for i in range(11):
            self.assertIn(f'rdma_device_scrape_success{{device="mlx5_{i}"}} 1\n', text)

    def test_its_user_finds_it_and_others_do_not(self):
        self.start()
        status = self.run_it("status")
        self.assertEqual(status.returncode, 0, status.stderr)
        self.assertIn("module metrics: running", status.stdout)
        other = self.run_it("status", uid=OTHER)
        self.assertNotEqual(other.returncode, 0)
        self.assertIn("/run/rdmad/rdmad.sock", other.stderr)

    def test_the_doctor_says_that_nothing_is_kept(self):
        self.start()
        self.assertIn("allocations end with rdmad", self.run_it("doctor").stdout)

    def test_a_session_has_a_directory_for_it(self):
        session = os.path.join(self.directory, "session")
        os.mkdir(session, 0o700)
        os.chown(session, UID, UID)
        env = [f"XDG_RUNTIME_DIR={session}"]
        self.start(env=env)
        self.assert_private(os.path.join(session, "rdmad"))
        self.assertFalse(os.path.exists(self.made_up))
        self.assertEqual(self.run_it("status", env=env).returncode, 0)

    def test_a_session_of_somebody_else_is_not_used(self):
        session = os.path.join(self.directory, "session")
        os.mkdir(session, 0o777)
        self.start(env=[f"XDG_RUNTIME_DIR={session}"])
        self.assert_private(self.made_up)

    def test_a_directory_that_somebody_else_put_there_is_refused(self):
        os.mkdir(self.made_up, 0o755)
        os.chown(self.made_up, OTHER, OTHER)
        done = self.run_it("--module=metrics", "--module-dir", MODULES)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(f"{self.made_up} belongs to user {OTHER}", done.stderr)

    def test_a_link_that_somebody_else_put_there_is_refused(self):
        os.symlink(self.directory, self.made_up)
        self.addCleanup(os.unlink, self.made_up)
        done = self.run_it("--module=metrics", "--module-dir", MODULES)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("is not a directory", done.stderr)

    def as_root(self, *args):
        return subprocess.run([RDMAD, *args], capture_output=True, text=True, timeout=PATIENCE, cwd="/", check=False)

    def refused(self, directory, ask):
        """The message of a client, `ask`, to which a server of OTHER in the directory answers nothing."""
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(os.path.join(directory, "rdmad.sock"))
            os.chmod(os.path.join(directory, "rdmad.sock"), 0o777)
            child = os.fork()
            if child == 0:
                os.setuid(OTHER)
                server.listen()
                while True:
                    server.accept()[0].close()
            try:
                end = time.monotonic() + PATIENCE
                done = ask()
                while "no server listens" in done.stderr and time.monotonic() < end:
                    done = ask()
            finally:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
        self.assertNotEqual(done.returncode, 0)
        return done.stderr

    def refused_to_root(self, directory):
        return self.refused(directory, lambda: self.as_root("status", "--socket", f"{directory}/rdmad.sock"))

    def directory_of(self, path, uid):
        os.mkdir(path, 0o755)
        os.chown(path, uid, uid)
        return path

    def test_who_listens_in_its_place_is_not_believed(self):
        os.mkdir(self.made_up, 0o755)
        self.assertIn(f"belongs to user {OTHER}, neither root nor user {UID}",
                      self.refused(self.made_up, lambda: self.run_it("status")))

    def test_root_believes_the_user_who_got_the_directory_from_root(self):
        run_dir = self.directory_of(os.path.join(self.directory, "run"), UID)
        self.start("--run-dir", run_dir)
        done = self.as_root("status", "--socket", f"{run_dir}/rdmad.sock")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_root_believes_no_other_user(self):
        """Anyone can make a directory in /tmp, or a link to one of his own."""
        of_another = self.directory_of(os.path.join(self.directory, "of-another"), UID)
        self.assertIn(f"belongs to user {OTHER}, neither root nor user 0", self.refused_to_root(of_another))
        self.directory_of(self.made_up, OTHER)
        self.assertIn(f"belongs to user {OTHER}, neither root nor user 0", self.refused_to_root(self.made_up))
        shutil.rmtree(self.made_up)
        os.symlink(self.directory_of(os.path.join(self.directory, "own"), OTHER), self.made_up)
        self.addCleanup(os.unlink, self.made_up)
        self.assertIn(f"belongs to user {OTHER}, neither root nor user 0", self.refused_to_root(self.made_up))


if __name__ == "__main__":
    enter_private_network()
    tap.main(sys.argv[4:])
