"""Readers made of straight-line Python, one function for each version of a message.

For ProduceRequest v9 the function begins like this (`source_of_reader` prints it all):

    def read(buf, at, size, left):
        o1 = new(ProduceRequest)
        n = buf[at]; at += 1                          # transactional_id: length + 1 as a varint
        ...
        o1.acks, o1.timeout = unpack_from_hi(buf, at); at += 6
        n = buf[at] ...                               # topic_data: count + 1
        if n * 3 > size - at: raise Broken
        left -= n                                     # see plain.MOST_IN_REQUEST
        if left < 0: raise Broken

Fixed-size fields that stand side by side, and the length that follows them, are unpacked in one call. Nested
structs are inlined: a schema is a tree of known depth, so no message can nest deeper than that.

The function only notices that something is wrong (struct.error, IndexError, Broken, text that is not
UTF-8); `compiled` then lets `plain` read the same bytes, which knows the field and the rule.
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from broker_core.wire.messages import Message
from broker_core.wire.plain import LONGEST_STRING, NUMBERS_A_VALUE_SHIFT
from broker_core.wire.schema import NIL_UUID, Field, Struct, smallest
from broker_core.wire.source import LETTERS, Source

Reader = Callable[[memoryview, int, int, int], Any]  # buffer, first byte, end, values that it may hold
_LENGTH_LETTER = {"string": "h", "bytes": "i", "records": "i"}


class Broken(Exception):
    """Bytes that do not follow the schema."""


def varint(buf: memoryview, at: int) -> tuple[int, int]:
    """An unsigned varint of at most five bytes at `at`, and the position behind it."""
    value = 0
    for shift in range(0, 35, 7):
        byte = buf[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise Broken


def skip_tagged(buf: memoryview, at: int, size: int, left: int) -> tuple[int, int]:
    """The position behind a section of tagged fields of which none is known, and how many values are left."""
    count, at = varint(buf, at)
    if count > left:
        raise Broken
    for _ in range(count):
        _, at = varint(buf, at)
        length, at = varint(buf, at)
        at += length
        if at > size:
            raise Broken
    return at, left - count


@lru_cache(maxsize=4096)
def uuid_of(raw: bytes) -> uuid.UUID:
    """Making a UUID object costs more than the rest of a small message, and topic ids come again and again."""
    return uuid.UUID(bytes=raw) if any(raw) else NIL_UUID


_SCOPE: dict[str, Any] = {
    "new": object.__new__, "varint": varint, "skip_tagged": skip_tagged, "uuid_of": uuid_of, "Broken": Broken,
    "NIL": NIL_UUID, "unpack_from": struct.unpack_from,
}  # fmt: skip


def make_reader(schema: Struct, classes: dict[str, type[Message]], place: str) -> Reader:
    return _source(schema, classes).function("read", place)


def source_of_reader(schema: Struct, classes: dict[str, type[Message]]) -> str:
    return _source(schema, classes).text()


def _source(schema: Struct, classes: dict[str, type[Message]]) -> Source:
    source = Source(_SCOPE)
    source.open("def read(buf, at, size, left):")
    top = _Emitter(source, classes).struct(schema)
    source.line(f"return {top}")
    source.close()
    return source


class _Emitter:
    """Writes the lines that read one struct."""

    def __init__(self, source: Source, classes: dict[str, type[Message]]) -> None:
        self._source = source
        self._classes = classes
        self._flexible = False

    def struct(self, schema: Struct) -> str:
        """Emits the reading of a struct; returns the name of the variable that then holds it."""
        s, outer = self._source, self._flexible
        self._flexible = schema.flexible
        cls = self._classes[schema.name]
        s.scope[schema.name] = cls
        it = s.name("o")
        s.line(f"{it} = new({schema.name})")
        self._absent(it, cls, schema)
        self._fields(it, schema)
        if schema.flexible:
            self._tagged(it, schema)
        self._flexible = outer
        return it

    def _absent(self, it: str, cls: type[Message], schema: Struct) -> None:
        """Fields that this version lacks, and tagged ones, start with their defaults."""
        present = {field.name for field in schema.fields}
        fresh = cls()
        for name in cls.FIELDS:
            if name in present:
                continue
            value = getattr(fresh, name)
            if isinstance(value, list):
                made = "[]"
            elif isinstance(value, Message):
                made = self._source.constant("make", type(value)) + "()"
            else:
                made = self._source.constant("default", value)
            self._source.line(f"{it}.{name} = {made}")

    def _fields(self, it: str, schema: Struct) -> None:
        run: list[Field] = []
        for field in schema.fields:
            if not field.array and field.type in LETTERS:
                run.append(field)
                continue
            length = None if isinstance(field.type, Struct) and not field.array else self._old_length(field)
            self._run(it, run, length)
            run = []
            self._variable(f"{it}.{field.name}", field, length is not None)
        self._run(it, run, None)

    def _old_length(self, field: Field) -> str | None:
        """The letter of an old-style length, which is read together with the fields before it."""
        if self._flexible:
            return None
        return "i" if field.array else _LENGTH_LETTER[str(field.type)]

    def _run(self, it: str, run: list[Field], length: str | None) -> None:
        if not run and length is None:
            return
        s = self._source
        letters = [LETTERS[str(field.type)] for field in run] + ([length] if length else [])
        unpack = s.packing("".join(letters), "unpack_from")
        targets = [f"{it}.{field.name}" for field in run] + (["n"] if length else [])
        s.line(f"{', '.join(targets)}, = {unpack}(buf, at)")
        s.line(f"at += {struct.calcsize('>' + ''.join(letters))}")
        for field in run:
            if field.type == "uuid":
                s.line(f"{it}.{field.name} = uuid_of({it}.{field.name})")

    def _variable(self, target: str, field: Field, length_read: bool) -> None:
        """A value whose size is in the bytes; `n` holds its length already when `length_read`."""
        s = self._source
        if isinstance(field.type, Struct) and not field.array:
            return self._nested(target, field)
        if not length_read:
            self._compact_length()
        if field.nullable:
            s.line(f"if n == -1: {target} = None")
            s.line("elif n < 0: raise Broken")
            s.open("else:")
        else:
            s.line("if n < 0: raise Broken")
        if field.array:
            self._array(target, field)
        else:
            self._sized(target, str(field.type))
        if field.nullable:
            s.close()
        return None

    def _compact_length(self) -> None:
        s = self._source
        s.line("n = buf[at] - 1")
        s.line("at += 1")
        s.open("if n > 126:")
        s.line("n, at = varint(buf, at - 1)")
        s.line("n -= 1")
        s.close()

    def _sized(self, target: str, kind: str) -> None:
        s = self._source
        s.line("end = at + n")
        s.line("if end > size: raise Broken")
        if kind == "string":
            if self._flexible:
                s.line(f"if n > {LONGEST_STRING}: raise Broken")
            s.line(f"{target} = str(buf[at:end], 'utf-8')")
        elif kind == "records":
            s.line(f"{target} = buf[at:end]")
        else:
            s.line(f"{target} = bytes(buf[at:end])")
        s.line("at = end")

    def _array(self, target: str, field: Field) -> None:
        s, kind = self._source, field.type
        least = smallest(kind, self._flexible)
        s.line(f"if n * {least} > size - at: raise Broken")
        plain = isinstance(kind, str) and kind in LETTERS and kind not in ("uuid", "bool")
        s.line(f"left -= n >> {NUMBERS_A_VALUE_SHIFT}" if plain else "left -= n")
        s.line("if left < 0: raise Broken")
        if isinstance(kind, str) and plain:
            s.line(f"{target} = list(unpack_from(f'>{{n}}{LETTERS[kind]}', buf, at))")
            s.line(f"at += n * {least}")
            return
        values = s.name("values")
        s.line(f"{target} = {values} = []")
        s.open("for _ in range(n):")
        if isinstance(kind, Struct):
            s.line(f"{values}.append({self.struct(kind)})")
        else:
            self._element(field)
            s.line(f"{values}.append(value)")
        s.close()

    def _element(self, field: Field) -> None:
        """One element of an array of strings, bytes, booleans or UUIDs, into `value`."""
        s, kind = self._source, str(field.type)
        if kind in LETTERS:
            s.line(f"value, = {s.packing(LETTERS[kind], 'unpack_from')}(buf, at)")
            s.line(f"at += {struct.calcsize('>' + LETTERS[kind])}")
            if kind == "uuid":
                s.line("value = uuid_of(value)")
            return
        letter = self._old_length(Field("", kind))
        if letter is not None:
            s.line(f"n, = {s.packing(letter, 'unpack_from')}(buf, at)")
            s.line(f"at += {struct.calcsize('>' + letter)}")
        self._variable("value", Field("", kind), letter is not None or not self._flexible)

    def _nested(self, target: str, field: Field) -> None:
        s = self._source
        assert isinstance(field.type, Struct)
        if not field.nullable:
            s.line(f"{target} = {self.struct(field.type)}")
            return
        s.line("n = buf[at]")
        s.line("at += 1")
        s.open("if n > 127:" if field.tag is None else "if n > 127 or n == 0:")  # as in `plain`
        s.line(f"{target} = None")
        s.close()
        s.open("else:")
        s.line(f"{target} = {self.struct(field.type)}")
        s.close()

    def _tagged(self, it: str, schema: Struct) -> None:
        s = self._source
        if not schema.tagged:
            s.line("if buf[at]: at, left = skip_tagged(buf, at, size, left)")
            s.line("else: at += 1")
            return
        s.line("n, at = varint(buf, at)")
        s.line("left -= n")
        s.line("if left < 0: raise Broken")
        s.open("for _ in range(n):")
        tag, stop = s.name("tag"), s.name("stop")
        s.line(f"{tag}, at = varint(buf, at)")
        s.line(f"{stop}, at = varint(buf, at)")
        s.line(f"{stop} += at")
        s.line(f"if {stop} > size: raise Broken")
        for number, field in enumerate(schema.tagged):
            s.open(f"{'el' if number else ''}if {tag} == {field.tag}:")
            self._one(it, field)
            s.line(f"if at != {stop}: raise Broken")
            s.close()
        s.line(f"else: at = {stop}")
        s.close()

    def _one(self, it: str, field: Field) -> None:
        if not field.array and field.type in LETTERS:
            self._run(it, [field], None)
        else:
            self._variable(f"{it}.{field.name}", field, False)
