#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Which devices a pod is given on the node with eight rails, and what its container is told of them.

usage: test-placement.py RDMAD MODULE-DIR [TEST...]
"""

import sys

sys.dont_write_bytecode = True

from plugin_case import HCA, PluginCase, tap  # noqa: E402

GPUS = [f"GPU-5ec0de00-0000-0000-0000-00000000000{i}" for i in range(8)]


class ChoiceTest(PluginCase):
    def given(self, pod, count):
        """Names of the devices that a new pod gets, in order."""
        names = {d["device_id"]: d["device_name"] for d in self.ask("devices")["devices"]}
        ids = self.kubelet.allocate(pod, HCA, count).ids
        return sorted(names[id.partition("::")[0]] for id in ids)

    def test_pods_are_spread_over_the_rails(self):
        self.both()
        self.wait_ready()
        names = [self.given(f"ml/p{i}", 1)[0] for i in range(16)]
        self.assertEqual({name: names.count(name) for name in names},
                         {f"mlx5_{i}": 2 for i in range(8)})

    def test_what_has_no_gpu_is_given_last(self):
        self.both()
        self.wait_ready()
        self.assertEqual(self.given("ml/a", 8), [f"mlx5_{i}" for i in range(8)])
        self.assertEqual(self.given("ml/b", 9), [f"mlx5_{i}" for i in range(9)])
        self.assertEqual(self.given("ml/c", 10), [f"mlx5_{i}" for i in range(10)])

    def test_devices_near_free_gpus_are_given_first(self):
        self.both()
        self.wait_ready()
        self.kubelet.hold("ml/gpus", "nvidia.com/gpu", [
            GPUS[0] + "::2", "MIG-" + GPUS[1] + "/1/0", GPUS[2], "0000:61:00.0", "elsewhere"])
        self.kubelet.allocate("ml/a", HCA, 1)       # a look at podresources follows
        self.wait_for(lambda: [c for c in self.allocations().values() if c["pod"]], "name of the pod")
        self.assertEqual(self.given("ml/b", 4), [f"mlx5_{i}" for i in range(4, 8)])


if __name__ == "__main__":
    tap.main(sys.argv[3:])
