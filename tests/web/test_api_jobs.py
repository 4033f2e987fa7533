"""Scenarios and runs over REST: background work, receipts, and what was done as a scenario."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import yaml
from tests.conftest import CHECKOUT, PATIENCE_S
from tests.web.live_rest import Rest, ended, produced, refused, rest

from lab.scenarios import grammar
from lab.scenarios.subjects import SUBJECTS

__all__ = ["rest"]


def test_scenarios_are_told_in_both_languages(rest: Rest) -> None:
    listed = rest.get("scenarios").json
    found = listed["items"]
    assert sorted(one["name"] for one in found) == grammar.names()
    assert all(one["title"].keys() == one["text"].keys() == {"en", "ko"} for one in found)
    one = rest.get("scenarios/acks-1").json
    assert rest.post("scenarios/validate", {"document": one["document"]}).json["valid"]
    assert rest.post("scenarios/validate", {"yaml": one["yaml"]}).json["scenario"] == "acks-1"
    refused(rest.get("scenarios/acks-7"), 404, "name")
    refused(rest.post("scenarios/%2Fetc%2Fpasswd/run", {}), 404, None)


def test_scenarios_are_listed_by_subject(rest: Rest) -> None:
    listed = rest.get("scenarios").json
    order = [group["subject"] for group in listed["subjects"]]
    assert order == [name for name in [*SUBJECTS, ""] if name in order] and {"durability", "storage"} < set(order)
    assert [name for group in listed["subjects"] for name in group["scenarios"]] == [one["name"] for one in listed["items"]]
    own = {one["name"]: one["subject"] for one in listed["items"]}
    assert all(own[name] == group["subject"] for group in listed["subjects"] for name in group["scenarios"])
    assert all(group["title"].keys() == {"en", "ko"} for group in listed["subjects"])


def test_a_wrong_scenario_is_refused_by_line_and_place(rest: Rest) -> None:
    found = rest.post("scenarios/validate", {"yaml": "scenario: x\nsteps:\n  - {at: 5s, do: kil}\n"})
    assert refused(found, 422, "steps[0].do", "did you mean kill?")["line"] == 3
    refused(rest.post("scenarios/validate", {"document": {"cluster": {"brokers": 99}}}), 422, "cluster.brokers")
    refused(rest.post("scenarios/validate", {}), 422, "yaml", "exactly one")
    refused(rest.post("scenarios/run", {"document": {"seed": "x"}}), 422, "seed")
    refused(rest.post("scenarios/acks-1/run", {"speed": 3}), 422, "speed")
    refused(rest.post("scenarios/acks-1/run", {"controllers": 3}), 422, "cluster.controllers")
    refused(rest.post("scenarios/acks-1/run", {"controller": "etcd"}), 422, "controller")


def test_a_scenario_by_rest_leaves_the_journal_that_run_leaves(rest: Rest, tmp_path: Path) -> None:
    started = rest.post("scenarios/acks-1/run", {"seed": 11})
    assert (started.status, started.headers["Location"]) == (202, f"/api/jobs/{started.json['id']}")
    by_hand = subprocess.Popen([sys.executable, "-P", "-m", "cli", "run", "acks-1", "--seed", "11", "--json", "--out",
                                str(tmp_path / "out")], env=os.environ | {"PYTHONPATH": str(CHECKOUT)}, stdout=subprocess.PIPE)
    job = ended(rest, started.json["id"])
    assert (job["state"], job["progress"], job["error"]) == ("done", 1.0, None), job
    printed = json.loads(by_hand.communicate(timeout=PATIENCE_S)[0])
    assert job["result"]["receipt"] == printed["receipt"]
    assert printed["receipt"]["lost"] > 0
    path = rest.lab.data / "runs" / job["run"]
    for name in ("journal.jsonl", "operations.jsonl"):
        assert (path / name).read_bytes() == (tmp_path / "out" / name).read_bytes()
    assert rest.get(f"runs/{job['run']}/journal").body == (path / "journal.jsonl").read_bytes()
    assert rest.get(f"runs/{job['run']}/operations").body == (path / "operations.jsonl").read_bytes()
    receipt = rest.get(f"runs/{job['run']}/receipt").json
    assert (receipt["finished"], receipt["passed"], receipt["lost"]) == (True, True, printed["receipt"]["lost"])
    assert receipt["places"]["lost"][0]["topic"] == "orders"
    assert rest.get(f"runs/{job['run']}").json["seed"] == 11
    assert job["run"] in [one["run"] for one in rest.get("runs").json["items"]]


def test_runs_that_are_posted_at_once_begin_in_the_order_in_which_they_are_listed(rest: Rest) -> None:
    document = {"cluster": {"brokers": 1, "preset": "fast"}, "duration": "1s"}
    with ThreadPoolExecutor(6) as class_:
        posted = list(class_.map(lambda seed: rest.post("scenarios/run", {"document": {**document, "seed": seed}}), range(6)))
    assert {one.status for one in posted} == {202}
    ids = {one.json["id"] for one in posted}
    while True:
        listed = [one for one in reversed(rest.get("jobs?limit=50").json["items"]) if one["id"] in ids]
        begun = [one["state"] != "queued" for one in listed]
        assert begun == sorted(begun, reverse=True), listed
        if all(one["state"] == "done" for one in listed):
            break
        assert not any(one["error"] for one in listed), listed
    assert [one["run"] for one in listed] == sorted(one["run"] for one in listed)


def test_a_job_can_be_cancelled_and_a_run_that_fails_says_why(rest: Rest) -> None:
    document = {"scenario": "slow", "cluster": {"preset": "teaching"}, "duration": "60s"}
    started = rest.post("scenarios/run", {"document": document, "live": True}).json
    refused(rest.get("jobs/0000"), 404, "job")
    running = rest.get(f"jobs/{started['id']}?wait=0.2").json
    assert running["state"] in ("queued", "running")
    assert rest.delete(f"jobs/{started['id']}").json["state"] == "cancelled"
    refused(rest.delete(f"jobs/{started['id']}"), 409, "job", "has ended: cancelled")
    document = {"cluster": {"preset": "teaching"}, "duration": "1s",
                "steps": [{"at": "0s", "do": "kill", "leader_of": "nothing-0"}], "topics": [{"name": "nothing"}]}
    document["topics"] = [{"name": "nothing", "partitions": 1}]
    document["steps"].append({"when": {"leader_of": "nothing-0", "is": 99}, "within": "1ms", "do": "stop_all_faults"})
    failed = ended(rest, rest.post("scenarios/run", {"document": document}).json["id"])
    assert (failed["state"], "steps[1]" in failed["error"]["title"]) == ("failed", True), failed


def test_what_was_done_in_the_live_run_is_a_scenario(rest: Rest) -> None:
    found = rest.get(f"runs/{rest.lab.run_id}/scenario")
    assert (found.status, found.media) == (200, "application/yaml")
    document = yaml.safe_load(found.body)
    assert document["seed"] == 3 and "orders" in json.dumps(document)


def test_the_receipt_of_the_live_run_is_what_its_history_says_by_now(rest: Rest) -> None:
    produced(rest, "counted")
    found = rest.get(f"runs/{rest.lab.run_id}/receipt").json
    assert (found["finished"], found["read"]) == (False, 0)
    assert found["acked"] == found["unread"] >= 1 and found["lost"] == found["at_risk"] == 0
    assert found["outside"]["batches"] == 0 and found["outside"]["note"]
    refused(rest.get("runs/9999/receipt"), 404, "run")
    for name in ("..", "%2e%2e", "a%2Fb"):
        assert rest.get(f"runs/{name}/receipt").status == 404
