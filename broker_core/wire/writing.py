"""Writers made of straight-line Python, one function for each version of a message.

    def write(o1, out, cuts):
        out += pack_ih(o1.throttle_time, o1.error_code)
        ...

`out` is a bytearray that begins with size and header. Record batches are not copied into it: `cuts` collects
(position in `out`, list of buffers), and `compiled` cuts `out` there. As in `reading`, whatever goes wrong is
done again by `plain`, which names the field.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from broker_core.wire.plain import LONGEST_STRING
from broker_core.wire.reading import Broken
from broker_core.wire.schema import Field, Struct
from broker_core.wire.source import LETTERS, Source

Writer = Callable[[Any, bytearray, list[tuple[int, Any]]], None]
_LENGTH_LETTER = {"string": "h", "bytes": "i", "records": "i"}


def write_varint(out: bytearray, value: int) -> None:
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def parts_of(value: Any) -> tuple[int, Any]:
    """Size and buffers of a `records` field."""
    if isinstance(value, (list, tuple)):
        return sum(map(len, value)), value
    return len(value), (value,)


_SCOPE: dict[str, Any] = {"write_varint": write_varint, "parts_of": parts_of, "Broken": Broken}


def make_writer(schema: Struct, place: str) -> Writer:
    return _source(schema).function("write", place)


def source_of_writer(schema: Struct) -> str:
    return _source(schema).text()


def _source(schema: Struct) -> Source:
    source = Source(_SCOPE)
    source.open("def write(top, out, cuts):")
    _Emitter(source).struct(schema, "top")
    source.line("return None")
    source.close()
    return source


class _Emitter:
    """Writes the lines that write one struct."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._flexible = False
        self._out = "out"

    def struct(self, schema: Struct, it: str) -> None:
        outer, self._flexible = self._flexible, schema.flexible
        self._fields(it, schema)
        if schema.flexible:
            self._tagged(it, schema)
        self._flexible = outer

    def _fields(self, it: str, schema: Struct) -> None:
        run: list[tuple[str, str]] = []  # letter and expression of the fixed-size values not yet written
        for field in schema.fields:
            if not field.array and field.type in LETTERS:
                run.append(self._fixed(f"{it}.{field.name}", str(field.type)))
            else:
                run = self._variable(f"{it}.{field.name}", field, run)
        self._flush(run)

    def _fixed(self, value: str, kind: str) -> tuple[str, str]:
        return LETTERS[kind], f"{value}.bytes" if kind == "uuid" else value

    def _flush(self, run: list[tuple[str, str]]) -> None:
        if run:
            pack = self._source.packing("".join(letter for letter, _ in run), "pack")
            self._source.line(f"{self._out} += {pack}({', '.join(value for _, value in run)})")

    def _length(self, run: list[tuple[str, str]], letter: str) -> None:
        """Writes `n`, together with the fixed-size values before it."""
        if not self._flexible:
            return self._flush([*run, (letter, "n")])
        self._flush(run)
        self._source.line(f"if n < 127: {self._out}.append(n + 1)")
        self._source.line(f"else: write_varint({self._out}, n + 1)")
        return None

    def _variable(self, value: str, field: Field, run: list[tuple[str, str]]) -> list[tuple[str, str]]:
        if isinstance(field.type, Struct) and not field.array:
            self._flush(run)
            self._nested(value, field)
        elif field.array:
            self._array(value, field, run)
        elif field.type == "records":
            self._records(value, field, run)
        else:
            self._sized(value, str(field.type), field.nullable, run)
        return []

    def _sized(self, value: str, kind: str, nullable: bool, run: list[tuple[str, str]]) -> None:
        s = self._source
        s.line(f"v = {value}")
        s.open("if v is None:")
        s.line(f"n, v = {-1 if nullable else 0}, b''")
        s.close()
        s.open("else:")
        if kind == "string":
            s.line("v = v.encode()")
        s.line("n = len(v)")
        if kind == "string" and self._flexible:
            s.line(f"if n > {LONGEST_STRING}: raise Broken")
        s.close()
        self._length(run, _LENGTH_LETTER[kind])
        s.line(f"{self._out} += v")

    def _records(self, value: str, field: Field, run: list[tuple[str, str]]) -> None:
        s = self._source
        s.line(f"v = {value}")
        s.line(f"if v is None: n, v = {-1 if field.nullable else 0}, ()")
        s.line("else: n, v = parts_of(v)")
        self._length(run, "i")
        s.line(f"if n > 0: cuts.append((len({self._out}), v))")

    def _array(self, value: str, field: Field, run: list[tuple[str, str]]) -> None:
        s, kind = self._source, field.type
        values = s.name("values")
        s.line(f"{values} = {value}")
        s.line(f"if {values} is None: n, {values} = {-1 if field.nullable else 0}, ()")
        s.line(f"else: n = len({values})")
        self._length(run, "i")
        item = s.name("o")
        if isinstance(kind, str) and kind in LETTERS:
            each = self._fixed(item, kind)
            pack = s.packing(each[0], "pack")
            s.line(f"for {item} in {values}: {self._out} += {pack}({each[1]})")
            return
        s.open(f"for {item} in {values}:")
        if isinstance(kind, Struct):
            self.struct(kind, item)
        else:
            self._sized(item, kind, False, [])
        s.close()

    def _nested(self, value: str, field: Field) -> None:
        s = self._source
        assert isinstance(field.type, Struct)
        item = s.name("o")
        s.line(f"{item} = {value}")
        if not field.nullable:
            self.struct(field.type, item)
            return
        s.line(f"if {item} is None: {self._out}.append({255 if field.tag is None else 0})")  # as in `plain`
        s.open("else:")
        s.line(f"{self._out}.append(1)")
        self.struct(field.type, item)
        s.close()

    def _tagged(self, it: str, schema: Struct) -> None:
        s = self._source
        if not schema.tagged:
            s.line(f"{self._out}.append(0)")
            return
        present = []
        for field in schema.tagged:
            flag = s.name("has")
            s.line(f"{flag} = {self._is_set(f'{it}.{field.name}', field)}")
            present.append(flag)
        s.line(f"n = {' + '.join(present)}")
        s.line(f"{self._out}.append(n)")
        s.open("if n:")
        for flag, field in zip(present, schema.tagged, strict=True):
            s.open(f"if {flag}:")
            self._tagged_field(it, field)
            s.close()
        s.close()

    def _tagged_field(self, it: str, field: Field) -> None:
        s, outer = self._source, self._out
        self._out = s.name("inner")
        s.line(f"{self._out} = bytearray()")
        value = f"{it}.{field.name}"
        if not field.array and field.type in LETTERS:
            self._flush([self._fixed(value, str(field.type))])
        else:
            self._variable(value, field, [])
        inner, self._out = self._out, outer
        s.line(f"write_varint({outer}, {field.tag})")
        s.line(f"write_varint({outer}, len({inner}))")
        s.line(f"{outer} += {inner}")

    def _is_set(self, value: str, field: Field) -> str:
        """The condition under which a tagged field is written: it differs from its default (`plain.is_default`)."""
        if field.array:
            return f"{value} is not None" if field.default is None else f"({value} is not None and len({value}) > 0)"
        if isinstance(field.type, Struct):
            inner = [self._is_set(f"{value}.{f.name}", f) for f in field.type.fields + field.type.tagged]
            unless = "is None or" if field.nullable else "is not None and"
            return f"({value} {unless} ({' or '.join(inner)}))"
        return f"{value} != {self._source.constant('default', field.default)}"
