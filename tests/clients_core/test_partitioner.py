"""Partitioning: the Java client's own hash values, and how records without a key travel."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from broker_core.clients.partitioner import RoundRobin, Sticky, murmur2, partition_of_key

JAVA = [  # org.apache.kafka.common.utils.UtilsTest.testMurmur2
    (b"21", -973932308),
    (b"foobar", -790332482),
    (b"a-little-bit-long-string", -985981536),
    (b"a-little-bit-longer-string", -1486304829),
    (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
    (b"abc", 479470107),
]


@pytest.mark.parametrize(("key", "expected"), JAVA)
def test_murmur2_gives_the_values_that_java_publishes(key: bytes, expected: int) -> None:
    assert murmur2(key) == expected


def test_the_sign_bit_is_cleared_and_not_negated() -> None:
    assert partition_of_key(b"21", 6) == (-973932308 & 0x7FFFFFFF) % 6


def test_a_sticky_partition_changes_only_after_its_bytes() -> None:
    sticky = Sticky(Random(1), 100)
    first = sticky.partition(1000, range(1000))
    for _ in range(9):
        sticky.appended(10, 1000, range(1000), True)
        assert sticky.partition(1000, range(1000)) == first
    sticky.appended(10, 1000, range(1000), True)
    assert sticky.partition(1000, range(1000)) != first


def test_an_unfinished_batch_holds_the_partition_up_to_twice_the_bytes() -> None:
    sticky = Sticky(Random(1), 100)
    first = sticky.partition(1000, range(1000))
    sticky.appended(199, 1000, range(1000), False)
    assert sticky.partition(1000, range(1000)) == first
    sticky.appended(1, 1000, range(1000), False)
    assert sticky.partition(1000, range(1000)) != first


def test_long_queues_are_drawn_less_often() -> None:
    sticky = Sticky(Random(7), 1)
    sticky.load([0, 1, 2], [(1, 3), (2, 1)])
    drawn: Counter[int] = Counter()
    for _ in range(8000):
        drawn[sticky.partition(3, [0, 1, 2])] += 1
        sticky.appended(1, 3, [0, 1, 2], True)
    assert 3700 < drawn[0] < 4300 and 800 < drawn[1] < 1200 and 2700 < drawn[2] < 3300


def test_sticky_draws_only_partitions_that_have_a_leader() -> None:
    sticky = Sticky(Random(3), 1)
    for _ in range(50):
        assert sticky.partition(5, [4]) == 4
        sticky.appended(1, 5, [4], True)


def test_round_robin_takes_each_partition_in_turn() -> None:
    turn = RoundRobin(Random(5))
    drawn = [turn.partition(3, [0, 1, 2]) for _ in range(6)]
    assert drawn[:3] == drawn[3:] and sorted(drawn[:3]) == [0, 1, 2]
