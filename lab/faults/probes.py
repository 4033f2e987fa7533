"""Rare paths that swarm runs have to reach: what no seed does, no seed tests.

A probe is a code of the journal. `python -m lab.faults 1..200` says at its end in how many runs each was reached, and
fails when one was not reached in a hundred runs or more.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from broker_core.kernel import events
from lab.clusters.spec import CONTROLLERS
from lab.experiments.directory import JOURNAL

ENOUGH = 100
ENSEMBLE, SHARE, TRANSACTIONS = "ensemble", "share", "transactions"
ZOOKEEPER = CONTROLLERS[0]
PROBES: dict[str, events.EventCode] = {
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
}
OF_SHARE = (
    "a share group has records", "a lock of a share group runs out", "a lock of a share group is renewed",
    "a leader takes a share-partition over",
)
OF_TRANSACTIONS = (
    "a transaction is decided", "a transaction times out", "a coordinator of transactions takes over",
    "a member of a KIP-848 group is moved",
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
    return [probe for probe in PROBES if probe not in (*left_out, *alone, *shared, *decided)]


def reached(directory: Path) -> Counter[str]:
    """Probes that a run has reached, each counted once."""
    journal = (directory / JOURNAL).read_bytes()
    return Counter(probe for probe, code in PROBES.items() if f',"{code.name}",'.encode() in journal)


def told(counts: Counter[str], runs: int, generation: str = ZOOKEEPER) -> list[str]:
    """A line for each probe, the rarest first."""
    known = probes_of(generation)
    return [f"{counts[probe]:6} of {runs} runs: {probe}" for probe in sorted(known, key=lambda one: counts[one])]


def unreached(counts: Counter[str], runs: int, generation: str = ZOOKEEPER) -> list[str]:
    """Probes that ought to have been reached by now."""
    return [probe for probe in probes_of(generation) if not counts[probe]] if runs >= ENOUGH else []
