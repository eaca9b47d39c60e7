# SPDX-License-Identifier: Apache-2.0
"""The driver's side of inject.c: the page that it shares with the process."""

import errno
import mmap
import os
import re
import struct
import subprocess
from typing import NamedTuple

MAX_FUNCTIONS, NAME, STACK = 64, 24, 2048
# armed, pid, end, error, which, unused; chosen, first, last, changes, calls, struck
HEAD = struct.Struct("=6I6Q")
COUNTS = struct.Struct(f"={MAX_FUNCTIONS}Q")
NAMES_AT = HEAD.size + COUNTS.size
STACK_AT = NAMES_AT + MAX_FUNCTIONS * NAME
SIZE = STACK_AT + STACK
FOREVER = (1 << 64) - 1
CHANGES = "changes"                 # every function that changes a file, a socket or the kernel
KEEPS = "keeps"                     # the same without close(), which nothing that lasts depends on
ALL = "all"                         # every function
KILL, CUT = ENDS = "kill", "cut"    # of the process; and of the power, with what is not synced


class Point(NamedTuple):
    """"allocate:fsync:2:EIO": the second fsync() of an Allocate fails; "2+" it and all after it;
    "stop:changes:7:kill": killed before the seventh call that changes something."""

    operation: str
    function: str
    first: int
    lasting: bool
    what: str                       # one of ENDS, or the name of an errno

    def __str__(self):
        plus = "+" if self.lasting else ""
        return f"{self.operation}:{self.function}:{self.first}{plus}:{self.what}"

    @classmethod
    def parse(cls, text):
        match = re.fullmatch(r"([\w-]+):(\w+):(\d+)(\+?):(\w+)", text)
        if not match or not (match[5] in ENDS or match[5] in errno.errorcode.values()):
            raise ValueError(f"{text!r} is no point such as allocate:fsync:2:EIO")
        return cls(match[1], match[2], int(match[3]), bool(match[4]), match[5])


def sanitizer_of(program):
    """The address sanitizer's library that the program is linked with, or None."""
    told = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    match = re.search(r"=> (\S*/libasan\.so\S*)", told)
    return match[1] if match else None


class Injector:
    """One process at a time: new_process() before each.  `executor`: not the daemon, but its executor."""

    def __init__(self, library, page, program, executor=False):
        sanitizer = sanitizer_of(program)
        self.environment = dict(os.environ, LD_PRELOAD=library, RDMAD_FAULTS=page)
        if sanitizer:
            # The sanitizer has to be the first; its own calls are seen behind it.
            self.environment["LD_PRELOAD"] = f"{sanitizer} {library}"
        with open(page, "w+b") as file:
            file.truncate(SIZE)
            file.seek(4 * 4)
            file.write(struct.pack("=I", executor))
            file.flush()
            self.page = mmap.mmap(file.fileno(), SIZE)
        subprocess.run(["/bin/true"], env=self.environment, check=True)
        self.change_bits = self._head()[9]
        names = self.page[NAMES_AT:STACK_AT]
        self.names = [names[i * NAME:(i + 1) * NAME].split(b"\0")[0].decode()
                      for i in range(MAX_FUNCTIONS)]

    def close(self):
        self.page.close()

    def new_process(self):
        self.page[4:8] = bytes(4)

    def _head(self):
        return HEAD.unpack_from(self.page)

    def arm(self, point=None):
        """Counts from now on, in the process that runs or the one that comes; strikes at the point."""
        self.disarm()
        self.page[HEAD.size:NAMES_AT] = bytes(COUNTS.size)
        self.page[STACK_AT:SIZE] = bytes(STACK)
        pid = self._head()[1]
        end = ENDS.index(point.what) + 1 if point and point.what in ENDS else 0
        error = getattr(errno, point.what) if point and not end else 0
        first = point.first if point else FOREVER
        last = FOREVER if point and point.lasting else first
        HEAD.pack_into(self.page, 0, 0, pid, end, error, self._head()[4], 0, self._bits(point), first, last,
                       self.change_bits, 0, 0)
        self.page[0:4] = struct.pack("=I", 1)

    def _bits(self, point):
        if point is None:
            return 0
        if point.function == CHANGES:
            return self.change_bits
        if point.function == KEEPS:
            return self.change_bits & ~(1 << self.names.index("close"))
        if point.function == ALL:
            return FOREVER
        return 1 << self.names.index(point.function)

    def disarm(self):
        self.page[0:4] = bytes(4)

    def struck(self):
        """How many calls have failed since it was armed."""
        return self._head()[11]

    def counts(self):
        """{function: calls since the page was armed}"""
        counts = COUNTS.unpack_from(self.page, HEAD.size)
        return {name: count for name, count in zip(self.names, counts) if count}

    def changes(self):
        """How many calls changed something."""
        counts = COUNTS.unpack_from(self.page, HEAD.size)
        return sum(count for i, count in enumerate(counts) if self.change_bits >> i & 1)

    def calls(self, function=ALL):
        """How many there were of a function, or of CHANGES, KEEPS or ALL."""
        bits = self._bits(Point("", function, 0, False, ""))
        return sum(n for i, n in enumerate(COUNTS.unpack_from(self.page, HEAD.size)) if bits >> i & 1)

    def stack(self):
        """Functions from the one that made the first call that was struck, outwards."""
        text = self.page[STACK_AT:SIZE].split(b"\0")[0].decode(errors="replace")
        frames = []
        for frame in text.split():
            where, _, offset = frame.rpartition("+")
            if not os.path.exists(where) or not offset:
                continue
            done = subprocess.run(["addr2line", "-fse", where, offset], capture_output=True, text=True)
            function, line = (done.stdout.splitlines() + ["??", "??"])[:2]
            frames.append(f"{function} ({line.split(' ')[0]})" if function != "??"
                          else os.path.basename(where))
        return frames
