"""The dump: Kafka's lines, JSON with the same facts, and damage that is told instead of raised."""

from __future__ import annotations

import json

from broker_core.kernel.storage_memory import MemoryStorage
from broker_core.log.dump import dump, dump_files, verify_files
from broker_core.log.verify import verify_indexes
from tests.log.logs import NOW, batch, open_log

STEM = "data/orders-0/" + "0" * 20


def test_lines_are_kafkas() -> None:
    storage = MemoryStorage()
    log = open_log(storage)
    log.append_as_leader(batch(1, size=3), 4, NOW)
    crc = log.append_as_leader(batch(2, producer_id=7, producer_epoch=0, base_sequence=5), 4, NOW).last_crc
    lines = list(dump(log.active.log, deep=True))
    assert lines[:2] == [f"Dumping {STEM}.log", "Log starting offset: 0"]
    assert lines[3] == (
        "| offset: 0 CreateTime: 1700000000000 keySize: 1 valueSize: 3 sequence: -1 headerKeys: [] key: k payload: xxx"
    )
    assert lines[4] == (
        "baseOffset: 1 lastOffset: 2 count: 2 baseSequence: 5 lastSequence: 6 producerId: 7 producerEpoch: 0 "
        "partitionLeaderEpoch: 4 isTransactional: false isControl: false deleteHorizonMs: OptionalLong.empty "
        f"position: 72 CreateTime: 1700000000000 size: 97 magic: 2 compresscodec: none crc: {crc} isvalid: true"
    )


def test_json_has_the_same_facts_one_object_a_line() -> None:
    storage = MemoryStorage()
    log = open_log(storage)
    log.append_as_leader(batch(2, compression=4), 4, NOW)
    facts = [json.loads(line) for line in dump(log.active.log, deep=True, as_json=True)]
    assert [fact.get("compresscodec") for fact in facts] == ["zstd", None, None]
    assert facts[0]["isvalid"] is True and facts[2]["offset"] == 1 and facts[2]["key"] == "k"


def test_damage_is_told() -> None:
    storage = MemoryStorage()
    file = storage.open(STEM + ".log")
    good, bad = batch(1), batch(1, base_offset=1)
    bad[-1] ^= 1
    file.append((good, bad, b"\0" * 30))
    lines = list(dump(file))
    assert lines[2].endswith("isvalid: true") and lines[3].endswith("isvalid: false")
    assert lines[-1] == f"Found 30 invalid bytes at the end of {'0' * 20}.log"


def test_an_index_that_lies_is_found() -> None:
    storage = MemoryStorage()
    log = open_log(storage, index_interval_bytes=0)
    for _ in range(4):
        log.append_as_leader(batch(), 0, NOW)
    assert verify_indexes(log.active.log, log.active.index, log.active.time_index) == []
    log.active.index.reset()
    log.active.index.append(2, 7)
    (fault,) = verify_indexes(log.active.log, log.active.index, log.active.time_index)
    assert fault == f"{STEM}.index: offset 2 is said to be at byte 7, where no batch with that end begins"


def test_files_of_a_real_directory_are_read_by_path(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / ("0" * 18 + "50.log")
    path.write_bytes(bytes(batch(1, base_offset=50)))
    lines = list(dump_files([str(path)], False, False))
    assert lines[1] == "Log starting offset: 50" and lines[2].startswith("baseOffset: 50 lastOffset: 50")
    annotated = list(dump_files([str(path)], False, False, annotated=True))
    assert annotated[0] == "batch at byte 0, offsets 50..50"
    assert annotated[1] == "       0  00 00 00 00 00 00 00 32" + " " * 29 + "baseOffset: 50"


def test_indexes_of_a_real_directory_are_checked_by_path(tmp_path) -> None:  # type: ignore[no-untyped-def]
    storage = MemoryStorage()
    log = open_log(storage, index_interval_bytes=0)
    for _ in range(3):
        log.append_as_leader(batch(), 0, NOW)
    log.close()
    for suffix in (".log", ".index", ".timeindex"):
        file = storage.open(STEM + suffix)
        (tmp_path / ("0" * 20 + suffix)).write_bytes(bytes(file.read(0, file.size)))
    assert verify_files(str(tmp_path / ("0" * 20 + ".log"))) == []
