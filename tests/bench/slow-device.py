#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Allocate while one device takes two seconds for its counters, and is scraped every second.

Three times on the same tree, in turn: nobody scrapes, scrapes of healthy devices, scrapes with the slow
one.  What a scrape has with it: all other devices.
"""

import http.client
import os
import sys
import threading
import time
import unittest

import benchlib
from benchlib import ALLOCATE, Daemon, Scratch, Table, median

sys.path.insert(0, os.path.join(benchlib.TESTS, "integration"))
from ports import free_port  # noqa: E402
from slow_files import SlowFiles  # noqa: E402

ROUNDS = 9
CALLS = 400
SLOTS = 1000
DEVICES = 11
SLOW = "*/mlx5_3/ports/1/hw_counters/*=delay:2000"


class Scraper(threading.Thread):
    """Every second; keeps how long it took and how many devices were in it."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.port = port
        self.seconds, self.devices = [], []
        self.ended = threading.Event()
        self.start()

    def scrape(self):
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=benchlib.PATIENCE)
        client.request("GET", "/metrics", headers={"X-Prometheus-Scrape-Timeout-Seconds": "1"})
        body = client.getresponse().read().decode()
        client.close()
        return sum(line.startswith("rdma_device_scrape_success{") and line.endswith(" 1")
                   for line in body.splitlines())

    def run(self):
        while not self.ended.is_set():
            begun = time.monotonic()
            self.devices.append(self.scrape())
            self.seconds.append(time.monotonic() - begun)
            self.ended.wait(max(0, 1.05 - self.seconds[-1]))

    def end(self):
        self.ended.set()
        self.join()


def wait_for_scrape(scraper, slow, state):
    """One that is of this state, and not of a reading before it."""
    def seen():
        slow.rules(state == "slow")
        return scraper.devices and scraper.devices[-1] == DEVICES - (state == "slow")
    time.sleep(1.2)
    benchlib.wait_for(seen, f"scrape that is {state}")


def measure(build, daemon, slow, port, requests):
    """p50 and p99 in each state, medians of the rounds; the devices that scrapes had."""
    socket = daemon.socket()
    results = {"none": [], "healthy": [], "slow": []}
    devices = {}
    build.ask("bench-client", socket, ALLOCATE, requests, CALLS)
    for _ in range(ROUNDS):
        for state, taken in results.items():
            slow.rules(state == "slow")
            scraper = Scraper(port) if state != "none" else None
            if scraper:
                wait_for_scrape(scraper, slow, state)
            taken.append(build.ask("bench-client", socket, ALLOCATE, requests, CALLS))
            if scraper:
                scraper.end()
                devices[state] = scraper.devices[-1]
    return {state: {key: median(r[key] for r in taken) for key in ("p50_us", "p99_us")}
            for state, taken in results.items()}, devices


def report(taken, devices):
    table = Table(f"Allocate while counters are read, median of {ROUNDS} rounds of {CALLS} calls", "us")
    for key, name in (("p50_us", "p50"), ("p99_us", "p99")):
        table.at_most_times(f"{name}, scraped every second", taken["healthy"][key], "not scraped",
                            taken["none"][key])
        table.at_most_times(f"{name}, and one device takes 2 s", taken["slow"][key],
                            "scraped and healthy", taken["healthy"][key], 1.1)
    table.note(f"devices in a scrape: {devices['healthy']} healthy, {devices['slow']} with the slow one")
    table.print()


def main():
    build = benchlib.build_from_command_line()
    port = free_port()
    config = ('modules = { device-plugin = { resources = ( { name = "rdma/hca"; count = 1000; } ); }; '
              f'metrics = {{ listen = "127.0.0.1:{port}"; }}; }};')
    with Scratch() as scratch:
        source = benchlib.expand("gpu-8rail", scratch.path("machine"))
        try:
            slow = SlowFiles(build.program("../machines/slow-files"), source, SLOW)
        except unittest.SkipTest as reason:
            print(f"skipped: {reason}")
            sys.exit(benchlib.SKIP)
        slow.rules(False)
        try:
            with Daemon(build, slow.path, scratch.path("rdmad"), config=config,
                        modules=["device-plugin", "metrics"]) as daemon:
                offer = benchlib.Offer(daemon.socket())
                requests = benchlib.write_requests(scratch.path("requests"), offer.slots[:SLOTS])
                report(*measure(build, daemon, slow, port, requests))
                offer.close()
        finally:
            slow.close()


if __name__ == "__main__":
    main()
