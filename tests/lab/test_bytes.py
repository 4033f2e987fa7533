"""A batch, byte by byte, and the way on which an index finds it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from broker_core.kernel.storage_memory import MemoryStorage
from broker_core.log.config import LogConfig
from broker_core.log.partition_log import PartitionLog
from broker_core.records.batch import encode_batch
from lab.checkers.bytes import WARM_ENTRIES, NothingThere, look_up, search_index
from lab.checkers.bytes_meanings import MEANINGS
from tests.replication.harness import EPOCH_MS, Cluster


class Machine:
    """A broker that is one log."""

    def __init__(self, log: PartitionLog) -> None:
        self.partitions = {("orders", 0): self}
        self.log = log


def world_with(batches: int, records: int = 3, size: int = 100, **config: Any) -> Any:
    cluster = Cluster(1)
    log = PartitionLog(MemoryStorage(), "data/orders-0", "orders", 0, LogConfig(**config), EPOCH_MS)
    for number in range(batches):
        rows = [(EPOCH_MS + number, b"k", b"%d-%d" % (number, index) + b"." * size, [("h", b"x")]) for index in range(records)]
        log.append_as_leader(encode_batch(rows), 4, EPOCH_MS)
    cluster.world.nodes["broker-1"].machine = Machine(log)
    return cluster.world


def test_every_byte_of_a_batch_belongs_to_one_field_with_a_meaning():
    found = look_up(world_with(5), "orders", 0, 7, 1)
    batch, at = found["batch"], 0
    for field in batch["fields"]:
        assert field["offset"] == at and field["en"] and field["ko"]
        at += field["size"]
    assert at == batch["size"] == len(batch["hex"]) // 2
    values = {field["name"]: field["value"] for field in batch["fields"]}
    assert values["baseOffset"] == 6 and values["partitionLeaderEpoch"] == 4 and values["record 1 key"] == "k"
    assert [record["offset"] for record in found["records"]] == [6, 7, 8]
    assert found["records"][1]["value"].startswith("2-1") and found["records"][1]["headers"] == [["h", "x"]]
    assert batch["crc_valid"] and json.loads(json.dumps(found)) == found


def test_a_segment_is_named_after_its_first_offset_and_the_record_is_found_in_the_third():
    world = world_with(22, records=1, size=20, segment_bytes=1000)
    bases = look_up(world, "orders", 0, 21, 1)["segment"]["segments"]
    found = look_up(world, "orders", 0, 21, 1)["segment"]
    assert len(bases) == 3 and found["file"] == f"{bases[-1]:020d}.log" and found["active"]


@pytest.mark.parametrize("warm", [WARM_ENTRIES, 8], ids=["all warm", "mostly cold"])
def test_the_search_ends_where_the_index_says_after_few_steps(warm, monkeypatch):
    monkeypatch.setattr("lab.checkers.bytes.WARM_ENTRIES", warm)
    world = world_with(200, index_interval_bytes=200)
    log = world.nodes["broker-1"].machine.log
    entries = log.active.index.entries()
    for offset in range(0, 600, 7):
        search = search_index(log.active, offset)
        assert (search["found"] or {"offset": 0, "position": 0})["position"] == log.active.index.lookup(offset)[1]
        assert len(search["steps"]) <= 12 and search["entries"] == len(entries) > 50
        found = look_up(world, "orders", 0, offset, 1)
        assert found["batch"]["base_offset"] <= offset <= found["batch"]["last_offset"]
        assert found["scan"][0]["position"] == search["position"]
    assert search_index(log.active, 0)["found"] is None
    assert search_index(log.active, 1)["section"] == ("cold" if warm == 8 else "warm")


def test_a_flipped_bit_shows_as_a_wrong_checksum():
    world = world_with(2)
    log = world.nodes["broker-1"].machine.log
    data = bytearray(log.active.log.read(0, log.active.log.size))
    data[90] ^= 1
    log.active.log.truncate(0)
    log.active.log.append([bytes(data)])
    assert not look_up(world, "orders", 0, 0, 1)["batch"]["crc_valid"]


def test_what_is_not_there_is_said_so():
    world = world_with(2)
    for arguments, text in (
        (("orders", 0, 6, 1), "has offsets 0 to 5, not 6"), (("orders", 1, 0, 1), "no replica of orders-1"),
        (("orders", 0, 0, 2), "broker 2 does not run"),
    ):  # fmt: skip
        with pytest.raises(NothingThere, match=text):
            look_up(world, *arguments)


def test_meanings_are_there_in_korean():
    assert all(any("가" <= letter <= "힣" for letter in korean) for _, korean in MEANINGS.values())
