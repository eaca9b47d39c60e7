#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Sweeps of kill -9, of a cut of power and of errno over what a daemon does: each call in turn is the one.

usage: test-faults.py RDMAD MODULE-DIR INJECT [KillTest | PowerTest | ErrnoTest | ErrnoStartTest | SyncTest | POINT...]

A point is OPERATION:FUNCTION:NUMBER:WHAT (injector.py): allocate:fsync:2:EIO.  RDMAD_TEST_SLOW=1 tries
many points in the place of some of each kind.
"""

import collections
import os
import shutil
import sys

sys.dont_write_bytecode = True

from node import HELD, INJECT, Node  # noqa: E402
from injector import CHANGES, CUT, KILL, Point  # noqa: E402
from operations import OPERATIONS  # noqa: E402
from plugin_case import HCA, MODULES, RDMAD, SLOW, tap  # noqa: E402

POINTS = [Point.parse(argument) for argument in sys.argv[4:] if ":" in argument]
ERRNOS = ("EIO", "ENOMEM", "EMFILE", "ENOSPC", "EINTR", "EAGAIN", "EPERM")
LASTING = ("EIO", "ENOMEM", "EMFILE", "ENOSPC", "EPERM")    # the others are over by themselves
MANY_CHANGES = 400      # points of one operation; of those that have more, some
MANY_CALLS = 5          # of one function in one operation
ENOUGH_FAILURES = 4     # of one call; the next would say the same


def spread(count, limit):
    """Up to `limit` numbers from 1 to `count`, the first and the last among them."""
    if count <= limit:
        return list(range(1, count + 1))
    if limit == 1:
        return [(count + 1) // 2]
    return sorted({1 + round(i * (count - 1) / (limit - 1)) for i in range(limit)})


class Sweep(Node):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.tried = 0
        cls.addClassCleanup(lambda: print(f"# {cls.__name__}: {cls.tried} points tried", flush=True))

    def count_calls(self, operation):
        """Calls of each function while nothing fails, and how many of all change something."""
        operation.prepare(self)
        self.injector.arm()
        operation.do(self)
        self.injector.disarm()
        if operation.ends:
            self.daemon.wait()
            self.start_daemon()
        self.judge_well()
        return self.injector.counts(), self.injector.changes()

    def sweep(self, operation, points):
        tried, failures = 0, collections.Counter()
        for point in points:
            call = point.function, point.first
            if failures[call] == ENOUGH_FAILURES:
                continue
            problem = self.problem_of(operation, point)
            tried += problem is not None
            if not problem:
                continue
            failures[call] += 1
            with self.subTest(point=str(point)):
                self.fail(problem)
            self.begin()
        print(f"# {operation.name}: {tried} points tried, {failures.total()} failed", flush=True)
        type(self).tried += tried

    def problem_of(self, operation, point):
        """Empty: all is well; None: the point was not reached."""
        try:
            return "" if self.try_point(operation, point) else None
        except Exception as error:  # whatever it is, this point has brought it up
            return self.describe(point, error)

    def describe(self, point, error):
        """For somebody who has only this text: the symptom, the caller, how to see it again."""
        again = [sys.executable, *map(os.path.abspath, (sys.argv[0], RDMAD, MODULES, INJECT)), str(point)]
        return "\n".join([f"{type(error).__name__}: {error}",
                          "called by: " + " < ".join(self.injector.stack()[:8]),
                          f"kubelet, which is to see {self.count}: {self.kubelet.resources()}",
                          "the end of the log:", *self.log().splitlines()[-12:],
                          "again: " + " ".join(again)])


class KillTest(Sweep):
    """Before each call that changes something."""

    END, SHORT = KILL, 8

    def sweep_operation(self, operation):
        _, changes = self.count_calls(operation)
        self.sweep(operation, [Point(operation.name, CHANGES, first, False, self.END)
                               for first in spread(changes, MANY_CHANGES if SLOW else self.SHORT)])


class PowerTest(KillTest):
    """The same, and the disk holds only what was synced."""

    END, SHORT = CUT, 4


class ErrnoSweep(Sweep):
    """Each call of each function, once and from the first one on for as long as the operation lasts."""

    def points(self, operation, function, count):
        for first in spread(count, MANY_CALLS if SLOW else 1):
            for what in ERRNOS:
                yield Point(operation.name, function, first, False, what)
        for what in LASTING:
            yield Point(operation.name, function, 1, True, what)

    def sweep_operation(self, operation):
        counts, _ = self.count_calls(operation)
        points = []
        for number, (function, count) in enumerate(counts.items()):
            found = list(self.points(operation, function, count))
            points += found if SLOW else [found[number % len(found)]]
        self.sweep(operation, points)


class ErrnoTest(ErrnoSweep):
    """While the daemon runs, and at its end."""


class ErrnoStartTest(ErrnoSweep):
    """While it starts: half of all points."""


class SyncTest(Node):
    """How often a start waits for the disk, with all its directories on it."""

    MORE, ALLOWANCE = 40, 4     # allocations; syncs of a database that has grown

    def configure(self):
        super().configure()
        path = os.path.join(self.dir, "rdmad.conf")
        with open(path) as file:
            text = file.read()
        with open(path, "w") as file:
            file.write(text.replace("forget_delay", f'device_info_dir = "{self.dir}/info"; forget_delay'))

    def spawn_daemon(self, config=None, *options):
        return super().spawn_daemon(config, "--module=nccl", *options)

    def directories_are_there(self):
        root = os.path.join(self.dir, "run", "allocations")
        return all(os.path.exists(os.path.join(root, allocation, "plan.json")) for allocation in self.allocations())

    def syncs_of_start(self, *lost):
        self.end_daemon()
        for name in lost:
            shutil.rmtree(os.path.join(self.dir, name))
        self.injector.arm()
        self.start_daemon()
        self.wait_for(self.is_served, "served kubelet")
        self.wait_for(self.directories_are_there, "directories of all allocations")
        self.injector.disarm()
        return self.injector.calls("fsync")      # and fdatasync()

    def test_syncs_of_a_start_do_not_increase_with_the_allocations(self):
        self.count = self.MORE + 16
        self.configure()
        cases = (), ("run",), ("run", "info")
        few = [self.syncs_of_start(*lost) for lost in cases]
        for number in range(self.MORE):
            self.kubelet.allocate(f"ml/more-{number}", HCA, 1)
        many = [self.syncs_of_start(*lost) for lost in cases]
        print(f"# syncs of a start: {few} with {len(HELD)} allocations, {many} with {len(HELD) + self.MORE}", flush=True)
        for lost, before, after in zip(cases, few, many):
            self.assertLessEqual(after, before + self.ALLOWANCE, lost)


class PointTest(Sweep):
    """Those of the command line."""

    def test_points(self):
        operations = {operation.name: operation for operation in OPERATIONS}
        for point in POINTS:
            self.sweep(operations[point.operation], [point])


def sweep_test(operation):
    return lambda self: self.sweep_operation(operation)


for one in OPERATIONS:
    for case in (KillTest, PowerTest, ErrnoStartTest if one.begins else ErrnoTest):
        setattr(case, "test_" + one.name.replace("-", "_"), sweep_test(one))


if __name__ == "__main__":
    chosen = [argument for argument in sys.argv[4:] if ":" not in argument]
    if POINTS:
        chosen.append("PointTest")
    tap.main(chosen or ["KillTest", "PowerTest", "ErrnoTest", "ErrnoStartTest"])
