"""The receipt and Spark find the same, and say where they do not."""

from __future__ import annotations

import shutil

import orjson
import pytest

from lab.analytics import agreement, tables
from lab.analytics.by_run.questions import Run
from lab.analytics.facts import facts_of
from lab.analytics.history import COUNTS
from lab.analytics.places import find_runs, size_of
from lab.analytics.replay import check
from lab.checkers.receipt import make_receipt
from lab.experiments.run import run_scenario
from lab.scenarios import grammar
from tests.analytics.scenarios import drawn
from tests.lab.receipt_histories import HISTORIES
from tests.sampling import some
from tests.shared_runs import run_once

pytestmark = pytest.mark.timeout(1800)  # Spark judges all runs in one go: many minutes on a machine that others use, too
SEEDS = range(len(some(range(200), nth=10)))  # from the first on: among them is one of each figure
TASKS = 8
SHIPPED = grammar.names()
FOUND = ("lost", "removed", "duplicated", "reordered", "inconsistent", "nonmonotonic_send")


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Every small history as the directory of a run, with the receipt that belongs to it."""
    home = tmp_path_factory.mktemp("small")
    for number, (rows, _) in enumerate(HISTORIES.values()):
        run = home / f"small-{number:02}"
        run.mkdir()
        timed = [{"t": 1000 * at, "seq": at, **row} for at, row in enumerate(rows, 1)]
        facts = {"format": 1, "name": run.name, "kind": "simulated", "receipt": make_receipt(timed).to_dict()}
        (run / "run.json").write_bytes(orjson.dumps(facts))
        (run / "journal.jsonl").write_bytes(b"")
        (run / "operations.jsonl").write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in timed))
    return home


@pytest.fixture(scope="module")
def disagreements(request, spark):
    """`disagreements(HOME)`: the lines for the runs of a directory. Spark judges those of all tests that were chosen in
    one go, as one task: for these questions it plans longer than it works."""
    chosen = {name for item in request.session.items if item.path == request.path for name in item.fixturenames}
    homes = [request.getfixturevalue(name) for name in ("small", "sampled", "random_runs", "damaged") if name in chosen]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "SMALL", 1 << 40)
        lines = check(spark, homes)

    def of(home):
        names = {run.name for run in find_runs([home])}
        return [line for line in lines if line.removeprefix("run ").partition(":")[0] in names]

    return of


def receipts_in(home):
    """The receipts that the runs of a directory wrote, by name."""
    return {run.name: orjson.loads((run.journal / "run.json").read_bytes())["receipt"] for run in find_runs([home])}


def test_receipt_and_spark_agree_on_every_small_history(disagreements, small):
    assert len(receipts_in(small)) == len(HISTORIES)
    assert disagreements(small) == []


def test_receipt_and_spark_agree_as_for_large_runs(spark, short_runs, shipped, tmp_path, monkeypatch):
    """What is large is planned in another way: in several tasks, by stages, with compiled code. The short runs, and of
    each figure the smallest run in which it is found."""
    for name in with_each_figure(receipts_in(shipped), sizes_in(shipped)):
        (tmp_path / name).symlink_to(shipped / name)
    for run in short_runs.iterdir():
        (tmp_path / f"short-{run.name}").symlink_to(run)
    monkeypatch.setattr(tables, "SMALL", 0)
    assert check(spark, [tmp_path]) == []
    lost = {name: receipt["lost"] for name, receipt in receipts_in(short_runs).items()}
    assert lost["acks-0"] > 0 and lost["acks-1"] > 0 and lost["acks-all"] == 0


def run_inside(batches, home):
    """Run drawn scenarios, named by their seeds, inside a task; a row a run with what went wrong, or nothing. Journals hold
    transitions only."""
    import pyarrow as pa

    columns = pa.schema([("name", pa.string()), ("error", pa.string())])
    for batch in batches:
        for name in batch.column(0).to_pylist():
            try:
                scenario = grammar.from_dict(drawn(int(name)))
                scenario.document["record_level"] = scenario.spec.record_level = "transitions"
                run_scenario(scenario, out=f"{home}/{name}")
                error = None
            except Exception as failure:
                error = f"{type(failure).__name__}: {failure}"
            yield pa.RecordBatch.from_pylist([{"name": name, "error": error}], schema=columns)


@pytest.fixture(scope="module")
def random_runs(spark, tmp_path_factory):
    """A directory with a run of every drawn scenario; Spark's tasks carry them out."""
    home = tmp_path_factory.mktemp("random")
    names, place = [str(seed) for seed in SEEDS], str(home)
    rows = spark.createDataFrame([(name,) for name in names], "name string").repartition(TASKS).mapInArrow(
        lambda batches: run_inside(batches, place), "name string, error string").collect()
    assert sorted(row["name"] for row in rows) == sorted(names)
    assert [(row["name"], row["error"]) for row in rows if row["error"]] == []
    return home


def prove(receipts, figures):
    """Where nothing was found there is nothing to agree on."""
    for figure in figures:
        assert any(receipt[figure] for receipt in receipts.values()), f"no run has {figure}: the runs prove nothing"


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    """A directory with a run of every scenario of lab/scenarios."""
    home = tmp_path_factory.mktemp("shipped")
    for name in SHIPPED:
        (home / name).symlink_to(run_once(name).directory)
    return home


@pytest.fixture(scope="module")
def sampled(shipped, tmp_path_factory):
    """Of these some of all sizes for SQL, which takes longest over them, and for each figure the smallest that has it."""
    home, receipts, sizes = tmp_path_factory.mktemp("sampled"), receipts_in(shipped), sizes_in(shipped)
    by_size = sorted(SHIPPED, key=sizes.__getitem__)
    for name in {*some(by_size, nth=9), *with_each_figure(receipts, sizes)}:
        (home / name).symlink_to((shipped / name).resolve())
    return home


def sizes_in(home):
    """Bytes of the runs of a directory."""
    return {run.name: size_of([run]) for run in find_runs([home])}


def with_each_figure(receipts, sizes):
    """Of each figure the smallest run that has it."""
    return {min((name for name in receipts if receipts[name][figure]), key=sizes.__getitem__) for figure in FOUND}


def test_receipt_and_spark_agree_on_shipped_scenarios(disagreements, sampled):
    receipts = receipts_in(sampled)
    assert len(receipts) >= len(SHIPPED) // 9 > 8
    assert disagreements(sampled) == []
    prove(receipts, FOUND)


TAILS = {"lost": ", {test}", "duplicated": "", "reordered": ", behind {behind}", "inconsistent": ""}


def judged_whole(home):
    """What a task says of each run, in the forms of a receipt: figures by producer, anomalies as lines."""
    places = find_runs([home])
    facts, _ = facts_of(places)
    for place in places:
        run = Run(place, facts[place.name], [])
        producers = {row["producer"]: {name: row[name] for name in COUNTS} for row in run.ask("receipt")}
        lines = {kind: [line_of(row, tail) for row in run.ask(kind)] for kind, tail in TAILS.items()}
        yield place.name, agreement.found(producers, {}), lines


def line_of(row, tail):
    value = f"{row['label']} {row['number']}" if row["label"] else row["number"]
    at = "" if row["offset"] is None else f"@{row['offset']}"
    return f"{value} at {row['topic']}-{row['partition']}{at}{tail.format_map(row)}"


def test_receipt_and_whole_runs_agree_on_every_shipped_scenario(shipped):
    receipts, different = receipts_in(shipped), []
    for name, figures, lines in judged_whole(shipped):
        told = {key: receipts[name][key] for key in (*COUNTS, "producers")}
        different += agreement.compare(name, told, figures)
        for kind, found in lines.items():
            listed = [agreement._line(kind, place) for place in receipts[name]["places"].get(kind, ())]
            if len(listed) < agreement.LISTED:
                different += agreement._alone(name, kind, listed, found)
    assert len(receipts) == len(SHIPPED)
    assert different == []


@pytest.mark.slow
def test_receipt_and_spark_agree_on_random_seeds(disagreements, random_runs):
    receipts = receipts_in(random_runs)
    assert len(receipts) == len(SEEDS)
    assert disagreements(random_runs) == []
    prove(receipts, ("lost", "duplicated", "inconsistent"))


def without_a_read(run):
    """Take record 100 out of what the first poll read; when that was."""
    path = run / "operations.jsonl"
    rows = [orjson.loads(line) for line in path.read_bytes().splitlines()]
    poll = next(row for row in rows if row["op"] == "poll" and row["kind"] == "ok")
    (first, label, number, count), *others = poll["runs"]
    assert (first, number) == (0, 0) and count > 101
    poll["runs"] = [[0, label, 0, 100], [101, label, 101, count - 101], *others]
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    return poll["t"]


@pytest.fixture(scope="module")
def damaged(short_runs, shipped, tmp_path_factory):
    """Two damaged copies: a receipt with other figures and places, and operations that lack a read."""
    home = tmp_path_factory.mktemp("damaged")
    changed = shutil.copytree(short_runs / "acks-1", home / "other-receipt")
    facts = orjson.loads((changed / "run.json").read_bytes())
    receipt = facts["receipt"]
    receipt["lost"] += 1
    receipt["producers"]["producer-orders"]["read"] -= 1
    other = receipt["places"]["lost"][1]
    receipt["places"]["lost"] = [{**other, "test": "missing"}, *receipt["places"]["lost"][2:]]
    (changed / "run.json").write_bytes(orjson.dumps(facts))
    (home / "t_us").write_text(str(without_a_read(shutil.copytree(shipped / "retry-duplicates", home / "without-a-read"))))
    return home


def test_a_disagreement_names_run_figure_row_and_both_numbers(disagreements, damaged, short_runs, shipped):
    receipt, all_read = receipts_in(damaged)["other-receipt"], receipts_in(shipped)["retry-duplicates"]["read"]
    lost, read = receipt["lost"], receipt["producers"]["producer-orders"]["read"]
    gone, other = receipts_in(short_runs)["acks-1"]["places"]["lost"][:2]
    row, t_us = "producer-orders {number} at orders-0@{offset}, {test}".format_map, (damaged / "t_us").read_text()
    assert disagreements(damaged) == [
        f"run other-receipt: lost: the receipt says {lost}, Spark says {lost - 1}",
        f"run other-receipt: producer-orders: read: the receipt says {read}, Spark says {read + 1}",
        f"run other-receipt: lost: only the receipt has {row({**other, 'test': 'missing'})}",
        *sorted(f"run other-receipt: lost: only Spark has {row(one)}" for one in (gone, other)),
        f"run without-a-read: read: the receipt says {all_read}, Spark says {all_read - 1}",
        "run without-a-read: lost: the receipt says 0, Spark says 1",
        "run without-a-read: int_poll_skip: the receipt says 0, Spark says 1",
        f"run without-a-read: producer-orders: read: the receipt says {all_read}, Spark says {all_read - 1}",
        "run without-a-read: producer-orders: lost: the receipt says 0, Spark says 1",
        "run without-a-read: lost: only Spark has producer-orders 100 at orders-0@100, missing",
        f"run without-a-read: stale: only Spark has checker from 99 to orders-0@101, step 2, int-poll-skip, t {t_us}",
    ]
