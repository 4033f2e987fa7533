"""The metadata quorum of one run: rows of its three tables, and ZooKeeper against KRaft.

The same as `lab.analytics.metadata_log` and `lab.analytics.generations` ask in SQL.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
import pyarrow as pa

from broker_core.kernel.names import is_broker
from broker_core.metadata.topic_names import CLUSTER_METADATA_TOPIC
from lab.analytics import places, schemas
from lab.analytics.by_run.leaders import Leaders
from lab.analytics.by_run.recording import Event, Recording
from lab.analytics.columns import ARROW
from lab.analytics.metadata_log import QUORUM, REGISTRATIONS, told
from lab.analytics.segment_reader import SegmentReader

Row = dict[str, Any]
_ABOUT = ("FENCE_BROKER_RECORD", "UNFENCE_BROKER_RECORD")
_TREE = ("znode_created", "znode_changed", "znode_deleted")
_ENDS = ("controller_elected", "controller_resigned", "process_ended", "process_paused")


def number_in(node: str) -> int | None:
    """Of a node: broker-2 -> 2; None where its name ends otherwise."""
    last = node.rpartition("-")[2]
    return int(last) if last.isdecimal() else None


# -- records ---------------------------------------------------------------------------------
def records(run: Recording) -> Iterator[tuple[Any, ...]]:
    """Rows of `metadata_records`, without the run."""
    schema = pa.schema([pa.field(one.name, ARROW[one.type]) for one in schemas.RECORDS.columns])
    rows: list[Row] = []
    for place in places.segments_of(run.place):
        if place.topic == CLUSTER_METADATA_TOPIC:
            rows += [row for batch in SegmentReader(place, schema).records() for row in batch.to_pylist()]
    sound = [(row, orjson.loads(told(row["key"], row["value"], row["control"]))) for row in rows if not row["error"]]
    names = {said["data"]["topicId"]: said["data"]["name"] for _, said in sound if said.get("type") == "TOPIC_RECORD"}
    for row, said in sound:
        data = said.get("data") or {}
        broker = data.get("brokerId", data.get("id") if said.get("type") in _ABOUT else None)
        yield (row["broker"], row["offset"], row["leader_epoch"], row["timestamp"], row["control"], said.get("type"),
               said.get("version"), names.get(data.get("topicId")), data.get("partitionId"), broker,
               None if "data" not in said else orjson.dumps(said["data"]).decode(), said.get("error"))  # fmt: skip


# -- elections -------------------------------------------------------------------------------
def quorum_elections(run: Recording) -> Iterator[tuple[Any, ...]]:
    """Rows of `quorum_elections`, without the run."""
    active: dict[Any, int] = {}
    for event in run.of("controller_elected"):
        active.setdefault(event[5].get("epoch"), event[1])
    term: list[Event] = []
    old: str | None = None
    for event in run.of(*QUORUM):
        term.append(event)
        if event[3] == "quorum_state" and event[5]["after"] == "leader":
            yield _election(term, old, active)
            term, old = [], event[2]


def _election(term: list[Event], old: str | None, active: dict[Any, int]) -> tuple[Any, ...]:
    seq, t_us, node, _, _, won, _ = term[-1]
    leader, states = number_in(node), [one for one in term if one[3] == "quorum_state"]
    gone = [one[1] for one in term if one[2] == old and (
        one[3] in ("process_ended", "process_paused") or (one[3] == "quorum_state" and one[5]["after"] != "leader"))]
    asked = [one[1] for one in states if one[5]["after"] in ("prospective", "candidate")]
    stood = (number_in(one[2]) for one in states if one[5]["after"] == "candidate")
    candidates = sorted({number for number in stood if number is not None})
    votes = [one for one in term if one[3] == "quorum_vote"
             and (one[5]["epoch"], one[5]["candidate"]) == (won["epoch"], leader)]
    return (seq, t_us, node, won["epoch"], leader, None if old is None else number_in(old), min(gone, default=None),
            min(asked, default=None), candidates, len(votes), active.get(won["epoch"]))  # fmt: skip


# -- registrations ---------------------------------------------------------------------------
def broker_registrations(run: Recording) -> Iterator[tuple[Any, ...]]:
    """Rows of `broker_registrations`, without the run."""
    started: dict[int, int] = {}
    open_rows: dict[int, list[Any]] = {}
    found: list[list[Any]] = []
    for seq, t_us, node, code, _, params, _ in run.of(*REGISTRATIONS):
        if code == "process_started":
            number = number_in(node) if is_broker(node) else None
            if number is not None:
                started[number] = t_us
            continue
        broker, again = params["broker"], code == "broker_registered"
        before = open_rows.pop(broker, None)
        if before is not None:
            before[-2:] = [t_us, "registered again" if again else params.get("reason")]
        if again:
            open_rows[broker] = [seq, t_us, node, broker, params.get("broker_epoch"), started.get(broker), None, None]
            found.append(open_rows[broker])
    yield from map(tuple, found)


# -- generations -----------------------------------------------------------------------------
def zookeeper_and_kraft(run: Recording, leaders: Leaders) -> Iterator[Row]:
    """The run by its generation; nothing of a run without a journal."""
    if not run.events:
        return
    written = [one[5] for one in run.of("metadata_appended") if one[5]["role"] == "leader"]
    ends = [(one.from_us, run.end_us if one.to_us is None else one.to_us) for one in leaders.windows]
    windows = [until - begun for begun, until in ends if until is not None]
    elections, without = _controllers(run)
    yield {
        "run": run.name, "scenario": run.facts.get("name"),
        "generation": "KRaft" if run.of("quorum_state") else "ZooKeeper", "elections": elections,
        "without_controller": without, "without_leader": max(windows) / 1e6 if windows else None,
        "control_requests": len(run.of("control_request")), "tree_writes": _tree_writes(run),
        "metadata_records": sum(one["last_offset"] - one["base_offset"] + 1 for one in written),
        "votes": len(run.of("quorum_vote")),
    }  # fmt: skip


def _tree_writes(run: Recording) -> int:
    """Without those below the chroots of neighbours."""
    others = tuple({f"{event[5]['chroot']}/" for event in run.of("neighbour_changed")})
    return sum(not f"{event[5]['path']}/".startswith(others) for event in run.of(*_TREE))


def _controllers(run: Recording) -> tuple[int, float | None]:
    """Elections, and the longest time from a controller's end to what came next of it or of its successor."""
    old: str | None = None
    marks: list[tuple[int, bool]] = []
    for _, t_us, node, code, _, _, _ in run.of(*_ENDS):
        elected = code == "controller_elected"
        if elected or node == old:
            marks.append((t_us, elected))
        old = node if elected else old
    gaps = [after[0] - before[0] for before, after in zip(marks, marks[1:]) if not before[1]]
    return sum(elected for _, elected in marks), max(gaps) / 1e6 if gaps else None
