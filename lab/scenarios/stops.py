"""Where a run that is played back stands still, with a caption: what a lesson is about, event by event.

```yaml
stops:                                                   # in the order of the run
  - {event: link_changed, step: 0, say: {en: The links become slow., ko: ...}}
  - {event: process_ended, where: {how: crash}, step: 1}
```
A stop points at an event as a `moment` does. Without `say` it is told as the story tells the event. Where a lesson
declares none, they are found in its journal (`derived`):

| rank | what |
|---|---|
| 1 | the lesson's moment |
| 2 | the commands of its steps, one for each instant, but for the end of all faults |
| 3 | what turns a cluster round: TURNS, the first of each kind, from the first step on |

The best MOST of these are kept, in the order of the journal. Where they are fewer than LEAST, what came before the
first step and everyday events (EVERYDAY) fill up. What follows the load (everything is healed, read back
and counted) is no part of a lesson but for logs that are cut then: records are lost there for good.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from broker_core.kernel import events
from lab.clusters import checks
from lab.clusters.checks import Place
from lab.scenarios.moments import MOMENT_KEYS, Moment, read_moment
from lab.scenarios.predictions import texts

MOST = 5
"""With the verdict at the end of the run: six."""

COMMAND = events.COMMAND.name
LEAST = 3
ONE_INSTANT_US = 50_000
TURNS = (
    "partition_offline", "leader_elected", "truncated", "isr_shrunk", "controller_elected", "isr_expanded",
    "controller_fenced", "log_recovered", "log_cleaned", "segment_deleted", "partitions_revoked", "group_assigned",
    "group_converted", "assignment_taken", "member_left", "send_failed", "request_queue_full", "index_rebuilt",
    "segment_rolled", "session_expired", "broker_gone", "broker_registered", "client_error", "isr_change_refused",
    "purgatory_parked", "purgatory_completed", "offsets_committed", "topic_created", "assignment_changed",
    "became_leader",
)  # fmt: skip
"""Kinds of events that tell a lesson, most telling first."""

EVERYDAY = ("log_appended", "high_watermark")
AFTER_THE_LOAD = ("truncated",)
ENDS_FAULTS = "stop_all_faults"


@dataclass(slots=True)
class Stop:
    """An event to stand still at; `say` in each language, or empty."""

    moment: Moment
    say: dict[str, str] = field(default_factory=dict)


def read_stops(value: Any, place: Place, steps: int) -> list[Stop]:
    """Checked stops; raises SpecError."""
    found = []
    for index, one in enumerate(checks.items(value, place)):
        at = (*place, index)
        data = checks.mapping(one, at, [*MOMENT_KEYS, "say"], ["event"])
        found.append(Stop(read_moment(data, at, steps), texts(data.get("say"), (*at, "say"))))
    return found


def stops_of(
    declared: list[Stop], moment: Moment | None, rows: list[Any], steps: list[dict[str, int]], loaded_us: int
) -> list[dict[str, Any]]:
    """[{seq, t_us, event, say?}] of a run, in its order; events of one number follow one another. Rows are those of the
    journal from the clients' start on; a declared stop that is not among them is left out."""
    if not declared:
        return [_told(row) for row in derived(moment, rows, steps, loaded_us)]
    found = {id(row): one.say for one in declared if (row := one.moment.row(rows, steps)) is not None}
    return [_told(row, found[id(row)]) for row in rows if id(row) in found]


def _told(row: Any, say: dict[str, str] | None = None) -> dict[str, Any]:
    return {"seq": row[0], "t_us": row[1], "event": row[3], **({"say": say} if say else {})}


def derived(moment: Moment | None, rows: list[Any], steps: list[dict[str, int]], loaded_us: int) -> list[Any]:
    """Rows to stand still at where none are declared, in the order of the journal."""
    chosen: list[Any] = []
    _choose(chosen, _ranked(moment, rows, steps, loaded_us), MOST)
    _choose(chosen, _everyday(rows, steps, loaded_us), LEAST)
    places = {id(row) for row in chosen}
    return [row for row in rows if id(row) in places]


def _choose(chosen: list[Any], found: Iterator[Any], most: int) -> None:
    """Add what is not of the same instant as something better."""
    for row in found:
        if len(chosen) >= most:
            return
        if all(abs(row[1] - one[1]) > ONE_INSTANT_US or _is_turn(row, one) for one in chosen):
            chosen.append(row)


def _is_turn(row: Any, one: Any) -> bool:
    """An election and the death before it may share an instant; two commands may not."""
    return row[3] != one[3] and COMMAND not in (row[3], one[3])


def _ranked(moment: Moment | None, rows: list[Any], steps: list[dict[str, int]], loaded_us: int) -> Iterator[Any]:
    decisive = moment.row(rows, steps) if moment is not None else None
    if decisive is not None:
        yield decisive
    at = {step["seq"] for step in steps}
    yield from (row for row in rows if row[0] in at and row[3] == COMMAND and row[5]["command"]["do"] != ENDS_FAULTS)
    yield from _firsts(_from_first_step(rows, steps), TURNS, loaded_us)


def _everyday(rows: list[Any], steps: list[dict[str, int]], loaded_us: int) -> Iterator[Any]:
    yield from _firsts(rows, TURNS[: TURNS.index("client_error")], loaded_us)
    yield from _firsts(_from_first_step(rows, steps), EVERYDAY, loaded_us)
    yield from _firsts(rows, EVERYDAY, loaded_us)


def _from_first_step(rows: list[Any], steps: list[dict[str, int]]) -> list[Any]:
    return [row for row in rows if row[0] >= steps[0]["seq"]] if steps else rows


def _firsts(rows: Iterable[Any], codes: Sequence[str], loaded_us: int) -> Iterator[Any]:
    """The first event of each of these kinds that is about a topic of the lesson, or about no topic."""
    first: dict[str, Any] = {}
    missing = set(codes)
    for row in rows:
        if row[3] not in missing or (row[1] >= loaded_us and row[3] not in AFTER_THE_LOAD):
            continue
        if not str(row[5].get("topic", "")).startswith("__") and row[5].get("reason") != "created":
            first[row[3]] = row
            missing.remove(row[3])
    yield from (first[code] for code in codes if code in first)
