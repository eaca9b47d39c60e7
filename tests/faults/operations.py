# SPDX-License-Identifier: Apache-2.0
"""Operations that the sweeps interrupt: one entry of OPERATIONS each.

`prepare(node)` leads up to the marked moment, from which calls are counted.  `do(node)` is what is swept; it
ends when the operation has, when the daemon has, or when node.until() gives up, and judges nothing.
`judge(node)` adds what only this operation can know; the error is over by then, and a daemon that ended has
been started again.
"""

import itertools
import os
import signal
from pathlib import Path
from typing import Callable, NamedTuple

from machine_changes import request
from plugin_case import HCA

POD_NUMBERS = itertools.count()
PAUSE_WITHIN = 5


def nothing(node):
    pass


class Operation(NamedTuple):
    name: str
    prepare: Callable
    do: Callable
    judge: Callable = nothing
    begins: bool = False    # the daemon may give up with status 1, so that it is started again
    ends: bool = False      # the daemon is to end, at the latest when the error is over


# ---- start, stop ----

def no_daemon(node):
    node.end_daemon()


def no_daemon_no_files(node):
    node.end_daemon()
    node.wipe()


def killed_daemon(node):
    """The write-ahead log, sockets and locks are left."""
    node.kubelet.allocate("ml/late", HCA, 1)
    node.end_daemon(signal.SIGKILL)


def no_daemon_and_a_registry(node):
    """Kubelet finds the plugin's socket, in the place of being told by Register."""
    node.end_daemon()
    if not node.kubelet.with_registry:
        node.kubelet.stop()
        node.kubelet.with_legacy, node.kubelet.with_registry = False, True
        node.kubelet.start()


def start(node):
    node.start_daemon()
    node.until(node.is_served)


def stop(node):
    node.daemon.send_signal(signal.SIGTERM)
    node.until(lambda: False)


# ---- pods ----

def allocate(node):
    node.call(node.kubelet.allocate, "ml/new", HCA, 2)


def allocate_many(node):
    """Until the write-ahead log is copied into the database, which is when nothing was written for a
    second; never the same slots twice in turn, which would be the same allocation."""
    database = os.path.join(node.dir, "state", "rdmad.db")
    before = os.stat(database).st_mtime_ns

    def admit():
        for number in range(60):
            node.kubelet.allocate(f"ml/many-{number % 4}", HCA, 1 + number % 3)
            node.kubelet.release(f"ml/many-{(number + 1) % 4}")

    node.call(admit)
    node.until(lambda: os.stat(database).st_mtime_ns != before, PAUSE_WITHIN)


def new_pod(node):
    node.kubelet.allocate("ml/new", HCA, 3)


def pod_that_ended(node):
    """Another one each time: after a restart of rdmad the allocation of the last one may end late."""
    node.gone = f"ml/gone-{next(POD_NUMBERS)}"
    node.kubelet.allocate(node.gone, HCA, 3)
    node.refresh()
    node.kubelet.release(node.gone)


def reconcile(node):
    node.call(node.refresh)


def new_pod_is_known(node):
    node.wait_for(node.is_ready, "readiness")
    node.wait_for(lambda: node.refresh() and node.is_listed("ml/new"), "name of a pod")


def ended_pod_is_gone(node):
    """After a restart it may be late: a kubelet that restarted as well lists nothing at first."""
    node.wait_for(node.is_ready, "readiness")
    node.wait_for(lambda: node.restarted or node.refresh() and not node.is_listed(node.gone), "end of an allocation")


# ---- configuration ----

def other_count(node):
    node.count ^= 8
    node.configure()


def a_registry(node):
    if not node.kubelet.with_registry:
        no_daemon_and_a_registry(node)
        node.start_daemon()
        node.wait_for(node.is_served, "served kubelet")


def other_resource(node):
    """Comes and goes by turns: a server is made, or closed."""
    node.with_other = not node.with_other
    node.configure()


def reload(node):
    """A refused configuration is an outcome; reload_again() wants the next one taken."""
    before = node.log().count("config-re")
    node.daemon.send_signal(signal.SIGHUP)
    node.until(lambda: node.log().count("config-re") > before)
    node.until(node.is_served)


def reload_again(node):
    node.wait_for(node.is_ready, "readiness")
    reload(node)


# ---- kubelet, people ----

def restart_kubelet(node):
    node.restart_kubelet()
    node.until(node.is_served)


def registry_news(node):
    """Somebody else's file comes and goes; only a daemon that took it for its own has more to do."""
    place = Path(node.kubelet_dir, "plugins_registry", "other")
    place.touch()
    place.unlink()
    node.until(lambda: not node.is_served(), 0.3)
    node.until(node.is_served)


def ask(node):
    node.call(request, node.socket, "GET", "/api/v1/status")
    node.call(request, node.socket, "POST", "/api/v1/rescan")


OPERATIONS = [
    Operation("first-start", no_daemon_no_files, start, begins=True),
    Operation("start", no_daemon, start, begins=True),
    Operation("start-after-kill", killed_daemon, start, begins=True),
    Operation("start-registry", no_daemon_and_a_registry, start, begins=True),
    Operation("allocate", nothing, allocate),
    Operation("allocate-many", nothing, allocate_many),
    Operation("reconcile", new_pod, reconcile, new_pod_is_known),
    Operation("reconcile-end", pod_that_ended, reconcile, ended_pod_is_gone),
    Operation("reload", other_count, reload, reload_again),
    Operation("reload-resource", other_resource, reload, reload_again),
    Operation("restart-kubelet", nothing, restart_kubelet),
    Operation("registry-news", a_registry, registry_news),
    Operation("ask", nothing, ask),
    Operation("stop", nothing, stop, ends=True),
]
