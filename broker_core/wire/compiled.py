"""Readers and writers for (message, version), made on first use and kept for the life of the program.

The functions made by `reading` and `writing` are quick and know no names; when one of them gives up, `plain`
does the same work again and either finds the field that is wrong (WireError) or was only being more patient:
text that is not UTF-8 is legal and becomes replacement characters, as in Java.
"""

from __future__ import annotations

import struct
from typing import Any

from broker_core.wire.errors import WireError
from broker_core.wire.plain import MOST_IN_RESPONSE, PlainReader, PlainWriter
from broker_core.wire.reading import Broken, Reader, make_reader
from broker_core.wire.schema import Struct
from broker_core.wire.writing import Writer, make_writer

_READERS: dict[tuple[Any, int], Reader] = {}
_WRITERS: dict[tuple[Any, int], Writer] = {}
_GIVES_UP = (Broken, struct.error, IndexError, ValueError, TypeError, AttributeError)
_SIZE = struct.Struct(">i")


def read_message(message_class: Any, version: int, body: memoryview, most: int = MOST_IN_RESPONSE) -> Any:
    """The message at the start of `body`; bytes behind it are ignored. Raises WireError.

    `most` bounds how many values the message may hold (see `plain`).
    """
    reader = _READERS.get((message_class, version)) or _make_reader(message_class, version)
    try:
        return reader(body, 0, len(body), most)
    except _GIVES_UP:
        what = f"{message_class.__name__} v{version}"
        return PlainReader(what, body, message_class.CLASSES, most).message(message_class.TYPE.at(version))


def write_message(message_class: Any, version: int, message: Any, head: bytearray, sized: bool = True) -> list[Any]:
    """`head` and the message as buffers; `sized`: the first four bytes of `head` become the size of the rest."""
    writer = _WRITERS.get((message_class, version)) or _make_writer(message_class, version)
    cuts: list[tuple[int, Any]] = []
    start = len(head)
    try:
        writer(message, head, cuts)
    except _GIVES_UP:
        del head[start:]
        return _write_plainly(message_class, version, message, head, sized)
    if not cuts:
        if sized:
            _SIZE.pack_into(head, 0, len(head) - 4)
        return [head]
    return _cut(head, cuts, sized)


def _cut(out: bytearray, cuts: list[tuple[int, Any]], sized: bool) -> list[Any]:
    """`out` with the record buffers in between, none of them copied."""
    view = memoryview(out)
    parts: list[Any] = []
    last = records = 0
    for position, buffers in cuts:
        if position > last:
            parts.append(view[last:position])
        parts += buffers
        records += sum(map(len, buffers))
        last = position
    if last < len(out):
        parts.append(view[last:])
    if sized:
        _SIZE.pack_into(out, 0, len(out) - 4 + records)
    return parts


def _write_plainly(message_class: Any, version: int, message: Any, head: bytearray, sized: bool) -> list[Any]:
    what = f"{message_class.__name__} v{version}"
    writer = PlainWriter(what)
    writer.out.append(head)
    try:
        writer.message(message_class.TYPE.at(version), message)
    except (TypeError, AttributeError) as error:
        raise WireError(what, f"a value of the wrong type: {error}") from error
    if sized:
        _SIZE.pack_into(head, 0, sum(map(len, writer.out)) - 4)
    return writer.out


def _schema(message_class: Any, version: int) -> Struct:
    try:
        schema: Struct = message_class.TYPE.at(version)
    except KeyError:
        raise WireError(f"{message_class.__name__} v{version}", "no such version") from None
    return schema


def _make_reader(message_class: Any, version: int) -> Reader:
    place = f"{message_class.__name__} v{version} reader"
    made = make_reader(_schema(message_class, version), message_class.CLASSES, place)
    _READERS[message_class, version] = made
    return made


def _make_writer(message_class: Any, version: int) -> Writer:
    place = f"{message_class.__name__} v{version} writer"
    made = make_writer(_schema(message_class, version), place)
    _WRITERS[message_class, version] = made
    return made
