"""The built-in share consumer: workers share a queue, fail, are slow, die; nothing is lost, nothing is done twice."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from tests.clients_core.test_consumer import Lab as Brokers

from broker_core.kernel.errors import Refusal
from lab.clusters.client_spec import client_from_dict

STATE = {f"share.coordinator.state.topic.{name}": "1" for name in ("num.partitions", "replication.factor", "min.isr")}
GROUP = {"group.id": "jobs"}
EXPLICIT = {**GROUP, "share.acknowledgement.mode": "explicit"}
LOCK = {"group.share.record.lock.duration.ms": "5000", "group.share.min.record.lock.duration.ms": "1000"}


class Lab(Brokers):
    """A queue with one partition, read from its beginning."""

    def __init__(self, count: int = 0, **settings: str) -> None:
        self.happened: list[Any] = []
        super().__init__(0, controller="kraft", settings={**STATE, **settings})
        self.world.journal.transition_watchers.append(self.happened.append)
        self.do(do="stop_client", name="producer")
        self.do(do="create_topic", topic="jobs", partitions=1, replication_factor=3)
        self.do(do="alter_config", group="jobs", set={"share.auto.offset.reset": "earliest"})
        if count:
            self.do(do="start_client", name="producer-jobs", kind="producer", topic="jobs", rate=100, count=count)
        self.run(3)

    def work(self, name: str, **more: Any) -> None:
        self.do(do="start_client", name=name, kind="worker", topic="jobs", **{"settings": GROUP, **more})

    def rows(self, op: str, kind: str = "ok") -> list[dict[str, Any]]:
        return [row for row in self.world.operations.rows if row["op"] == op and row["kind"] == kind]

    def accepted(self) -> Counter[int]:
        """How often each offset was accepted."""
        found: Counter[int] = Counter()
        for row in self.rows("acknowledge"):
            for first, count, what in row["runs"]:
                found.update(range(first, first + count) if what == "accept" else ())
        return found

    def had(self, name: str) -> int:
        return sum(run[3] for row in self.rows("poll") if row["process"] == name for run in row["runs"])

    def deliveries(self, offset: int) -> list[int]:
        """The numbers of an offset's deliveries, in order."""
        return [row["delivery"] for row in self.rows("poll") for run in row["runs"] if run[0] <= offset < run[0] + run[3]]

    def settled(self, state: str) -> int:
        rows = [row[5] for row in self.happened if row[3] == "share_settled" and row[5]["state"] == state]
        return sum(row["records"] for row in rows)


@pytest.mark.parametrize("commit", ["poll", "sync"])
def test_one_worker_empties_a_queue(commit: str) -> None:
    lab = Lab(200)
    lab.work("worker-1", commit=commit)
    lab.run(10)
    assert lab.accepted() == dict.fromkeys(range(200), 1)
    assert lab.settled("acknowledged") == 200


def test_three_workers_share_one_partition() -> None:
    lab = Lab(300)
    for number in (1, 2, 3):
        lab.work(f"worker-{number}", process_ms=10, settings={**GROUP, "max.poll.records": "10", "share.acquire.mode": "record_limit"})
    lab.run(15)
    assert lab.accepted() == dict.fromkeys(range(300), 1)
    assert all(lab.had(f"worker-{number}") > 50 for number in (1, 2, 3))


def test_a_poison_record_is_delivered_as_often_as_the_limit_says() -> None:
    lab = Lab(20)
    lab.do(do="produce", topic="jobs", value="poison")
    for number in (1, 2):
        lab.work(f"worker-{number}", settings=EXPLICIT, fails="poison")
    lab.run(20)
    assert lab.accepted() == dict.fromkeys(range(20), 1)
    assert lab.deliveries(20) == [1, 2, 3, 4, 5]
    assert lab.settled("archived") == 1


def test_a_rejected_record_is_not_delivered_again() -> None:
    lab = Lab(5)
    lab.do(do="produce", topic="jobs", value="poison")
    lab.work("worker-1", settings=EXPLICIT, fails="poison", on_failure="reject")
    lab.run(10)
    assert lab.deliveries(5) == [1] and lab.settled("archived") == 1


@pytest.mark.parametrize("how", ["kill", "pause"])
def test_what_a_worker_had_goes_to_another_one(how: str) -> None:
    lab = Lab(30, **LOCK)
    lab.work("worker-1", process_ms=1000)
    lab.run(7)
    assert lab.had("worker-1") == 30 and not lab.accepted()
    lab.do(do=how, node="worker-1")
    lab.work("worker-2")
    lab.run(15)
    assert sorted(lab.accepted()) == list(range(30))
    assert lab.had("worker-2") == 30
    assert set(lab.deliveries(0)) == {1, 2}


def test_who_is_slower_than_the_lock_is_refused_and_who_renews_is_not() -> None:
    for renews, refused in ((False, True), (True, False)):
        lab = Lab(8, **LOCK)
        lab.work("worker-1", process_ms=1000, settings={**EXPLICIT, "max.poll.records": "8"}, renews=renews)
        lab.run(14)
        assert bool(lab.rows("acknowledge", "fail")) is refused
        assert (set(lab.deliveries(7)) == {1}) is not refused


def test_a_worker_that_stops_gives_back_what_it_has_not_accepted() -> None:
    lab = Lab(40)
    lab.work("worker-1", process_ms=100, settings={**EXPLICIT, "max.poll.records": "20", "share.acquire.mode": "record_limit"})
    lab.run(6)
    lab.do(do="stop_client", name="worker-1")
    lab.run(4)
    assert lab.world.nodes["worker-1"].state == "stopped"
    lab.work("worker-2")
    lab.run(6)
    assert lab.accepted() == dict.fromkeys(range(40), 1)


def test_the_leader_dies_and_nothing_is_lost() -> None:
    lab = Lab(200, **{**STATE, "share.coordinator.state.topic.replication.factor": "3"})
    for number in (1, 2):
        lab.work(f"worker-{number}", process_ms=5, settings={**GROUP, "max.poll.records": "10", "share.acquire.mode": "record_limit"})
    lab.run(5)
    lab.do(do="kill", leader_of="jobs-0")
    lab.run(30)
    assert sorted(lab.accepted()) == list(range(200))


def test_the_same_run_has_the_same_history() -> None:
    found = []
    for _ in range(2):
        lab = Lab(50)
        lab.work("worker-1", settings=EXPLICIT, fail_share=0.2)
        lab.work("worker-2", settings=EXPLICIT, fail_share=0.2)
        lab.run(8)
        found.append(lab.world.operations.rows)
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        ({"settings": {}}, "settings"),
        ({"fails": "poison"}, "fails"),
        ({"commit": "auto"}, "commit"),
        ({"name": "reader"}, "name"),
        ({"settings": {**EXPLICIT, "share.acquire.mode": "all"}}, "settings.share.acquire.mode"),
        ({"kind": "consumer", "name": "c", "fail_share": 0.5}, "fail_share"),
    ],
)
def test_a_wrong_worker_is_refused_with_its_place(wrong: dict[str, Any], place: str) -> None:
    given = {"name": "worker-1", "kind": "worker", "topic": "jobs", "settings": GROUP, **wrong}
    with pytest.raises(Refusal) as found:
        client_from_dict(given, ())
    assert place in str(found.value)


def test_without_members_a_queue_goes_on_where_it_is_told_to() -> None:
    lab = Lab(40)
    lab.work("worker")
    lab.run(12)
    assert sum(lab.accepted().values()) == 40

    def reset(**where: Any) -> tuple[str, str]:
        number = lab.do(do="reset_offsets", group="jobs", topic="jobs", **where)["id"]
        lab.run(3)
        ended = lab.world.nodes["operator"].machine.results[number]
        return ended["kind"], ended["error"]

    assert reset(to="earliest") == ("fail", "NON_EMPTY_GROUP")
    lab.do(do="stop_client", name="worker")
    lab.run(4)
    assert reset(to="earliest") == ("ok", "") and reset(shift_by=30) == ("ok", "")
    lab.work("worker")
    lab.run(12)
    assert lab.accepted() == {offset: 1 + (offset >= 30) for offset in range(40)}


def test_without_members_a_queue_can_be_forgotten_and_begins_anew() -> None:
    lab = Lab(40)
    lab.work("worker")
    lab.run(12)

    def forget() -> tuple[str, str]:
        number = lab.do(do="delete_offsets", group="jobs", topic="jobs")["id"]
        lab.run(3)
        ended = lab.world.nodes["operator"].machine.results[number]
        return ended["kind"], ended["error"]

    assert forget() == ("fail", "NON_EMPTY_GROUP")
    lab.do(do="stop_client", name="worker")
    lab.run(4)
    assert forget() == ("ok", "")
    lab.work("worker")
    lab.run(12)
    assert lab.accepted() == dict.fromkeys(range(40), 2), "it begins where share.auto.offset.reset says, at the beginning"
