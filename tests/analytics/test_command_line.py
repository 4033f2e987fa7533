"""`replay` and `sweep` as they are typed: trouble inside Spark is one line, too."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from pyarrow import parquet

from broker_core.kernel.problems import problem
from lab.analytics import places
from lab.analytics.errors import AnalyticsError, one_line
from lab.analytics.grid import parse_seeds
from tests.conftest import CHECKOUT

PATIENCE_S = 300


def brokerlab(*arguments: str, **environment: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-P", "-m", "cli", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT), **environment}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def last(told: str) -> str:
    """What is said at the end; before it there is nothing but progress (`7/44 elections`)."""
    *before, line = told.splitlines()
    assert all(re.match(r"\d+/\d+ ", one) for one in before), told
    return line


@pytest.mark.slow
def test_a_table_that_cannot_be_written_is_told_in_one_line(short_runs, tmp_path):
    (tmp_path / "records").touch()
    done = brokerlab("replay", str(short_runs / "acks-1"), "--query", "receipt", "--out", str(tmp_path))
    _, told = done.communicate(timeout=PATIENCE_S)
    assert done.returncode == 1
    assert last(told).startswith("brokerlab: ") and f"{tmp_path}/records" in last(told), told


@pytest.mark.slow
def test_an_interrupted_sweep_tells_the_runs_that_were_through_and_leaves_nothing(scenario, tmp_path):
    out = tmp_path / "out"
    done = brokerlab("sweep", scenario, "--seeds", "1..500", "--out", str(out), TMPDIR=str(tmp_path))
    assert below(done, "SparkSubmit", tmp_path)
    children = psutil.Process(done.pid).children(recursive=True)
    seen: set[Path] = set()
    until = time.monotonic() + PATIENCE_S
    while len(seen) < 30:  # some tasks have ended
        assert done.poll() is None and time.monotonic() < until
        seen |= set(tmp_path.glob("brokerlab-sweep-*/brokerlab-run-*"))
        time.sleep(0.02)
    done.send_signal(signal.SIGINT)
    shown, told = done.communicate(timeout=PATIENCE_S)
    assert done.returncode == 130
    (count,) = re.findall(r"^brokerlab: interrupted: (\d+) of 500 runs were carried out$", last(told))
    rows = parquet.read_table(out / "results.parquet").to_pylist()
    through = [row["seed"] for row in rows if row["error"] is None]
    assert len(rows) == 500 and 0 < len(through) == int(count)
    (line,) = [line for line in shown.splitlines() if "not carried out: interrupted" in line]
    assert set(parse_seeds(line.split("seeds ")[1].split(":")[0])) == set(range(1, 501)) - set(through)
    assert not list(tmp_path.glob("brokerlab-*"))
    assert not [one for one in psutil.wait_procs(children, 10)[1] if one.status() != psutil.STATUS_ZOMBIE]


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["sweep", "acks-0"], ["replay", "RUNS"]])
def test_a_command_that_is_interrupted_while_spark_starts_says_so_in_one_line(short_runs, tmp_path, arguments):
    arguments = [str(short_runs) if one == "RUNS" else one for one in arguments]
    done = brokerlab(*arguments, TMPDIR=str(tmp_path))
    below(done, "SparkSubmit")
    children = psutil.Process(done.pid).children(recursive=True)
    done.send_signal(signal.SIGINT)
    shown, told = done.communicate(timeout=PATIENCE_S)
    assert (done.returncode, shown) == (130, "")
    assert re.fullmatch(r"brokerlab: interrupted: 0 of \d+ (runs were carried out|questions were answered)\n", told)
    assert not psutil.wait_procs(children, 10)[1]
    assert not list(tmp_path.glob("brokerlab-*"))


def below(started: subprocess.Popen[str], words: str, directory: Path | None = None) -> psutil.Process:
    """A process that the command has started whose command line holds these words; with the directory of a sweep's
    scratch files, once the sweep is at work."""
    until = time.monotonic() + PATIENCE_S
    while True:
        assert started.poll() is None and time.monotonic() < until
        found = []
        for one in psutil.Process(started.pid).children(recursive=True):
            with suppress(psutil.Error):
                found += [one] if words in " ".join(one.cmdline()) else []
        if found and (directory is None or list(directory.glob("brokerlab-sweep-*/brokerlab-run-*"))):
            return found[-1]
        time.sleep(0.05)


@pytest.mark.slow
def test_a_java_that_is_killed_ends_the_command_with_what_came_or_one_line(scenario, tmp_path):
    done = brokerlab("sweep", scenario, "--seeds", "1..500", TMPDIR=str(tmp_path))
    below(done, "SparkSubmit", tmp_path).kill()
    shown, told = done.communicate(timeout=PATIENCE_S)
    assert done.returncode == 1 and "Traceback" not in told
    assert "not carried out" in shown or last(told).startswith("brokerlab: "), (shown, told)


@pytest.mark.slow
def test_a_python_process_that_is_killed_costs_its_task_at_most(scenario, tmp_path):
    done = brokerlab("sweep", scenario, "--seeds", "1..16", "--json", TMPDIR=str(tmp_path))
    below(done, "pyspark.daemon", tmp_path).kill()
    shown, told = done.communicate(timeout=PATIENCE_S)
    (cell,) = json.loads(shown)["cells"]
    assert (cell["runs"] + cell["failed"], "Traceback" in told) == (16, False)
    assert done.returncode == (1 if cell["failed"] else 0)


@pytest.mark.parametrize("between", [",", ", "])
def test_a_source_reads_directories_that_are_separated_by_commas(spark, short_runs, between):
    names = ["acks-0", "acks-all"]
    path = between.join(str(short_runs / name) for name in names)
    for source, options in (("segments", {"level": "batches"}), ("journal", {}), ("journal", {"what": "operations"})):
        read = spark.read.format(f"brokerlab.{source}").options(**options)
        counts = {row["run"]: row["count"] for row in read.load(path).groupBy("run").count().collect()}
        alone = {name: read.load(str(short_runs / name)).count() for name in names}
        assert counts == alone and all(alone.values())


def test_a_wrong_directory_or_option_is_one_clear_line(spark, tmp_path):
    for source, options, said in (("segments", {}, "no such directory"), ("journal", {}, "no such directory"),
                                  ("segments", {"level": "rows"}, "level rows: expected one of records")):
        with pytest.raises(Exception, match=said) as caught:
            spark.read.format(f"brokerlab.{source}").options(**options).load(str(tmp_path / "nowhere")).count()
        told = [line for line in str(caught.value).splitlines() if line.strip()]
        assert len(told) <= 2 and not any("Traceback" in line for line in told), told


def test_paths_are_a_json_list_or_names_between_commas():
    assert places.given_paths(places.joined_paths(["/a,b", "/c"])) == ["/a,b", "/c"]
    assert places.given_paths("/a, /b") == ["/a", "/b"]
    assert places.given_paths("[odd") == ["[odd"]


class Gone(Exception):
    """An error whose text died with the virtual machine."""

    def __str__(self) -> str:
        raise RuntimeError


def test_an_error_is_one_line():
    assert one_line(AnalyticsError(problem("no_directory", path="x"))) == "x: no such directory"
    assert one_line(ValueError("first\nsecond")) == "ValueError: first"
    assert one_line(Gone()) == "Gone"
    java = "An error occurred while calling o1.parquet.\n: java.io.IOException: cannot be written\n\tat a.b.C.d(E.java:1)"
    assert one_line(RuntimeError(java)) == "IOException: cannot be written"
    inside = "An exception was thrown from the Python worker:\nTraceback (most recent call last):\n  File x\nValueError: byte 7 is odd\n"
    assert one_line(RuntimeError(inside)) == "RuntimeError: ValueError: byte 7 is odd"
