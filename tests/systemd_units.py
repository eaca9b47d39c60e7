# SPDX-License-Identifier: Apache-2.0
"""What the systemd unit and its drop-ins in contrib/systemd say."""

import subprocess
from pathlib import Path

UNITS = Path(__file__).resolve().parents[1] / "contrib/systemd"


def settings(names):
    """{key: its values in order}; an empty value forgets those before it."""
    found = {}
    for name in names:
        for line in (UNITS / name).read_text(encoding="utf-8").splitlines():
            key, equals, value = line.partition("=")
            if equals and not line.startswith("#"):
                found[key] = found.get(key, []) + [value] if value else []
    return found


def sets_of_calls():
    text = subprocess.run(["systemd-analyze", "syscall-filter", "--no-pager"], check=True, capture_output=True,
                          text=True).stdout
    sets, members = {}, []
    for line in text.splitlines():
        word = line.strip()
        if line.startswith("@"):
            members = sets.setdefault(word, [])
        elif line.startswith(" ") and not word.startswith("#"):
            members.append(word)
    return sets


def expand(word, sets):
    return {call for member in sets[word] for call in expand(member, sets)} if word.startswith("@") else {word}


def allowed_calls(unit):
    """The system calls that the settings of a unit allow."""
    sets = sets_of_calls()
    allowed = expand("@default", sets)
    for line in unit["SystemCallFilter"]:
        calls = set().union(*(expand(word, sets) for word in line.lstrip("~").split()))
        allowed = allowed - calls if line.startswith("~") else allowed | calls
    return allowed
