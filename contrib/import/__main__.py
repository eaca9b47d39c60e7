# SPDX-License-Identifier: Apache-2.0
"""rdmad import-config: converts the configuration of another device plugin to rdmad.conf

usage: python3 contrib/import [--key KEY] [--resource-prefix PREFIX] FILE

    documents.py -> wrappers.py -> shared.py, sriov.py, legacy.py, erdma.py, cello.py, charts.py -> conf.py

documents.py reads JSON and YAML, wrappers.py finds configurations in them, a file for each plugin adds its resources and
notes (fields.py, resources.py), and conf.py writes them.
"""

import argparse
import os
import signal
import sys

try:
    import yaml  # noqa: F401
except ImportError:
    sys.exit("rdmad: import-config needs PyYAML, which is not installed: Debian's package python3-yaml")

import conf
from documents import SIZE_MAX, Refused
from resources import Import, Options, escape
from wrappers import Finder, import_source


def read_file(argument: str, name: str) -> bytes:
    """One byte more than the limit of a file that is too large."""
    doing = "open"
    try:
        descriptor = 0 if argument == "-" else os.open(argument, os.O_RDONLY)
        doing = "read"
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(SIZE_MAX + 1)
    except OSError as error:
        raise Refused(f"cannot {doing} {name}: {error.strerror}") from error


def convert(text: bytes, options: Options, notes: list[str]) -> str:
    """The text of rdmad.conf.  `notes` gets a line for each setting that is lost or changed, also after an error."""
    finder = Finder(options)
    imported = Import(options, notes)
    try:
        finder.find(text)
    finally:
        notes += finder.notes()
    for source in finder.sources:
        import_source(imported, source)
    if not imported.resources:
        raise Refused(f"{options.file}: no resource in it that rdmad could offer")
    written = conf.text_of(imported)
    if len(written.encode("utf-8", "replace")) > SIZE_MAX:
        raise Refused(f"{options.file}: more than one rdmad.conf may hold, 1 MiB")
    return written


def say(text: str) -> None:
    """The text has names and values of the file."""
    sys.stderr.write(f"rdmad: {escape(text)}\n")


def write(text: str) -> int:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
        return 0
    except BrokenPipeError:
        pass  # a reader that ends early, as head does
    except OSError as error:
        say(f"cannot write: {error.strerror}")
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush of the interpreter's end
    return 1


def main() -> int:
    parser = argparse.ArgumentParser(prog="rdmad import-config", allow_abbrev=False)
    parser.add_argument("-k", "--key", help="this key of the ConfigMap's data")
    parser.add_argument("-p", "--resource-prefix", help="that option of the SR-IOV plugin (intel.com)")
    parser.add_argument("file", help="JSON or YAML, - for standard input")
    given = parser.parse_args()
    name = "standard input" if given.file == "-" else given.file
    sys.stdout.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    sys.stderr.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    notes: list[str] = []
    failure = None
    try:
        text = convert(read_file(given.file, name), Options(name, given.key, given.resource_prefix), notes)
    except Refused as error:
        failure = error
    for note in notes:
        say(note)
    if failure:
        say(str(failure))
        return 1
    return write(text)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(main())
