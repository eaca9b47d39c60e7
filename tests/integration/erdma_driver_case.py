# SPDX-License-Identifier: Apache-2.0
"""The driver manager on a recorded machine, with a modprobe of its own.

usage of the tests that import it: test-X.py RDMAD MODULE-DIR [...]
"""

import os
import shutil
import signal
import subprocess

from machine_changes import post
from plugin_case import TESTS, PluginCase

ERDMA = "aliyun/erdma"
PROFILES = os.path.join(os.path.dirname(TESTS), "etc", "profiles")
RELEASE = "6.6.102"

# A kernel in a directory: loaded modules are in sys/module.  `quirks` are the changes of a test.
MODPROBE = r"""#!/bin/sh
root=${0%/sbin/modprobe}
echo "$*" >>"$root/calls"
. "$root/quirks"
if [ "$1" = -r ]; then
	rm -r "$root/sys/module/$2"
	exit 0
fi
mkdir -p "$root/sys/module/$1/parameters"
case $1/$2 in
erdma/compat_mode=Y) echo Y ;;
erdma/*) echo N ;;
esac >"$root/sys/module/$1/parameters/compat_mode"
[ "$1" = erdma ] || rm -r "$root/sys/module/$1/parameters"
echo live >"$root/sys/module/$1/initstate"
"""

CONFIG = """profile = "ack-erdma";
modules = { device-plugin = { }; erdma = { driver = { retry = "%s"; prefer_driver = "%s"; %s }; }; };
"""


class DriverCase(PluginCase):
    MACHINE = "erdma"

    def setUp(self):
        super().setUp()
        self.machine = os.path.join(self.dir, "machine")
        subprocess.run([os.path.join(TESTS, "machines", "expand"), self.MACHINE, self.machine],
                       check=True, stdout=subprocess.DEVNULL)
        self.put("proc/sys/kernel/osrelease", RELEASE)
        self.put("sbin/modprobe", MODPROBE, 0o755)
        self.put("quirks", "")
        self.put("calls", "")
        self.depmod("erdma", "smc")

    def begin_again(self):
        """For the next case of a table."""
        if self.daemon:
            self.doCleanups()
            self.setUp()

    # ---- the machine ----

    def put(self, path, text, mode=0o644):
        path = os.path.join(self.machine, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text + "\n")
        os.chmod(path, mode)
        return path

    def depmod(self, *modules):
        self.put(f"lib/modules/{RELEASE}/modules.dep",
                 "\n".join(f"kernel/{name.replace('_', '-')}.ko.xz: kernel/ib_core.ko.xz" for name in modules))

    def loaded(self, module, mode=None):
        self.put(f"sys/module/{module}/initstate", "live")
        if mode:
            self.put(f"sys/module/{module}/parameters/compat_mode", mode)

    def unload(self, module):
        shutil.rmtree(os.path.join(self.machine, "sys/module", module))

    def calls(self):
        with open(os.path.join(self.machine, "calls"), encoding="utf-8") as file:
            return file.read().split("\n")[1:-1]

    # ---- the daemon ----

    def run_with(self, prefer="default", more="", retry="1h"):
        self.start_kubelet()
        self.start_daemon(CONFIG % (retry, prefer, more), "--module=erdma",
                          "--profile-dir", PROFILES)
        self.wait_for_socket()

    def reload(self, prefer, more="", retry="1h"):
        self.write_config(CONFIG % (retry, prefer, more))
        self.daemon.send_signal(signal.SIGHUP)

    def rescan(self):
        self.assertEqual(post(self.socket, "/api/v1/rescan"), 200)

    def driver(self):
        for module in self.ask("status")["modules"]:
            if module["name"] == "erdma":
                return module["status"]["driver"]
        return self.fail("no module erdma")

    def wait_state(self, state, reason=""):
        def there():
            driver = self.driver()
            return driver["state"] == state and reason in (driver["reason"] or "")

        self.wait_for(there, f"state {state} with \"{reason}\"; it is {self.driver()}")
        return self.driver()

    def problems(self):
        return [(finding["text"], finding["advice"]) for finding in self.findings()
                if finding["subject"] == "erdma" and finding["level"] == "problem"]
