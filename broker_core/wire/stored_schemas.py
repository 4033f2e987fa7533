"""The schemas of `kio_schemas`, kept in a file: reading them takes milliseconds, importing kio's modules a second.

The file is made when it is first needed, beside the Python environment that kio is installed in; where that
cannot be written it is made anew in each process. It holds every struct once, however many messages and
versions use it:

    {"kio": "0.6.5",
     "structs": [["FetchTopic", flexible, fields, tagged fields], ...]     inner ones before outer ones
     "messages": {"fetch": {"request": {"4": number of its struct, "5": ...}, "response": ...}, ...}}

A field is [name, type or number of a struct, is array, is nullable, tag, default].
"""

from __future__ import annotations

import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import orjson

from broker_core.wire.schema import NIL_UUID, Field, Struct

FORMAT = 2
KINDS = ("request", "response", "data")


def path() -> Path:
    """Where the file of this environment lies; another kio, installed at another time, has another name."""
    found = find_spec("kio")
    installed = Path(found.origin).stat().st_mtime_ns if found is not None and found.origin else 0
    return Path(sys.prefix) / f"brokerlab-messages-{FORMAT}-{installed:x}.json"


@cache
def _stored() -> dict[str, Any]:
    place = path()
    try:
        stored: dict[str, Any] = orjson.loads(place.read_bytes())
    except (OSError, ValueError):  # not there yet, or another process is writing it
        content = collect()
        stored = orjson.loads(content)
        _keep(place, content)
    return stored


def _keep(place: Path, content: bytes) -> None:
    """Write the file for the next process; an environment may be read-only."""
    try:
        place.write_bytes(content)
    except OSError:
        return


def module_names() -> list[str]:
    """`produce`, `fetch`, ...: the names that kio has, sorted."""
    return list(_stored()["messages"])


def versions_of(module: str) -> list[int]:
    """The versions of `produce`, `fetch`, ... that kio has; empty for a name it does not know."""
    kinds = _stored()["messages"].get(module, {})
    return [int(version) for version in next(iter(kinds.values()), ())]


def load(module: str, version: int, kind: str) -> Struct:
    """The schema of one version; `kind` is "request", "response" or, for what stands in records, "data"."""
    return _struct(_stored()["messages"][module][kind][str(version)])


@cache
def _struct(number: int) -> Struct:
    name, flexible, fields, tagged = _stored()["structs"][number]
    return Struct(name, tuple(map(_field, fields)), tuple(map(_field, tagged)), flexible)


def _field(stored: list[Any]) -> Field:
    name, kind, array, nullable, tag, default = stored
    if isinstance(kind, int):
        return Field(name, _struct(kind), array, nullable, tag, default)
    if default is not None and not array:
        default = {"uuid": NIL_UUID, "bytes": b""}.get(kind, default)
    return Field(name, kind, array, nullable, tag, default)


# -- making the file ------------------------------------------------------------------------
class _Writer:
    """Gives each different struct a number."""

    def __init__(self) -> None:
        self.structs: list[Any] = []
        self._numbers: dict[bytes, int] = {}

    def number(self, struct: Struct) -> int:
        stored = [
            struct.name, struct.flexible, [self._field(field) for field in struct.fields],
            [self._field(field) for field in struct.tagged],
        ]  # fmt: skip
        key = orjson.dumps(stored)
        if key not in self._numbers:
            self._numbers[key] = len(self.structs)
            self.structs.append(stored)
        return self._numbers[key]

    def _field(self, field: Field) -> list[Any]:
        kind = self.number(field.type) if isinstance(field.type, Struct) else field.type
        default = "" if field.default in (NIL_UUID, b"") else field.default
        return [field.name, kind, field.array, field.nullable, field.tag, default]


def collect() -> bytes:
    """The file's content, from the kio that is installed."""
    from importlib.metadata import version as version_of_package

    from broker_core.wire import kio_schemas

    writer = _Writer()
    messages: dict[str, Any] = {}
    for module in kio_schemas.module_names():
        kinds: dict[str, dict[str, int]] = {}
        for kind in KINDS:
            for version in kio_schemas.versions_of(module):
                try:
                    struct = kio_schemas.load(module, version, kind)
                except ModuleNotFoundError:
                    continue
                kinds.setdefault(kind, {})[str(version)] = writer.number(struct)
        messages[module] = kinds
    structs = b",\n".join(orjson.dumps(struct) for struct in writer.structs)
    names = b",\n".join(orjson.dumps(name) + b":" + orjson.dumps(kinds) for name, kinds in messages.items())
    head = orjson.dumps(version_of_package("kio"))
    return b'{"kio":' + head + b',\n"structs":[\n' + structs + b'],\n"messages":{\n' + names + b"}}\n"

