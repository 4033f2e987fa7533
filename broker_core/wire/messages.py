"""Messages as the rest of the program sees them: one class per message, whatever the version.

    from broker_core.wire import messages as m
    m.FetchRequest(max_bytes=1000, topics=[m.FetchRequest.FetchTopic(topic="orders")])

A class has the fields of all versions of its message; what a caller or the bytes leave out has the schema's
default. Writing a version drops the fields that this version lacks. Nested structs are attributes of the
class of the whole message. Values are plain: int (durations and times in milliseconds), str, bytes, bool,
float, list, None, `uuid.UUID` with the nil UUID for "none"; `records` may be any buffer, a list of buffers
and file slices (written without copying), or None.

The classes are made when first asked for, since reading the schemas of all APIs takes more than a second.
They can be pickled (views of buffers become bytes), are mutable, compare by value and have no hash.

`define` makes such classes from tables of another package, as for the records of the metadata log.
"""

from __future__ import annotations

from typing import Any, ClassVar

from broker_core.wire.catalog import MessageType, from_table, message_type
from broker_core.wire.schema import Field, Struct, parse_tables
from broker_core.wire.source import Source

_UNSET: Any = object()
_SHOWN = 60  # characters of a value in repr


class _Maker:
    """Gives each class its `make` when that is first asked for."""

    def __get__(self, message: Message | None, kind: type[Message]) -> Any:
        made = _function_of(kind)
        kind.make = staticmethod(made)  # type: ignore[assignment]
        return made


class Message:
    """Base of all message classes.

    `X.make(...)` is `X(...)` as a plain function: for messages that are made at every request. Python calls a
    function with eleven keywords in half a microsecond, a class in three.
    """

    __slots__ = ()
    make = _Maker()
    DESCRIBED: ClassVar[list[Field]] = []
    FIELDS: ClassVar[tuple[str, ...]] = ()
    TYPE: ClassVar[MessageType]  # of the whole message, also on nested classes
    CLASSES: ClassVar[dict[str, type[Message]]]  # the whole message and its nested structs, by name

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.FIELDS)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        fresh = self.__class__()
        shown = [(name, getattr(self, name)) for name in self.FIELDS]
        parts = [f"{name}={_short(value)}" for name, value in shown if value != getattr(fresh, name)]
        return f"{self.__class__.__name__}({', '.join(parts)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.__class__, [_picklable(getattr(self, name)) for name in self.FIELDS])


def _rebuild(cls: type[Message], values: list[Any]) -> Message:
    message = cls.__new__(cls)
    for name, value in zip(cls.FIELDS, values, strict=True):
        setattr(message, name, value)
    return message


def _picklable(value: Any) -> Any:
    if isinstance(value, memoryview):
        return bytes(value)
    if isinstance(value, list) and any(isinstance(item, memoryview) for item in value):
        return [_picklable(item) for item in value]
    return value


def _short(value: Any) -> str:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return f"<{len(value)} bytes>"
    if isinstance(value, list) and value and not isinstance(value[0], Message) and not isinstance(value[0], (int, str)):
        return f"<{len(value)} parts>"
    text = repr(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."


def define(tables: str, module: str) -> dict[str, Any]:
    """Classes for the messages of a text in `schema`'s notation, to be put into the namespace of `module`.

    `globals().update(define(TABLES, __name__))` in that module makes them picklable.
    """
    return {name: _make_classes(from_table(table), module) for name, table in parse_tables(tables).items()}


def __getattr__(name: str) -> Any:
    try:
        kind = message_type(name)
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no message {name!r}") from None
    made = _make_classes(kind, __name__)
    globals()[name] = made
    return made


def _make_classes(kind: MessageType, module: str) -> Any:
    """The class of a message with its nested classes as attributes."""
    merged = _fields_of_all_versions(kind)
    classes: dict[str, type[Message]] = {}
    for struct_name in reversed(merged):  # innermost first: a default may be a nested message
        path = kind.name if struct_name == kind.name else f"{kind.name}.{struct_name}"
        made = _make_class(struct_name, list(merged[struct_name].values()), classes)
        made.TYPE = kind
        made.CLASSES = classes
        made.__module__ = module
        made.__qualname__ = path
        classes[struct_name] = made
    top = classes[kind.name]
    for name, nested in classes.items():
        if nested is not top:
            setattr(top, name, nested)
    return top


def _fields_of_all_versions(kind: MessageType) -> dict[str, dict[str, Field]]:
    """Struct -> field -> its description in the newest version that has it; outer structs first."""
    merged: dict[str, dict[str, Field]] = {}
    depths: dict[str, int] = {}
    for version in reversed(kind.versions):
        _merge(kind.at(version), 0, merged, depths)
    return dict(sorted(merged.items(), key=lambda item: depths[item[0]]))


def _merge(struct: Struct, depth: int, merged: dict[str, dict[str, Field]], depths: dict[str, int]) -> None:
    fields = merged.setdefault(struct.name, {})
    depths[struct.name] = max(depth, depths.get(struct.name, 0))
    for field in struct.fields + struct.tagged:
        fields.setdefault(field.name, field)
        if isinstance(field.type, Struct):
            _merge(field.type, depth + 1, merged, depths)


def _make_class(name: str, fields: list[Field], nested: dict[str, type[Message]]) -> type[Message]:
    names = tuple(field.name for field in fields)
    members: dict[str, Any] = {"__slots__": names, "FIELDS": names, "DESCRIBED": fields}
    if fields:
        members["__init__"] = _initializer(name, fields, nested)
    return type(name, (Message,), members)


def _initializer(name: str, fields: list[Field], nested: dict[str, type[Message]]) -> Any:
    source = Source({"UNSET": _UNSET})
    values = {field.name: _default_source(field, nested, source) for field in fields}
    parameters = ", ".join(f"{field}={default}" for field, (default, _) in values.items())
    source.open(f"def __init__(self, *, {parameters}):")
    for field, (_, value) in values.items():
        source.line(f"self.{field} = {value}")
    return source.function("__init__", name)


def _function_of(kind: type[Message]) -> Any:
    source = Source({"UNSET": _UNSET, "new": object.__new__, "kind": kind})
    values = {field.name: _default_source(field, kind.CLASSES, source) for field in kind.DESCRIBED}
    parameters = ", ".join(f"{field}={default}" for field, (default, _) in values.items())
    source.open(f"def make({'*, ' if parameters else ''}{parameters}):")
    source.line("message = new(kind)")
    for field, (_, value) in values.items():
        source.line(f"message.{field} = {value}")
    source.line("return message")
    return source.function("make", f"make {kind.__name__}")


def _default_source(field: Field, nested: dict[str, type[Message]], source: Source) -> tuple[str, str]:
    """Source of a parameter's default and of the value that is stored."""
    fresh = default_of(field, nested)
    if isinstance(fresh, list):
        return "UNSET", f"[] if {field.name} is UNSET else {field.name}"
    if isinstance(fresh, Message):
        made = source.constant("make", type(fresh))
        return "UNSET", f"{made}() if {field.name} is UNSET else {field.name}"
    return source.constant("default", fresh), field.name


def default_of(field: Field, nested: dict[str, type[Message]]) -> Any:
    """The value of a field that the bytes leave out; lists and structs are new ones."""
    if isinstance(field.type, Struct) and not field.array and not field.nullable:
        return nested[field.type.name]()
    return field.fresh_default()
