"""Random messages for any schema, as the tests of readers and writers need them."""

from __future__ import annotations

import random
import uuid
from typing import Any

import pytest

from broker_core.wire import messages
from broker_core.wire.plain import is_default
from broker_core.wire.schema import NIL_UUID, Field, Struct

RANGES = {
    "int8": (-128, 127),
    "int16": (-(2**15), 2**15 - 1),
    "uint16": (0, 2**16 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
}
KNOWN_ERRORS = (0, 1, 3, 6, 35, 74, -1)


class RandomMessages:
    """Draws a value for every field of a version. `tame` stays within what kio's own types can hold."""

    def __init__(self, source: random.Random, tame: bool = False) -> None:
        self._random = source
        self._tame = tame

    def message(self, name: str, version: int) -> Any:
        message_class = getattr(messages, name)
        return self._struct(message_class.TYPE.at(version), message_class.CLASSES)

    def _struct(self, schema: Struct, classes: dict[str, Any]) -> Any:
        made = classes[schema.name]()
        for field in schema.fields:
            setattr(made, field.name, self._value(field, classes))
        for field in schema.tagged:
            if self._random.random() < 0.5:
                setattr(made, field.name, self._value(field, classes))
        return made

    def _value(self, field: Field, classes: dict[str, Any]) -> Any:
        if field.nullable and self._random.random() < 0.3:
            return None
        if not field.array:
            return self._single(field, classes)
        single = Field(field.name, field.type)
        return [self._single(single, classes) for _ in range(self._random.choice((0, 1, 1, 2, 3)))]

    def _single(self, field: Field, classes: dict[str, Any]) -> Any:
        draw, kind = self._random, field.type
        if isinstance(kind, Struct):
            return self._struct(kind, classes)
        if kind == "bool":
            return draw.random() < 0.5
        if kind == "float64":
            return draw.choice((0.0, 1.5, -2.25, 1e300))
        if kind == "uuid":
            return draw.choice((NIL_UUID, uuid.UUID(int=draw.getrandbits(128))))
        if kind == "string":
            return draw.choice(("", "a", "größer", "x" * 126, "x" * 127, "y" * 128, "日本" * 50))
        if kind in ("bytes", "records"):
            return draw.choice((b"", b"\0", b"z" * 130))
        return self._number(field.name, kind)

    def _number(self, name: str, kind: str) -> int:
        low, high = RANGES[kind]
        if self._tame and "error_code" in name:
            return self._random.choice(KNOWN_ERRORS)
        if self._tame and kind == "int64":
            return self._random.randrange(10**12)
        return self._random.choice((0, 1, low, high, self._random.randint(low, high)))


@pytest.fixture(scope="session")
def random_messages() -> type[RandomMessages]:
    return RandomMessages


@pytest.fixture(scope="session")
def tagged_is_default() -> Any:
    return is_default
