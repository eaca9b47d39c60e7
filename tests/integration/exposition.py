# SPDX-License-Identifier: Apache-2.0
"""Prometheus' formats: a strict reader of both text formats, and a scraper."""

import gzip
import http.client
import re

LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
SERIES = re.compile(rf"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{{((?:{LABEL})?(?:,{LABEL})*)\}})? (\S+)")
PART = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"')
ESCAPES = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}
OPENMETRICS = "application/openmetrics-text; version=1.0.0"


def unescape(text):
    return re.sub(r"\\.", lambda match: ESCAPES[match[0]], text)


def parse(text):
    """{(name, ((label, value), ...)): number}; an error where anything is not as it should be."""
    series, families, family = {}, set(), None
    lines = text.split("\n")
    assert lines.pop() == "", "the last line has no end"
    for line in lines:
        if line == "# EOF":
            continue
        if line.startswith("# "):
            _, what, name, *_ = line.split(" ", 3)
            assert what in ("HELP", "TYPE", "UNIT"), line
            if name != family:
                assert name not in families, f"{name} comes twice"
                families.add(name)
                family = name
            continue
        match = SERIES.fullmatch(line)
        assert match, f"no series: {line!r}"
        assert family and match[1].startswith(family), f"{line!r} stands below {family}"
        labels = tuple((name, unescape(value)) for name, value in PART.findall(match[2] or ""))
        key = (match[1], labels)
        assert key not in series, f"twice: {line!r}"
        series[key] = float(match[3])
    return series


def values(series, name, **labels):
    """[(labels, number)] of that name whose labels hold those."""
    return [(dict(own), number) for (other, own), number in series.items()
            if other == name and labels.items() <= dict(own).items()]


class Scraper:
    """One connection that stays open."""

    def __init__(self, port, source="127.0.0.1"):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60, source_address=(source, 0))

    def get(self, path="/metrics", method="GET", **headers):
        """The answer with its body, which is plain in any case."""
        self.connection.request(method, path, headers={name.replace("_", "-"): value
                                                       for name, value in headers.items()})
        answer = self.connection.getresponse()
        body = answer.read()
        if answer.getheader("Content-Encoding") == "gzip" and body:
            body = gzip.decompress(body)
        answer.text = body.decode()
        return answer

    def scrape(self, timeout=None, **headers):
        if timeout is not None:
            headers["X_Prometheus_Scrape_Timeout_Seconds"] = str(timeout)
        answer = self.get(**headers)
        assert answer.status == 200, answer.text
        return parse(answer.text)

    def close(self):
        self.connection.close()
