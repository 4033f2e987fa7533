"""The coordinator dies at each step, and a plain model says what must be true behind it.

A step is whatever leaves the process: a record stored, a record committed, a marker written, a marker's answer back, an answer
to a client. The process ends within that very call, the other broker loads the partition, with what was stored and not
committed or without it, and the client asks again until it is told an end.

The plain model (`Plain`) knows no states and no epochs:

| asked                     | the model                                                              |
|---------------------------|------------------------------------------------------------------------|
| a process takes the id    | what is open is aborted; it is the owner, who owned before is fenced    |
| partitions added, written | the owner's values are open there                                       |
| commit, abort             | the open values are shown everywhere, or nowhere; nothing is open       |
| longer than its time-out  | aborted, and the id has no owner                                        |
| unused for ten minutes    | nobody knows the id                                                     |
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from broker_core.transactions.decisions import Producer
from broker_core.wire.errors import ErrorCode as E
from lab.faults.mutants import REST as IN_THE_SWARM
from lab.faults.mutants import Mutant, applied
from tests.transactions.test_model import COME_AGAIN
from tests.transactions.transaction_lab import TIMEOUT_MS, Answer, TransactionLab

FENCED = (E.PRODUCER_FENCED, E.INVALID_PRODUCER_ID_MAPPING, E.INVALID_TXN_STATE)
REST = ("Empty", "CompleteCommit", "CompleteAbort")
UNUSED_MS = 600_000
EXPIRY = {"transactional.id.expiration.ms": UNUSED_MS, "transaction.remove.expired.transaction.cleanup.interval.ms": 60_000}
Crash = tuple[int, bool]
"""At which step from now on, counted from 1, and whether what was not committed is lost."""


class Died(BaseException):
    """The process has ended within a call."""


class Mortal:
    """A lab whose coordinator dies at chosen steps; `seen`: what step that was, in which state the id was."""

    def __init__(self, version: int) -> None:
        self.lab = TransactionLab(version, **EXPIRY)
        self.lab.topic.commit_delay_ms, self.lab.marker_delay_ms = 2, 1
        self.lab.topic.step = self.step
        self.crashes: list[Crash] = []
        self.steps = 0
        self.seen: list[tuple[str, str]] = []

    def step(self, what: str) -> None:
        self.steps += 1
        if self.crashes and self.steps >= self.crashes[0][0]:
            known = self.lab.coordinator.transactions()
            self.seen.append((what, str(known["tx"]["state"]) if "tx" in known else "-"))
            raise Died

    def alive(self, call: Callable[[], Answer | None]) -> Answer | None:
        """What the call gives; None when the coordinator died in it, and another one has taken over."""
        try:
            return call()
        except Died:
            _, lossy = self.crashes.pop(0)
            self.steps = 0
            if lossy:
                self.lab.topic.lose_what_is_not_committed()
            self.lab.crash()
            return None

    def run(self, ms: int) -> None:
        """Time goes on, whoever dies in it."""
        end_us = self.lab.world.now_us + ms * 1000
        while self.lab.world.now_us < end_us:
            self.alive(lambda: self.lab.world.run_until(end_us))

    def settled(self, ask: Callable[[], Answer]) -> Answer:
        """Asks until the answer is an end."""
        for _ in range(60):
            answer = self.alive(ask)
            for _ in range(20):
                if answer is None or answer.error is not None:
                    break
                self.run(1)
            if answer is not None and answer.error is not None and answer.error not in COME_AGAIN:
                return answer
            self.run(10)
        raise AssertionError("the client is never told an end")

    def quiet(self) -> None:
        """Whatever was begun has ended; no more crashes."""
        self.run(1000)
        self.crashes.clear()


class Plain:
    """One transactional id."""

    def __init__(self) -> None:
        self.owner = -1
        self.known = False
        self.open: dict[int, list[str]] = {}
        self.shown: dict[int, list[str]] = {number: [] for number in range(3)}

    def end(self, commit: bool) -> None:
        for number, values in self.open.items():
            self.shown[number] += values if commit else []
        self.open = {}


class Both:
    """The coordinator and the model are asked the same; `check` compares them."""

    def __init__(self, version: int) -> None:
        self.mortal = Mortal(version)
        self.lab = self.mortal.lab
        self.model = Plain()
        self.processes: list[Producer] = []
        self.given: list[Producer] = []
        self.values = 0

    def crashes(self, *crashes: Crash) -> None:
        self.mortal.crashes, self.mortal.steps = list(crashes), 0

    def init(self) -> None:
        """Another process takes the id."""
        answer = self.mortal.settled(self.lab.init)
        assert answer.error is E.NONE, answer.error
        producer = Producer(answer.producer_id, answer.epoch)
        assert all(producer > one for one in self.given), "an epoch is given to one process only, and they grow"
        self.model.end(commit=False)
        self.model.owner, self.model.known = len(self.processes), True
        self.processes.append(producer)
        self.given.append(producer)

    def add(self, who: int, *partitions: int) -> None:
        producer = self.processes[who]
        answer = self.mortal.settled(lambda: self.lab.add(producer, *partitions))
        if who != self.model.owner:
            assert answer.error in FENCED, f"process {who} is not the owner and was told {answer.error}"
            return
        assert answer.error is E.NONE, answer.error
        for number in partitions:
            self.values += 1
            assert self.lab.data[number].write(producer, str(self.values))
            self.model.open.setdefault(number, []).append(str(self.values))

    def end(self, who: int, commit: bool) -> None:
        producer = self.processes[who]
        if who == self.model.owner and not self.model.open:
            return  # no client asks
        answer = self.mortal.settled(lambda: self.lab.end(producer, commit))
        if who != self.model.owner:
            assert answer.error in FENCED, f"process {who} is not the owner and was told {answer.error}"
            return
        assert answer.error is E.NONE, answer.error
        if self.lab.version == 2:
            self.processes[who] = Producer(answer.producer_id, answer.epoch)
            assert self.processes[who] > producer
            self.given.append(self.processes[who])
        self.model.end(commit)

    def pass_time(self, ms: int) -> None:
        self.mortal.run(ms)
        if self.model.open and ms > TIMEOUT_MS:
            self.model.end(commit=False)
            self.model.owner = -1
        if ms > UNUSED_MS:
            self.model.known, self.model.owner = False, -1

    def check(self) -> None:
        self.mortal.quiet()
        for number, partition in self.lab.data.items():
            assert sorted(partition.open()) == sorted(self.model.open.get(number, [])), f"open in partition {number}"
            assert partition.committed() == self.model.shown[number], f"shown in partition {number}"
        known = self.lab.coordinator.transactions()
        assert ("tx" in known) == self.model.known
        if self.model.known:
            assert self.lab.state() in (("Ongoing",) if self.model.open else REST), self.lab.state()
            parts = sorted(number for _, number in self.lab.coordinator.registry.find("tx")[1].stored.partitions)  # type: ignore[union-attr]
            assert parts == sorted(self.model.open)


SCRIPT: tuple[Callable[[Both], None], ...] = (
    lambda both: both.init(),
    lambda both: both.add(0, 0, 1),
    lambda both: both.add(0, 2),
    lambda both: both.end(0, commit=True),
    lambda both: both.add(0, 1, 2),
    lambda both: both.end(0, commit=False),
    lambda both: both.add(0, 0),
    lambda both: both.init(),
    lambda both: both.add(0, 1),
    lambda both: both.end(0, commit=True),
    lambda both: both.add(1, 0, 2),
    lambda both: both.pass_time(2 * TIMEOUT_MS),
    lambda both: both.end(1, commit=True),
    lambda both: both.init(),
    lambda both: both.pass_time(UNUSED_MS + 240_000),
)


def deaths(version: int, lossy: bool) -> Iterator[tuple[str, str]]:
    """The script with a death at each step of each request, alone and with another one two steps later."""
    for number in range(len(SCRIPT)):
        for second in ((), ((2, not lossy),)):
            for at in itertools.count(1):
                both = Both(version)
                for earlier in SCRIPT[:number]:
                    earlier(both)
                both.crashes((at, lossy), *second)
                SCRIPT[number](both)
                both.mortal.run(1000)
                died = len(both.mortal.crashes) <= len(second)
                both.check()
                for later in SCRIPT[number + 1 :]:
                    later(both)
                both.check()
                yield from both.mortal.seen
                if not died:
                    break


@pytest.mark.parametrize("lossy", [False, True])
@pytest.mark.parametrize("version", [0, 2])
def test_the_coordinator_dies_at_each_step_of_each_request_and_the_model_is_right(version: int, lossy: bool) -> None:
    seen = set(deaths(version, lossy))
    states = {"Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort"}
    assert {what for what, _ in seen} == {"stored", "committed", "marked", "back", "answered"}
    assert {state for what, state in seen if what in ("stored", "committed", "answered")} >= states
    assert {state for what, state in seen if what == "marked"} == {"PrepareCommit", "PrepareAbort"}


BROKEN = (
    Mutant("nobody-goes-on", "broker_core.transactions.loading:TransactionShards.take_over", "self.markers.complete(one)", "pass", IN_THE_SWARM, 1),
    Mutant("same-epoch-for-two", "broker_core.transactions.decisions:_raised", "epoch + 1, NO_PRODUCER_EPOCH", "epoch, NO_PRODUCER_EPOCH", IN_THE_SWARM, 1),
    Mutant("zombies-may-add", "broker_core.transactions.decisions:_refused", "stored.producer_epoch == producer.epoch", "True", IN_THE_SWARM, 1),
    Mutant("answered-before-it-is-committed", "broker_core.coordinators.runtime:CoordinatorRuntime.append",
           "self.topic.append(self.partition_for(key), batch, done, context, guard)",
           "self.topic.append(self.partition_for(key), batch, min, 0, guard); done(context, 0)", IN_THE_SWARM, 1),
    Mutant("first-record-is-the-truth", "broker_core.transactions.loading:TransactionShard.replay", "self.stored.pop(name, None)",
           "after = self.stored.get(name, after)", IN_THE_SWARM, 1),
)  # fmt: skip


@pytest.mark.parametrize("mutant", BROKEN, ids=[one.name for one in BROKEN])
def test_the_model_notices_a_coordinator_that_is_broken(mutant: Mutant) -> None:
    with applied(mutant), pytest.raises(AssertionError):
        for lossy in (True, False):
            list(deaths(0, lossy))


class Walk(RuleBasedStateMachine):
    """Any order of requests of any process, and up to two deaths within each."""

    version = 0
    crashes = st.lists(st.tuples(st.integers(1, 9), st.booleans()), max_size=2)

    def __init__(self) -> None:
        super().__init__()
        self.both = Both(self.version)

    @rule(crashes=crashes)
    def init(self, crashes: list[Crash]) -> None:
        self.both.crashes(*crashes)
        self.both.init()

    @rule(who=st.integers(0, 3), partitions=st.lists(st.integers(0, 2), min_size=1, max_size=3, unique=True), crashes=crashes)
    def add(self, who: int, partitions: list[int], crashes: list[Crash]) -> None:
        if self.both.processes:
            self.both.crashes(*crashes)
            self.both.add(self._one(who), *partitions)

    @rule(who=st.integers(0, 3), commit=st.booleans(), crashes=crashes)
    def end(self, who: int, commit: bool, crashes: list[Crash]) -> None:
        if self.both.processes:
            self.both.crashes(*crashes)
            self.both.end(self._one(who), commit)

    @rule(ms=st.sampled_from([2 * TIMEOUT_MS, UNUSED_MS + 240_000]), crashes=crashes)
    def pass_time(self, ms: int, crashes: list[Crash]) -> None:
        self.both.crashes(*crashes)
        self.both.pass_time(ms)

    def _one(self, who: int) -> int:
        """Mostly the newest process, which is the owner if there is one."""
        return max(0, len(self.both.processes) - 1 - max(0, who - 2))

    @invariant()
    def agree(self) -> None:
        self.both.check()


@pytest.mark.parametrize("version", [0, 2])
def test_whatever_is_asked_and_whoever_dies_coordinator_and_model_agree(version: int) -> None:
    walk = type("Walk", (Walk,), {"version": version})
    run_state_machine_as_test(walk, settings=settings(max_examples=40, stateful_step_count=12, deadline=None, derandomize=True, database=None))
