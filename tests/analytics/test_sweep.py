"""Sweeps: grid, seeds, failures with their command, and a cluster of one master and two workers."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time

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
    for wrong in ("", "a", "5..1"):
        with pytest.raises(AnalyticsError):
            grid.parse_seeds(wrong)


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


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def cluster(tmp_path):
    """A standalone cluster on the loopback: one master, two workers of one core; its URL."""
    import pyspark

    from lab.analytics.java import find_java

    home = os.path.dirname(pyspark.__file__)
    port = free_port()
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | {
        "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOG_DIR": str(tmp_path), "JAVA_HOME": str(find_java().home), "SPARK_HOME": home}
    words = [["org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", str(free_port())]]
    words += [["org.apache.spark.deploy.worker.Worker", f"spark://127.0.0.1:{port}", "--host", "127.0.0.1", "--cores", "1",
               "--memory", "1g", "--webui-port", str(free_port()), "--work-dir", str(tmp_path / f"work-{number}")] for number in (1, 2)]
    processes = []
    log = open(tmp_path / "cluster.log", "wb")
    try:
        for word in words:
            processes.append(subprocess.Popen([f"{home}/bin/spark-class", *word], env=environment, stdout=log, stderr=log, cwd=tmp_path))
            time.sleep(0.1)
        until = time.monotonic() + 90
        while (tmp_path / "cluster.log").read_bytes().count(b"Successfully registered with master") < 2:
            assert time.monotonic() < until, (tmp_path / "cluster.log").read_text()[-3000:]
            time.sleep(0.5)
        yield f"spark://127.0.0.1:{port}"
    finally:
        for process in reversed(processes):
            process.send_signal(signal.SIGTERM)
        for process in processes:
            process.wait(30)
        log.close()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_sweep_and_a_replay_work_on_a_cluster(cluster, scenario, short_runs, tmp_path):
    """The package travels as a zip: the workers' Python does not find it elsewhere."""
    from tests.house.sources import CHECKOUT

    def brokerlab(*words):
        return subprocess.run([sys.executable, "-P", "-m", "lab.cli", *words], cwd=tmp_path, capture_output=True, text=True, check=False,
                              env=os.environ | {"PYTHONPATH": str(CHECKOUT)}, timeout=400)

    swept = brokerlab("sweep", scenario, "--grid", "acks=1,all", "--seeds", "1..3", "--master", cluster)
    assert swept.returncode == 0, swept.stderr[-3000:]
    assert re.search(r"acks=all +3 +0 ", swept.stdout), swept.stdout
    replayed = brokerlab("replay", str(short_runs / "acks-1"), "--query", "receipt", "--master", cluster)
    assert replayed.returncode == 0, replayed.stderr[-3000:]
    assert "producer-orders" in replayed.stdout


def test_the_command_line_tells_trouble_in_one_line(scenario, tmp_path, capsys):
    assert main(["sweep", scenario, "--grid", "acks=9"]) == 2
    assert main(["sweep", str(tmp_path / "none.yaml")]) == 2
    assert main(["replay", str(tmp_path)]) == 2
    assert [line.split(":")[0] for line in capsys.readouterr().err.strip().split("\n")] == ["brokerlab"] * 3
