"""The first error in a response, for the journal's one-line account of it.

A Fetch response says what went wrong at three levels: the whole request, a topic, a partition. For each
message class a function is made that looks at `error_code` from the outside in, along those branches of the
message only that have such a field.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from broker_core.wire.catalog import MessageType
from broker_core.wire.schema import Field, Struct
from broker_core.wire.source import Source


class _Finders(dict[Any, Callable[[Any], int]]):
    def __missing__(self, kind: Any) -> Callable[[Any], int]:
        made = self[kind] = _make(kind.TYPE)
        return made


ERROR_FINDERS = _Finders()
"""Message class -> its function."""


def first_error(response: Any) -> int:
    """The first error code that is not 0 (NONE) in any message; 0 when there is none."""
    return ERROR_FINDERS[response.__class__](response)


def _make(kind: MessageType) -> Callable[[Any], int]:
    source = Source({})
    source.open("def first_error(top):")
    _emit(source, "top", [kind.at(version) for version in kind.versions])
    source.line("return 0")
    source.close()
    return source.function("first_error", f"first error of {kind.name}")


def _emit(source: Source, value: str, versions: list[Struct]) -> None:
    """Looks into a struct, given with its schemas in all versions."""
    fields: dict[str, list[Field]] = {}
    for field in (f for struct in versions for f in struct.fields + struct.tagged):
        fields.setdefault(field.name, []).append(field)
    if "error_code" in fields:
        source.line(f"if {value}.error_code: return int({value}.error_code)")
    for name, alike in fields.items():
        inner = [field.type for field in alike if isinstance(field.type, Struct)]
        if not any(_has_error(struct) for struct in inner):
            continue
        item = source.name("o")
        whole = f"{value}.{name}"
        source.open(
            f"for {item} in {whole} or ():" if alike[0].array else f"for {item} in ({whole},) if {whole} else ():"
        )
        _emit(source, item, inner)
        source.close()


def _has_error(struct: Struct) -> bool:
    return any(field.name == "error_code" for inner in struct.structs() for field in inner.fields + inner.tagged)
