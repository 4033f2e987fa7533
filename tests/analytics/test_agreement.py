"""The receipt and Spark find the same, and say where they do not."""

from __future__ import annotations

import orjson
import pytest

from lab.analytics.agreement import disagreements
from lab.analytics.history import History
from lab.analytics.replay import check
from lab.analytics.tables import Tables
from lab.experiments.run import run_scenario
from lab.scenarios import grammar
from tests.analytics.scenarios import drawn

SEEDS = 200
TASKS = 8


def test_receipt_and_spark_agree_on_the_three_scenarios(spark, tmp_path):
    for name in ("acks-0", "acks-1", "acks-all"):
        scenario = grammar.load(name)
        scenario.document["record_level"] = scenario.spec.record_level = "transitions"
        scenario.duration_us = 9_000_000
        run_scenario(scenario, out=tmp_path / name)
    assert check(spark, [tmp_path]) == []
    with Tables(spark, [tmp_path]) as tables:
        lost = {row["run"]: row["lost"] for row in History(tables).counts.collect()}
    assert lost["acks-0"] > 0 and lost["acks-1"] > 0 and lost["acks-all"] == 0


def run_drawn(batches, home):
    """Run drawn scenarios inside a task; a row a run with what went wrong, or nothing."""
    import pyarrow as pa

    columns = pa.schema([("seed", pa.int64()), ("error", pa.string())])
    for batch in batches:
        for seed in batch.column(0).to_pylist():
            try:
                run_scenario(grammar.from_dict(drawn(seed)), out=f"{home}/{seed}")
                error = None
            except Exception as failure:
                error = f"{type(failure).__name__}: {failure}"
            yield pa.RecordBatch.from_pylist([{"seed": seed, "error": error}], schema=columns)


@pytest.mark.slow
def test_receipt_and_spark_agree_on_random_seeds(spark, tmp_path):
    home = str(tmp_path)
    rows = spark.range(SEEDS, numPartitions=1).repartition(TASKS).mapInArrow(
        lambda batches: run_drawn(batches, home), "seed bigint, error string").collect()
    assert len(rows) == SEEDS
    assert [(row["seed"], row["error"]) for row in rows if row["error"]] == []
    with Tables(spark, [tmp_path]) as tables:
        assert disagreements(History(tables)) == []
    receipts = [orjson.loads((tmp_path / str(seed) / "run.json").read_bytes())["receipt"] for seed in range(SEEDS)]
    for figure in ("lost", "duplicated", "unseen", "lost_writes"):
        assert any(receipt[figure] for receipt in receipts), f"no run has {figure}: the seeds prove nothing"


def test_a_disagreement_names_run_figure_and_both_numbers(spark, short_runs, tmp_path):
    changed = tmp_path / "acks-1"
    changed.mkdir()
    source = short_runs / "acks-1"
    for name in ("journal.jsonl", "operations.jsonl"):
        (changed / name).write_bytes((source / name).read_bytes())
    facts = orjson.loads((source / "run.json").read_bytes())
    facts["receipt"]["lost"] += 1
    facts["receipt"]["producers"]["producer-orders"]["read"] -= 1
    (changed / "run.json").write_bytes(orjson.dumps(facts))
    lost, read = facts["receipt"]["lost"], facts["receipt"]["producers"]["producer-orders"]["read"]
    assert check(spark, [changed]) == [
        f"run acks-1: lost: the receipt says {lost}, Spark says {lost - 1}",
        f"run acks-1: producer-orders: read: the receipt says {read}, Spark says {read + 1}",
    ]
