"""A lab with three brokers in this process, and clients as processes of their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from lab.clusters.spec import run_from_dict
from lab.live import LiveLab
from tests.conftest import PATIENCE_S, free_ports

HERE = Path(__file__).parent
SETTINGS = {
    "min.insync.replicas": "2", "default.replication.factor": "3", "offsets.topic.replication.factor": "3",
    "replica.lag.time.max.ms": "2000", "zookeeper.session.timeout.ms": "2000",
    "group.initial.rebalance.delay.ms": "200",
}  # fmt: skip


QUICK = "-XX:TieredStopAtLevel=1 -Xlog:disable"


@pytest.fixture(autouse=True)
def quick_java(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call of a tool does not live long enough for the second compiler of its virtual machine."""
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", QUICK)


def with_classes(tool: tuple[str, ...], bootstrap: str, directory: Path) -> tuple[str, ...]:
    """`tool`, the words in front of a class of Apache Kafka's, with an archive of the classes as they lie in memory (JEP
    350), which the first call leaves: two fifths of what a call costs are to read and to check them."""
    archive = directory / "classes.jsa"
    subprocess.run(
        [*tool, "org.apache.kafka.tools.TopicCommand", "--bootstrap-server", bootstrap, "--list"], check=True, capture_output=True,
        timeout=PATIENCE_S, env=os.environ | {"JAVA_TOOL_OPTIONS": f"{QUICK} -XX:ArchiveClassesAtExit={archive}"})  # fmt: skip
    return ("env", f"JAVA_TOOL_OPTIONS={QUICK} -XX:SharedArchiveFile={archive}", *tool)


class Cluster:
    """Three brokers, and what tests ask of them."""

    def __init__(self, lab: LiveLab, bootstrap: str) -> None:
        self.lab = lab
        self.bootstrap = bootstrap

    def do(self, **command: Any) -> dict[str, Any]:
        """Carry out a command of the lab's vocabulary."""
        result = self.lab.submit(command).result(30)
        assert result.get("ok", True), result
        return result

    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.lab.snapshot().result(30)[1])["state"]
        return found

    def create(self, topic: str, partitions: int = 1) -> None:
        admin = AdminClient({"bootstrap.servers": self.bootstrap})  # an old one may know an old controller
        admin.create_topics([NewTopic(topic, partitions, 3)])[topic].result(30)
        self.until(lambda state: whole(state, topic))

    def until(self, condition: Callable[[dict[str, Any]], Any], timeout_s: float = PATIENCE_S) -> dict[str, Any]:
        """The state, as soon as it meets the condition."""
        deadline = time.monotonic() + timeout_s
        while not condition(state := self.state()):
            assert time.monotonic() < deadline, "waited too long"
            time.sleep(0.05)
        return state

    def heal(self) -> None:
        """Start whoever is stopped and wait until every replica is in sync."""
        for number, broker in self.state()["brokers"].items():
            if broker["state"] == "stopped":
                self.do(do="restart", broker=int(number))
        self.until(lambda state: all(whole(state, topic) for topic in state["topics"]))

    def values(self, topic: str) -> list[str]:
        """All records of a topic."""
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": "reader", "auto.offset.reset": "earliest"})
        parts = [TopicPartition(topic, int(number)) for number in self.state()["topics"][topic]["partitions"]]
        left = 0
        for part in parts:
            low, high = borders(consumer, part)
            part.offset = low
            left += high - low
        consumer.assign(parts)
        found: list[str] = []
        while left:
            message = consumer.poll(20)
            assert message is not None and message.error() is None, f"{left} records are missing"
            found.append(message.value().decode())
            left -= 1
        consumer.close()
        return found


def to_the_end(bootstrap: str, topic: str, partitions: int, isolation: str) -> list[Any]:
    """Every message up to the end that this isolation level shows."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "reader", "isolation.level": isolation,
                         "enable.partition.eof": True, "auto.offset.reset": "earliest"})  # fmt: skip
    consumer.assign([TopicPartition(topic, number, 0) for number in range(partitions)])
    found, ended = list[Any](), set[int]()
    deadline = time.monotonic() + PATIENCE_S
    while len(ended) < partitions:
        assert time.monotonic() < deadline, f"only {len(found)} came"
        message = consumer.poll(1)
        if message is not None and message.error():
            ended.add(message.partition())
        elif message is not None:
            found.append(message)
    consumer.close()
    return found


def borders(consumer: Consumer, part: TopicPartition) -> tuple[int, int]:
    """First and next offset. librdkafka asks the leader it knew when it began, and gives up when another leads by then."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            found: tuple[int, int] = consumer.get_watermark_offsets(part, timeout=PATIENCE_S)
            return found
        except KafkaException as error:
            if error.args[0].code() != KafkaError.NOT_LEADER_FOR_PARTITION or time.monotonic() > deadline:
                raise
        time.sleep(0.1)


def whole(state: dict[str, Any], topic: str) -> bool:
    """Every partition has a leader and all replicas in sync."""
    parts = state["topics"].get(topic, {}).get("partitions", {})
    return bool(parts) and all(part["leader"] > 0 and len(part["isr"]) == len(part["replicas"]) for part in parts.values())


@pytest.fixture(scope="session")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    cluster = {"brokers": 3, "port": free_ports(3), "preset": "teaching", "settings": SETTINGS}
    spec = run_from_dict({"cluster": cluster, "epoch_ms": time.time_ns() // 1_000_000})
    lab = LiveLab(spec, tmp_path_factory.mktemp("clients-lab"))
    yield Cluster(lab, lab.start().bootstrap)
    lab.stop()


@pytest.fixture
def cluster(started: Cluster) -> Cluster:
    """The brokers, all of them up."""
    started.heal()
    return started


def run(*command: str, given: str | None = None, timeout_s: float = PATIENCE_S, expected: int | None = 0) -> str:
    """A program's output; it must end with the expected code."""
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    result = subprocess.run(command, input=given, text=True, capture_output=True, timeout=timeout_s, env=environment)
    assert expected is None or result.returncode == expected, result.stdout[-3000:] + result.stderr[-3000:]
    return result.stdout if expected == 0 else result.stdout + result.stderr


class Running:
    """A program that keeps running; its lines are collected."""

    def __init__(self, *command: str) -> None:
        self.lines: list[str] = []
        self.process = subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, env=os.environ | {"PYTHONUNBUFFERED": "1"},
                                        start_new_session=True)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    def wait_for(self, condition: Callable[[list[str]], Any], timeout_s: float = PATIENCE_S) -> None:
        deadline = time.monotonic() + timeout_s
        while not condition(self.lines):
            assert self.process.poll() is None and time.monotonic() < deadline, self.lines[-20:]
            time.sleep(0.02)

    def end(self, *, signalled: bool = False, timeout_s: float = PATIENCE_S) -> int:
        """End of its input, or SIGTERM for it and its children; the exit code."""
        if signalled:
            os.killpg(self.process.pid, signal.SIGTERM)
        assert self.process.stdin is not None
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        code = self.process.wait(timeout_s)
        self._reader.join(10)
        return code


@pytest.fixture
def running() -> Iterator[Callable[..., Running]]:
    """`running("program", ...)`: ended with the test."""
    programs: list[Running] = []

    def start(*command: str) -> Running:
        programs.append(Running(*command))
        return programs[-1]

    yield start
    for program in programs:
        if program.process.poll() is None:
            os.killpg(program.process.pid, signal.SIGKILL)


def program(name: str) -> tuple[str, str]:
    """A Python program of this directory, as a command."""
    return sys.executable, str(HERE / name)


@pytest.fixture(scope="session")
def java(require_oracle: Path) -> Callable[..., tuple[str, ...]]:
    """`java("org.apache.kafka.tools.TopicCommand", "--list")`: the command of one of Apache Kafka's 3.9 tools."""

    def command(*words: str) -> tuple[str, ...]:
        return (sys.executable, str(require_oracle), "--zookeeper", "tool", *words)

    return command
