"""Sweeps: grid, seeds, failures with their command."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import pyarrow.parquet as parquet
import pytest
import yaml

from tests.analytics.telling import said
from broker_core.kernel.problems import problem
from lab.analytics import grid, session, sweep, sweep_report, tally
from lab.analytics.errors import AnalyticsError, one_line
from lab.analytics.errors import trouble as what_was
from lab.analytics.scratch import scratch
from cli.parser import main
from lab.experiments.run import run_scenario
from tests.conftest import CHECKOUT


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
                        ("1..999999999999", "999,999,999,999 seeds are too many"), (str(1 << 62), "at most 62 bits"),
                        ("-3..-1", "a seed is 0 or more")):
        with pytest.raises(AnalyticsError, match=re.escape(told)):
            grid.parse_seeds(wrong)


def test_a_key_that_is_given_twice_is_refused():
    with pytest.raises(AnalyticsError, match=r"--grid acks=1: acks is there twice"):
        grid.parse_grid(["acks=0", "acks=1"])
    with pytest.raises(AnalyticsError, match=r"cluster.controller is there twice"):
        grid.parse_grid(["controller=kraft", "cluster.controller=zookeeper"])


def test_generation_and_era_are_called_as_a_run_calls_them(scenario):
    for given in (grid.parse_grid(["controller=zookeeper,kraft"]), {"controller": ["zookeeper", "kraft"]}):
        found = grid.cells(scenario, given)
        assert [cell.name for cell in found] == ["cluster.controller=zookeeper", "cluster.controller=kraft"]
        assert [cell.document["cluster"].get("controller", "zookeeper") for cell in found] == ["zookeeper", "kraft"]
    assert [cell.name for cell in grid.cells(scenario, grid.parse_grid(["era=4.3"]))] == ["cluster.era=4.3"]


@pytest.mark.parametrize(("values", "name"), [
    ({"acks": "1", "min.insync.replicas": "2"}, "acks=1,min.insync.replicas=2.yaml"),
    ({}, "all.yaml"),
    ({"clients.0.name": "a_b"}, "clients.0.name=a_b.yaml"),
    ({"clients.0.name": "a/b"}, "clients.0.name=a%2fb.yaml"),
    ({"clients.0.name": "a b%"}, "clients.0.name=a%20b%25.yaml"),
    ({"clients.0.name": "주문"}, "clients.0.name=주문.yaml"),
])
def test_a_cell_has_a_file_that_can_be_read(values, name, tmp_path):
    assert sweep.file_of(grid.Cell(values, {}), tmp_path) == tmp_path / "cells" / name


def test_no_two_cells_share_a_file(tmp_path):
    odd = ["a-b", "a_b", "a/b", "a b", "a%2fb", "a~b", "A-b", "a-B", "a..b", "../b", "a\\b", "a:b", "가" * 90, "가" * 91, "x" * 300, "x" * 301, "X" * 300]
    cells = [grid.Cell({"key": value}, {"scenario": value}) for value in odd]
    sweep.write_cells(cells, tmp_path)
    files = list((tmp_path / "cells").iterdir())
    assert len({file.name.lower() for file in files}) == len(odd), "on a disk that does not tell capitals apart, too"
    assert all(len(file.name.encode()) < 200 for file in files)
    assert sorted(yaml.safe_load(file.read_text())["scenario"] for file in files) == sorted(odd)


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
    figures = again.receipt.total.to_dict()
    assert figures == {name: row[name] for name in figures} and {"acked", "lost", "unread"} <= figures.keys()
    sweep_report.write(tmp_path, cells, summary, results)
    assert parquet.read_table(tmp_path / "results.parquet").num_rows == 4
    assert "<svg" in (tmp_path / "sweep.html").read_text()
    assert "acks=1" in sweep_report.text(cells, summary)


def test_a_run_that_fails_names_its_seed_and_the_command_that_repeats_it(spark, scenario):
    cells = grid.cells(scenario, grid.parse_grid(["steps.0.at=1s"]))
    cells[0].document["steps"].append({"when": {"isr_of": "orders-0", "is": 9}, "within": "1s", "do": "stop_all_faults"})
    results = [row.asDict() for row in sweep.sweep(spark, scenario, cells, [11]).collect()]
    told = sweep_report.failures(results)
    assert len(told) == 1
    assert told[0].startswith("steps.0.at=1s, seed 11: steps[3]: ")
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


def test_a_huge_grid_is_refused_before_it_is_made(scenario):
    given = grid.parse_grid([f"{key}={','.join(map(str, range(1, 1000)))}" for key in ("rate", "size", "keys", "retention.ms")])
    with pytest.raises(AnalyticsError, match=r"--grid: 996,005,996,001 cells are too many, 100 are the most"):
        grid.cells(scenario, given)


class Deadly(sweep.Work):
    """One of its runs kills the process that carries it out."""

    def run(self, number):
        if number == 5:
            time.sleep(2)  # the others are home by then
            os.kill(os.getpid(), signal.SIGKILL)
        return super().run(number)


def test_when_a_task_dies_the_other_runs_stay_and_the_open_ones_are_named(spark, scenario, tmp_path):
    cells = grid.cells(scenario, {})
    work = Deadly([(cell.name, cell.document, "./brokerlab run X --seed SEED") for cell in cells], list(range(1, 9)), str(tmp_path))
    count = tally.Tally(8, tally.letter_box(spark))
    numbers = spark.range(8, numPartitions=1).repartition(8)
    results, trouble = sweep.carry_out(numbers.mapInArrow(sweep.rows(work, count.box), sweep.DDL), count)
    assert trouble is not None and "Python worker exited" in one_line(trouble)
    assert 1 <= len(results) <= 7 and all(row["error"] is None and row["acked"] > 0 for row in results)
    opened = sweep.left_open(scenario, cells, work.seeds, None, results, what_was(trouble))
    assert sorted(row["seed"] for row in [*results, *opened]) == work.seeds
    assert 6 in [row["seed"] for row in opened]
    assert sweep.summarise(cells, results + opened)[0]["failed"] == len(opened)


def test_runs_that_were_left_open_share_one_line_and_one_command(scenario, tmp_path):
    cells = grid.cells(scenario, grid.parse_grid(["acks=1"]))
    opened = sweep.left_open(scenario, cells, [1, 2, 3, 7], None, [], problem("interrupted"))
    assert sweep_report.failures(opened) == [
        f"acks=1, seeds 1..3,7: not carried out: interrupted\n    ./brokerlab sweep {scenario} --grid acks=1 --seeds=1..3,7"]
    opened = sweep.left_open(scenario, cells, [1, 2], tmp_path, [], problem("interrupted"))
    assert sweep_report.failures(opened)[0].endswith(f"./brokerlab sweep {tmp_path}/cells/acks=1.yaml --seeds=1..2")


def test_a_task_is_tried_again_where_the_lab_chooses_the_master():
    assert re.fullmatch(r"local\[\d+,2\]", session.default_master())


def test_what_a_killed_driver_has_left_is_removed_by_the_next_one(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    code = "import os, signal; from lab.analytics.scratch import scratch\nwith scratch() as home: (home / 'run').mkdir(); os.kill(os.getpid(), signal.SIGKILL)"
    subprocess.run([sys.executable, "-c", code], check=False, env={**os.environ, "TMPDIR": str(tmp_path)}, cwd=CHECKOUT)
    assert len(list(tmp_path.glob("brokerlab-sweep-*/run"))) == 1
    with scratch() as home:
        assert list(tmp_path.iterdir()) == [home]
        with scratch() as another:
            assert home.exists() and another != home
    assert not list(tmp_path.iterdir())


def test_runs_keep_their_files_where_the_driver_removes_them(scenario, tmp_path):
    cell = grid.cells(scenario, {})[0]
    row = sweep.Work([(cell.name, cell.document, "")], [1], str(tmp_path / "gone")).run(0)
    assert str(tmp_path / "gone") in said(row["error"]), "the run worked elsewhere"
