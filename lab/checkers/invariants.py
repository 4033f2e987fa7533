"""The invariant monitor: looks at a world every 50 ms of its own time, between two instants, and says what is wrong.

    world ---- transitions, operations ---> invariants (history)
          ---- end of an instant ---------> one look (state) ----> violations ----> lights

Looks happen when virtual time passes a multiple of `GRID_US`, and at the end of an instant in which a leader, an
ISR or a log was changed; while no log, state or vote changes and no client does anything, at multiples of `QUIET_US`
only: polls and the quorum's no-op records go on for ever. What the world is then does not depend on who watches or
how fast: a live branch, a simulated run and a re-execution of either come to the same verdicts, with the same event
numbers. A violation is found one look after it happened, or some later under a load that fills the bounds of
`invariants_view`. Only rows of state transitions are listened to: they are always written, and the many others cost
nothing more.

| light | ok | |
|---|---|---|
| green | True | never violated so far |
| red | False | violated once is violated: `first` names the moment |

`docs/invariants.md` describes them all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from broker_core.kernel import events
from broker_core.kernel.journal import Row
from broker_core.kernel.storage_faults import Unfaulted
from broker_core.kernel.world import World
from lab.checkers.invariants_base import Invariant, Key, Violation
from lab.checkers.invariants_cluster import (
    CommittedOffsetNotBeyondEnd,
    MetadataConvergence,
    NewestControllerObeyed,
    OneOwnerPerPartitionInGroupGeneration,
    SingleController,
)
from lab.checkers.invariants_controller import BrokerEpochs, ElrCompleteness, IsrAndElrDisjoint
from lab.checkers.invariants_ensemble import CommittedTreeKept, EphemeralsHaveSessions, OneEnsembleLeaderPerEpoch
from lab.checkers.invariants_groups import EveryGroupReads
from lab.checkers.invariants_isr import LaggardsLeave
from lab.checkers.invariants_moves import OneLogPerReplica, ReassignmentKeepsReplicas
from lab.checkers.invariants_quorum import (
    CommittedMetadataKept,
    OneQuorumLeaderPerEpoch,
    OneVotePerEpoch,
    QuorumHighWatermarkMonotonic,
    QuorumLogMatching,
)
from lab.checkers.invariants_records import (
    ConsistentRead,
    EveryWriteEnds,
    IndexMatchesLog,
    NoCommittedRecordLost,
    OffsetsDense,
    SequenceNoGapNoDup,
)
from lab.checkers.invariants_replication import (
    LeaderCandidateCompleteness,
    LeaderCompleteness,
    LeaderInIsr,
    LogMatching,
    MonotonicHighWatermark,
    StrongIsr,
    ValidHighWatermark,
    WeakIsr,
)
from lab.checkers.invariants_sharing import (
    EveryShareRecordEnds,
    ShareDeliveriesWithinLimit,
    ShareRecordEndsOnce,
    ShareRecordHeldByOne,
    ShareStartMonotonic,
)
from lab.checkers.invariants_transactions import LastStableOffset, NoAbortedRead, TransactionAtomic
from lab.checkers.invariants_view import Truth, View

GRID_US, QUIET_US = 50_000, 500_000
QUIET_AUDITS = 5  # replicas of which something is read again in a look at a quiet cluster
URGENT = (events.LEADER_ELECTED, events.BECAME_LEADER, events.ISR_EXPANDED, events.TRUNCATED, events.PROCESS_ENDED)
KEPT = 1000
INVARIANTS: tuple[type[Invariant], ...] = (
    LeaderInIsr, StrongIsr, WeakIsr, ValidHighWatermark, MonotonicHighWatermark, LogMatching, LeaderCompleteness,
    LeaderCandidateCompleteness, ConsistentRead, NoCommittedRecordLost, SingleController, MetadataConvergence,
    OffsetsDense, CommittedOffsetNotBeyondEnd, OneOwnerPerPartitionInGroupGeneration, SequenceNoGapNoDup,
    IndexMatchesLog, EveryWriteEnds, LaggardsLeave, NewestControllerObeyed, LastStableOffset, NoAbortedRead,
    TransactionAtomic,
    OneQuorumLeaderPerEpoch, OneVotePerEpoch, QuorumLogMatching, CommittedMetadataKept, QuorumHighWatermarkMonotonic,
    IsrAndElrDisjoint, ElrCompleteness, BrokerEpochs, EveryGroupReads, OneEnsembleLeaderPerEpoch, CommittedTreeKept,
    EphemeralsHaveSessions, ShareRecordHeldByOne, ShareRecordEndsOnce, ShareDeliveriesWithinLimit, ShareStartMonotonic,
    EveryShareRecordEnds, ReassignmentKeepsReplicas, OneLogPerReplica,
)  # fmt: skip


def described() -> dict[str, dict[str, str]]:
    """Name -> what it says, in each language; `only`: in which generation of Kafka, where it is one."""
    return {kind.__name__: {**kind.meaning, **({"only": kind.only} if kind.only else {})} for kind in INVARIANTS}


def _behind(t_us: int, grid_us: int) -> int:
    """The next multiple."""
    return (t_us // grid_us + 1) * grid_us


class InvariantMonitor:
    """Watches one world from now on; make it before the world does anything.

    `truth(world, topic, partition)` tells leader and ISR (default: the coordination tree).
    """

    def __init__(self, world: World, truth: Truth | None = None) -> None:
        self.world = world
        self.view = View(world, truth)
        self.invariants = [kind(self.view) for kind in INVARIANTS]
        self.violations: list[Violation] = []
        self.counts: dict[str, int] = {one.name: 0 for one in self.invariants}
        self.looks = 0
        self._first: dict[str, Violation] = {}
        self._keys: dict[tuple[str, Key], None] = {}
        self._told: dict[str, bool] = dict.fromkeys(self.counts, True)
        self._next_us = self._quiet_us = GRID_US
        self._stirred = True
        self._seen = self._looked = -1
        self._by_code: dict[str, list[Callable[[Row], None]]] = self.view.handlers()
        self._by_operation: dict[str, list[Callable[[Mapping[str, Any]], None]]] = {}
        for one in self.invariants:
            for code in one.codes:
                self._by_code.setdefault(code, []).append(one.row)
            for operation in one.operations:
                self._by_operation.setdefault(operation, []).append(one.operation)
        for decisive in URGENT:
            self._by_code.setdefault(decisive.name, []).append(self._soon)
        self.attach()

    def attach(self) -> None:
        """Watch; a world that was pickled knows nobody who watches any more."""
        self.world.journal.transition_watchers.append(self._row)
        self.world.operations.watchers.append(self._operation)
        self.world.observers.append(self._advancing)

    def detach(self) -> None:
        """Look no more."""
        self.world.journal.transition_watchers.remove(self._row)
        self.world.operations.watchers.remove(self._operation)
        self.world.observers.remove(self._advancing)

    # -- from the world ---------------------------------------------------------------------
    def _row(self, row: Row) -> None:
        self._stirred = True
        handlers = self._by_code.get(row[3])
        if handlers is not None:
            for handler in handlers:
                handler(row)

    def _operation(self, row: dict[str, Any]) -> None:
        self._stirred = True
        for handler in self._by_operation.get(row["op"], ()):
            handler(row)

    def _advancing(self, until_us: int) -> None:
        """Time is about to move to `until_us`; everything before has happened.

        A time at which only a cancelled timer was due makes no look: whether there are such times depends on the pump.
        """
        if until_us < self._next_us:
            return
        self._next_us = _behind(until_us, GRID_US)
        seq, due = self.world.seq, until_us >= self._quiet_us
        busy = (seq != self._seen and self.view.patrol()) or self._stirred
        self._seen = seq
        if seq != self._looked and (busy or due):
            self._looked = seq
            self._stirred = False
            self._look(True, 1 if busy else QUIET_AUDITS)
            due = True
        if due:
            self._quiet_us = _behind(until_us, QUIET_US)

    def _soon(self, row: Row) -> None:
        """A decisive moment: look at the end of this instant."""
        self._next_us = min(self._next_us, row[1] + 1)

    def _look(self, bounded: bool, audits: int = 1) -> None:
        self.looks += 1
        with Unfaulted(node.storage for node in self.world.nodes.values()), self.view.cluster.still():
            self.view.look(bounded, audits)
            for one in self.invariants:
                for violation in one.check(self.world):
                    self._note(violation)
            self.view.looked()

    def _note(self, violation: Violation) -> None:
        key = (violation.invariant, violation.key)
        if key in self._keys:
            return
        self.counts[violation.invariant] += 1
        first = self._first.get(violation.invariant)
        if first is None or violation.seq < first.seq:
            self._first[violation.invariant] = violation
        if len(self._keys) < KEPT:
            self._keys[key] = None
            self.violations.append(violation)

    # -- verdicts ---------------------------------------------------------------------------
    def finish(self) -> None:
        """The run is over: one thorough look at everything, without bounds."""
        self._look(False)

    @property
    def total(self) -> int:
        """Violations of all invariants."""
        return sum(self.counts.values())

    def red(self) -> dict[str, int]:
        """Invariants that did not hold, and how often."""
        return {name: count for name, count in self.counts.items() if count}

    def lights(self) -> dict[str, dict[str, Any]]:
        """Name -> {"ok", "violations", "first": {"seq", "t", "what", "text", "params"} | None}."""
        return {name: self._light(name) for name in self.counts}

    def _light(self, name: str) -> dict[str, Any]:
        first = self._first.get(name)
        count = self.counts[name]
        return {"ok": count == 0, "violations": count, "first": first.to_dict() if first is not None else None}

    def changed(self) -> dict[str, dict[str, Any]]:
        """The lights that have turned since this was asked last."""
        turned = [name for name, count in self.counts.items() if self._told[name] != (count == 0)]
        for name in turned:
            self._told[name] = not self._told[name]
        return {name: self._light(name) for name in turned}

    def to_dict(self) -> dict[str, Any]:
        """For run.json: how many violations in total and of each invariant, and the first ones."""
        return {
            "violations": self.total, "looks": self.looks, "lights": self.lights(),
            "places": [{"invariant": one.invariant, **one.to_dict()} for one in self.violations[:100]],
        }  # fmt: skip
