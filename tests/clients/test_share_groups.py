"""Share groups over TCP: five workers, one of them Java's, empty a topic while one dies; Kafka's console consumer and tool."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from broker_core.records import encode_batch
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.errors import ErrorCode as E
from lab.clusters.spec import run_from_dict
from lab.live import LiveLab
from tests.clients.conftest import Running
from tests.conftest import PATIENCE_S, free_ports
from tests.oracle.asking import Connection

ACCEPT, RELEASE = 1, 2
SETTINGS = {
    "offsets.topic.num.partitions": "3", "offsets.topic.replication.factor": "1", "group.share.record.lock.duration.ms": "15000",
    "share.coordinator.state.topic.num.partitions": "3", "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "broker.session.timeout.ms": "60000",  # on a machine that stands still for a while the one broker is not fenced
}  # fmt: skip
GROUP, RECORDS = "workers", 60
Place = tuple[int, int]
"""Partition and offset; of stretches first and last one."""


@pytest.fixture
def bootstrap(tmp_path: Path) -> Iterator[str]:
    cluster = {"brokers": 1, "controllers": 1, "controller": "kraft", "port": free_ports(101), "settings": SETTINGS}
    started = LiveLab(run_from_dict({"cluster": cluster, "epoch_ms": time.time_ns() // 1_000_000}), tmp_path)
    yield started.start().bootstrap
    started.stop()


class Admin:
    """Makes the topic, fills it, and lets the group begin at its start."""

    def __init__(self, address: str) -> None:
        self.connection = Connection(address, 30)
        topic = m.CreateTopicsRequest.CreatableTopic(name="jobs", num_partitions=2, replication_factor=1)
        self.until(ApiKey.CREATE_TOPICS, 5, m.CreateTopicsRequest(topics=[topic], timeout=10_000), lambda answer: answer.topics[0].error_code in (0, 36))
        metadata = m.MetadataRequest(topics=[m.MetadataRequest.MetadataRequestTopic(name="jobs")])
        known = self.until(ApiKey.METADATA, 12, metadata, lambda answer: not answer.topics[0].error_code and len(answer.topics[0].partitions) == 2)
        self.topic_id: uuid.UUID = known.topics[0].topic_id
        change = m.IncrementalAlterConfigsRequest
        config = change.AlterableConfig(name="share.auto.offset.reset", config_operation=0, value="earliest")
        resource = change.AlterConfigsResource(resource_type=32, resource_name=GROUP, configs=[config])
        assert not self.connection.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, change(resources=[resource])).responses[0].error_code
        find = m.FindCoordinatorRequest(key_type=0, coordinator_keys=[GROUP])
        self.until(ApiKey.FIND_COORDINATOR, 4, find, lambda answer: not answer.coordinators[0].error_code)
        self.written = 0
        self.write(RECORDS)

    def write(self, count: int) -> None:
        """More jobs, in both partitions by turns."""
        p = m.ProduceRequest
        for number in range(self.written, self.written + count):
            data = p.PartitionProduceData(index=number % 2, records=encode_batch([(0, None, b"job %d" % number, ())]))
            topics = [p.TopicProduceData(name="jobs", partition_data=[data])]
            self.until(ApiKey.PRODUCE, 9, p(acks=-1, timeout=5000, transactional_id=None, topic_data=topics),
                       lambda answer: not answer.responses[0].partition_responses[0].error_code)  # fmt: skip
        self.written += count

    def lag(self) -> int:
        """Records of both partitions that were not acknowledged yet (KIP-1226: the start offset that is stored may lie further back)."""
        kind = m.DescribeShareGroupOffsetsRequest
        topics = [kind.DescribeShareGroupOffsetsRequestTopic(topic_name="jobs", partitions=[0, 1])]
        asked = kind(groups=[kind.DescribeShareGroupOffsetsRequestGroup(group_id=GROUP, topics=topics)])
        (answer,) = self.connection.ask(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, 1, asked).groups
        return sum(one.lag for topic in answer.topics for one in topic.partitions)

    def until(self, key: int, version: int, message: Any, wanted: Any) -> Any:
        deadline = time.monotonic() + 60
        while not wanted(answer := self.connection.ask(key, version, message)):
            assert time.monotonic() < deadline, answer
            time.sleep(0.05)
        return answer


class Worker:
    """A member that takes a few records at a time, until `over`. `dies_with`: it goes away when it has had so many, and says nothing."""

    def __init__(self, address: str, topic_id: uuid.UUID, done: dict[Place, str], over: threading.Event, dies_with: int = 1 << 30) -> None:
        self.name = str(uuid.uuid4())
        self.connection = Connection(address, 30)
        self.topic_id = topic_id
        self.done = done
        self.over = over
        self.had = 0
        self.dies_with = dies_with
        self.member_epoch = self.session = 0
        self.mine: list[int] = []
        self.left: dict[int, list[Place]] = {}
        self.thread = threading.Thread(target=self.work)

    def work(self) -> None:
        deadline = time.monotonic() + 3 * PATIENCE_S
        while (not self.over.is_set() or self.left) and self.had < self.dies_with and time.monotonic() < deadline:
            self.heartbeat()
            if self.mine:
                self.left = self.turn(self.left)
        self.connection.close()

    def heartbeat(self) -> None:
        names = ["jobs"] if self.member_epoch == 0 else None
        request = m.ShareGroupHeartbeatRequest(group_id=GROUP, member_id=self.name, member_epoch=self.member_epoch, subscribed_topic_names=names)
        answer = self.connection.ask(ApiKey.SHARE_GROUP_HEARTBEAT, 1, request)
        assert answer.error_code == 0, answer
        self.member_epoch = answer.member_epoch
        if answer.assignment is not None:
            self.mine = [number for one in answer.assignment.topic_partitions for number in one.partitions]
        time.sleep(0.05)

    def turn(self, acknowledged: dict[int, list[Place]]) -> dict[int, list[Place]]:
        """A fetch that says what was done with the records of the last one; what it got."""
        kind = m.ShareFetchRequest
        numbers = self.mine if self.session == 0 else list(acknowledged)
        parts = [
            kind.FetchPartition(partition_index=number, acknowledgement_batches=[
                kind.AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=[ACCEPT])
                for first, last in acknowledged.get(number, ())
            ]) for number in numbers
        ]  # fmt: skip
        topics = [kind.FetchTopic(topic_id=self.topic_id, partitions=parts)] if parts else []
        request = kind(group_id=GROUP, member_id=self.name, share_session_epoch=self.session, max_wait=200, min_bytes=1, max_bytes=1 << 20,
                       max_records=3, batch_size=3, topics=topics)  # fmt: skip
        answer = self.connection.ask(ApiKey.SHARE_FETCH, 2, request)
        assert answer.error_code == 0, answer
        self.session += 1
        got: dict[int, list[Place]] = {}
        for part in (part for one in answer.responses for part in one.partitions):
            assert not part.error_code and not part.acknowledge_error_code, part
            for batch in part.acquired_records:
                got.setdefault(part.partition_index, []).append((batch.first_offset, batch.last_offset))
                self.had += batch.last_offset - batch.first_offset + 1
        for number, batches in acknowledged.items():
            for first, last in batches:
                for offset in range(first, last + 1):
                    assert self.done.setdefault((number, offset), self.name) == self.name, "done twice"
        return got


def accepted(java: Running) -> set[Place]:
    """What a VerifiableShareConsumer has acknowledged for good."""
    events = [json.loads(line) for line in list(java.lines) if line.startswith("{")]
    told = [event for event in events if event["name"] == "offsets_acknowledged" and event["success"]]
    return {(part["partition"], offset) for event in told for part in event["partitions"] for offset in part["offsets"]}


def test_five_workers_one_of_them_javas_empty_a_topic_while_one_dies(
    bootstrap: str, require_oracle: Path, running: Callable[..., Running]
) -> None:
    admin = Admin(bootstrap)
    tool = (sys.executable, str(require_oracle), "--newest", "tool", "org.apache.kafka.tools.VerifiableShareConsumer")
    java = running(*tool, "--bootstrap-server", bootstrap, "--topic", "jobs", "--group-id", GROUP, "--acknowledgement-mode", "sync")
    java.wait_for(lambda _: accepted(java), 2 * PATIENCE_S)
    before, done, over = len(accepted(java)), dict[Place, str](), threading.Event()
    workers = [Worker(bootstrap, admin.topic_id, done, over, 5 if number == 0 else 1 << 30) for number in range(4)]
    for worker in workers:
        worker.thread.start()
    deadline = time.monotonic() + 2 * PATIENCE_S
    while workers[0].thread.is_alive() or not all(worker.had for worker in workers) or len(accepted(java)) == before:
        assert time.monotonic() < deadline, [worker.had for worker in workers]
        admin.write(4)
    assert workers[0].left, "it had nothing when it died"
    while (lag := admin.lag()) != 0:
        assert time.monotonic() < deadline, (lag, admin.written)
        time.sleep(0.1)
    over.set()
    for worker in workers:
        worker.thread.join(PATIENCE_S)
    java.end(signalled=True)
    assert sorted([*done, *accepted(java)]) == [(number, offset) for number in range(2) for offset in range(admin.written // 2)]


def test_who_fetches_what_no_group_has_assigned_is_told_so_at_once(bootstrap: str) -> None:
    admin = Admin(bootstrap)
    kind = m.ShareFetchRequest
    topics = [kind.FetchTopic(topic_id=admin.topic_id, partitions=[kind.FetchPartition(partition_index=0)])]
    request = kind(group_id="strangers", member_id="x", max_wait=20_000, min_bytes=1, max_bytes=1, max_records=1, batch_size=1, topics=topics)
    begun = time.monotonic()
    while True:  # the share coordinator's topic comes into being first
        request.share_session_epoch = 0
        (part,) = admin.connection.ask(ApiKey.SHARE_FETCH, 2, request).responses[0].partitions
        if part.error_code != E.COORDINATOR_NOT_AVAILABLE:
            break
    assert part.error_code == E.UNKNOWN_SERVER_ERROR
    assert time.monotonic() - begun < 20


def test_javas_share_consumer_gets_everything_once(bootstrap: str, require_oracle: Path) -> None:
    Admin(bootstrap)
    tool = [sys.executable, str(require_oracle), "--newest", "tool", "org.apache.kafka.tools.consumer.ConsoleShareConsumer"]
    asked = ["--bootstrap-server", bootstrap, "--topic", "jobs", "--group", GROUP, "--max-messages", str(RECORDS), "--timeout-ms", "60000"]
    found = subprocess.run([*tool, *asked], capture_output=True, text=True, timeout=150)
    assert sorted(found.stdout.split("\n")[:-1]) == sorted(f"job {number}" for number in range(RECORDS)), found.stderr


def test_kafkas_tool_describes_resets_and_deletes(bootstrap: str, require_oracle: Path) -> None:
    Admin(bootstrap)
    tool = [sys.executable, str(require_oracle), "--newest", "tool", "org.apache.kafka.tools.consumer.group.ShareGroupCommand"]

    def ask(*arguments: str) -> list[list[str]]:
        command = [*tool, "--bootstrap-server", bootstrap, *arguments, "--group", GROUP]
        return [line.split() for line in subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout.splitlines()]

    assert [GROUP, "jobs", "1", "0"] in ask("--reset-offsets", "--topic", "jobs", "--to-earliest", "--execute")
    assert [GROUP, "jobs", "0", "0", "30"] in ask("--describe", "--offsets")
    assert ["jobs", "Successful"] in ask("--delete-offsets", "--topic", "jobs")
    assert [GROUP, "jobs", "0", "0", "30"] not in ask("--describe", "--offsets")
