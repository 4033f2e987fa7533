"""Records of the metadata log, held against a log that Apache Kafka 4.3 has written and its own tool's lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from broker_core.kernel.storage_memory import MemoryStorage
from broker_core.log.dump import dump
from broker_core.metadata import records as r
from broker_core.raft.control_records import control_batch
from broker_core.records.batch import decode_records
from broker_core.records.control import read_control
from broker_core.records.header import CONTROL, iterate_batches
from broker_core.wire.errors import WireError

VECTORS = json.loads((Path(__file__).parent.parent / "wire_vectors" / "cluster-metadata-4.3.json").read_text())
FILES = {name: bytes.fromhex(content["bytes"]) for name, content in VECTORS.items()}


@pytest.mark.parametrize("name", FILES)
def test_every_record_is_read_and_written_again_as_the_same_bytes(name):
    kinds = set()
    for batch in iterate_batches(FILES[name]):
        for record in [] if batch.header.attributes & CONTROL else decode_records(batch):
            assert record.value is not None
            found = r.decode(record.value)
            kinds.add(type(found).__name__)
            assert r.encode(found, record.value[2]) == record.value
    assert {"FeatureLevelRecord", "RegisterBrokerRecord"} <= kinds


@pytest.mark.parametrize("name", FILES)
def test_control_batches_are_written_as_kafka_writes_them(name):
    batches = [batch for batch in iterate_batches(FILES[name]) if batch.header.attributes & CONTROL]
    assert batches
    for batch in batches:
        records = decode_records(batch)
        controls = [found for record in records if (found := read_control(record)) is not None]
        header = batch.header
        assert control_batch(controls, records[0].timestamp, header.leader_epoch, header.base_offset) == bytes(batch.data)


@pytest.mark.parametrize("name", FILES)
def test_the_dump_is_that_of_kafka_s_tool_letter_for_letter(name):
    file = MemoryStorage().open(name)
    file.append([FILES[name]])
    assert list(dump(file, deep=True, decode=r.text_of))[1:] == VECTORS[name]["dump"]


@pytest.mark.parametrize("value", [b"", b"\x01", b"\x02\x02\x00", b"\x01\x63\x00", b"\x01\x02\x09", b"\x01\x02\x00\xff\xff\xff\xff\x7f", b"\xff" * 9])
def test_what_is_no_record_is_an_error_and_a_word_in_the_dump(value):
    with pytest.raises(WireError):
        r.decode(value)
    from broker_core.records.record import Record

    assert r.text_of(Record(0, 0, None, value, ())).startswith("<")
