"""One scenario in both generations of Kafka, on one clock: what each did, believed and needed at the same time.

```
         0 s          2 s                  5 s
ZooKeeper |............x dead  |--- nobody ---|controller 2 reads 1,001 partitions|leader 2
KRaft     |............x dead  |-- votes --|controller 102 ..... heartbeats ......|leader 2
```
The clock begins when the clients do; the times before, in which each cluster forms, differ and tell nothing.

| told of each | how it is known |
|---|---|
| who is controller, who leads the partition (nobody: null) | the run is executed again, and looked at on a grid |
| who believes what of the partition: truth, controllers, brokers' caches, replicas, clients | the same |
| for how long a running broker believed another leader than the truth's | the same |
| messages of the controller, records of metadata, writes to the tree, elections, time to read | the journal |
| the longest time in which nothing was acknowledged | the recorded operations |

A run is executed again from its own inputs, so what is looked at is what happened (`lab.reexecution`); its journal is
not written anew. What exists in one generation only is named in `ONLY`.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from broker_core.kernel import events
from broker_core.kernel.errors import Refusal
from broker_core.kernel.names import broker_node
from broker_core.kernel.node import RUNNING
from broker_core.kernel.problems import problem
from broker_core.kernel.world import World
from lab.clusters.inspect_beliefs import beliefs
from lab.clusters.inspect_metadata import without_effect
from lab.experiments.anew import execute_again
from lab.experiments.comparison import Row, longest_outage_of
from lab.experiments.directory import INPUTS, JOURNAL, read_facts
from lab.reexecution import Nobody, Reexecution
from lab.scenarios import generations, grammar
from lab.truth import truth_of

LOOKS, FINEST_US = 3000, 5_000
TOLD = 400
ONLY = {
    "zookeeper": (events.SESSION_OPENED, events.SESSION_EXPIRED, events.SESSION_CLOSED, events.ZNODE_CREATED,
                  events.ZNODE_CHANGED, events.ZNODE_DELETED, events.WATCH_FIRED, events.CONTROL_REQUEST,
                  events.CONTROLLER_LOADED),
    "kraft": (events.QUORUM_STATE, events.QUORUM_VOTE, events.QUORUM_VOTERS, events.METADATA_APPENDED,
              events.METADATA_SNAPSHOT),
}  # fmt: skip
"""Events that there are in one generation alone."""
_BOTH = (
    events.PROCESS_ENDED, events.PROCESS_STARTED, events.PROCESS_PAUSED, events.PROCESS_RESUMED,
    events.LINK_CHANGED, events.MESSAGE_DROPPED, events.CONTROLLER_ELECTED, events.CONTROLLER_RESIGNED,
    events.BROKER_REGISTERED, events.BROKER_GONE, events.LEADER_ELECTED, events.PARTITION_OFFLINE,
    events.BECAME_LEADER, events.BECAME_FOLLOWER, events.ISR_SHRUNK, events.ISR_EXPANDED, events.TRUNCATED,
    events.TOPIC_CREATED, events.COMMAND_REFUSED,
)  # fmt: skip
_CODES = frozenset(code.name for code in (*_BOTH, *ONLY["zookeeper"], *ONLY["kraft"]))
_HEARD = (events.METADATA_APPENDED.name, events.WATCH_FIRED.name)
_CHOSEN = "chosen"
"""Why a message was lost that somebody has picked; what else a bad link loses is told by the change of that link."""
Span = list[Any]  # [from_us, until_us, id or None]
Belief = dict[str, Any]
Place = tuple[str, int]


class NotBeside(Refusal):
    """These two cannot be laid side by side."""


@dataclass(slots=True)
class Looks:
    """What was seen by looking at the world again and again; times from the beginning of the clients."""

    controller: list[Span] = field(default_factory=list)
    leader: list[Span] = field(default_factory=list)
    beliefs: list[tuple[int, list[Belief]]] = field(default_factory=list)
    disagree_us: int = 0

    def see(self, world: World, now_us: int, since_us: int, partition: Place) -> None:
        """The state at `now_us`, which counts for the time since the last look."""
        truth = truth_of(world)
        node = truth.controller_node()
        _note(self.controller, now_us, truth.controller_id() if _runs(world, node) else None)
        state = truth.partition_state(*partition)
        rows = [] if state is None else beliefs(world, *partition, state)  # none: there is no such partition yet
        leader = rows[0]["leader"] if rows else -1
        _note(self.leader, now_us, leader if _runs(world, broker_node(leader)) else None)
        if not self.beliefs or self.beliefs[-1][1] != rows:
            self.beliefs.append((now_us, rows))
        if any(_mistaken(world, row) for row in rows):
            self.disagree_us += now_us - since_us


def _runs(world: World, node: str | None) -> bool:
    found = world.nodes.get(node or "")
    return found is not None and found.state == RUNNING


def _mistaken(world: World, row: Belief) -> bool:
    """A broker that runs and believes another leader than the truth does."""
    own = row["broker"] is not None and row["who"] in ("cache", "replica")
    return own and "leader" in row["differs"] and _runs(world, broker_node(row["broker"]))


def _note(spans: list[Span], now_us: int, value: int | None) -> None:
    """Make the last span longer, or begin another."""
    if spans:
        spans[-1][1] = now_us
    if not spans or spans[-1][2] != value:
        spans.append([now_us, now_us, value])


def beside(one: Path, other: Path) -> dict[str, Any]:
    """`runs`: ZooKeeper first, then KRaft; `until_us`: how long the clients were there.

    Raises DirectoryError, NotBeside."""
    found = sorted((_told(path) for path in (one, other)), key=lambda run: str(run["generation"]), reverse=True)
    left, right = found
    if left["generation"] == right["generation"]:
        raise NotBeside(problem("same_generation", given=left["generation"]), "other")
    if left["scenario"] != right["scenario"]:
        raise NotBeside(problem("other_scenario", given=right["scenario"], expected=left["scenario"]), "other")
    return {"scenario": left["scenario"], "until_us": max(run["until_us"] for run in found), "runs": found}


def _told(path: Path) -> dict[str, Any]:
    """One run."""
    facts = read_facts(path)
    if "scenario" not in facts or "began_us" not in facts:
        raise NotBeside(problem("not_of_scenario", run=path.name), "run")
    scenario = grammar.from_dict(facts["scenario"], str(facts.get("name")))
    began, until = facts["began_us"], scenario.duration_us
    partition = _partition_of(facts["scenario"])
    world = execute_again(path)
    processes = sorted(world.nodes)
    looks = _look_on(world, path, began, until, partition)
    rows = [row for row in _rows(path, began, began + until) if _is_about(row, partition[0])]
    shown = _shown(rows, began, without_effect(world))
    in_full = facts["spec"].get("record_level") != "transitions"
    return {
        "run": path.name, "scenario": scenario.name, "variant": facts.get("variant") or "",
        "generation": generations.own(facts["scenario"]), "partition": "{}-{}".format(*partition), "until_us": until,
        "processes": processes, "controller": looks.controller, "leader": looks.leader,
        "beliefs": [{"t_us": at, "rows": seen} for at, seen in looks.beliefs],
        "figures": _figures(rows, looks, in_full) | {"outage_us": _outage_us(path)},
        "events": shown, "only": {name: [one.name for one in codes] for name, codes in ONLY.items()},
    }  # fmt: skip


def _partition_of(document: dict[str, Any]) -> Place:
    """The partition that is looked at: that of the lesson's moment, else the first one of the first topic."""
    where = (document.get("moment") or {}).get("where") or {}
    first: Any = (document.get("topics") or [""])[0]
    name = first.get("name", "") if isinstance(first, dict) else first
    return where.get("topic") or name, where.get("partition") or 0


def _look_on(world: World, path: Path, began_us: int, length_us: int, partition: Place) -> Looks:
    grid_us = max(FINEST_US, length_us // LOOKS)
    again = Reexecution(world, path / INPUTS, Nobody(), target_us=began_us)
    looks, since = Looks(), 0
    for at in range(0, length_us + 1, grid_us):
        again.target_us = began_us + min(at, length_us - 1)  # at the end the clients go, and the lab reads all again
        while not again.advance(60.0):
            pass
        looks.see(world, at, since, partition)
        since = at
    return looks


def _rows(path: Path, from_us: int, until_us: int) -> Iterator[Row]:
    """Of the journal, while the clients were there."""
    with open(path / JOURNAL, "rb") as file:
        for line in file:
            row: Row = orjson.loads(line)
            if from_us <= row[1] < until_us and row[3] in _CODES:
                yield row


def _is_about(row: Row, topic: str) -> bool:
    """Of what happens to topics only that which happens to the one that is looked at."""
    tree = "/brokers/topics/"
    path = str(row[5].get("path", ""))
    return row[5].get("topic", topic) == topic and (tree not in path or path.startswith(f"{tree}{topic}/"))


def _figures(rows: list[Row], looks: Looks, in_full: bool) -> dict[str, Any]:
    """What can be held against each other; None where there is no such thing, or it was not recorded."""

    def count(*codes: events.EventCode) -> int | None:
        names = {code.name for code in codes}
        recorded = in_full or all(code.level == events.TRANSITION for code in codes)
        return sum(row[3] in names for row in rows) if recorded else None

    loaded = next((row for row in rows if row[3] == events.CONTROLLER_LOADED.name), None)
    elected = [row[1] for row in rows if row[3] == events.CONTROLLER_ELECTED.name]
    before = [at for at in elected if loaded is not None and at <= loaded[1]]  # it may be older than the clients
    appended = [row[5] for row in rows if row[3] == events.METADATA_APPENDED.name and row[5]["role"] == "leader"]
    return {
        "controller_us": _absent_us(looks.controller), "leader_us": _absent_us(looks.leader),
        "disagree_us": looks.disagree_us, "controller_elections": len(elected),
        "control_requests": count(events.CONTROL_REQUEST),
        "tree_writes": count(events.ZNODE_CREATED, events.ZNODE_CHANGED, events.ZNODE_DELETED),
        "watches": count(events.WATCH_FIRED), "votes": count(events.QUORUM_VOTE),
        "metadata_records": sum(one["last_offset"] - one["base_offset"] + 1 for one in appended) if in_full else None,
        "read_us": None if loaded is None or not before else loaded[1] - max(before),
        "read_partitions": None if loaded is None else loaded[5]["partitions"],
    }  # fmt: skip


def _outage_us(path: Path) -> int:
    found = longest_outage_of(path)
    return 0 if found is None else found.until_us - found.from_us


def _absent_us(spans: list[Span]) -> int:
    return sum(until - begin for begin, until, who in spans if who is None)


def _shown(rows: list[Row], began_us: int, without_effect: Container[int]) -> list[Row]:
    """As the wire has them, with times from the beginning of the clients; of what is many only the first `TOLD`.

    Two NoOp records a second would push out all else: `without_effect` has their offsets."""
    told = [row for row in rows if _is_told(row, without_effect)]
    return [[row[0], row[1] - began_us, row[3], row[2], *row[4:]] for row in told[:TOLD]]


def _is_told(row: Row, without_effect: Container[int]) -> bool:
    if row[3] == events.MESSAGE_DROPPED.name:
        return bool(row[5]["reason"] == _CHOSEN)
    return row[3] not in _HEARD or _changes(row[5], without_effect)


def _changes(params: dict[str, Any], without_effect: Container[int]) -> bool:
    """Whether the leader of the quorum has written anything but NoOp records."""
    if params.get("role") != "leader":
        return False
    return any(offset not in without_effect for offset in range(params["base_offset"], params["last_offset"] + 1))
