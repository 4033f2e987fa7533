"""From sources to tables: each function gives one table of `schemas` as a data frame.

A table is made when it is first asked for. Tables that come from the journal take the parameters they need
out of its JSON; the journal itself is read once and cached for as long as the tables are in use.

    with Tables(spark, ["DIR"]) as tables:
        tables.elections.show()
        tables.write(Path("OUT"))           OUT/elections/*.parquet
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from broker_core.clients.history import ABORTED
from broker_core.kernel.problems import problem
from lab.analytics import params, places, schemas
from lab.analytics.errors import AnalyticsError, kept
from lab.analytics.facts import facts_of, row_of
from lab.analytics.frames import leaf, local
from lab.analytics.recorded import summed_up
from lab.analytics.schemas import TABLES
from lab.experiments.findings import load_end_us

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ABORTED = f"kind = 'fail' and p.transaction is not null and p.error = '{ABORTED}'"
SMALL = 32 * 1024 * 1024
_PLANNING = {
    "spark.sql.shuffle.partitions": ("4", "1"), "spark.sql.adaptive.enabled": ("true", "false"),
    "spark.sql.codegen.wholeStage": ("true", "false"), "spark.sql.codegen.factoryMode": ("FALLBACK", "NO_CODEGEN"),
}  # fmt: skip
"""Spark's settings for large and for small runs: there a task, a stage, a compiled class cost more than the rows."""
TRANSITIONS = (
    "became_leader", "became_follower", "replica_stopped", "process_ended", "process_paused", "process_resumed",
    "session_expired", "session_closed", "controller_elected", "segment_deleted", "leader_elected",
    "log_cleaned", "partition_offline", "isr_shrunk", "isr_expanded", "isr_change_refused", "group_state",
    "process_started", "broker_registered", "topic_created", "config_changed", "link_changed",
    "disks_changed", "protection_set", "command", "command_refused", "member_joined", "member_left",
    "group_assigned", "member_reconciled", "assignment_taken", "truncated", "log_loaded",
    "log_start_moved", "topic_deleted", "summed_up",
)
"""The events that most questions are about: few, so that asking again costs nothing."""


class Tables:
    """The tables of some runs. Close them (or use `with`) to free what is cached."""

    def __init__(self, spark: SparkSession, paths: Sequence[str | Path]) -> None:
        self.spark = spark
        self.places = places.find_runs(paths)
        self.facts, self._hurt = facts_of(self.places)
        self.path = places.joined_paths(paths)
        self.small = places.size_of(self.places) < SMALL
        self._cached: list[DataFrame] = []
        self.windows: DataFrame | None = None
        for setting, (many, few) in _PLANNING.items():
            spark.conf.set(setting, few if self.small else many)

    def __enter__(self) -> Tables:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Free what is cached."""
        for frame in self._cached:
            frame.unpersist()
        self._cached.clear()

    def _keep(self, frame: DataFrame, parts: int = 1) -> DataFrame:
        self._cached.append((frame.coalesce(parts) if self.small else frame).cache())
        return leaf(self._cached[-1])

    def get(self, name: str) -> DataFrame:
        """A table by its name; raises AnalyticsError."""
        if name not in TABLES:
            raise AnalyticsError(problem("no_table", name=name, known=list(TABLES)))
        frame: DataFrame = getattr(self, name)
        return frame

    def write(self, out: Path, names: Sequence[str] = tuple(TABLES), done: Callable[[str], None] | None = None) -> None:
        """Write tables as Parquet; a run that is there already is replaced."""
        from lab.analytics.written import write_table

        runs = {run.name for run in self.places}
        for name in names:
            frame = self.get(name)
            write_table(frame.coalesce(1) if self.small else frame, out, name, runs)
            if done is not None:
                done(name)

    @cached_property
    def summed_up(self) -> dict[str, set[str]]:
        """Run -> events that its journal does not tell one by one."""
        return summed_up(self)

    # -- files ------------------------------------------------------------------------------
    def _segments(self, level: str, *columns: str) -> DataFrame:
        """All columns, or those that are named: only they are decoded."""
        source = self.spark.read.format("brokerlab.segments").option("level", level)
        return (source.schema(TABLES[level].ddl(columns)) if columns else source).load(self.path)

    @cached_property
    def records(self) -> DataFrame:
        """Records on every broker's disk, without rows that report damage."""
        return self._segments("records").where("error is null")

    @cached_property
    def keys(self) -> DataFrame:
        """The keys of `records`, without the markers of transactions."""
        return self._segments("records", "run", "broker", "topic", "partition", "key", "control", "error").where(
            "error is null and not control")

    @cached_property
    def batches(self) -> DataFrame:
        return self._segments("batches").where("error is null")

    @cached_property
    def segments(self) -> DataFrame:
        return self._keep(self._segments("segments"))

    @cached_property
    def damages(self) -> DataFrame:
        """Places that could not be read, in segments, journals and histories, and recordings that ended early."""
        from pyspark.sql import functions as f

        wanted = ("run", "broker", "topic", "partition", "segment", "position", "error")
        disks = self._segments("records", *wanted).where("error is not null").withColumnRenamed("segment", "file")
        lines = [frame.where("error is not null").select(
            "run", f.lit(-1).alias("broker"), f.lit(None).cast("string").alias("topic"),
            f.lit(None).cast("int").alias("partition"), f.lit(file).alias("file"), "position", "error")
            for file, frame in ((places.JOURNAL, self.events), (places.OPERATIONS, self.operations))]
        found = disks.unionByName(lines[0]).unionByName(lines[1]).unionByName(self._hurt_indexes())
        if self._hurt:
            found = found.unionByName(local(self.spark, self._hurt, schemas.DAMAGES.ddl()))
        return self._keep(found)

    def _hurt_indexes(self) -> DataFrame:
        """Offset and time indexes that are missing or end inside an entry; what they say is not checked."""
        of = (("index", 8, "index_size"), ("timeindex", 12, "time_index_size"))
        kinds = ", ".join(f"struct('{suffix}' as suffix, {entry} as entry, {size} as bytes)"
                          for suffix, entry, size in of)
        each = self.segments.selectExpr("*", f"explode(array({kinds})) as i")
        missing = kept(problem("index_missing"))
        cut = kept(problem("index_cut", size="i.bytes", expected="i.entry"))
        for column in ("i.bytes", "i.entry"):
            cut = cut.replace(f'"{column}"', f"', {column}, '")
        reason = f"if(i.bytes is null, '{missing}', concat('{cut}'))"
        return each.where("i.bytes is null or i.bytes % i.entry <> 0").selectExpr(
            "run", "broker", "topic", "partition", "concat(substring_index(segment, '.', 1), '.', i.suffix) as file",
            "coalesce(i.bytes - i.bytes % i.entry, 0) as position", f"{reason} as error")

    @cached_property
    def runs(self) -> DataFrame:
        rows = (row_of(run, self.facts[run.name]) for run in self.places)
        return local(self.spark, rows, schemas.RUNS.ddl())

    @cached_property
    def ends(self) -> DataFrame:
        """When each run ended, and its load; a run that told no end (live, killed) ends with its last row."""
        loads = [(run.name, load_end_us(self.facts[run.name])) for run in self.places if run.journal is not None]
        rows = self.events.select("run", "t_us").unionByName(self.operations.select("run", "t_us"))
        ends = self.runs.select("run", "end_us").join(
            rows.groupBy("run").agg({"t_us": "max"}).withColumnRenamed("max(t_us)", "last_us"), "run", "left").join(
            local(self.spark, loads, "run string, load_end_us bigint"), "run", "left")
        return self._keep(ends.selectExpr(
            "run", "coalesce(end_us, last_us) as end_us",
            "if(load_end_us is null, null, least(load_end_us, end_us, last_us)) as load_end_us"))

    # -- operations -------------------------------------------------------------------------
    @cached_property
    def operations(self) -> DataFrame:
        return self._keep(
            self.spark.read.format("brokerlab.journal").option("what", "operations").load(self.path), 2)

    @cached_property
    def _fields(self) -> DataFrame:
        """Operations with their fields as the struct `p`; sends and polls that only began are not among them."""
        return self._keep(self.operations.where("error is null and (kind <> 'invoke' or op = 'commit')").selectExpr(
            "* except (fields, error)", f"from_json(fields, '{params.FIELDS}') as p"), 2)

    @cached_property
    def sent(self) -> DataFrame:
        """Where and when something was sent, and what came of it."""
        place = "from_json(fields, 'struct<topic string, partition int>') as p"
        sends = self.operations.where("error is null and op = 'send'").selectExpr(
            "run", "process", "kind", "t_us", place)
        return self._keep(sends.selectExpr("* except (p)", "p.topic as topic", "p.partition as partition"), 2)

    @cached_property
    def labels(self) -> DataFrame:
        """The labels of each run's own sends."""
        return self._keep(self.operations.where("error is null and op = 'send'").selectExpr(
            "run", "coalesce(get_json_object(fields, '$.label'), process) as label").distinct())

    @cached_property
    def begun(self) -> DataFrame:
        """Values that were sent in transactions, whatever came of it."""
        rows = self.operations.where("error is null and op = 'send' and kind = 'invoke'").selectExpr(
            "run", "process", f"from_json(fields, '{params.FIELDS}') as p",
            "get_json_object(fields, '$.transaction') as of").where("of is not null")
        return rows.selectExpr("run", "coalesce(p.label, process) as label", "explode(p.`values`) as v").where(
            "v[1] > 0").selectExpr("run", "label", "explode(sequence(v[0], v[0] + v[1] - 1)) as n").selectExpr(
            "run", "label", "cast(n as string) as number")

    @cached_property
    def taken_back(self) -> DataFrame:
        """Values of writes that failed or were aborted, with the transaction that they were of."""
        rows = self._fields.where("op = 'send' and kind = 'fail' and p.transaction is not null").selectExpr(
            "run", "coalesce(p.label, process) as label", "p.transaction as transaction", "explode(p.`values`) as v")
        return rows.where("v[1] > 0").selectExpr(
            "run", "label", "transaction", "explode(sequence(v[0], v[0] + v[1] - 1)) as n").selectExpr(
            "run", "label", "cast(n as string) as number", "transaction").distinct()

    @cached_property
    def sends(self) -> DataFrame:
        """Values in the order in which the operation names them: numbers first, then texts."""
        rows = self._fields.where("op = 'send'").selectExpr(
            "run", "t_us", f"if({_ABORTED}, 'abort', kind) as kind", "p.topic as topic", "p.partition as partition",
            "position", "p.offset as first", "p.broker as broker", "seq", "coalesce(p.label, process) as sender",
            "flatten(transform(coalesce(p.`values`, array()), v -> if(v[1] > 0,"
            " sequence(v[0], v[0] + v[1] - 1), array()))) as numbers", "coalesce(p.texts, array()) as texts")
        both = rows.selectExpr(
            "*", "posexplode(concat(transform(numbers, n -> struct(sender as label, cast(n as string) as number)),"
            " transform(texts, t -> struct('' as label, t as number)))) as (index, value)")
        offset = "case when kind <> 'ok' then null when first is null or first < 0 then -1 else first + index end"
        return self._keep(both.selectExpr("run", "t_us", "kind", "topic", "partition", "value.label as label",
                                          "value.number as number", f"{offset} as offset", "broker", "seq", "position"))

    @cached_property
    def polls(self) -> DataFrame:
        runs = self._fields.where("op = 'poll' and kind = 'ok'").selectExpr(
            "run", "t_us", "process", "p.topic as topic", "p.partition as partition", "seq", "position",
            "posexplode(p.runs) as (at, r)")
        steps = runs.selectExpr("*", "explode(sequence(0, cast(r[3] as int) - 1)) as step").where(
            "cast(r[3] as int) > 0")
        number = "if(r[1] is null, r[2], cast(cast(r[2] as bigint) + step as string))"
        return self._keep(steps.selectExpr(
            "run", "t_us", "process", "topic", "partition", "cast(r[0] as bigint) + step as offset",
            "coalesce(r[1], '') as label", f"{number} as number", "seq", "position",
            "cast(at as bigint) * 1000000 + step as index"))

    @cached_property
    def commits(self) -> DataFrame:
        return self._fields.where("op = 'commit'").selectExpr(
            "run", "seq", "t_us", "process", "kind", "p.`group` as `group`", "explode(p.offsets) as o").selectExpr(
            "run", "seq", "t_us", "process", "kind", "`group`", "o[0] as topic", "cast(o[1] as int) as partition",
            "cast(o[2] as bigint) as offset")

    # -- journal ----------------------------------------------------------------------------
    @cached_property
    def events(self) -> DataFrame:
        return self._keep(self.spark.read.format("brokerlab.journal").load(self.path), 2)

    @cached_property
    def codes(self) -> set[str]:
        """Which events there are: what only others tell of is empty, which Spark then sees and plans nothing for."""
        return {row["code"] for row in self.events.where("code is not null").select("code").distinct().collect()}

    @cached_property
    def transitions(self) -> DataFrame:
        """The events of `TRANSITIONS`."""
        return self._keep(self.events.where(f"code in {TRANSITIONS}"))

    def with_params(self, codes: Sequence[str], kind: str) -> DataFrame:
        """Events of these codes with their parameters as the struct `p`."""
        told = [code for code in codes if code in self.codes]
        events = self.transitions if set(told) <= set(TRANSITIONS) else self.events
        names = ", ".join(f"'{code}'" for code in told)
        return events.where(f"code in ({names})" if told else "false").selectExpr(
            "run", "seq", "t_us", "node", "code", "cause", "position", f"from_json(params, '{kind}') as p")

    @cached_property
    def requests(self) -> DataFrame:
        from lab.analytics.timelines import BESIDE, requests

        told = self.codes & set(BESIDE)
        return self._keep(requests(self.with_params(
            ("request_sent", "request_received", "response_sent", "request_stages", "purgatory_completed",
             "purgatory_expired"), params.REQUEST), bool(told)), 2)

    @cached_property
    def metadata(self) -> DataFrame:
        from lab.analytics.timelines import BELIEFS, beliefs

        return beliefs(self.with_params(tuple(BELIEFS), params.BELIEF))

    @cached_property
    def isr_changes(self) -> DataFrame:
        changes = self.with_params(("isr_shrunk", "isr_expanded", "isr_change_refused"), params.REPLICA)
        return changes.selectExpr(
            "run", "seq", "t_us", "node", "p.topic as topic", "p.partition as partition",
            "case code when 'isr_shrunk' then 'shrunk' when 'isr_expanded' then 'expanded' else 'refused' end"
            " as change",
            "p.isr as isr", "p.removed as removed", "p.added as added", "coalesce(p.reason, p.error) as reason",
            "p.leader_epoch as leader_epoch")

    @cached_property
    def elections(self) -> DataFrame:
        from lab.analytics.timelines import OPENINGS, elections

        return self._keep(elections(self.with_params(
            ("leader_elected", "partition_offline", "became_leader", *OPENINGS), params.REPLICA)))

    @cached_property
    def metadata_records(self) -> DataFrame:
        from lab.analytics.metadata_log import metadata_records

        return metadata_records(self.records)

    @cached_property
    def quorum_elections(self) -> DataFrame:
        from lab.analytics.metadata_log import QUORUM, quorum_elections

        return self._keep(quorum_elections(self.with_params(QUORUM, params.QUORUM)))

    @cached_property
    def broker_registrations(self) -> DataFrame:
        from lab.analytics.metadata_log import REGISTRATIONS, broker_registrations

        return self._keep(broker_registrations(self.with_params(REGISTRATIONS, params.QUORUM)))

    @cached_property
    def control_requests(self) -> DataFrame:
        from lab.analytics.timelines import control_requests

        return control_requests(self.with_params(("control_request", "request_sent"), params.CONTROL), self.requests)

    @cached_property
    def group_generations(self) -> DataFrame:
        return self.with_params(("group_state",), params.GROUP).selectExpr(
            "run", "seq", "t_us", "node", "p.`group` as `group`", "p.generation as generation", "p.before as before",
            "p.after as after", "p.reason as reason",
            "lead(t_us) over (partition by run, p.`group` order by position) as until_us")

    @cached_property
    def group_members(self) -> DataFrame:
        from lab.analytics.groups import members

        return members(self.with_params(
            ("member_joined", "member_left", "group_assigned", "assignment_taken"), params.GROUP))

    @cached_property
    def group_epochs(self) -> DataFrame:
        from lab.analytics.groups import epochs

        return epochs(self.with_params(("member_joined", "member_left", "member_reconciled"), params.EPOCHS))

    @cached_property
    def stored_offsets(self) -> DataFrame:
        from lab.analytics.groups import stored_offsets

        return stored_offsets(self.with_params(("offsets_committed", "group_assigned"), params.GROUP))

    @cached_property
    def transactions(self) -> DataFrame:
        from lab.analytics.transacted import TRANSACTED, transactions

        return self._keep(transactions(self.with_params(TRANSACTED, params.TRANSACTED)))

    @cached_property
    def share_deliveries(self) -> DataFrame:
        from lab.analytics.transacted import SHARED, share_deliveries

        return self._keep(share_deliveries(self.with_params(SHARED, params.SHARED)))

    @cached_property
    def replication(self) -> DataFrame:
        changes = {"log_appended": "appended", "truncated": "truncated", "high_watermark": "high_watermark"}
        change = " ".join(f"when '{code}' then '{name}'" for code, name in changes.items())
        return self._keep(self.with_params(tuple(changes), params.REPLICA).selectExpr(
            "run", "seq", "t_us", "node", "p.topic as topic", "p.partition as partition",
            f"case code {change} end as change",
            "p.base_offset as base_offset", "p.last_offset as last_offset", "p.bytes as bytes", "p.role as role",
            "p.before as before", "p.after as after", "p.reason as reason"), 2)

    @cached_property
    def storage(self) -> DataFrame:
        from lab.analytics.happenings import CODES, storage

        return storage(self.with_params(CODES, params.STORAGE))

    @cached_property
    def faults(self) -> DataFrame:
        from lab.analytics.happenings import FAULTY, faults

        return faults(self.with_params(FAULTY, params.FAULT), self.ends, self.runs)
