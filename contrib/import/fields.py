# SPDX-License-Identifier: Apache-2.0
"""The keys of an object by a table, as the plugins' own parser takes them: case does not matter, null is absent, and a
key that is not known is not an error"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from documents import Plain, Value, flag, integer, type_name
from resources import Choice, Group, Import

VALUES_MAX = 8192  # of all selectors; rdmad.conf may have twice as many settings
PATTERN_MAX = 128


def get(value: Value, key: str) -> Value:
    """The value of a key, or None if it is absent or null."""
    if not isinstance(value, dict):
        return None
    return next((found for name, found in value.items() if name.lower() == key.lower() and found is not None), None)


def below(value: Value, *keys: str) -> Value:
    """The value at a path of keys whose case matters, or None."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def items(value: Value) -> list[Value]:
    return value if isinstance(value, list) else []


def name_of(document: Value) -> str:
    name = below(document, "metadata", "name")
    return name if isinstance(name, str) else ""


# Of drivers of the RDMA subsystem, which common examples have.
PCI_DRIVERS = {"mlx5_ib": "mlx5_core", "mlx4_ib": "mlx4_core", "hns_roce_hw_v2": "hns3", "hns-roce-hw-v2": "hns3",
               "bnxt_re": "bnxt_en"}


# ---- types of values ----

Reader = Callable[[Import, str, Value], Any]


def wrong_type(imported: Import, path: str, value: Value, wanted: str) -> NoReturn:
    imported.refuse(path, f"this is {type_name(value)}, and should be {wanted}")


def text(imported: Import, path: str, value: Value) -> str:
    if not isinstance(value, str):
        wrong_type(imported, path, value, "a string")
    return str(value)


def number(imported: Import, path: str, value: Value) -> int:
    found = integer(value)
    if found is None:
        wrong_type(imported, path, value, "a whole number")
    if found < 0:
        imported.refuse(path, f"{found} is negative")
    return found


def boolean(imported: Import, path: str, value: Value) -> bool:
    found = flag(value)
    if found is None:
        wrong_type(imported, path, value, "true or false")
    return found


def mapping(imported: Import, path: str, value: Value) -> dict[str, Value]:
    if not isinstance(value, dict):
        wrong_type(imported, path, value, "an object")
    return value


def sequence(imported: Import, path: str, value: Value) -> list[Value]:
    if not isinstance(value, list):
        wrong_type(imported, path, value, "a list")
    return value


def mappings(imported: Import, path: str, value: Value) -> Value:
    """One object, or a list."""
    return value if isinstance(value, list) else mapping(imported, path, value)


@dataclass(frozen=True)
class Lost:
    """A key of any type that is dropped."""
    why: str


@dataclass(frozen=True)
class Selector:
    """A list of texts."""
    ours: str  # its name in rdmad's configuration
    convert: Callable[[str], str]  # to rdmad's syntax; raises ValueError

    def read(self, imported: Import, path: str, value: Value) -> str:
        try:
            converted = self.convert(text(imported, path, value))
        except ValueError as error:
            imported.refuse(path, str(error))
        if converted.startswith("!") or "*" in converted or "?" in converted:
            imported.mind(path, "a pattern for rdmad; the plugin took it literally")
        if self.ours == "drivers" and converted in PCI_DRIVERS:
            imported.mind(path, f"{converted} is not a PCI driver: {PCI_DRIVERS[converted]} in its place")
            return PCI_DRIVERS[converted]
        return converted

    def add(self, imported: Import, path: str, values: Value, group: Group) -> None:
        if not isinstance(values, list):
            wrong_type(imported, path, values, "a list of strings")
        if self.ours in group:
            imported.refuse(path, "this key is here twice")
        imported.n_values += 1 + len(values)
        if imported.n_values > VALUES_MAX:
            imported.refuse(path, "more values than rdmad.conf allows")
        found = [self.read(imported, f"{path}[{i}]", value) for i, value in enumerate(values)]
        if found:  # an empty list counts as absent
            group[self.ours] = Choice(found)


Table = Mapping[str, Reader | Lost | Selector]


@dataclass
class Read:
    """What a table has read, by the keys of the table."""
    values: dict[str, Any] = field(default_factory=dict)
    group: Group = field(default_factory=dict)


def read(imported: Import, path: str, value: Value, table: Table, owner: str = "the plugin") -> Read:
    keys = {key.lower(): key for key in table}
    found = Read()
    for name, inner in mapping(imported, path, value).items():
        inner_path = f"{path}.{name}" if path else name
        key = keys.get(name.lower())
        if key is None:
            imported.lose(inner_path, f"{owner} has no such key")
        elif inner is not None:
            take = table[key]
            if isinstance(take, Lost):
                imported.lose(inner_path, take.why)
            elif isinstance(take, Selector):
                take.add(imported, inner_path, inner, found.group)
            else:
                found.values[key] = take(imported, inner_path, inner)
    return found


def as_written(value: Value) -> Value:
    """The values of a template, which prints them: a number is the text that it was written as."""
    if isinstance(value, dict):
        return {key: as_written(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [as_written(inner) for inner in value]
    return Plain(value) if type(value) in (int, float) else value


# ---- values of selectors, from the plugins' syntax to rdmad's ----

PCI_ADDRESS = "[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\\.[0-7]"


def pattern(value: str) -> str:
    if value in ("", "!") or len(value.encode("utf-8", "surrogateescape")) > PATTERN_MAX:
        raise ValueError(f'"{value}" should have 1 to 128 characters')
    if any(char <= " " or char == "\x7f" for char in value):
        raise ValueError(f'"{value}" has a blank or a control character')
    return value


def one_name(value: str) -> str:
    if set(pattern(value)) & set("[]{},|"):
        raise ValueError(f'"{value}" is not a name; each is a text of its own')
    return value


def hexadecimal(what: str, example: str) -> Callable[[str], str]:
    def convert(value: str) -> str:
        if not re.fullmatch("(0x)?[0-9a-fA-F]{4}", value):
            raise ValueError(f'"{value}" is not a {what}: four hexadecimal digits, as "{example}"')
        return value[-4:].lower()
    return convert


pci_id = hexadecimal("PCI id", "15b3")
pkey = hexadecimal("P_Key", "0x8001")


def acpi_index(value: str) -> str:
    if not re.fullmatch("[0-9]{1,10}", value) or int(value) >= 1 << 32:
        raise ValueError(f'"{value}" is not a number')
    return value


def pci_address(value: str) -> str:
    if not re.fullmatch(PCI_ADDRESS, value):
        raise ValueError(f'"{value}" is not a PCI address such as "0000:3b:00.0"')
    return value.lower()


def link_type(value: str) -> str:
    if value not in ("ether", "infiniband"):
        raise ValueError(f'"{value}" is not a link type of RDMA devices: "ether" or "infiniband"')
    return "ethernet" if value == "ether" else value


def ranges_ok(value: str) -> bool:
    """What is behind "#": "0-3,7"."""
    for part in value.split(","):
        ends = re.fullmatch("([0-9]{1,10})(?:-([0-9]{1,10}))?", part)
        if not ends or not int(ends[1]) <= int(ends[2] or ends[1]) < 1 << 16:
            return False
    return True


def netdev_range(value: str) -> str:
    netdev, hash_sign, ranges = value.partition("#")
    if hash_sign and (not netdev or not ranges_ok(ranges)):
        raise ValueError(f'"{value}" is not an interface with functions such as "ens1f0#0-3,7"')
    return pattern(value)


def pci_range(value: str) -> str:
    address, hash_sign, ranges = value.partition("#")
    if not re.fullmatch(PCI_ADDRESS, address) or hash_sign and not ranges_ok(ranges):
        raise ValueError(f'"{value}" is not a PCI address with functions such as "0000:3b:00.0#0-3,7"')
    return value.lower()
