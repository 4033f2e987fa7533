"""Consumers and groups on real brokers: assignment, commits, failures, the poll interval."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from tests.worlds import S, Driven

from broker_core.clients.consumer import ConsumerMachine
from broker_core.kernel.world import World
from lab.clusters.build import build_world
from lab.clusters.spec import run_from_dict

GROUP = {"group.id": "billing", "auto.offset.reset": "earliest"}


class Lab(Driven):
    """Three brokers, a topic of 6 partitions, a producer that writes `count` records."""

    def __init__(self, count: int = 300, **cluster: Any) -> None:
        self.spec = run_from_dict({"cluster": {"preset": "teaching", **cluster}, "seed": 2})
        self.world: World = build_world(self.spec)
        self.run(1)
        self.do(do="create_topic", topic="orders", partitions=6, replication_factor=3)
        self.start("producer", "producer", rate=100, keys=100, count=count)
        self.run(1)

    def start(self, name: str, kind: str = "consumer", **more: Any) -> None:
        self.do(do="start_client", name=name, kind=kind, topic="orders", **more)

    def consumer(self, name: str) -> ConsumerMachine:
        machine = self.world.nodes[name].machine
        assert isinstance(machine, ConsumerMachine)
        return machine

    def read(self, *names: str) -> Counter[tuple[str, int]]:
        """How often each value was read."""
        found: Counter[tuple[str, int]] = Counter()
        for row in self.world.operations.rows:
            if row["op"] == "poll" and row["process"] in names:
                for _, label, first, count in row["runs"]:
                    found.update((label, number) for number in range(first, first + count))
        return found

    def commits(self, name: str) -> list[dict[str, Any]]:
        rows = self.world.operations.rows
        return [row for row in rows if row["op"] == "commit" and row["process"] == name and row["kind"] == "ok"]


def test_a_consumer_without_a_group_reads_everything_from_the_beginning() -> None:
    lab = Lab()
    lab.run(3)
    lab.start("reader", settings={"auto.offset.reset": "earliest"})
    lab.run(2)
    assert set(lab.read("reader").values()) == {1} and len(lab.read("reader")) == 300
    assert lab.consumer("reader").at_end()


def test_latest_begins_at_the_end() -> None:
    lab = Lab(count=0)
    lab.start("reader", settings={"auto.offset.reset": "latest"})
    lab.run(2)
    assert 150 <= len(lab.read("reader")) <= 210 and min(n for _, n in lab.read("reader")) > 90


def test_two_members_share_the_partitions_and_a_third_takes_its_part() -> None:
    lab = Lab(count=0)
    for name in ("c1", "c2"):
        lab.start(name, settings=GROUP)
    lab.run(4)
    assert sorted(len(lab.consumer(name).positions.of) for name in ("c1", "c2")) == [3, 3]
    lab.start("c3", settings=GROUP)
    lab.run(4)
    shares = [list(lab.consumer(name).positions.of) for name in ("c1", "c2", "c3")]
    assert sorted(tp for share in shares for tp in share) == [("orders", p) for p in range(6)]
    assert [len(share) for share in shares] == [2, 2, 2]
    assert set(lab.read("c1", "c2", "c3").values()) == {1}


def test_a_member_that_leaves_hands_over_where_it_was() -> None:
    lab = Lab(count=0)
    for name in ("c1", "c2"):
        lab.start(name, settings=GROUP)
    lab.run(4)
    lab.do(do="stop_client", name="c1")
    lab.run(4)
    assert len(lab.consumer("c2").positions.of) == 6
    assert set(lab.read("c1", "c2").values()) == {1} and len(lab.read("c1", "c2")) > 850


def test_who_is_stopped_deals_with_the_records_at_hand_before_it_commits_them() -> None:
    lab = Lab(count=20)
    lab.run(1)
    lab.start("c1", settings=GROUP, process_ms=200)
    while not lab.consumer("c1").read:
        lab.run(0.05)
    node, at_hand = lab.world.nodes["c1"], lab.consumer("c1").read
    lab.do(do="stop_client", name="c1")
    lab.run(0.2 * at_hand - 0.1)
    assert node.state == "running" and not lab.commits("c1")
    lab.run(0.2)
    assert node.state == "stopped" and sum(offset for _, _, offset in lab.commits("c1")[-1]["offsets"]) == at_hand


def test_a_member_that_crashes_is_expelled_after_its_session_and_what_it_did_not_commit_is_read_again() -> None:
    lab = Lab(count=0)
    for name in ("c1", "c2"):
        lab.start(name, settings=GROUP)
    lab.run(8.5)
    lab.do(do="kill", node="c1")
    lab.run(3)
    assert len(lab.consumer("c2").positions.of) == 3
    lab.run(6)
    assert len(lab.consumer("c2").positions.of) == 6
    counts = Counter(lab.read("c1", "c2").values())
    assert set(counts) == {1, 2} and len(lab.read("c1", "c2")) > 1700


def test_the_group_survives_the_death_of_its_coordinator() -> None:
    lab = Lab(count=0)
    lab.start("c1", settings=GROUP)
    lab.run(3)
    coordinator = lab.consumer("c1").member.coordinator  # type: ignore[union-attr]
    assert coordinator is not None
    lab.do(do="kill", node=coordinator)
    lab.run(10)
    member = lab.consumer("c1").member
    assert member is not None and member.coordinator != coordinator and member.state == "stable"
    before = lab.consumer("c1").read
    lab.run(2)
    assert lab.consumer("c1").read - before > 150 and len(lab.commits("c1")) >= 2
    assert set(lab.read("c1").values()) == {1}


def test_who_does_not_poll_in_time_is_out_of_the_group_though_its_heart_beats() -> None:
    lab = Lab(count=0)
    settings = {**GROUP, "max.poll.interval.ms": 2000}
    lab.start("slow", settings=settings, process_ms=100)
    lab.run(4)
    lab.start("quick", settings=settings)
    lab.run(8)
    left = [row[5] for row in lab.world.journal.tail if row[3] == "member_left"]
    reasons = {row["reason"] for row in left if row["member"].startswith("slow")}
    assert reasons and reasons <= {"left", "rebalance timeout"}
    rows = lab.world.operations.rows
    assert any(len(row["partitions"]) == 6 for row in rows if row["op"] == "assign" and row["process"] == "quick")


def test_a_commit_waits_for_a_coordinator_as_long_as_calls_may_take() -> None:
    lab = Lab(count=0)
    lab.start("c1", settings=GROUP, commit="after")
    lab.run(3)
    lab.do(do="kill", node=lab.consumer("c1").member.coordinator)  # type: ignore[union-attr]
    lab.run(12)
    rows = [row for row in lab.world.operations.rows if row["op"] == "commit" and row["process"] == "c1"]
    invoked = {row["id"]: row["t"] for row in rows if row["kind"] == "invoke"}
    took = [row["t"] - invoked[row["id"]] for row in rows if row["kind"] == "ok"]
    assert max(took) > 2 * S and not [row for row in rows if row["kind"] in ("info", "fail")]
    assert set(lab.read("c1").values()) == {1}


def test_who_left_the_group_does_not_commit_though_nobody_else_is_in_it() -> None:
    lab = Lab(count=0)
    lab.start("slow", settings={**GROUP, "max.poll.interval.ms": 500, "max.poll.records": 20}, process_ms=100, commit="after")
    lab.run(6)
    rows = [row for row in lab.world.operations.rows if row["op"] == "commit"]
    assert {row["kind"] for row in rows} == {"invoke", "fail"}
    assert set(lab.read("slow").values()) > {1}  # each time from where the group is: the beginning
    sent = [row[5]["api"] for row in lab.world.journal.tail if row[2] == "slow" and row[3] == "request_sent"]
    assert "JoinGroup" in sent and "OffsetCommit" not in sent


@pytest.mark.parametrize(("commit", "lost", "twice"), [("after", False, True), ("before", True, False)])
def test_commit_after_processing_reads_twice_and_commit_before_it_skips(commit: str, lost: bool, twice: bool) -> None:
    lab = Lab(count=500)
    lab.run(5)
    lab.start("c1", settings={**GROUP, "max.poll.records": 50}, commit=commit, process_ms=10)
    lab.run(2.2)
    lab.do(do="kill", node="c1")
    lab.do(do="restart", node="c1")
    lab.run(20)
    seen = lab.read("c1")
    processed_first = len(seen) == 500
    assert processed_first and (max(seen.values()) == 2) is twice
    offsets = {(t, p): o for row in lab.commits("c1") for t, p, o in row["offsets"]}
    assert sum(offsets.values()) == 500


def test_what_is_committed_is_the_next_offset() -> None:
    lab = Lab(count=60)
    lab.start("c1", settings=GROUP, commit="after")
    lab.run(3)
    consumer = lab.consumer("c1")
    last = {(t, p): o for row in lab.commits("c1") for t, p, o in row["offsets"]}
    assert sum(last.values()) == 60 and all(consumer.positions.of[tp].offset == o for tp, o in last.items())


def test_sessions_name_only_what_has_changed() -> None:
    lab = Lab(count=0)
    lab.start("reader", settings={"auto.offset.reset": "earliest"})
    lab.run(1)
    sessions = lab.consumer("reader").fetcher.sessions
    assert all(session.session_id > 0 and session.epoch > 5 for session in sessions.values())


def test_compressed_batches_are_read_as_they_were_written() -> None:
    for codec in ("gzip", "snappy", "lz4", "zstd"):
        lab = Lab(count=1)
        lab.start(f"producer-{codec}", "producer", rate=1000, count=200,
                  settings={"compression.type": codec, "linger.ms": 20})
        lab.start("reader", settings={"auto.offset.reset": "earliest"})
        lab.run(2)
        assert len(lab.read("reader")) == 201


def damaged(**settings: str) -> tuple[Lab, list[dict[str, Any]]]:
    """One partition; a bit of record 30 turns over on the leader's disk before anybody reads it. Rows of the reader."""
    lab = Lab(count=0)
    lab.do(do="create_topic", topic="bills", partitions=1, replication_factor=3)
    lab.run(1)
    lab.do(do="start_client", name="producer-bills", kind="producer", topic="bills", rate=100, count=60)
    lab.run(2)
    lab.do(do="bit_flip", leader_of="bills-0", topic="bills", partition=0, offset=30)
    more = {"auto.offset.reset": "earliest", **settings}
    lab.do(do="start_client", name="reader", kind="consumer", topic="bills", settings=more)
    lab.run(3)
    return lab, [row[5] for row in lab.world.journal.tail if row[2] == "reader" and row[3] == "client_error"]


def test_a_batch_that_does_not_fit_its_checksum_ends_the_reading_in_front_of_it() -> None:
    lab, errors = damaged()
    reader = lab.consumer("reader")
    assert reader.read == 30 and sorted(number for _, number in lab.read("reader")) == list(range(30))
    assert reader.positions.of["bills", 0].offset == 30 and not reader.at_end()
    assert [(one["error"], one["reaction"]) for one in errors] == [("CORRUPT_MESSAGE", "give up")]


def test_without_check_crcs_the_damaged_bytes_are_handed_out() -> None:
    lab, errors = damaged(**{"check.crcs": "false"})
    assert lab.consumer("reader").read == 60 and lab.consumer("reader").at_end() and errors == []
