"""The file of schemas says what kio says."""

from __future__ import annotations

from broker_core.wire import kio_schemas, stored_schemas
from broker_core.wire.schema import Field, Struct


def test_the_stored_file_is_the_one_that_the_installed_kio_gives() -> None:
    assert stored_schemas.PATH.read_bytes() == stored_schemas.collect()


def test_a_stored_schema_reads_back_as_it_was() -> None:
    for module, kind, version in (("fetch", "request", 12), ("fetch", "response", 16), ("produce", "response", 9),
                                  ("metadata", "response", 12), ("join_group", "request", 9)):  # fmt: skip
        assert _plain(stored_schemas.load(module, version, kind)) == _plain(kio_schemas.load(module, version, kind))


def _plain(struct: Struct) -> object:
    return (struct.name, struct.flexible, [_field(f) for f in struct.fields], [_field(f) for f in struct.tagged])


def _field(field: Field) -> object:
    kind = _plain(field.type) if isinstance(field.type, Struct) else field.type
    return (field.name, kind, field.array, field.nullable, field.tag, field.default)
