#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Completion in the real shells, and --watch on a terminal: test-completions.py RDMAD EXPAND MODULE-DIR"""

import os
import pty
import re
import select
import shutil
import signal
import sys
import tempfile
import time
import unittest

from machine_daemon import PATIENCE, RDMAD, Daemon

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
import tap  # noqa: E402

DIRECTORY = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../contrib/completions")
RAILS = [f"mlx5_{i}" for i in range(11)]
FORMATS = ["table", "wide", "json", "yaml"]
# What is typed before the tabulator, and words that the shell then shows.
CASES = (("rdmad devices ", RAILS), ("rdmad explain mlx5_", RAILS), ("rdmad events --device ", RAILS),
         ("rdmad status -o ", FORMATS), ("rdmad doctor --b", ["--bundle"]),
         ("rdmad allocations --r", ["--refresh"]), ("rdmad ", ["status", "doctor", "import-config", "nccl-env", "smc"]))


ESCAPES = re.compile("\x1b\\[[0-9;?]*[A-Za-z]")


class Terminal:
    """A program on a terminal of its own."""

    def __init__(self, *command, **environment):
        self.text = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvpe(command[0], command, {**os.environ, "TERM": "xterm", "COLUMNS": "200", "LINES": "60",
                                             **environment})

    def until(self, true, what):
        end = time.monotonic() + PATIENCE
        while not true(self.text):
            if time.monotonic() > end:
                raise AssertionError(f"no {what} in {self.text!r}")
            if select.select([self.fd], [], [], 0.2)[0]:
                self.text += os.read(self.fd, 65536).decode(errors="replace")

    def type(self, text):
        self.text = ""
        os.write(self.fd, text.encode())

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


class OnEightRails(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon("gpu-8rail")
        cls.addClassCleanup(cls.daemon.close)

    def terminal(self, *command, **environment):
        terminal = Terminal(*command, RDMAD_SOCKET=self.daemon.socket, **environment)
        self.addCleanup(terminal.close)
        return terminal


class Shells(OnEightRails):
    def setUp(self):
        home = tempfile.TemporaryDirectory(prefix="rdmad-shell-")
        self.addCleanup(home.cleanup)
        self.home = home.name
        os.symlink(os.path.abspath(RDMAD), os.path.join(self.home, "rdmad"))

    def shell(self, *command):
        if not shutil.which(command[0]):
            self.skipTest(f"{command[0]} is not installed")
        return self.terminal(*command, HOME=self.home, ZDOTDIR=self.home, XDG_CONFIG_HOME=self.home,
                             XDG_DATA_HOME=self.home, PATH=self.home + ":" + os.environ["PATH"], PS1="ready> ")

    def has(self, text, words):
        return all(re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", ESCAPES.sub(" ", text)) for word in words)

    def completes(self, shell, tabs):
        for line, words in CASES:
            with self.subTest(line):
                # The first one completes what is common, the others list.
                shell.type(line + tabs)
                shell.until(lambda text, words=words: self.has(text, words), f"list of {words} after {line!r}")
                shell.type("\x15")      # the line is empty again

    def test_bash(self):
        bash = self.shell("bash", "--norc", "-i")
        bash.type(f". {DIRECTORY}/rdmad.bash; bind 'set completion-query-items 0'; bind 'set page-completions off'; "
                  "bind 'set bell-style none'; echo in''itialized\n")
        bash.until(lambda text: "initialized" in text, "prompt")
        self.completes(bash, "\t\t\t")

    def test_zsh(self):
        zsh = self.shell("zsh", "-f", "-i")
        zsh.type(f"fpath=({DIRECTORY} $fpath); autoload -Uz compinit; compinit -u -d {self.home}/dump; "
                 "LISTMAX=1000; echo in''itialized\n")
        zsh.until(lambda text: "initialized" in text, "prompt")
        self.completes(zsh, "\t\t")

    def test_fish(self):
        """By the shell's own question; its pager answers a terminal of its kind alone."""
        if not shutil.which("fish"):
            self.skipTest("fish is not installed")
        for line, words in CASES:
            with self.subTest(line):
                fish = self.shell("fish", "--no-config", "-c", f"source {DIRECTORY}/rdmad.fish; complete -C '{line}'; "
                                  "echo the-end; sleep 1000")
                fish.until(lambda text: "the-end" in text, "end")
                self.assertLessEqual(set(words), set(fish.text.replace("\r", "").split()))


class Watch(OnEightRails):
    def test_it_follows_the_machine_and_outlives_the_daemon(self):
        watch = self.terminal(RDMAD, "devices", "--watch")
        watch.until(lambda text: "mlx5_10" in text, "table")
        self.assertNotIn("down", watch.text)
        state = os.path.join(self.daemon.root, "sys/class/infiniband/mlx5_2/ports/1/state")
        with open(state, "w", encoding="utf-8") as file:
            file.write("1: DOWN\n")
        self.daemon.stop()
        watch.until(lambda text: "rdmad is not running" in text, "error")
        self.daemon.start()
        watch.text = ""
        watch.until(lambda text: re.search("mlx5_2 .* down ", ESCAPES.sub("", text)), "change")
        # Each table is on an empty screen.
        watch.until(lambda text: text.count("NAME") > 2, "next tables")
        self.assertEqual(max(screen.count("NAME") for screen in watch.text.split("\x1b[H\x1b[2J")), 1)

    def test_a_wrong_use_is_not_repeated(self):
        watch = self.terminal(RDMAD, "devices", "--watch", "--bogus")
        pid, status = os.waitpid(watch.pid, 0)
        self.assertEqual((pid, os.waitstatus_to_exitcode(status)), (watch.pid, 2))
        watch.pid = os.fork()       # for close()
        if watch.pid == 0:
            signal.pause()

    def test_a_command_of_a_module_and_json_are_repeated_too(self):
        for command in (("status", "--json"), ("events",), ("topology",), ("commands",)):
            with self.subTest(command):
                watch = self.terminal(RDMAD, *command, "-w")
                watch.until(lambda text: text.count("\x1b[H\x1b[2J") > 1, "second table")


if __name__ == "__main__":
    tap.main()
