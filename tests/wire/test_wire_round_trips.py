"""Every message in every version, there and back, by three independent codecs."""

from __future__ import annotations

import importlib
import random
from io import BytesIO
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from broker_core.wire import catalog, kio_schemas, messages
from broker_core.wire.compiled import read_message, write_message
from broker_core.wire.plain import PlainReader, PlainWriter

EVERYTHING = [(name, version) for name in catalog.names() for version in catalog.message_type(name).versions]
NAMES = catalog.names()


def joined(parts: list[Any]) -> bytes:
    return b"".join(map(bytes, parts))


def written(message: Any, version: int) -> bytes:
    return joined(write_message(type(message), version, message, bytearray(), sized=False))


def written_plainly(message: Any, version: int) -> bytes:
    writer = PlainWriter(type(message).__name__)
    writer.message(message.TYPE.at(version), message)
    return joined(writer.out)


@pytest.mark.parametrize("name", NAMES)
def test_a_message_written_and_read_is_the_same_in_every_version(name: str, random_messages: Any) -> None:
    for version in catalog.message_type(name).versions:
        draw = random_messages(random.Random(f"{name} {version}"))
        for _ in range(3):
            message = draw.message(name, version)
            wire = written(message, version)
            assert wire == written_plainly(message, version)
            assert read_message(type(message), version, memoryview(wire)) == message
            plain = PlainReader(name, memoryview(wire), message.CLASSES)
            assert plain.message(message.TYPE.at(version)) == message
            assert plain.position == len(wire)


@pytest.mark.parametrize("name", NAMES)
def test_kio_reads_and_writes_the_same_bytes(name: str, random_messages: Any) -> None:
    serial: Any = importlib.import_module("kio.serial")
    module, kind = catalog._kio_modules().get(name, (None, None))
    if module is None:
        pytest.skip("kio lacks this message")
    for version in kio_schemas.versions_of(module):
        entity = getattr(importlib.import_module(f"kio.schema.{module}.v{version}.{kind}"), name)
        message = random_messages(random.Random(f"{name} {version}"), tame=True).message(name, version)
        wire = written(message, version)
        theirs, size = serial.entity_reader(entity)(memoryview(wire).toreadonly(), 0)
        assert size == len(wire)
        buffer = BytesIO()
        serial.entity_writer(entity)(buffer, theirs)
        assert buffer.getvalue() == wire


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(chosen=st.sampled_from(EVERYTHING), source=st.randoms(use_true_random=False))
def test_any_message_survives_its_bytes(chosen: tuple[str, int], source: random.Random, random_messages: Any) -> None:
    name, version = chosen
    message = random_messages(source).message(name, version)
    wire = written(message, version)
    assert wire == written_plainly(message, version)
    assert read_message(type(message), version, memoryview(wire + b"behind")) == message


def test_fields_that_a_version_lacks_are_left_out() -> None:
    request = messages.FetchRequest(rack_id="r1", max_bytes=77, topics=[])
    again = read_message(messages.FetchRequest, 3, memoryview(written(request, 3)))
    assert (again.max_bytes, again.rack_id) == (77, "")
