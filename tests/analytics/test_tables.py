"""Tables have the columns that are declared, hold what happened, and come back from Parquet."""

from __future__ import annotations

import subprocess
import sys

import orjson
import pyarrow as pa
import pytest
from pyarrow import dataset, parquet

from tests.analytics.telling import said
from lab.analytics import queries, replay, schemas, written
from lab.analytics.columns import ARROW
from lab.analytics.errors import AnalyticsError
from lab.analytics.facts import facts_of
from lab.analytics.history import History
from lab.analytics.journal import Lines, event_of, operation_of, read_lines
from lab.analytics.places import find_runs
from lab.analytics.tables import Tables
from tests.conftest import CHECKOUT


@pytest.fixture(scope="module")
def tables(spark, short_runs):
    with Tables(spark, [short_runs]) as opened:
        yield opened


@pytest.mark.parametrize("name", schemas.TABLES)
def test_a_table_has_the_columns_that_are_declared(tables, name):
    declared = tables.spark.createDataFrame([], schemas.TABLES[name].ddl()).schema
    found = tables.get(name).schema
    assert [(one.name, one.dataType) for one in found] == [(one.name, one.dataType) for one in declared]


def test_every_column_says_what_it_means():
    for table in schemas.TABLES.values():
        assert len(set(table.names)) == len(table.names)
        assert all(len(column.doc) > 2 for column in table.columns), table.name


def test_every_query_says_what_it_computes_and_reads_in_two_languages():
    for query in queries.QUERIES.values():
        assert query.doc.endswith(".")
        assert all([*query.title, *query.reading])


def test_tables_hold_what_happened(tables):
    counts = {name: tables.get(name).count() for name in schemas.TABLES}
    others = ("damages", "requests", "group_epochs", "transactions", "share_deliveries", "metadata_records", "quorum_elections")
    empty = [name for name, count in counts.items() if not count and name not in others]
    assert not empty
    assert counts["damages"] == 0 and counts["runs"] == 3
    stages = tables.requests.where("api = 'Produce' and run = 'acks-all' and remote_us > 0").count()
    assert stages > 0, "acks=all waits in purgatory"


def test_every_event_of_a_journal_is_a_row(tables, short_runs):
    lines = {run.name: (run / "journal.jsonl").read_bytes().count(b"\n") for run in short_runs.iterdir()}
    assert {row["run"]: row["count"] for row in tables.events.groupBy("run").count().collect()} == lines


def test_queries_of_a_failover_tell_its_story(tables):
    history = History(tables)
    windows = {row["run"]: row for row in queries.find("unavailability").function(tables, history).collect()}
    steps = {row["run"]: row for row in queries.find("failovers").function(tables, history).collect()}
    for run in ("acks-0", "acks-1", "acks-all"):
        assert windows[run]["how"] == "crash" and 1 < windows[run]["seconds"] < 5
        found = steps[run]
        assert 0 < found["detected"] <= found["decided"] <= found["took_over"] <= found["first_ack"]
        assert found["took_over"] == pytest.approx(windows[run]["seconds"])


def test_replay_writes_parquet_and_a_report_of_its_own(spark, short_runs, tmp_path):
    done = []
    answers = list(replay.replay(spark, [short_runs / "acks-1"], ["receipt", "lost"], tmp_path, lambda *step: done.append(step)))
    lost = answers[0].rows[0]["lost"]
    assert lost == answers[1].count > 0
    assert done[-1] == ("report", 4, 4), "one round of runs, two questions, the report"
    sends, polls = (spark.read.parquet(str(tmp_path / name)) for name in ("sends", "polls"))
    again = spark.sql(
        "select count(distinct label, number) as n from {sends} s where kind = 'ok' and not exists"
        " (select * from {polls} p where p.label = s.label and p.number = s.number)", sends=sends, polls=polls).first()["n"]
    assert again == lost, "plain SQL over the Parquet files says the same"
    report = (tmp_path / "report.html").read_text()
    assert "유실" in report and "Lost" in report and "<svg" in report
    assert "http://" not in report.replace("http://www.w3.org", "") and "<script" not in report and "https://" not in report
    assert {one["query"] for one in orjson.loads((tmp_path / "answers.json").read_bytes())} == {"receipt", "lost"}


def test_damage_in_a_run_is_a_row_with_its_place(spark, short_runs, tmp_path):
    from shutil import copytree

    copytree(short_runs / "acks-1", tmp_path / "hurt")
    segment = next((tmp_path / "hurt" / "broker-2").rglob("orders-0/*.log"))
    content = bytearray(segment.read_bytes())
    content[100] ^= 1
    segment.write_bytes(content)
    with open(tmp_path / "hurt" / "journal.jsonl", "ab") as journal:
        before = journal.tell()
        journal.write(b'[1,2,"no')
    with Tables(spark, [tmp_path / "hurt"]) as opened:
        rows = {(row["file"], row["position"]): said(row["error"]) for row in opened.damages.collect()}
    assert len(rows) == 2
    assert "the file ends inside a line" in rows["journal.jsonl", before]
    assert "stored crc" in rows[segment.name, 0]


def test_every_line_that_is_damaged_is_a_row_of_its_own(tmp_path):
    sound = b'[7,1000,"broker-1","leader_elected",3,{"topic":"orders","partition":0,"text":"{,]"}]'
    odd = b'[8,1000,"a{\\"b","c,d",3,{"x":[1]}]'
    bad = [sound[:60], sound[:-1], sound[:-2] + b"]", sound.replace(b'0,"text"', b'0"text"'), sound.replace(b"text", b"t\xffxt"),
           sound.replace(b"[7", b'["7"'), sound.replace(b"1000", b"1" * 30), sound[:36] + b"3]", b"7", b"", sound + sound]
    journal = tmp_path / "journal.jsonl"
    journal.write_bytes(b"\n".join([sound, *bad, odd, sound]) + b"\n")
    columns = schemas.EVENTS.names
    schema = pa.schema([pa.field(column.name, ARROW[column.type]) for column in schemas.EVENTS.columns])
    part = Lines("r", str(journal), 0, journal.stat().st_size)
    rows = [row for batch in read_lines(part, schema, event_of) for row in batch.to_pylist()]
    assert list(rows[0]) == columns and len(rows) == len(bad) + 3
    assert [row["error"] is None for row in rows] == [True, *[False] * len(bad), True, True]
    assert [row["seq"] for row in rows if row["error"] is None] == [7, 8, 7]
    assert all(said(row["error"]).startswith("no row: ") and row["params"] is None for row in rows if row["error"] is not None)
    assert rows[0]["params"] == '{"topic":"orders","partition":0,"text":"{,]"}'
    assert (rows[-2]["node"], rows[-2]["code"], rows[-2]["params"]) == ('a{"b', "c,d", '{"x":[1]}')
    positions = [row["position"] for row in rows]
    assert positions[1] == len(sound) + 1 and positions == sorted(positions)


def test_an_operation_that_is_damaged_is_a_row_of_its_own(tmp_path):
    sound = b'{"seq":1,"t":5,"process":"p","kind":"ok","op":"poll","runs":[]}'
    bad = [b"[1]", b"1", sound.replace(b'"t":5,', b""), sound.replace(b"5", b'"five"'), sound.replace(b"poll", b"\xff")]
    (tmp_path / "operations.jsonl").write_bytes(b"\n".join([sound, *bad, sound]) + b"\n")
    schema = pa.schema([pa.field(column.name, ARROW[column.type]) for column in schemas.OPERATIONS.columns])
    part = Lines("r", str(tmp_path / "operations.jsonl"), 0, 10_000)
    rows = [row for batch in read_lines(part, schema, operation_of) for row in batch.to_pylist()]
    assert [row["error"] is None for row in rows] == [True, *[False] * len(bad), True]
    assert said(rows[3]["error"]) == "no row: 't' is missing"


def test_what_run_json_says_of_itself_is_heard(tmp_path):
    for name, content in (("sound", '{"format":1}'), ("cut", '{"format":1,"na'), ("list", "[]"),
                          ("full", '{"format":1,"broken":"No space left on device"}')):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text(content)
    facts, hurt = facts_of(find_runs([tmp_path]))
    assert facts == {"cut": {}, "full": {"format": 1, "broken": "No space left on device"}, "list": {}, "sound": {"format": 1}}
    assert [(row[0], row[4]) for row in hurt] == [("cut", "run.json"), ("full", "run.json"), ("list", "run.json")]
    assert said(hurt[0][-1]).endswith("run.json is damaged")
    assert said(hurt[1][-1]).startswith("the recording ended before the run did: No space left on device")
    (tmp_path / "sound" / "run.json").write_text('{"format":99}')
    with pytest.raises(AnalyticsError, match=r"sound/run\.json has format 99, expected 1"):
        facts_of(find_runs([tmp_path]))


def test_a_recording_that_ended_early_is_a_damage(spark, short_runs, tmp_path):
    from shutil import copytree

    copytree(short_runs / "acks-1", tmp_path / "0001")
    facts = orjson.loads((tmp_path / "0001" / "run.json").read_bytes())
    (tmp_path / "0001" / "run.json").write_bytes(orjson.dumps({**facts, "broken": "the limit is reached"}))
    with Tables(spark, [tmp_path / "0001"]) as opened:
        rows = opened.damages.collect()
        assert [(row["run"], row["file"], row["position"]) for row in rows] == [("0001", "run.json", 0)]
        opened.write(tmp_path / "out", ["damages"])
    (tmp_path / "0001" / "run.json").write_bytes(orjson.dumps(facts))
    read = spark.read.parquet(str(tmp_path / "out" / "damages"))
    assert [row["run"] for row in read.collect()] == ["0001"], "the name of a run is text"
    with Tables(spark, [tmp_path / "0001"]) as opened:
        opened.write(tmp_path / "out", ["damages"])
    read = spark.read.parquet(str(tmp_path / "out" / "damages"))
    assert sorted(read.columns) == sorted(schemas.DAMAGES.names), "a table without rows can be read"
    assert read.count() == 0, "what the run had before is replaced"


def test_a_run_that_is_there_is_replaced_and_others_stay(tmp_path):
    def there():
        return sorted((row["run"], row["error"]) for row in dataset.dataset(tmp_path).to_table().to_pylist())

    def write(name, *rows):
        schema = pa.schema([("run", pa.string()), ("error", pa.string())])
        parquet.write_table(pa.Table.from_pylist([dict(zip(schema.names, row)) for row in rows], schema=schema), tmp_path / name)

    odd = "a=b c#1%[x]~한"
    write("1.parquet", (odd, "1"), ("0001", "2"), (odd, "3"))
    write("2.parquet", ("other", "4"))
    written.remove_runs(tmp_path, {"a", "0002"})
    assert len(there()) == 4
    written.remove_runs(tmp_path, {odd, "other"})
    assert there() == [("0001", "2")] and not (tmp_path / "2.parquet").exists(), "nothing is left of it"


def test_many_runs_are_a_file_a_table(spark, short_runs, tmp_path):
    with Tables(spark, [short_runs]) as opened:
        for _ in range(2):
            opened.write(tmp_path, ["isr_changes", "damages", "runs"])
        counts = {name: opened.get(name).count() for name in ("isr_changes", "damages", "runs")}
    assert counts["damages"] == 0 < counts["isr_changes"]
    for name, count in counts.items():
        assert len(list((tmp_path / name).glob("*.parquet"))) == 1
        assert spark.read.parquet(str(tmp_path / name)).count() == count


def test_the_page_of_tables_is_what_the_schemas_say():
    assert (CHECKOUT / "docs" / "tables.md").read_text() == schemas.markdown(), "run python -m lab.analytics.schemas again"


def test_trouble_is_told_in_one_line(tmp_path):
    with pytest.raises(AnalyticsError, match="no such directory"):
        find_runs([tmp_path / "nowhere"])
    with pytest.raises(AnalyticsError, match="holds no run"):
        find_runs([tmp_path])
    with pytest.raises(AnalyticsError, match="there is no query lots; there are receipt, lost"):
        queries.find("lots")


def test_runs_of_one_name_are_told_apart(tmp_path):
    for home in ("a", "b"):
        (tmp_path / home / "run").mkdir(parents=True)
        (tmp_path / home / "run" / "run.json").write_text("{}")
    first, second = (run.name for run in find_runs([tmp_path / "a" / "run", tmp_path / "b" / "run"]))
    assert first != second and first.endswith("a~run") and second.endswith("b~run")


def test_nobody_but_analytics_needs_pyspark():
    code = "import sys, cli.parser, lab.live, lab.analytics.places; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
