#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""rdmad on machines that are composed at random (tests/machines/zoo):
test-zoo.py RDMAD MODULE-DIR RDMAD-NCCL-ENV [--seed N] [--first M] [--machines N | --seconds N] [--jobs N]
            [--known FILE] [--shrink]

Without options: with sanitizers 300, else 60 machines of a seed that the commit chooses; an hour of new ones with
RDMAD_TEST_SLOW=1.
--shrink: the smallest machine that breaks the same rule, as files for tests/machines/found.
--known FILE: regular expressions of problems that are counted and are no failure.
"""

import argparse
import concurrent.futures
import importlib.machinery
import importlib.util
import itertools
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
import time
import traceback

HERE = os.path.dirname(os.path.realpath(__file__))
MACHINES = os.path.join(HERE, "..", "machines")
sys.path.insert(0, os.path.join(HERE, ".."))
sys.dont_write_bytecode = True

from commit_seed import seed_of_commit  # noqa: E402

SLOW = bool(os.environ.get("RDMAD_TEST_SLOW"))
COMMANDS_EVERY = 50     # the commands of these machines are started as well
PRINTED = 3             # machines that are printed and expanded

LOADER = importlib.machinery.SourceFileLoader("zoo", os.path.join(MACHINES, "zoo"))
ZOO = importlib.util.module_from_spec(importlib.util.spec_from_loader("zoo", LOADER))
LOADER.exec_module(ZOO)


def visit(programs, entries, config, changes, number, commands):
    """[(kind, text)]"""
    from machine_visit import Visit, scratch
    with scratch() as directory:
        root = os.path.join(directory, "m")
        os.mkdir(root)
        try:
            ZOO.write_tree(entries, root)
            return [(problem.kind, problem.text) for problem in
                    Visit(programs, root, config, changes, commands, number).problems]
        except Exception as error:      # of an answer that the visit does not understand
            return [(f"the visit fails: {type(error).__name__}", traceback.format_exc())]


def visit_number(programs, seed, number):
    machine = ZOO.Machine(seed, number)
    return number, visit(programs, machine.entries, machine.config, machine.changes, number,
                         number % COMMANDS_EVERY == 0)


# ---- the smallest ----

def smaller(entries, still):
    """Without what is not needed: directories first, from the top, then each entry."""
    depth = 1
    while depth <= max(path.count("/") for path in entries) + 1:
        prefixes = dict.fromkeys("/".join(path.split("/")[:depth]) for path in entries)
        for prefix in prefixes:
            left = {path: what for path, what in entries.items() if path != prefix and not path.startswith(prefix + "/")}
            if len(left) < len(entries) and still(left):
                entries = left
        depth += 1
    return entries


def smaller_config(config, still):
    """Without resources and options that are not needed.  Those that keep rdmad off this host stay."""
    for pattern in (r"\{ name = .*? \},?\n?(?= |\{)", r"\w+ = (?:\"[^\"]*\"|\w+|\([^()]*\));"):
        for part in re.findall(pattern, config):
            left = config.replace(part, "", 1)
            if "{DIR}" in part or part.split(" ")[0] in ("device_info_dir", "listen", "load_with", "manage", "server", "node"):
                continue
            if left != config and still(left):
                config = left
    return re.sub(r"\n\s*\n|  +", lambda match: "\n" if "\n" in match[0] else " ", config)


def shrink(programs, seed, number):
    machine = ZOO.Machine(seed, number)
    commands = number % COMMANDS_EVERY == 0
    problems = visit(programs, machine.entries, machine.config, machine.changes, number, commands)
    if not problems:
        sys.exit("nothing is wrong with it")
    kind = problems[0][0]
    print(f"zoo: shrinks by \"{kind}\"", file=sys.stderr, flush=True)

    def breaks(entries, config, changes):
        return any(found == kind for found, _ in visit(programs, entries, config, changes, number, commands))

    changes = machine.changes
    for change in machine.changes:
        left = [other for other in changes if other != change]
        changes = left if breaks(machine.entries, machine.config, left) else changes
    entries = smaller(machine.entries, lambda left: breaks(left, machine.config, changes))
    config = smaller_config(machine.config, lambda left: breaks(entries, left, changes))
    print(f"# {kind}\n#\n# Origin: composed at random (zoo {seed} {number}), then shrunk\n")
    sys.stdout.flush()
    ZOO.print_machine(entries)
    print()
    for path, value in changes:
        print(f"# change: {path}" + (f" = {value}" if value is not None else ""))
    print("\n".join("# config: " + line.strip() for line in config.splitlines() if line.strip()))


# ---- many ----

def numbers(options):
    end = time.monotonic() + options.seconds if options.seconds else None
    for number in itertools.count(options.first):
        if time.monotonic() >= end if end else number >= options.first + options.machines:
            return
        yield number


def is_known(kind, known):
    return any(pattern.search(kind) for pattern in known)


def run(programs, options):
    """Machines in turn, some at a time, so that one starts while others wait."""
    known = [re.compile(line) for line in open(options.known).read().splitlines() if line] if options.known else []
    failed, done, counts, began = [], 0, {}, time.monotonic()
    pool = concurrent.futures.ProcessPoolExecutor(options.jobs, multiprocessing.get_context("fork"))
    todo, waiting = numbers(options), set()
    while True:
        waiting |= {pool.submit(visit_number, programs, options.seed, number)
                    for number in itertools.islice(todo, 2 * options.jobs - len(waiting))}
        if not waiting:
            break
        ended, waiting = concurrent.futures.wait(waiting, return_when=concurrent.futures.FIRST_COMPLETED)
        for future in ended:
            number, problems = future.result()
            done += 1
            for kind, text in problems:
                counts.setdefault(kind, []).append(number)
                if not is_known(kind, known) and len(counts[kind]) <= 3:
                    print(f"# zoo: seed {options.seed} machine {number}: {kind}: {text}".replace("\n", "\n#   "), flush=True)
            if any(not is_known(kind, known) for kind, _ in problems):
                failed.append(number)
    pool.shutdown()
    for kind, which in sorted(counts.items(), key=lambda item: -len(item[1])):
        print(f"# {len(which)} times{' (known)' if is_known(kind, known) else ''}: {kind} (machine {which[0]})")
    print(f"# zoo: seed {options.seed}: {done} machines in {time.monotonic() - began:.0f} s, {len(failed)} with problems")
    return failed


def printed_differ(seed):
    """How the trees that `expand` makes of printed machines differ; "": they do not."""
    found = ""
    for number in range(PRINTED):
        with tempfile.TemporaryDirectory(prefix="rdmad-zoo-") as directory:
            own, printed, file = (os.path.join(directory, name) for name in ("own", "printed", "m.machine"))
            os.mkdir(own)
            ZOO.write_tree(ZOO.Machine(seed, number).entries, own)
            with open(file, "wb") as out:
                subprocess.run([os.path.join(MACHINES, "zoo"), str(seed), str(number)], stdout=out, check=True)
            subprocess.run([os.path.join(MACHINES, "expand"), file, printed], check=True)
            done = subprocess.run([os.path.join(MACHINES, "compare"), own, printed], capture_output=True, text=True)
            found += done.stdout
    return found[:1000].replace("\n", "\n# ")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs", nargs=3)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--machines", type=int)
    parser.add_argument("--seconds", type=int, default=3600 if SLOW else None)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--known")
    parser.add_argument("--shrink", action="store_true")
    options = parser.parse_args()
    if options.seed is None:
        options.seed = (None if SLOW else seed_of_commit()) or int(time.time())
    if options.machines is None:
        options.machines = 300 if b"__asan_init" in open(options.programs[0], "rb").read() else 60
    if options.shrink:
        return shrink(options.programs, options.seed, options.first)
    failed = run(options.programs, options)
    other = printed_differ(options.seed)
    print(f"{'not ok' if failed else 'ok'} 1 - machines that are composed at random")
    if failed:
        print(f"# repeat one: {' '.join(sys.argv[:4])} --seed {options.seed} --first {failed[0]} --machines 1")
    print(f"{'not ok' if other else 'ok'} 2 - a printed machine is the same tree\n# {other}\n1..2")
    return 1 if failed or other else 0


if __name__ == "__main__":
    sys.exit(main())
