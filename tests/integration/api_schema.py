# SPDX-License-Identifier: Apache-2.0
"""contrib/api/v1.schema.json: what an answer of the API must be.

Stricter than the schema, which lets new members pass: a member that it does not name is an error."""

import copy
import json
import os

try:
    import jsonschema
except ImportError:
    jsonschema = None

FILE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../contrib/api/v1.schema.json")
WHY = "python3-jsonschema is not installed"

with open(FILE, encoding="utf-8") as _file:
    SCHEMA = json.load(_file)


def _close(part):
    if isinstance(part, dict):
        if "properties" in part and "type" in part and "object" in part["type"] and "allOf" not in part:
            part.setdefault("additionalProperties", False)
        for value in part.values():
            _close(value)
    elif isinstance(part, list):
        for value in part:
            _close(value)


_CLOSED = copy.deepcopy(SCHEMA)
_close(_CLOSED["$defs"])


def problems(route, status, answer):
    """Of the answer to "GET /api/v1/devices/*"; an empty list where it is as the schema says."""
    part = SCHEMA["answers"][route] if status == 200 else {"$ref": "#/$defs/error"}
    if status == 409:       # with what it would have been
        part = SCHEMA["answers"][route]
    validator = jsonschema.Draft202012Validator({"$defs": _CLOSED["$defs"], **part})
    return [f"{error.json_path}: {error.message[:300]}" for error in validator.iter_errors(answer)]


def names(part, found=None):
    """All members below a part of the schema, those of the types that it refers to included."""
    found = set() if found is None else found
    if isinstance(part, dict):
        if "$ref" in part:
            names(SCHEMA["$defs"][part["$ref"].rpartition("/")[2]], found)
        if isinstance(part.get("properties"), dict):
            found.update(part["properties"])
        for value in part.values():
            names(value, found)
    elif isinstance(part, list):
        for value in part:
            names(value, found)
    return found
