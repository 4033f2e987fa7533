"""When writes got no answer because nobody could reach the leader; a small state that is folded over a run's events.

A leader is cut off from somebody when one direction between them lets nothing pass (`link_changed`, partitioned).

| from | when | what stops |
|---|---|---|
| clients | from all producers of the topic that run | every write |
| followers | from all other members of the ISR | writes with acks=all: the high watermark needs them |
| controller | from all servers of the tree, beside one of the others | no member can leave the ISR either |

A window ends when a link heals, the leader's process ends or pauses, it steps down, its ISR has nobody else, or
another one leads. A leader that is cut off from the controller alone has no window: its followers fetch, and it goes on
answering until its session has expired and another one leads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from broker_core.kernel.names import OPERATOR, broker_node, is_zookeeper
from lab.analytics.frames import local

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from lab.analytics.tables import Tables

CAUSE = "leader cut off"
CODES = (
    "link_changed", "leader_elected", "became_leader", "became_follower", "replica_stopped", "isr_shrunk",
    "isr_expanded", "process_started", "process_ended", "process_paused", "process_resumed",
)  # fmt: skip
_ALONE = (OPERATOR,)
"""Writes a record by hand now and then: no producer under load."""
SCHEMA = ("run string, topic string, partition int, seq bigint, from_us bigint, to_us bigint, cause string,"
          " leader string, how string, next_leader string")

Partition = tuple[str, int]


class Event(NamedTuple):
    """A row of the journal."""

    t_us: int
    seq: int
    node: str
    code: str
    params: dict[str, Any]


class Window(NamedTuple):
    """`how`: from whom the leader was cut off; `to_us` is None at the end of the run."""

    topic: str
    partition: int
    seq: int
    from_us: int
    to_us: int | None
    leader: str
    how: str
    next_leader: str | None


@dataclass(slots=True)
class _Replicas:
    """What is known of a partition: its leader (None: nobody, or not at work), the ISR, the window that is open."""

    leader: str | None = None
    isr: frozenset[str] = frozenset()
    since: tuple[int, int, str] | None = None
    how: set[str] = field(default_factory=set)


class CutOff:
    """The state of one run. `producers`: topic -> those that write to it."""

    def __init__(self, producers: dict[str, set[str]]) -> None:
        self.producers = {topic: names - set(_ALONE) or names for topic, names in producers.items()}
        self.partitions: dict[Partition, _Replicas] = {}
        self.cut: set[tuple[str, str]] = set()
        self.down: set[str] = set()
        self.servers: set[str] = set()

    def windows(self, events: Iterable[Event]) -> Iterator[Window]:
        """The windows of a run, in the order in which they end; `events` in that of the journal."""
        for t_us, together in groupby(events, key=lambda event: event.t_us):
            first = None
            for event in together:
                self._take(event)
                first = event.seq if first is None or event.code == "link_changed" else first
            yield from self._judged(t_us, first or 0)
        yield from (self._closed(place, one, None) for place, one in self.partitions.items() if one.since is not None)

    def _take(self, event: Event) -> None:
        node, code, params = event.node, event.code, event.params
        if code == "link_changed":
            pair = (params["source"], params["dest"])
            (self.cut.add if params.get("partitioned") else self.cut.discard)(pair)
        elif code.startswith("process_"):
            (self.down.add if code in ("process_ended", "process_paused") else self.down.discard)(node)
            if is_zookeeper(node):
                self.servers.add(node)
            if code == "process_ended":
                for one in self.partitions.values():
                    one.leader = None if one.leader == node else one.leader
        else:
            self._take_partition(node, code, params)

    def _take_partition(self, node: str, code: str, params: dict[str, Any]) -> None:
        known = self.partitions.setdefault((params["topic"], int(params["partition"])), _Replicas())
        if code == "became_leader":
            known.leader = node
        elif code in ("became_follower", "replica_stopped"):
            known.leader = None if known.leader == node else known.leader
        else:
            known.isr = frozenset(broker_node(member) for member in params.get("isr") or ())

    def _reaches(self, a: str, b: str) -> bool:
        return (a, b) not in self.cut and (b, a) not in self.cut

    def _cut_off(self, place: Partition, known: _Replicas) -> set[str]:
        leader = known.leader
        if leader is None or leader in self.down or not self.cut:
            return set()
        others = {
            "clients": self.producers.get(place[0], set()) - self.down, "followers": known.isr - {leader},
            "controller": self.servers,
        }  # fmt: skip
        how = {name for name, nodes in others.items() if nodes and not any(self._reaches(leader, one) for one in nodes)}
        return how if how - {"controller"} else set()

    def _judged(self, t_us: int, seq: int) -> Iterator[Window]:
        """Open and close windows by what is true at the end of an instant."""
        for place, known in self.partitions.items():
            how = self._cut_off(place, known)
            if known.since is not None and (not how or known.leader != known.since[2]):
                yield self._closed(place, known, t_us)
            if how and known.since is None:
                known.since = (seq, t_us, known.leader or "")
            known.how |= how

    def _closed(self, place: Partition, known: _Replicas, t_us: int | None) -> Window:
        assert known.since is not None
        seq, from_us, leader = known.since
        following = known.leader if known.leader != leader else None
        window = Window(*place, seq, from_us, t_us, leader, ", ".join(sorted(known.how)), following)
        known.since, known.how = None, set()
        return window


def cut_off(tables: Tables) -> DataFrame:
    """The windows of all runs. Only runs in which a link was cut are looked at."""
    names = ", ".join(f"'{code}'" for code in CODES)
    cut = tables.transitions.where(
        "code = 'link_changed' and get_json_object(params, '$.partitioned') = 'true'").select("run").distinct()
    events = tables.transitions.join(cut, "run").where(f"code in ({names})").orderBy("run", "position").collect()
    sent = tables.operations.where("op = 'send' and error is null").join(cut, "run").selectExpr(
        "run", "get_json_object(fields, '$.topic') as topic", "process").distinct().collect() if events else []
    rows = []
    for run, lines in groupby(events, key=lambda row: row["run"]):
        producers: dict[str, set[str]] = {}
        for row in sent:
            if row["run"] == run and row["topic"] is not None:
                producers.setdefault(row["topic"], set()).add(row["process"])
        told = (Event(row["t_us"], row["seq"], row["node"], row["code"], orjson.loads(row["params"])) for row in lines)
        rows += [(run, *one[:5], CAUSE, *one[5:]) for one in CutOff(producers).windows(told)]
    return local(tables.spark, rows, SCHEMA)
