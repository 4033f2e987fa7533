"""REST against a real live lab: looking, commanding, branches, records, and what each refuses."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.web.live_rest import Rest, produced, refused, rest

from broker_core.records import encode_batch
from web.api.journal_file import Wanted, page_of
from web.api.records import Found, decode

__all__ = ["rest"]


# -- the lab --------------------------------------------------------------------------------
def test_the_lab_of_this_process_says_run_clock_and_addresses(rest: Rest) -> None:
    (found,) = rest.get("labs").json["items"]
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
        pages, since, more = pages + page["items"], page["next"], page["more"]
    lines = [json.loads(line) for line in rest.get(f"runs/{rest.lab.run_id}/journal").body.splitlines()]
    shown = [[seq, t, code, node, cause, params] for seq, t, node, code, cause, params in lines]
    assert pages[: len(whole["items"])] == whole["items"] == shown[: len(whole["items"])]
    behind = whole["items"][100][0]
    tail = [json.loads(line) for line in rest.get(f"runs/{rest.lab.run_id}/journal?since={behind}").body.splitlines()]
    assert tail[0] == next(line for line in lines if line[0] > behind)


def test_events_of_a_topic_a_partition_or_a_node_are_those_of_the_journal_about_them(rest: Rest) -> None:
    whole = rest.get("labs/lab/events?limit=10000").json["items"]
    for query, admits in (
        ("topic=orders", lambda row: row[5].get("topic") == "orders"),
        ("topic=orders&partition=0", lambda row: (row[5].get("topic"), row[5].get("partition")) == ("orders", 0)),
        ("node=broker-2", lambda row: row[3] == "broker-2"),
        ("node=nobody", lambda row: False),
    ):
        found = [row for row in rest.get(f"labs/lab/events?limit=10000&{query}").json["items"] if row[0] <= whole[-1][0]]
        plain = [row for row in whole if admits(row)]
        assert [row for row in found if row in plain] == plain
        assert all("topics" in row[5] or "partitions" in row[5] for row in found if row not in plain)
    refused(rest.get("labs/lab/events?partition=-1"), 422, "partition")


ROWS = st.lists(st.integers(0, 3), max_size=30).map(
    lambda steps: [[sum(steps[: at + 1]) + 1, at, "code", f"broker-{at % 2}", 0, {}] for at in range(len(steps))]
)


@given(rows=ROWS, limit=st.integers(1, 9), node=st.sampled_from([None, "broker-0", "broker-7"]))
def test_a_page_has_at_most_its_limit_and_pages_leave_nothing_out(rows: list[list[Any]], limit: int, node: str | None) -> None:
    wanted, found, since, more = Wanted(node=node), [], 0, True
    while more:
        page = page_of([row for row in rows if row[0] > since], since, limit, wanted)
        numbers = {row[0] for row in page.rows}
        assert len(page.rows) <= limit or len(numbers) == 1
        assert page.next > since or not page.more
        found, since, more = found + page.rows, page.next, page.more
    assert found == [row for row in rows if wanted.admits(row)]


def test_events_can_be_waited_for_by_code(rest: Rest) -> None:
    seq = rest.get("labs/lab").json["seq"]
    assert rest.get(f"labs/lab/events?since={seq}&codes=process_paused").json["items"] == []
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
    refused(again, 422, "topic")
    assert (again.json["detail"], again.json["code"]) == ("TOPIC_ALREADY_EXISTS: Topic 'twice' already exists.", "TOPIC_ALREADY_EXISTS")
    korean = rest.call("POST", "labs/lab/commands", [twice], Accept_Language="ko")
    assert (korean.json["detail"], korean.json["place"], korean.json["done"]) == ("클러스터의 답: 토픽이 이미 있습니다 (TOPIC_ALREADY_EXISTS: “Topic 'twice' already exists.”)", "[0].topic", 0)
    written = rest.post("labs/lab/commands", {"do": "produce", "topic": "twice", "value": "first"}).json
    assert (written["partition"], written["offset"]) == (0, 0)


# -- commands -------------------------------------------------------------------------------
def test_a_command_is_carried_out_and_says_at_which_event(rest: Rest) -> None:
    done = rest.post("labs/lab/commands", {"do": "delay_link", "between": [1, 2], "delay_ms": 5}).json
    assert done["ok"]
    rows = rest.get(f"labs/lab/events?since={done['seq'] - 1}&limit=1").json["items"]
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
    ({}, "do", "do is missing"),
    ({"do": "kil"}, "do", "did you mean kill?"),
    ({"do": "kill"}, None, "exactly one of broker, node, leader_of"),
    ({"do": "kill", "broker": "x"}, "broker", "whole number"),
    ({"do": "kill", "broker": 9}, "broker", "broker-9"),
    ({"do": "kill", "broker": 1, "hard": True}, "hard", "unknown key"),
    ([], "body", "a list of 1 to 100 items, found 0 items"),
    ([{"do": "stop_all_faults"}, {"do": "kill", "broker": "x"}], "[1].broker", "whole number"),
    ([{"do": "stop_all_faults"}] * 101, "body", "a list of 1 to 100 items, found 101 items"),
    ("kill", "body", "found the text 'kill'"),
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
def test_what_is_not_json_is_refused_with_the_reason(rest: Rest, body: bytes) -> None:
    found = refused(rest.post("labs/lab/commands", body), 400, "body")
    assert found["detail"].startswith(("not JSON: ", "nested deeper than "))


# -- branches -------------------------------------------------------------------------------
def test_a_fork_goes_on_from_a_moment_with_other_commands_and_is_closed(rest: Rest) -> None:
    seq = rest.get("labs/lab").json["seq"]
    made = rest.post("labs/lab/forks?wait=30", {"seq": seq, "commands": [{"do": "kill", "broker": 1}]})
    assert made.status == 201, made.json
    fork = made.json["run"]
    assert (made.json["parent"], made.json["paused"], made.json["results"][0]["ok"]) == (rest.lab.run_id, True, True)
    there = rest.get(f"labs/lab/snapshot?run={fork}").json
    assert there["state"]["brokers"]["1"]["state"] == "stopped"
    assert rest.get("labs/lab/snapshot").json["state"]["brokers"]["1"]["state"] == "running"
    assert rest.get(f"labs/lab/events?run={fork}&since={seq}").json["items"][0][2] == "command"
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
    opened = rest.post(f"labs/lab/runs/{fork}/open?wait=30").json
    assert opened["parent"] == fork
    assert rest.delete(f"labs/lab/runs/{opened['run']}").status == 204


def test_a_fork_that_takes_longer_than_one_wants_to_wait_is_a_job_with_its_end(rest: Rest) -> None:
    taken = rest.post("labs/lab/forks?wait=0", {"commands": [{"do": "kill", "broker": 2}]})
    assert taken.status == 202 and taken.headers["Location"] == f"/api/jobs/{taken.json['id']}"
    job = rest.get(f"jobs/{taken.json['id']}?wait=30").json
    assert (job["kind"], job["state"], job["progress"]) == ("fork", "done", 1.0), job
    fork = job["result"]["run"]
    assert job["run"] == fork and job["result"]["results"][0]["ok"]
    assert fork in [one["run"] for one in rest.get("labs/lab/runs").json["open"]]
    assert rest.delete(f"labs/lab/runs/{fork}").status == 204
    taken = rest.post("labs/lab/forks?wait=0", {"commands": [{"do": "kill", "broker": 9}]})
    job = rest.get(f"jobs/{taken.json['id']}?wait=30").json
    assert (job["state"], job["error"]["place"]) == ("failed", "commands[0].broker"), job
    assert list(rest.lab.branches) == [rest.lab.run_id]


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


def test_why_a_batch_cannot_be_decoded_is_a_code_with_its_sentence() -> None:
    batch = bytearray(encode_batch([(0, None, b"whole", ())]))
    batch[21:23] = (7).to_bytes(2)  # a codec that there is not
    found = Found(1, 1, bytes(batch), 0, 1, 1, 1, True)
    for language, words in (("en", "7"), ("ko", "압축")):
        (shown,) = decode(found, 0, 10, False, language)["batches"]
        assert shown["error"]["code"] == "unknown_codec" and words in shown["error"]["text"], shown


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
