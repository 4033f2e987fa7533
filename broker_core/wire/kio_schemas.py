"""Schemas read off the kio package.

kio is generated from Apache Kafka's message definitions, one module per API, version and direction
(`kio.schema.fetch.v12.request`) with one frozen dataclass per struct. Only their description is used:
names, types, tags and defaults of the fields. Its values differ from ours (durations are timedeltas,
times datetimes, the nil UUID None), and so do its readers, which do not check lengths before allocating.

Importing all of kio's modules takes more than a second, so what is read off here is kept in a file (`stored_schemas`).
"""

from __future__ import annotations

import dataclasses
import datetime
import importlib
import types
import typing
from typing import Any

from broker_core.wire.schema import NIL_UUID, Field, Struct

# kio's names for types that are plain numbers on the wire.
_PLAIN = {"datetime_i64": "int64", "timedelta_i32": "int32", "timedelta_i64": "int64", "error_code": "int16"}

_IMPLICIT: dict[str, Any] = {
    "bool": False, "float64": 0.0, "string": "", "bytes": b"", "records": None, "uuid": NIL_UUID,
}  # fmt: skip

# Arrays of structs that are null unless set; kio does not carry that default.
_NULL_UNLESS_SET = {
    ("ConsumerGroupHeartbeatRequest", "topic_partitions"),
    ("ListPartitionReassignmentsRequest", "topics"),
    ("Topology", "subtopologies"),
    *((f"StreamsGroupHeartbeat{kind}", f"{which}_tasks") for kind in ("Request", "Response")
      for which in ("active", "standby", "warmup")),
    *(("StreamsGroupHeartbeatRequest", name) for name in ("client_tags", "task_offsets", "task_end_offsets")),
    ("StreamsGroupHeartbeatResponse", "partitions_by_user_endpoint"),
}  # fmt: skip


def versions_of(module: str) -> list[int]:
    """The versions of `produce`, `fetch`, ... that kio has; empty for a name it does not know."""
    index: Any = importlib.import_module("kio.schema.index")
    return sorted(index.schema_name_map.get(module, ()))


def module_names() -> list[str]:
    index: Any = importlib.import_module("kio.schema.index")
    return sorted(name for name in index.schema_name_map if not name.endswith("_header"))


def load(module: str, version: int, kind: str) -> Struct:
    """The schema of one version; `kind` is "request", "response" or, for what stands in records, "data"."""
    found: Any = importlib.import_module(f"kio.schema.{module}.v{version}.{kind}")
    top = [c for c in vars(found).values() if dataclasses.is_dataclass(c) and c.__module__ == found.__name__]
    return _struct(top[-1])


def _struct(entity: Any) -> Struct:
    fields = [_field(f, entity.__name__) for f in dataclasses.fields(entity)]
    tagged = sorted((f for f in fields if f.tag is not None), key=lambda f: f.tag or 0)
    plain = tuple(f for f in fields if f.tag is None)
    return Struct(entity.__name__, plain, tuple(tagged), entity.__flexible__)


def _field(field: dataclasses.Field[Any], owner: str) -> Field:
    kio_type = field.metadata.get("kafka_type")
    inner, nullable = _without_none(field.type)
    array = typing.get_origin(inner) is tuple
    if array:
        inner = _without_none(typing.get_args(inner)[0])[0]
    kind: str | Struct = _struct(inner) if kio_type is None else _PLAIN.get(kio_type, kio_type)
    if kind in ("uuid", "int64") and not array:
        nullable = False  # kio's None is the nil UUID, or the time -1
    default = None if nullable and (owner, field.name) in _NULL_UNLESS_SET else _default(field, kio_type, kind, array)
    return Field(field.name, kind, array, nullable, field.metadata.get("tag"), default)


def _without_none(hint: Any) -> tuple[Any, bool]:
    if typing.get_origin(hint) not in (types.UnionType, typing.Union):
        return hint, False
    kept = [a for a in typing.get_args(hint) if a is not types.NoneType]
    return kept[0], True


def _default(field: dataclasses.Field[Any], kio_type: str | None, kind: str | Struct, array: bool) -> Any:
    value = field.default
    if value is dataclasses.MISSING:
        return [] if array else None if isinstance(kind, Struct) else _IMPLICIT.get(kind, 0)
    if array:
        return None if value is None else []
    if isinstance(kind, Struct):
        return None
    if value is None:
        return {"datetime_i64": -1, "uuid": NIL_UUID}.get(kio_type or "")
    return _plain_number(value)


def _plain_number(value: Any) -> Any:
    """kio's default as a plain value: milliseconds for a duration or a time."""
    if isinstance(value, datetime.timedelta):
        return value // datetime.timedelta(milliseconds=1)
    if isinstance(value, datetime.datetime):
        return round(value.timestamp() * 1000)
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else value
