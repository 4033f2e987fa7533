"""Real answers of a live lab, held against the schemas that the description has for them."""

from __future__ import annotations

import copy
import json
import time
from typing import Any
from urllib.parse import quote, urlencode

import jsonschema_rs
import pytest
from tests.conftest import PATIENCE_S
from tests.web.live_rest import Rest, ended, produced, refused, rest

__all__ = ["rest"]

TRIAL = quote(json.dumps({"do": "set_client", "name": "producer-shown", "set": {"linger.ms": "5"}}))
INSPECTED = {
    "PartitionView": "of=partition&name=orders-0", "BrokerView": "of=broker&name=2", "GroupView": "of=group&name=shown",
    "ZnodeView": "of=znode&name=/controller",
    "FilesView": "of=files&name=orders-0@2", "BytesView": "of=bytes&name=orders-0@2:0", "ConfigView": "of=config&name=topic:orders",
    "TrialView": f"of=trial&name={TRIAL}", "MetricsView": "of=metrics&name=meaning", "FlightsView": "of=flights", "": "of=lights",
}  # fmt: skip


@pytest.fixture(scope="module")
def described(rest: Rest) -> dict[str, Any]:
    return rest.get("openapi.json").json


@pytest.fixture(scope="module")
def shown(rest: Rest) -> str:
    """A producer, a group, records; then broker 3 is down: objects in all their states."""
    produced(rest, "first", "second")
    for command in (
        {"do": "start_client", "name": "producer-shown", "kind": "producer", "topic": "orders", "rate": 20},
        {"do": "start_client", "name": "reader", "kind": "consumer", "topic": "orders",
         "settings": {"group.id": "shown", "auto.offset.reset": "earliest"}},
        {"do": "disk_full", "broker": 1, "directory": "elsewhere"},
    ):
        assert rest.post("labs/lab/commands", command).json["ok"]
    assert rest.events("group_state")
    return rest.lab.run_id


def schema_of(described: dict[str, Any], path: str, method: str = "get") -> dict[str, Any]:
    content = described["paths"][f"/api/{path}"][method]["responses"]
    return next(iter(next(content[status] for status in ("200", "201") if status in content)["content"].values()))["schema"]


def errors(described: dict[str, Any], schema: dict[str, Any], answer: Any) -> list[str]:
    whole = {**schema, "components": described["components"]}
    return [f"{error.instance_path}: {error.message}" for error in jsonschema_rs.Draft202012Validator(whole).iter_errors(answer)]


def conforms(described: dict[str, Any], path: str, answer: Any, status: int = 200, method: str = "get") -> Any:
    assert answer.status == status, answer
    assert errors(described, schema_of(described, path, method), answer.json) == []
    return answer.json


@pytest.mark.parametrize("kind", INSPECTED)
def test_what_is_inspected_has_exactly_the_shape_of_its_kind(rest: Rest, described: dict[str, Any], shown: str, kind: str) -> None:
    found = conforms(described, "labs/{lab}/inspect", rest.get(f"labs/lab/inspect?{INSPECTED[kind]}"))
    if kind:
        assert errors(described, {"$ref": f"#/components/schemas/{kind}"}, found["found"]) == []
    else:
        assert set(found["found"]["LeaderInIsr"]) == {"en", "ko"}


def test_a_broker_that_is_down_and_its_replicas_have_their_shape_too(rest: Rest, described: dict[str, Any], shown: str) -> None:
    fork = rest.post("labs/lab/forks?wait=30", {"commands": [{"do": "kill", "broker": 3}]})
    conforms(described, "labs/{lab}/forks", fork, 201, "post")
    run = fork.json["run"]
    down = conforms(described, "labs/{lab}/inspect", rest.get(f"labs/lab/inspect?of=broker&name=3&run={run}"))["found"]
    assert down["state"] == "stopped" and "config" not in down
    seen = conforms(described, "labs/{lab}/inspect", rest.get(f"labs/lab/inspect?of=partition&name=orders-0&run={run}"))["found"]
    assert [one["running"] for one in seen["replicas"] if one["broker"] == 3] == [False]
    conforms(described, "labs/{lab}/inspect", rest.get(f"labs/lab/inspect?of=flights&run={run}"))
    conforms(described, "labs/{lab}/compare", rest.get(f"labs/lab/compare?runs={run}&runs={shown}"))
    conforms(described, "runs/{run}/comparison", rest.get(f"runs/{shown}/comparison?other={run}"))
    rest.delete(f"labs/lab/runs/{run}")


def test_past_message_and_runs_have_their_shape(rest: Rest, described: dict[str, Any], shown: str) -> None:
    now = rest.get("labs/lab").json["seq"]
    past = conforms(described, "labs/{lab}/history", rest.get(f"labs/lab/history?seq={now}"))
    assert past["snap"] and past["ev"]
    assert conforms(described, "labs/{lab}/history", rest.get(f"labs/lab/history?seq={now}&after={past['last']}"))["snap"] is None
    told = conforms(described, "labs/{lab}/story", rest.get(f"labs/lab/story?seq={now}"))["ev"]
    assert {"topic_created", "leader_elected"} <= {row[2] for row in told} and all(row[0] <= now for row in told)
    sent = next(row for row in reversed(rest.get("labs/lab/events?codes=request_sent&limit=10000").json["items"])
                if row[5]["api"] == "Produce")  # fmt: skip
    wanted = {"seq": sent[0], "from": sent[3], "to": sent[5]["to"], "api": "Produce", "version": sent[5]["version"],
              "correlation": sent[5]["correlation"]}  # fmt: skip
    assert conforms(described, "labs/{lab}/message", rest.get(f"labs/lab/message?{urlencode(wanted)}"))["fields"]
    conforms(described, "runs/{run}", rest.get(f"runs/{shown}"))
    conforms(described, "labs/{lab}", rest.get("labs/lab"))
    conforms(described, "labs/{lab}/runs", rest.get("labs/lab/runs"))
    conforms(described, "labs/{lab}/snapshot", rest.get("labs/lab/snapshot"))


RECORDS = "labs/{lab}/topics/{topic}/records"


def test_records_of_every_kind_have_their_shape(rest: Rest, described: dict[str, Any], shown: str) -> None:
    """Keyed, null and long ones, compressed and plain batches, with and without fields; of a broker that is down."""
    for command in (
        {"do": "create_topic", "topic": "odd", "partitions": 1},
        {"do": "produce", "topic": "odd", "value": "x" * 70_000},
        {"do": "produce", "topic": "odd", "key": "k", "value": ""},
        {"do": "start_client", "name": "producer-odd", "kind": "producer", "topic": "odd", "rate": 50, "settings": {"compression.type": "gzip"}},
    ):
        conforms(described, "labs/{lab}/commands", rest.post("labs/lab/commands", command), method="post")
    deadline = time.monotonic() + PATIENCE_S
    while len(rest.get("labs/lab/topics/odd/records").json["batches"]) < 4 and time.monotonic() < deadline:
        time.sleep(0.1)
    for query in ("fields=true", "limit=2", "fields=true&offset=2"):
        page = conforms(described, RECORDS, rest.get(f"labs/lab/topics/odd/records?{query}"))
        assert page["batches"] and page["records"]
    first = rest.get("labs/lab/topics/odd/records").json["records"][0]["value"]
    assert first["cut"] and first["size"] == 70_000
    fork = rest.post("labs/lab/forks?wait=30", {"commands": [{"do": "kill", "broker": 2}, {"do": "random_halves"}]})
    results = conforms(described, "labs/{lab}/forks", fork, 201, "post")["results"]
    assert results[0]["node"] == "broker-2" and len(results[1]["halves"]) == 2
    down = conforms(described, RECORDS, rest.get(f"labs/lab/topics/odd/records?replica=2&run={fork.json['run']}"))
    assert (down["running"], down["high_watermark"], down["log_end_offset"]) == (False, None, None) and down["records"]
    for command in ({"do": "time", "speed": "pause"}, [{"do": "heal_link", "between": [1, 3]}, {"do": "stop_all_faults"}]):
        answer = rest.post(f"labs/lab/commands?run={fork.json['run']}", command)
        conforms(described, "labs/{lab}/commands", answer, method="post")
    rest.delete(f"labs/lab/runs/{fork.json['run']}")


def test_receipts_jobs_and_lists_have_their_shape(rest: Rest, described: dict[str, Any], shown: str) -> None:
    lost = ended(rest, rest.post("scenarios/acks-1/run", {}).json["id"])
    assert errors(described, schema_of(described, "jobs/{job}"), lost) == [] and lost["result"]["receipt"]["lost"] > 0
    document = {"duration": "1ms", "clients": [{"name": "producer-a", "kind": "producer", "topic": "none"}]}
    failed = ended(rest, rest.post("scenarios/run", {"document": document}).json["id"])
    assert errors(described, schema_of(described, "jobs/{job}"), failed) == []
    verdicts = (rest.get(f"runs/{lost['run']}/verify?wait=30") for _ in range(6))  # 202 on a slow machine
    conforms(described, "runs/{run}/verify", next(one for one in verdicts if one.status != 202))
    jobs = conforms(described, "jobs", rest.get("jobs"))["items"]
    assert {one["kind"] for one in jobs} >= {"scenario", "verify"}
    of_scenario = conforms(described, "runs/{run}/receipt", rest.get(f"runs/{lost['run']}/receipt"))
    assert of_scenario["places"]["lost"] and of_scenario["passed"] is True
    live = conforms(described, "runs/{run}/receipt", rest.get(f"runs/{shown}/receipt"))
    assert live["outside"]["batches"] == 0 and live["producers"]
    (rest.lab.data / "runs" / "0777").mkdir()
    (rest.lab.data / "runs" / "0777" / "run.json").write_text("{")
    listed = conforms(described, "runs", rest.get("runs"))["items"]
    assert {"error", "receipt", "kind"} <= {key for one in listed for key in one}
    conforms(described, "labs/{lab}/runs", rest.get("labs/lab/runs"))
    opened = conforms(described, "labs/{lab}/runs/{run}/open", rest.post(f"labs/lab/runs/{lost['run']}/open?wait=30", {}), 201, "post")
    rest.delete(f"labs/lab/runs/{opened['run']}")


@pytest.mark.parametrize("path", ["labs", "scenarios", "settings", "eras", "events-registry", "commands", "trace"])
def test_lists_that_can_be_looked_up_have_their_shape(rest: Rest, described: dict[str, Any], path: str) -> None:
    """Each holds something, but `resting`: no lab of before waits to be asked for; and `missing`: no row lacks anything."""
    lists = {key: value for key, value in conforms(described, path, rest.get(path)).items() if isinstance(value, list)}
    assert lists and all(value for key, value in lists.items() if key not in ("resting", "missing"))


def test_scenarios_have_their_shape(rest: Rest, described: dict[str, Any]) -> None:
    one = conforms(described, "scenarios/{name}", rest.get("scenarios/acks-1"))
    body = {"document": one["document"]}
    conforms(described, "scenarios/validate", rest.post("scenarios/validate", body), method="post")
    conforms(described, "scenarios/validate", rest.post("scenarios/validate", {"document": {}}), method="post")
    link = conforms(described, "scenarios/link", rest.post("scenarios/link", body), method="post")
    conforms(described, "scenarios/link/read", rest.post("scenarios/link/read", {"link": link["link"]}), method="post")


def test_a_key_that_nobody_has_described_is_found(rest: Rest, described: dict[str, Any], shown: str) -> None:
    answer = rest.get("labs/lab/inspect?of=partition&name=orders-0").json
    schema = schema_of(described, "labs/{lab}/inspect")
    assert errors(described, schema, answer) == []
    for change in (lambda found: found["replicas"][0].update(mood="good"), lambda found: found["truth"].pop("isr"),
                   lambda found: found.update(name=7)):
        other = copy.deepcopy(answer)
        change(other["found"])
        assert errors(described, schema, other)


def test_no_answer_but_those_of_spark_has_an_object_of_unknown_keys_in_it(described: dict[str, Any]) -> None:
    """Problems have keys of their kind (RFC 9457), run.json those of its run; all others are closed."""
    def reached(schema: Any, found: set[str]) -> set[str]:
        if isinstance(schema, dict):
            name = str(schema.get("$ref", "")).rpartition("/")[2]
            if name and name not in found:
                found.add(name)
                reached(described["components"]["schemas"][name], found)
        for one in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
            reached(one, found)
        return found

    names: set[str] = set()
    for methods in described["paths"].values():
        for one in methods.values():
            if one["tags"] != ["spark"]:
                reached([content for status, content in one["responses"].items() if status < "300"], names)
    free = {name for name in names if described["components"]["schemas"][name].get("additionalProperties") is True}
    assert free == {"RunFacts"} and {"RecordView", "Receipt", "ScenarioResult", "RunListed"} <= names


def test_no_operation_that_looks_answers_with_an_object_of_unknown_keys(described: dict[str, Any]) -> None:
    free = {f"{method} {path}" for path, methods in described["paths"].items() for method, one in methods.items()
            for status, response in one["responses"].items() if status == "200"
            for media in response.get("content", {}).values() if media["schema"].get("$ref", "").endswith("/Thing")}
    assert free == set()


def test_one_scenario_in_both_generations_has_its_shape(rest: Rest, described: dict[str, Any]) -> None:
    runs = []
    for controller in ("kraft", "zookeeper"):
        started = rest.post("scenarios/anatomy-of-a-failover/run", {"controller": controller}).json
        runs.append(ended(rest, started["id"])["run"])
    found = conforms(described, "runs/{run}/beside", rest.get(f"runs/{runs[0]}/beside?other={runs[1]}"))
    assert [(run["run"], run["generation"]) for run in found["runs"]] == [(runs[1], "zookeeper"), (runs[0], "kraft")]
    refused(rest.get(f"runs/{runs[0]}/beside?other={runs[0]}"), 409, None)
    refused(rest.get(f"runs/{runs[0]}/beside?other=9999"), 404, "run")
