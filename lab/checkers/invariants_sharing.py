"""Invariants of share groups (KIP-932): a record is with one member at a time, ends once, and ends at all.

What happened is taken from the journal, not from the states that the leader keeps, so a leader that forgets what it
has given away is found out. Histories begin anew where they must: a leader that comes after another one knows nothing
of its locks; where an operator has set offsets (another state epoch) or a topic was deleted, records may come again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from broker_core.broker.broker import Broker
from broker_core.clients.share_consumer import WorkerMachine
from broker_core.kernel import events
from broker_core.kernel.journal import Row
from broker_core.kernel.node import PAUSED
from broker_core.kernel.world import World
from lab.checkers.invariants_base import Invariant, Violation, is_whole
from lab.clusters import observe

EVERY_US = 1_000_000
SLACK_US = 120_000_000
DONE = ("acknowledged", "archived")
Shared = tuple[str, str, int]  # group, topic, partition


def _of(row: Row) -> Shared:
    params = row[5]
    return params["group"], params["topic"], params["partition"]


def _offsets(row: Row) -> range:
    return range(row[5]["first"], row[5]["last"] + 1)


def _place(shared: Shared) -> dict[str, Any]:
    return dict(zip(("group", "topic", "partition"), shared, strict=True))


class _Noting(Invariant):
    """Violations are found in rows, and told at the next look."""

    def __init__(self, view: Any) -> None:
        super().__init__(view)
        self._found: list[Violation] = []

    def note(self, row: Row, what: str, offset: int, **params: Any) -> None:
        shared = _of(row)
        self._found.append(
            self.found(row[0], row[1], what, (*shared, offset), offset=offset, **_place(shared), **params)
        )

    def check(self, world: World) -> list[Violation]:
        found, self._found = self._found, []
        return found


class ShareRecordHeldByOne(_Noting):
    """A leader gives a record to nobody while a member has it and its lock has not run out, not to that member again
    either, and takes no lock away before its time."""

    only = "kraft"
    meaning = {
        "en": "A record of a share group is with one member at a time, as long as its lock lasts.",
        "ko": "공유 그룹의 레코드는 잠금이 끝날 때까지 한 멤버만 가집니다.",
    }
    codes = tuple(
        code.name for code in (
            events.SHARE_ACQUIRED, events.SHARE_RENEWED, events.SHARE_SETTLED, events.SHARE_LOCKS_EXPIRED,
            events.SHARE_PARTITION_BEGINS,
        )
    )  # fmt: skip

    def __init__(self, view: Any) -> None:
        super().__init__(view)
        self._held: dict[tuple[str, Shared], dict[int, tuple[str, int]]] = {}

    def row(self, row: Row) -> None:
        code, params, now = row[3], row[5], row[1]
        held = self._held.setdefault((row[2], _of(row)), {})
        if code == events.SHARE_PARTITION_BEGINS.name:
            held.clear()
        elif code in (events.SHARE_ACQUIRED.name, events.SHARE_RENEWED.name):
            for offset in _offsets(row):
                other, until_us = held.get(offset, ("", 0))
                renewed = code == events.SHARE_RENEWED.name and other == params["member"]
                if other and not renewed and now < until_us:
                    self.note(row, "held_twice", offset, member=params["member"], other=other)
                held[offset] = params["member"], now + params["lock_ms"] * 1000
        else:
            for offset in _offsets(row):
                other, until_us = held.pop(offset, ("", 0))
                if code == events.SHARE_LOCKS_EXPIRED.name and now < until_us:
                    self.note(row, "lock_cut_short", offset, member=other)


@dataclass(slots=True)
class _Ended:
    """Offsets that have ended: all from `begun` below `floor`, and single ones beyond."""

    state_epoch: int
    begun: int
    floor: int
    beyond: set[int] = field(default_factory=set)

    def add(self, offsets: range) -> None:
        self.beyond.update(offset for offset in offsets if offset >= self.floor)
        while self.floor in self.beyond:
            self.beyond.discard(self.floor)
            self.floor += 1

    def has(self, offset: int) -> bool:
        return self.begun <= offset < self.floor or offset in self.beyond


class ShareRecordEndsOnce(_Noting):
    """What was acknowledged or archived, and written down, is never delivered again, by no later leader either.

    A leader that was replaced while it was paused may hand out what it holds until it hears of it; no acknowledgement
    is taken from it any more."""

    only = "kraft"
    meaning = {
        "en": "A record that a share group has acknowledged or archived is not delivered to it again.",
        "ko": "공유 그룹이 확인했거나 보관 처리한 레코드는 다시 전달되지 않습니다.",
    }
    codes = tuple(
        code.name for code in (
            events.SHARE_ACQUIRED, events.SHARE_SETTLED, events.SHARE_PARTITION_BEGINS, events.SHARE_STATE_DELETED,
            events.TOPIC_DELETED,
        )
    )  # fmt: skip

    def __init__(self, view: Any) -> None:
        super().__init__(view)
        self._ended: dict[Shared, _Ended] = {}
        self._began: dict[Shared, str] = {}
        """The node that leads it, by its own word."""

    def row(self, row: Row) -> None:
        code, params = row[3], row[5]
        if code == events.TOPIC_DELETED.name:
            for gone in [one for one in self._ended if one[1] == params["topic"]]:
                del self._ended[gone]
            return
        shared = _of(row)
        ended = self._ended.get(shared)
        if code == events.SHARE_STATE_DELETED.name:
            self._ended.pop(shared, None)
        elif code == events.SHARE_PARTITION_BEGINS.name:
            self._began[shared] = row[2]
            if ended is None or ended.state_epoch != params["state_epoch"]:
                self._ended[shared] = _Ended(params["state_epoch"], params["start"], params["start"])
        elif ended is None:
            return
        elif code == events.SHARE_SETTLED.name and params["state"] in DONE:
            ended.add(_offsets(row))
        elif code == events.SHARE_ACQUIRED.name and row[2] == self._began[shared]:
            self._judge(row, shared, ended)

    def _judge(self, row: Row, shared: Shared, ended: _Ended) -> None:
        excused = self.view.history(*shared[1:]).excused
        for offset in _offsets(row):
            if ended.has(offset) and offset >= excused:
                self.note(row, "delivered_after_its_end", offset, member=row[5]["member"])
                return


class ShareDeliveriesWithinLimit(_Noting):
    """No record is delivered more often than the group's limit, or one that it had before, says."""

    only = "kraft"
    meaning = {
        "en": "A share group gets no record more often than its limit of deliveries allows.",
        "ko": "공유 그룹은 어떤 레코드도 전달 횟수 한도보다 많이 받지 않습니다.",
    }
    codes = (events.SHARE_ACQUIRED.name,)

    def __init__(self, view: Any) -> None:
        super().__init__(view)
        self._limits: dict[str, int] = {}

    def row(self, row: Row) -> None:
        node = self.view.world.nodes.get(row[2])
        machine: Any = None if node is None else node.machine
        if machine is None:
            return
        group = row[5]["group"]
        now = machine.share_fetching.partitions.limits(group).deliveries
        limit = self._limits[group] = max(now, self._limits.get(group, 0))
        if row[5]["count"] > limit:
            self.note(row, "delivered_too_often", row[5]["first"], count=row[5]["count"], limit=limit)


class ShareStartMonotonic(Invariant):
    """A share-partition's start offset never goes back while its leader leads, nor with the next leader, unless an
    operator sets it."""

    only = "kraft"
    meaning = {
        "en": "The start offset of a share-partition never goes back by itself.",
        "ko": "공유 파티션의 시작 오프셋은 저절로 뒤로 가지 않습니다.",
    }
    codes = (events.SHARE_PARTITION_BEGINS.name, events.SHARE_STATE_DELETED.name, events.TOPIC_DELETED.name)

    def __init__(self, view: Any) -> None:
        super().__init__(view)
        self._begun: dict[Shared, tuple[int, int]] = {}
        self._starts: dict[tuple[str, Shared], tuple[int, int, int]] = {}
        self._found: list[Violation] = []

    def row(self, row: Row) -> None:
        code, params = row[3], row[5]
        if code == events.SHARE_PARTITION_BEGINS.name:
            shared, epoch = _of(row), params["state_epoch"]
            before = self._begun.get(shared)
            if before is not None and before[0] == epoch and params["start"] < before[1]:
                self._note(row[0], row[1], shared, before[1], params["start"])
            self._begun[shared] = epoch, params["start"]
            return
        gone = [
            one for one in self._begun
            if one[1:] == (params["topic"], params.get("partition", one[2])) and params.get("group", one[0]) == one[0]
        ]  # fmt: skip
        for one in gone:
            del self._begun[one]

    def check(self, world: World) -> list[Violation]:
        found, self._found = self._found, []
        for node, shared, entry in led_shares(world):
            now = entry.leader_epoch, entry.share.state_epoch, entry.share.start
            before = self._starts.get((node, shared))
            if before is not None and before[:2] == now[:2] and now[2] < before[2]:
                self._note(*self.view.now(), shared, before[2], now[2])
            self._starts[node, shared] = now
        return [*found, *self._found]

    def _note(self, seq: int, t: int, shared: Shared, before: int, after: int) -> None:
        params = {**_place(shared), "before": before, "after": after}
        self._found.append(self.found(seq, t, "share_start_went_back", (*shared, after), **params))


@dataclass(slots=True)
class _Waiting:
    """How far the start has come, and since when it is short of the end."""

    start: int
    since_us: int


class EveryShareRecordEnds(Invariant):
    """Liveness: while nothing is broken and a worker runs, the start of each share-partition moves on until it has come
    to the end: every record has been acknowledged or archived.

    Judged two minutes, a worker's time for a poll, and all deliveries' locks after the last fault.
    """

    only = "kraft"
    meaning = {
        "en": "While nothing is broken, every record of a share group is acknowledged or archived in the end.",
        "ko": "장애가 없으면 공유 그룹의 모든 레코드는 결국 확인되거나 보관 처리됩니다.",
    }
    codes = tuple(
        code.name for code in (
            events.PROCESS_STARTED, events.PROCESS_ENDED, events.PROCESS_PAUSED, events.PROCESS_RESUMED,
            events.LINK_CHANGED, events.PARTITION_OFFLINE, events.LEADER_ELECTED,
        )
    )  # fmt: skip

    def __init__(self, view: Any) -> None:
        super().__init__(view)
        self._waiting: dict[Shared, _Waiting] = {}
        self._next_us = 0

    def row(self, row: Row) -> None:
        self._waiting.clear()

    def check(self, world: World) -> list[Violation]:
        if world.now_us < self._next_us:
            return []
        self._next_us = world.now_us + EVERY_US
        groups = _workers(world) if is_whole(world) else {}
        found = []
        for _, shared, entry in led_shares(world):
            if shared[0] in groups:
                found += self._judge(world, shared, entry, groups[shared[0]])
        return found

    def _judge(self, world: World, shared: Shared, entry: Any, workers: list[WorkerMachine]) -> list[Violation]:
        now, start, end = world.now_us, entry.share.start, entry.partition.log.high_watermark
        waiting = self._waiting.get(shared)
        if waiting is None or start > waiting.start or start >= end:
            self._waiting[shared] = waiting = _Waiting(start, now)
        limits = entry.limits
        work = max(one.settings.max_poll_records * one.load.process_us for one in workers)
        if now - waiting.since_us <= SLACK_US + limits.deliveries * (limits.lock_us + work):
            return []
        params = {**_place(shared), "offset": start, "end": end}
        return [self.found(world.seq, now, "share_group_stuck", (*shared, start), **params)]


class _Led:
    """A share-partition at its leader, and what its group may do."""

    __slots__ = ("share", "leader_epoch", "partition", "limits")

    def __init__(self, entry: Any, limits: Any) -> None:
        self.share, self.leader_epoch, self.partition, self.limits = (
            entry.share, entry.leader_epoch, entry.partition, limits
        )  # fmt: skip


def led_shares(world: World) -> Iterator[tuple[str, Shared, _Led]]:
    """Node, name and state of each share-partition at its leader."""
    for _, node in observe.brokers(world):
        machine = node.machine
        if not isinstance(machine, Broker):  # it is down, or has nothing but replicas
            continue
        held = machine.share_fetching.partitions
        for key, entry in held.entries.items():
            if entry.share is not None and entry.led:
                yield node.name, (key.group_id, entry.topic, key.partition), _Led(entry, held.limits(key.group_id))


def _workers(world: World) -> dict[str, list[WorkerMachine]]:
    """Group -> the workers that run; none of a group in which one is paused: it may have a record for long."""
    found: dict[str, list[WorkerMachine]] = {}
    paused = set()
    for node in world.nodes.values():
        machine = node.machine
        if isinstance(machine, WorkerMachine) and not machine.closing:
            found.setdefault(machine.settings.group_id, []).append(machine)
            if node.state == PAUSED:
                paused.add(machine.settings.group_id)
    return {group: workers for group, workers in found.items() if group not in paused}
