"""Sweeps: grid, seeds, failures with their command."""

from __future__ import annotations

import re

import pyarrow.parquet as parquet
import pytest
import yaml

from lab.analytics import grid, sweep, sweep_report
from lab.analytics.errors import AnalyticsError
from lab.cli.parser import main
from lab.experiments.run import run_scenario
from tests.analytics.scenarios import short


@pytest.fixture(scope="module")
def scenario(tmp_path_factory):
    path = tmp_path_factory.mktemp("scenario") / "short.yaml"
    document = short("1").document
    del document["record_level"]
    path.write_text(yaml.safe_dump(document))
    return str(path)


def test_a_key_goes_where_its_setting_belongs(scenario):
    chosen = grid.parse_grid(["acks=0,all", "min_insync_replicas=2", "retention.ms=1000", "rate=7", "cluster.link_delay_ms=3", "duration=2s", "max.poll.records=9"])
    cells = grid.cells(scenario, chosen)
    assert [cell.values["acks"] for cell in cells] == ["0", "all"]
    document = cells[1].document
    assert document["clients"][0]["settings"]["acks"] == "all" and document["clients"][0]["rate"] == 7
    assert document["clients"][1]["settings"]["max.poll.records"] == "9"
    assert document["cluster"]["settings"] == {"min.insync.replicas": "2"} and document["cluster"]["link_delay_ms"] == 3
    assert document["topics"][0]["configs"] == {"retention.ms": "1000"} and document["duration"] == "2s"


@pytest.mark.parametrize(("given", "told"), [
    ("acs=1", "--grid acs: neither a setting"), ("acks", "expected KEY=VALUE"), ("acks=7", "acks=7: "),
    ("topics.4.partitions=2", "neither a setting"),
])
def test_a_wrong_grid_is_refused_before_spark_starts(scenario, given, told):
    with pytest.raises(AnalyticsError, match=re.escape(told)):
        grid.cells(scenario, grid.parse_grid([given]))


def test_seeds_are_ranges_and_lists():
    assert grid.parse_seeds("1..4,9,2") == [1, 2, 3, 4, 9]
    assert grid.parse_seeds("0") == [0]
    for wrong, told in (("", "expected seeds"), ("a", "expected seeds"), ("1..2..3", "expected seeds"), ("7,5..1", "5..1 ends before it begins"),
                        ("1..999999999999", "999,999,999,999 seeds are too many"), (str(1 << 62), "at most 62 bits")):
        with pytest.raises(AnalyticsError, match=re.escape(told)):
            grid.parse_seeds(wrong)


def test_a_key_that_is_given_twice_is_refused():
    with pytest.raises(AnalyticsError, match=r"--grid acks=1: acks is there twice"):
        grid.parse_grid(["acks=0", "acks=1"])


def test_runs_of_a_sweep_are_the_runs_of_the_scenario(spark, scenario, tmp_path):
    cells = grid.cells(scenario, grid.parse_grid(["acks=1,all"]))
    sweep.write_cells(cells, tmp_path)
    results = [row.asDict() for row in sweep.sweep(spark, scenario, cells, [3, 4], tmp_path).collect()]
    assert [row["error"] for row in results] == [None] * 4
    summary = sweep.summarise(cells, results)
    assert summary[0]["lost"] > 0 and summary[1]["lost"] == 0 and all(row["runs"] == 2 for row in summary)
    file, seed = re.fullmatch(r"\./brokerlab run (\S+) --seed (\d+)", summary[0]["open"]).groups()
    again = run_scenario(file, seed=int(seed), out=tmp_path / "again")
    row = next(row for row in results if row["cell"] == "acks=1" and row["seed"] == int(seed))
    assert again.receipt.total.to_dict() == {name: row[name] for name in ("acked", "read", "lost", "duplicated", "reordered")}
    sweep_report.write(tmp_path, cells, summary, results)
    assert parquet.read_table(tmp_path / "results.parquet").num_rows == 4
    assert "<svg" in (tmp_path / "sweep.html").read_text()
    assert "acks=1" in sweep_report.text(cells, summary)


def test_a_run_that_fails_names_its_seed_and_the_command_that_repeats_it(spark, scenario):
    cells = grid.cells(scenario, grid.parse_grid(["steps.0.at=1s"]))
    cells[0].document["steps"].append({"after": "10ms", "do": "resume", "broker": 2})
    results = [row.asDict() for row in sweep.sweep(spark, scenario, cells, [11]).collect()]
    told = sweep_report.failures(results)
    assert len(told) == 1
    assert told[0].startswith("steps.0.at=1s, seed 11: RunError: ")
    assert told[0].endswith(f"./brokerlab sweep {scenario} --grid steps.0.at=1s --seeds 11")


def test_the_command_line_tells_trouble_in_one_line(scenario, tmp_path, capsys):
    assert main(["sweep", scenario, "--grid", "acks=9"]) == 2
    assert main(["sweep", str(tmp_path / "none.yaml")]) == 2
    assert main(["replay", str(tmp_path)]) == 2
    assert main(["replay", str(tmp_path), "--query", "nonsense"]) == 2
    assert main(["sweep", scenario, "--out", f"{scenario}/out"]) == 2
    told = capsys.readouterr().err.strip().split("\n")
    assert [line.split(":")[0] for line in told] == ["brokerlab"] * 5
    assert told[3].startswith("brokerlab: there is no query nonsense; there are receipt, lost")
