#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the rules of layering and style that a compiler does not.

usage: check-includes.py [SOURCE-ROOT]

One line a finding, "file:line: what, and what to do"; exit status 1 when there is any.  The rules are
the tables below; an exception is added there with its reason, never in the code that is checked.
"""

import re
import sys
from pathlib import Path

MAX_FILE_LINES = 800
MAX_FUNCTION_LINES = 60

# Directories of core that a file of core may include; the longest prefix counts.  Knowledge
# runs one way: daemon -> api -> module -> service ->
# {hardware, network, grpc, http -> config} -> base.
LAYERS = {
    "core/base/": [],
    "core/config/": ["base"],
    "core/hardware/": ["base"],
    "core/network/": ["base", "hardware"],
    "core/grpc/": ["base"],
    "core/http/": ["base", "config"],
    "core/service/": ["base", "hardware"],
    "core/module/": ["base", "config", "http", "service"],
    "core/api/": ["base", "hardware", "http", "module", "service"],
    "core/cli/": ["base", "hardware"],
    "core/daemon/": ["api", "base", "cli", "config", "hardware", "http", "module", "network", "service"],
    "core/main.c": ["base", "cli", "daemon", "network"],
}

# A header of rdmad's own that another public header may include.
PUBLIC = {"": ["types.h"], "event-log.h": ["log.h"], "network.h": ["address.h"], "step.h": ["address.h"]}

# Foreign headers, and the files that may know them.
ONLY_IN = {
    r"event2/|event\.h|evhttp\.h": r"core/base/loop\.c",
    r"libconfig\.h": r"core/config/tree\.c",
    r"gmodule\.h": r"core/module/loader\.c",
    r"dlfcn\.h": r"core/(module/loader|hardware/verbs/open)\.c",
    r"netlink/|linux/(genetlink|netlink|rtnetlink)\.h|rdma/rdma_netlink\.h": r"core/(hardware/netlink|network)/.*",
    r"sqlite3\.h": r"core/service/state.*",
    r"infiniband/|rdma/rdma_cma\.h": r"core/hardware/verbs/.*",
    r"nghttp2/": r"core/grpc/.*",
    r"yaml\.h": r"core/config/yaml-tree\.c",
    r"zlib\.h": r"(core/cli/bundle/archive|modules/metrics/render/gzip)\.c",
    r"openssl/": r"core/http/access/tls-openssl\.c",
    r"curl/": r"core/http/fetch-curl\.c",
    r"seccomp\.h": r"core/base/seccomp\.c",
    r"crypt\.h": r"core/http/access/bcrypt-libcrypt\.c",
    r"gio/|glib-object\.h|gobject/|microhttpd\.h": r"",
}

# Headers that the build makes.
GENERATED = r"(build-info|commit)\.h|grpc/nghttp2-features\.h|.*\.pb-c\.h"

# Functions that have no place here.
FORBIDDEN = {
    r"g_(main|timeout|idle|source|child_watch)_\w+": "use rdmad/loop.h",
    r"g_spawn_\w+": "use rdmad/child.h",
    r"g_return(_val)?_if_(fail|reached)": "it returns without setting the error: use g_assert()",
    r"(strcpy|strcat|sprintf|vsprintf|gets|strtok|alloca|system|popen)": "it has no bound or no error",
}

# Functions that one file calls for all: time, chance and the disk have one place each.
CALLED_IN = {
    r"g_get_(monotonic|real)_time|g_date_time_new_now\w*|clock_gettime|gettimeofday|time":
        (r"core/base/clock\.c", "use rdmad/clock.h"),
    r"g_random_\w+|g_rand_\w+|getrandom|getentropy": (r"core/base/random\.c", "use rdmad/random.h"),
    r"f(data)?sync|rename(at2?)?|mkdir(at)?": (r"core/base/disk\.c", "use rdmad/disk.h"),
}
CALLED_ELSEWHERE = {
    r"core/daemon/daemon-stats\.c": "the CPU time of the process, which is not a clock",
    r"core/base/child-host\.c": "directories of the cgroup tree",
    r"core/service/allocation-dir\.c": "spare directories: no pod has one before its allocation is on the disk",
    r"modules/cni/shim/.*": "a program of its own, with libc alone",
}

# Absolute kernel paths.  Only sysroot.c opens them; these files have another use for them.
KERNEL_PATHS = {
    "core/hardware/sysroot.c": "the opener",
    "core/hardware/scan/chardev.c": "a path that is given to pods, not opened",
    "core/daemon/daemon-stats.c": "what the kernel reports of this process itself",
    "core/module/loader.c": "dlopen() of the descriptor that was judged",
    "core/network/netns.c": "namespaces of this process, and a descriptor that was judged",
    "core/network/keeper.c": "the program itself, started again",
    "core/network/sysctls.c": "of a namespace, not of the machine that the sysroot shows",
    "core/base/child-host.c": "the cgroup tree of PID 1, which is not the one that the sysroot shows",
    "core/cli/module-command.c": "the name of a namespace for the daemon, not opened",
    "core/base/unix-socket.c": "bind() below an open directory, whose own path may be too long",
    "modules/cni/cni.c": "the boot of the machine that has the namespaces, not of the one the sysroot shows",
    "modules/cni/shim/install.c": "a program of its own: the copy of itself",
    "modules/cni/shim/request.c": "a program of its own: opening again what was looked at",
    "modules/cni/shim/spool.c": "a program of its own: the boot that a namespace is of",
}

COMMENT_OR_TEXT = re.compile(
    r"//[^\n]*|/\*.*?\*/|(\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')", re.S
)
INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*([<\"])([^>\"]+)[>\"]", re.M)
# A path, not a message that names one.
KERNEL_PATH = re.compile(r"\"/(sys|proc|dev)/[^\"\s]*\"")
STATIC_STATE = re.compile(r"^[ \t]*static\s+(?![^;={]*\bconst\b)[^();{]*[;=]", re.M)


class Source:
    """One file, with its comments blanked, and with its strings blanked too."""

    def __init__(self, root, path):
        self.path = path.relative_to(root).as_posix()
        self.text = path.read_text(encoding="utf-8", errors="replace")
        self.lines = self.text.splitlines()
        self.code = COMMENT_OR_TEXT.sub(lambda m: m[0] if m[1] else blank(m[0]), self.text)
        self.bare = COMMENT_OR_TEXT.sub(lambda m: blank(m[0]), self.text)
        self.name = path.name
        self.in_module = self.path.startswith("modules/")
        self.is_public = self.path.startswith("core/include/")

    def line_of(self, offset):
        return self.text.count("\n", 0, offset) + 1

    def includes(self):
        for match in INCLUDE.finditer(self.code):
            yield self.line_of(match.start(2)), match[1] == "<", match[2]


def blank(text):
    return re.sub(r"[^\n]", " ", text)


def allowed_layers(path):
    prefixes = [prefix for prefix in LAYERS if path.startswith(prefix)]
    return LAYERS[max(prefixes, key=len)] if prefixes else []


def check_public_include(source, name):
    allowed = PUBLIC[""] + PUBLIC.get(source.name, [])
    if name.startswith("rdmad/") and name[len("rdmad/"):] not in allowed:
        return f"a public header includes only {', '.join(allowed)} of rdmad's own, not {name}"
    return None


def check_module_include(root, source, name):
    own = "/".join(source.path.split("/")[:2])
    if re.fullmatch(GENERATED, name):
        return None
    if ".." in name or not (root / own / name).is_file():
        return f"a module includes <rdmad/*.h> and its own directory, not \"{name}\""
    return None


def check_core_include(root, source, name):
    directory = source.path.split("/")[1]
    if re.fullmatch(GENERATED, name):
        return None
    if name.startswith("modules/") or ".." in name:
        return f"core never includes a module or climbs out of its directories: \"{name}\""
    if not (root / "core" / name).is_file():
        return f"\"{name}\" is not a header of core: write \"directory/name.h\""
    target = name.split("/")[0]
    if target != directory and target not in allowed_layers(source.path):
        return f"core/{directory} does not know core/{target}: see LAYERS in check-includes.py"
    return None


def check_own_include(root, source, system, name):
    """Headers of rdmad's own."""
    if source.is_public:
        return check_public_include(source, name) if system else f"write <{name}>"
    if system:
        is_ours = (root / "core" / name).is_file() and not name.startswith("rdmad/")
        return f"write \"{name}\"" if is_ours else None
    if name.startswith("rdmad/"):
        return f"write <{name}>"
    if source.in_module:
        return check_module_include(root, source, name)
    return check_core_include(root, source, name)


def check_foreign_include(source, name):
    for headers, files in ONLY_IN.items():
        if re.match(headers, name) and not (files and re.fullmatch(files, source.path)):
            return f"<{name}> belongs to {files.replace(chr(92), '') or 'nobody'}"
    return None


def check_includes(root, source):
    for line, system, name in source.includes():
        for finding in (check_own_include(root, source, system, name),
                        check_foreign_include(source, name)):
            if finding:
                yield line, finding


def check_forbidden(root, source):
    for names, advice in FORBIDDEN.items():
        for match in re.finditer(rf"\b{names}\s*\(", source.bare):
            yield source.line_of(match.start()), f"{match[0].rstrip('( ')}(): {advice}"
    for match in re.finditer(r"\bgoto\b", source.bare):
        yield source.line_of(match.start()), "goto: use the cleanup attributes"


def check_callers(root, source):
    if any(re.fullmatch(path, source.path) for path in CALLED_ELSEWHERE):
        return
    for names, (caller, advice) in CALLED_IN.items():
        if re.fullmatch(caller, source.path):
            continue
        for match in re.finditer(rf"\b({names})\(", source.bare):
            yield source.line_of(match.start()), f"{match[1]}(): {advice}"


def check_kernel_paths(root, source):
    if source.path in KERNEL_PATHS:
        return
    for match in KERNEL_PATH.finditer(source.code):
        yield (source.line_of(match.start()),
               f"{match[0]}: kernel files are opened by sysroot.c alone, see rdmad/sysroot.h")


def check_static_state(root, source):
    if not source.in_module:
        return
    for match in STATIC_STATE.finditer(source.bare):
        line = source.line_of(match.end() - 1)
        yield line, "static state: a module keeps all that changes in its state"


def check_form(root, source):
    if not source.lines or "SPDX-License-Identifier: Apache-2.0" not in source.lines[0]:
        yield 1, "the first line is /* SPDX-License-Identifier: Apache-2.0 */"
    if source.name.endswith(".h") and "#pragma once" not in source.lines:
        yield 1, "a header says #pragma once"
    if re.fullmatch(r"(utils?|helpers?|common|misc)\.[ch]", source.name):
        yield 1, "a file is named after the object that it is about"


def check_sizes(root, source):
    if len(source.lines) > MAX_FILE_LINES:
        yield 1, f"{len(source.lines)} lines, more than {MAX_FILE_LINES}: split it by object"
    start = None
    for number, line in enumerate(source.bare.splitlines(), 1):
        # Only functions have their brace in the first column.
        if line.startswith("{"):
            start = number
        elif line.startswith("}") and start is not None:
            if number - start - 1 > MAX_FUNCTION_LINES:
                yield start, f"a function of {number - start - 1} lines, more than {MAX_FUNCTION_LINES}"
            start = None


def included_elsewhere(root, files):
    """Paths of private headers that a file other than their own source includes; tests count."""
    used = set()
    tests = [Source(root, path) for path in sorted((root / "tests").rglob("*.[ch]"))]
    modules = sorted(path.name for path in (root / "modules").glob("*") if path.is_dir())
    for source in files + tests:
        if source.in_module:
            places = ["/".join(source.path.split("/")[:2])]
        elif source.path.startswith("core/"):
            places = ["core"]
        else:
            places = ["core"] + [f"modules/{module}" for module in modules]
        for _, system, name in source.includes():
            targets = [] if system else [f"{place}/{name}" for place in places]
            used.update(path for path in targets if path[:-1] != source.path[:-1])
    return used


def check_header_use(root, files):
    used = included_elsewhere(root, files)
    for source in files:
        if source.name.endswith(".h") and not source.is_public and source.path not in used:
            yield source.path, 1, "nobody else includes this header: its source can hold it all"


CHECKS = [check_includes, check_forbidden, check_callers, check_kernel_paths, check_static_state, check_form,
          check_sizes]


def sources(root):
    for top in ("core", "modules"):
        for path in sorted((root / top).rglob("*.[ch]")):
            yield Source(root, path)


def check(root):
    """All findings below a source root, as lines of text."""
    root = Path(root)
    files = list(sources(root))
    found = list(check_header_use(root, files))
    for source in files:
        for rule in CHECKS:
            found += [(source.path, line, text) for line, text in rule(root, source)]
    return [f"{path}:{line}: {text}" for path, line, text in sorted(found)]


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parents[2]
    found = check(root)
    print("\n".join(found) if found else "no findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
