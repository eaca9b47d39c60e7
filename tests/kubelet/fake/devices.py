# SPDX-License-Identifier: Apache-2.0
"""Kubelet's device manager: resources, who was given what, and the choice of devices."""

import random
import threading
import time

from . import checkpoint, rpc
from .endpoint import Endpoint
from .messages import plugin

NO_NUMA = -1


class AdmissionError(Exception):
    """The reason of a pod's UnexpectedAdmissionError."""


class Grant:
    """Device ids of one resource that one container holds, and the plugin's cached answer."""

    def __init__(self, numa, reply):
        self.numa, self.reply = numa, reply     # numa: {id: node}

    @property
    def ids(self):
        return sorted(self.numa)

    def by_numa(self):
        nodes = {}
        for id in self.ids:
            nodes.setdefault(self.numa[id], []).append(id)
        return nodes


class Resource:
    def __init__(self, name):
        self.name = name
        self.endpoint = None
        self.healthy, self.unhealthy, self.numa = set(), set(), {}
        self.gone_at = None         # when its plugin was lost
        self.last_error = None

    @property
    def connected(self):
        return self.endpoint is not None and not self.endpoint.stopped


class DeviceManager:
    def __init__(self, directory, grace, log, era="1.36", pods=None):
        """`pods`: {(namespace, pod): Pod} of the API server, which outlives kubelet."""
        self.directory, self.grace, self.log, self.era = directory, grace, log, era
        self.pods = {} if pods is None else pods
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.resources, self.grants = {}, {}
        self.pending = {}       # {(holder, resource): ids} while Allocate is on its way
        self.reusable = {}      # {(namespace, pod, resource): ids} that init containers had
        self.closed = False
        self.end_delay = 0      # seconds until the end of a stream is noticed, as on a busy node
        self.hung, self.released = False, threading.Event()
        self._restore()

    def _restore(self):
        """After a restart the grants are known, and resources are known without a device."""
        entries, registered = checkpoint.load(self.directory)
        self.grants = {key: Grant(numa, reply) for key, numa, reply in entries}
        for name in registered:
            self.resources[name] = Resource(name)
            self.resources[name].gone_at = time.monotonic()

    def _save(self):
        registered = {name: sorted(resource.healthy) for name, resource in self.resources.items()}
        checkpoint.save(self.directory, self.grants, registered)

    def wait_while_hung(self):
        """Calls that come to a kubelet that hangs are answered when it ends."""
        if self.hung:
            self.released.wait()

    # ---- plugins ----

    def connect(self, name, path, options=None):
        """A plugin registered: dial it, ask for its options, begin its one stream."""
        endpoint = Endpoint(name, path, self, options)
        with self.lock:
            if self.closed:
                endpoint.close()
                raise ConnectionError("kubelet is stopping")
            resource = self.resources.setdefault(name, Resource(name))
            endpoint.run()
            resource.endpoint = endpoint    # with its stream: tests read it without the lock
            self.changed.notify_all()
        self.log(f"{name}: registered by {path}")

    def devices_reported(self, endpoint, devices):
        """Each message replaces the whole list, whichever connection it came by."""
        with self.lock:
            if self.closed:
                return
            resource = self.resources.setdefault(endpoint.resource, Resource(endpoint.resource))
            resource.healthy = {d.ID for d in devices if d.health == "Healthy"}
            resource.unhealthy = {d.ID for d in devices} - resource.healthy
            resource.numa = {d.ID: d.topology.nodes[0].ID for d in devices if d.topology.nodes}
            resource.gone_at = None
            self._save()
            self.changed.notify_all()
        self.log(f"{endpoint.resource}: {len(resource.healthy)} healthy, "
                 f"{len(resource.unhealthy)} unhealthy")

    def disconnected(self, endpoint, reason):
        """The resource goes as a whole, also when an older plugin's stream ends after a newer
        one registered: kubelet keeps no more than the resource's name here.  By 1.24 it looked
        whose stream it was; in between it also closed the newer one's connection."""
        with self.lock:
            resource = self.resources.get(endpoint.resource)
            if resource is None or self.closed:
                return
            if self.era == "1.24" and resource.endpoint is not endpoint:
                return
            if self.era == "1.30":
                resource.endpoint.close()
            resource.endpoint.stopped = endpoint.stopped = True
            resource.unhealthy |= resource.healthy
            resource.healthy = set()
            resource.gone_at = time.monotonic()
            resource.last_error = reason
            self.changed.notify_all()
        self.log(f"{endpoint.resource}: plugin lost ({reason})")

    def disconnect(self, path):
        """A plugin's socket was removed from plugins_registry."""
        with self.lock:
            found = [r.endpoint for r in self.resources.values()
                     if r.endpoint is not None and r.endpoint.path == path]
        for endpoint in found:
            endpoint.stream.cancel()

    def expire(self):
        """Forgets resources whose plugin has been away for the grace time."""
        with self.lock:
            late = [name for name, resource in self.resources.items()
                    if resource.gone_at is not None
                    and time.monotonic() - resource.gone_at > self.grace]
            for name in late:
                del self.resources[name]
                self.log(f"{name}: removed, no plugin for {self.grace} s")
            if late:
                self._save()
                self.changed.notify_all()

    def close(self):
        self.released.set()
        with self.lock:
            self.closed = True
            endpoints = [r.endpoint for r in self.resources.values() if r.endpoint is not None]
            self.changed.notify_all()
        for endpoint in endpoints:
            endpoint.close()

    # ---- pods ----

    def in_use(self, name):
        held = {id for (_, resource), grant in self.grants.items() if resource == name
                for id in grant.numa}
        return held.union(*(ids for (_, resource), ids in self.pending.items() if resource == name))

    def _choose(self, holder, resource, count):
        """First what the pod's init containers had, then what the plugin prefers."""
        again = sorted(self.reusable.get((*holder[:2], resource.name), set()))[:count]
        if len(again) == count:
            return again
        free = sorted(resource.healthy - self.in_use(resource.name))
        if len(free) + len(again) < count:
            raise AdmissionError(f"requested number of devices unavailable for {resource.name}. "
                                 f"Requested: {count}, Available: {len(free) + len(again)}")
        chosen = list(again)
        if resource.endpoint.options.get_preferred_allocation_available:
            try:
                answer = resource.endpoint.preferred(free + again, again, count)
            except Exception as error:
                raise AdmissionError("GetPreferredAllocation failed due to "
                                     f"{rpc.describe(error)}") from error
            wanted = [id for id in dict.fromkeys(answer) if id in set(free)]
            chosen += wanted[:count - len(again)]
        rest = [id for id in free if id not in set(chosen)]
        return chosen + random.sample(rest, count - len(chosen))

    def _reserve(self, holder, name, count):
        """The ids to ask for, taken out of the pool; no lock is held while the plugin answers."""
        with self.lock:
            resource = self.resources.get(name)
            if resource is None:
                raise AdmissionError(f"unknown resource {name}")
            if not resource.connected:
                raise AdmissionError(f"cannot allocate {name}: endpoint has been stopped")
            self.reallocation()
            ids = self._choose(holder, resource, count)
            self.pending[(holder, name)] = ids
            return resource, ids

    def reallocation(self):
        """Frees the slots of completed pods: checked when a container is admitted, and at each list."""
        gone = [key for key in self.grants
                if (pod := self.pods.get(key[0][:2])) is not None and pod.completed]
        for key in gone:
            del self.grants[key]
            self.reusable.pop((*key[0][:2], key[1]), None)

    def allocate(self, holder, name, count, init=False):
        """Admission of one container: (namespace, pod, container) asks for `count` of a resource.
        Devices that it holds already are answered from the cache.  Those of init containers are given
        again to the containers after them, and to no other pod while the pod lives."""
        with self.lock:
            if (holder, name) in self.grants:
                return self.grants[(holder, name)]
        resource, ids = self._reserve(holder, name, count)
        try:
            reply = resource.endpoint.allocate(ids)
        except Exception as error:
            raise AdmissionError(f"Allocate failed due to {rpc.describe(error)}") from error
        else:
            with self.lock:
                numa = {id: resource.numa.get(id, NO_NUMA) for id in ids}
                grant = self.grants[(holder, name)] = Grant(numa, reply)
                reusable = self.reusable.setdefault((*holder[:2], name), set())
                if init:
                    reusable |= set(ids)
                else:
                    reusable -= set(ids)
                self._save()
                return grant
        finally:
            with self.lock:
                del self.pending[(holder, name)]

    def hold(self, holder, name, ids):
        with self.lock:
            self.grants[(holder, name)] = Grant({id: NO_NUMA for id in ids},
                                                plugin.ContainerAllocateResponse())

    def has_to_prepare(self, holder, name):
        """PreStartContainer is due, and there are no devices for it."""
        with self.lock:
            return (holder, name) not in self.grants and self.resources[name].endpoint.options.pre_start_required

    def start_container(self, holder):
        """Runs at every start of a container; an error keeps it from starting."""
        with self.lock:
            held = [(self.resources.get(name), grant.ids)
                    for (who, name), grant in self.grants.items() if who == holder]
        for resource, ids in held:
            if resource is not None and resource.connected \
                    and resource.endpoint.options.pre_start_required:
                resource.endpoint.pre_start(ids)

    def release(self, namespace, pod):
        """The pod ended.  No plugin is told: there is no such call."""
        with self.lock:
            gone = [key for key in self.grants if key[0][:2] == (namespace, pod)]
            for key in gone:
                del self.grants[key]
                self.reusable.pop((namespace, pod, key[1]), None)
            self._save()
            return len(gone)
