"""Rare paths that swarm runs have to reach: what no seed does, no seed tests.

A probe is a code of the journal, or what several rows say together (`_turns`). `python -m lab.faults 1..200` says at
its end in how many runs each was reached, and fails when one was not reached in a hundred runs or more.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import orjson

from broker_core.kernel import events
from lab.clusters.spec import CONTROLLERS
from lab.experiments.directory import JOURNAL

ENOUGH = 100
ENSEMBLE, SHARE, TRANSACTIONS, MOVES = "ensemble", "share", "transactions", "moves"
ZOOKEEPER = CONTROLLERS[0]
BACK, ELSEWHERE, TAKEN_UP, PREFERRED = "back", "elsewhere", "taken up", "preferred"
PROBES: dict[str, events.EventCode | str] = {
    "a controller that was replaced is fenced": events.CONTROLLER_FENCED,
    "a controller resigns": events.CONTROLLER_RESIGNED,
    "a laggard leaves the ISR": events.ISR_SHRUNK,
    "a replica comes back into the ISR": events.ISR_EXPANDED,
    "a change of the ISR is refused": events.ISR_CHANGE_REFUSED,
    "a log is cut": events.TRUNCATED,
    "a batch comes twice": events.DUPLICATE_BATCH,
    "a segment is rolled": events.SEGMENT_ROLLED,
    "a log is recovered after a crash": events.LOG_RECOVERED,
    "a disk fails": events.DISK_FAULT,
    "a session of the tree expires": events.SESSION_EXPIRED,
    "a partition has nobody to lead it": events.PARTITION_OFFLINE,
    "a write is given up": events.SEND_FAILED,
    "a connection breaks": events.CONNECTION_LOST,
    "a group shares out its partitions": events.GROUP_ASSIGNED,
    "a share group has records": events.SHARE_ACQUIRED,
    "a lock of a share group runs out": events.SHARE_LOCKS_EXPIRED,
    "a lock of a share group is renewed": events.SHARE_RENEWED,
    "a leader takes a share-partition over": events.SHARE_PARTITION_BEGINS,
    "a transaction is decided": events.TRANSACTION_STATE,
    "a transaction times out": events.TRANSACTION_TIMED_OUT,
    "a coordinator of transactions takes over": events.TRANSACTION_PARTITION_LOADED,
    "a member of a KIP-848 group is moved": events.MEMBER_RECONCILED,
    "a server of the ensemble cuts off what was never committed": events.ENSEMBLE_TRUNCATED,
    "a session goes on at another server": events.ENSEMBLE_CLIENT,
    "a partition moves to other brokers": events.ASSIGNMENT_CHANGED,
    "a move to other brokers is taken back": BACK,
    "a move to other brokers is sent elsewhere": ELSEWHERE,
    "a move to other brokers ends under another controller": TAKEN_UP,
    "a preferred leader is elected": PREFERRED,
    "a topic grows": events.TOPIC_GROWN,
    "a replica lies in another directory": events.REPLICA_MOVED,
    "a move to another directory ends early": events.REPLICA_MOVE_ENDED,
}
OF_SHARE = (
    "a share group has records", "a lock of a share group runs out", "a lock of a share group is renewed",
    "a leader takes a share-partition over",
)
OF_TRANSACTIONS = (
    "a transaction is decided", "a transaction times out", "a coordinator of transactions takes over",
    "a member of a KIP-848 group is moved",
)
OF_MOVES = (
    "a partition moves to other brokers", "a move to other brokers is taken back",
    "a move to other brokers is sent elsewhere", "a move to other brokers ends under another controller",
    "a preferred leader is elected", "a topic grows", "a replica lies in another directory",
    "a move to another directory ends early",
)
OF_ENSEMBLE = ("a server of the ensemble cuts off what was never committed", "a session goes on at another server")
OF_ZOOKEEPER = ("a controller that was replaced is fenced", "a session of the tree expires")
"""What KRaft does not have: who does not lead the quorum cannot write, and there are no sessions."""


def probes_of(generation: str) -> list[str]:
    """The paths that there are with this controller."""
    left_out = OF_ZOOKEEPER if generation in (CONTROLLERS[1], SHARE, TRANSACTIONS) else ()
    alone = () if generation == ENSEMBLE else OF_ENSEMBLE
    shared = () if generation == SHARE else OF_SHARE
    decided = () if generation == TRANSACTIONS else OF_TRANSACTIONS
    moved = () if generation == MOVES else OF_MOVES
    return [probe for probe in PROBES if probe not in (*left_out, *alone, *shared, *decided, *moved)]


def reached(directory: Path) -> Counter[str]:
    """Probes that a run has reached, each counted once."""
    journal = (directory / JOURNAL).read_bytes()
    turns = _turns(journal)
    return Counter(
        probe for probe, path in PROBES.items()
        if (path in turns if isinstance(path, str) else f',"{path.name}",'.encode() in journal)
    )  # fmt: skip


def _turns(journal: bytes) -> set[str]:
    """What became of partitions on their way to other brokers, and whether a preferred leader was elected."""
    found = {PREFERRED} if b'"reason":"preferred"' in journal else set()
    if f',"{events.ASSIGNMENT_CHANGED.name}",'.encode() not in journal:
        return found
    ends: dict[tuple[str, int], tuple[set[int], set[int]]] = {}
    under_another: set[tuple[str, int]] = set()
    codes = [f',"{code.name}",'.encode() for code in (events.ASSIGNMENT_CHANGED, events.CONTROLLER_ELECTED)]
    for line in journal.splitlines():
        if not any(code in line for code in codes):
            continue
        row = orjson.loads(line)
        if row[3] == events.CONTROLLER_ELECTED.name:
            under_another |= set(ends)
        elif row[3] == events.ASSIGNMENT_CHANGED.name:
            found |= _turn(row[5], ends, under_another)
    return found


def _turn(
    said: dict[str, Any], ends: dict[tuple[str, int], tuple[set[int], set[int]]], under_another: set[tuple[str, int]]
) -> set[str]:
    place, replicas = (said["topic"], said["partition"]), set(said["replicas"])
    before = ends.pop(place, None)
    is_another = place in under_another
    under_another.discard(place)
    if said["moving"]:
        ends[place] = replicas - set(said["adding"]), replicas - set(said["removing"])
        return {ELSEWHERE} if before is not None else set()
    if before is None:
        return set()
    return ({BACK} if replicas == before[0] else set()) | ({TAKEN_UP} if is_another else set())


def told(counts: Counter[str], runs: int, generation: str = ZOOKEEPER) -> list[str]:
    """A line for each probe, the rarest first."""
    known = probes_of(generation)
    return [f"{counts[probe]:6} of {runs} runs: {probe}" for probe in sorted(known, key=lambda one: counts[one])]


def unreached(counts: Counter[str], runs: int, generation: str = ZOOKEEPER) -> list[str]:
    """Probes that ought to have been reached by now."""
    return [probe for probe in probes_of(generation) if not counts[probe]] if runs >= ENOUGH else []
