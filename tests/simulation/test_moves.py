"""AlterReplicaLogDirs in running clusters: a replica moves between two disks of its broker, whatever happens meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from broker_core.broker.handlers import log_dirs
from broker_core.cluster.kraft.publishing import BrokerPublisher
from broker_core.kernel.errors import StorageError
from broker_core.kernel.names import OPERATOR
from broker_core.kernel.storage_memory import MemoryStorage
from broker_core.log import LogConfig, PartitionLog
from broker_core.log.log_manager import LogManager
from broker_core.replication.moves import _cut
from broker_core.wire import messages as m
from lab.clusters import observe
from lab.clusters.build import build_world
from lab.clusters.spec import run_from_dict
from lab.truth import truth_of
from tests.log.logs import NOW, batch, offsets
from tests.worlds import Driven

GENERATIONS = ["zookeeper", "kraft"]


class Lab(Driven):
    """Two brokers with the directories a and b; orders-0 lies in a of both, broker 1 leads. A copy takes some seconds."""

    def __init__(self, controller: str, latency_ms: int = 50) -> None:
        own = {"metadata.log.dir": "m"} if controller == "kraft" else {}
        self.world = build_world(run_from_dict({
            "cluster": {"brokers": 2, "controller": controller, "preset": "teaching",
                        "settings": {"log.dirs": "a,b", "replica.fetch.max.bytes": 1024, **own}},
            "clients": [{"name": "producer-a", "kind": "producer", "topic": "orders", "rate": 50, "settings": {"acks": "all"}}],
        }))  # fmt: skip
        self.run(2)
        self.do(do="create_topic", topic="orders", assignment=[[1, 2]])
        self.run(1)
        self.do(do="start_client", name="producer-a")
        self.run(3)
        if latency_ms:
            self.do(do="slow_disk", broker=1, directory="b", latency_ms=latency_ms)

    @property
    def broker(self) -> Any:
        return self.world.nodes["broker-1"].machine

    @property
    def directory(self) -> str:
        path: str = observe.partitions_of(self.world.nodes["broker-1"])["orders", 0].log.directory
        return path

    @property
    def future(self) -> PartitionLog | None:
        found: PartitionLog | None = self.broker.log_manager.futures.get("orders", 0)
        return found

    @property
    def state(self) -> dict[str, Any]:
        state = truth_of(self.world).partition_state("orders", 0)
        assert state is not None
        return state

    def move(self, directory: str = "b", topic: str = "orders", partition: int = 0) -> str:
        """What the broker says: "" or an error."""
        number = self.do(do="move_replica", broker=1, topic=topic, partition=partition, directory=directory)["id"]
        results = self.world.nodes[OPERATOR].machine.results
        self.until(lambda: number in results)
        return str(results[number].get("error", ""))

    def until(self, wanted: Callable[[], Any], seconds: float = 30, step: float = 0.05) -> None:
        end = self.world.now_us + int(seconds * 1e6)
        while not wanted():
            assert self.world.now_us < end, "it does not come about"
            self.run(step)

    def events(self, code: str) -> list[dict[str, Any]]:
        return [row[5] for row in self.world.journal.tail if row[3] == code and row[2] == "broker-1"]

    def described(self) -> dict[str, tuple[bool, int]]:
        """Directory -> whether orders-0 is a copy there, and its lag."""
        answers: list[Any] = []
        log_dirs.describe(self.broker, SimpleNamespace(body=m.DescribeLogDirsRequest(topics=None), respond=answers.append))
        return {result.log_dir: (one.is_future_key, one.offset_lag) for result in answers[0].results
                for topic in result.topics if topic.name == "orders" for one in topic.partitions}

    def assigned(self) -> str | None:
        """Where a KRaft controller thinks that the replica lies."""
        number = truth_of(self.world)._topic("orders").partitions[0].directories[0]
        known = self.broker.cluster.process.directories()
        return next((log_dir for log_dir, one in known.items() if one == number), None)


@pytest.mark.parametrize("controller", GENERATIONS)
def test_a_replica_moves_while_it_leads_and_is_written(controller: str) -> None:
    lab = Lab(controller)
    assert lab.events("replica_placed") == [{"topic": "orders", "partition": 0, "directory": "a"}]
    assert lab.move() == "" and lab.directory == "a/orders-0"
    lab.run(0.3)
    lag = lab.described()["/b"]
    assert lag[0] and lag[1] > 0 and lab.described()["/a"] == (False, 0)
    assert lab.broker.partitions["orders", 0].low_watermark == 0
    end = lab.broker.partitions["orders", 0].log.log_end_offset
    lab.until(lambda: lab.directory == "b/orders-0")
    assert lab.future is None and lab.described() == {"/b": (False, 0)}
    assert [(one["before"], one["directory"]) for one in lab.events("replica_moved")] == [("a", "b")]
    lab.run(2)
    partition = lab.broker.partitions["orders", 0]
    assert partition.log.log_end_offset > end + 50 and lab.state["leader"] == 1 and lab.state["isr"] == [1, 2]
    assert partition.log.content_hash(end) == observe.partitions_of(lab.world.nodes["broker-2"])["orders", 0].log.content_hash(end)
    if controller == "kraft":
        assert lab.assigned() == "b"
    lab.do(do="restart", broker=1)
    lab.until(lambda: ("orders", 0) in observe.partitions_of(lab.world.nodes["broker-1"]), 60)
    assert lab.directory == "b/orders-0"


@pytest.mark.parametrize("controller", GENERATIONS)
def test_a_restart_goes_on_with_what_was_copied(controller: str) -> None:
    lab = Lab(controller)
    lab.move()
    lab.until(lambda: lab.future is not None and lab.future.log_end_offset > 20)
    lab.do(do="restart", broker=1)
    lab.until(lambda: len(lab.events("replica_move_begun")) == 2, 60)
    again = lab.events("replica_move_begun")[1]
    assert 20 < again["reached"] < again["end"] and (again["before"], again["directory"]) == ("a", "b")
    lab.until(lambda: lab.directory == "b/orders-0", 60)


def test_a_move_to_which_the_controller_had_agreed_is_finished_by_the_next_start() -> None:
    lab = Lab("kraft")
    lab.move()
    lab.until(lambda: lab.assigned() == "b", step=0.0002)
    assert lab.future is not None and lab.directory == "a/orders-0", "told, and not carried out yet"
    lab.do(do="restart", broker=1)
    lab.until(lambda: lab.broker is not None and ("orders", 0) in lab.broker.partitions, 60)
    assert lab.directory == "b/orders-0" and lab.future is None
    assert len(lab.events("replica_moved")) == 1


@pytest.mark.parametrize("controller", GENERATIONS)
def test_a_directory_that_fails_ends_what_moves_there_and_nothing_else(controller: str) -> None:
    lab = Lab(controller)
    lab.move()
    lab.run(0.2)
    lab.do(do="disk_write_error", broker=1, directory="b")
    lab.until(lambda: lab.broker.log_manager.offline_dirs)
    assert lab.future is None and [one["reason"] for one in lab.events("replica_move_ended")] == ["log directory offline"]
    lab.run(2)
    assert lab.state["leader"] == 1 and lab.directory == "a/orders-0"
    assert lab.move() == "KAFKA_STORAGE_ERROR"
    if controller == "kraft":
        assert lab.assigned() == "a"


@pytest.mark.parametrize("controller", GENERATIONS)
@pytest.mark.parametrize("on_call", range(1, 7))
def test_a_copy_that_a_disk_has_left_half_made_does_not_take_its_log_with_it(controller: str, on_call: int) -> None:
    lab = Lab(controller, latency_ms=0)
    lab.do(do="disk_full", broker=1, directory="b", on_call=on_call, once=True)
    lab.move()
    lab.run(1)
    lab.do(do="repair_disk", broker=1)
    lab.do(do="stop_client", name="producer-a")
    lab.run(3)
    end = observe.partitions_of(lab.world.nodes["broker-2"])["orders", 0].log.log_end_offset
    lab.do(do="kill", broker=2)
    lab.do(do="restart", broker=1)
    lab.until(lambda: lab.broker is not None and ("orders", 0) in lab.broker.partitions, 60)
    lab.run(5)
    assert lab.broker.partitions["orders", 0].log.log_end_offset == end > 100
    assert lab.events("segment_deleted") == []


@pytest.mark.parametrize("controller", GENERATIONS)
def test_a_replica_that_may_lie_in_an_offline_directory_is_not_made_a_second_time_elsewhere(controller: str) -> None:
    """Else both would be there when the disk works again, and the broker would not start."""
    lab = Lab(controller, latency_ms=0)
    lab.do(do="disk_write_error", broker=1, directory="a")
    lab.until(lambda: lab.state["leader"] == 2)
    lab.do(do="restart", broker=1)
    lab.run(5)
    for replicas in ([2], [2, 1]):
        lab.do(do="reassign", topic="orders", partition=0, replicas=replicas)
        lab.run(3)
    lab.do(do="repair_disk", broker=1)
    lab.do(do="restart", broker=1)
    lab.until(lambda: sorted(lab.state["isr"]) == [1, 2], 60)
    assert lab.directory == "a/orders-0"


@pytest.mark.parametrize("controller", GENERATIONS)
def test_a_replica_whose_own_directory_fails_is_gone_though_a_copy_is_on_its_way(controller: str) -> None:
    lab = Lab(controller)
    lab.move()
    lab.run(0.2)
    lab.do(do="disk_write_error", broker=1, directory="a")
    lab.until(lambda: lab.state["leader"] == 2)
    assert [one["reason"] for one in lab.events("replica_move_ended")] == ["log directory offline"]
    assert lab.move() == "KAFKA_STORAGE_ERROR"
    lab.do(do="repair_disk", broker=1)
    lab.do(do="restart", broker=1)
    lab.until(lambda: sorted(lab.state["isr"]) == [1, 2] and lab.directory == "b/orders-0", 60)


@pytest.mark.parametrize("controller", GENERATIONS)
def test_a_broker_with_two_logs_of_a_partition_does_not_start(controller: str) -> None:
    lab = Lab(controller, latency_ms=0)
    lab.do(do="kill", broker=1)
    node = lab.world.nodes["broker-1"]
    PartitionLog(node.storage, "b/orders-0", "orders", 0, LogConfig(), NOW).append_as_leader(batch(), 0, NOW)
    lab.do(do="restart", broker=1)
    lab.until(lambda: node.how_stopped == "halted")
    told = lab.events("disk_fault")[-1]
    assert told["operation"] == "start" and told["error"] == "duplicate log directories: a/orders-0, b/orders-0"


@pytest.mark.parametrize("controller", GENERATIONS)
def test_a_deleted_topic_takes_its_copy_along(controller: str) -> None:
    lab = Lab(controller)
    lab.move()
    lab.run(0.2)
    lab.do(do="delete_topic", topic="orders")
    lab.until(lambda: lab.broker.log_manager.all_logs() == [])
    lab.run(1)
    assert [one["reason"] for one in lab.events("replica_move_ended")] == ["replica stopped"]


def test_what_can_be_asked_for_and_what_is_said() -> None:
    lab = Lab("zookeeper")
    assert lab.move("c") == "LOG_DIR_NOT_FOUND"
    assert lab.move("a") == "" and lab.future is None, "it lies there"
    assert lab.move(topic="nothing") == "UNKNOWN_TOPIC_OR_PARTITION"
    assert lab.broker.replicas.moves.alter("x" * 240, 0, "b").name == "INVALID_TOPIC_EXCEPTION"
    assert lab.move() == "" and lab.move() == "" and len(lab.events("replica_move_begun")) == 1
    assert lab.move("a") == "" and lab.future is None
    assert [one["reason"] for one in lab.events("replica_move_ended")] == ["asked for"]
    lab.run(10)
    assert lab.directory == "a/orders-0" and lab.events("replica_moved") == []


def test_a_replica_that_comes_later_lies_where_it_was_wished_for() -> None:
    lab = Lab("zookeeper", latency_ms=0)
    lab.do(do="create_topic", topic="later", assignment=[[2]])
    lab.run(1)
    emptiest = min("ab", key=[lab.broker.log_manager.dir_of(one) for one in lab.broker.log_manager.logs()].count)
    other = "b" if emptiest == "a" else "a"
    assert lab.move(other, topic="later") == "REPLICA_NOT_AVAILABLE"
    lab.do(do="reassign", topic="later", partition=0, replicas=[1])
    lab.until(lambda: lab.broker.log_manager.get("later", 0) is not None)
    assert lab.broker.log_manager.get("later", 0).directory == f"{other}/later-0"


def test_a_copy_gives_up_what_the_log_has_given_up() -> None:
    """The log was cut while nobody copied, and another leader has written behind the cut: epochs tell."""
    storage = MemoryStorage()
    current, future = (PartitionLog(storage, f"{one}/orders-0", "orders", 0, LogConfig(), NOW) for one in "ab")
    for log in (current, future):
        log.append_as_leader(batch(5), 1, NOW)
    future.append_as_leader(batch(4), 2, NOW)
    current.append_as_leader(batch(9), 3, NOW)
    move: Any = SimpleNamespace(partition=SimpleNamespace(log=current), future=future)
    _cut(move)
    assert offsets(future) == [0, 1, 2, 3, 4] and future.leader_epochs.latest_epoch == 1
    current.truncate_to(3)
    _cut(move)
    assert future.log_end_offset == 3 and offsets(future) == offsets(current) == [], "batches go as a whole"


def test_copies_below_a_directory_that_fails_while_they_are_put_in_place_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both were agreed to, and the first rename takes their directory away."""
    logs, there, ids = LogManager(MemoryStorage(), ["a", "b"], LogConfig(), 1), UUID(int=7), {"x": UUID(int=1), "y": UUID(int=2)}
    for topic, topic_id in ids.items():
        logs.futures.wish(topic, 0, "a")
        logs.get_or_create(topic, 0, topic_id=topic_id, now_ms=NOW)
        logs.futures.wish(topic, 0, "b")
        logs.futures.create(topic, 0, NOW)
    held = SimpleNamespace(partitions={0: SimpleNamespace(replicas=[1], directories=[there])})
    member: Any = SimpleNamespace(broker_id=1, replicas=SimpleNamespace(log_manager=logs), node=SimpleNamespace(wall_ms=lambda: NOW))
    publisher = BrokerPublisher(member)
    publisher.directories = {"b": there}

    def refuse(log: PartitionLog, to: str) -> None:
        raise StorageError(to, "rename", "no")

    monkeypatch.setattr(PartitionLog, "move_directory", refuse)
    image: Any = SimpleNamespace(topics=dict.fromkeys(ids.values(), held))
    publisher._recover_abandoned(image)
    assert logs.live_dirs() == ["a"] and logs.futures.logs() == []
    assert [log.directory for log in logs.logs()] == ["a/x-0", "a/y-0"]
