"""What tasks say of whole runs is what SQL says of all of them: every question, every table."""

from __future__ import annotations

from collections import Counter
from datetime import UTC
from pathlib import Path

import orjson
import pyarrow as pa
import pytest
from pyarrow import dataset, parquet

from lab.analytics import queries, replay
from lab.analytics.by_run import sharing, task
from lab.analytics.by_run.questions import COLUMNS, Run
from lab.analytics.by_run.tables import TYPES, table_of
from lab.analytics.facts import facts_of
from lab.analytics.history import History
from lab.analytics.places import find_runs
from lab.analytics.schemas import TABLES
from lab.analytics.tables import Tables
from lab.experiments.run import run_scenario
from tests.analytics import worlds
from tests.analytics.scenarios import voters
from tests.lab.receipt_histories import HISTORIES

WORLDS = (worlds.failover, worlds.blocked, worlds.returned, worlds.rebalances, worlds.requests, worlds.replication,
          worlds.disks, worlds.strangers, worlds.quorum, worlds.transactions)  # fmt: skip


@pytest.fixture(scope="module")
def home(tmp_path_factory, short_runs) -> Path:
    """Worlds that were written by hand, small histories of one anomaly each, three runs, and one that is damaged."""
    home = tmp_path_factory.mktemp("many")
    for world in WORLDS:
        world(home)
    for number, (rows, _) in enumerate(HISTORIES.values()):
        run = home / f"history-{number:02}"
        run.mkdir()
        timed = [{"t": 1000 * at, "seq": at, **row} for at, row in enumerate(rows, 1)]
        (run / "run.json").write_bytes(orjson.dumps({"format": 1, "name": run.name, "kind": "simulated"}))
        (run / "journal.jsonl").write_bytes(b"")
        (run / "operations.jsonl").write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in timed))
    for run in short_runs.iterdir():
        (home / run.name).symlink_to(run)
    run_scenario(voters(), out=home / "voters")
    (home / "hurt").mkdir()
    worlds.failover(home / "hurt").rename(home / "damaged")
    with open(home / "damaged" / "journal.jsonl", "ab") as file:
        file.write(b'[1,2,"broker-1"\n["x",2,"broker-1","truncated",0,{}]\n[9,9,"broker-1","flushed",0,{"half"')
    return home


@pytest.fixture(scope="module")
def runs(home) -> list[Run]:
    places = find_runs([home])
    facts, hurt = facts_of(places)
    return [Run(place, facts[place.name], [row for row in hurt if row[0] == place.name], whole=True) for place in places]


@pytest.fixture(scope="module")
def tables(spark, home):
    with Tables(spark, [home]) as tables:
        tables.history = History(tables)
        yield tables


@pytest.mark.parametrize("question", queries.QUERIES)
def test_an_answer_is_that_of_sql(tables, runs, question):
    frame = queries.QUERIES[question].function(tables, tables.history)
    said = [row.asDict(recursive=True) for row in frame.collect()]
    ours = [row for run in runs for row in run.ask(question)]
    assert list(COLUMNS[question]) == frame.columns and frame.columns[0] == "run"
    chart = queries.QUERIES[question].chart
    assert chart is None or set(chart[1] + chart[2]) <= set(frame.columns)
    assert by_text(ours) == by_text(said)
    assert said, f"nothing is asked about {question}: the runs prove nothing"


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_that_of_sql(tables, runs, name):
    said = [row.asDict(recursive=True) for row in tables.get(name).select(*TABLES[name].names).collect()]
    ours = [row for run in runs for row in table_of(run, name).to_pylist(maps_as_pydicts="strict")]
    assert by_text(ours) == by_text(said)
    assert said, f"there is no row of {name}: the runs prove nothing"


def by_text(rows) -> list[str]:
    """Rows in one order; the moments of both engines as one kind of value, keys as text."""
    return sorted(repr([(name, plain(value)) for name, value in row.items()]) for row in rows)


def plain(value):
    if hasattr(value, "timestamp"):
        return value.astimezone(UTC).isoformat()
    return bytes(value) if isinstance(value, bytearray) else value


def test_a_report_of_tasks_is_that_of_sql(spark, home, runs, tmp_path, monkeypatch):
    """Shares of two tasks and several rounds, beside the same in SQL: answers, figures of the summary, files."""
    monkeypatch.setattr(sharing, "AT_ONCE", 1 << 20)
    told = []
    monkeypatch.setattr(replay, "_in_sql", None)
    ours = list(replay.replay(spark, [home], out=tmp_path / "ours", progress=lambda *step: told.append(step)))
    assert [done for _, done, _ in told] == list(range(1, told[-1][2] + 1))
    monkeypatch.undo()
    monkeypatch.setattr(sharing, "LARGEST", 0)
    monkeypatch.setattr(Tables, "write", lambda *_, **__: None)
    assert not sharing.fits(find_runs([home]))
    theirs = list(replay.replay(spark, [home], ["lost", "elections", "receipt"], tmp_path / "theirs"))
    found = {answer.name: answer for answer in ours}
    for answer in theirs:
        mine = found[answer.name]
        assert (mine.columns, mine.count, mine.missing) == (answer.columns, answer.count, answer.missing)
        assert by_text(mine.ranges or []) == by_text(answer.ranges or [])
        assert answer.count > 100 or by_text(mine.rows) == by_text(answer.rows)
    for name in TABLES:
        files = list((tmp_path / "ours" / name).glob("*.parquet"))
        assert dataset.dataset(tmp_path / "ours" / name).count_rows() == sum(table_of(run, name).num_rows for run in runs), name
        assert all(parquet.read_schema(path).names == TABLES[name].names for path in files)
        assert not list((tmp_path / "ours" / name).glob(".*")), "nothing half done is left"


def test_a_journal_unlike_any_is_asked_in_sql(spark, tmp_path):
    """An append without a partition, as no broker tells it."""
    (tmp_path / "odd").mkdir()
    run = worlds.strangers(tmp_path / "odd")
    with open(run / "journal.jsonl", "ab") as file:
        for code, params in (("request_received", b'{"api":"Produce","source":"17"}'), ("log_appended", b'{"role":"leader"}')):
            file.write(b'[99,9000000,"broker-1","%s",0,%s]\n' % (code.encode(), params))
    asked = sharing.ByRun(spark, find_runs([run]), ["outside"], None)
    assert not asked.work(lambda _: None)
    (answer,) = replay.replay(spark, [run], ["outside"])
    assert [row["batches"] for row in answer.rows] and answer.rows[0]["batches"] >= 2


def test_shares_are_even_and_none_is_lost():
    sizes = [5, 1, 1, 1, 1, 1, 4, 2]
    shares = sharing.even([(size, size) for size in sizes], 3)
    assert Counter(one for share in shares for one in share) == Counter(sizes)
    assert max(map(sum, shares)) - min(map(sum, shares)) <= 2


def test_every_column_has_a_type():
    assert {column.type for table in TABLES.values() for column in table.columns} <= TYPES.keys()


def test_a_value_of_another_type_is_null_in_a_column():
    from lab.analytics.by_run.tables import _column

    assert _column([1, "x", None, 1 << 70], pa.int32()).to_pylist() == [1, None, None, None]


def test_lost_offsets_are_ranges_the_longest_first():
    row = {"run": "a", "label": "p", "topic": "t", "partition": 0, "test": "cut"}
    found = task.ranges_of([{**row, "offset": offset} for offset in (None, 7, 3, 4, 5, None)])
    told = [(one["first_offset"], one["last_offset"], one["records"]) for one in found]
    assert told == [(3, 5, 3), (None, None, 2), (7, 7, 1)]
