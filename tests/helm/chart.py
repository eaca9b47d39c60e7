# SPDX-License-Identifier: Apache-2.0
"""The chart of contrib/helm as helm renders it."""

import os
import shutil
import subprocess
import unittest

import yaml

CONTRIB = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../contrib")
CHART = os.path.join(CONTRIB, "helm/rdmad")
VALUES = os.path.join(CONTRIB, "helm/values")
HELM = shutil.which(os.environ.get("HELM", "helm"))
# The Kubernetes versions of clusters of the oldest and of a recent release.
VERSIONS = ("1.24.0", "1.31.0")
PATIENCE = 300

needs_helm = unittest.skipUnless(HELM, "helm is missing: it is not in Debian; $HELM or PATH has to name it")


def values(name):
    return os.path.join(VALUES, f"{name}.yaml")


def helm(*arguments):
    return subprocess.run([HELM, *arguments], capture_output=True, text=True, timeout=PATIENCE, check=False)


def template(*options, kube="1.31.0"):
    return helm("template", "rdmad", CHART, "--namespace", "kube-system", "--kube-version", kube, *options)


def render(*options, **more):
    """{kind: [objects]}"""
    done = template(*options, **more)
    if done.returncode:
        raise AssertionError(done.stderr)
    found = {}
    for document in yaml.safe_load_all(done.stdout):
        if document:
            found.setdefault(document["kind"], []).append(document)
    return found


def write_config(directory, *options):
    """The configuration that rdmad finds in its container; returns the path of its file."""
    files = next(item for item in render(*options)["ConfigMap"] if "rdmad.conf" in item["data"])["data"]
    os.makedirs(os.path.join(directory, "conf.d"), exist_ok=True)
    for name, text in files.items():
        place = "rdmad.conf" if name == "rdmad.conf" else os.path.join("conf.d", name)
        with open(os.path.join(directory, place), "w", encoding="utf-8") as file:
            file.write(text)
    return os.path.join(directory, "rdmad.conf")
