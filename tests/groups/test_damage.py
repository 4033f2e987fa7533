"""A bit that flips inside `__consumer_offsets` costs what stood there, not the coordinator."""

from __future__ import annotations

from typing import Any

import pytest

from broker_core.kernel.storage_faults import flip
from broker_core.wire.errors import ErrorCode as E
from tests.groups.conftest import GroupLab

COUNT = 300
FIELDS = {"base offset": 7, "length": 11, "long length": 8, "epoch": 15, "magic": 16, "crc": 17, "count": 60, "records": 75}


def commits(lab: Any) -> tuple[int, list[int]]:
    """COUNT batches in one partition: its number, and where in its only file each batch begins."""
    partition, positions = lab.coordinator().partition_for("g"), []
    for number in range(COUNT):
        positions.append(lab.topic.logs[partition].segments[0].size if number else 0)
        lab.commit({("orders", number): number})
        lab.run(0)
    return partition, positions


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("place", [0, COUNT // 2, COUNT - 1])
def test_what_stands_behind_the_damage_is_loaded(field: str, place: int) -> None:
    lab = GroupLab()
    partition, positions = commits(lab)
    flip(_file(lab, partition), positions[place] + FIELDS[field])
    lab.lead("broker-2", 1)
    loaded = lab.committed()
    lost = [number for number in range(COUNT) if ("orders", number) not in loaded]
    refused = lab.journal("group_record_refused")
    assert all(loaded["orders", number] == (number, "") for number in range(COUNT) if number not in lost)
    if field in ("base offset", "epoch"):
        assert not lost and not refused
    else:
        assert lost and lost == list(range(place, place + len(lost))) and refused[0]["offset"] == place
        assert len(lost) == 1 or field in ("length", "long length") and len(lost) < 50


def _file(lab: Any, partition: int) -> Any:
    return lab.topic.logs[partition].segments[0].log


def test_a_coordinator_goes_on_whatever_bit_it_was() -> None:
    lab = GroupLab()
    (member,), generation = lab.stable_group()
    for number in range(4):
        lab.commit({("orders", number): number}, member, generation)
    lab.run(0)
    file = _file(lab, lab.coordinator().partition_for("g"))
    for epoch, position in enumerate(range(0, file.size, 5), 1):
        flip(file, position)
        lab.lead(("broker-1", "broker-2")[epoch % 2], epoch)
        assert lab.heartbeat(member, generation) in (E.NONE, E.UNKNOWN_MEMBER_ID)
        assert set(lab.committed().values()) <= {(number, "") for number in range(4)}
        flip(file, position)
    lab.lead("broker-1", epoch + 2)
    assert len(lab.committed()) == 4 and lab.heartbeat(member, generation) == E.NONE
