"""Built-in consumers with `group.protocol=consumer` (KIP-848) on real brokers: they move to their target one by one."""

from __future__ import annotations

from typing import Any

import pytest
from tests.clients_core.test_consumer import Lab as Brokers
from tests.worlds import S

from broker_core.clients.metadata import TopicPartition
from broker_core.kernel.errors import Refusal
from broker_core.wire.errors import ErrorCode
from lab.clusters.client_spec import client_from_dict

GROUP = {"group.id": "billing", "auto.offset.reset": "earliest", "group.protocol": "consumer"}


class Lab(Brokers):
    """A KRaft cluster, a topic of 6 partitions, records without end; what happened is kept."""

    def __init__(self, **settings: str) -> None:
        self.happened: list[Any] = []
        super().__init__(0, controller="kraft", settings=settings)
        self.world.journal.transition_watchers.append(self.happened.append)

    def join(self, *names: str, **more: Any) -> None:
        for name in names:
            self.start(name, **{"settings": GROUP, **more})

    def share(self, name: str) -> set[TopicPartition]:
        return set(self.consumer(name).positions.of)

    def told(self, code: str, node: str | None = None, since: int = 0) -> list[dict[str, Any]]:
        rows = [row for row in self.happened if row[3] == code and row[1] >= since]
        return [row[5] for row in rows if node is None or row[2] == node]

    def longest_gap(self, name: str, since: int) -> int:
        """The longest time in which a consumer was given nothing."""
        rows = self.world.operations.rows
        times = [row["t"] for row in rows if row["op"] == "poll" and row["process"] == name and row["t"] >= since]
        return max(after - before for before, after in zip([since, *times], [*times, self.world.now_us], strict=True))

    def group(self) -> dict[str, Any]:
        """The group as its coordinator sees it."""
        for number in (1, 2, 3):
            groups = self.world.nodes[f"broker-{number}"].machine.groups.groups()
            if "billing" in groups:
                return dict(groups["billing"])
        raise AssertionError("no broker coordinates the group")


def test_members_come_and_go_and_who_keeps_a_partition_reads_on() -> None:
    lab = Lab()
    lab.join("c1", "c2")
    lab.run(8)
    assert sorted(len(lab.share(name)) for name in ("c1", "c2")) == [3, 3]
    started = lab.world.now_us
    lab.join("c3")
    lab.run(8)
    shares = [lab.share(name) for name in ("c1", "c2", "c3")]
    assert [len(share) for share in shares] == [2, 2, 2] and len(set.union(*shares)) == 6
    assert lab.longest_gap("c1", started) < 0.5 * S > lab.longest_gap("c2", started)
    revoked = lab.told("partitions_revoked", since=started)
    assert [len(one["partitions"]["orders"]) for one in revoked] == [1, 1]
    lab.do(do="stop_client", name="c1")
    lab.run(6)
    assert sorted(len(lab.share(name)) for name in ("c2", "c3")) == [3, 3]
    assert set(lab.read("c1", "c2", "c3").values()) == {1}


def test_who_dies_is_out_after_the_groups_session_and_what_it_had_not_committed_is_read_again() -> None:
    lab = Lab()
    lab.join("c1", "c2")
    lab.run(8.5)
    lab.do(do="kill", node="c1")
    lab.run(4)
    assert len(lab.share("c2")) == 3
    lab.run(5)
    assert len(lab.share("c2")) == 6
    assert set(lab.read("c1", "c2").values()) == {1, 2}


def test_who_is_fenced_drops_everything_and_joins_again_under_its_id() -> None:
    lab = Lab()
    lab.join("c1", "c2")
    lab.run(6)
    member = lab.consumer("c1").member.member_id
    lab.do(do="pause", node="c1")
    lab.run(8)
    assert len(lab.share("c2")) == 6
    lab.do(do="resume", node="c1")
    lab.run(5)
    assert sorted(len(lab.share(name)) for name in ("c1", "c2")) == [3, 3]
    assert lab.consumer("c1").member.member_id == member
    assert [one["reason"] for one in lab.told("member_left")] == ["session timeout"]


def test_who_works_too_long_leaves_and_comes_back_with_its_next_poll() -> None:
    lab = Lab()
    settings = {**GROUP, "max.poll.interval.ms": "2000"}
    lab.join("c1")
    lab.join("c2", process_ms=30, settings=settings)
    lab.run(20)
    assert lab.told("member_left")[0]["reason"] == "left"
    assert len([one for one in lab.told("member_joined") if one["client_id"] == "c2"]) > 1
    assert lab.world.nodes["c2"].state == "running"


def test_a_static_member_is_expected_back_and_gets_what_it_had() -> None:
    lab = Lab()
    lab.join("c1", settings={**GROUP, "group.instance.id": "one"})
    lab.join("c2")
    lab.run(8)
    had = lab.share("c1")
    lab.do(do="stop_client", name="c1")
    lab.run(3)
    assert len(lab.share("c2")) == 3
    lab.do(do="start_client", name="c1")
    lab.run(4)
    assert lab.share("c1") == had and not lab.told("member_left", since=lab.world.now_us)


def test_a_static_member_whose_old_life_is_not_over_is_refused_and_ends() -> None:
    lab = Lab()
    lab.join("c1", settings={**GROUP, "group.instance.id": "one"})
    lab.run(4)
    lab.do(do="kill", node="c1")
    lab.world.nodes["c1"].messages = True
    lab.do(do="start_client", name="c1")
    lab.run(2)
    assert lab.world.nodes["c1"].state == "stopped"
    (told,) = [row[5] for row in lab.world.journal.tail if row[3] == "client_error"]
    assert (told["error"], told["reaction"]) == ("UNRELEASED_INSTANCE_ID", "give up")
    lab.run(6)
    lab.do(do="start_client", name="c1")
    lab.run(4)
    assert len(lab.share("c1")) == 6


@pytest.mark.parametrize("assignor", ["range", "uniform"])
def test_a_member_asks_for_an_assignor_of_the_broker(assignor: str) -> None:
    lab = Lab()
    lab.join("c1", "c2", settings={**GROUP, "group.remote.assignor": assignor})
    lab.run(8)
    assert lab.group()["protocol"] == assignor
    if assignor == "range":
        assert {frozenset(lab.share(name)) for name in ("c1", "c2")} == {
            frozenset(("orders", number) for number in part) for part in ((0, 1, 2), (3, 4, 5))
        }


def test_a_pattern_finds_topics_that_are_made_later() -> None:
    lab = Lab()
    lab.do(do="start_client", name="c1", kind="consumer", topic="^ord.*", settings=GROUP)
    lab.run(5)
    assert len(lab.share("c1")) == 6
    lab.do(do="create_topic", topic="ordinary", partitions=2, replication_factor=3)
    lab.do(do="create_topic", topic="words", partitions=2, replication_factor=3)
    lab.run(14)
    assert {topic for topic, _ in lab.share("c1")} == {"orders", "ordinary"} and len(lab.share("c1")) == 8


def test_the_coordinator_dies_and_nobody_is_moved() -> None:
    lab = Lab()
    lab.join("c1", "c2")
    lab.run(8)
    shares = lab.share("c1"), lab.share("c2")
    lab.do(do="kill", node=f"broker-{lab.group()['coordinator']}")
    lab.run(10)
    assert (lab.share("c1"), lab.share("c2")) == shares and not lab.told("member_left")
    assert set(lab.read("c1", "c2").values()) == {1}


@pytest.mark.parametrize("given", [
    {"session.timeout.ms": "6000"}, {"heartbeat.interval.ms": "500"}, {"partition.assignment.strategy": "range"},
])  # fmt: skip
def test_what_the_brokers_decide_cannot_be_set(given: dict[str, str]) -> None:
    described = {"name": "c", "kind": "consumer", "topic": "orders", "settings": {**GROUP, **given}}
    with pytest.raises(Refusal) as refused:
        client_from_dict(described, ())
    assert refused.value.problem["code"] == "of_other_protocol"
    described["settings"] = {"group.id": "g", "group.remote.assignor": "range"}
    with pytest.raises(Refusal):
        client_from_dict(described, ())


def test_presets_of_classic_groups_are_left_out() -> None:
    described = {"name": "c", "kind": "consumer", "topic": "orders", "settings": GROUP}
    assert "session.timeout.ms" not in client_from_dict(described, (), "teaching").settings


def test_a_pattern_needs_the_newer_protocol() -> None:
    described = {"name": "c", "kind": "consumer", "topic": "^ord.*", "settings": {"group.id": "g"}}
    with pytest.raises(Refusal) as refused:
        client_from_dict(described, ())
    assert refused.value.problem["code"] == "pattern_needs_protocol"


def test_classic_members_of_a_group_that_is_converted_keep_their_ids_and_read_on() -> None:
    """They ask for offsets without an id, as `ConsumerCoordinator`, and keep theirs when they missed a generation."""
    lab = Lab(**{"group.consumer.migration.policy": "bidirectional"})
    classic = {"settings": {key: value for key, value in GROUP.items() if key != "group.protocol"}}
    lab.join("c1", "c2", **classic)
    lab.run(8)
    ids = {name: lab.consumer(name).member.member_id for name in ("c1", "c2")}
    started = lab.world.now_us
    lab.join("c3")
    lab.run(6)
    assert [len(lab.share(name)) for name in ("c1", "c2", "c3")] == [2, 2, 2]
    assert {name: lab.consumer(name).member.member_id for name in ids} == ids
    assert [one["client_id"] for one in lab.told("member_joined", since=started)] == ["c3"]
    member = lab.consumer("c1").member
    member.expelled(ErrorCode.ILLEGAL_GENERATION)
    lab.run(6)
    assert member.member_id == ids["c1"] and len(lab.share("c1")) == 2 and lab.told("member_left") == []
    assert set(lab.read("c1", "c2", "c3").values()) <= {1, 2}
