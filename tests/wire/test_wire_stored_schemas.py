"""The file of schemas says what kio says."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker_core.wire import kio_schemas, stored_schemas
from broker_core.wire.schema import Field, Struct


def test_the_file_is_made_when_it_is_missing_and_read_when_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_schemas.sys, "prefix", str(tmp_path))
    stored_schemas._stored.cache_clear()
    try:
        first = stored_schemas._stored()
        assert stored_schemas.path().read_bytes() == stored_schemas.collect()
        stored_schemas._stored.cache_clear()
        monkeypatch.setattr(stored_schemas, "collect", None)
        assert stored_schemas._stored() == first
    finally:
        stored_schemas._stored.cache_clear()


def test_an_environment_that_cannot_be_written_does_without_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_schemas.sys, "prefix", str(tmp_path / "missing"))
    stored_schemas._stored.cache_clear()
    assert stored_schemas.versions_of("produce")
    stored_schemas._stored.cache_clear()


def test_a_stored_schema_reads_back_as_it_was() -> None:
    for module, kind, version in (("fetch", "request", 12), ("fetch", "response", 16), ("produce", "response", 9),
                                  ("metadata", "response", 12), ("join_group", "request", 9)):  # fmt: skip
        assert _plain(stored_schemas.load(module, version, kind)) == _plain(kio_schemas.load(module, version, kind))


def _plain(struct: Struct) -> object:
    return (struct.name, struct.flexible, [_field(f) for f in struct.fields], [_field(f) for f in struct.tagged])


def _field(field: Field) -> object:
    kind = _plain(field.type) if isinstance(field.type, Struct) else field.type
    return (field.name, kind, field.array, field.nullable, field.tag, field.default)
