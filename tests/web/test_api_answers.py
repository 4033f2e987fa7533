"""Real answers of a live lab, held against the schemas that the description has for them."""

from __future__ import annotations

import copy
import json
from typing import Any
from urllib.parse import quote, urlencode

import jsonschema_rs
import pytest
from tests.web.live_rest import Rest, produced, rest

__all__ = ["rest"]

TRIAL = quote(json.dumps({"do": "set_client", "name": "producer-shown", "set": {"linger.ms": "5"}}))
INSPECTED = {
    "PartitionView": "of=partition&name=orders-0", "BrokerView": "of=broker&name=2", "GroupView": "of=group&name=shown",
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
    fork = rest.post("labs/lab/forks", {"commands": [{"do": "kill", "broker": 3}]})
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
    sent = next(row for row in reversed(rest.get("labs/lab/events?codes=request_sent&limit=10000").json["events"])
                if row[5]["api"] == "Produce")  # fmt: skip
    wanted = {"seq": sent[0], "from": sent[3], "to": sent[5]["to"], "api": "Produce", "version": sent[5]["version"],
              "correlation": sent[5]["correlation"]}  # fmt: skip
    assert conforms(described, "labs/{lab}/message", rest.get(f"labs/lab/message?{urlencode(wanted)}"))["fields"]
    conforms(described, "runs/{run}", rest.get(f"runs/{shown}"))
    conforms(described, "labs/{lab}", rest.get("labs/lab"))
    conforms(described, "labs/{lab}/runs", rest.get("labs/lab/runs"))
    conforms(described, "labs/{lab}/snapshot", rest.get("labs/lab/snapshot"))
    conforms(described, "labs/{lab}/topics/{topic}/records", rest.get("labs/lab/topics/orders/records?fields=true"))


def test_a_key_that_nobody_has_described_is_found(rest: Rest, described: dict[str, Any], shown: str) -> None:
    answer = rest.get("labs/lab/inspect?of=partition&name=orders-0").json
    schema = schema_of(described, "labs/{lab}/inspect")
    assert errors(described, schema, answer) == []
    for change in (lambda found: found["replicas"][0].update(mood="good"), lambda found: found["truth"].pop("isr"),
                   lambda found: found.update(name=7)):
        other = copy.deepcopy(answer)
        change(other["found"])
        assert errors(described, schema, other)


def test_no_operation_that_looks_answers_with_an_object_of_unknown_keys(described: dict[str, Any]) -> None:
    free = {f"{method} {path}" for path, methods in described["paths"].items() for method, one in methods.items()
            for status, response in one["responses"].items() if status == "200"
            for media in response.get("content", {}).values() if media["schema"].get("$ref", "").endswith("/Thing")}
    assert free == set()
