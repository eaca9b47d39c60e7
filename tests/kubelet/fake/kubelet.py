# SPDX-License-Identifier: Apache-2.0
"""The whole: directories as kubelet lays them out below one root, and its life."""

import os
import threading
import time

from . import checkpoint
from .devices import AdmissionError, DeviceManager
from .legacy import LegacyRegistration, wipe_sockets
from .podresources import PodResources
from .registry import PluginRegistry

GRACE = 300.0       # seconds from a plugin's loss to the end of its resource
ERAS = ("1.24", "1.30", "1.36")


class Pod:
    """A pod as the API server and the kernel know it, whatever kubelet has forgotten."""

    def __init__(self):
        self.containers, self.init_containers = [], []      # names
        self.completed = False      # no process of it runs; it is not deleted
        self.devices = {}           # {(container, resource): ids} that its processes have

    def start(self, container, resource, ids):
        """Init containers have ended when another one starts."""
        for key in [key for key in self.devices if key[0] in self.init_containers]:
            del self.devices[key]
        self.devices[(container, resource)] = set(ids)


class Ending(str):
    """A pod's name that is equal to no other."""

    __hash__ = object.__hash__

    def __eq__(self, other):
        return self is other


class Kubelet:
    """`legacy`: serve kubelet.sock.  `registry`: watch plugins_registry.  kubelet does both;
    one at a time is how a test says which way a plugin must take.  `era`: "1.24" answers Register
    before it calls back; "1.30" calls back inside it; "1.36" no longer closes the connection of a
    newer plugin when an older one's stream ends.  `registry_delay`: seconds before a socket in
    plugins_registry is dialled.

        with Kubelet(root) as kubelet:
            kubelet.wait("rdma/hca", 1000)
            grant = kubelet.allocate("default/train-0", "rdma/hca", 2)
            grant.ids, grant.reply.devices
    """

    def __init__(self, root, legacy=True, registry=True, grace=GRACE, log=lambda line: None,
                 era=ERAS[-1], registry_delay=0.0):
        self.root = os.path.abspath(root)
        self.with_legacy, self.with_registry = legacy, registry
        self.grace, self.log, self.era = grace, log, era
        self.registry_delay = registry_delay
        self.running = False
        self.known = {}         # {(namespace, pod): Pod}

    def path(self, *names):
        return os.path.join(self.root, *names)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    # ---- life ----

    def start(self):
        directory = self.path("device-plugins")
        wipe_sockets(directory)
        self.manager = DeviceManager(directory, self.grace, self.log, self.era, self.known)
        self._admit_again()
        self.legacy = self.registry = None
        if self.with_legacy:
            self.legacy = LegacyRegistration(directory, self.manager, self.log)
        if self.with_registry:
            self.registry = PluginRegistry(self.path("plugins_registry"), self.manager, self.log,
                                           self.registry_delay)
        self.pod_resources = PodResources(self.root, self.manager)
        self.running = True
        self.reaper_stop = threading.Event()
        self.reaper = threading.Thread(target=self._reap, daemon=True)
        self.reaper.start()

    def _admit_again(self):
        """A pod with a container that has devices and does not run is refused, because no plugin has registered
        yet.  After a boot the plugin may be faster than the pods; then nothing runs."""
        if self.era == "1.24":
            return
        for key, pod in list(self.known.items()):
            held = {(container, name) for (*holder, container), name in self.manager.grants if tuple(holder) == key}
            if pod.devices and not held <= pod.devices.keys():
                self.log(f"{'/'.join(key)}: refused, no healthy devices present")
                self.manager.release(*key)
                del self.known[key]

    def _reap(self):
        while not self.reaper_stop.wait(min(1.0, self.grace / 4)):
            self.manager.expire()

    def stop(self):
        if not self.running:
            return
        self.running = False
        self.manager.released.set()
        self.reaper_stop.set()
        self.reaper.join()
        for part in (self.registry, self.legacy, self.pod_resources):
            if part is not None:
                part.close()
        self.manager.close()

    def hang(self):
        """From now on it answers nothing and closes nothing; another may start on its paths."""
        self.manager.hung = True
        if self.registry is not None:
            self.registry.close()

    def restart(self, pause=0.0, lose_checkpoint=False):
        """Without its checkpoint it knows no devices of the pods that run."""
        self.stop()
        if lose_checkpoint:
            checkpoint.lose(self.path("device-plugins"))
        time.sleep(pause)
        self.start()

    # ---- what a test or a person asks for ----

    def resources(self):
        """{name: {"capacity", "allocatable", "in_use", "connected"}}"""
        with self.manager.lock:
            return {name: {"capacity": len(r.healthy) + len(r.unhealthy),
                           "allocatable": len(r.healthy),
                           "in_use": len(self.manager.in_use(name)),
                           "connected": r.connected,
                           "error": None if r.connected else r.last_error}
                    for name, r in sorted(self.manager.resources.items())}

    def devices(self, name):
        """{id: (healthy, NUMA node or None)}"""
        with self.manager.lock:
            resource = self.manager.resources.get(name)
            if resource is None:
                return {}
            return {id: (id in resource.healthy, resource.numa.get(id))
                    for id in sorted(resource.healthy | resource.unhealthy)}

    def wait_for(self, condition, timeout=60.0):
        """Until condition() is true; it is looked at when something about resources changes."""
        deadline = time.monotonic() + timeout
        manager = self.manager
        with manager.changed:
            while not condition():
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                manager.changed.wait(min(left, 0.2))
        return True

    def wait(self, name, allocatable, timeout=60.0):
        """Until a connected resource has exactly that many allocatable devices."""
        def ready():
            found = self.resources().get(name)
            return found is not None and found["connected"] and found["allocatable"] == allocatable

        if not self.wait_for(ready, timeout):
            raise TimeoutError(f"{name}: not {allocatable} allocatable within {timeout} s: "
                               f"{self.resources().get(name)}")

    def allocate(self, pod, name, count=1, container="main", init=False):
        """Admits a container of "namespace/pod" and starts it; AdmissionError when it is refused."""
        namespace, _, pod_name = pod.rpartition("/")
        holder = (namespace or "default", pod_name, container)
        key = holder[:2]
        with self.manager.lock:
            known = self.known.setdefault(key, Pod())
            names = known.init_containers if init else known.containers
            if container not in names:
                names.append(container)
        try:
            grant = self.manager.allocate(holder, name, count, init)
            self.manager.start_container(holder)
        except AdmissionError:
            with self.manager.lock:
                if not known.devices:
                    self.known.pop(key, None)
            raise
        with self.manager.lock:
            known.start(container, name, grant.ids)
        return grant

    def run(self, pod, name, count, init=0):
        """Admits a whole pod, with an init container that asks for `init` if that is not 0, and then starts its
        containers, one after the other; nothing is left of one that is refused."""
        namespace, _, pod_name = pod.rpartition("/")
        key = (namespace or "default", pod_name)
        containers = [("before", init)] * (init > 0) + [("main", count)]
        try:
            grants = [self.manager.allocate((*key, container), name, wanted, container == "before")
                      for container, wanted in containers]
        except AdmissionError:
            self.manager.release(*key)
            raise
        known = Pod()
        with self.manager.lock:
            self.known[key] = known
        for (container, _), grant in zip(containers, grants):
            (known.init_containers if container == "before" else known.containers).append(container)
            self.manager.start_container((*key, container))
            with self.manager.lock:
                known.start(container, name, grant.ids)

    def start_again(self, pod, container="main"):
        """The container has exited, and is started with what it has.  What kubelet has forgotten is allocated again,
        unless the plugin wants PreStartContainer, which comes first."""
        namespace, _, pod_name = pod.rpartition("/")
        holder = (namespace or "default", pod_name, container)
        known = self.known[holder[:2]]
        for name, count in [(name, len(ids)) for (who, name), ids in known.devices.items() if who == container]:
            if self.manager.has_to_prepare(holder, name):
                raise AdmissionError("no devices found allocated in local cache")
            grant = self.manager.allocate(holder, name, count)
            with self.manager.lock:
                known.start(container, name, grant.ids)
        self.manager.start_container(holder)

    def admit(self, pod, container="main"):
        """Admits a container without devices."""
        namespace, _, pod_name = pod.rpartition("/")
        with self.manager.lock:
            self.known.setdefault((namespace or "default", pod_name), Pod()).containers.append(container)

    def complete(self, pod):
        """All its containers have ended; kubelet knows, the pod is not deleted."""
        namespace, _, pod_name = pod.rpartition("/")
        with self.manager.lock:
            known = self.known[(namespace or "default", pod_name)]
            known.completed, known.devices = True, {}

    def hold(self, pod, name, ids, container="main"):
        """A container holds ids of a plugin that is not here."""
        namespace, _, pod_name = pod.rpartition("/")
        self.manager.hold((namespace or "default", pod_name, container), name, ids)

    def release(self, pod):
        """The pod has ended and is deleted."""
        namespace, _, pod_name = pod.rpartition("/")
        with self.manager.lock:
            self.known.pop((namespace or "default", pod_name), None)
        return self.manager.release(namespace or "default", pod_name)

    def supersede(self, pod):
        """The pod is ending, and another one of its name may be admitted: kubelet knows them by their UIDs, and lists
        both."""
        namespace, _, pod_name = pod.rpartition("/")
        old, new = ((namespace or "default", name) for name in (pod_name, Ending(pod_name)))
        with self.manager.lock:
            self.known[new] = self.known.pop(old)
            for holder, resource in [key for key in self.manager.grants if key[0][:2] == old]:
                self.manager.grants[((*new, holder[2]), resource)] = self.manager.grants.pop((holder, resource))

    def live(self):
        """{(namespace, pod): {(resource, id)}} of processes, also of those that kubelet has forgotten."""
        with self.manager.lock:
            return {key: {(name, id) for (_, name), ids in pod.devices.items() for id in ids}
                    for key, pod in self.known.items() if pod.devices}

    def pods(self):
        """{("namespace", "pod", "container"): {resource: [ids]}}"""
        found = {}
        with self.manager.lock:
            for (holder, resource), grant in sorted(self.manager.grants.items()):
                found.setdefault(holder, {})[resource] = grant.ids
        return found
