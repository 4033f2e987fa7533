"""Safety and progress of the quorum under faults drawn from a seed.

* ElectionSafety: an epoch has one leader at most
* LogMatching: below the smallest high watermark all logs hold the same batches
* LeaderCompleteness: what any listener was told stays, for every listener, in the same order
* progress: when all faults are over, there is a leader and what it appends is committed
"""

from __future__ import annotations

from random import Random

import pytest

from broker_core.raft.client import NotLeader
from tests.raft.quorums import Quorum

STEPS = 60


class Trial:
    """One quorum under faults."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        voters = self.random.choice([3, 3, 5])
        ids = list(range(1, voters + self.random.choice([0, 1]) + 1))
        self.quorum = Quorum(ids, voters=ids[:voters], seed=seed, dynamic=self.random.random() < 0.5,
                             max_retention_bytes=2000, segment_bytes=2000)
        self.told: list[bytes] = []
        self.appended = 0

    def run(self) -> None:
        for _ in range(STEPS):
            self.random.choice([self.append, self.append, self.append, self.crash, self.start, self.start,
                                self.power_loss, self.pause, self.isolate, self.heal, self.snapshot])()
            self.quorum.run(self.random.choice([0.01, 0.1, 0.5, 1, 3]))
            self.check()
        self.recover()

    def append(self) -> None:
        leader = self.quorum.leader
        if leader is None:
            return
        raft = self.quorum[leader].raft
        try:
            raft.append(raft.quorum.epoch, [b"%d/%d" % (raft.quorum.epoch, self.appended)])
        except NotLeader:
            return
        self.appended += 1

    def some(self, state: str) -> int | None:
        found = [one for one in self.quorum.ids if self.quorum.world.nodes[self.quorum.node(one)].state == state]
        return self.random.choice(found) if found else None

    def crash(self) -> None:
        one = self.some("running")
        if one is not None:
            self.quorum.world.crash(self.quorum.node(one))

    def power_loss(self) -> None:
        one = self.some("running")
        if one is not None:
            self.quorum.world.power_loss(self.quorum.node(one), torn=True)

    def start(self) -> None:
        for state, do in (("stopped", self.quorum.world.start_node), ("paused", self.quorum.world.resume)):
            one = self.some(state)
            if one is not None:
                do(self.quorum.node(one))

    def pause(self) -> None:
        one = self.some("running")
        if one is not None:
            self.quorum.world.pause(self.quorum.node(one))

    def isolate(self) -> None:
        a, b = self.random.choice(self.quorum.ids), self.random.choice(self.quorum.ids)
        if a != b:
            self.quorum.world.change_link(self.quorum.node(a), self.quorum.node(b), partitioned=True)

    def heal(self) -> None:
        for a in self.quorum.ids:
            for b in self.quorum.ids:
                if a != b:
                    self.quorum.cut(a, b, False)

    def snapshot(self) -> None:
        from tests.raft.test_replication import take_snapshot

        one = self.some("running")
        if one is None:
            return
        server = self.quorum[one]
        if server.next_offset > server.raft.log.start_offset and server.raft.log.latest_snapshot_id != (server.next_offset, server.last_epoch):
            take_snapshot(self.quorum, one, server.values)

    def check(self) -> None:
        leaders: dict[int, str] = {}
        for node, state in self.quorum.events("quorum_state"):
            if state["after"] == "leader":
                assert leaders.setdefault(state["epoch"], node) == node, f"two leaders in epoch {state['epoch']}"
        for one in self.quorum.alive:
            values = self.quorum[one].values
            shared = min(len(values), len(self.told))
            assert values[:shared] == self.told[:shared], f"{one} was told something else"
            if len(values) > len(self.told):
                self.told = list(values)
        assert not self.quorum.events("call_failed")

    def recover(self) -> None:
        quorum = self.quorum
        self.heal()
        while self.some("stopped") or self.some("paused"):
            self.start()
        quorum.wait_for_leader(60)
        quorum.run(5)
        quorum.append(b"at last")
        quorum.run(5)
        self.check()
        assert [quorum[one].values for one in quorum.ids] == [[*self.told[:-1], b"at last"]] * len(quorum.ids)
        logs = [quorum[one].raft.log for one in quorum.ids]
        start, end = max(log.start_offset for log in logs), min(log.high_watermark for log in logs)
        assert len({tuple(batch.header.crc for batch in log.batches(start, end)) for log in logs}) == 1


@pytest.mark.parametrize("seed", range(12))
def test_one_leader_an_epoch_and_what_was_committed_stays(seed):
    Trial(seed).run()
