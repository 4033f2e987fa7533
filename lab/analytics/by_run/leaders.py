"""Leaders, their elections and the ISR: rows of `elections` and `isr_changes`, and the questions about them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

from lab.analytics.by_run.figures import number_of, percentile
from lab.analytics.by_run.recording import Event, Recording, grouped
from lab.analytics.timelines import OPENINGS

Row = dict[str, Any]
Partition = tuple[str, int]
_CHANGES = {"isr_shrunk": "shrunk", "isr_expanded": "expanded", "isr_change_refused": "refused"}
_NEVER = 1 << 63


class Election(NamedTuple):
    """A row of the table `elections`, without the run."""

    seq: int
    t_us: int
    node: str
    topic: str
    partition: int
    leader: int
    previous: int
    leader_epoch: int
    isr: list[int] | None
    reason: str | None
    took_over_us: int | None


class Change(NamedTuple):
    """A row of the table `isr_changes`, without the run."""

    seq: int
    t_us: int
    node: str
    topic: str
    partition: int
    change: str
    isr: list[int] | None
    removed: list[int] | None
    added: list[int] | None
    reason: str | None
    leader_epoch: int | None


class Window(NamedTuple):
    """A term of a leader that has ended."""

    topic: str
    partition: int
    leader: str
    how: str
    seq: int
    from_us: int
    to_us: int | None
    next_leader: str | None
    next_epoch: int | None


def place_of(event: Event) -> Partition:
    """(topic, partition) that an event tells of."""
    return event[5].get("topic", ""), event[5].get("partition", -1)


class Leaders:
    """Those of one run."""

    def __init__(self, run: Recording) -> None:
        self.run = run

    @cached_property
    def elections(self) -> list[Election]:
        """Decisions. A mark as offline that an election follows at once is none (`timelines.elections`)."""
        took: dict[Any, int] = {}
        for event in self.run.of("became_leader"):
            key = (*place_of(event), event[5].get("leader_epoch"), number_of(event[2]))
            took[key] = min(took.get(key, event[1]), event[1])
        opened = 0
        told: dict[Partition, list[tuple[Event, int]]] = {}
        for event in self.run.of("leader_elected", "partition_offline", *OPENINGS):
            if event[3] in OPENINGS:
                opened += 1
            else:
                told.setdefault(place_of(event), []).append((event, opened))
        found = []
        for line in told.values():
            for (event, then), after in zip(line, [*line[1:], None]):
                at_once = after is not None and after[0][3] == "leader_elected" and after[1] == then
                if event[3] == "leader_elected" or not at_once:
                    found.append((event[6], _election(event, took)))
        return [one for _, one in sorted(found, key=lambda item: item[0])]

    @cached_property
    def isr_changes(self) -> list[Change]:
        """What leaders did to the ISR."""
        return [
            Change(*event[:3], *place_of(event), _CHANGES[event[3]], p.get("isr"), p.get("removed"), p.get("added"),
                   p.get("error") if p.get("reason") is None else p["reason"], p.get("leader_epoch"))
            for event in self.run.of(*_CHANGES) for p in (event[5],)
        ]  # fmt: skip

    @cached_property
    def windows(self) -> list[Window]:
        """From the end of each leader to the next one."""
        resumed: dict[str, list[int]] = {}
        for event in self.run.of("process_resumed"):
            resumed.setdefault(event[2], []).append(event[1])
        for times in resumed.values():
            times.sort()
        ends: dict[str, list[tuple[int, int, str, Partition | None]]] = {}
        for event in self.run.of("process_ended", "process_paused", "became_follower", "replica_stopped"):
            is_process = event[3].startswith("process")
            if is_process or event[5].get("deleted") is not True:
                how = event[5].get("how") or "paused" if is_process else "stepped down"
                ends.setdefault(event[2], []).append((event[1], event[0], how, None if is_process else place_of(event)))
        found: list[Window] = []
        for place, led in grouped(self.run.of("became_leader"), place_of).items():
            terms = sorted(((e[1], e[0], e[2], e[5].get("leader_epoch")) for e in led), key=lambda term: term[:2])
            for term, after in zip(terms, [*terms[1:], None]):
                found += _ended(place, term, after, ends.get(term[2], []), resumed.get(term[2], []))
        return found

    # -- questions --------------------------------------------------------------------------
    def failovers(self, acks: dict[Partition, list[int]]) -> Iterator[Row]:
        """Each loss of a leader's process, step by step; `acks`: when producers were told yes, in order."""
        sessions = [(event[5].get("owner"), event[1]) for event in self.run.of("session_expired", "session_closed")]
        controllers = [event[1] for event in self.run.of("controller_elected")]
        lost = [one for one in self.windows if one.how not in ("stepped down", "paused")
                and one.to_us is not None and one.to_us > one.from_us]
        for one in sorted(lost, key=lambda one: (one.from_us, one.topic, one.partition)):
            place, begin, end = (one.topic, one.partition), one.from_us, one.to_us or 0
            heard = acks.get(place, [])
            at = bisect_left(heard, end)
            steps = {
                "detected": [t for owner, t in sessions if owner == one.leader and begin <= t <= end],
                "controller": [t for t in controllers if begin <= t <= end],
                "decided": [e.t_us for e in self.elections if (e.topic, e.partition) == place and e.leader >= 0
                            and e.leader_epoch == one.next_epoch and e.t_us >= begin],
                "took_over": [end], "first_ack": heard[at : at + 1],
            }  # fmt: skip
            yield {"run": self.run.name, "topic": one.topic, "partition": one.partition, "seq": one.seq,
                   "from_us": begin, "leader": one.leader, "how": one.how, "next_leader": one.next_leader,
                   **{name: (min(times) - begin) / 1e6 if times else None for name, times in steps.items()}}

    def by_reason(self) -> Iterator[Row]:
        """Elections by reason, and how long the chosen one took to take over."""
        reasons = grouped(self.elections, lambda one: one.reason)
        for reason, some in sorted(reasons.items(), key=lambda item: (item[0] is not None, item[0] or "")):
            took = [one.took_over_us - one.t_us for one in some if one.took_over_us is not None]
            yield {"run": self.run.name, "reason": reason, "elections": len(some),
                   "never_took_over": sum(one.leader >= 0 and one.took_over_us is None for one in some),
                   "takeover_ms_p50": percentile(took, 0.5, 1e3), "takeover_ms_max": max(took) / 1e3 if took else None}

    def isr_churn(self) -> Iterator[Row]:
        """How often the ISR of a partition changed, how small it was, and for how long."""
        told: dict[Partition, list[tuple[int, int, str, int]]] = {}
        for change in self.isr_changes:
            if change.change != "refused" and change.isr is not None:
                place = change.topic, change.partition
                told.setdefault(place, []).append((change.seq, change.t_us, change.change, len(change.isr)))
        for one in self.elections:
            if one.isr is not None:
                told.setdefault((one.topic, one.partition), []).append((one.seq, one.t_us, "elected", len(one.isr)))
        end = self.run.end_us
        for (topic, partition), steps in sorted(told.items()):
            steps.sort(key=lambda step: step[0])
            full, smallest = max(step[3] for step in steps), min(step[3] for step in steps)
            shrunk, expanded = (sum(step[2] == change for step in steps) for change in ("shrunk", "expanded"))
            below = [(end if after is None else after[1], step[1]) for step, after in zip(steps, [*steps[1:], None])
                     if step[3] < full]
            if shrunk or expanded or smallest < full:
                seconds = sum(until - since for until, since in below if until is not None) / 1e6
                yield {"run": self.run.name, "topic": topic, "partition": partition, "shrunk": shrunk,
                       "expanded": expanded, "smallest": smallest, "seconds_below_full": seconds}


def _election(event: Event, took: dict[Any, int]) -> Election:
    seq, t_us, node, code, _, p, _ = event
    is_offline = code == "partition_offline"
    leader, place = -1 if is_offline else p.get("leader", -1), place_of(event)
    reason = "no replica of the ISR is alive" if is_offline else p.get("reason")
    previous, epoch = p.get("previous"), p.get("leader_epoch", -1)
    return Election(seq, t_us, node, *place, leader, -1 if previous is None else previous, epoch, p.get("isr"), reason,
                    took.get((*place, epoch, leader)))


def _ended(place: Partition, term: Any, after: Any, ends: list[Any], resumed: list[int]) -> Iterator[Window]:
    """What ended a term; not what happened while its leader was gone already."""
    begin, _, node, _ = term
    next_us, _, next_node, next_epoch = (None, None, None, None) if after is None else after
    mine = {one for one in ends
            if one[0] >= begin and (next_us is None or one[0] < next_us) and one[3] in (None, place)}
    until = None
    for t_us, seq, how, _ in sorted(mine, key=lambda one: one[:2]):
        back = resumed[bisect_left(resumed, t_us) :][:1] if how == "paused" else []
        to_us = min((one for one in (next_us, *back) if one is not None), default=None)
        if until is None or t_us >= until:
            yield Window(*place, node, how, seq, t_us, to_us, next_node, next_epoch)
        until = max(until if until is not None else 0, _NEVER if to_us is None else to_us)
