"""Every question about one run: its columns, and what answers it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any

from lab.analytics.by_run import anomalies, happened, metadata_log, transacted, unwritten
from lab.analytics.by_run.disks import Disks
from lab.analytics.by_run.leaders import Leaders, Partition
from lab.analytics.by_run.messages import Messages
from lab.analytics.by_run.recording import Facts, Recording
from lab.analytics.by_run.strangers import Strangers
from lab.analytics.by_run.told import Fate, Judged
from lab.analytics.facts import Hurt
from lab.analytics.history import COUNTS
from lab.analytics.outside import FIGURES
from lab.analytics.owed import COLUMNS as OWED_COLUMNS
from lab.analytics.owed import owed
from lab.analytics.places import RunPlace

Row = dict[str, Any]
_VALUE = ("run", "label", "number", "topic", "partition", "offset")
_PLACE = ("run", "topic", "partition")
_STAGES = ("queue", "local", "remote", "response")


class Run:
    """One run with everything that can be asked about it; each part is made when it is first needed."""

    def __init__(self, place: RunPlace, facts: Facts, hurt: list[Hurt], whole: bool = False) -> None:
        self.recording = Recording(place, facts)
        self.judged = Judged(self.recording)
        self.leaders = Leaders(self.recording)
        self.messages = Messages(self.recording)
        self.strangers = Strangers(self.judged)
        self.disks = Disks(self.recording, hurt, whole)

    @property
    def name(self) -> str:
        return self.recording.name

    @cached_property
    def acks(self) -> dict[Partition, list[int]]:
        """When producers were told yes, by partition, in order."""
        found: dict[Partition, set[int]] = {}
        for send in self.judged.values.sends:
            if send.kind == "ok":
                found.setdefault((send.topic, send.partition), set()).add(send.t_us)
        return {place: sorted(times) for place, times in found.items()}

    def ask(self, question: str) -> list[Row]:
        """The rows of an answer, in their order."""
        return list(_ASKED[question][1](self))


def _row(run: Run, columns: Iterable[str], values: Iterable[Any]) -> Row:
    return dict(zip(columns, (run.name, *values)))


def _at(row: Row) -> tuple[Any, ...]:
    """Rows of a run by topic, partition and offset; unknown offsets first."""
    offset = row["offset"]
    return row["topic"], row["partition"], -1 if offset is None else offset


def _value(run: Run, one: Any) -> Row:
    return {"run": run.name, "label": one[0], "number": None if one[1] is None else str(one[1]), "topic": one[2],
            "partition": one[3], "offset": one[4]}


def _lost(run: Run) -> list[Row]:
    fates: list[Fate] = run.judged.lost
    return sorted(({**_value(run, one), "test": one.test} for one in fates), key=_at)


def _reordered(run: Run) -> list[Row]:
    return sorted(({**_value(run, one), "behind": one[5]} for one in run.judged.reordered), key=_at)


def _odd(find: Callable[[Judged], Iterable[Any]]) -> Callable[[Run], list[Row]]:
    return lambda run: sorted((_value(run, one) for one in find(run.judged)), key=_at)


_STALE = ("run", "process", "topic", "partition", "t_us", "last_read", "next_read", "step", "test")
_FALLS = ("run", "producer", "topic", "partition", "t_us", "last_acked", "offset")
_ABORTED = ("run", "topic", "partition", "offset", "label", "number", "reader", "transaction")


def _stale(run: Run) -> list[Row]:
    rows = (_row(run, _STALE, one) for one in anomalies.stale(run.judged))
    return sorted(rows, key=lambda row: (row["process"], row["t_us"], row["last_read"], row["next_read"]))


def _falls(run: Run) -> list[Row]:
    rows = (_row(run, _FALLS, one) for one in anomalies.falls(run.judged))
    return sorted(rows, key=lambda row: (row["producer"], row["t_us"], row["topic"], row["partition"]))


def _aborted(run: Run) -> list[Row]:
    rows = [_row(run, _ABORTED, one) for one in anomalies.failed_reads(run.judged)]
    return sorted(({**row, "number": str(row["number"])} for row in rows), key=lambda row: (*_at(row), row["reader"]))


def _cycles(run: Run) -> Iterator[Row]:
    rows = ((row[2], row[3], row[4], row[5]) for row in run.recording.operations)
    return (dict(zip(OWED_COLUMNS, (run.name, *one), strict=True)) for one in owed(rows))


_ASKED: dict[str, tuple[tuple[str, ...], Callable[[Run], Iterable[Row]]]] = {
    "receipt": (("run", "producer", *COUNTS, "lost_topic", "lost_partition", "lost_offset"),
                lambda run: run.judged.receipt()),
    "lost": ((*_VALUE, "test"), _lost),
    "duplicated": (_VALUE, _odd(lambda judged: judged.duplicated)),
    "reordered": ((*_VALUE, "behind"), _reordered),
    "stale": (_STALE, _stale),
    "nonmonotonic_send": (_FALLS, _falls),
    "aborted_read": (_ABORTED, _aborted),
    "inconsistent": (_VALUE, _odd(anomalies.inconsistent)),
    "outside": (("run", *FIGURES, "complete"), lambda run: run.strangers.figures()),
    "outside_lost": ((*_PLACE, "offset", "last"), lambda run: run.strangers.lost_rows()),
    "unavailability": ((*_PLACE, "seq", "from_us", "to_us", "seconds", "cause", "leader", "how", "next_leader"),
                       lambda run: unwritten.unavailability(run.leaders, run.judged.values)),
    "write_gaps": ((*_PLACE, "from_us", "to_us", "seconds"),
                   lambda run: unwritten.write_gaps(run.leaders, run.judged.values)),
    "failovers": ((*_PLACE, "seq", "from_us", "leader", "how", "next_leader", "detected", "controller", "decided",
                   "took_over", "first_ack"), lambda run: run.leaders.failovers(run.acks)),
    "elections": (("run", "reason", "elections", "never_took_over", "takeover_ms_p50", "takeover_ms_max"),
                  lambda run: run.leaders.by_reason()),
    "isr_churn": ((*_PLACE, "shrunk", "expanded", "smallest", "seconds_below_full"),
                  lambda run: run.leaders.isr_churn()),
    "replication_lag": ((*_PLACE, "follower", "appends", "p50_ms", "p95_ms", "p99_ms", "max_ms"),
                        lambda run: run.messages.replication_lag()),
    "latency": (("run", "api", "requests", "expired", "way_there_p50",
                 *(f"{stage}_p{part}" for stage in _STAGES for part in (50, 99)), "total_p50", "total_p99"),
                lambda run: run.messages.latency()),
    "rebalance_cost": (("run", "group", "generations", "rebalances", "joining_ms", "assigning_ms", "converging_ms",
                        "longest_ms"), lambda run: happened.rebalance_cost(run.recording)),
    "transaction_cycles": (OWED_COLUMNS, _cycles),
    "stable_gap": ((*_PLACE, "transactions", "seconds", "longest_ms", "share"),
                   lambda run: transacted.stable_gap(run.recording)),
    "aborted_share": (("run", "producer", "committed", "aborted", "expired", "share"),
                      lambda run: transacted.aborted_share(run.recording)),
    "leader_skew": (("run", "broker", "partitions", "bytes", "share"), lambda run: run.messages.leader_skew()),
    "key_skew": ((*_PLACE, "records", "share", "keys", "top_key", "top_key_share"), lambda run: run.disks.key_skew()),
    "retention": (("run", "broker", "topic", "deleted", "deleted_bytes", "compacted_bytes", "kept", "kept_bytes",
                   "saved"), lambda run: run.disks.retention()),
    "zookeeper_and_kraft": (
        ("run", "scenario", "generation", "elections", "without_controller", "without_leader", "control_requests",
         "tree_writes", "metadata_records", "votes"),
        lambda run: metadata_log.zookeeper_and_kraft(run.recording, run.leaders)),
    "damages": (("run", "broker", "topic", "partition", "file", "position", "error"), lambda run: run.disks.damages),
}  # fmt: skip
COLUMNS = {question: columns for question, (columns, _) in _ASKED.items()}
"""Question -> the columns of its answer."""
