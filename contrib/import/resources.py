# SPDX-License-Identifier: Apache-2.0
"""What is imported: resources, notes, and the settings of other modules"""

import re
import string
import unicodedata
from dataclasses import dataclass, field
from typing import Any, NoReturn

from documents import Refused

RESOURCES_MAX = 64  # each may list all others in shared_with
NOTES_MAX = 1000
DOMAIN_MAX = 253 - len("requests.")  # a subdomain, with the prefix that quotas add
BASE_MAX = 63


def escape(text: str) -> str:
    """The text without control characters and without bytes that are not UTF-8."""
    out = []
    for char in text:
        if "\udc80" <= char <= "\udcff":
            out.append("\ufffd")
        elif char in "\n\t":
            out.append({"\n": "\\n", "\t": "\\t"}[char])
        elif unicodedata.category(char) in ("Cc", "Cf"):
            out.append(f"\\x{ord(char):02x}" if char < "\u0100" else f"\\u{ord(char):04x}")
        else:
            out.append(char)
    return "".join(out)


@dataclass(frozen=True)
class Options:
    file: str  # its name, for messages
    key: str | None = None  # in a ConfigMap's data; None: the only key
    prefix: str | None = None  # -resource-prefix of the SR-IOV plugin


@dataclass
class Source:
    """A configuration that was found in the file."""
    place: str  # prefix of errors: "cm.yaml: rdma-devices/config.json"
    label: str  # prefix of paths in notes: "rdma-devices/config.json: ", or ""
    config: Any
    prefix: str | None = None  # of its plugin's arguments
    cdi: bool = False  # its plugin uses CDI


@dataclass(frozen=True)
class Choice:
    """The values of a selector."""
    values: list[str]
    why: str | None = None  # a comment, for a selector that is not in the file


# By rdmad's names of selectors.  Without any, every device is selected.
Group = dict[str, Choice]


def group_values(group: Group) -> dict[str, list[str]]:
    return {key: choice.values for key, choice in group.items()}


def groups_overlap(a: Group, b: Group) -> bool:
    """A device has one vendor, one driver and so on: with disjoint values, no device is in both."""
    return all(set(choice.values) & set(b[key].values) for key, choice in a.items() if key in b)


@dataclass
class Resource:
    name: str  # "rdma/hca"
    place: str  # "configList[0]"
    groups: list[Group]
    count: int = 0  # slots of the pool, or of each device
    exclusive: bool = False  # else `count` slots share the devices
    mode_from: str | None = None  # the attribute with the mode; `count` slots per device
    per_device: bool = False  # `count` slots per device, each with uverbs and rdma_cm
    all_devices: bool = False  # with per_device: a slot gives all devices
    numa: bool = False  # the NUMA node is advertised
    cdi: bool = False  # containers get names of CDI
    origin: str = ""  # the place with the source's label, printable
    shared_with: list[str] = field(default_factory=list)

    def overlaps(self, other: "Resource") -> bool:
        return any(groups_overlap(mine, theirs) for mine in self.groups for theirs in other.groups)


def domain_ok(domain: str) -> bool:
    letters = set(string.ascii_lowercase + string.digits + "-")
    return (len(domain) <= DOMAIN_MAX
            and all(label and set(label) <= letters and "-" not in (label[0], label[-1])
                    for label in domain.split("."))
            and not domain.startswith("requests.") and domain != "kubernetes.io"
            and not domain.endswith(".kubernetes.io"))


def name_ok(name: str) -> bool:
    """Kubernetes' rule for extended resources."""
    domain, _, base = name.partition("/")
    return (domain_ok(domain) and len(base) <= BASE_MAX
            and re.fullmatch("[A-Za-z0-9]([-_.A-Za-z0-9]*[A-Za-z0-9])?", base) is not None)


class Import:
    def __init__(self, options: Options, notes: list[str]):
        self.options = options
        self.notes = notes  # the caller prints them, also after an error
        self.source = Source(options.file, "", None)  # being read
        self.resources: list[Resource] = []
        self.n_values = 0  # of all selectors
        self.cni_network: str | None = None  # annotation_networks of the module cni
        self.erdma_driver: str | None = None  # prefer_driver of the module erdma

    def refuse(self, path: str, why: str) -> NoReturn:
        raise Refused(f"{self.source.place}: {path}{': ' if path else ''}{why}")

    def note(self, text: str) -> None:
        if len(self.notes) < NOTES_MAX:
            self.notes.append(escape(text))
        elif len(self.notes) == NOTES_MAX:
            self.notes.append("and more that is not listed here")

    def lose(self, path: str, why: str) -> None:
        """A setting is lost."""
        self.note(f"not carried over: {self.source.label}{path}: {why}")

    def mind(self, path: str, why: str) -> None:
        """A setting needs attention."""
        self.note(f"mind: {self.source.label}{path}: {why}")

    def find(self, name: str) -> Resource | None:
        return next((resource for resource in self.resources if resource.name == name), None)

    def add(self, resource: Resource) -> Resource:
        if not name_ok(resource.name):
            self.refuse(resource.place, f'"{resource.name}" is not a resource name: kubelet refuses it too')
        other = self.find(resource.name)
        if other:
            self.refuse(resource.place, f'"{resource.name}" is the name of {other.origin} already')
        if len(self.resources) == RESOURCES_MAX:
            self.refuse(resource.place, f"more than {RESOURCES_MAX} resources")
        resource.origin = escape(self.source.label + resource.place)
        resource.cdi = self.source.cdi
        self.resources.append(resource)
        return resource
