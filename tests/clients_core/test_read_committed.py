"""The built-in consumer with `isolation.level=read_committed`: aborted records and markers are never handed out."""

from __future__ import annotations

import pytest
from tests.clients_core.test_consumer import Lab

from broker_core.clients.fetched import Fetched
from broker_core.records import encode_batch
from broker_core.records.control import transaction_marker_batch

NOW = 1_700_000_000_000
EARLIEST = {"auto.offset.reset": "earliest"}


def data(producer: int, sequence: int = 0, base_offset: int = 0) -> bytearray:
    fields = {"producer_id": producer, "producer_epoch": 0, "base_sequence": sequence, "transactional": True}
    return encode_batch([(NOW, None, b"%d" % producer, ())], base_offset=base_offset, **fields)  # type: ignore[arg-type]


def marker(producer: int, commit: bool, base_offset: int = 0) -> bytearray:
    found = transaction_marker_batch(commit, producer, 0, 0, NOW)
    found[:8] = base_offset.to_bytes(8, "big")
    return found


HISTORY = b"".join([
    data(1, 0, 0), data(2, 0, 1), data(1, 1, 2), marker(1, False, 3), data(2, 1, 4), marker(2, True, 5),
    data(1, 2, 6), marker(1, True, 7), encode_batch([(NOW, None, b"plain", ())], base_offset=8), data(1, 3, 9),
    marker(1, False, 10),
])  # fmt: skip


@pytest.mark.parametrize(
    ("start", "aborted", "offsets"),
    [
        (0, [(0, 1), (9, 1)], [1, 4, 6, 8]),
        (0, None, [0, 1, 2, 4, 6, 8, 9]),
        (2, [(9, 1), (0, 1)], [4, 6, 8]),
        (5, [(9, 1)], [6, 8]),
    ],
)
def test_batches_of_aborted_transactions_are_skipped_up_to_their_marker(
    start: int, aborted: list[tuple[int, int]] | None, offsets: list[int]
) -> None:
    at = 0
    for step in range(1, 4):
        fetched = Fetched(("orders", 0), HISTORY[at:], aborted=aborted)
        taken = []
        while not fetched.used_up:
            taken += [record.offset for record in fetched.take(start, step)]
        assert taken == offsets and fetched.end == 11


def test_a_consumer_reads_committed_transactions_and_stands_behind_the_rest() -> None:
    lab = Lab(count=0)
    lab.do(do="stop_client", name="producer")
    lab.do(do="create_topic", topic="sales", partitions=1, replication_factor=3)
    lab.run(1)
    leader = next(
        node.machine for name, node in lab.world.nodes.items() if name.startswith("broker-")
        and node.machine.replicas.partition("sales", 0) and node.machine.replicas.partition("sales", 0).is_leader
    )  # fmt: skip

    def append(records: bytearray, origin: str = "client") -> None:
        leader.replicas.append(30_000, -1, [("sales", 0, records)], _ignore, None, origin)
        lab.run(0.1)

    append(data(1))
    append(data(2))
    append(marker(1, False), "coordinator")
    append(marker(2, True), "coordinator")
    append(data(1, 1))
    for name, level in (("committed", "read_committed"), ("all", "read_uncommitted")):
        settings = {**EARLIEST, "isolation.level": level}
        lab.do(do="start_client", name=name, kind="consumer", topic="sales", settings=settings)
    lab.run(2)
    assert lab.consumer("committed").read == 1 and lab.consumer("all").read == 3
    place = lab.consumer("committed").positions.of["sales", 0]
    assert (place.offset, place.end) == (4, 4) and lab.consumer("committed").at_end()
    append(marker(1, True), "coordinator")
    lab.run(1)
    assert lab.consumer("committed").read == 2 and place.offset == 6


def _ignore(context: object, answer: object) -> None:
    """Nobody waits for it."""
