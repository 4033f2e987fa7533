"""The built-in processor on real brokers: at least once without transactions, exactly once with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from tests.worlds import Driven

from broker_core.clients.positions import FETCHING, VALIDATING
from broker_core.clients.processor import ProcessorMachine
from broker_core.clients.transactional_processor import TransactionalProcessorMachine
from broker_core.kernel.world import World
from broker_core.records.batch import decode_records
from broker_core.records.header import iterate_batches
from lab.checkers.group_work import Reader, group_work
from lab.clusters.build import build_world
from lab.clusters.spec import SpecError, run_from_dict
from lab.truth import truth_of

EXACTLY_ONCE = {"transactional.id": "sales-1", "isolation.level": "read_committed"}
BOTH = pytest.mark.parametrize("controller", ["zookeeper", "kraft"])
COUNT = 300


class Lab(Driven):
    """Three brokers, `orders` and `sales` with two partitions each; 300 records wait in `orders`."""

    def __init__(self, controller: str = "zookeeper", count: int = COUNT) -> None:
        self.spec = run_from_dict({"cluster": {"preset": "teaching", "controller": controller}, "seed": 3})
        self.world: World = build_world(self.spec)
        self.crashes: dict[str, list[int]] = {}
        self.readers: dict[str, Reader] = {}
        self.run(2)
        for topic in ("orders", "sales"):
            self.do(do="create_topic", topic=topic, partitions=2, replication_factor=3)
        self.run(1)
        self.do(do="start_client", name="producer", kind="producer", topic="orders", rate=1000, keys=50, count=count)
        self.run(2)

    def process(self, name: str = "processor", **more: Any) -> None:
        settings = {"group.id": "billing", "auto.offset.reset": "earliest", "max.poll.records": "20", **more.pop("settings", {})}
        given = {"process_ms": 2, **more}
        self.readers[name] = Reader("billing", 0, "none", True, "transactional.id" in settings)
        self.do(do="start_client", name=name, kind="processor", topic="orders", into="sales", settings=settings, **given)

    def kill(self, name: str) -> None:
        self.crashes.setdefault(name, []).append(self.world.now_us)
        self.do(do="kill", node=name)

    def machine(self, name: str = "processor") -> ProcessorMachine:
        machine = self.world.nodes[name].machine
        assert isinstance(machine, ProcessorMachine)
        return machine

    def read_all(self, isolation: str = "read_committed") -> Counter[bytes | None]:
        """Key -> how often, of what stands in `sales`; the key is what it was made of."""
        settings = {"auto.offset.reset": "earliest", "isolation.level": isolation}
        name = f"reader-{isolation}"
        self.do(do="start_client", name=name, kind="consumer", topic="sales", settings=settings)
        self.run(3)
        keys = {place: key for number in (0, 1) for place, key in self.keys(number)}
        polls = [row for row in self.world.operations.rows if row["op"] == "poll" and row["process"] == name]
        offsets = [(row["partition"], run[0] + step) for row in polls for run in row["runs"] for step in range(run[3])]
        return Counter(keys[place] for place in offsets)

    def keys(self, number: int) -> Iterator[tuple[tuple[int, int], bytes | None]]:
        """What stands in a partition of `sales`."""
        leader = truth_of(self.world).partition_state("sales", number)["leader"]
        log = self.world.nodes[f"broker-{leader}"].machine.replicas.partition("sales", number).log
        for part in log.read(0, 1 << 24, log.log_end_offset).slices:
            for batch in iterate_batches(part.read()):
                yield from (((number, record.offset), record.key) for record in decode_records(batch))

    def work(self) -> dict[str, int]:
        rows = self.world.operations.rows
        return group_work(rows, self.crashes, self.readers, self.world.now_us, {"reader-read_committed"})["billing"]


def wanted(count: int = COUNT) -> Counter[bytes | None]:
    return Counter(b"producer:%d" % number for number in range(count))


@BOTH
@pytest.mark.parametrize("settings", [{}, EXACTLY_ONCE])
def test_where_nothing_goes_wrong_every_record_becomes_one(controller: str, settings: dict[str, str]) -> None:
    lab = Lab(controller)
    lab.process(settings=settings)
    lab.run(6)
    assert lab.read_all() == wanted()
    assert lab.work() == {"processed": COUNT, "twice": 0, "missed": 0}
    view = lab.machine().view()
    assert (view["kind"], view["read"], view["acked"], view["failed"]) == ("processor", COUNT, COUNT, 0)
    assert sum(offset for _, _, offset in view["positions"]) >= COUNT


def test_killed_in_its_work_it_writes_twice_what_it_had_not_committed() -> None:
    lab = Lab()
    lab.process(process_ms=10, settings={"session.timeout.ms": "6000"})
    lab.run(2)
    lab.kill("processor")
    lab.do(do="restart", node="processor")
    lab.run(14)
    found = lab.read_all()
    doubled = sum(found.values()) - COUNT
    assert set(found) == set(wanted()) and doubled > 0
    assert lab.work() == {"processed": COUNT, "twice": doubled, "missed": 0}


@BOTH
def test_killed_in_a_transaction_it_doubles_and_loses_nothing(controller: str) -> None:
    lab = Lab(controller)
    lab.process(process_ms=10, settings=EXACTLY_ONCE)
    lab.run(2)
    assert isinstance(lab.machine(), TransactionalProcessorMachine)
    lab.kill("processor")
    lab.do(do="restart", node="processor")
    lab.run(14)
    assert lab.read_all() == wanted()
    assert sum(lab.read_all("read_uncommitted").values()) > COUNT, "what was aborted stands in the log"
    assert lab.work() == {"processed": COUNT, "twice": 0, "missed": 0}


def test_what_the_application_aborts_is_read_again_and_counts_once() -> None:
    lab = Lab("kraft")
    lab.process(settings=EXACTLY_ONCE, transaction_records=20, abort_share=0.4)
    lab.run(12)
    machine: Any = lab.machine()
    assert machine.rounds.aborted >= 2 and machine.read > COUNT
    assert lab.read_all() == wanted() and lab.work()["twice"] == 0


def test_a_position_that_is_being_validated_is_committed_with_the_records_that_were_read() -> None:
    lab = Lab("kraft")
    lab.process(settings=EXACTLY_ONCE)
    machine = lab.machine()
    while machine.read < 60:
        lab.run(0.01)
    for position in machine.positions.of.values():
        if position.state == FETCHING:
            position.become(VALIDATING)  # a new leader: it is asked, and until then nothing is fetched
            position.blocked_until_us = lab.world.now_us + 2_000_000
    lab.run(1)
    lab.kill("processor")
    lab.do(do="restart", node="processor")
    lab.run(14)
    assert lab.read_all() == wanted() and lab.work()["twice"] == 0


@BOTH
def test_partitions_change_hands_between_transactions(controller: str) -> None:
    lab = Lab(controller)
    lab.process(process_ms=30, settings=EXACTLY_ONCE)
    lab.run(2)
    lab.process("processor-2", process_ms=30, settings={**EXACTLY_ONCE, "transactional.id": "sales-2"})
    lab.run(4)
    lab.do(do="stop_client", name="processor")
    lab.run(8)
    assert lab.world.nodes["processor"].state == "stopped"
    assert lab.read_all() == wanted() and lab.work() == {"processed": COUNT, "twice": 0, "missed": 0}
    assert {row["process"] for row in lab.world.operations.rows if row["op"] == "transform"} == {"processor", "processor-2"}


def test_a_zombie_whose_partitions_went_to_somebody_else_commits_nothing() -> None:
    lab = Lab("kraft")
    lab.process(process_ms=10, transaction_ms=60_000, settings={**EXACTLY_ONCE, "session.timeout.ms": "6000"})
    lab.run(2)
    lab.do(do="pause", node="processor")
    lab.process("processor-2", process_ms=5, settings={**EXACTLY_ONCE, "transactional.id": "sales-2"})
    lab.run(10)
    lab.do(do="resume", node="processor")
    lab.run(20)
    commits = [row["kind"] for row in lab.world.operations.rows if row["op"] == "commit" and row["process"] == "processor"]
    machine: Any = lab.machine()
    assert "ok" not in commits and machine.rounds.aborted >= 1
    assert lab.read_all() == wanted() and lab.work() == {"processed": COUNT, "twice": 0, "missed": 0}


def test_a_second_processor_with_the_same_transactional_id_ends_the_process_of_the_first() -> None:
    lab = Lab("kraft")
    lab.process(process_ms=10, transaction_ms=60_000, settings=EXACTLY_ONCE)
    lab.run(1)
    lab.process("processor-2", settings=EXACTLY_ONCE)
    lab.run(12)
    over = [row["kind"] for row in lab.world.operations.rows if row["op"] == "transaction" and row["process"] == "processor"]
    assert lab.world.nodes["processor"].state == "stopped" and over == ["invoke", "fail"]
    assert lab.machine("processor-2").view()["transactions"]["committed"] >= 1 and set(lab.read_all()) == set(wanted())


@BOTH
def test_brokers_die_and_the_counts_are_equal(controller: str) -> None:
    lab = Lab(controller)
    lab.process(process_ms=20, settings=EXACTLY_ONCE)
    for broker in (1, 2, 3):
        lab.run(2)
        lab.do(do="kill", broker=broker)
        lab.run(4)
        lab.do(do="restart", broker=broker)
    lab.run(20)
    assert lab.read_all() == wanted() and lab.work() == {"processed": COUNT, "twice": 0, "missed": 0}


@pytest.mark.parametrize(
    ("client", "place", "code"),
    [
        ({"name": "copier", "into": "u", "settings": {"group.id": "g"}}, "name", "name_of_processor"),
        ({"settings": {"group.id": "g"}}, 0, "missing_key"),
        ({"into": "u"}, "group.id", "needs_group_id"),
        ({"into": "u", "settings": {"group.id": "g", "linger.msx": "5"}}, "linger.msx", "unknown_setting_close"),
        ({"into": "u", "settings": {"group.id": "g", "transactional.id": "x"}, "commit": "after"}, "commit", "offsets_in_transactions"),
        ({"into": "u", "kind": "consumer"}, "into", "into_of_processors"),
    ],
)
def test_bad_descriptions_are_refused_where_they_stand(client: dict[str, Any], place: str | int, code: str) -> None:
    with pytest.raises(SpecError) as refused:
        run_from_dict({"clients": [{"name": "processor", "kind": "processor", "topic": "t", **client}]})
    assert (refused.value.place[-1], refused.value.problem["code"]) == (place, code)


def test_a_description_is_told_as_it_was_given() -> None:
    settings = {"group.id": "g", "transactional.id": "x", "linger.ms": "5", "client.id": "both"}
    given = {"name": "processor", "kind": "processor", "topic": "t", "into": "u", "settings": settings}
    plain = run_from_dict({"clients": [given]}).to_dict()
    assert run_from_dict(plain).to_dict() == plain and plain["clients"][0]["commit"] == "none"
