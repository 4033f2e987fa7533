"""Whether groups get to read: a liveness invariant of the built-in consumers, in both generations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from broker_core.clients.consumer import ConsumerMachine
from broker_core.kernel import events
from broker_core.kernel.journal import Row
from broker_core.kernel.node import PAUSED
from broker_core.kernel.world import World
from lab.checkers.invariants_base import Invariant, Violation, is_whole
from lab.checkers.invariants_view import Place

EVERY_US = 1_000_000
BEYOND_SESSION_US = 60_000_000
READ_COMMITTED = "read_committed"


@dataclass(slots=True)
class Waiting:
    """A partition of a group: the furthest that a member has come, and since when it is short of the end."""

    reached: int = -1
    since_us: int | None = None


class EveryGroupReads(Invariant):
    """Liveness: while nothing is broken and a member of a group runs, each partition of its topics is read on.

    Judged a session timeout and a minute after the last fault: a member that died without a word has to be missed
    first, and a lost request to run into its time-out. An application may take its time for a poll's records on top.
    """

    meaning = {
        "en": "While nothing is broken, a group with a living member reads on in every partition.",
        "ko": "장애가 없고 살아 있는 멤버가 있으면 그룹은 모든 파티션을 계속 읽어 나갑니다.",
    }
    codes = tuple(
        code.name
        for code in (
            events.PROCESS_STARTED, events.PROCESS_ENDED, events.PROCESS_PAUSED, events.PROCESS_RESUMED,
            events.LINK_CHANGED, events.PARTITION_OFFLINE, events.LEADER_ELECTED,
        )
    )  # fmt: skip

    def __init__(self, view: Any) -> None:
        super().__init__(view)
        self._waiting: dict[tuple[str, Place], Waiting] = {}
        self._next_us = 0

    def row(self, row: Row) -> None:
        for one in self._waiting.values():
            one.since_us = None

    def check(self, world: World) -> list[Violation]:
        if world.now_us < self._next_us:
            return []
        self._next_us = world.now_us + EVERY_US
        groups = self._groups(world) if is_whole(world) else {}
        found: list[Violation] = []
        for group, members in groups.items():
            for place in self._places(members):
                found += self._judge(world, group, members, place)
        return found

    def _groups(self, world: World) -> dict[str, list[ConsumerMachine]]:
        """Group -> the members that run; none of a group in which somebody is paused."""
        found: dict[str, list[ConsumerMachine]] = {}
        paused = set()
        for node in world.nodes.values():
            machine = node.machine
            if isinstance(machine, ConsumerMachine) and machine.settings.group_id and not machine.closing:
                found.setdefault(machine.settings.group_id, []).append(machine)
                if node.state == PAUSED:
                    paused.add(machine.settings.group_id)
        return {group: members for group, members in found.items() if group not in paused}

    def _places(self, members: list[ConsumerMachine]) -> list[Place]:
        names = dict.fromkeys(topic for member in members for topic in member.load.topics)
        topics = self.view.cluster.topics()
        return [(name, number) for name in names for number in topics.get(name, ())]

    def _judge(self, world: World, group: str, members: list[ConsumerMachine], place: Place) -> list[Violation]:
        leader = self.view.leader(*place)
        if leader is None:
            return []
        now, waiting = world.now_us, self._waiting.setdefault((group, place), Waiting())
        stable = any(member.settings.isolation_level == READ_COMMITTED for member in members)
        end = leader.log.last_stable_offset if stable else leader.log.high_watermark
        positions = [member.positions.of[place] for member in members if place in member.positions.of]
        reached = max((position.offset for position in positions), default=-1)
        if reached > waiting.reached or waiting.since_us is None:
            waiting.reached, waiting.since_us = max(reached, waiting.reached), now
        if max(waiting.reached, leader.log.log_start_offset) >= end:
            waiting.since_us = now
        if now - waiting.since_us <= _patience_us(members):
            return []
        params = {"group": group, "topic": place[0], "partition": place[1], "offset": waiting.reached, "end": end}
        key = (group, *place, waiting.reached)
        return [self.found(world.seq, now, "group_stuck", key, **params)]


def _patience_us(members: list[ConsumerMachine]) -> int:
    """How long a partition may stand still."""
    session = max(member.settings.session_timeout_ms * 1000 for member in members)
    work = max(member.settings.max_poll_records * member.load.process_us for member in members)
    return session + work + BEYOND_SESSION_US
