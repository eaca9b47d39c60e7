#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The daemon as the service manager and the administrator meet it: test-daemon.py RDMAD MODULE-DIR

MODULE-DIR has the modules of tests/unit/module/bad.
"""

import contextlib
import json
import os
import re
import shutil
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
from processes import unix_sockets  # noqa: E402

RDMAD, MODULES = sys.argv[1:3]
INSTRUMENTED = b"__asan_init" in open(RDMAD, "rb").read()
PATIENCE = 60  # seconds; the machine may be busy

GOOD = 'modules = { good = { value = "1"; }; };\n'


class Manager:
    """Plays the service manager: hears what the daemon notifies."""

    def __init__(self, name):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(name.replace("@", "\0", 1))
        self.name = name
        self.heard = []

    def wait(self, pattern, patience=PATIENCE):
        """The first message from now on that matches."""
        end = time.monotonic() + patience
        while True:
            self.socket.settimeout(max(end - time.monotonic(), 0.001))
            try:
                text = self.socket.recv(4096).decode()
            except TimeoutError:
                raise AssertionError(f"no {pattern!r}, but {self.heard}") from None
            self.heard.append(text)
            if re.search(pattern, text):
                return text

    def drain(self):
        self.socket.settimeout(0)
        with contextlib.suppress(BlockingIOError):
            while True:
                self.heard.append(self.socket.recv(4096).decode())

    def close(self):
        self.socket.close()


class Case(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory(prefix="rdmad-test-")
        self.addCleanup(self.scratch.cleanup)
        self.dir = self.scratch.name
        self.manager = Manager(self.path("notify"))
        self.addCleanup(self.manager.close)
        self.logs = 0

    def path(self, name):
        return os.path.join(self.dir, name)

    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)
        return self.path(name)

    def command(self, *options):
        return [RDMAD, "--module-dir", MODULES, "--run-dir", self.path("run"),
                "--state-dir", self.path("state"), *options]

    def run_to_end(self, *options, env=None):
        return subprocess.run(self.command(*options), capture_output=True, text=True,
                              timeout=PATIENCE, env={**os.environ, **(env or {})})

    def start(self, *options, wait=r"^READY=1$", env=None):
        self.logs += 1
        self.log = self.path(f"log{self.logs}")
        with open(self.log, "w") as log:
            process = subprocess.Popen(self.command(*options), stderr=log, stdout=log,
                                       env={**os.environ, "NOTIFY_SOCKET": self.manager.name,
                                            **(env or {})})
        self.addCleanup(self.end, process)
        if wait:
            self.manager.wait(wait)
        return process

    def end(self, process):
        if process.poll() is None:
            process.kill()
        process.wait()

    def stop(self, process, signum=signal.SIGTERM):
        process.send_signal(signum)
        return process.wait(PATIENCE)

    def log_text(self):
        with open(self.log) as log:
            return log.read()

    def status(self):
        answer = subprocess.run([RDMAD, "status", "--json", "--socket",
                                 self.path("run/rdmad.sock")],
                                capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        return json.loads(answer.stdout)


class Life(Case):
    def test_it_says_that_it_is_ready_and_ends_in_time(self):
        process = self.start("-m", "good")
        began = time.monotonic()
        self.assertEqual(self.stop(process), 0, self.log_text())
        self.assertLess(time.monotonic() - began, 5 if not INSTRUMENTED else 20)
        self.manager.wait("^STOPPING=1$")
        self.assertIn("rdmad has ended", self.log_text())

    @unittest.skipIf(INSTRUMENTED, "the leak sanitizer does not work below strace")
    @unittest.skipUnless(shutil.which("strace"), "no strace")
    def test_a_signal_that_comes_before_the_loop_is_answered_in_order(self):
        """With the first call that the daemon makes."""
        for name in "SIGTERM", "SIGINT":
            process = subprocess.run(
                ["strace", "-o", "/dev/null", "-e", "trace=umask",
                 "-e", f"inject=umask:signal={name}:when=1", *self.command("-m", "good")],
                capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual(process.returncode, 0, process.stderr)
            self.assertIn(f"stopping on {name}", process.stderr)

    def test_sigint_ends_it_too(self):
        self.assertEqual(self.stop(self.start("-m", "good"), signal.SIGINT), 0)

    def test_an_abstract_socket_is_notified(self):
        self.manager.close()
        self.manager = Manager(f"@rdmad-test-{os.getpid()}")
        self.addCleanup(self.manager.close)
        self.assertEqual(self.stop(self.start("-m", "good")), 0)

    def test_a_long_run_directory_is_as_good_as_a_short_one(self):
        run = self.path("d" * 120)
        process = self.start("-m", "good", "--run-dir", run)
        for command in ("status", "devices", "events"):
            answer = subprocess.run([RDMAD, command, "--socket", f"{run}/rdmad.sock"],
                                    capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual(answer.returncode, 0, answer.stderr)
        default = subprocess.run([RDMAD, "status"], capture_output=True, text=True,
                                 timeout=PATIENCE,
                                 env={**os.environ, "RDMAD_SOCKET": f"{run}/rdmad.sock"})
        self.assertEqual(default.returncode, 0, default.stderr)
        self.assertEqual(self.stop(process), 0, self.log_text())
        self.assertFalse(os.path.exists(f"{run}/rdmad.sock"))

    def test_what_it_makes_is_for_it_alone_but_the_run_directory(self):
        self.start("-m", "good")

        def mode(name):
            return stat.S_IMODE(os.stat(self.path(name)).st_mode)

        self.assertEqual(mode("run"), 0o755)
        self.assertEqual(mode("state"), 0o700)
        self.assertEqual(mode("run/rdmad.lock"), 0o600)
        self.assertEqual(mode("run/rdmad.sock"), 0o600)

    def test_no_descriptor_goes_to_a_child(self):
        process = self.start("-m", "good")
        for name in os.listdir(f"/proc/{process.pid}/fd"):
            if int(name) <= 2:
                continue
            with contextlib.suppress(FileNotFoundError):    # closed meanwhile
                with open(f"/proc/{process.pid}/fdinfo/{name}") as info:
                    flags = int(re.search(r"flags:\s*([0-7]+)", info.read()).group(1), 8)
                link = os.readlink(f"/proc/{process.pid}/fd/{name}")
                self.assertTrue(flags & os.O_CLOEXEC, link)

    def test_a_second_sigterm_ends_it_at_once(self):
        process = self.start("-m", "busy")
        process.send_signal(signal.SIGTERM)
        self.manager.wait("^STATUS=waiting for in-flight requests")
        self.assertIsNone(process.poll())
        began = time.monotonic()
        self.assertEqual(self.stop(process), 1)
        self.assertLess(time.monotonic() - began, 5)

    def test_a_drain_that_does_not_end_is_cut_off(self):
        process = self.start("-m", "busy")
        began = time.monotonic()
        self.assertEqual(self.stop(process), 0)
        self.assertGreater(time.monotonic() - began, 9)
        self.assertIn("some modules are still busy after 10 s", self.log_text())

    def start_with_watchdog(self, *options):
        # WATCHDOG_PID must be the daemon's own: the shell gives it its.
        script = 'WATCHDOG_PID=$$ WATCHDOG_USEC=200000 exec "$@"'
        process = subprocess.Popen(["sh", "-c", script, "sh", *self.command(*options)],
                                   env={**os.environ, "NOTIFY_SOCKET": self.manager.name},
                                   stderr=subprocess.DEVNULL)
        self.addCleanup(self.end, process)
        self.manager.wait("^READY=1$")
        return process

    def expect_feeding(self):
        began = time.monotonic()
        self.manager.drain()        # of what was sent before
        for _ in range(5):
            self.manager.wait("^WATCHDOG=1$")
        self.assertGreater(time.monotonic() - began, 0.2)

    def test_the_watchdog_is_fed(self):
        process = self.start_with_watchdog("-m", "good")
        self.expect_feeding()
        self.assertEqual(self.stop(process), 0)

    def test_the_watchdog_is_fed_after_a_hand_over(self):
        process = self.start_with_watchdog("-m", "good")
        successor = self.start("-m", "good", "--take-over", env={"NOTIFY_SOCKET": ""}, wait=None)
        self.manager.wait("^STATUS=handed over")
        self.expect_feeding()
        self.assertEqual([self.stop(process), self.stop(successor)], [0, 0])

    def test_a_watchdog_of_another_process_is_not(self):
        self.start("-m", "good", env={"WATCHDOG_PID": "1", "WATCHDOG_USEC": "100000"})
        with self.assertRaises(AssertionError):
            self.manager.wait("^WATCHDOG=1$", 0.5)


class Reload(Case):
    def reload(self, process, text):
        self.write("rdmad.conf", text)
        process.send_signal(signal.SIGHUP)
        told = self.manager.wait("^RELOADING=1\nMONOTONIC_USEC=[0-9]+$")
        self.manager.wait("^READY=1$")
        self.status_line = self.manager.wait("^STATUS=")
        return told

    def start_with_file(self):
        return self.start("-c", self.write("rdmad.conf", GOOD))

    def test_a_good_file_takes_effect(self):
        process = self.start_with_file()
        self.reload(process, GOOD + 'log = { level = "debug"; };\n')
        self.reload(process, GOOD.replace("1", "2") + 'log = { level = "debug"; };\n')
        self.assertIn("good reload 2", self.log_text())
        self.assertIsNone(self.status()["config"]["error"])

    def test_a_bad_file_changes_nothing_and_is_shown(self):
        process = self.start_with_file()
        self.reload(process, "modules = {\n good = { valu = 5; }; };\n")
        self.assertRegex(self.status_line, "old configuration.*rdmad.conf:2: modules.good.valu")
        self.assertRegex(self.status()["config"]["error"], "rdmad.conf:2")
        self.assertEqual([m["name"] for m in self.status()["modules"]], ["good"])
        self.reload(process, GOOD)
        self.assertIsNone(self.status()["config"]["error"])
        self.assertEqual(self.stop(process), 0)

    def test_a_file_that_is_gone_changes_nothing(self):
        process = self.start_with_file()
        os.unlink(self.path("rdmad.conf"))
        process.send_signal(signal.SIGHUP)
        self.manager.wait("^STATUS=running with the old configuration: .*no such file")
        self.assertIsNone(process.poll())

    def test_modules_come_and_go(self):
        process = self.start_with_file()
        self.reload(process, "modules = { busy = { }; good = { }; };")
        self.assertEqual([m["name"] for m in self.status()["modules"]], ["good", "busy"])
        self.reload(process, GOOD)
        self.assertEqual([m["name"] for m in self.status()["modules"]], ["good"])

    def test_what_needs_a_restart_is_said(self):
        process = self.start_with_file()
        self.reload(process, GOOD + "http = { max_connections = 5; };")
        self.assertIn("new values take effect only after a restart: http", self.log_text())

    def test_what_needs_a_restart_is_said_while_it_does(self):
        """A reload compares with the values at the start, which are in effect."""
        limit = GOOD + "http = { max_connections = %d; };"
        process = self.start("-c", self.write("rdmad.conf", limit % 64))
        for said, value in (1, 65), (2, 65), (3, 66), (3, 64):
            self.reload(process, limit % value)
            self.assertEqual(self.log_text().count("only after a restart: http"), said)

    def test_many_reloads_leave_no_descriptor(self):
        """A scan may have had a file open at the first look: no more than then, once it is over."""
        process = self.start_with_file()

        def descriptors():
            return len(os.listdir(f"/proc/{process.pid}/fd"))

        self.reload(process, "modules = { busy = { }; good = { }; };")
        self.reload(process, GOOD)
        before = descriptors()
        for _ in range(5):
            self.reload(process, "modules = { busy = { }; good = { }; };")
            self.reload(process, GOOD)
            self.reload(process, "junk")
        end = time.monotonic() + PATIENCE
        while (found := descriptors()) > before and time.monotonic() < end:
            time.sleep(0.02)
        self.assertLessEqual(found, before)


class OnlyOne(Case):
    def test_a_second_one_is_refused_by_name(self):
        first = self.start("-m", "good")
        second = self.run_to_end("-m", "good", "--lock-wait", "0")
        self.assertEqual(second.returncode, 1)
        self.assertRegex(second.stderr, rf"held by another rdmad, process {first.pid}\b")

    def test_one_with_another_run_directory_does_not_share_the_state(self):
        first = self.start("-m", "good")
        second = self.run_to_end("-m", "good", "--run-dir", self.path("other"), "--lock-wait", "0")
        self.assertEqual(second.returncode, 1, second.stderr)
        self.assertRegex(second.stderr, rf"/state/.* held by another rdmad, process {first.pid}\b")
        third = self.start("-m", "good", "--run-dir", self.path("other"),
                           "--state-dir", self.path("other"))
        self.assertEqual(self.stop(third), 0)

    def test_a_second_one_gives_up_after_its_time(self):
        self.start("-m", "good")
        began = time.monotonic()
        second = self.run_to_end("-m", "good", "--lock-wait", "1")
        self.assertEqual(second.returncode, 1)
        self.assertGreaterEqual(time.monotonic() - began, 1)

    def test_a_successor_waits_and_takes_over(self):
        first = self.start("-m", "good")
        second = self.start("-m", "good", wait=f"^STATUS=waiting for rdmad pid {first.pid} to end")
        self.assertEqual(self.stop(first), 0)
        self.manager.wait("^READY=1$")
        with open(self.path("run/rdmad.lock")) as lock:
            self.assertRegex(lock.read(), f"^{second.pid}\n[0-9a-f]{{16}}\n$")
        self.assertEqual(self.status()["pid"], second.pid)
        self.assertEqual(self.stop(second), 0)

    def test_the_next_successor_takes_over_when_the_first_was_killed(self):
        first = self.start("-m", "good")
        second = self.start("-m", "good", wait="^STATUS=waiting")
        end = time.monotonic() + PATIENCE
        while unix_sockets(self.path("run/hand-over.sock")) < 2 and time.monotonic() < end:
            time.sleep(0.01)
        third = self.start("-m", "good", "--take-over", wait="^STATUS=waiting")
        second.kill()
        second.wait()
        self.manager.wait("^READY=1$")
        self.assertEqual(self.status()["pid"], third.pid)
        self.assertEqual([self.stop(first), self.stop(third)], [0, 0])

    def test_a_killed_one_leaves_no_lock(self):
        first = self.start("-m", "good")
        first.kill()
        first.wait()
        self.start("-m", "good", "--lock-wait", "0")

    def test_one_that_waits_can_be_stopped(self):
        self.start("-m", "good")
        second = self.start("-m", "good", wait="^STATUS=waiting")
        self.assertEqual(self.stop(second), 0)


class Damage(Case):
    def test_a_damaged_database_is_set_aside_and_said(self):
        os.mkdir(self.path("state"), 0o700)
        self.write("state/rdmad.db", "no database" * 1000)
        self.start("-m", "good")
        aside = self.status()["state_set_aside"]
        self.assertTrue(os.path.exists(aside), aside)
        self.assertIn(f"set aside as {aside}; allocations are rebuilt", self.log_text())


class Usage(Case):
    """[options, exit status, words on stderr]"""

    WRONG = [
        (["--bogus"], 2, "unknown option '--bogus'; see rdmad --help"),
        (["-m"], 2, "needs a value"),
        (["start"], 2, 'unexpected "start": a command comes before options'),
        (["-m", "No"], 2, "cannot be the name of a module"),
        (["-m", "absent"], 2, "module absent: .*absent.so: no such file"),
        (["-m", "wrong-abi"], 2, "made for module ABI 4711"),
        (["-m", "create-fails"], 1, "module create-fails: "),
        (["-m", "start-fails"], 1, "module start-fails: nobody is there"),
        (["-c", "/nowhere/x.conf", "-m", "good"], 2, "/nowhere/x.conf: no such file"),
        (["-m", "good", "--sysroot", "/nowhere"], 1, "/nowhere"),
        (["-m", "good", "--run-dir", "/dev/null/x"], 1, "/dev/null"),
    ]

    def test_what_is_wrong_is_one_line_and_a_status(self):
        for options, status, words in self.WRONG:
            with self.subTest(options):
                result = self.run_to_end(*options)
                lines = [l for l in result.stderr.splitlines() if l.startswith("rdmad: ")]
                self.assertEqual(result.returncode, status, result.stderr)
                self.assertEqual(len(lines), 1, result.stderr)
                self.assertRegex(lines[0], words)

    def test_help_and_version(self):
        self.assertRegex(self.run_to_end("--version").stdout, r"^rdmad [0-9]+\.[0-9]+\.[0-9]+$")
        text = self.run_to_end("-h")
        self.assertEqual(text.returncode, 0)
        self.assertRegex(text.stdout, "(?s)^Usage: rdmad .*--lock-wait.*status")

    def test_output_that_cannot_be_written_is_a_failure(self):
        config = self.write("rdmad.conf", GOOD)
        for option in "--version", "--help", "--check", "--print-config":
            with self.subTest(option), open("/dev/full", "w") as full:
                result = subprocess.run(self.command("-c", config, option), stdout=full, stderr=subprocess.PIPE,
                                        text=True, timeout=PATIENCE)
                self.assertEqual((result.returncode, result.stderr),
                                 (1, "rdmad: cannot write: No space left on device\n"))

    def test_check_says_what_is_good(self):
        result = self.run_to_end("--check", "-c", self.write("rdmad.conf", GOOD))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout,
                         f"configuration OK ({self.path('rdmad.conf')}; modules: good)\n")
        self.assertEqual(sorted(os.listdir(self.dir)), ["notify", "rdmad.conf"])

    def test_check_refuses_what_is_bad(self):
        for text, words in [("modules = {\n good = { valu = 1; }; };", "rdmad.conf:2: .*valu"),
                            ("modules = { absent = { }; };", "absent.so"),
                            ("modules = { good = { } ", "rdmad.conf:1"),
                            ("", "no module to run")]:
            with self.subTest(text):
                result = self.run_to_end("--check", "-c", self.write("rdmad.conf", text))
                self.assertEqual(result.returncode, 2, result.stdout)
                self.assertRegex(result.stderr, words)

    def test_the_printed_configuration_is_one(self):
        self.write("rdmad.conf", GOOD + 'include = "conf.d";')
        os.mkdir(self.path("conf.d"))
        self.write("conf.d/10.conf", 'modules = { good = { value = "2"; }; };')
        printed = self.run_to_end("--print-config", "-c", self.path("rdmad.conf"))
        self.assertEqual(printed.returncode, 0, printed.stderr)
        self.assertIn(f"run_dir {self.path('run')}", printed.stdout)
        self.assertRegex(printed.stdout, 'value = "2"')
        again = self.run_to_end("--check", "-c", self.write("again.conf", printed.stdout))
        self.assertEqual(again.returncode, 0, again.stderr)

    def test_a_module_directory_that_others_may_write_to_is_refused(self):
        os.mkdir(self.path("mods"))
        with open(os.path.join(MODULES, "good.so"), "rb") as good:
            with open(self.path("mods/good.so"), "wb") as copy:
                copy.write(good.read())
        os.chmod(self.path("mods"), 0o777)
        result = self.run_to_end("--check", "-m", "good", "--module-dir", self.path("mods"))
        self.assertEqual(result.returncode, 2)
        self.assertIn("others may write to this directory", result.stderr)
        os.chmod(self.path("mods"), 0o755)
        result = self.run_to_end("--check", "-m", "good", "--module-dir", self.path("mods"))
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_a_state_directory_of_others_is_refused(self):
        os.mkdir(self.path("state"))
        os.chmod(self.path("state"), 0o777)
        result = self.run_to_end("-m", "good")
        self.assertEqual(result.returncode, 1)
        self.assertIn("may be written to by others", result.stderr)


if __name__ == "__main__":
    tap.main(sys.argv[3:])
