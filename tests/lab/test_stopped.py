"""Snapshots of stopped brokers, and that the page's reducers come to the same logs as the snapshots."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.worlds import Driven

from broker_core.kernel.journal import Row
from broker_core.kernel.storage import File
from broker_core.kernel.world import World
from broker_core.log.scan import headers_from
from broker_core.records.header import BatchHeader
from lab.checkers.committed import add_committed
from lab.checkers.invariants import InvariantMonitor
from lab.clusters import stopped
from lab.clusters.build import build_world
from lab.clusters.observe import brokers, log_marks, observe
from lab.clusters.spec import RunSpec, run_from_dict
from lab.clusters.tails import BATCHES, SMALL_BYTES
from lab.stops import Stops

REDUCE_JS = Path(__file__).parents[2] / "static" / "model" / "reduce.js"
SCRIPT = """
import { readFileSync } from "node:fs";
const { eventOf, reduce } = await import(process.argv[1]);
const { state, rows } = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(reduce(state, rows.map((row) => eventOf(row, 0))).topics));
"""
SPEC: dict[str, Any] = {
    "cluster": {"brokers": [{"id": 1}, {"id": 2}, {"id": 3}], "preset": "teaching"},
    "seed": 7,
    "clients": [{"name": "producer-a", "kind": "producer", "topic": "orders", "rate": 100, "settings": {"acks": "all"}}],
}


class Lab(Driven):
    """A cluster with a topic and a producer, and what its journal says from a moment on."""

    def __init__(self, **configs: str) -> None:
        self.spec: RunSpec = run_from_dict(SPEC)
        self.world: World = build_world(self.spec)
        self.rows: list[list[Any]] = []
        self.stops = Stops(self.world, self.spec)
        self.world.journal.watchers.append(self._heard)
        self.run(1)
        self.do(do="create_topic", topic="orders", partitions=1, replication_factor=3, configs=configs)
        self.do(do="start_client", name="producer-a")
        self.run(3)

    def handed_out(self) -> list[list[Any]]:
        """What has happened as viewers get it, with rows that are not the journal's."""
        self.stops.look()
        rows: list[Row] = [(seq, t, node, code, cause, params) for seq, t, code, node, cause, params in self.rows]
        return [[seq, t, code, node, cause, params] for seq, t, node, code, cause, params in self.stops.among(rows)]

    def _heard(self, row: Row) -> None:
        seq, t, node, code, cause, params = row
        self.rows.append([seq, t, code, node, cause, params])

    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(json.dumps(observe(self.world, self.spec)))
        return found


    def reduced(self, node: str, state: dict[str, Any], rows: list[list[Any]] | None = None) -> dict[str, Any]:
        """The topics of `state` after what has happened since, or after `rows`, as the page has them."""
        given = json.dumps({"state": state, "rows": self.rows if rows is None else rows})
        call = [node, "--input-type=module", "-e", SCRIPT, REDUCE_JS.as_uri()]
        done = subprocess.run(call, input=given, capture_output=True, text=True, check=True)
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def loaded(self) -> list[tuple[int, int]]:
        """(end, start) of each time that the topic's log was loaded."""
        found = [row[5] for row in self.rows if row[2] == "log_loaded" and row[5]["topic"] == "orders"]
        return [(one["end"], one["start"]) for one in found]

    def settle(self) -> None:
        """Nobody writes any more, and the high watermarks are on the disks."""
        self.do(do="stop_client", name="producer-a")
        self.run(7)


def logs(topics: dict[str, Any]) -> dict[tuple[str, str], tuple[int, int, int]]:
    """(partition, broker) -> log end, high watermark, start."""
    return {
        (number, broker): (log["leo"], log["hw"], log["start"])
        for number, partition in topics["orders"]["partitions"].items() for broker, log in partition["logs"].items()
    }  # fmt: skip


def batches(topics: dict[str, Any]) -> dict[tuple[str, str], Any]:
    """(partition, broker) -> the last batches."""
    return {
        (number, broker): log["tail"][-5:]
        for number, partition in topics["orders"]["partitions"].items() for broker, log in partition["logs"].items()
    }  # fmt: skip


@pytest.mark.parametrize("how", ["kill", "stop"])
def test_a_stopped_broker_keeps_its_logs_in_the_snapshot(how: str) -> None:
    lab = Lab()
    lab.settle()
    before = lab.state()["topics"]
    lab.do(do=how, broker=2)
    lab.run(5)
    state = lab.state()
    assert state["brokers"]["2"]["state"] == "stopped"
    assert logs(state["topics"]) == logs(before) and batches(state["topics"]) == batches(before)
    assert logs(before)["0", "2"][0] > 10 and logs(before)["0", "2"][0] == logs(before)["0", "2"][1]
    assert set(log_marks(lab.world, "orders", 0)) == {1, 3}  # who asks for running replicas gets those alone


def test_of_a_crash_under_load_the_snapshot_tells_what_the_next_start_reads() -> None:
    lab = Lab()
    lab.do(do="kill", broker=2)
    end, mark, start = logs(lab.state()["topics"])["0", "2"]
    assert 0 == start <= mark < end
    lab.rows.clear()
    lab.do(do="restart", broker=2)
    while not lab.loaded():
        lab.world.run_until(lab.world.now_us + 1)
    assert lab.loaded() == [(end, start)]
    assert log_marks(lab.world, "orders", 0).get(2, {"hw": mark})["hw"] >= mark


def test_what_was_committed_stays_committed_in_the_snapshot_when_all_have_crashed() -> None:
    lab = Lab()
    monitor = InvariantMonitor(lab.world)
    lab.do(do="stop_client", name="producer-a")
    lab.run(0.5)
    state = lab.state()["topics"]
    mark = max(hw for _, hw, _ in logs(state).values())
    for broker in (1, 2, 3):
        lab.do(do="kill", broker=broker)
    crashed = lab.state()["topics"]
    add_committed(crashed, monitor.view)
    assert crashed["orders"]["partitions"]["0"]["committed"] == mark
    assert max(hw for _, hw, _ in logs(crashed).values()) < mark  # what their disks remember


def test_after_a_power_loss_the_snapshot_tells_what_is_left() -> None:
    lab = Lab(**{"flush.messages": "10"})
    before = logs(lab.state()["topics"])
    lab.do(do="power_loss", broker=2)
    left = logs(lab.state()["topics"])
    assert 0 < left["0", "2"][0] < before["0", "2"][0]
    assert left["0", "2"][1] <= left["0", "2"][0]
    assert left["0", "1"][0] >= before["0", "1"][0]


def test_a_torn_power_loss_is_told_as_recovery_finds_it() -> None:
    lab = Lab(**{"segment.bytes": "4096"})
    lab.do(do="power_loss", broker=2, torn=True)
    end, mark, start = logs(lab.state()["topics"])["0", "2"]
    assert start <= mark <= end
    lab.rows.clear()
    lab.do(do="restart", broker=2)
    lab.run(8)  # it waits for its old session to end
    assert lab.loaded() == [(end, start)]


def test_what_happens_to_the_disks_of_a_stopped_broker_is_seen() -> None:
    lab = Lab()
    lab.do(do="kill", broker=1)
    marks = lab.state()["topics"]["orders"]["partitions"]["0"]["logs"]["1"]
    lab.do(do="bit_flip", broker=1, topic="orders", partition=0, offset=0)
    cut = lab.state()["topics"]["orders"]["partitions"]["0"]["logs"]["1"]
    assert (marks["leo"] > 0, cut["leo"]) == (True, 0)
    lab.do(do="wipe", broker=1)
    assert "1" not in lab.state()["topics"]["orders"]["partitions"]["0"]["logs"]


LONG: dict[str, list[dict[str, Any]]] = {
    "kill": [{"do": "kill"}],
    "stop": [{"do": "stop"}],
    "power_loss": [{"do": "power_loss"}],
    "torn": [{"do": "power_loss", "torn": True}],
    "bit flipped before": [{"do": "bit_flip", "topic": "orders", "partition": 0, "offset": 150}, {"do": "kill"}],
    "bit flipped after": [{"do": "kill"}, {"do": "bit_flip", "topic": "orders", "partition": 0, "offset": 150}],
    "no flush is true": [{"do": "lost_fsync"}, {"do": "power_loss"}],
    "index lost": [{"do": "kill"}, {"do": "lose_index", "topic": "orders", "partition": 0}],
    "index torn": [{"do": "kill"}, {"do": "lose_index", "topic": "orders", "partition": 0, "torn": True}],
    "started, killed": [{"do": "power_loss", "torn": True}, {"do": "restart"}, {"do": "kill"}],
    "checked, killed": [{"do": "power_loss", "torn": True}, {"do": "restart"}, {"do": "wait"}, {"do": "kill"}],
}


@pytest.mark.parametrize("what", LONG)
def test_of_a_long_log_the_end_alone_is_read_and_says_what_all_of_it_says(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = Lab(**{"segment.bytes": "262144", "index.interval.bytes": "128"})
    lab.run(1)
    for step in LONG[what]:
        lab.run(8) if step["do"] == "wait" else lab.do(**step, broker=2)
    node = next(node for broker, node in brokers(lab.world) if broker == 2)
    read: list[int] = []

    def counted(file: File, position: int, end: int) -> Iterator[tuple[int, BatchHeader]]:
        for one in headers_from(file, position, end):
            read.append(one[0])
            yield one

    monkeypatch.setattr(stopped, "headers_from", counted)
    near = dict(stopped.Reading(node.storage, True).directory("data", ()))
    few = len(read)
    assert dict(stopped.Reading(node.storage, False).directory("data", ())) == near
    if what in ("kill", "stop", "checked, killed"):
        assert few < 100 < len(read) - few


def test_looking_at_stopped_brokers_changes_nothing() -> None:
    seen, unseen = Lab(), Lab()
    for lab in (seen, unseen):
        lab.do(do="disk_read_error", broker=2, times=1)
        lab.do(do="kill", broker=2)
        if lab is seen:
            disk = lab.state()["brokers"]["2"]["disk"]
            assert [rule["kind"] for rule in disk] == ["read_error"] and lab.state()["brokers"]["2"]["disk"] == disk
        lab.do(do="restart", broker=2)
        lab.run(8)
    assert seen.rows == unseen.rows


@pytest.mark.parametrize("how", ["kill", "stop", "power_loss"])
def test_the_page_comes_to_the_logs_of_the_snapshot_over_a_stop_and_a_restart(
    how: str, require_program: Callable[[str], str]
) -> None:
    node = require_program("node")
    lab = Lab()
    lab.settle()
    first = lab.state()
    lab.rows.clear()
    lab.do(do=how, broker=2)
    lab.run(5)
    stopped = lab.state()
    if how != "power_loss":  # what a power loss has left is known when the broker loads it
        assert logs(lab.reduced(node, first)) == logs(stopped["topics"])
    lab.do(do="start_client", name="producer-a")
    lab.run(1)
    lab.do(do="stop_client", name="producer-a")
    lab.do(do="restart", broker=2)
    lab.run(8)
    restarted = lab.state()["topics"]
    assert logs(restarted)["0", "2"] == logs(restarted)["0", "1"]
    assert logs(lab.reduced(node, first)) == logs(restarted)
    assert batches(lab.reduced(node, first)) == batches(restarted)


@pytest.mark.parametrize("how", ["kill", "power_loss"])
def test_a_page_that_saw_a_crash_under_load_has_what_lies_on_the_disks_from_the_end_of_the_process_on(
    how: str, require_program: Callable[[str], str]
) -> None:
    node = require_program("node")
    lab = Lab(**{"flush.messages": "10"})
    first = lab.state()
    lab.rows.clear()
    lab.do(do=how, broker=2)
    behind = lab.handed_out()
    on_disk = logs(lab.state()["topics"])["0", "2"]
    end = next(index for index, row in enumerate(behind) if row[2] == "process_ended")
    before = logs(lab.reduced(node, first, behind[:end]))["0", "2"]
    assert before[1] > on_disk[1]  # the checkpoint is older than what the process knew
    assert logs(lab.reduced(node, first, behind[: end + 1]))["0", "2"] == on_disk
    assert logs(lab.reduced(node, first, behind))["0", "2"] == on_disk
    assert [row for row in behind if row[2] != "stopped_logs"] == lab.rows


def test_a_page_opened_while_a_broker_is_stopped_has_the_marks_of_its_start(require_program: Callable[[str], str]) -> None:
    """Right behind the start of the broker, before anything is fetched: what it read from its checkpoint is committed."""
    lab = Lab()
    lab.settle()
    lab.do(do="kill", broker=2)
    lab.run(5)
    stopped = lab.state()
    lab.rows.clear()
    lab.do(do="restart", broker=2)
    while not lab.loaded():
        lab.world.run_until(lab.world.now_us + 1)
    found = lab.reduced(require_program("node"), stopped)
    assert logs(found)["0", "2"] == logs(stopped["topics"])["0", "2"] == logs(lab.state()["topics"])["0", "2"]
    assert logs(found)["0", "2"][1] == logs(found)["0", "2"][0] > 0


def test_a_large_log_that_was_just_loaded_has_its_last_batches() -> None:
    lab = Lab()
    lab.run(6)
    lab.settle()
    before = lab.state()["topics"]
    size = lab.world.nodes["broker-2"].storage.open("data/orders-0/00000000000000000000.log").size
    assert size > 2 * SMALL_BYTES and len(before["orders"]["partitions"]["0"]["logs"]["2"]["tail"]) == BATCHES
    lab.do(do="stop", broker=2)
    lab.run(5)
    assert batches(lab.state()["topics"]) == batches(before)
    lab.do(do="restart", broker=2)
    lab.run(5)
    assert batches(lab.state()["topics"]) == batches(before)


def test_indexes_are_lost_while_a_broker_is_stopped_and_made_anew_when_it_starts() -> None:
    lab = Lab(**{"segment.bytes": "4096", "index.interval.bytes": "512"})
    lab.do(do="stop", broker=2)
    storage = lab.world.nodes["broker-2"].storage
    files = [f"data/orders-0/{name}" for name in storage.list("data/orders-0") if name.endswith((".index", ".timeindex"))]
    held = {path: bytes(storage.open(path).read(0, 1 << 20)) for path in files}
    assert len(files) > 4 and len(held[files[0]]) >= 16
    for torn in (True, False):
        found = files[:2]
        lab.do(do="lose_index", broker=2, topic="orders", partition=0, offset=0, torn=torn)
        assert [storage.exists(path) for path in found] == [torn, torn]
        lab.rows.clear()
        lab.do(do="restart", broker=2)
        lab.run(8)
        rebuilt = [row[5]["file"] for row in lab.rows if row[2] == "index_rebuilt"]
        assert rebuilt == [files[0].rpartition("/")[2]]
        assert all(bytes(storage.open(path).read(0, 1 << 20)) == held[path] for path in found)
        lab.do(do="stop", broker=2)
