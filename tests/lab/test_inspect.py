"""One object looked at closely: what the inspector of the screen shows, as plain data."""

from __future__ import annotations

import json
import pickle
import re
from typing import Any

import pytest
from tests.worlds import do, run

from broker_core.clients.settings import names
from broker_core.kernel.errors import CommandError
from broker_core.kernel.world import World
from broker_core.log.dump import dump
from broker_core.metadata.configs import BROKER_SETTINGS, TOPIC_SETTINGS, BrokerConfig
from broker_core.metadata.configs_group import WORDS as OF_GROUPS_ALONE
from broker_core.metadata.configs_topics import describe_topic
from broker_core.records.header import iterate_batches
from lab.clusters.build import build_world
from lab.clusters.client_spec import SETTINGS_OF
from lab.clusters.inspect import inspect
from lab.clusters.meanings import korean, of_clients
from lab.clusters.observe import observe, partitions_of
from lab.clusters.progress import observe_progress
from lab.clusters.spec import run_from_dict
from lab.clusters.tails import BATCHES
from lab.feed import PROGRESS_EVERY, JournalFeed

SPEC = {
    "cluster": {"brokers": 3, "preset": "teaching"},
    "seed": 3,
    "clients": [
        {"name": "producer-a", "kind": "producer", "topic": "orders", "rate": 50},
        {"name": "reader", "kind": "consumer", "topic": "orders", "settings": {"group.id": "g"}},
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def running() -> bytes:
    world = build_world(run_from_dict(SPEC))
    run(world, 5)
    do(world, do="create_topic", topic="orders", partitions=2, replication_factor=3, configs={"min.insync.replicas": "2"})
    run(world, 1)
    do(world, do="start_client", name="producer-a")
    do(world, do="start_client", name="reader")
    run(world, 8)
    return pickle.dumps(world)


@pytest.fixture
def world(running: bytes) -> World:
    found: World = pickle.loads(running)
    return found


def found(world: World, what: str, name: str = "") -> Any:
    answer = inspect(world, what, name)
    return json.loads(json.dumps(answer))["found"]


def test_a_partition_shows_equal_replicas_and_nobody_who_differs(world: World) -> None:
    seen = found(world, "partition", "orders-0")
    assert len(seen["replicas"]) == 3 and len({one["hash"] for one in seen["replicas"]}) == 1
    assert sum(one["leads"] for one in seen["replicas"]) == 1
    followers = [one for one in seen["replicas"] if not one["leads"]]
    assert all(0 <= one["caught_up_ms"] <= seen["lag_time_max_ms"] for one in followers)
    assert {one["who"] for one in seen["beliefs"]} == {"tree", "controller", "cache", "replica", "client"}
    assert [one["client"] for one in seen["beliefs"] if one["who"] == "client"] == ["producer-a", "reader"]
    assert [one for one in seen["beliefs"] if one["differs"]] == []


def test_who_was_cut_off_believes_in_the_past(world: World) -> None:
    leader = found(world, "partition", "orders-0")["truth"]["leader"]
    do(world, do="isolate", broker=leader)
    run(world, 30)
    seen = found(world, "partition", "orders-0")
    assert seen["truth"]["leader"] != leader
    wrong = [(one["who"], one["broker"], one["leader"]) for one in seen["beliefs"] if "leader" in one["differs"]]
    assert ("cache", leader, leader) in wrong and ("replica", leader, leader) in wrong
    assert {one["leader"] for one in seen["beliefs"] if one["who"] == "client"} == {seen["truth"]["leader"]}


def test_a_client_that_nobody_reaches_believes_in_a_leader_that_is_gone(world: World) -> None:
    leader = found(world, "partition", "orders-0")["truth"]["leader"]
    for broker in (1, 2, 3):
        do(world, do="partition_link", between=["producer-a", f"broker-{broker}"])
    do(world, do="kill", broker=leader)
    run(world, 30)
    seen = found(world, "partition", "orders-0")
    said = {one["client"]: one for one in seen["beliefs"] if one["who"] == "client"}
    assert said["producer-a"]["leader"] == leader and said["producer-a"]["differs"] == ["leader", "leader_epoch"]
    assert said["reader"]["leader"] == seen["truth"]["leader"] and said["reader"]["differs"] == []
    do(world, do="kill", node="producer-a")
    assert [one["client"] for one in found(world, "partition", "orders-0")["beliefs"] if one["who"] == "client"] == ["reader"]


def test_a_client_has_a_belief_of_what_it_asks_for_only_and_none_of_epochs_that_nobody_tells(world: World) -> None:
    do(world, do="create_topic", topic="other", partitions=1, replication_factor=3)
    run(world, 1)
    assert not [one for one in found(world, "partition", "other-0")["beliefs"] if one["who"] == "client"]
    world.nodes["reader"].machine.metadata.topics["orders"].epochs[0] = -1  # as Metadata below version 7 leaves it
    said = [one for one in found(world, "partition", "orders-0")["beliefs"] if one["client"] == "reader"]
    assert (said[0]["leader_epoch"], said[0]["differs"]) == (None, [])
    del world.nodes["reader"].machine.metadata.topics["orders"]
    said = [one for one in found(world, "partition", "orders-0")["beliefs"] if one["client"] == "reader"]
    assert (said[0]["leader"], said[0]["differs"]) == (None, ["leader"])


def test_a_broker_shows_changed_settings_disks_connections_and_its_pipeline(world: World) -> None:
    seen = found(world, "broker", "2")
    assert {one["name"] for one in seen["config"]} >= {"replica.lag.time.max.ms"}
    assert seen["disks"][0]["online"] and seen["disks"][0]["segments"] >= 2
    assert any(one["client_id"] for one in seen["connections"]) and seen["pipeline"]["done"] > 0
    do(world, do="disk_full", broker=2)
    do(world, do="kill", broker=2)
    stopped = found(world, "broker", "2")
    assert stopped["state"] == "stopped" and stopped["faults"][0]["kind"] == "full" and "config" not in stopped


def test_a_broker_shows_its_fetch_sessions(world: World) -> None:
    leader = found(world, "partition", "orders-0")["truth"]["leader"]
    seen = found(world, "broker", str(leader))["sessions"]
    assert seen["slots"] == 1000 and seen["used"] == len(seen["list"]) and seen["evictions"] == 0
    assert sum(one["follower"] for one in seen["list"]) == 2 and sum(not one["follower"] for one in seen["list"]) >= 1
    assert all(one["epoch"] > 1 and one["partitions"] >= one["dirty"] >= 0 for one in seen["list"])


def test_a_dump_is_what_kafkas_tool_prints_page_by_page(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lab.clusters.inspect_dump.LINES", 20)
    files = found(world, "files", "orders-0@1")["segments"][0]["files"]
    segment = world.nodes["broker-1"].machine.partitions["orders", 0].log.segments[0]
    place, lines = 0, ["Dumping " + segment.log.path, "Log starting offset: 0"]
    for _ in range(100):
        page = found(world, "dump", f"orders-0@1:{files[0][0]}:{place}")
        lines += page["lines"]
        if page["next"] is None:
            break
        place = page["next"]
    assert place > 0 and lines == list(dump(segment.log, deep=True))
    index = found(world, "dump", f"orders-0@1:{files[1][0]}")
    assert index["lines"][0].startswith("Dumping ") and index["next"] is None
    for name in ("orders-0@1:nothing.log", "orders-0@9:x.log", "orders@1:x.log", "orders-0@1:x.log:y", "nonsense"):
        with pytest.raises(CommandError):
            inspect(world, "dump", name)


def test_the_balance_counts_leaders_replicas_and_bytes_and_names_moves(world: World) -> None:
    before = found(world, "balance")
    assert [one["broker"] for one in before["brokers"]] == [1, 2, 3] and before["moving"] == {}
    assert sum(one["leads"] for one in before["brokers"]) == sum(one["preferred"] for one in before["brokers"])
    assert all(one["bytes"] > 0 for one in before["brokers"])
    leader = found(world, "partition", "orders-0")["truth"]["leader"]
    do(world, do="kill", broker=leader)
    run(world, 10)
    after = {one["broker"]: one for one in found(world, "balance")["brokers"]}
    assert after[leader]["leads"] == 0 and after[leader]["bytes"] is None
    assert after[leader]["astray"] == after[leader]["preferred"] > 0
    here, there = [broker for broker in (1, 2, 3) if broker != leader]
    do(world, do="create_topic", topic="solo", assignment=[[here]])
    do(world, do="partition_link", between=[here, there])
    run(world, 1)
    do(world, do="reassign", topic="solo", partition=0, replicas=[there])
    run(world, 1)
    assert found(world, "balance")["moving"] == {"solo-0": {"adding": [there], "removing": [here]}}


def test_files_config_and_group(world: World) -> None:
    files = found(world, "files", "orders-0@1")
    assert files["segments"][-1]["active"] and files["segments"][0]["files"][0][0] == "0" * 20 + ".log"
    topic = {one["name"]: one for one in found(world, "config", "topic:orders")["entries"]}
    least = topic["min.insync.replicas"]
    assert (least["value"], least["default"], least["source"], least["changed"]) == ("2", "1", "TOPIC", True)
    assert not topic["retention.ms"]["changed"]
    assert len(found(world, "config", "broker:1")["entries"]) > 150
    group = found(world, "group", "g")
    assert group["members"][0]["leads"] and group["members"][0]["session_left_ms"] > 0


def test_a_new_member_that_waits_in_a_join_is_shown_with_the_time_that_it_has(world: World) -> None:
    do(world, do="start_client", name="consumer-new", kind="consumer", topic="orders", settings={"group.id": "g"})
    for _ in range(5_000):
        assert world.step(world.now_us + 1_000_000)
        waiting = [one for one in found(world, "group", "g")["members"] if one["waits"] == "join"]
        if any(one["session_left_ms"] > 60_000 for one in waiting):
            break
    assert [one["session_timeout_ms"] for one in waiting if one["session_left_ms"] > 60_000] == [300_000]


def test_a_znode_shows_its_data_its_owner_and_who_watches_it(world: World) -> None:
    seen = found(world, "znode", "/controller")
    owner = f"broker-{seen['data']['brokerid']}"
    assert seen["there"] and seen["format"] == "json" and seen["owner"]["client"] == owner and seen["version"] == 0
    assert sorted(seen["watches"]["data"]) == ["broker-1", "broker-2", "broker-3"] and seen["watches"]["children"] == []
    ids = found(world, "znode", "/brokers/ids")
    assert (ids["children"], ids["format"], ids["owner"], ids["size"]) == (3, "none", None, 0)
    assert ids["watches"]["children"] == [owner]
    state = found(world, "znode", "/brokers/topics/orders/partitions/0/state")
    assert state["data"]["leader"] == found(world, "partition", "orders-0")["truth"]["leader"] and state["size"] > 50
    # Exists leaves a watch where nothing is: the controller waits for an election.
    waits = found(world, "znode", "/admin/preferred_replica_election")
    assert not waits["there"] and waits["watches"]["data"] == [owner] and "data" not in waits


def test_a_watch_is_gone_with_the_connection_of_its_watcher(world: World) -> None:
    controller = found(world, "znode", "/controller")["data"]["brokerid"]
    do(world, do="kill", broker=controller % 3 + 1)
    run(world, 1)
    assert f"broker-{controller % 3 + 1}" not in found(world, "znode", "/controller")["watches"]["data"]


def test_a_group_shows_positions_beside_what_is_committed(world: World) -> None:
    run(world, 4)  # between two automatic commits, 5 s apart
    seen = found(world, "group", "g")
    assert [(one["client_id"], one["topic"], one["partition"]) for one in seen["positions"]] == [("reader", "orders", 0), ("reader", "orders", 1)]
    ahead = [one["offset"] - seen["offsets"]["orders"][str(one["partition"])] for one in seen["positions"]]
    assert min(ahead) >= 0 and sum(ahead) > 50, seen
    assert sum(one["offset"] for one in seen["positions"]) > 100
    do(world, do="kill", node="reader")
    assert found(world, "group", "g")["positions"] == []


def test_metrics_and_lights_come_with_their_meaning_in_both_languages(world: World) -> None:
    assert found(world, "metrics")["meaning"] is None
    meaning = found(world, "metrics", "meaning")["meaning"]
    assert all(one["en"] and one["ko"] for one in meaning.values())
    assert all(one["en"] and one["ko"] for one in found(world, "lights").values())


def test_the_bytes_of_a_batch_come_with_its_fields(world: World) -> None:
    seen = found(world, "bytes", "orders-0@1:3")
    assert seen["batch"]["fields"][0]["name"] == "baseOffset" and seen["search"]["entries"] >= 0


@pytest.mark.parametrize(
    ("what", "name"),
    [("partition", "orders-9"), ("partition", "x"), ("broker", "7"), ("group", "none"), ("znode", "/nowhere"), ("znode", ""), ("files", "orders-0@9"),
     ("config", "topic:none"), ("config", "broker:9"), ("config", "client:nobody"), ("config", "x"), ("soup", ""),
     ("trial", "{"), ("trial", '{"do": "kill", "broker": 1}'), ("trial", '{"do": "soup"}'),
     ("bytes", "orders-0@1:99999"), ("bytes", "orders-0@1")],
)  # fmt: skip
def test_what_is_not_there_is_refused_with_a_reason(world: World, what: str, name: str) -> None:
    with pytest.raises(CommandError):
        inspect(world, what, name)


def test_a_client_shows_its_settings_with_what_it_was_given(world: World) -> None:
    producer = {one["name"]: one for one in found(world, "config", "client:producer-a")["entries"]}
    assert producer["enable.idempotence"]["value"] == "true" and producer["enable.idempotence"]["type"] == "BOOLEAN"
    assert float(producer["rate"]["value"]) == 50
    reader = {one["name"]: one for one in found(world, "config", "client:reader")["entries"]}
    assert reader["group.id"]["changed"] and reader["group.id"]["value"] == "g" and "rate" not in reader


@pytest.mark.parametrize(
    ("command", "refused"),
    [({"do": "set_client", "name": "producer-a", "set": {"enable.idempotence": "false", "rate": 5}}, None),
     ({"do": "set_client", "name": "producer-a", "set": {"linger.ms": None}}, None),
     ({"do": "set_client", "name": "producer-a", "set": {"linger.msec": 5}}, ("linger.ms", "set.linger.msec")),
     ({"do": "set_client", "name": "producer-a", "set": {"rate": "often"}}, ("expected a number", "set.rate")),
     ({"do": "set_client", "name": "reader", "set": {"heartbeat.interval.ms": 60000}}, ("session.timeout.ms", "set.heartbeat.interval.ms")),
     ({"do": "set_client", "name": "nobody", "set": {"acks": 1}}, ("there is no client", "name")),
     ({"do": "alter_config", "topic": "orders", "set": {"flush.messages": 1}}, None),
     ({"do": "alter_config", "topic": "orders", "set": {"min.insync.replicas": None}}, None),
     ({"do": "alter_config", "topic": "orders", "set": {"flush.mesages": 1}}, ("flush.messages", "set.flush.mesages")),
     ({"do": "alter_config", "topic": "orders", "set": {"flush.messages": "x"}}, ("Invalid value", "set.flush.messages")),
     ({"do": "alter_config", "topic": "none", "set": {"flush.messages": 1}}, ("there is no topic", "topic")),
     ({"do": "alter_config", "broker": 2, "set": {"log.flush.interval.messages": 1}}, None),
     ({"do": "alter_config", "broker": 2, "set": {"zookeeper.session.timeout.ms": 9000}},
      ("is read when a broker starts", "set.zookeeper.session.timeout.ms"))],
)  # fmt: skip
def test_a_trial_says_what_the_command_would_be_refused_with_and_changes_nothing(
    world: World, command: dict[str, Any], refused: tuple[str, str] | None
) -> None:
    before = pickle.dumps(world)
    if refused is None:
        assert found(world, "trial", json.dumps(command))["command"]["do"] == command["do"]
    else:
        with pytest.raises(CommandError, match=refused[0]) as error:
            inspect(world, "trial", json.dumps(command))
        assert error.value.place == refused[1]
    assert pickle.dumps(world) == before


def test_progress_is_told_a_few_times_a_second_and_only_when_something_moved(world: World) -> None:
    texts: list[str] = []
    feed = JournalFeed(world.journal, dict, None, lambda: observe_progress(world))
    feed.subscribe(1, lambda batch: texts.append(batch.text))
    for _ in range(PROGRESS_EVERY * 2):
        feed.flush(world.seq, world.now_us)
    assert len(texts) == 1
    params = json.loads(texts[0])[0][5]
    assert params["clients"]["producer-a"]["acked"] > 0 and params["pipelines"]["1"]["handlers"] == 8


def test_every_setting_says_what_it_means_in_both_languages() -> None:
    broker = BrokerConfig({})
    entries = [*describe_topic({}, broker), *(broker.describe(name) for name in broker.names())]
    assert all(one.doc for one in entries)
    assert {one.name for one in entries} <= set(korean()) == {*BROKER_SETTINGS, *TOPIC_SETTINGS, *OF_GROUPS_ALONE}
    assert all(re.search("[가-힣]", text) and text.endswith(".") for text in korean().values())


def test_every_setting_of_a_client_says_what_it_means_in_both_languages(world: World) -> None:
    known = {name for kind in SETTINGS_OF.values() for name in names(kind)} | {"rate", "size", "keys"}
    assert of_clients().keys() == known
    for name, texts in of_clients().items():
        assert texts["en"].endswith(".") and re.search("[가-힣].*[.]$", texts["ko"]), name
    entries = {one["name"]: one for one in found(world, "config", "client:producer-a")["entries"]}
    assert entries["linger.ms"]["doc"].startswith("How long a batch") and "배치" in entries["linger.ms"]["ko"]


def test_a_snapshot_tells_the_last_batches_of_each_replica(world: World) -> None:
    """So that a page that comes later, or looks at the past, has something to compare."""
    partitions = observe(world, run_from_dict(SPEC))["topics"]["orders"]["partitions"]
    longest = 0
    for number, one in partitions.items():
        for broker, marks in one["logs"].items():
            file = partitions_of(world.nodes[f"broker-{broker}"])["orders", int(number)].log.segments[-1].log
            headers = [batch.header for batch in iterate_batches(file.peek(0, file.size))]
            assert marks["tail"] == [[head.base_offset, head.last_offset, head.crc, head.size] for head in headers[-BATCHES:]]
            longest = max(longest, len(headers))
    assert longest > BATCHES
    internal = observe(world, run_from_dict(SPEC))["topics"]["__consumer_offsets"]["partitions"]
    assert not any("tail" in marks for one in internal.values() for marks in one["logs"].values())


def test_looking_at_the_last_batches_does_not_set_off_a_fault_of_the_disk(world: World) -> None:
    do(world, do="disk_read_error", broker=1, times=1)
    before = world.journal.count
    tail = observe(world, run_from_dict(SPEC))["topics"]["orders"]["partitions"]["0"]["logs"]["1"]["tail"]
    assert len(tail) == BATCHES and world.journal.count == before
    assert [rule["kind"] for rule in observe(world, run_from_dict(SPEC))["brokers"]["1"]["disk"]] == ["read_error"]


def test_a_log_that_was_just_loaded_has_its_last_batches(world: World) -> None:
    do(world, do="stop_client", name="producer-a")
    run(world, 1)
    tail = observe(world, run_from_dict(SPEC))["topics"]["orders"]["partitions"]["0"]["logs"]["2"]["tail"]
    do(world, do="stop", broker=2)
    run(world, 3)
    do(world, do="restart", broker=2)
    run(world, 3)
    assert observe(world, run_from_dict(SPEC))["topics"]["orders"]["partitions"]["0"]["logs"]["2"]["tail"] == tail
