# SPDX-License-Identifier: Apache-2.0
"""A real Prometheus for tests: a directory of its own, a free port, questions.

The lab and the integration tests share it.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

from ports import free_port

PATIENCE = 60


def installed():
    return shutil.which("prometheus") and shutil.which("promtool")


def fetch(url, headers=None, timeout=30):
    """(headers, body) of a GET."""
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers or {}),
                                timeout=timeout) as answer:
        return answer.headers, answer.read()


def wait_for(condition, what, patience=PATIENCE):
    end = time.monotonic() + patience
    while not (found := condition()):
        assert time.monotonic() < end, f"no {what() if callable(what) else what}"
        time.sleep(0.1)
    return found


class Prometheus:
    """`config`: prometheus.yml as a dict; it scrapes and evaluates as often as that says."""

    def __init__(self, directory, config):
        self.directory = directory
        self.address = f"127.0.0.1:{free_port()}"
        with open(os.path.join(directory, "prometheus.yml"), "w", encoding="utf-8") as file:
            json.dump(config, file)     # which is YAML
        self.log = open(os.path.join(directory, "prometheus.log"), "a+b")
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={directory}/prometheus.yml",
             f"--storage.tsdb.path={directory}/data", f"--web.listen-address={self.address}",
             "--web.enable-lifecycle"], stdout=self.log, stderr=self.log)
        wait_for(self.ready, lambda: "Prometheus:\n" + self.said())

    def said(self):
        self.log.seek(0)
        return self.log.read().decode(errors="replace")

    def ready(self):
        assert self.process.poll() is None, self.said()
        try:
            return bool(fetch(f"http://{self.address}/-/ready"))
        except (urllib.error.URLError, OSError):
            return False

    def get(self, path, **parameters):
        """`data` of an API answer.  A refused query is a ValueError."""
        url = f"http://{self.address}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            return json.loads(fetch(url)[1])["data"]
        except urllib.error.HTTPError as error:
            raise ValueError(json.loads(error.read())["error"]) from error

    def query(self, expression):
        """[(labels, value)] now; labels without the name."""
        found = self.get("query", query=expression)["result"]
        return [({k: v for k, v in series["metric"].items() if k != "__name__"},
                 float(series["value"][1])) for series in found]

    def value(self, expression):
        found = self.query(expression)
        assert len(found) == 1, (expression, found)
        return found[0][1]

    def names(self):
        return set(self.get("label/__name__/values"))

    def targets(self):
        return self.get("targets")["activeTargets"]

    def wait_scraped(self, times=3):
        """Each target, so often that rate() has something."""
        def errors():
            return "scrapes: " + "; ".join(target["lastError"] for target in self.targets())
        wait_for(lambda: self.query(f"min(count_over_time(up[1h])) >= {times} and min(up) == 1"), errors)

    def wait_evaluated(self):
        """All rules, twice: alerts use what was recorded before."""
        def done():
            groups = self.get("rules")["groups"]
            return groups and all(group["lastEvaluation"] > begun for group in groups)
        for _ in range(2):
            begun = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())
            time.sleep(1.1)
            wait_for(done, "evaluation of the rules")

    def warnings(self):
        return [line for line in self.said().splitlines() if re.search(r"level=(warn|error)", line)]

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(PATIENCE)
        self.log.close()
