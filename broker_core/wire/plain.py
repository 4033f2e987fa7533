"""The protocol read aloud: a reader and a writer that follow the schema field by field.

    type        old versions                        flexible versions (KIP-482)
    int32 ...   big endian                          the same
    string      int16 length, -1 is null            varint length + 1, 0 is null
    bytes       int32 length, -1 is null            varint length + 1, 0 is null
    [Struct]    int32 count, -1 is null             varint count + 1, 0 is null
    Struct?     int8: -1 is null, 1 is there        the same
    uuid        16 bytes, nil is none               the same
    (end)       nothing                             number of tagged fields, then tag, size, value of each

"orders" is 00 06 6f 72 64 65 72 73, or 07 6f 72 64 65 72 73. A tagged field whose value is the default is not
written; one that the reader does not know is skipped.

`compiled` does the same with code made for each version and is what the broker runs. This module defines
what must come out, and is asked when that code fails, because it knows where it stands: every error names
the field and the byte. Nothing is allocated for a length before the bytes for it are known to be there.
As in Kafka, bytes behind the last field are ignored, and text that is not UTF-8 is read with replacement
characters.
"""

from __future__ import annotations

import struct
import uuid
from typing import Any, NoReturn

from broker_core.wire.errors import WireError
from broker_core.wire.messages import Message
from broker_core.wire.schema import FORMATS, NIL_UUID, Field, Struct, smallest

LONGEST_STRING = 32767

# How many array elements and tagged fields one message may hold; sixteen numbers count as one. A frame of
# 100 MB could name 30 million topics of three bytes each, which would take gigabytes and stop the broker for
# half a minute. Kafka has no such bound; what real clients send is far below it.
MOST_IN_REQUEST = 200_000
MOST_IN_RESPONSE = 10_000_000
NUMBERS_A_VALUE_SHIFT = 4
_PATIENCE = 20_000  # values after which this reader, which is slow, stops looking for the mistake


class PlainReader:
    """Reads one message from a buffer. `what` names it in errors ("FetchRequest v12")."""

    def __init__(
        self, what: str, buffer: memoryview, classes: dict[str, type[Message]], most: int = MOST_IN_RESPONSE
    ) -> None:
        self._what = what
        self._buffer = buffer
        self._classes = classes
        self._path: list[str] = []
        self._flexible = False
        self._left = most
        self._patience = _PATIENCE
        self.position = 0

    def fail(self, reason: str) -> NoReturn:
        path = "".join(self._path).removeprefix(".") or "start"
        raise WireError(f"{self._what} {path} at byte {self.position}", reason)

    def message(self, schema: Struct) -> Message:
        """The struct at the current position; `position` is then behind it."""
        made = self._classes[schema.name]()
        outer, self._flexible = self._flexible, schema.flexible
        for field in schema.fields:
            setattr(made, field.name, self._named(field))
        if schema.flexible:
            self._tagged_fields(schema, made)
        self._flexible = outer
        return made

    def _named(self, field: Field) -> Any:
        self._path.append(f".{field.name}")
        self._patience -= 1
        if self._patience < 0:
            self.fail("the message is broken, but too long to say where")
        value = self._array(field) if field.array else self._single(field)
        self._path.pop()
        return value

    def _array(self, field: Field) -> list[Any] | None:
        count = self._length("i", "count")
        if count < 0:
            self._check_nullable(field)
            return None
        least = smallest(field.type, self._flexible)
        if count * least > self._remaining():
            self.fail(f"an array of {count} needs {count * least} bytes, {self._remaining()} are left")
        self._count(count >> NUMBERS_A_VALUE_SHIFT if field.type in FORMATS else count)
        element = Field(field.name, field.type)
        values = []
        for index in range(count):
            self._path.append(f"[{index}]")
            values.append(self._single(element))
            self._path.pop()
        return values

    def _count(self, values: int) -> None:
        self._left -= values
        if self._left < 0:
            self.fail("the message holds too many values")

    def _single(self, field: Field) -> Any:
        kind = field.type
        if isinstance(kind, Struct):
            if field.nullable and self._number("b") < (0 if field.tag is None else 1):
                return None  # -1; as a tagged field 0
            return self.message(kind)
        if kind in FORMATS:
            return self._number(FORMATS[kind])
        if kind == "bool":
            return self._number("b") != 0
        if kind == "uuid":
            taken = bytes(self._take(16))
            return uuid.UUID(bytes=taken) if any(taken) else NIL_UUID
        return self._sized(field, kind)

    def _sized(self, field: Field, kind: str) -> Any:
        length = self._length("h" if kind == "string" else "i", "length")
        if length < 0:
            self._check_nullable(field)
            return None
        if kind == "string" and length > LONGEST_STRING:
            self.fail(f"a string of {length} bytes is longer than {LONGEST_STRING}")
        taken = self._take(length)
        if kind == "string":
            return str(taken, "utf-8", "replace")
        return taken if kind == "records" else bytes(taken)

    def _tagged_fields(self, schema: Struct, made: Message) -> None:
        known = {field.tag: field for field in schema.tagged}
        number = self.unsigned_varint()
        self._count(number)
        for _ in range(number):
            tag = self.unsigned_varint()
            size = self.unsigned_varint()
            if size > self._remaining():
                self.fail(f"tagged field {tag} of {size} bytes, {self._remaining()} are left")
            field, end = known.get(tag), self.position + size
            if field is None:
                self.position = end
                continue
            setattr(made, field.name, self._named(field))
            if self.position != end:
                self.fail(f"tagged field {tag} says {size} bytes and ends {self.position - end} from there")

    def skip_tagged_fields(self) -> None:
        number = self.unsigned_varint()
        self._count(number)
        for _ in range(number):
            self.unsigned_varint()
            self._take(self.unsigned_varint())

    def unsigned_varint(self) -> int:
        """Seven bits a byte, least significant first; at most five bytes."""
        value = 0
        for shift in range(0, 35, 7):
            byte: int = self._number("B")
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        self.fail("a varint is longer than five bytes")

    def _length(self, old_format: str, noun: str) -> int:
        length: int = self.unsigned_varint() - 1 if self._flexible else self._number(old_format)
        if length < -1:
            self.fail(f"negative {noun} {length}")
        return length

    def _check_nullable(self, field: Field) -> None:
        if not field.nullable:
            self.fail("null is not allowed here")

    def _number(self, form: str) -> Any:
        return struct.unpack(">" + form, self._take(struct.calcsize(form)))[0]

    def _take(self, size: int) -> memoryview:
        if size > self._remaining():
            self.fail(f"{size} bytes needed, {self._remaining()} are left")
        self.position += size
        return self._buffer[self.position - size : self.position]

    def _remaining(self) -> int:
        return len(self._buffer) - self.position


class PlainWriter:
    """Writes one message as a list of buffers; those of `records` are passed on as they are."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._path: list[str] = []
        self._flexible = False
        self.out: list[Any] = []

    def fail(self, reason: str) -> NoReturn:
        raise WireError(f"{self._what} {''.join(self._path).removeprefix('.')}", reason)

    def message(self, schema: Struct, message: Any) -> None:
        outer, self._flexible = self._flexible, schema.flexible
        for field in schema.fields:
            self._named(field, getattr(message, field.name))
        if schema.flexible:
            self._tagged_fields(schema, message)
        self._flexible = outer

    def _named(self, field: Field, value: Any) -> None:
        self._path.append(f".{field.name}")
        if field.array:
            self._array(field, value)
        else:
            self._single(field, value)
        self._path.pop()

    def _array(self, field: Field, values: Any) -> None:
        if values is None and not field.nullable:
            values = []
        self._length(-1 if values is None else len(values), "i")
        for index, value in enumerate(values or ()):
            self._path.append(f"[{index}]")
            self._single(Field(field.name, field.type), value)
            self._path.pop()

    def _single(self, field: Field, value: Any) -> None:
        kind = field.type
        if isinstance(kind, Struct):
            if field.nullable:
                self._number("b", 1 if value is not None else -1 if field.tag is None else 0)
            elif value is None:
                self.fail("null is not allowed here")
            if value is not None:
                self.message(kind, value)
        elif kind in FORMATS:
            self._number(FORMATS[kind], value)
        elif kind == "bool":
            self._number("b", 1 if value else 0)
        elif kind == "uuid":
            self.out.append(value.bytes if isinstance(value, uuid.UUID) else self.fail(f"not a UUID: {value!r}"))
        elif kind == "records":
            self._records(field, value)
        else:
            self._sized(field, kind, value)

    def _sized(self, field: Field, kind: str, value: Any) -> None:
        if value is None:
            return self._length(-1 if field.nullable else 0, "h" if kind == "string" else "i")
        if kind == "bytes":
            self._length(len(value), "i")
            self.out.append(bytes(value))
            return None
        if not isinstance(value, str):
            self.fail(f"not a string: {value!r}")
        encoded = value.encode("utf-8", "replace")
        if len(encoded) > LONGEST_STRING:
            self.fail(f"a string of {len(encoded)} bytes is longer than {LONGEST_STRING}")
        self._length(len(encoded), "h")
        self.out.append(encoded)
        return None

    def _records(self, field: Field, value: Any) -> None:
        if value is None:
            return self._length(-1 if field.nullable else 0, "i")
        parts = value if isinstance(value, (list, tuple)) else [value]
        self._length(sum(map(len, parts)), "i")
        self.out += parts
        return None

    def _tagged_fields(self, schema: Struct, message: Any) -> None:
        present = [f for f in schema.tagged if not is_default(f, getattr(message, f.name))]
        self.unsigned_varint(len(present))
        for field in present:
            inner = PlainWriter(self._what)
            inner._path = [*self._path]
            inner._flexible = True
            inner._named(field, getattr(message, field.name))
            self.unsigned_varint(field.tag or 0)
            self.unsigned_varint(sum(map(len, inner.out)))
            self.out += inner.out

    def unsigned_varint(self, value: int) -> None:
        while value > 0x7F:
            self.out.append(bytes((value & 0x7F | 0x80,)))
            value >>= 7
        self.out.append(bytes((value,)))

    def _length(self, length: int, old_format: str) -> None:
        if self._flexible:
            self.unsigned_varint(length + 1)
        else:
            self._number(old_format, length)

    def _number(self, form: str, value: Any) -> None:
        try:
            self.out.append(struct.pack(">" + form, value))
        except struct.error as error:
            self.fail(f"{value!r} does not fit: {error}")


def is_default(field: Field, value: Any) -> bool:
    """Whether a tagged field is left out. A struct's default is an empty one, also where null is allowed: so null is
    written. (Of a record that lacks it we read null.)"""
    if field.array:
        return value is None if field.default is None else not value
    if isinstance(field.type, Struct):
        inner = field.type.fields + field.type.tagged
        return not field.nullable if value is None else all(is_default(f, getattr(value, f.name)) for f in inner)
    return bool(value == field.default)
