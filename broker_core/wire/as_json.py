"""A message as Kafka's own tools print it: JSON with the names of the message definitions.

    {"partitionId":0,"topicId":"AAAAAAAAAAAAAAAAAAAAAQ","isr":[1,2],"leader":1}

Names are in camel case, UUIDs and bytes in base64, and a tagged field with its default value is left out.
Source: the JsonConverter classes that Kafka generates, as DumpLogSegments shows them.
"""

from __future__ import annotations

import base64
import uuid
from typing import Any

from broker_core.wire.plain import is_default
from broker_core.wire.schema import Field, Struct


def as_json(message: Any, version: int) -> dict[str, Any]:
    """The message in one of its versions; values that `json.dumps` takes."""
    return _struct(message, message.TYPE.at(version))


def _struct(message: Any, struct: Struct) -> dict[str, Any]:
    fields = {field.name: field for field in struct.fields + struct.tagged}
    found = {}
    for name in struct.order or fields:
        field, value = fields[name], getattr(message, name)
        if field.tag is None or not is_default(field, value):
            found[_camel_case(name)] = _value(value, field)
    return found


def _value(value: Any, field: Field) -> Any:
    if field.array and value is not None:
        return [_single(one, field.type) for one in value]
    return _single(value, field.type)


def _single(value: Any, kind: str | Struct) -> Any:
    if isinstance(kind, Struct):
        return None if value is None else _struct(value, kind)
    if isinstance(value, uuid.UUID):
        return base64.urlsafe_b64encode(value.bytes).decode().rstrip("=")
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(value).decode()
    return value


def _camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
