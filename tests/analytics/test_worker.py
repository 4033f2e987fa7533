"""The worker process: progress, answers, sweeps told run by run, cancel, death and a new start."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from lab.analytics.client import SparkWorker

pytestmark = pytest.mark.slow
PATIENCE_S = 120


class Talk:
    """A worker and what it tells."""

    def __init__(self) -> None:
        self.events: queue.Queue[dict[str, Any]] = queue.Queue()
        self.worker = SparkWorker(self.events.put, "local[2]")

    def until(self, number: int, *names: str) -> list[dict[str, Any]]:
        """Events of a job up to one of these; fails when none comes in time."""
        found = []
        while True:
            event = self.events.get(timeout=PATIENCE_S)
            if event.get("id") == number:
                found.append(event)
                if event["event"] in names:
                    return found

    def java(self) -> psutil.Process:
        """The worker's virtual machine."""
        below = psutil.Process(self.worker.pid).children(recursive=True)
        return next(one for one in below if one.name().startswith("java"))


@pytest.fixture(scope="module")
def talk() -> Iterator[Talk]:
    found = Talk()
    yield found
    found.worker.stop()
    assert not found.worker.alive


def test_a_replay_tells_how_it_starts_how_far_it_is_and_what_it_finds(talk: Talk, short_runs: Path, tmp_path: Path) -> None:
    asked = {"do": "replay", "paths": [str(short_runs / "acks-1")], "queries": ["receipt"], "out": str(tmp_path)}
    found = talk.until(talk.worker.submit(asked), "done", "failed")
    kinds = [event["event"] for event in found]
    assert kinds[:3] == ["queued", "started", "session"] and kinds[-1] == "done"
    assert {"stage", "progress", "answer"} <= set(kinds)
    answer = next(event for event in found if event["event"] == "answer")
    assert answer["query"] == "receipt" and answer["rows"][0]["lost"] > 0
    assert (tmp_path / "report.html").exists()
    wrong = talk.worker.submit({"do": "replay", "paths": [str(tmp_path / "nowhere")]})
    assert talk.until(wrong, "failed")[-1]["error"]["code"] == "no_directory"


def test_a_sweep_tells_each_run_as_it_ends_and_the_table_so_far(talk: Talk, tmp_path: Path) -> None:
    asked = {"do": "sweep", "scenario": "acks-1", "grid": ["acks=1,all"], "seeds": "1..3", "out": str(tmp_path)}
    found = talk.until(talk.worker.submit(asked), "done", "failed")
    assert found[-1]["event"] == "done", found[-1]
    axes = next(event for event in found if event["event"] == "axes")
    assert axes["keys"] == {"acks": ["1", "all"]}
    told = [event for event in found if event["event"] == "runs"]
    assert len(told) > 1, "told only at the end"
    assert [event["done"] for event in told] == sorted(event["done"] for event in told)
    rows = [(row["cell"], row["seed"]) for event in told for row in event["rows"]]
    assert sorted(rows) == [(f"acks={acks}", seed) for acks in ("1", "all") for seed in (1, 2, 3)]
    assert (told[-1]["done"], told[-1]["failed"], told[-1]["total"]) == (6, 0, 6)
    result = next(event for event in found if event["event"] == "result")
    assert result["cells"] == told[-1]["cells"]
    assert [cell["lost"] > 0 for cell in result["cells"]] == [True, False]


def test_cancelling_ends_what_waits_and_what_works(talk: Talk, short_runs: Path) -> None:
    long = talk.worker.submit({"do": "sweep", "scenario": "acks-all", "seeds": "1..500"})
    waiting = talk.worker.submit({"do": "replay", "paths": [str(short_runs)]})
    talk.until(long, "started")
    talk.worker.cancel(waiting)
    assert talk.until(waiting, "cancelled", "done")[-1]["event"] == "cancelled"
    talk.worker.cancel(long)
    assert talk.until(long, "cancelled", "done", "failed")[-1]["event"] == "cancelled"


def under_way(talk: Talk, runs: Path, out: Path) -> int:
    """A replay of some seconds, with its report, that a worker with a session has begun."""
    asked = {"do": "replay", "paths": [str(runs)], "queries": ["receipt"]}
    talk.until(talk.worker.submit(asked), "done")
    number = talk.worker.submit({"do": "replay", "paths": [str(runs)], "out": str(out)})
    talk.until(number, "started")
    return number


def test_a_worker_that_is_killed_is_reported_and_another_one_does_its_work(talk: Talk, short_runs: Path, tmp_path: Path) -> None:
    number = under_way(talk, short_runs, tmp_path)
    killed, java = talk.worker.pid, talk.java()
    os.kill(killed, signal.SIGKILL)
    found = talk.until(number, "done", "failed")
    assert [event["error"] for event in found if event["event"] == "restarted"] == [{"code": "worker_ended", "params": {"n": -9}}]
    assert found[-1]["event"] == "done" and talk.worker.pid != killed
    java.wait(PATIENCE_S)  # its virtual machine has not stayed


def test_a_virtual_machine_that_is_killed_is_reported_and_started_again(talk: Talk, short_runs: Path, tmp_path: Path) -> None:
    number = under_way(talk, short_runs, tmp_path)
    talk.java().kill()
    found = talk.until(number, "done", "failed")
    assert [event["error"] for event in found if event["event"] == "restarted"] == [{"code": "machine_died", "params": {}}]
    assert found[-1]["event"] == "done", found[-1]


@pytest.mark.every
def test_one_that_dies_while_nothing_is_asked_is_started_with_the_next_question(talk: Talk, short_runs: Path) -> None:
    talk.java().kill()
    asked = {"do": "replay", "paths": [str(short_runs / "acks-all")], "queries": ["receipt"]}
    number = talk.worker.submit(asked)
    assert talk.until(number, "done", "failed")[-1]["event"] == "done"


def test_a_job_that_kills_its_worker_twice_has_failed(talk: Talk) -> None:
    number = talk.worker.submit({"do": "sweep", "scenario": "acks-all", "seeds": "1..500"})
    for _ in range(2):
        talk.until(number, "started")
        os.kill(talk.worker.pid, signal.SIGKILL)
    assert talk.until(number, "failed")[-1]["error"] == {"code": "worker_ended", "params": {"n": -9}}


def test_the_client_loads_neither_spark_nor_what_spark_needs() -> None:
    import sys

    code = "import lab.analytics.client, sys; assert not {'pyspark', 'pandas', 'pyarrow', 'numba'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
