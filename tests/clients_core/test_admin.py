"""The admin client and the records by hand: everything is answered, and a dead broker holds nothing up for long."""

from __future__ import annotations

from typing import Any

import pytest
from tests.worlds import Driven

from broker_core.clients.admin import AdminMachine
from broker_core.clients.admin_requests import MOVE_ON_MS
from broker_core.kernel.world import World
from lab.clusters.build import build_world
from lab.clusters.spec import run_from_dict
from lab.truth import truth_of

S = 1_000_000


class Lab(Driven):
    """Three brokers, a topic of one partition that takes batches of 300 bytes, and the operator."""

    def __init__(self, seed: int = 3) -> None:
        self.world: World = build_world(run_from_dict({"cluster": {"preset": "teaching", "link_delay_ms": 1}, "seed": seed}))
        self.run(1)
        self.ask(do="create_topic", topic="orders", partitions=1, replication_factor=3, configs={"max.message.bytes": "300"})
        self.run(2)

    def run_until_sent(self, count: int) -> None:
        """Until a batch of so many records by hand, acks=all, is on its way to its leader."""
        queue = self.admin.records.producers["all"].accumulator.queue("orders", 0)
        while count not in [batch.count for batch in queue.in_flight]:
            self.run(0.0005)

    def ask(self, **command: Any) -> int:
        """The number under which the admin client will tell how it went."""
        number: int = super().do(**command).get("id", -1)
        return number

    def produce(self, size: int, acks: str = "1", partition: int = 0) -> int:
        return self.ask(do="produce", topic="orders", partition=partition, value="x" * size, acks=acks)

    @property
    def admin(self) -> AdminMachine:
        machine = self.world.nodes["operator"].machine
        assert isinstance(machine, AdminMachine)
        return machine

    def told(self, number: int) -> tuple[str, str, int]:
        found = self.admin.results[number]
        return found["kind"], found["error"], found.get("offset", -1)


# -- a batch that is too large --------------------------------------------------------------
@pytest.mark.parametrize("acks", ["1", "all"])
@pytest.mark.parametrize("sizes", [(150, 150), (150, 150, 150), (40, 150, 40, 150, 150)])
def test_records_of_a_batch_that_is_split_are_answered_with_their_own_offsets(sizes: tuple[int, ...], acks: str) -> None:
    lab = Lab()
    numbers = [lab.produce(size, acks) for size in sizes]  # all wait for metadata, then leave together
    lab.run(3)
    assert "split" in [row.get("error") for row in lab.world.operations.rows]
    assert [lab.told(number) for number in numbers] == [("ok", "", offset) for offset in range(len(sizes))]
    assert not lab.admin.records.by_hand and not lab.admin.records.blocked


def test_the_halves_of_a_numbered_batch_go_before_what_was_sent_behind_it() -> None:
    lab = Lab()
    first = [lab.produce(10, "all")]  # a leader that has not heard of a producer takes any first sequence
    lab.run(1)
    first += [lab.produce(size, "all") for size in (10, 10, 10, 10, 10, 150, 150, 150)]  # five leave, three gather
    lab.run_until_sent(3)
    behind = [lab.produce(50, "all") for _ in range(4)]
    lab.run(3)
    assert [lab.told(number) for number in [*first, *behind]] == [("ok", "", offset) for offset in range(13)]
    said = [row[5].get("error") for row in lab.world.journal.tail if row[3] == "client_error"]
    assert "OUT_OF_ORDER_SEQUENCE_NUMBER" in said


@pytest.mark.parametrize("acks", ["1", "all"])
def test_the_record_that_is_too_large_alone_is_refused_and_the_others_are_written(acks: str) -> None:
    lab = Lab()
    numbers = [lab.produce(size, acks) for size in (150, 400, 150)]
    lab.run(3)
    assert [lab.told(number)[:2] for number in numbers] == [("ok", ""), ("fail", "MESSAGE_TOO_LARGE"), ("ok", "")]
    assert [lab.told(number)[2] for number in numbers] == [0, -1, 1]
    assert not lab.admin.records.by_hand


def test_a_record_for_a_partition_that_never_comes_is_given_up_in_time() -> None:
    lab = Lab()
    number = lab.produce(10, partition=7)
    lab.run(59)
    assert number not in lab.admin.results
    lab.run(2)
    assert lab.told(number) == ("fail", "TIMEOUT", -1)
    assert not lab.admin.records.blocked and not lab.admin.records.by_hand


# -- a broker that has lost its power -------------------------------------------------------
def changed_after(lab: Lab, number: int) -> float:
    """Seconds until a change of settings was answered."""
    begin = lab.world.now_us
    while number not in lab.admin.results and lab.world.now_us < begin + 100 * S:
        lab.run(0.1)
    assert lab.told(number)[0] == "ok"
    return (lab.world.now_us - begin) / S


@pytest.mark.parametrize("dead", [1, 2, 3])
def test_a_setting_of_a_topic_goes_to_another_broker_when_one_says_nothing(dead: int) -> None:
    lab = Lab()
    lab.ask(do="power_loss", broker=dead)
    waits = [changed_after(lab, lab.ask(do="alter_config", topic="orders", set={"retention.ms": str(n)})) for n in range(1, 9)]
    late = [wait for wait in waits if wait > 1]
    assert len(late) <= 1, "who said nothing is not asked again"
    assert max(waits) < MOVE_ON_MS / 1000 + 1


def test_the_last_broker_is_found_whichever_two_are_dead_and_a_dead_one_is_asked_again_when_it_is_back() -> None:
    lab = Lab()
    for broker in (1, 2):
        lab.ask(do="power_loss", broker=broker)
    asked = lab.ask(do="alter_config", topic="orders", set={"retention.ms": "1000"})
    assert changed_after(lab, asked) < 25
    for broker in (1, 2):
        lab.ask(do="restart", broker=broker)
    lab.run(15)
    assert lab.admin.metadata.brokers == ["broker-3"], "it has not heard of their return"
    lab.ask(do="power_loss", broker=3)
    asked = lab.ask(do="alter_config", topic="orders", set={"retention.ms": "2000"})
    assert changed_after(lab, asked) < 25


def controller_of(lab: Lab) -> int:
    found = truth_of(lab.world).controller_id()
    assert found is not None
    return found


def answered_after(lab: Lab, number: int) -> float:
    """Seconds until a command was answered, however."""
    begin = lab.world.now_us
    while number not in lab.admin.results and lab.world.now_us < begin + 100 * S:
        lab.run(0.1)
    return (lab.world.now_us - begin) / S


CALLS: list[dict[str, Any]] = [
    {"do": "create_topic", "topic": "carts", "partitions": 1, "replication_factor": 2},
    {"do": "add_partitions", "topic": "kept", "partitions": 2},
    {"do": "delete_topic", "topic": "kept"},
]


@pytest.mark.parametrize("seed", [3, 4, 5])
@pytest.mark.parametrize("call", CALLS)
def test_a_click_behind_the_power_loss_of_the_controller_is_answered_when_there_is_a_new_one(call: dict[str, Any], seed: int) -> None:
    lab = Lab(seed)
    dead = controller_of(lab)
    lab.ask(do="create_topic", topic="kept", assignment=[[one for one in (1, 2, 3) if one != dead]])
    lab.run(1)
    lab.ask(do="power_loss", broker=dead)
    begin = lab.world.now_us
    first, second = lab.ask(**call), lab.ask(do="create_topic", topic="bills", partitions=1, replication_factor=2)
    while truth_of(lab.world).controller_id() in (None, dead):
        lab.run(0.1)
    elected = (lab.world.now_us - begin) / S
    waits = max(answered_after(lab, number) for number in (first, second))
    assert elected < 15 and waits < 5, "not the whole request.timeout.ms of 30 s"
    assert [lab.told(number)[0] for number in (first, second)] == ["ok", "ok"]
    assert not lab.admin.doubted and lab.admin.metadata.controller != dead


def test_a_slow_controller_is_waited_for_while_it_is_the_controller() -> None:
    lab = Lab()
    slow = f"broker-{controller_of(lab)}"
    lab.ask(do="delay_link", between=["operator", slow], delay_ms=5000)
    number = lab.ask(do="create_topic", topic="carts", partitions=1, replication_factor=2)
    assert 9 < answered_after(lab, number) < 13
    assert lab.told(number) == ("ok", "", -1) and not lab.admin.doubted
    asked = [row for row in lab.world.operations.rows if row.get("topic") == "carts" and row["op"] == "admin"]
    assert [row["kind"] for row in asked] == ["invoke", "ok"]


def test_what_a_silent_controller_has_done_is_neither_success_nor_failure() -> None:
    lab = Lab()
    create = {"do": "create_topic", "topic": "carts", "partitions": 1, "replication_factor": 2}
    number = lab.ask(**create)
    while "carts" not in truth_of(lab.world).topics():
        lab.run(0.0005)
    assert number not in lab.admin.results
    lab.ask(do="power_loss", broker=controller_of(lab))
    answered_after(lab, number)
    assert lab.told(number) == ("info", "TOPIC_ALREADY_EXISTS", -1)
    asked = lab.ask(**create)
    answered_after(lab, asked)
    assert lab.told(asked) == ("fail", "TOPIC_ALREADY_EXISTS", -1), "this one alone has done nothing for sure"
