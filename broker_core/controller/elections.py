"""Who leads a partition next? Pure rules; Kafka's `Election` and `PartitionLeaderElectionAlgorithms`.

| strategy | asked when | new leader: the first of | that is | new ISR |
|---|---|---|---|---|
| offline | its leader is gone, a replica is back | assignment | online, in the ISR | its online members |
| unclean | nobody of the ISR is online, and it is allowed | assignment | online | the new leader |
| preferred | asked for, or out of balance | head of the assignment | online, in the ISR | unchanged |
| reassignment | the leader is to go | new replicas | online, in the ISR | unchanged |
| controlled shutdown | its leader stops | assignment | in the ISR, not stopping | without who stops |

Every election that finds somebody raises the leader epoch by one, even if the leader stays the same.
One that finds nobody changes nothing: the partition is (or stays) offline.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from broker_core.metadata.partition import LeaderAndIsr


class Strategy(Enum):
    """Why an election is held. UNCLEAN is an offline election that may take any replica."""

    OFFLINE = "offline"
    UNCLEAN = "unclean"
    PREFERRED = "preferred"
    REASSIGNMENT = "reassignment"
    CONTROLLED_SHUTDOWN = "controlled shutdown"


@dataclass(slots=True)
class Situation:
    """Everything that an election may look at.

    `online` leaves out brokers that are shutting down, `reachable` does not; both in assignment
    order. `target` is the assignment that a reassignment moves to.
    """

    state: LeaderAndIsr
    assignment: list[int]
    online: list[int]
    reachable: list[int]
    target: list[int] = field(default_factory=list)
    shutting_down: list[int] = field(default_factory=list)
    unclean_allowed: bool = False


@dataclass(slots=True)
class Outcome:
    """The new state (None: nobody can lead), and who has to be told of it by LeaderAndIsr."""

    state: LeaderAndIsr | None
    recipients: list[int]
    unclean: bool = False


def elect(strategy: Strategy, situation: Situation) -> Outcome:
    """Hold one election."""
    match strategy:
        case Strategy.OFFLINE:
            return _offline(situation, situation.unclean_allowed)
        case Strategy.UNCLEAN:
            return _offline(situation, True)
        case Strategy.PREFERRED:
            return _keeping_isr(situation, situation.assignment[:1], situation.assignment)
        case Strategy.REASSIGNMENT:
            return _keeping_isr(situation, situation.target, situation.target)
        case Strategy.CONTROLLED_SHUTDOWN:
            return _controlled_shutdown(situation)


def _first(candidates: list[int], *conditions: list[int]) -> int | None:
    """The first candidate that stands in every list."""
    return next((each for each in candidates if all(each in condition for condition in conditions)), None)


def _offline(situation: Situation, unclean_allowed: bool) -> Outcome:
    state, online = situation.state, situation.online
    leader = _first(situation.assignment, online, state.isr)
    if leader is not None:
        isr = [replica for replica in state.isr if replica in online]
        return Outcome(state.new_leader_and_isr(leader, isr), online)
    leader = _first(situation.assignment, online) if unclean_allowed else None
    if leader is None:
        return Outcome(None, online)
    return Outcome(state.new_leader_and_isr(leader, [leader]), online, unclean=True)


def _keeping_isr(situation: Situation, candidates: list[int], recipients: list[int]) -> Outcome:
    leader = _first(candidates, situation.online, situation.state.isr)
    return Outcome(None if leader is None else situation.state.new_leader(leader), recipients)


def _controlled_shutdown(situation: Situation) -> Outcome:
    state, stopping = situation.state, situation.shutting_down
    staying = [replica for replica in situation.assignment if replica not in stopping]
    leader = _first(staying, situation.reachable, state.isr)
    if leader is None:
        return Outcome(None, situation.reachable)
    isr = [replica for replica in state.isr if replica not in stopping]
    return Outcome(state.new_leader_and_isr(leader, isr), situation.reachable)
