#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""From a new address to the rewritten nccl.conf: nccl-follow.py CONF INTERFACE ADDRESS TIMES

Moves the interface from address to address and prints how long the file took.
"""

import subprocess
import sys
import time

PATIENCE = 20


def ip(*words):
    subprocess.run(["ip", "address", *words], check=True)


def wait_for(path, text):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with open(path) as file:
            if text in file.read():
                return
        time.sleep(0.001)
    sys.exit(f"no {text} in {path} within {PATIENCE} s")


def main(path, interface, address, times):
    took = []
    old = f"{address}/24"
    for i in range(times):
        # Of no network: one that goes with its network's first address would go as well.
        new = f"192.0.2.{100 + i % 100}/32"
        ip("add", new, "dev", interface)
        began = time.monotonic()
        ip("del", old, "dev", interface)
        wait_for(path, f"NCCL_IB_ADDR_RANGE={new}\n")
        took.append(time.monotonic() - began)
        old = new
    took.sort()
    print(f"from the GID event to nccl.conf, {times} times: median {took[times // 2] * 1000:.0f} ms, "
          f"p99 {took[min(times - 1, times * 99 // 100)] * 1000:.0f} ms")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
