"""Where replicas go: golden numbers of textbooks and of Kafka's own tests."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.metadata.assignment import assign_replicas, rack_alternated
from broker_core.metadata.errors import RequestError
from broker_core.wire.errors import ErrorCode

PLAIN = dict.fromkeys(range(5))


def test_partition_0_led_by_4_of_5_brokers_is_followed_by_0_and_1() -> None:
    assignment = assign_replicas(PLAIN, 5, 3, None, start_index=4)
    assert assignment[0] == [4, 0, 1]
    assert assignment[1][0] == 0


def test_ten_partitions_on_five_brokers_are_placed_as_kafkas_own_test_says() -> None:
    assert assign_replicas(PLAIN, 10, 3, None, start_index=0) == {
        0: [0, 1, 2], 1: [1, 2, 3], 2: [2, 3, 4], 3: [3, 4, 0], 4: [4, 0, 1],
        5: [0, 2, 3], 6: [1, 3, 4], 7: [2, 4, 0], 8: [3, 0, 1], 9: [4, 1, 2],
    }  # fmt: skip


def test_brokers_are_ordered_so_that_the_rack_changes_at_every_step() -> None:
    racks = {0: "rack1", 1: "rack3", 2: "rack3", 3: "rack2", 4: "rack2", 5: "rack1"}
    assert rack_alternated(racks) == [0, 3, 1, 5, 4, 2]


def test_three_replicas_on_three_racks_are_on_three_racks() -> None:
    racks: dict[int, str | None] = {0: "rack2", 1: "rack2", 2: "rack3", 3: "rack3", 4: "rack1", 5: "rack1"}
    assignment = assign_replicas(racks, 12, 3, Random(1))
    for replicas in assignment.values():
        assert sorted(str(racks[broker]) for broker in replicas) == ["rack1", "rack2", "rack3"]
    leaders = [replicas[0] for replicas in assignment.values()]
    assert sorted(leaders) == sorted([*range(6)] * 2)


def test_more_replicas_than_racks_still_use_every_rack() -> None:
    racks: dict[int, str | None] = {0: "a", 1: "a", 2: "a", 3: "b"}
    for replicas in assign_replicas(racks, 8, 3, Random(2)).values():
        assert "b" in [racks[broker] for broker in replicas]


def test_new_partitions_go_on_where_the_old_ones_ended() -> None:
    whole = assign_replicas(PLAIN, 10, 3, None, start_index=0)
    grown = assign_replicas(PLAIN, 5, 3, None, start_index=0, first_partition=5)
    assert [replicas[0] for replicas in grown.values()] == [whole[number][0] for number in range(5, 10)]


@pytest.mark.parametrize(("partitions", "factor", "code"), [
    (0, 1, ErrorCode.INVALID_PARTITIONS),
    (1, 0, ErrorCode.INVALID_REPLICATION_FACTOR),
    (1, 6, ErrorCode.INVALID_REPLICATION_FACTOR),
])  # fmt: skip
def test_counts_that_cannot_be_met_are_refused(partitions: int, factor: int, code: ErrorCode) -> None:
    with pytest.raises(RequestError) as refused:
        assign_replicas(PLAIN, partitions, factor, Random(1))
    assert refused.value.code is code


def test_some_brokers_without_a_rack_are_refused() -> None:
    with pytest.raises(RequestError, match="rack information"):
        assign_replicas({0: "a", 1: None}, 1, 1, Random(1))


@given(st.integers(1, 8), st.integers(1, 30), st.data())
def test_replicas_are_on_different_brokers_and_leaders_spread_evenly(
    brokers: int, partitions: int, data: st.DataObject
) -> None:
    factor = data.draw(st.integers(1, brokers))
    racks: dict[int, str | None] = dict.fromkeys(range(10, 10 + brokers))
    assignment = assign_replicas(racks, partitions, factor, Random(data.draw(st.integers(0, 99))))
    assert list(assignment) == list(range(partitions))
    leaders = [replicas[0] for replicas in assignment.values()]
    counts = [leaders.count(broker) for broker in racks]
    assert max(counts) - min(counts) <= 1
    for replicas in assignment.values():
        assert len(replicas) == factor == len(dict.fromkeys(replicas))
