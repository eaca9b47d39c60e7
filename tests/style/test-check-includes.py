#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every rule of check-includes.py finds what is planted, and leaves good code alone."""

import importlib.util
import os
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
import tap  # noqa: E402

HERE = Path(__file__).resolve().parent
SPDX = "/* SPDX-License-Identifier: Apache-2.0 */\n"
HEADER = SPDX + "#pragma once\n"

spec = importlib.util.spec_from_file_location("check_includes", HERE / "check-includes.py")
checker = importlib.util.module_from_spec(spec)
sys.dont_write_bytecode = True
spec.loader.exec_module(checker)

GOOD = {
    "core/include/rdmad/types.h": HEADER + "#include <glib.h>\n",
    "core/include/rdmad/log.h": HEADER + "#include <rdmad/types.h>\n",
    "core/include/rdmad/event-log.h": HEADER + "#include <rdmad/types.h>\n#include <rdmad/log.h>\n",
    "core/base/loop.c": SPDX + "#include <event2/event.h>\n#include <rdmad/types.h>\n",
    "core/base/loop.h": HEADER,
    "core/config/tree.c": SPDX + "#include <libconfig.h>\n",
    "core/hardware/sysroot.c": SPDX + 'const char *const root = "/sys/class";\n',
    "core/service/state.c": SPDX + '#include <sqlite3.h>\n\n#include "base/loop.h"\n',
    "core/service/state.h": HEADER,
    "core/daemon/daemon.h": HEADER,
    "core/daemon/daemon.c": SPDX + '#include "build-info.h"\n#include "service/state.h"\n',
    "core/main.c": SPDX + '#include "daemon/daemon.h"\n',
    "modules/demo/part.h": HEADER,
    "modules/demo/tested.h": HEADER,
    "tests/unit/demo/test-demo.c": SPDX + '#include "tested.h"\n',
    "modules/demo/demo.c": SPDX + """#include <rdmad/types.h>

#include "part.h"
#include "deviceplugin.pb-c.h"

/* goto, g_timeout_add(1), "/sys/class" and #include <event2/event.h> may be spoken of. */
static const char *const names[] = { "goto x; strcpy(a, b)", "see /sys/class/net" };
static const int three = 3;
static int count(const char *text)
{
	static const char *const words[] = { "a" };

	return words[0] == text;
}
""",
}

# Where, what, and words of the finding.
PLANTED = [
    ("core/base/a.c", '#include "modules/demo/part.h"', "core never includes a module"),
    ("core/base/a.c", '#include "../modules/demo/part.h"', "core never includes a module"),
    ("core/base/a.c", '#include "service/state.h"', "core/base does not know core/service"),
    ("core/config/a.c", '#include "daemon/daemon.h"', "core/config does not know core/daemon"),
    ("core/http/a.c", '#include "daemon/daemon.h"', "core/http does not know core/daemon"),
    ("core/base/a.c", '#include "loop.h"', '"loop.h" is not a header of core'),
    ("core/base/a.c", '#include "rdmad/types.h"', "write <rdmad/types.h>"),
    ("core/base/a.c", "#include <base/loop.h>", 'write "base/loop.h"'),
    ("core/base/a.c", "  #  include <event2/event.h>", "belongs to core/base/loop.c"),
    ("core/http/a.c", "#include <evhttp.h>", "belongs to core/base/loop.c"),
    ("core/config/a.c", "#include <libconfig.h>", "belongs to core/config/tree.c"),
    ("core/module/a.c", "#include <gmodule.h>", "belongs to core/module/loader.c"),
    ("core/daemon/a.c", "#include <dlfcn.h>", "belongs to core/(module/loader"),
    ("core/service/a.c", "#include <sqlite3.h>", "belongs to core/service/state"),
    ("core/service/a.c", "#include <netlink/msg.h>", "belongs to core/(hardware/"),
    ("core/service/a.c", "#include <linux/rtnetlink.h>", "belongs to core/(hardware/"),
    ("core/hardware/a.c", "#include <infiniband/verbs.h>", "belongs to core/hardware/verbs"),
    ("core/http/a.c", "#include <nghttp2/nghttp2.h>", "belongs to core/grpc/"),
    ("core/base/a.c", "#include <gio/gio.h>", "belongs to nobody"),
    ("modules/demo/a.c", "#include <event2/event.h>", "belongs to core/base/loop.c"),
    ("modules/demo/a.c", '#include "other/part.h"', "a module includes <rdmad/*.h> and its own"),
    ("modules/demo/a.c", '#include "../demo/part.h"', "a module includes <rdmad/*.h> and its own"),
    ("modules/demo/a.c", '#include "base/loop.h"', "a module includes <rdmad/*.h> and its own"),
    ("modules/other/a.c", '#include "part.h"', "a module includes <rdmad/*.h> and its own"),
    ("core/include/rdmad/a.h", "#include <rdmad/log.h>", "a public header includes only types.h"),
    ("core/include/rdmad/a.h", '#include "base/loop.h"', "write <base/loop.h>"),
    ("core/base/a.c", "int x = g_timeout_add(1, f, 0);", "g_timeout_add(): use rdmad/loop.h"),
    ("core/base/a.c", "GMainLoop *l = g_main_loop_new (0, 0);", "g_main_loop_new(): use"),
    ("core/base/a.c", "int x = g_idle_add(f, 0);", "g_idle_add()"),
    ("core/base/a.c", "int x = g_source_remove(1);", "g_source_remove()"),
    ("core/base/a.c", "int x = g_child_watch_add(1, f, 0);", "g_child_watch_add()"),
    ("core/base/a.c", "int x = g_spawn_sync(0);", "g_spawn_sync(): use rdmad/child.h"),
    ("core/base/a.c", "gint64 t = g_get_monotonic_time();", "g_get_monotonic_time(): use rdmad/clock.h"),
    ("modules/demo/a.c", "time_t t = time(NULL);", "time(): use rdmad/clock.h"),
    ("modules/demo/a.c", "guint32 n = g_random_int();", "g_random_int(): use rdmad/random.h"),
    ("core/base/a.c", "\trename(a, b);", "rename(): use rdmad/disk.h"),
    ("modules/demo/a.c", "\tmkdirat(d, n, 0700);", "mkdirat(): use rdmad/disk.h"),
    ("core/http/a.c", "\tgetrandom(key, 16, 0);", "getrandom(): use rdmad/random.h"),
    ("core/base/a.c", "\tg_return_val_if_fail(x, 0);", "g_return_val_if_fail(): it returns"),
    ("core/base/a.c", "\tg_return_if_fail(x);", "g_return_if_fail()"),
    ("core/base/a.c", "\tstrcpy(a, b);", "strcpy(): it has no bound"),
    ("core/base/a.c", "\tgoto out;", "goto: use the cleanup attributes"),
    ("core/base/a.c", 'const char *p = "/sys/class/net";', "kernel files are opened by sysroot.c"),
    ("core/base/a.c", '\topen("/proc/self/mountinfo", 0);', "kernel files are opened by"),
    ("modules/demo/a.c", '\topen("/dev/infiniband/uverbs0", 0);', "kernel files are opened by"),
    ("modules/demo/a.c", "static int counter;", "static state"),
    ("modules/demo/a.c", "static Thing *things[] = { 0 };", "static state"),
    ("modules/demo/a.c", "\tstatic guint calls = 0;", "static state"),
    ("core/base/utils.c", "", "named after the object"),
    ("core/base/a.c", "int x;\n" * 799, "801 lines, more than 800"),
    ("core/base/a.c", "int f(void)\n{\n" + "\tx();\n" * 61 + "}", "a function of 61 lines"),
]


def plant(root, path, text):
    file = Path(root) / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


class CheckIncludes(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = directory.name
        for path, text in GOOD.items():
            plant(self.root, path, text)

    def test_good_code_has_no_findings(self):
        self.assertEqual(checker.check(self.root), [])

    def test_whatever_is_planted_is_found_with_its_place(self):
        for path, text, words in PLANTED:
            with self.subTest(path=path, text=text[:60]):
                start = HEADER if path.endswith(".h") else SPDX
                plant(self.root, path, start + text + "\n")
                found = checker.check(self.root)
                (Path(self.root) / path).unlink()
                self.assertEqual(len(found), 1, found)
                self.assertTrue(found[0].startswith(path + ":"), found)
                self.assertIn(words, found[0])

    def test_the_line_is_that_of_the_mistake(self):
        plant(self.root, "core/base/a.c", SPDX + "/* a\n * b\n */\n\nvoid f(void)\n{\n\tgoto x;\n}\n")
        self.assertEqual(checker.check(self.root)[0].split(": ")[0], "core/base/a.c:8")

    def test_a_function_of_60_lines_may_stay(self):
        plant(self.root, "core/base/a.c", SPDX + "int f(void)\n{\n" + "\tx();\n" * 60 + "}\n")
        self.assertEqual(checker.check(self.root), [])

    def test_headers_and_first_lines_are_in_form(self):
        plant(self.root, "core/base/a.h", SPDX)
        plant(self.root, "core/base/a.c", SPDX + '#include "base/a.h"\n')
        plant(self.root, "core/base/c.c", SPDX + '#include "base/a.h"\n')
        plant(self.root, "core/base/b.c", "int x;\n")
        found = checker.check(self.root)
        self.assertEqual(len(found), 2)
        self.assertIn("#pragma once", found[0])
        self.assertIn("SPDX", found[1])

    def test_a_header_has_an_includer_besides_its_own_source(self):
        for top, name in (("core/base", "base/a.h"), ("modules/demo", "a.h")):
            plant(self.root, f"{top}/a.h", HEADER)
            plant(self.root, f"{top}/a.c", SPDX + f'#include "{name}"\n')
            found = checker.check(self.root)
            self.assertEqual(len(found), 1, found)
            self.assertIn(f"{top}/a.h:1: nobody else includes", found[0])
            plant(self.root, f"{top}/b.c", SPDX + f'#include "{name}"\n')
            self.assertEqual(checker.check(self.root), [])


if __name__ == "__main__":
    tap.main()
