#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""rdmad in simulated worlds: test-sim.py SIM [TEST...]"""

import glob
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import tap  # noqa: E402
from commit_seed import seed_of_commit  # noqa: E402

SIM = sys.argv.pop(1)
SLOW = os.environ.get("RDMAD_TEST_SLOW") == "1"
SEEDS = ("--seconds", 7200) if SLOW else ("--steps", 200000)   # half a minute of CPU time
SEED_JOBS = 2           # on each machine, because the processes divide the seeds
PLANT_SECONDS = 600     # at most, for each; the machine may be busy
REPEATED = 7
JOBS = os.cpu_count() or 1


def run(*arguments, before=()):
    return subprocess.run([*before, SIM, *map(str, arguments)], capture_output=True, text=True, check=False)


class Sim(unittest.TestCase):
    def assert_holds(self, done):
        found = "\n".join(line for line in done.stdout.splitlines() if line.startswith("# "))
        self.assertEqual(done.returncode, 0, found[-2000:] + done.stderr[-2000:])

    def test_what_was_found_once_holds(self):
        traces = sorted(Path(HERE, "regress").glob("*.trace"))
        self.assertTrue(traces)
        for trace in traces:
            with self.subTest(trace.name):
                self.assert_holds(run("--replay", trace))

    def test_every_short_scenario_survives_an_end_at_each_of_its_effects(self):
        self.assert_holds(run("--exhaustive", "--jobs", JOBS))

    def test_new_seeds_hold(self):
        seed = None if SLOW else seed_of_commit()
        done = run(*SEEDS, *(() if seed is None else ("--seed", seed)), "--jobs", JOBS if SLOW else SEED_JOBS)
        print("\n".join("# " + line for line in done.stdout.splitlines()[-40:]), flush=True)
        self.assert_holds(done)

    def test_repeated_runs_leave_as_many_blocks(self):
        self.assert_holds(run("--seed", 690675000, "--steps", 5000, "--twice", "--all"))

    def test_it_leaves_no_file(self):
        with subprocess.Popen([SIM, "--seed", "1"], stdout=subprocess.DEVNULL) as process:
            self.assertEqual(process.wait(), 0)
        self.assertEqual(glob.glob(f"/dev/shm/rdmad-sim-{process.pid}-*"), [])

    def test_a_seed_is_the_same_run_wherever_memory_is(self):
        hashes = {re.search(r"hash (\w+)", run("--seed", REPEATED, "--hash", before=before).stdout)[1]
                  for before in ((), ("setarch", "-R"))}
        self.assertEqual(len(hashes), 1)

    def test_a_printed_trace_is_the_same_run(self):
        # Of a long run, which most of the runs that fail are not.
        for seed in range(400, 500):
            done = run("--plant", "no-release", "--seed", seed, "--hash")
            steps = [line for line in done.stdout.splitlines() if re.match(r"[a-z]+( \w+@\d+=\d+)*$", line)]
            if len(steps) > 100:
                break
        self.assertGreater(len(steps), 100)
        with tempfile.NamedTemporaryFile("w") as trace:
            print(*steps, sep="\n", file=trace, flush=True)
            again = run("--plant", "no-release", "--replay", trace.name)
        self.assertEqual(again.returncode, 1, again.stderr[-2000:])
        self.assertIn(re.search(r"hash \w+", done.stdout)[0], again.stdout)

    def test_planted_faults_are_found(self):
        self.assert_holds(run("--plants", "--seed", 5000, "--seconds", PLANT_SECONDS, "--jobs", JOBS))

    def test_a_failing_run_is_made_small(self):
        # Of the first seed that holds without the fault and meets it; each costs a second.
        for seed in range(400, 420):
            if run("--seed", seed, "--steps", 1).returncode:
                continue
            done = run("--plant", "two-holders", "--seed", seed, "--shrink")
            if done.returncode:
                break
        steps = [line for line in done.stdout.splitlines() if line and line[0] != "#"]
        self.assertEqual(done.returncode, 1, done.stderr[-2000:])
        self.assertIn("# an exclusive device is given twice", done.stdout)
        self.assertLessEqual(len(steps), 15, done.stdout)


if __name__ == "__main__":
    tap.main(sys.argv[1:])
