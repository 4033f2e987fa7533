"""What a run has recorded, and what a question needs: "nothing happened" is said of what was recorded only.

| needs | missing when |
|---|---|
| operations | the run has no history of clients: the disks of any Kafka |
| journal | it has no journal |
| messages, details | its record level is below (DESIGN: the level belongs to the spec) |
| one by one | its journal has summed such events up: there were too many in a second |
| disks | nobody kept them: a fork, or a live run that another one has followed |

A question may need several; the first one that is missing is told.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

import orjson

from broker_core.kernel.events import LEVEL_NAMES
from lab.analytics.words import Text

if TYPE_CHECKING:
    from lab.analytics.places import RunPlace
    from lab.analytics.tables import Tables

OPERATIONS, JOURNAL, MESSAGES, ONE_BY_ONE, DISKS = "operations", "journal", "messages", "one by one", "disks"
WORDS: dict[str, Text] = {
    OPERATIONS: ("what clients were told", "클라이언트가 받은 응답"),
    JOURNAL: ("a journal", "저널"),
    MESSAGES: ("messages in the journal (the record level is transitions)", "저널의 메시지(기록 수준이 상태 변화만)"),
    ONE_BY_ONE: (
        "all of these events one by one (the journal has summed some up)", "이벤트 하나하나(저널이 일부를 합쳐서 기록)",
    ),
    DISKS: ("the disks", "디스크"),
}  # fmt: skip
_HISTORY = ("receipt", "lost", "duplicated", "reordered", "stale", "nonmonotonic_send", "aborted_read", "inconsistent",
            "transaction_cycles", "write_gaps")
_TRANSITIONS = ("unavailability", "failovers", "elections", "isr_churn", "rebalance_cost", "stable_gap",
                "aborted_share", "zookeeper_and_kraft")
_PRODUCED = ("request_received", "response_sent", "log_appended", "records_sent")
_SEEN: dict[str, tuple[str, ...]] = {
    "outside": _PRODUCED, "outside_lost": _PRODUCED,
    "replication_lag": ("log_appended",), "leader_skew": ("log_appended",),
    "latency": ("request_sent", "request_received", "response_sent"),
}  # fmt: skip
"""Questions about messages -> the events that they are about."""
_ON_DISKS = ("key_skew", "retention")
SHOWN = 100


def missing(tables: Tables, query: str) -> list[dict[str, str]]:
    """[{run, what}] of runs that cannot answer, or only in part; `what`: a key of `WORDS`."""
    found = ((run.name, missing_of(tables, run, query)) for run in tables.places)
    return [{"run": name, "what": what} for name, what in found if what is not None][:SHOWN]


class Recorded(Protocol):
    """What is asked about runs: the facts of run.json, and events that a journal does not tell one by one, by run."""

    @property
    def facts(self) -> dict[str, dict[str, Any]]: ...

    @property
    def summed_up(self) -> dict[str, set[str]]: ...


def missing_of(tables: Recorded, run: RunPlace, query: str) -> str | None:
    """What a run lacks for a question; None: nothing."""
    if query in _HISTORY:
        return OPERATIONS if run.journal is None else None
    if query in _TRANSITIONS:
        return JOURNAL if run.journal is None else None
    if query in _ON_DISKS:
        return DISKS if run.disks is None else JOURNAL if query == "retention" and run.journal is None else None
    if query not in _SEEN:
        return None
    if run.journal is None:
        return JOURNAL
    level = tables.facts[run.name].get("spec", {}).get("record_level", LEVEL_NAMES[1])
    if level == LEVEL_NAMES[0]:
        return MESSAGES
    return ONE_BY_ONE if any(code in tables.summed_up.get(run.name, ()) for code in _SEEN[query]) else None


def summed_up(tables: Tables) -> dict[str, set[str]]:
    """Run -> codes of events that its journal has summed up."""
    rows = tables.transitions.where("code = 'summed_up'").select("run", "params").collect()
    found: dict[str, set[str]] = {}
    for row in rows:
        found.setdefault(row["run"], set()).update(orjson.loads(row["params"]).get("counts", ()))
    return found


def told(rows: list[dict[str, Any]]) -> Iterator[Text]:
    """A sentence for each thing that is missing: `Not recorded of a, b: the disks.`"""
    by: dict[str, list[str]] = {}
    for row in rows:
        by.setdefault(row["what"], []).append(row["run"])
    for what, runs in by.items():
        named = ", ".join(runs[:5]) + (f" +{len(runs) - 5}" if len(runs) > 5 else "")
        english, korean = WORDS[what]
        yield f"Not recorded of {named}: {english}.", f"기록되지 않음({named}): {korean}."
