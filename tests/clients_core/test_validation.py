"""Positions held against leader epochs (KIP-320): a log that was cut and has grown again is noticed."""

from __future__ import annotations

from typing import Any

import pytest
from tests.worlds import Driven

from broker_core.clients.consumer import ConsumerMachine
from broker_core.clients.validation import Question
from broker_core.kernel.world import World
from lab.clusters.build import build_world
from lab.clusters.spec import run_from_dict

ORDERS = ("orders", 0)
EARLIEST = {"auto.offset.reset": "earliest"}
GROUP = {"group.id": "billing", "auto.commit.interval.ms": "100", **EARLIEST}


class Lab(Driven):
    """Brokers 1 and 2 have `orders`-0, which may elect a leader outside its ISR; broker 3 keeps the group's offsets."""

    def __init__(self) -> None:
        settings = {"offsets.topic.num.partitions": "1", "offsets.topic.replication.factor": "3"}
        self.spec = run_from_dict({"cluster": {"preset": "teaching", "settings": settings}, "seed": 7})
        self.world: World = build_world(self.spec)
        self.run(1)
        configs = {"unclean.leader.election.enable": "true"}
        self.do(do="create_topic", topic="orders", assignment=[[1, 2]], configs=configs)
        self.produce("producer-a")

    def produce(self, name: str, rate: int = 100) -> None:
        self.do(do="start_client", name=name, kind="producer", topic="orders", rate=rate, settings={"acks": "all"})

    def read(self, **settings: str) -> None:
        self.do(do="start_client", name="reader", kind="consumer", topic="orders", settings=settings)

    def cut(self) -> None:
        """Broker 2 misses what broker 1 acknowledges for five seconds, and then leads."""
        self.do(do="kill", broker=2)
        self.run(8)
        self.do(do="kill", broker=1)
        self.run(6)
        self.do(do="restart", broker=2)

    @property
    def reader(self) -> ConsumerMachine:
        machine = self.world.nodes["reader"].machine
        assert isinstance(machine, ConsumerMachine)
        return machine

    def events(self, code: str) -> list[dict[str, Any]]:
        return [row[5] for row in self.world.journal.tail if row[3] == code and row[2] == "reader"]

    def polls(self, name: str = "reader") -> list[tuple[int, tuple[str, int]]]:
        """(offset, (producer, number)) of all that was read, in order."""
        rows = [row for row in self.world.operations.rows if row["op"] == "poll" and row["process"] == name]
        runs = [run for row in rows for run in row["runs"]]
        return [(at + n, (label, first + n)) for at, label, first, count in runs for n in range(count)]

    def check_reading(self, kept: int) -> None:
        """Who reads the log afresh finds what the reader has read last at each offset, and that from `kept` on twice."""
        self.do(do="stop_client", name="producer-a")
        self.run(2)
        self.do(do="start_client", name="auditor", kind="consumer", topic="orders", settings=EARLIEST)
        self.run(3)
        log = dict(self.polls("auditor"))
        assert len(log) > kept and {at: value for at, value in self.polls() if at in log} == log
        offsets = [at for at, _ in self.polls()]
        assert offsets.count(kept) == 2 and offsets.count(kept - 1) == 1


@pytest.fixture
def lab() -> Lab:
    return Lab()


def test_a_consumer_goes_back_to_where_the_logs_differ(lab: Lab) -> None:
    lab.read(**EARLIEST)
    lab.run(2)
    lab.cut()
    lab.run(4)
    (noticed,) = lab.events("truncation_noticed")
    assert noticed["reaction"] == "go back" and 100 < noticed["end_offset"] < noticed["offset"] - 300
    assert not [one for one in lab.events("client_error") if one["error"] == "OFFSET_OUT_OF_RANGE"]
    lab.check_reading(noticed["end_offset"])


def test_a_log_that_has_grown_beyond_the_committed_offset_is_noticed_by_its_epoch(lab: Lab) -> None:
    lab.read(**GROUP)
    lab.run(4)
    lab.do(do="kill", broker=2)
    lab.run(8)
    lab.do(do="stop_client", name="reader")
    lab.run(1)
    lab.do(do="kill", broker=1)
    lab.run(6)
    lab.do(do="restart", broker=2)
    lab.run(16)
    lab.read(**GROUP)
    lab.run(5)
    (noticed,) = lab.events("truncation_noticed")
    end = lab.world.nodes["broker-2"].machine.replicas.partition(*ORDERS).log.log_end_offset
    assert end > noticed["offset"] > noticed["end_offset"]  # no OFFSET_OUT_OF_RANGE would ever have told
    lab.check_reading(noticed["end_offset"])


def test_without_a_policy_the_application_gets_the_error_and_nothing_more_is_read(lab: Lab) -> None:
    lab.read(**GROUP)
    lab.run(2)
    lab.do(do="set_client", name="reader", set={"auto.offset.reset": "none"})
    lab.run(5)
    lab.cut()
    lab.run(3)
    (noticed,) = lab.events("truncation_noticed")
    assert noticed["reaction"] == "give up" and lab.reader.positions.of[ORDERS].state == "stuck"
    read = len(lab.polls())
    lab.run(5)
    assert len(lab.polls()) == read


@pytest.mark.parametrize(("epoch", "end"), [(-1, -1), (-1, 5_000), (0, -1)])
def test_an_answer_without_an_epoch_or_an_end_leads_to_the_policy(lab: Lab, epoch: int, end: int) -> None:
    lab.read(**EARLIEST)
    lab.run(2)
    lab.reader.validation._settle(Question(ORDERS, lab.reader.positions.of[ORDERS]), epoch, end)
    assert lab.reader.positions.of[ORDERS].state == "reset"
    assert [one["reaction"] for one in lab.events("truncation_noticed")] == ["reset"]


def test_a_leader_that_has_everything_is_asked_and_reading_goes_on(lab: Lab) -> None:
    lab.read(**GROUP)
    lab.run(2)
    lab.do(do="kill", broker=1)
    lab.run(10)
    asked = [one for one in lab.events("request_sent") if one["api"] == "OffsetForLeaderEpoch"]
    assert asked and lab.events("truncation_noticed") == []
    offsets = [at for at, _ in lab.polls()]
    assert offsets == list(range(len(offsets))) and len(offsets) > 500


def test_a_commit_carries_the_epoch_of_the_last_record(lab: Lab) -> None:
    lab.read(**GROUP)
    lab.run(2)
    lab.do(do="kill", broker=1)
    lab.run(12)
    machine = lab.world.nodes[lab.reader.member.coordinator].machine
    committed = machine.groups.registry.groups["billing"].offsets.committed[ORDERS]
    assert committed.leader_epoch == lab.reader.metadata.leader_epoch(*ORDERS) > 0


def test_the_same_seed_gives_the_same_journal() -> None:
    def journal() -> list[Any]:
        lab = Lab()
        lab.read(**GROUP)
        lab.run(2)
        lab.cut()
        lab.run(3)
        return [list(row) for row in lab.world.journal.tail]

    first = journal()
    assert first == journal() and any(row[3] == "truncation_noticed" for row in first)
