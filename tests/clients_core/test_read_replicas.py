"""A consumer with `client.rack`: where it reads from, what leads it back to the leader, and the same journal again."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from tests.worlds import Driven

from broker_core.clients.consumer import ConsumerMachine
from broker_core.kernel.world import World
from broker_core.metadata.configs_replication import LEADER_SELECTOR, RACK_AWARE_SELECTOR
from lab.clusters.build import build_world
from lab.clusters.observe import observe
from lab.clusters.spec import run_from_dict
from lab.scenarios.grammar import parse
from lab.scenarios.reading import ScenarioError

NEAR = {"auto.offset.reset": "earliest", "client.rack": "b"}


class Lab(Driven):
    """Brokers 1, 2 and 3 in racks a, b and c; `orders` with one partition that broker 1 leads, and a producer."""

    def __init__(self, selector: str | None = RACK_AWARE_SELECTOR, rate: int = 50) -> None:
        self.spec = run_from_dict({"cluster": {
            "preset": "teaching", "brokers": [{"id": 1, "rack": "a"}, {"id": 2, "rack": "b"}, {"id": 3, "rack": "c"}],
            "settings": {} if selector is None else {"replica.selector.class": selector},
        }, "seed": 5})  # fmt: skip
        self.world: World = build_world(self.spec)
        self.run(1)
        self.do(do="create_topic", topic="orders", assignment=[[1, 2, 3]])
        self.do(do="start_client", name="producer", kind="producer", topic="orders", rate=rate, settings={"acks": "all"})
        self.run(1)

    def read(self, **settings: str) -> None:
        self.do(do="start_client", name="reader", kind="consumer", topic="orders", settings={**NEAR, **settings})

    @property
    def reader(self) -> ConsumerMachine:
        machine = self.world.nodes["reader"].machine
        assert isinstance(machine, ConsumerMachine)
        return machine

    def broker(self, number: int) -> Any:
        return self.world.nodes[f"broker-{number}"].machine

    def bytes_out(self) -> list[int]:
        """What each broker has sent to consumers."""
        machines = [self.broker(number) for number in (1, 2, 3)]
        return [machine.replicas.meters.bytes_out if machine is not None else 0 for machine in machines]

    def moves(self) -> list[tuple[int, str]]:
        """(broker, reason) of each change of where the reader reads."""
        rows = [row[5] for row in self.world.journal.tail if row[3] == "read_replica"]
        return [(row["broker"], row["reason"]) for row in rows]

    def numbers(self) -> list[int]:
        """The records in the order in which they were read."""
        rows = [row for row in self.world.operations.rows if row["op"] == "poll" and row["process"] == "reader"]
        return [n for row in rows for _, _, first, count in row["runs"] for n in range(first, first + count)]

    def check_history(self, least: int) -> None:
        """Every record once, in order, none left out."""
        numbers = self.numbers()
        assert len(numbers) >= least and numbers == sorted(numbers) and set(Counter(numbers).values()) == {1}
        assert numbers == list(range(numbers[0], numbers[-1] + 1))


@pytest.fixture
def lab() -> Lab:
    return Lab()


def test_records_come_from_the_follower_in_the_rack_and_none_from_the_leader(lab: Lab) -> None:
    lab.read()
    lab.run(4)
    leader, follower, other = lab.bytes_out()
    assert (leader, other) == (0, 0) and follower > 0
    assert lab.moves() == [(2, "nearest")]
    assert observe(lab.world, lab.spec)["clients"]["reader"]["reads_from"] == {"orders": {"0": 2}}
    lab.check_history(200)


def test_a_rack_that_is_given_to_a_client_later_holds_from_its_next_start(lab: Lab) -> None:
    lab.read(**{"client.rack": "", "group.id": "billing"})
    lab.run(5)
    assert lab.moves() == []
    lab.do(do="set_client", name="reader", set={"client.rack": "c"})
    lab.run(10)
    assert lab.moves() == [(3, "nearest")]


@pytest.mark.parametrize(("selector", "rack"), [(None, "b"), (LEADER_SELECTOR, "b"), (RACK_AWARE_SELECTOR, ""),
                                                (RACK_AWARE_SELECTOR, "elsewhere"), (RACK_AWARE_SELECTOR, "a")])
def test_records_come_from_the_leader_otherwise(selector: str | None, rack: str) -> None:
    lab = Lab(selector)
    lab.read(**{"client.rack": rack})
    lab.run(3)
    assert lab.bytes_out()[0] > 0 and lab.bytes_out()[1:] == [0, 0] and lab.moves() == []
    lab.check_history(150)


def test_the_advice_expires_with_metadata_max_age_and_is_asked_for_again(lab: Lab) -> None:
    lab.read(**{"metadata.max.age.ms": "2000"})
    lab.run(7)
    assert lab.moves()[:5] == [(2, "nearest"), (1, "expired"), (2, "nearest"), (1, "expired"), (2, "nearest")]
    assert lab.bytes_out()[0] == 0
    lab.check_history(300)


def test_a_dead_replica_leads_back_to_the_leader_once_the_cluster_knows(lab: Lab) -> None:
    lab.read()
    lab.run(2)
    lab.do(do="kill", broker=2)
    lab.run(12)
    assert (1, "error") in lab.moves()
    assert lab.reader.positions.of[("orders", 0)].read_replica is None and lab.bytes_out()[0] > 0
    lab.do(do="restart", broker=2)
    lab.run(8)
    assert lab.moves()[-1] == (2, "nearest")
    lab.check_history(900)


def test_a_new_leader_is_asked_first(lab: Lab) -> None:
    lab.read()
    lab.run(2)
    lab.do(do="kill", broker=1)
    lab.run(12)
    leader = lab.reader.metadata.leader("orders", 0)
    assert leader != 1 and {reason for _, reason in lab.moves()} & {"new leader", "error"}
    lab.check_history(500)


def test_advice_of_an_earlier_leader_epoch_is_not_followed(lab: Lab) -> None:
    lab.read()
    lab.run(2)
    position, replicas = lab.reader.positions.of["orders", 0], lab.reader.fetcher.read_replicas
    assert replicas.choose(("orders", 0), position) == 2
    lab.reader.metadata.topics["orders"].epochs[0] += 1
    assert replicas.choose(("orders", 0), position) == -1 and lab.moves()[-1] == (1, "new leader")


def test_a_replica_that_is_gone_by_the_metadata_is_left_until_newer_metadata_has_it(lab: Lab) -> None:
    lab.read()
    lab.run(2)
    lab.reader.metadata.topics["orders"].online[0] = [1, 3]
    lab.run(3)
    assert lab.moves() == [(2, "nearest"), (1, "gone"), (2, "nearest")]
    lab.check_history(200)


def test_out_of_range_at_a_follower_sends_to_the_leader_and_resets_nothing(lab: Lab) -> None:
    lab.broker(2).partitions["orders", 0].log.delete_records_before(10)  # and the leader does not know it yet
    lab.do(do="partition_link", between=["broker-2", "broker-1"])
    lab.read(**{"auto.offset.reset": "earliest"})
    lab.run(1)
    errors = [row[5] for row in lab.world.journal.tail if row[3] == "client_error" and row[3 - 1] == "reader"]
    assert {(e["error"], e["reaction"]) for e in errors} == {("OFFSET_OUT_OF_RANGE", "ask the leader")}
    assert lab.numbers() == [] and len(errors) < 20
    lab.do(do="heal_link", between=["broker-2", "broker-1"])
    lab.run(8)
    lab.check_history(200)
    assert lab.numbers()[0] == 0


def test_the_same_seed_gives_the_same_journal_byte_for_byte() -> None:
    def journal() -> list[Any]:
        lab = Lab()
        lab.read(**{"group.id": "billing"})
        lab.run(2)
        lab.do(do="kill", broker=2)
        lab.run(8)
        return [list(row) for row in lab.world.journal.tail]

    first = journal()
    assert first == journal() and any(row[3] == "read_replica" for row in first)


def test_a_scenario_refuses_another_class_and_names_the_setting() -> None:
    text = "cluster: {brokers: 3, settings: {replica.selector.class: com.example.Mine}}\n"
    with pytest.raises(ScenarioError, match=r"replica\.selector\.class"):
        parse(text, "mine.yaml")


def test_a_scenario_takes_racks_of_brokers_and_of_consumers() -> None:
    text = (
        "cluster: {brokers: [{id: 1, rack: a}, {id: 2, rack: b}], settings: {replica.selector.class: "
        f"{RACK_AWARE_SELECTOR}}}}}\n"
        "topics: [{name: orders, partitions: 1}]\n"
        "clients: [{name: reader, kind: consumer, topic: orders, settings: {client.rack: b}}]\nduration: 1s\n"
    )
    (client,) = parse(text, "near.yaml").spec.clients
    assert client.settings["client.rack"] == "b"
