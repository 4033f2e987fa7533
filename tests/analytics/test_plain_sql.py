"""Anybody's SQL over the Parquet files of a replay finds what the receipts say: sqlite knows nothing of the lab."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3

import pytest
from pyarrow import dataset

from lab.analytics import replay
from tests.conftest import CHECKOUT
from tests.shared_runs import run_once

FIGURES = {
    "acked": "select run, count(*) from (select distinct run, label, number from sends where kind = 'ok') group by run",
    "read": "select run, count(*) from (select distinct run, label, number from polls) group by run",
    "duplicated": """
        select run, sum(places - 1) from (
            select run, count(*) as places from (
                select run, label, number, topic, partition, "offset" from polls
                union select run, label, number, topic, partition, "offset" from sends where kind = 'ok' and "offset" >= 0)
            group by run, label, number)
        group by run""",
    "reordered": """
        select run, sum(n < behind) from (
            select run, n, max(n) over (partition by run, topic, partition, label order by first
                                        rows between unbounded preceding and 1 preceding) as behind from (
                select run, topic, partition, label, cast(number as integer) as n, min("offset") as first from polls
                group by 1, 2, 3, 4, 5))
        group by run""",
}
COLUMNS = {"sends": ("run", "kind", "topic", "partition", "label", "number", "offset"),
           "polls": ("run", "topic", "partition", "label", "number", "offset")}  # fmt: skip


@pytest.fixture(scope="module")
def runs(short_runs, tmp_path_factory):
    """Those with losses, and one each with duplicates, out of order, and lost on all disks at once."""
    home = tmp_path_factory.mktemp("sql") / "runs"
    shutil.copytree(short_runs, home)
    for name in ("retry-duplicates", "reordering", "power-loss"):
        shutil.copytree(run_once(name).directory, home / name)
    return home


@pytest.fixture(scope="module")
def written(spark, runs, tmp_path_factory):
    out = tmp_path_factory.mktemp("sql") / "out"
    list(replay.replay(spark, [runs], ["receipt"], out))
    return out


@pytest.fixture(scope="module")
def sqlite(written):
    """The two tables in sqlite."""
    base = sqlite3.connect(":memory:")
    for table, names in COLUMNS.items():
        quoted = ", ".join(f'"{name}"' for name in names)
        base.execute(f"create table {table} ({quoted})")
        rows = dataset.dataset(written / table, format="parquet", partitioning="hive").to_table(columns=list(names)).to_pylist()
        base.executemany(f"insert into {table} values ({', '.join('?' * len(names))})", [tuple(row.values()) for row in rows])
    base.execute("create index values_read on polls (run, label, number)")
    return base


def receipts(runs, figure):
    return {run.name: json.loads((run / "run.json").read_text())["receipt"][figure] for run in runs.iterdir()}


@pytest.mark.parametrize("figure", FIGURES)
def test_plain_sql_finds_the_figures_of_the_receipts(sqlite, runs, figure):
    told = receipts(runs, figure)
    assert dict(sqlite.execute(FIGURES[figure]).fetchall()) == told
    assert any(told.values())


def test_the_query_of_the_guide_counts_what_each_run_has_lost(spark, sqlite, written, runs):
    (query,) = re.findall(r"```sql\n(.*?)```", (CHECKOUT / "docs" / "tour" / "analytics.md").read_text(), re.DOTALL)
    told = {run: lost for run, lost in receipts(runs, "lost").items() if lost}
    assert len(told) >= 3
    assert dict(sqlite.execute(query).fetchall()) == told
    for table in COLUMNS:
        spark.read.parquet(str(written / table)).createOrReplaceTempView(table)
    assert {row["run"]: row["lost"] for row in spark.sql(query).collect()} == told
