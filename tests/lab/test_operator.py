"""Commands on a running world, what they refuse, and the snapshot that viewers get."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from broker_core.broker.stages import StageCosts
from broker_core.kernel.inputs import Command
from broker_core.kernel.problems import told
from broker_core.kernel.world import World
from broker_core.records.batch import decode_records
from broker_core.records.header import iterate_batches
from lab.clusters.build import build_world
from lab.clusters.checks import SpecError
from lab.clusters.observe import observe, observe_marks
from lab.clusters.spec import RunSpec, run_from_dict
from lab.clusters.vocabulary import check_command

S = 1_000_000
SPEC: dict[str, Any] = {
    "cluster": {
        "brokers": [{"id": 1, "rack": "a"}, {"id": 2, "rack": "b"}, {"id": 3, "rack": "c"}], "preset": "teaching",
    },
    "seed": 5,
    "clients": [{"name": "producer-a", "kind": "producer", "topic": "orders", "rate": 100}],
}


class Lab:
    def __init__(self, spec: RunSpec) -> None:
        self.spec = spec
        self.world: World = build_world(spec)
        self.run(1)

    def run(self, seconds: float) -> None:
        self.world.run_until(self.world.now_us + int(seconds * S))

    def do(self, **command: Any) -> dict[str, Any]:
        item = Command(command)
        self.world.inject(item)
        self.world.run_due()
        return item.result or {}

    def state(self) -> dict[str, Any]:
        state: dict[str, Any] = orjson.loads(orjson.dumps(observe(self.world, self.spec)))
        return state


@pytest.fixture
def lab() -> Iterator[Lab]:
    lab = Lab(run_from_dict(SPEC))
    lab.do(do="create_topic", topic="orders", partitions=2, replication_factor=3)
    lab.do(do="start_client", name="producer-a")
    lab.run(2)
    yield lab


def test_the_snapshot_has_what_the_screen_shows(lab: Lab) -> None:
    state = lab.state()
    assert set(state) == {
        "cluster", "time", "brokers", "topics", "groups", "clients", "connections", "znodes", "links",
        "transactions", "shares"}
    assert state["cluster"]["controller"] in (1, 2, 3) and state["cluster"]["preset"] == "teaching"
    assert state["brokers"]["2"] == {
        "id": 2, "node": "broker-2", "state": "running", "how": None, "registered": True, "fenced": False, "host": "127.0.0.1",
        "port": 9093, "rack": "b", "replica_selector": False, "incarnation": 1, "disk": [], "clock_ms": 0}
    partition = state["topics"]["orders"]["partitions"]["0"]
    assert partition["leader"] in (1, 2, 3) and sorted(partition["isr"]) == [1, 2, 3] and partition["min_isr"] == 1
    assert set(partition["logs"]) == {"1", "2", "3"}
    assert state["clients"]["producer-a"]["acked"] > 150 and state["clients"]["producer-a"]["state"] == "running"
    assert state["znodes"]["/controller"]["ephemeral"].startswith("broker-")
    logs = partition["logs"]["1"]
    assert observe_marks(lab.world)["orders-0"]["1"] == [logs["leo"], logs["hw"], logs["start"]]


def test_a_killed_leader_is_shown_and_another_one_is_elected(lab: Lab) -> None:
    before = lab.state()["topics"]["orders"]["partitions"]["0"]
    result = lab.do(do="kill", leader_of="orders-0")
    assert result["ok"] and result["node"] == f"broker-{before['leader']}"
    lab.run(8)
    state = lab.state()
    after = state["topics"]["orders"]["partitions"]["0"]
    assert after["leader"] != before["leader"] and after["leader_epoch"] > before["leader_epoch"]
    dead = state["brokers"][str(before["leader"])]
    assert (dead["state"], dead["how"], dead["registered"]) == ("stopped", "crash", False)
    assert lab.do(do="restart", broker=before["leader"])["ok"]
    lab.run(8)
    assert sorted(lab.state()["topics"]["orders"]["partitions"]["0"]["isr"]) == [1, 2, 3]


@pytest.mark.parametrize(
    ("command", "error", "place"),
    [
        ({"do": "kil"}, "unknown command 'kil'", "do"),
        ({"do": "kill"}, "kill: expected exactly one of broker, node, leader_of, follower_of, controller, found 0", ""),
        ({"do": "kill", "broker": 9}, "there is no broker-9, expected one of broker-1, broker-2, broker-3", "broker"),
        ({"do": "kill", "node": "broker-9"}, "there is no broker-9, expected one of zookeeper-1, broker-1", "node"),
        ({"do": "kill", "leader_of": "carts-0"}, "there is no partition carts-0", "leader_of"),
        ({"do": "resume", "broker": 1}, "broker-1 is not paused", "broker"),
        ({"do": "create_topic", "topic": "x", "partitions": 0}, "0 is below 1", "partitions"),
        ({"do": "create_topic", "topic": "x", "configs": {"no": 1}}, "Unknown topic config name: no", "configs.no"),
        ({"do": "delay_link", "between": [1, 1], "delay_ms": 5}, "both ends are the same node", "between"),
        ({"do": "delay_link", "between": [1, 2]}, "key 'delay_ms' is missing", ""),
        ({"do": "drop_link", "between": [1, 2], "probability": 2}, "2 is above 1", "probability"),
        ({"do": "start_client", "name": "nobody"}, "there is no client nobody", "name"),
        ({"do": "set_client", "name": "producer-a", "set": {"linger": 5}}, "unknown setting 'linger'", "set.linger"),
        ({"do": "set_stage_costs", "set": {"io_us": -1}}, "-1 is below 0", "set.io_us"),
        ({"do": "produce", "topic": "orders", "value": None, "headers": {"a": [1]}}, "expected a text", "headers.a"),
        ({"do": "restart", "broker": 1, "now": True}, "unknown key 'now'", "now"),
    ],
)
def test_a_command_that_cannot_be_carried_out_says_why_and_where(
    lab: Lab, command: dict[str, Any], error: str, place: str
) -> None:
    result = lab.do(**command)
    assert not result["ok"] and error in told(result["problem"]) and result["place"] == place
    lab.run(0.1)


def test_links_pauses_and_their_end(lab: Lab) -> None:
    lab.do(do="partition_link", between=[1, 2])
    lab.do(do="delay_link", between=["leader_of:orders-1", "followers_of:orders-1"], delay_ms=3, one_way=True)
    lab.do(do="pause", broker=3)
    links = {(one["from"], one["to"]): one for one in lab.state()["links"]}
    assert links[("broker-1", "broker-2")]["partitioned"] and links[("broker-2", "broker-1")]["partitioned"]
    assert sum(one["delay_us"] == 3000 for one in links.values()) == 2
    assert lab.state()["brokers"]["3"]["state"] == "paused"
    lab.do(do="stop_all_faults")
    assert lab.state()["links"] == [] and lab.state()["brokers"]["3"]["state"] == "running"


def test_topics_grow_and_go(lab: Lab) -> None:
    lab.do(do="add_partitions", topic="orders", partitions=4)
    lab.do(do="alter_config", topic="orders", set={"retention.ms": 5000})
    lab.run(1)
    orders = lab.state()["topics"]["orders"]
    assert len(orders["partitions"]) == 4 and orders["configs"] == {"retention.ms": "5000"}
    lab.do(do="stop_client", name="producer-a")
    lab.run(1)
    lab.do(do="delete_topic", topic="orders")
    lab.run(2)
    assert "orders" not in lab.state()["topics"]


def test_records_by_hand_reach_the_log(lab: Lab) -> None:
    for acks in ("all", "1", "0"):
        lab.do(do="produce", topic="orders", partition=1, key="k", value=f"hello {acks}", acks=acks)
    lab.run(1)
    rows = [row for row in lab.world.operations.rows if row["process"] == "operator" and row["op"] == "send"]
    assert sorted(row["texts"][0] for row in rows if row["kind"] == "ok") == ["hello 0", "hello 1", "hello all"]


def test_acks_that_no_broker_takes_are_refused_and_nothing_is_written(lab: Lab) -> None:
    lab.do(do="produce", topic="orders", partition=1, value="two", acks=2)
    lab.run(1)
    (row,) = [row for row in lab.world.operations.rows if row["process"] == "operator" and row["op"] == "send" and row["kind"] != "invoke"]
    assert (row["kind"], row["error"]) == ("fail", "INVALID_REQUIRED_ACKS")
    with pytest.raises(SpecError):
        check_command({"do": "produce", "topic": "orders", "value": "x", "acks": 1 << 15}, ())


def test_a_record_by_hand_may_be_a_tombstone_and_have_headers(lab: Lab) -> None:
    headers = {"source": "screen", "empty": None}
    lab.do(do="produce", topic="orders", partition=1, key="k", value=None, headers=headers)
    lab.run(1)
    leader = lab.state()["topics"]["orders"]["partitions"]["1"]["leader"]
    log = lab.world.nodes[f"broker-{leader}"].machine.partitions["orders", 1].log
    segment = log.segments[-1].log
    records = [one for batch in iterate_batches(segment.read(0, segment.size)) for one in decode_records(batch)]
    (found,) = [one for one in records if one.headers]
    assert (found.key, found.value, found.headers) == (b"k", None, (("source", b"screen"), ("empty", None)))
    rows = [row for row in lab.world.operations.rows if row["process"] == "operator" and row["op"] == "send"]
    assert [row["texts"] for row in rows if row["kind"] == "ok"] == [["null"]]


def test_stage_costs_hold_at_once_behind_a_restart_and_for_a_broker_that_joins() -> None:
    lab = Lab(run_from_dict({"cluster": {"brokers": 2, "stage_costs": {"io_us": 7}}, "seed": 5}))
    told: list[Any] = []
    lab.world.journal.watchers.append(lambda row: told.append(row[5]) if row[3] == "stage_costs_set" else None)
    lab.do(do="set_stage_costs", set={"network_us": 300})
    lab.do(do="restart", broker=2)
    assert lab.state()["cluster"]["stage_costs"] == {"network_us": 300, "io_us": 7}
    lab.do(do="add_broker", broker=3)
    lab.run(1)
    assert [lab.world.nodes[f"broker-{one}"].machine.pipeline.costs for one in (1, 2, 3)] == [StageCosts(300, 7)] * 3
    assert told == [{"network_us": 300, "io_us": 7}]


def test_a_producer_changes_its_rate_at_once_and_its_settings_by_a_new_start(lab: Lab) -> None:
    lab.do(do="set_client", name="producer-a", set={"rate": 500})
    before = lab.state()["clients"]["producer-a"]["acked"]
    lab.run(2)
    assert 950 <= lab.state()["clients"]["producer-a"]["acked"] - before <= 1010
    lab.do(do="set_client", name="producer-a", set={"acks": 1})
    lab.run(1)
    client = lab.state()["clients"]["producer-a"]
    assert client["settings"]["acks"] == "1" and client["acked"] > 300


def test_a_whole_world_can_be_pickled_and_goes_on_the_same_way(lab: Lab) -> None:
    lab.run(0.0123)
    copy: Lab = pickle.loads(pickle.dumps(lab))
    for each in (lab, copy):
        each.do(do="kill", broker=1)
        each.run(6)
    assert lab.world.seq == copy.world.seq
    assert lab.state() == copy.state()
