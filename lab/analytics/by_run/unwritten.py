"""When a partition took no writes, and why: the windows of `answers.unavailability` and `answers.write_gaps`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from broker_core.kernel.names import broker_node
from lab.analytics import cut_off
from lab.analytics.by_run.leaders import Change, Leaders, Partition, place_of
from lab.analytics.by_run.recording import Event
from lab.analytics.by_run.values import Values

Row = dict[str, Any]
_SETTING = "min.insync.replicas"
_NAMES = ("members", "copies", "leader", "own", "common")
Line = list[tuple[int, int, dict[str, Any]]]
"""(t_us, seq, what is known from then on), in that order."""


def unavailability(leaders: Leaders, values: Values) -> list[Row]:
    """Windows of all causes."""
    found: list[tuple[Any, ...]] = [
        (one.topic, one.partition, one.seq, one.from_us, one.to_us, "no leader", one.leader, one.how, one.next_leader)
        for one in leaders.windows]
    lines = _lines(leaders)
    found += [(*place, seq, t_us, to_us, "too few in ISR", leader, None, None)
              for place, line in lines.items() for t_us, seq, to_us, leader in _few(leaders, line)]
    found += [(*row[:5], "waits for ISR", row[5], None, None) for row in dict.fromkeys(_waits(leaders, lines))]
    found += [(*one[:5], cut_off.CAUSE, *one[5:]) for one in _cut_off(leaders, values)]
    end = leaders.run.end_us
    rows = [_window(leaders.run.name, end, *one) for one in found if one[3] is not None
            and (one[4] is None or one[4] > one[3])]
    return sorted(rows, key=lambda row: (row["topic"], row["partition"], row["from_us"], row["cause"]))


def _window(run: str, end: int | None, topic: str, partition: int, seq: int, from_us: int, to_us: int | None,
            cause: str, leader: str | None, how: str | None, next_leader: str | None) -> Row:  # fmt: skip
    until = end if to_us is None else to_us
    return {"run": run, "topic": topic, "partition": partition, "seq": seq, "from_us": from_us, "to_us": to_us,
            "seconds": None if until is None else (until - from_us) / 1e6, "cause": cause, "leader": leader,
            "how": how, "next_leader": next_leader}


# -- the ISR ----------------------------------------------------------------------------------
def _lines(leaders: Leaders) -> dict[Partition, Line]:
    """What is known of each partition: members of the ISR, replicas, leader, and the least number it needs."""
    marks: dict[Partition, list[tuple[int, int, dict[str, Any]]]] = {}
    for change in leaders.isr_changes:
        if change.change != "refused":
            members = None if change.isr is None else len(change.isr)
            place = change.topic, change.partition
            marks.setdefault(place, []).append((change.t_us, change.seq, {"members": members}))
    for event in leaders.run.of("leader_elected"):
        isr, replicas, leader = (event[5].get(name) for name in ("isr", "replicas", "leader"))
        told = {"members": None if isr is None else len(isr), "copies": None if replicas is None else len(replicas),
                "leader": None if leader is None else broker_node(leader)}
        marks.setdefault(place_of(event), []).append((event[1], event[0], told))
    settings = list(_settings(leaders))
    found: dict[Partition, Line] = {}
    for place, line in marks.items():
        line += [one for topic, one in settings if topic in (None, place[0])]
        line.sort(key=lambda one: one[:2])
        known: dict[str, Any] = dict.fromkeys(_NAMES)
        found[place] = []
        for moment, together in groupby(line, key=lambda one: one[:2]):
            for _, _, told in together:
                known = known | {name: value for name, value in told.items() if value is not None}
            found[place].append((*moment, known))
    return found


def _settings(leaders: Leaders) -> Iterator[tuple[str | None, tuple[int, int, dict[str, Any]]]]:
    """(topic, mark); a value of -1: not set any more."""
    for event in leaders.run.of("topic_created"):
        own = (event[5].get("configs") or {}).get(_SETTING)
        yield event[5].get("topic"), (event[1], event[0], {"own": None if own is None else int(own)})
    for event in leaders.run.of("config_changed"):
        if event[5].get("key") == _SETTING:
            value, resource = event[5].get("value"), event[5].get("resource", "")
            level = {"topic": "own", "default": "common"}.get(resource, "")
            topic = event[5].get("name") if resource == "topic" else None
            yield topic, (event[1], event[0], {level: -1 if value is None else int(value)})


def _few(leaders: Leaders, line: Line) -> Iterator[tuple[int, int, int | None, str | None]]:
    """(t_us, seq, to_us, leader) of the stretches in which the ISR was too small."""
    settings = leaders.run.facts.get("spec", {}).get("cluster", {}).get("settings", {})
    usual = settings.get(_SETTING)
    turns: list[tuple[int, int, bool, str | None]] = []
    for t_us, seq, known in line:
        wanted = [one for one in (known["own"], known["common"], usual, 1) if one not in (None, -1)]
        least = min(int(wanted[0]), known["copies"] if known["copies"] is not None else int(wanted[0]))
        few = known["members"] is not None and known["members"] < least
        if few != (turns[-1][2] if turns else False):
            turns.append((t_us, seq, few, known["leader"]))
    for (t_us, seq, few, leader), after in zip(turns, [*turns[1:], None]):
        if few:
            yield t_us, seq, None if after is None else after[0], leader


def _waits(leaders: Leaders, lines: dict[Partition, Line]) -> Iterator[tuple[Any, ...]]:
    """(topic, partition, seq, from_us, to_us, leader): a member did not fetch and had not been removed yet."""
    lags = {(event[0], *place_of(event)): event[5].get("lag_ms") or {} for event in leaders.run.of("isr_shrunk")}
    lives: dict[str, list[tuple[int, bool]]] = {}
    for event in leaders.run.of("process_ended", "process_paused", "process_started", "process_resumed"):
        lives.setdefault(event[2], []).append((event[1], event[3] in ("process_ended", "process_paused")))
    for change in leaders.isr_changes:
        if change.change != "shrunk":
            continue
        place = change.topic, change.partition
        known = [one[2]["leader"] for one in lines.get(place, ()) if one[0] < change.t_us]
        if not known:
            continue
        lag = lags.get((change.seq, *place), {})
        if change.reason == "no fetch" and lag:
            yield *place, change.seq, change.t_us - max(lag.values()) * 1000, change.t_us, known[-1]
        for since, gone in _gone(change, lives):
            if known[-1] is not None and gone != known[-1]:
                yield *place, change.seq, since, change.t_us, known[-1]


def _gone(change: Change, lives: dict[str, list[tuple[int, bool]]]) -> Iterator[tuple[int, str]]:
    """(since when, node) of members that were down when they were removed."""
    for broker in change.removed or ():
        node = broker_node(broker)
        last = max((one for one in lives.get(node, ()) if one[0] <= change.t_us), default=None)
        if last is not None and last[1]:
            yield last[0], node


def _cut_off(leaders: Leaders, values: Values) -> Iterator[cut_off.Window]:
    """Windows in which nobody could reach the leader."""
    if not any(event[5].get("partitioned") is True for event in leaders.run.of("link_changed")):
        return
    producers: dict[str, set[str]] = {}
    for _, process, _, topic, _ in values.sent:
        if topic is not None:
            producers.setdefault(topic, set()).add(process)
    yield from cut_off.CutOff(producers).windows(_told(event) for event in leaders.run.of(*cut_off.CODES))


def _told(event: Event) -> cut_off.Event:
    return cut_off.Event(event[1], event[0], event[2], event[3], event[5])


# -- what producers noticed -------------------------------------------------------------------
def write_gaps(leaders: Leaders, values: Values) -> Iterator[Row]:
    """The longest time under load without an acknowledgement in each partition."""
    until = _until(leaders, values)
    first: dict[Partition, int] = {}
    marks: dict[Partition, set[int]] = {}
    for t_us, _, kind, topic, partition in values.sent:
        if topic is not None and partition is not None and partition >= 0:
            place = topic, partition
            first[place] = min(first.get(place, t_us), t_us)
            if kind == "ok" and until is not None and t_us <= until:
                marks.setdefault(place, set()).add(t_us)
    for (topic, partition), begin in sorted(first.items()):
        line = marks.get((topic, partition), set()) | {begin}
        line |= {until} if until is not None and begin <= until else set()
        times = sorted(line)
        gaps = [(after - before, after) for before, after in zip(times, times[1:])]
        if gaps:
            gap, end = max(gaps)
            yield {"run": leaders.run.name, "topic": topic, "partition": partition, "from_us": end - gap,
                   "to_us": end, "seconds": gap / 1e6}


def _until(leaders: Leaders, values: Values) -> int | None:
    """The end of the load, else of the last producer's process, else of the run."""
    run = leaders.run
    if run.load_end_us is not None:
        return run.load_end_us
    lives: dict[str, tuple[tuple[int, int], bool]] = {}
    for event in run.of("process_started", "process_ended"):
        moment = (event[1], event[0])
        if event[2] not in lives or moment >= lives[event[2]][0]:
            lives[event[2]] = moment, event[3] == "process_ended"
    processes = {process for _, process, _, _, _ in values.sent}
    if processes and all(process in lives and lives[process][1] for process in processes):
        return max(lives[process][0][0] for process in processes)
    return run.end_us
