"""A voter's disk is slow: what it promises leaves when it is written, and what comes in waits (see `raft.io_thread`)."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from broker_core.kernel.storage_faults import SLOW, DiskFault, DiskFaults
from tests.raft.quorums import Quorum

SLOW_US = 40_000


def slow(quorum: Quorum, replica: int) -> None:
    faults = DiskFaults(Random(1))
    faults.rules.append(DiskFault(SLOW, latency_us=SLOW_US))
    quorum.world.nodes[quorum.node(replica)].storage.set_faults(faults)


def times(quorum: Quorum, code: str, node: str, since: int, **what: Any) -> list[int]:
    return [
        row[1] for row in quorum.world.journal.tail
        if row[1] >= since and (row[2], row[3]) == (node, code) and what.items() <= row[5].items()
    ]  # fmt: skip


def test_who_votes_for_itself_asks_for_votes_when_that_is_on_disk() -> None:
    quorum = Quorum()
    first = quorum.wait_for_leader()
    for replica in quorum.ids:
        slow(quorum, replica)
    quorum.run(3)
    died = quorum.world.now_us
    quorum.world.crash(quorum.node(first))
    second = quorum.node(quorum.wait_for_leader())
    candidate, = times(quorum, "quorum_state", second, died, after="candidate")
    leader, = times(quorum, "quorum_state", second, died, after="leader")
    asked = [at for at in times(quorum, "request_sent", second, candidate, api="Vote") if at <= leader]
    assert min(asked) == candidate + SLOW_US
    written = 3  # the new epoch and the vote by who is asked, before his own vote by who asks
    assert leader - min(asked) >= 2 * SLOW_US, f"{written} writes, one behind the other"


def test_a_record_counts_when_it_is_on_the_leaders_disk_and_then_on_a_followers() -> None:
    quorum = Quorum(delay_us=0, append_linger_ms=0)
    leader = quorum.wait_for_leader()
    quorum.append(b"quick")
    quorum.run(0.01)
    assert quorum[leader].values == [b"quick"]
    for replica in quorum.ids:
        slow(quorum, replica)
    began = quorum.world.now_us
    quorum.append(b"slow")
    while quorum[leader].values != [b"quick", b"slow"]:
        quorum.run(0.001)
    assert quorum.world.now_us - began >= 4 * SLOW_US - 1000, "an append and a flush here, then there"


@pytest.mark.parametrize("seed", range(1, 4))
def test_a_quorum_with_slow_disks_goes_on(seed: int) -> None:
    quorum = Quorum(seed=seed)
    first = quorum.wait_for_leader()
    for replica in quorum.ids:
        slow(quorum, replica)
    for number in range(20):
        quorum.append(b"%d" % number)
        quorum.run(0.05)
    quorum.run(3)
    quorum.world.stop(quorum.node(first))
    quorum.run(3)
    quorum.world.start_node(quorum.node(first))
    quorum.run(8)
    assert quorum.leader is not None
    assert [quorum[one].values for one in quorum.ids] == [[b"%d" % number for number in range(20)]] * 3
