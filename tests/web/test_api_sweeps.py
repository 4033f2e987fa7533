"""Sweeps and rolling figures over REST, with the real worker; what is refused; the installation."""

from __future__ import annotations

import asyncio
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.conftest import PATIENCE_S
import pytest
from tests.web.rest import Caller
from tests.web.spark_lab import refused, serve, until_ended

from lab.bootstrap import MARK
from lab.client import Lab
from web.api.spark_setup import Setup

ACKS = {"scenario": "acks-1", "grid": {"acks": ["1", "all"]}, "seeds": "7,1..2"}


@pytest.fixture(scope="module")
def rest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    yield from serve(tmp_path_factory.mktemp("lab"))


@pytest.mark.parametrize(("changed", "status", "place", "words"), [
    ({"scenario": "no-such"}, 404, "name", "no scenario no-such"),
    ({"scenario": "../acks-1"}, 404, "name", "no scenario"),
    ({"grid": {"ackz": ["1"]}}, 422, "grid", "ackz: neither a setting of clients"),
    ({"grid": {"acks": ["2"]}}, 422, "grid", "acks=2"),
    ({"grid": {"acks": ["1,all"]}}, 422, "grid.acks[0]", ""),
    ({"grid": {"acks": []}}, 422, "grid.acks", ""),
    ({"seeds": "5..1"}, 422, "seeds", "5..1 ends before it begins"),
    ({"seeds": "1..2..3"}, 422, "seeds", "expected seeds"),
    ({"seeds": "1..99999999"}, 422, "seeds", "99,999,999 seeds are too many"),
    ({"grid": {"acks": ["0", "1", "all"], "rate": list(range(1, 13))}, "seeds": "1..1000"}, 422, "grid", "too many"),
    ({"seed": 1}, 422, "seed", ""),
    ({"yaml": "scenario: x"}, 422, "scenario", "exactly one of scenario, yaml"),
    ({"scenario": None}, 422, "scenario", "exactly one of scenario, yaml"),
])  # fmt: skip
def test_a_sweep_that_cannot_be_is_refused_with_its_place(
    rest: Caller, changed: dict, status: int, place: str, words: str
) -> None:
    answer = rest.post("sweeps", {**ACKS, **changed})
    if place.startswith("grid."):  # one of several alternatives of a value
        assert (answer.status, answer.json["place"].startswith(place)) == (status, True), answer.json
    else:
        refused(answer, status, place, words)


@pytest.mark.parametrize(("text", "place", "line", "words"), [
    ("scenario: x\ncluster: {brokers: 3}\nduration: soon\n", "duration", 3, "expected"),
    ("scenario: [\n", None, 2, "not YAML"),
])  # fmt: skip
def test_a_text_that_is_no_scenario_is_refused_with_its_line(
    rest: Caller, text: str, place: str | None, line: int, words: str
) -> None:
    answer = rest.post("sweeps", {"yaml": text, "seeds": "1"})
    refused(answer, 422, place, words)
    assert (answer.json["file"], answer.json["line"]) == ("scenario.yaml", line)


def test_what_is_not_there_says_so(rest: Caller) -> None:
    for path in ("sweeps/0", "sweeps/0/runs", "sweeps/0/report"):
        refused(rest.get(path), 404, "sweep", "no sweep 0")
    refused(rest.delete("sweeps/0"), 404, "sweep", "no sweep 0")
    refused(rest.post("sweeps/0/runs", {"cell": "all", "seed": 1}), 404, "sweep", "no sweep 0")
    refused(rest.get("runs/0001/rolling"), 404, "rolling", "nobody follows run 0001")
    refused(rest.delete("runs/0001/rolling"), 409, "rolling", "nobody follows run 0001")
    refused(rest.post("runs/0777/rolling"), 409, "run", "run 0777 is not open")
    assert rest.get("sweeps").json == {"items": [], "total": 0}


@pytest.mark.slow
def test_the_client_for_scripts_walks_over_a_sweep(rest: Caller, require_module: Callable[[str], None]) -> None:
    require_module("pyspark")
    sweep = Lab(rest.url, frames=False).sweep("acks-1", {"acks": ["1", "all"]}, "7")
    done = [state["done"] for state in sweep]
    assert done == sorted(done)
    assert (done[-1], sweep.state["total"]) == (2, 2)
    assert len(sweep.result()) == 2
    assert sweep.runs()[0]["lost"] > 0


@pytest.mark.slow
def test_a_scenario_that_came_as_text_is_swept_like_one_of_the_lab(
    rest: Caller, require_module: Callable[[str], None]
) -> None:
    require_module("pyspark")
    text = rest.get("scenarios/acks-1").json["yaml"].replace("scenario: acks-1", "scenario: my-own")
    first = rest.post("sweeps", {"yaml": text, "grid": {"acks": ["1", "all"]}, "seeds": "3"})
    assert (first.status, first.json["scenario"], first.json["own"]) == (202, "my-own", True)
    found = until_ended(rest, first.json["id"], "sweeps", 2 * PATIENCE_S)
    assert (found["state"], found["done"], found["bad"]) == ("done", 2, 0), found
    losing, safe = found["cells"]
    assert losing["lost"] > 0 and safe["lost"] == 0


@pytest.mark.slow
def test_a_sweep_is_watched_and_a_run_of_it_comes_out_the_same_again(
    rest: Caller, require_module: Callable[[str], None]
) -> None:
    require_module("pyspark")
    first = rest.post("sweeps", ACKS)
    assert first.json["state"] in ("queued", "running"), "the request has waited for Spark"
    name = first.json["id"]
    assert (first.status, first.headers["Location"]) == (202, f"/api/sweeps/{name}")
    assert (first.json["total"], first.json["keys"], [one["cell"] for one in first.json["cells"]]) == (
        6, {"acks": ["1", "all"]}, ["acks=1", "acks=all"])  # fmt: skip
    refused(rest.get(f"sweeps/{name}/report"), 409, "sweep", "not done yet")
    found = until_ended(rest, name, "sweeps")
    assert (found["state"], found["done"], found["bad"], found["error"]) == ("done", 6, 0, None), found
    assert found["runs_a_minute"] > 0
    losing, safe = found["cells"]
    assert losing["lost"] > 0 and losing["runs"] == 3 and safe["lost"] == 0
    runs = rest.get(f"sweeps/{name}/runs?cell=acks%3D1").json
    assert runs["total"] == 3 and sorted(one["seed"] for one in runs["items"]) == [1, 2, 7]
    assert [one["lost"] for one in runs["items"]] == sorted((one["lost"] for one in runs["items"]), reverse=True)
    worst = runs["items"][0]
    job = rest.post(f"sweeps/{name}/runs", {"cell": "acks=1", "seed": worst["seed"]})
    assert job.status == 202
    again = rest.get(f"jobs/{job.json['id']}?wait=30").json
    assert again["state"] == "done", again
    facts = rest.get(f"runs/{again['run']}").json
    told = {figure: facts["receipt"][figure] for figure in ("acked", "read", "lost", "duplicated", "reordered")}
    assert told == {figure: worst[figure] for figure in told}
    assert rest.post(f"sweeps/{name}/runs", {"cell": "acks=1", "seed": worst["seed"]}).json["id"] == job.json["id"]
    refused(rest.post(f"sweeps/{name}/runs", {"cell": "acks=2", "seed": 1}), 404, "cell", "no cell acks=2")
    refused(rest.post(f"sweeps/{name}/runs", {"cell": "acks=1", "seed": 9}), 404, "seed", "no seed 9")
    report = rest.get(f"sweeps/{name}/report")
    assert report.media == "text/html" and b"<script" not in report.body
    refused(rest.delete(f"sweeps/{name}"), 409, "sweep", "has ended: done")


@pytest.mark.slow
def test_a_cancelled_sweep_keeps_what_has_ended(rest: Caller, require_module: Callable[[str], None]) -> None:
    require_module("pyspark")
    name = rest.post("sweeps", {**ACKS, "seeds": "1..400"}).json["id"]
    deadline = time.monotonic() + 2 * PATIENCE_S
    while not rest.get(f"sweeps/{name}").json["done"] and time.monotonic() < deadline:
        time.sleep(0.2)
    assert rest.delete(f"sweeps/{name}").status == 202
    found = until_ended(rest, name, "sweeps")
    assert found["state"] == "cancelled" and 0 < found["done"] < found["total"] == 800
    assert rest.get(f"sweeps/{name}/runs").json["total"] == found["done"]


@pytest.mark.slow
def test_figures_of_the_live_run_roll_until_nobody_wants_them(rest: Caller, require_module: Callable[[str], None]) -> None:
    require_module("pyspark")
    run = rest.get("labs/lab").json["run"]
    commands = [
        {"do": "create_topic", "topic": "orders", "partitions": 1, "replication_factor": 3},
        {"do": "start_client", "name": "producer-orders", "kind": "producer", "topic": "orders"},
    ]
    assert rest.post("labs/lab/commands", commands).status == 200
    first = rest.post(f"runs/{run}/rolling").json
    assert rest.post(f"runs/{run}/rolling").json["id"] == first["id"], "one query for one run"
    seen: dict = {}
    deadline = time.monotonic() + 2 * PATIENCE_S
    while len(seen.get("history", [])) < 3 and time.monotonic() < deadline:
        seen = rest.get(f"runs/{run}/rolling").json
        assert seen["state"] in ("queued", "running"), seen
        time.sleep(0.3)
    acked = [point["acked"] for point in seen["history"]]
    assert acked == sorted(acked) and acked[-1] > 0 and seen["figures"]["lost"] == 0
    assert seen["behind_s"] < PATIENCE_S
    assert rest.delete(f"runs/{run}/rolling").status == 202
    deadline = time.monotonic() + PATIENCE_S
    while rest.get(f"runs/{run}/rolling").json["state"] != "cancelled" and time.monotonic() < deadline:
        time.sleep(0.2)
    assert rest.get(f"runs/{run}/rolling").json["state"] == "cancelled"


def tiny_wheel(directory: Path) -> Path:
    """A package that nothing needs, as a file that pip takes."""
    path = directory / "brokerlab_tiny-1.0-py3-none-any.whl"
    facts = {"METADATA": "Metadata-Version: 2.1\nName: brokerlab-tiny\nVersion: 1.0\n",
             "WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n", "RECORD": ""}
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("brokerlab_tiny.py", "")
        for name, text in facts.items():
            packed.writestr(f"brokerlab_tiny-1.0.dist-info/{name}", text)
    return path


@pytest.mark.slow
def test_the_installation_tells_its_progress_and_its_trouble(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import venv

    environment, checkout = tmp_path / "venv", tmp_path / "checkout"
    assert not Setup(checkout, environment).can_install
    venv.create(environment, with_pip=True)
    (environment / MARK).write_text("")
    (checkout / "requirements").mkdir(parents=True)
    for group in ("run", "spark"):
        (checkout / "requirements" / f"{group}.txt").write_text("brokerlab-tiny==1.0\n" if group == "spark" else "")
    (environment / "installed-run.txt").write_text("")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    setup = Setup(checkout, environment)
    assert setup.can_install

    async def installed() -> dict:
        setup.start()
        assert setup._task is not None
        await setup._task
        assert setup.facts is not None
        return setup.facts

    found = asyncio.run(installed())
    assert found["state"] == "failed" and "brokerlab-tiny" in found["error"]["params"]["words"], found
    tiny_wheel(tmp_path)
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    found = asyncio.run(installed())
    assert (found["state"], found["done"], found["total"]) == ("done", 1, 1), found
    assert list(environment.rglob("brokerlab_tiny.py"))
