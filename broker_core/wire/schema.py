"""Message schemas: what the bytes of a request or response mean.

Kafka describes every message as a tree of fields; each field says in which versions it exists, in which
it may be null and which value stands for "not there" (the "message definitions" in Apache Kafka's
clients/src/main/resources/common/message; KIP-482 for flexible versions and tagged fields). Here such a
tree is written the way the protocol guide prints it:

    ControlledShutdownRequest 0-3 flexible 3+
      broker_id                       int32                        0+
      broker_epoch                    int64                        2+   = -1

field, type, versions, then optionally `null` (or `null 2+`), `tag 0`, `= default`. `[int32]` is an array,
`[Topic]` an array of structs whose fields follow one level deeper; a struct that is used in several
places stands once, behind the fields, as a line `Name:`.

`Table` is such a text for all versions; `Table.at(version)` resolves it to a `Struct`, the plain tree for
one version that readers, writers and message classes work from. The `Struct`s of most APIs come from the
kio package instead (`kio_schemas`, `stored_schemas`); nothing above this module can tell the difference.
"""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass
from typing import Any

NIL_UUID = uuid.UUID(int=0)

# Bytes that a value takes at least, in an old-style and in a flexible version.
SMALLEST = {
    "bool": (1, 1), "int8": (1, 1), "int16": (2, 2), "uint16": (2, 2), "int32": (4, 4), "uint32": (4, 4),
    "int64": (8, 8), "float64": (8, 8), "uuid": (16, 16), "string": (2, 1), "bytes": (4, 1), "records": (4, 1),
}  # fmt: skip

# Letters of the struct module for the plain numbers.
FORMATS = {
    "int8": "b", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I", "int64": "q", "float64": "d",
}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """One field in one version: `type` is a primitive's name or the `Struct` of a nested message."""

    name: str
    type: str | Struct
    array: bool = False
    nullable: bool = False
    tag: int | None = None
    default: Any = None

    def fresh_default(self) -> Any:
        """The value of a field that nobody set; lists and structs are new each time."""
        if self.array:
            return None if self.default is None and self.nullable else []
        return self.default


@dataclass(frozen=True, slots=True, eq=False)
class Struct:
    """The fields of one message, or one nested struct, in one version, in the order of the wire.

    - `fields` are the mandatory ones, `tagged` the optional ones: their (perhaps empty) section ends a flexible struct.
    - `order`: the names as they stand in the definition, where that is known.

    Invariants
        - tags ascend, and only a flexible struct has tagged fields
    """

    name: str
    fields: tuple[Field, ...]
    tagged: tuple[Field, ...] = ()
    flexible: bool = False
    order: tuple[str, ...] = ()

    def smallest(self) -> int:
        """The least number of bytes that a value takes: what one array element must at least leave."""
        size = 1 if self.flexible else 0
        for field in self.fields:
            if field.array:
                size += 1 if self.flexible else 4
            elif isinstance(field.type, Struct) and field.nullable:
                size += 1
            else:
                size += smallest(field.type, self.flexible)
        return size

    def structs(self) -> list[Struct]:
        """This struct and all nested ones, outermost first."""
        found = [self]
        for field in self.fields + self.tagged:
            if isinstance(field.type, Struct):
                found += field.type.structs()
        return found


def smallest(kind: str | Struct, flexible: bool) -> int:
    """The least number of bytes that a value of this type takes."""
    return kind.smallest() if isinstance(kind, Struct) else SMALLEST[kind][flexible]


@dataclass(frozen=True, slots=True)
class Versions:
    """A range such as `2-4` (with `2+` reaching to `last`)."""

    first: int
    last: int

    @staticmethod
    def parse(text: str, last: int) -> Versions:
        match = re.fullmatch(r"(\d+)(?:-(\d+)|(\+))?", text)
        if match is None:
            raise ValueError(f"not a range of versions: {text!r}")
        first = int(match[1])
        return Versions(first, last if match[3] else int(match[2] or first))

    def __contains__(self, version: object) -> bool:
        return isinstance(version, int) and self.first <= version <= self.last


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table: a field with all its versions."""

    name: str
    type: str
    versions: Versions
    nullable: Versions | None
    tag: int | None
    default: str | None

    def default_value(self) -> Any:
        return parse_default(self.type, self.default, self.nullable is not None)


@dataclass(frozen=True, slots=True)
class Table:
    """A message in all its versions. `structs` maps a struct's name to its rows; the first is the message."""

    name: str
    versions: Versions
    flexible: Versions | None
    structs: dict[str, list[Row]]

    def at(self, version: int) -> Struct:
        if version not in self.versions:
            raise KeyError(f"{self.name} has no version {version}")
        return self._struct(self.name, version)

    def _struct(self, name: str, version: int) -> Struct:
        fields = [self._field(row, version) for row in self.structs[name] if version in row.versions]
        tagged = sorted((f for f in fields if f.tag is not None), key=lambda f: f.tag or 0)
        plain = tuple(f for f in fields if f.tag is None)
        flexible = self.flexible is not None and version in self.flexible
        return Struct(name, plain, tuple(tagged), flexible, tuple(field.name for field in fields))

    def _field(self, row: Row, version: int) -> Field:
        inner = row.type.strip("[]")
        kind = self._struct(inner, version) if inner in self.structs else inner
        nullable = row.nullable is not None and version in row.nullable
        return Field(row.name, kind, row.type.startswith("["), nullable, row.tag, row.default_value())


def parse_tables(text: str) -> dict[str, Table]:
    """All messages of a text in the notation above, by name. Raises ValueError naming a line that is wrong."""
    tables: dict[str, Table] = {}
    blocks: list[list[str]] = []
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if not line.startswith(" "):
            blocks.append([])
        blocks[-1].append(line)
    for block in blocks:
        table = _parse_table(block[0], block[1:])
        tables[table.name] = table
    return tables


def _parse_table(head: str, lines: list[str]) -> Table:
    name, versions_text, *flags = head.split()
    versions = Versions.parse(versions_text, 0)
    flexible = Versions.parse(flags[1], versions.last) if flags[:1] == ["flexible"] else None
    structs: dict[str, list[Row]] = {name: []}
    open_structs = [name]  # the struct that a line of depth 1, 2, ... belongs to
    for line in lines:
        depth = (len(line) - len(line.lstrip())) // 2
        words = line.split()
        if words[0].endswith(":"):
            open_structs[1:] = [words[0][:-1]]
            structs[words[0][:-1]] = []
            continue
        row = _parse_row(words, versions.last)
        structs[open_structs[depth - 1]].append(row)
        inner = row.type.strip("[]")
        if inner[0].isupper():
            open_structs[depth:] = [inner]
            structs.setdefault(inner, [])
    return Table(name, versions, flexible, structs)


def _parse_row(words: list[str], last: int) -> Row:
    name, kind, versions, *rest = words
    nullable: Versions | None = None
    tag: int | None = None
    default: str | None = None
    if inner_unknown(kind):
        raise ValueError(f"unknown type {kind!r} of field {name!r}")
    while rest:
        word = rest.pop(0)
        if word == "null":
            bounded = bool(rest) and rest[0][0].isdigit()
            nullable = Versions.parse(rest.pop(0) if bounded else "0+", last)
        elif word == "tag":
            tag = int(rest.pop(0))
        elif word == "=":
            default = rest.pop(0)
        else:
            raise ValueError(f"unexpected {word!r} behind field {name!r}")
    return Row(name, kind, Versions.parse(versions, last), nullable, tag, default)


def inner_unknown(kind: str) -> bool:
    """Whether a type is neither a primitive nor the (capitalised) name of a struct."""
    inner = kind.strip("[]")
    return inner not in SMALLEST and not inner[:1].isupper()


def parse_default(kind: str, text: str | None, nullable: bool) -> Any:
    """The default of a field; without one in the table 0, "", an empty list or the nil UUID, as in Kafka."""
    if text == "null":
        return None
    if kind.startswith("["):
        return []
    if kind == "bool":
        return text == "true"
    if kind == "float64":
        return float(text or 0)
    if kind == "string":
        return text if text not in (None, '""') else ""
    if kind == "bytes":
        return b""
    if kind == "uuid":
        return NIL_UUID
    if kind == "records" or kind[0].isupper():
        return None
    return int(text or 0)
