"""REST against a real live lab: each operation, what it refuses, and who may ask."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.conftest import CHECKOUT, free_ports
from tests.web.rest import Answer, Caller

from broker_core.kernel.events import REGISTRY
from broker_core.metadata.configs import BROKER_SETTINGS, TOPIC_SETTINGS
from lab.clusters.spec import run_from_dict
from lab.clusters.vocabulary import KINDS
from lab.live import LiveLab
from lab.scenarios import grammar

PROBLEM = "application/problem+json"


@dataclass
class Rest(Caller):
    """A caller, and the lab that it calls."""

    lab: LiveLab

    def events(self, codes: str, since: int = 0, wait: float = 15) -> list[list[Any]]:
        return self.get(f"labs/lab/events?since={since}&codes={codes}&wait={wait}").json["events"]


@pytest.fixture(scope="module")
def rest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rest]:
    """Three brokers with the teaching preset, served by the product's own server."""
    from web import server

    spec = run_from_dict({"cluster": {"preset": "teaching", "port": free_ports(3)}, "seed": 3})
    lab = LiveLab(spec, tmp_path_factory.mktemp("lab"))
    lab.start()
    listener = server.listen("127.0.0.1", 0)
    started = threading.Event()
    built = server.build(lab, listener, lambda url: started.set())
    thread = threading.Thread(target=built.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    assert started.wait(20)
    found = Rest(built.url, lab)
    assert found.post("labs/lab/commands", {"do": "create_topic", "topic": "orders", "partitions": 1}).status == 200
    assert found.events("leader_elected")
    yield found
    built.should_exit = True
    thread.join(10)
    lab.stop()


def refused(answer: Answer, status: int, place: str | None, words: str = "") -> dict[str, Any]:
    """A problem detail of this status that names this place."""
    assert (answer.status, answer.media) == (status, PROBLEM), answer
    found: dict[str, Any] = answer.json
    assert (found["status"], found.get("place")) == (status, place), found
    assert words in found.get("detail", ""), found
    return found


def produced(rest: Rest, *values: str) -> list[dict[str, Any]]:
    """Records by hand, and the batches that hold them once the leader has them."""
    end = rest.get("labs/lab/topics/orders/records").json["log_end_offset"]
    commands = [{"do": "produce", "topic": "orders", "key": "k", "value": value} for value in values]
    assert rest.post("labs/lab/commands", commands).json["ok"]
    deadline = time.monotonic() + 15
    while time.monotonic() < deadline:
        page = rest.get(f"labs/lab/topics/orders/records?offset={end}").json
        if page.get("high_watermark") == end + len(values):
            return page["records"]
        time.sleep(0.05)
    raise AssertionError("the records did not come")


def ended(rest: Rest, job: str) -> dict[str, Any]:
    """The job when it has ended, on a slow machine as on a quick one."""
    for _ in range(6):
        found: dict[str, Any] = rest.get(f"jobs/{job}?wait=30").json
        if found["state"] not in ("queued", "running"):
            return found
    raise AssertionError(found)


# -- the lab --------------------------------------------------------------------------------
def test_the_lab_of_this_process_says_run_clock_and_addresses(rest: Rest) -> None:
    (found,) = rest.get("labs").json["labs"]
    assert (found["id"], found["run"], found["seed"], found["preset"]) == ("lab", rest.lab.run_id, 3, "teaching")
    assert found["bootstrap"].split(",")[0] == f"127.0.0.1:{rest.lab.spec.cluster.port}"
    assert rest.get("labs/lab").json["t"] >= found["t"]
    refused(rest.get("labs/other"), 404, "lab", "no lab other")


def test_a_snapshot_is_the_state_that_the_page_gets(rest: Rest) -> None:
    found = rest.get("labs/lab/snapshot").json
    _, text = rest.lab.snapshot().result(10)
    assert found.keys() == {"seq", "run", "epoch", "t", "state"}
    assert found["state"].keys() == json.loads(text)["state"].keys()
    refused(rest.get("labs/lab/snapshot?run=9999"), 404, "run", "no open run 9999")


def test_pages_of_events_put_together_are_the_journal(rest: Rest) -> None:
    whole = rest.get("labs/lab/events?limit=10000").json
    pages: list[list[Any]] = []
    since, more = 0, True
    while more:
        page = rest.get(f"labs/lab/events?since={since}&limit=40").json
        assert page["next"] > since or not page["more"]
        pages, since, more = pages + page["events"], page["next"], page["more"]
    lines = [json.loads(line) for line in rest.get(f"runs/{rest.lab.run_id}/journal").body.splitlines()]
    shown = [[seq, t, code, node, cause, params] for seq, t, node, code, cause, params in lines]
    assert pages[: len(whole["events"])] == whole["events"] == shown[: len(whole["events"])]
    behind = whole["events"][100][0]
    tail = [json.loads(line) for line in rest.get(f"runs/{rest.lab.run_id}/journal?since={behind}").body.splitlines()]
    assert tail[0] == next(line for line in lines if line[0] > behind)


def test_events_can_be_waited_for_by_code(rest: Rest) -> None:
    seq = rest.get("labs/lab").json["seq"]
    assert rest.get(f"labs/lab/events?since={seq}&codes=process_paused").json["events"] == []
    threading.Timer(0.3, rest.post, ["labs/lab/commands", [{"do": "pause", "broker": 3}, {"do": "resume", "broker": 3}]]).start()
    (row,) = rest.events("process_paused", seq)
    assert row[2:4] == ["process_paused", "broker-3"]
    refused(rest.get("labs/lab/events?since=x"), 422, "since")
    refused(rest.get("labs/lab/events?limit=0"), 422, "limit")
    refused(rest.get("labs/lab/events?wait=31"), 422, "wait")
    refused(rest.get("labs/lab/events?codes=leader_electd"), 422, "codes")


def test_what_the_cluster_refuses_is_a_problem_with_its_own_words(rest: Rest) -> None:
    twice = {"do": "create_topic", "topic": "twice", "partitions": 1}
    assert rest.post("labs/lab/commands", twice).status == 200
    again = rest.post("labs/lab/commands", twice)
    refused(again, 422, "do")
    assert (again.json["detail"], again.json["code"]) == ("Topic 'twice' already exists.", "TOPIC_ALREADY_EXISTS")
    korean = rest.call("POST", "labs/lab/commands", [twice], Accept_Language="ko")
    assert (korean.json["detail"], korean.json["place"], korean.json["done"]) == ("토픽 twice이(가) 이미 있습니다", "[0].do", 0)
    written = rest.post("labs/lab/commands", {"do": "produce", "topic": "twice", "value": "first"}).json
    assert (written["partition"], written["offset"]) == (0, 0)


# -- commands -------------------------------------------------------------------------------
def test_a_command_is_carried_out_and_says_at_which_event(rest: Rest) -> None:
    done = rest.post("labs/lab/commands", {"do": "delay_link", "between": [1, 2], "delay_ms": 5}).json
    assert done["ok"]
    rows = rest.get(f"labs/lab/events?since={done['seq'] - 1}&limit=1").json["events"]
    assert rows[0][:1] + rows[0][2:3] == [done["seq"], "command"]
    assert rest.get("labs/lab/snapshot").json["state"]["links"]
    assert rest.post("labs/lab/commands", {"do": "stop_all_faults"}).json["ok"]
    assert not rest.get("labs/lab/snapshot").json["state"]["links"]


def test_time_is_controlled_by_the_same_address(rest: Rest) -> None:
    assert rest.post("labs/lab/commands", {"do": "time", "speed": "pause"}).json["paused"]
    assert rest.get("labs/lab").json["paused"]
    assert not rest.post("labs/lab/commands", {"do": "time", "speed": "play"}).json["paused"]
    refused(rest.post("labs/lab/commands", {"do": "time", "speed": 0}), 422, "speed")


@pytest.mark.parametrize(("command", "place", "words"), [
    ({}, "do", "required"),
    ({"do": "kil"}, "do", "did you mean kill?"),
    ({"do": "kill"}, None, "exactly one of broker, node, leader_of"),
    ({"do": "kill", "broker": "x"}, "broker", "whole number"),
    ({"do": "kill", "broker": 9}, "broker", "broker-9"),
    ({"do": "kill", "broker": 1, "hard": True}, "hard", "unknown key"),
    ([], "body", "at least 1"),
    ([{"do": "stop_all_faults"}, {"do": "kill", "broker": "x"}], "[1].broker", "whole number"),
    ([{"do": "stop_all_faults"}] * 101, "body", "at most 100"),
    ("kill", "body", ""),
])  # fmt: skip
def test_a_wrong_command_is_refused_by_its_place(rest: Rest, command: Any, place: str | None, words: str) -> None:
    before = rest.lab.world.seq
    found = rest.post("labs/lab/commands", command)
    refused(found, 422, place, words)
    assert "done" not in found.json
    assert before <= rest.lab.world.seq


def test_a_list_ends_where_the_world_refuses(rest: Rest) -> None:
    found = rest.post("labs/lab/commands", [{"do": "stop_all_faults"}, {"do": "kill", "broker": 9}])
    assert refused(found, 422, "[1].broker")["done"] == 1


@pytest.mark.parametrize("body", [b"{", b'{"do": NaN}', b'{"do": "\\ud800"}', b"[" * 100 + b"]" * 100, b"\xff"])
def test_what_is_not_json_is_refused(rest: Rest, body: bytes) -> None:
    refused(rest.post("labs/lab/commands", body), 400, None)


# -- branches -------------------------------------------------------------------------------
def test_a_fork_goes_on_from_a_moment_with_other_commands_and_is_closed(rest: Rest) -> None:
    seq = rest.get("labs/lab").json["seq"]
    made = rest.post("labs/lab/forks", {"seq": seq, "commands": [{"do": "kill", "broker": 1}]})
    assert made.status == 201, made.json
    fork = made.json["run"]
    assert (made.json["parent"], made.json["paused"], made.json["results"][0]["ok"]) == (rest.lab.run_id, True, True)
    there = rest.get(f"labs/lab/snapshot?run={fork}").json
    assert there["state"]["brokers"]["1"]["state"] == "stopped"
    assert rest.get("labs/lab/snapshot").json["state"]["brokers"]["1"]["state"] == "running"
    assert rest.get(f"labs/lab/events?run={fork}&since={seq}").json["events"][0][2] == "command"
    assert fork in [one["run"] for one in rest.get("labs/lab/runs").json["open"]]
    stopped = rest.get(f"labs/lab/topics/orders/records?run={fork}&replica=1").json
    assert (stopped["running"], stopped["high_watermark"]) == (False, None)
    refused(rest.get(f"runs/{fork}/verify"), 409, "run", "is open")
    beside = rest.get(f"runs/{rest.lab.run_id}/comparison?other={fork}").json
    assert [run["run"] for run in beside["runs"]] == [rest.lab.run_id, fork]
    assert 0 < beside["parting"]["seq"] <= seq, "the last row that both journals have"
    assert beside["parting"]["rows"][1][5]["command"]["do"] == "kill"
    refused(rest.get(f"runs/{fork}/comparison?other=9999"), 404, "run")
    assert rest.delete(f"labs/lab/runs/{fork}").status == 204
    assert rest.get(f"runs/{fork}/verify").json["same"] is True
    opened = rest.post(f"labs/lab/runs/{fork}/open").json
    assert opened["parent"] == fork
    assert rest.delete(f"labs/lab/runs/{opened['run']}").status == 204


def test_a_fork_that_cannot_be_says_why(rest: Rest) -> None:
    refused(rest.post("labs/lab/forks", {"run": "9999"}), 404, "run")
    refused(rest.post("labs/lab/forks", {"seq": 1 << 40}), 422, "seq", "has come to event")
    refused(rest.post("labs/lab/forks", {"t_us": 1 << 60}), 422, "t_us")
    refused(rest.post("labs/lab/forks", {"seq": 1, "t_us": 1}), 422, "t_us")
    refused(rest.post("labs/lab/forks", {"commands": [{"do": "kil"}]}), 422, "commands[0].do")
    refused(rest.delete(f"labs/lab/runs/{rest.lab.run_id}"), 409, None, "cannot be closed")
    refused(rest.delete("labs/lab/runs/9999"), 404, "run")
    refused(rest.post("labs/lab/runs/9999/open"), 404, "run")


# -- records --------------------------------------------------------------------------------
def test_records_come_with_their_batch_and_its_bytes_from_any_replica(rest: Rest) -> None:
    records = produced(rest, "hello", "世界")
    assert [record["value"]["text"] for record in records] == ["hello", "世界"]
    assert all(record["committed"] for record in records)
    first = records[0]["offset"]
    pages = [rest.get(f"labs/lab/topics/orders/records?offset={first}&replica={broker}&fields=true").json for broker in (1, 2, 3)]
    assert [page["replica"] for page in pages] == [1, 2, 3]
    assert pages[0]["batches"] == pages[1]["batches"] == pages[2]["batches"]
    batch = pages[0]["batches"][0]
    data = bytes.fromhex(batch["hex"])
    assert (len(data), int.from_bytes(data[:8]), batch["valid"]) == (batch["size"], batch["base_offset"], True)
    assert [field["name"] for field in batch["fields"]][:2] == ["baseOffset", "batchLength"]
    assert sum(field["end"] - field["start"] for field in batch["fields"]) == batch["size"]
    produced(rest, "later")
    one = rest.get(f"labs/lab/topics/orders/records?offset={first}&limit=1").json
    assert (len(one["batches"]), one["next"], one["more"]) == (1, batch["last_offset"] + 1, True)


def test_records_that_are_not_there_are_refused(rest: Rest) -> None:
    refused(rest.get("labs/lab/topics/nothing/records"), 404, "topic")
    refused(rest.get("labs/lab/topics/orders/records?partition=7"), 404, "topic")
    refused(rest.get("labs/lab/topics/orders/records?replica=9"), 404, "replica")
    found = refused(rest.get("labs/lab/topics/orders/records?offset=999999"), 416, "offset")
    assert found["log_start_offset"] == 0
    refused(rest.get("labs/lab/topics/orders/records?limit=501"), 422, "limit")


def test_an_object_is_looked_at_closely(rest: Rest) -> None:
    assert rest.get("labs/lab/inspect?of=partition&name=orders-0").json
    metrics = rest.get("labs/lab/inspect?of=metrics").json
    assert "kafka.server:type=ReplicaManager,name=LeaderCount" in json.dumps(metrics)
    refused(rest.get("labs/lab/inspect?of=planet"), 422, rest.get("labs/lab/inspect?of=planet").json.get("place"))
    refused(rest.get("labs/lab/inspect"), 422, "of")


# -- scenarios and jobs ---------------------------------------------------------------------
def test_scenarios_are_told_in_both_languages(rest: Rest) -> None:
    found = rest.get("scenarios").json["scenarios"]
    assert [one["name"] for one in found] == grammar.names()
    assert all(one["title"].keys() == one["text"].keys() == {"en", "ko"} for one in found)
    one = rest.get("scenarios/acks-1").json
    assert rest.post("scenarios/validate", {"document": one["document"]}).json["valid"]
    assert rest.post("scenarios/validate", {"yaml": one["yaml"]}).json["scenario"] == "acks-1"
    refused(rest.get("scenarios/acks-7"), 404, "name")
    refused(rest.post("scenarios/%2Fetc%2Fpasswd/run", {}), 404, None)


def test_a_wrong_scenario_is_refused_by_line_and_place(rest: Rest) -> None:
    found = rest.post("scenarios/validate", {"yaml": "scenario: x\nsteps:\n  - {at: 5s, do: kil}\n"})
    assert refused(found, 422, "steps[0].do", "did you mean kill?")["line"] == 3
    refused(rest.post("scenarios/validate", {"document": {"cluster": {"brokers": 99}}}), 422, "cluster.brokers")
    refused(rest.post("scenarios/validate", {}), 422, "yaml", "exactly one")
    refused(rest.post("scenarios/run", {"document": {"seed": "x"}}), 422, "seed")
    refused(rest.post("scenarios/acks-1/run", {"speed": 3}), 422, "speed")


def test_a_scenario_by_rest_leaves_the_journal_that_run_leaves(rest: Rest, tmp_path: Path) -> None:
    started = rest.post("scenarios/acks-1/run", {"seed": 11})
    assert (started.status, started.headers["Location"]) == (202, f"/api/jobs/{started.json['id']}")
    by_hand = subprocess.Popen([sys.executable, "-P", "-m", "lab.cli", "run", "acks-1", "--seed", "11", "--json", "--out",
                                str(tmp_path / "out")], env=os.environ | {"PYTHONPATH": str(CHECKOUT)}, stdout=subprocess.PIPE)
    job = ended(rest, started.json["id"])
    assert (job["state"], job["progress"], job["error"]) == ("done", 1.0, None), job
    printed = json.loads(by_hand.communicate(timeout=60)[0])
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
    document["steps"].append({"when": {"leader_of": "nothing-0", "is": "none"}, "within": "1ms", "do": "stop_all_faults"})
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
    assert found["acked"] == found["unseen"] >= 1
    assert found["outside"]["batches"] == 0 and found["outside"]["note"]
    refused(rest.get("runs/9999/receipt"), 404, "run")
    for name in ("..", "%2e%2e", "a%2Fb"):
        assert rest.get(f"runs/{name}/receipt").status == 404


# -- reference ------------------------------------------------------------------------------
def test_settings_events_and_commands_are_all_listed(rest: Rest) -> None:
    settings = rest.get("settings").json
    assert settings["total"] == len(settings["items"]) == len(BROKER_SETTINGS) + len(TOPIC_SETTINGS)
    (one,) = rest.get("settings?name=min.insync.replicas&of=topic").json["items"]
    assert (one["default"], one["broker_settings"]) == ("1", ["min.insync.replicas"])
    assert rest.get("settings?limit=2&offset=1").json["items"] == settings["items"][1:3]
    events = rest.get("events-registry").json["items"]
    assert {row["code"]: row["params"] for row in events} == {code.name: code.params for code in REGISTRY.values()}
    assert [row["do"] for row in rest.get("commands").json["items"]] == [*KINDS, "time"]


def test_the_page_of_operations_needs_nothing_from_elsewhere(rest: Rest) -> None:
    page = rest.get("docs")
    text = page.body.decode()
    for path, methods in rest.get("openapi.json").json["paths"].items():
        assert path in text and len(methods) > 0
    assert "<script" not in text and " style=" not in text
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    assert rest.get("docs.css").media == "text/css"


# -- who may ask ----------------------------------------------------------------------------
def test_a_page_of_another_origin_changes_nothing(rest: Rest) -> None:
    command = {"do": "stop_all_faults"}
    refused(rest.post("labs/lab/commands", command, Origin="http://evil.example"), 403, "Origin")
    refused(rest.post("labs/lab/commands", command, Origin="null"), 403, "Origin")
    refused(rest.post("labs/lab/commands", command, Sec_Fetch_Site="same-site"), 403, "Sec-Fetch-Site")
    assert rest.post("labs/lab/commands", command, Origin=rest.url.rstrip("/"), Sec_Fetch_Site="same-origin").status == 200
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        refused(rest.post("labs/lab/commands", command, Content_Type=kind), 415, "Content-Type")


def test_another_host_name_is_refused_and_a_forwarded_request_needs_the_token(rest: Rest, monkeypatch: pytest.MonkeyPatch) -> None:
    refused(rest.get("labs", Host="evil.example"), 421, "Host")
    refused(rest.get("labs", X_Forwarded_For="198.51.100.7"), 401, "Authorization")
    monkeypatch.setenv("BROKERLAB_TOKEN", "s3cret")
    refused(rest.get("labs", X_Forwarded_For="198.51.100.7", Authorization="Bearer other"), 401, "Authorization")
    assert rest.get("labs", X_Forwarded_For="198.51.100.7", Authorization="Bearer s3cret").status == 200


def test_what_is_too_large_is_not_read(rest: Rest) -> None:
    host, port = rest.url.removeprefix("http://").rstrip("/").split(":")
    for headers, pieces in (({"Content-Length": "2097153"}, 0), ({"Transfer-Encoding": "chunked"}, 33)):
        socket = HTTPConnection(host, int(port), timeout=20)
        socket.putrequest("POST", "/api/labs/lab/commands")
        for name, value in {"Content-Type": "application/json", **headers}.items():
            socket.putheader(name, value)
        socket.endheaders()
        for _ in range(pieces):
            socket.send(b"10000\r\n" + b" " * 65536 + b"\r\n")
        answer = socket.getresponse()
        assert (answer.status, json.loads(answer.read())["place"]) == (413, "body")
        socket.close()


def test_addresses_and_methods_that_are_none_are_problems_too(rest: Rest) -> None:
    refused(rest.get("nowhere"), 404, None)
    assert refused(rest.call("PUT", "labs"), 405, None)["type"] == "/api/problems#wrong-method"
