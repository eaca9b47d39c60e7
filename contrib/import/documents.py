# SPDX-License-Identifier: Apache-2.0
"""JSON and YAML as people and kubectl write them, of bounded size and depth, with the place of what is wrong"""

import re
from typing import Any, Iterator, NoReturn

import yaml

# Mappings are dict, lists are list; a text without quotes in YAML is Plain, and what it means is up to its reader.
Value = Any

SIZE_MAX = 1 << 20  # bytes, also the limit of a ConfigMap
DEPTH_MAX = 64
DOCUMENTS_MAX = 256
VALUES_MAX = 1 << 18
INTEGER_MAX = 2**63 - 1


class Refused(Exception):
    """The configuration cannot be imported; the message names the place."""


class Plain(str):
    """A text as it is written: 0x1017, 101e3 and on are texts where a text is wanted."""


def flag(value: Value) -> bool | None:
    """What YAML 1.1, and so Helm, takes as true or false; None: it is neither."""
    if isinstance(value, bool):
        return value
    if not isinstance(value, Plain) or value not in (value.lower(), value.capitalize(), value.upper()):
        return None
    word = value.lower()
    return True if word in ("true", "yes", "on", "y") else False if word in ("false", "no", "off", "n") else None


def integer(value: Value) -> int | None:
    """A decimal number; None also for 010 and 0x10, which readers of YAML understand differently."""
    if isinstance(value, Plain) and re.fullmatch("-?(0|[1-9][0-9]{0,18})", value):
        value = int(value)
    if type(value) is int and -INTEGER_MAX - 1 <= value <= INTEGER_MAX:
        return value
    return None


def type_name(value: Value) -> str:
    if value is None:
        return "null"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if flag(value) is not None:
        return "true or false"
    if integer(value) is not None:
        return "a whole number"
    if isinstance(value, float) or isinstance(value, Plain) and re.fullmatch(r"-?[0-9]+\.[0-9]+", value):
        return "a number with a fraction"
    return "a string"


# ---- JSON ----

SPACE = re.compile("[ \t\r\n]*")
WORD = re.compile("[A-Za-z]+")
NUMBER = re.compile(r"-?(?:0(?![0-9])|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
BROKEN_NUMBER = re.compile(r"-?(?:0(?=[0-9])|[0-9]+(?:\.(?=[0-9]))?[0-9]*(?:[eE][+-]?)?)?")
PART = re.compile(r'[^"\\\x00-\x1f\udc80-\udcff]*')
HEX = "[0-9a-fA-F]"
ESCAPE = re.compile(rf'\\(?:u([dD][89abAB]{HEX}{{2}})\\u({HEX}{{4}})|u({HEX}{{4}})|["\\/bfnrt])')
BROKEN_ESCAPE = re.compile("(?:u[0-9a-fA-F]*)?")
ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
LITERALS: dict[str, bool | None] = {"true": True, "false": False, "null": None}


class Json:
    """Reads one JSON text.  The messages are those of the library with which rdmad reads JSON."""

    def __init__(self, place: str, text: str):
        self.place = place
        self.text = text
        self.start = self.end = 0  # of the token
        self.token = ""  # its kind: one of {}[]:, or "string", "value", "invalid", "end"
        self.value: Value = None
        self.depth = 0

    def refuse(self, why: str) -> NoReturn:
        token = self.text[self.start:self.end]
        if not token:
            why += " near end of file"
        elif len(token.encode("utf-8", "surrogateescape")) <= 20:
            why += f" near '{token}'"
        self.refuse_at(self.end, why)

    def refuse_at(self, offset: int, why: str) -> NoReturn:
        before = self.text[:offset]
        column = len(before) - before.rfind("\n") - 1
        raise Refused(f"{self.place}:{before.count(chr(10)) + 1}:{max(column, 1)}: {why}")

    def next(self) -> None:
        space = SPACE.match(self.text, self.end)
        assert space
        self.start = self.end = space.end()
        char = self.text[self.start:self.start + 1]
        self.refuse_byte()
        self.end = self.start + len(char)
        if not char:
            self.token = "end"
        elif char in "{}[]:,":
            self.token = char
        elif char == '"':
            self.token, self.value = "string", self.string()
        elif char in "-0123456789":
            self.number()
        else:
            self.word()

    def refuse_byte(self) -> None:
        """Bytes that are not UTF-8 are lone surrogates."""
        char = self.text[self.end:self.end + 1]
        if "\udc80" <= char <= "\udcff":
            token = self.text[self.start:self.end]
            why = f"unable to decode byte 0x{ord(char) - 0xdc00:x}"
            self.refuse_at(self.end, why + f" near '{token}'" if 0 < len(token.encode()) <= 20 else why)

    def word(self) -> None:
        word = WORD.match(self.text, self.start)
        self.end = word.end() if word else self.end
        self.token = "invalid"
        self.refuse_byte()
        if word and word[0] in LITERALS:
            self.token, self.value = "value", LITERALS[word[0]]

    def number(self) -> None:
        number = NUMBER.match(self.text, self.start)
        if not number or self.text[number.end():number.end() + 1] in (".", "e", "E") and self.text[number.end():]:
            broken = BROKEN_NUMBER.match(self.text, self.start)
            assert broken
            self.token, self.end = "invalid", broken.end()
            return
        self.token, self.end = "value", number.end()
        if number[1] or number[2]:
            self.value = float(number[0])
            if self.value in (float("inf"), float("-inf")):
                self.refuse("real number overflow")
        else:
            self.value = int(number[0]) if len(number[0]) < 21 else INTEGER_MAX + 1
            if self.value > INTEGER_MAX or self.value < -INTEGER_MAX - 1:
                self.refuse("too big negative integer" if number[0][0] == "-" else "too big integer")

    def string(self) -> str:
        while True:
            self.end = PART.match(self.text, self.end).end()  # type: ignore[union-attr]
            self.refuse_byte()
            char = self.text[self.end:self.end + 1]
            if not char:
                self.refuse("premature end of input")
            if char < " ":
                self.refuse("unexpected newline" if char == "\n" else f"control character 0x{ord(char):x}")
            self.end += 1
            if char == '"':
                return ESCAPE.sub(self.unescape, self.text[self.start + 1:self.end - 1])
            escape = ESCAPE.match(self.text, self.end - 1)
            if not escape:
                # With the character that is wrong.
                self.end = BROKEN_ESCAPE.match(self.text, self.end).end() + 1  # type: ignore[union-attr]
                self.refuse("invalid escape")
            self.end = escape.end()

    def unescape(self, escape: re.Match[str]) -> str:
        digits = escape[1] or escape[3]
        if not digits:
            return ESCAPES[escape[0][1]]
        first, second = int(digits, 16), int(escape[2] or "0", 16)
        if 0xd800 <= first < 0xdc00 <= second < 0xe000:
            return chr(0x10000 + ((first - 0xd800) << 10) + second - 0xdc00)
        if 0xd800 <= first < 0xe000:
            self.refuse(f"invalid Unicode '\\u{first:04X}" + (f"\\u{second:04X}'" if escape[2] else "'"))
        return chr(first)

    def any(self) -> Value:
        self.depth += 1
        if self.depth > DEPTH_MAX:
            self.refuse("maximum parsing depth reached")
        if self.token == "{":
            value: Value = self.object()
        elif self.token == "[":
            value = self.array()
        elif self.token in ("string", "value"):
            value = self.value
            if self.token == "string" and "\0" in value:
                self.refuse("\\u0000 is not allowed without JSON_ALLOW_NUL")
        else:
            self.refuse("invalid token" if self.token == "invalid" else "unexpected token")
        self.depth -= 1
        return value

    def object(self) -> dict[str, Value]:
        found: dict[str, Value] = {}
        self.next()
        while self.token != "}" or found:
            if self.token != "string":
                self.refuse("string or '}' expected")
            key = self.value
            if "\0" in key:
                self.refuse("NUL byte in object key not supported")
            if key in found:
                self.refuse("duplicate object key")
            self.next()
            if self.token != ":":
                self.refuse("':' expected")
            self.next()
            found[key] = self.any()
            self.next()
            if self.token != ",":
                break
            self.next()
        if self.token != "}":
            self.refuse("'}' expected")
        return found

    def array(self) -> list[Value]:
        found: list[Value] = []
        self.next()
        while self.token != "end" and (self.token != "]" or found):
            found.append(self.any())
            self.next()
            if self.token != ",":
                break
            self.next()
        if self.token != "]":
            self.refuse("']' expected")
        return found

    def document(self) -> Value:
        self.next()
        if self.token not in ("{", "["):
            self.refuse("'[' or '{' expected")
        value = self.any()
        self.next()
        if self.token != "end":
            self.refuse("end of file expected")
        return value


def json_parse(place: str, text: bytes) -> Value:
    return Json(place, text.decode("utf-8", "surrogateescape")).document()


# ---- YAML ----

# libyaml's, with its messages, where PyYAML has it.
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Yaml:
    """Reads the documents of a text.  Keys are unique texts; without aliases, a text is as large as it looks."""

    def __init__(self, place: str, text: bytes):
        self.place = place
        self.events: Iterator[Any] = yaml.parse(text, Loader=LOADER)
        self.event: Any = None
        self.n_values = 0

    def refuse(self, why: str) -> NoReturn:
        self.refuse_at(self.event.start_mark.line, self.event.start_mark.column, why)

    def refuse_at(self, line: int, column: int, why: str) -> NoReturn:
        raise Refused(f"{self.place}:{line + 1}:{column + 1}: {why}")

    def next(self) -> None:
        self.event = next(self.events)

    def text(self) -> str:
        if "\0" in self.event.value:
            self.refuse("a text with a NUL character")
        return str(self.event.value)

    def sequence(self, depth: int) -> list[Value]:
        found: list[Value] = []
        while True:
            self.next()
            if isinstance(self.event, yaml.SequenceEndEvent):
                return found
            found.append(self.any(depth))

    def mapping(self, depth: int) -> dict[str, Value]:
        found: dict[str, Value] = {}
        while True:
            self.next()
            if isinstance(self.event, yaml.MappingEndEvent):
                return found
            if not isinstance(self.event, yaml.ScalarEvent):
                self.refuse("a key that is not a string")
            key = self.text()
            if key in found:
                self.refuse("this key is here twice")
            self.next()
            found[key] = self.any(depth)

    def scalar(self) -> Value:
        text = self.text()
        if not self.event.implicit[0]:
            return text
        return None if text in ("", "~", "null", "Null", "NULL") else Plain(text)

    def any(self, depth: int) -> Value:
        if depth == DEPTH_MAX:
            self.refuse("nested too deeply")
        if self.n_values == VALUES_MAX:
            self.refuse("too many values")
        self.n_values += 1
        if isinstance(self.event, yaml.ScalarEvent):
            return self.scalar()
        if isinstance(self.event, yaml.SequenceStartEvent):
            return self.sequence(depth + 1)
        if isinstance(self.event, yaml.MappingStartEvent):
            return self.mapping(depth + 1)
        self.refuse("aliases are not supported; write the value itself")

    def documents(self) -> list[Value]:
        found: list[Value] = []
        while not isinstance(self.event, yaml.StreamEndEvent):
            self.next()
            if not isinstance(self.event, yaml.DocumentStartEvent):
                continue
            if len(found) == DOCUMENTS_MAX:
                self.refuse("too many documents")
            self.next()
            found.append(self.any(0))
        return found


def yaml_parse(place: str, text: bytes) -> list[Value]:
    try:
        reader = Yaml(place, text)
        return reader.documents()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        raise Refused(f"{place}:{mark.line + 1 if mark else 1}:{mark.column + 1 if mark else 1}: "
                      f"{error.problem or 'invalid YAML'}") from error
    except yaml.reader.ReaderError as error:
        before = text[:max(error.position, 0)]
        raise Refused(f"{place}:{before.count(10) + 1}:{len(before) - before.rfind(10)}: {error.reason}") from error


def is_json(text: bytes) -> bool:
    return text.lstrip(b" \t\n\f\r").startswith(b"{")
