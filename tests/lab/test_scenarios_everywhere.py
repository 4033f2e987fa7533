"""A scenario is one thing, whoever runs it: from the command line, over REST, from the screen; and opened again.

The screen asks REST for the run and for its other course, then opens what they have left. All of them must have
the same journal, byte for byte, and the same receipt. Here the command is asked, in a process of its own, for a lesson of
each kind; every lesson of the lab is asked of REST and of what the screen opens in `tests/browser/test_lessons.py`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import CHECKOUT, PATIENCE_S, free_ports
from tests.sampling import every
from tests.shared_runs import assert_has_the_past_of, assert_same
from tests.web.rest import Caller

from lab.clusters.spec import run_from_dict
from lab.experiments.directory import read_facts
from lab.live import LiveLab
from lab.scenarios import grammar, links, variants

SEED = 4
OF_EACH_KIND = (
    "acks-1", "bit-flip", "poison-batch", "compaction", "exactly-once", "lose-a-zookeeper-server", "a-fourth-controller", "queue-poison-record",
    "cooperative-rebalancing",
)  # fmt: skip


@pytest.fixture(scope="module")
def rest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    """A lab with the product's own server in front of it."""
    from web import server

    spec = run_from_dict({"cluster": {"preset": "teaching", "port": free_ports(3)}, "seed": 3})
    lab = LiveLab(spec, tmp_path_factory.mktemp("lab"), speed=0.01)
    lab.start()
    listener = server.listen("127.0.0.1", 0)
    started = threading.Event()
    built = server.build(lab, listener, lambda url: started.set())
    thread = threading.Thread(target=built.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    assert started.wait(PATIENCE_S)
    found = Caller(built.url)
    found.lab = lab  # type: ignore[attr-defined]
    yield found
    built.should_exit = True
    thread.join(10)
    lab.stop()


def _directory(rest: Caller, run: str) -> Path:
    found: Path = rest.lab.data / "runs" / run  # type: ignore[attr-defined]
    return found


def _ended(rest: Caller, job: dict[str, Any]) -> str:
    """The run of a job, when it has ended."""
    for _ in range(8):
        found = rest.get(f"jobs/{job['id']}?wait=30").json
        if found["state"] not in ("queued", "running"):
            assert found["state"] == "done", found
            return str(found["run"])
    raise AssertionError(found)


def _by_command(name: str, out: Path, *options: str) -> dict[str, Any]:
    """`./brokerlab run NAME --seed N` in a process of its own, with another order of hashes."""
    command = [sys.executable, "-P", "-m", "cli", "run", name, "--seed", str(SEED), "--out", str(out), "--json", *options]
    environment = os.environ | {"PYTHONPATH": str(CHECKOUT), "PYTHONHASHSEED": "99"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("name", every(OF_EACH_KIND, nth=2))
def test_a_scenario_is_the_same_by_command_over_rest_and_opened_on_the_screen(rest: Caller, name: str, tmp_path: Path) -> None:
    printed = _by_command(name, tmp_path / "run")
    run = _ended(rest, rest.post(f"scenarios/{name}/run", {"seed": SEED}).json)
    path = _directory(rest, run)
    assert_same(path, tmp_path / "run")
    opened = rest.post(f"labs/lab/runs/{run}/open?wait=30").json["run"]
    again = rest.get(f"runs/{opened}/journal").body
    assert again == (path / "journal.jsonl").read_bytes()
    receipt, source = rest.get(f"runs/{opened}/receipt").json, rest.get(f"runs/{run}/receipt").json
    assert receipt == {**source, "run": opened} and receipt["finished"]
    assert {key: receipt[key] for key in printed["receipt"]} == printed["receipt"]
    assert rest.delete(f"labs/lab/runs/{opened}").status == 204

    _by_command(name, tmp_path / "fork", "--variant", variants.FORK)
    other = _ended(rest, rest.post(f"runs/{run}/fork").json)
    assert_same(_directory(rest, other), tmp_path / "fork")
    assert_has_the_past_of(_directory(rest, other), path)


def test_a_variant_is_named_by_its_run_its_receipt_and_its_link(rest: Caller, tmp_path: Path) -> None:
    printed = _by_command("retry-duplicates", tmp_path / "run", "--variant", "idempotent")
    run = _ended(rest, rest.post("scenarios/retry-duplicates/run", {"seed": SEED, "variant": "idempotent"}).json)
    assert_same(_directory(rest, run), tmp_path / "run")
    receipt = rest.get(f"runs/{run}/receipt").json
    assert printed["variant"] == receipt["variant"] == "idempotent" and receipt["name"] == "retry-duplicates"
    (listed,) = [one for one in rest.get("runs").json["items"] if one["run"] == run]
    assert listed["variant"] == "idempotent" and listed["variant_title"]["en"].startswith("enable.idempotence=true")
    document = rest.get(f"runs/{run}").json["scenario"]
    made = rest.post("scenarios/link", {"document": document}).json
    assert made["variant"] == "idempotent" and made["address"].endswith(f"/#scenario={made['link']}")
    read = rest.post("scenarios/link/read", {"link": made["address"]}).json
    assert read["variant"] == "idempotent" and read["document"] == document
    again = _ended(rest, rest.post("scenarios/run", {"document": read["document"]}).json)
    assert_same(_directory(rest, again), tmp_path / "run")
    other = _ended(rest, rest.post(f"runs/{again}/fork").json)
    assert read_facts(_directory(rest, other))["variant"] == "idempotent/fork"
    assert rest.get(f"runs/{other}/receipt").json["duplicated"] > 0


@pytest.mark.parametrize(
    ("damage", "code"),
    [(lambda text: text[:-9], "shape"), (lambda text: "b9" + text[2:], "version"), (lambda text: "nothing", "shape"),
     (lambda text: text[:3] + ("0" if text[3] != "0" else "1") + text[4:], "checksum"), (lambda text: text + "y" * 70_000, "large"),
     (lambda text: text[:-5] + "*" + text[-4:], "bytes")],
)  # fmt: skip
def test_a_damaged_link_is_refused_over_rest_with_a_reason(rest: Caller, damage: Any, code: str) -> None:
    link = links.pack(grammar.load("acks-1").document)
    english = rest.post("scenarios/link/read", {"link": damage(link)})
    korean = rest.post("scenarios/link/read", {"link": damage(link)}, Accept_Language="ko")
    assert english.status == korean.status == 422
    assert english.json["code"] == korean.json["code"] == code and english.json["place"] == "link"
    assert english.json["detail"] != korean.json["detail"]


def test_a_link_whose_scenario_is_wrong_is_refused_at_its_place(rest: Caller) -> None:
    link = links.pack({"steps": [{"at": "1s", "do": "kil", "broker": 1}]})
    found = rest.post("scenarios/link/read", {"link": link}).json
    assert found["place"] == "steps[0].do" and "did you mean kill?" in found["detail"] and "code" not in found
    assert rest.post("scenarios/link", {"document": {"steps": [{"at": "1s"}]}}).json["place"] == "steps[0]"


def test_what_has_no_other_course_cannot_be_forked(rest: Caller) -> None:
    live = rest.lab.run_id  # type: ignore[attr-defined]
    assert rest.post(f"runs/{live}/fork").status == 409
    assert rest.post("runs/9999/fork").status == 404
    assert rest.post("scenarios/acks-1/run", {"variant": "bold"}).json["place"] == "variant"
