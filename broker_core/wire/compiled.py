"""Readers and writers."""

from __future__ import annotations

import struct
from typing import Any

from broker_core.wire.errors import WireError
from broker_core.wire.plain import PlainReader, PlainWriter


def read_message(message_class: Any, version: int, body: memoryview) -> Any:
    return PlainReader(f"{message_class.__name__} v{version}", body, message_class.CLASSES).message(
        _schema(message_class, version)
    )


def _schema(message_class: Any, version: int) -> Any:
    try:
        return message_class.TYPE.at(version)
    except KeyError:
        raise WireError(f"{message_class.__name__} v{version}", "no such version") from None


def write_message(message_class: Any, version: int, message: Any, head: bytearray, sized: bool = True) -> list[Any]:
    writer = PlainWriter(f"{message_class.__name__} v{version}")
    writer.out.append(head)
    writer.message(_schema(message_class, version), message)
    if sized:
        struct.pack_into(">i", head, 0, sum(map(len, writer.out)) - 4)
    return writer.out
