"""The metadata log, record by record: what each says, what it changed, and a snapshot that Apache Kafka has written."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from tests.worlds import do, run

from broker_core.kernel.errors import CommandError
from broker_core.kernel.world import World
from lab.clusters.build import build_world
from lab.clusters.inspect import inspect
from lab.clusters.spec import run_from_dict

CLUSTER = {"brokers": 3, "preset": "teaching", "controller": "kraft", "controllers": 3}
VECTORS = Path(__file__).parent.parent / "wire_vectors" / "cluster-metadata-4.3.json"


@pytest.fixture(scope="module")
def running() -> bytes:
    world = build_world(run_from_dict({"cluster": CLUSTER, "seed": 3}))
    run(world, 5)
    do(world, do="create_topic", topic="orders", assignment=[[1, 2, 3]])
    do(world, do="create_topic", topic="gone", assignment=[[1, 2]])
    run(world, 1)
    do(world, do="alter_config", topic="orders", set={"retention.ms": "60000"})
    do(world, do="delete_topic", topic="gone")
    do(world, do="kill", broker=1)
    run(world, 8)
    return pickle.dumps(world)


@pytest.fixture
def world(running: bytes) -> World:
    found: World = pickle.loads(running)
    return found


def found(world: World, what: str, name: str = "") -> Any:
    return json.loads(json.dumps(inspect(world, what, name)))["found"]


def records(world: World, node: str) -> list[dict[str, Any]]:
    every, place = [], f"{node}:0"
    while True:
        page = found(world, "metadata", place)
        every += page["records"]
        if page["next"] is None:
            return every
        place = f"{node}:{page['next']}"


def changes(world: World, one: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    told = found(world, "metadata_record", f"controller-101:{one['offset']}")["changes"]
    return {each["field"]: (each["before"], each["after"]) for each in told}


def test_every_record_is_read_once_and_all_copies_say_the_same(world: World) -> None:
    whole = {node: records(world, node) for node in ("controller-101", "controller-102", "broker-2")}
    assert [one["offset"] for one in whole["controller-101"]] == list(range(len(whole["controller-101"])))
    shortest = min(map(len, whole.values()))
    assert whole["controller-101"][:shortest] == whole["controller-102"][:shortest] == whole["broker-2"][:shortest]
    assert whole["controller-101"][0]["kind"] == "LEADER_CHANGE" and whole["controller-101"][0]["control"]
    assert not [one for one in whole["broker-2"] if one["error"] or not one["kind"]]


def test_without_a_name_the_end_of_the_leader_s_log_is_shown_and_pages_lead_back(world: World) -> None:
    page = found(world, "metadata")
    assert page["records"][-1]["offset"] == page["end"] - 1 and page["next"] is None
    earlier = found(world, "metadata", f"{page['node']}:{page['before']}") if page["before"] is not None else None
    assert earlier is None or earlier["records"][0]["offset"] == page["before"]
    assert page["committed"] <= page["end"] and page["applied"] < page["end"]


def test_what_was_said_last_is_found_behind_any_number_of_no_op_records(world: World) -> None:
    run(world, 60)
    assert {one["kind"] for one in found(world, "metadata")["records"]} == {"NO_OP_RECORD"}
    last = [one for one in records(world, "broker-2") if one["kind"] != "NO_OP_RECORD"][-1]
    for place in (":last", "broker-2:last"):
        page = found(world, "metadata", place)
        assert last["offset"] in [one["offset"] for one in page["records"]] and len(page["records"]) == 100
        assert found(world, "metadata", f"{page['node']}:{page['next']}")["records"][0]["kind"] == "NO_OP_RECORD"


def test_without_a_name_and_while_nobody_leads_the_copy_of_a_voter_that_runs_is_shown(world: World) -> None:
    node = found(world, "metadata")["node"]
    do(world, do="kill", node=node)
    shown = found(world, "metadata", ":last")
    assert shown["node"] in {"controller-101", "controller-102", "controller-103"} - {node} and shown["records"]


def test_what_a_record_has_changed_is_told_with_what_was_there_before(world: World) -> None:
    every = records(world, "controller-101")
    turn = next(one for one in every if one["kind"] == "PARTITION_CHANGE_RECORD" and one["about"]["name"] == "orders-0"
                and one["data"].get("leader", -2) > 0)
    moved = changes(world, turn)
    assert moved["leader"] == (1, turn["data"]["leader"]) and moved["leader_epoch"] == (0, 1)
    made = next(one for one in every if one["kind"] == "PARTITION_RECORD" and one["about"]["name"] == "orders-0")
    assert changes(world, made)["replicas"] == (None, [1, 2, 3])
    setting = next(one for one in every if one["kind"] == "CONFIG_RECORD" and one["about"]["name"] == "topic:orders")
    assert changes(world, setting) == {"retention.ms": (None, "60000")}
    fenced = [one for one in every if one["about"] == {"kind": "broker", "name": "1"}][-1]
    assert changes(world, fenced)["fenced"] == (False, True)
    calm = next(one for one in every if one["kind"] == "NO_OP_RECORD")
    assert calm["about"] is None and changes(world, calm) == {}


def test_a_topic_that_is_gone_keeps_its_name(world: World) -> None:
    removed = next(one for one in records(world, "broker-2") if one["kind"] == "REMOVE_TOPIC_RECORD")
    assert removed["about"] == {"kind": "topic", "name": "gone"}
    assert changes(world, removed)["partitions"] == (1, None)


def test_who_votes_who_follows_who_is_fenced_and_who_lags_is_told(world: World) -> None:
    do(world, do="pause", broker=3)
    run(world, 4)
    replicas = {one["id"]: one for one in found(world, "metadata")["replicas"]}
    assert sorted(replicas) == [2, 3, 101, 102, 103]  # broker 1 is dead
    assert [one for one in replicas if replicas[one]["voter"]] == [101, 102, 103]
    assert replicas[3]["lag"] > 3 > replicas[2]["lag"] and replicas[3]["caught_up_ms"] > 2000
    assert replicas[3]["fenced"] is True and replicas[2]["fenced"] is False and replicas[101]["fenced"] is None


def test_a_voter_that_is_gone_is_listed_where_its_leader_has_seen_it_last(world: World) -> None:
    gone = next(one for one in found(world, "metadata")["replicas"] if one["state"] == "follower" and one["voter"])
    do(world, do="kill", node=gone["node"])
    run(world, 4)
    now = next(one for one in found(world, "metadata")["replicas"] if one["id"] == gone["id"])
    assert (now["node"], now["state"], now["voter"], now["epoch"], now["applied"]) == (gone["node"], "gone", True, None, None)
    assert gone["leo"] <= now["leo"] < gone["leo"] + 8 and now["lag"] >= 6 and now["caught_up_ms"] >= 3500


def test_a_snapshot_that_kafka_has_written_is_read_record_by_record(world: World) -> None:
    name = "00000000000000000108-0000000001.checkpoint"
    vector = json.loads(VECTORS.read_text())[name]
    storage = world.nodes["controller-102"].storage
    storage.open(f"data/__cluster_metadata-0/{name}").append([bytes.fromhex(vector["bytes"])])
    page = found(world, "metadata", f"controller-102:{name}")
    assert page["file"] == name and name in [one["file"] for one in page["snapshots"]]
    kinds = [one["kind"] for one in page["records"]]
    assert kinds[0] == "SNAPSHOT_HEADER" and kinds[-1] == "SNAPSHOT_FOOTER" and "REGISTER_BROKER_RECORD" in kinds
    said = [line for line in vector["dump"] if '"type":' in line]
    assert [one["data"] for one in page["records"] if not one["control"]] == [
        json.loads(line.partition("payload: ")[2])["data"] for line in said
    ]
    broker = next(one for one in page["records"] if one["kind"] == "REGISTER_BROKER_RECORD")
    made = found(world, "metadata_record", f"controller-102:{name}:{broker['offset']}")["changes"]
    assert {"field": "epoch", "before": None, "after": broker["data"]["brokerEpoch"]} in made


@pytest.mark.parametrize(("what", "name", "code"), [
    ("metadata", "broker-1", "no_metadata_copy"), ("metadata", "operator", "no_metadata_copy"),
    ("metadata", "controller-101:x.checkpoint", "expected_metadata_place"),
    ("metadata", "controller-101:1:2", "expected_metadata_place"),
    ("metadata_record", "controller-101:999999", "no_metadata_record"), ("metadata_record", "controller-101", "no_metadata_record"),
])  # fmt: skip
def test_what_is_not_there_is_said(world: World, what: str, name: str, code: str) -> None:
    with pytest.raises(CommandError) as refused:
        inspect(world, what, name)
    assert refused.value.problem["code"] == code


def test_with_zookeeper_there_is_no_such_log() -> None:
    world = build_world(run_from_dict({"cluster": {"brokers": 1, "preset": "teaching"}, "seed": 3}))
    run(world, 2)
    with pytest.raises(CommandError) as refused:
        inspect(world, "metadata", "")
    assert refused.value.problem["code"] == "no_metadata_log"
