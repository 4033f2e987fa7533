"""The coordinator against a plain model: what a client was told is what readers see, wherever the coordinator dies.

The model of a transaction is one line: its records are shown in all of its partitions, or in none. A client that asks
until it gets an answer must come to the same end whatever happens on the way, so the coordinator is killed at every
millisecond of the same script, once and twice.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest

from broker_core.transactions.decisions import Producer
from broker_core.wire.errors import ErrorCode as E
from tests.transactions.transaction_lab import Answer, TransactionLab

COME_AGAIN = (
    E.COORDINATOR_LOAD_IN_PROGRESS, E.NOT_COORDINATOR, E.COORDINATOR_NOT_AVAILABLE, E.CONCURRENT_TRANSACTIONS
)  # fmt: skip
PATIENCE_MS = 10
DECISIONS = (True, False, True)
PARTITIONS = (0, 1, 2)


class Client:
    """A transactional producer as a generator: it goes on for a millisecond at each step."""

    def __init__(self, lab: TransactionLab, name: str, backoff: Callable[[], int] = lambda: 0) -> None:
        self.lab = lab
        self.name = name
        self.backoff = backoff
        self.fenced = False
        self.asked_to_commit: list[str] = []
        self.told_committed: list[str] = []
        self.told_aborted: list[str] = []

    def settled(self, ask: Callable[[], Answer]) -> Iterator[None]:
        """Asks until the answer is an end; `self.answer` holds it."""
        while True:
            answer = ask()
            for _ in range(PATIENCE_MS):
                yield
                if answer.error is not None:
                    break
            if answer.error is not None and answer.error not in COME_AGAIN:
                self.answer = answer
                return
            for _ in range(self.backoff()):
                yield

    def run(self) -> Iterator[None]:
        """Three transactions, the second one aborted."""
        lab = self.lab
        yield from self.settled(lab.init)
        producer = Producer(self.answer.producer_id, self.answer.epoch)
        for number, commit in enumerate(DECISIONS):
            value, mine = f"{self.name}{number}", producer
            yield from self.settled(lambda mine=mine: lab.add(mine, *PARTITIONS))
            if self.answer.error is not E.NONE:
                break
            lab.write(producer, *PARTITIONS, value=value)
            if commit:
                self.asked_to_commit.append(value)
            yield from self.settled(lambda mine=mine, commit=commit: lab.end(mine, commit))
            if self.answer.error is not E.NONE:
                break
            (self.told_committed if commit else self.told_aborted).append(value)
            if lab.version == 2:
                producer = Producer(self.answer.producer_id, self.answer.epoch)
        ends = [E.PRODUCER_FENCED, E.INVALID_PRODUCER_ID_MAPPING]
        if lab.version == 2:  # a fence raises the epoch by one, as the end that is asked for again would have
            ends.append(E.INVALID_TXN_STATE)
        self.fenced = self.answer.error in ends
        assert self.fenced or self.answer.error is E.NONE, self.answer.error


def run_with_crashes(version: int, crashes: tuple[int, ...]) -> tuple[TransactionLab, Client, int]:
    lab = TransactionLab(version=version)
    lab.topic.commit_delay_ms, lab.marker_delay_ms = 4, 3
    client = Client(lab, "v")
    steps = 0
    for _ in client.run():
        lab.run(1)
        steps += 1
        if steps in crashes:
            lab.crash()
        assert steps < 5000, "the client is never told an end"
    lab.run(1000)
    return lab, client, steps


@pytest.mark.parametrize("again_after", [None, 3])
@pytest.mark.parametrize("version", [0, 2])
def test_the_coordinator_dies_at_any_moment_and_every_transaction_is_what_its_client_was_told(
    version: int, again_after: int | None
) -> None:
    _, _, steps = run_with_crashes(version, ())
    assert 30 < steps < 100
    for moment in range(1, steps + 1):
        crashes = (moment,) if again_after is None else (moment, moment + again_after)
        lab, client, _ = run_with_crashes(version, crashes)
        for number, partition in lab.data.items():
            assert partition.committed() == ["v0", "v2"], f"killed at {crashes}, partition {number}"
            assert partition.open() == [], f"killed at {crashes}: nothing is decided in partition {number}"
        assert client.told_committed == ["v0", "v2"] and client.told_aborted == ["v1"]


def test_without_the_second_half_of_a_decision_a_transaction_hangs() -> None:
    """The test above sees what it is to see: a coordinator that does not finish what it finds leaves records open."""
    lab = TransactionLab()
    lab.marker_delay_ms = 10
    producer = lab.producer()
    lab.add(producer, 0)
    lab.run(0)
    lab.write(producer, 0)
    lab.end(producer)
    lab.run(1)
    machine = lab.world.nodes["broker-2"].machine
    machine.coordinator.markers.complete = lambda transaction: None  # type: ignore[union-attr]
    lab.crash()
    lab.run(1000)
    assert lab.data[0].open() == ["v"] and lab.state() == "PrepareCommit"


@pytest.mark.parametrize("version", [0, 2])
@pytest.mark.parametrize("seed", range(40))
def test_two_processes_with_one_id_crashes_and_failures_leave_every_transaction_whole(version: int, seed: int) -> None:
    dice = random.Random(seed)
    lab = TransactionLab(version=version)
    lab.topic.commit_delay_ms, lab.marker_delay_ms = dice.randint(0, 3), dice.randint(0, 3)
    first, second = (Client(lab, name, lambda: dice.randint(0, 4)) for name in "ab")
    running, second_comes = [(first, first.run())], dice.randint(0, 40)
    for step in range(600):
        lab.run(1)
        if step == second_comes:
            running.append((second, second.run()))
        for one in list(running):
            if next(one[1], "over") == "over":
                running.remove(one)
        if step < 300 and dice.random() < 0.02:
            lab.crash()
        lab.topic.failure = E.NOT_ENOUGH_REPLICAS if step < 300 and dice.random() < 0.1 else 0
        lab.silent = step < 300 and dice.random() < 0.1
        lab.refusing = {1: E.NOT_LEADER_OR_FOLLOWER} if step < 300 and dice.random() < 0.2 else {}
    lab.run(120_000)
    shown = [partition.committed() for partition in lab.data.values()]
    assert all(partition.open() == [] for partition in lab.data.values())
    for client in (first, second):
        for value in client.told_committed:
            assert all(values.count(value) == 1 for values in shown), value
    for value in {value for values in shown for value in values}:
        assert all(values.count(value) == 1 for values in shown), f"{value} is in a part of its partitions"
        assert value in first.asked_to_commit + second.asked_to_commit, value
