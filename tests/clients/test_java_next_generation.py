"""Java's consumer with `group.protocol=consumer` (KIP-848), kafka-consumer-groups, and Kafka's reading of our records.

A call is a JVM, seconds of a core: each test asks all that its processes can show.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer

from broker_core.kernel.errors import CommandError
from lab.clusters.spec import run_from_dict
from lab.live import LiveLab
from tests.clients.conftest import Cluster, Running, run
from tests.clients.test_next_generation import OWN, PARTITIONS, Reader, write
from tests.conftest import PATIENCE_S, free_ports

pytestmark = [pytest.mark.clients, pytest.mark.oracle]
RECORDS = 300
SETTINGS = {
    **OWN, "offsets.topic.num.partitions": "1", "group.consumer.session.timeout.ms": "4000", "group.consumer.min.session.timeout.ms": "4000",
}  # fmt: skip
GROUPS = "consumer.group.ConsumerGroupCommand"
Command = Callable[..., tuple[str, ...]]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    described = {"brokers": 3, "controller": "kraft", "port": free_ports(103), "preset": "teaching", "settings": SETTINGS}
    lab = LiveLab(run_from_dict({"cluster": described, "epoch_ms": time.time_ns() // 1_000_000}), tmp_path_factory.mktemp("java-kip848"))
    yield Cluster(lab, lab.start().bootstrap)
    lab.stop()


@pytest.fixture
def tool(cluster: Cluster, require_oracle: Path) -> Command:
    """`tool("GroupsCommand", "--list")`: the command of one of Apache Kafka 4.3's tools on the lab."""

    def command(name: str, *arguments: str) -> tuple[str, ...]:
        return (sys.executable, str(require_oracle), "--newest", "tool", "org.apache.kafka.tools." + name,
                *(() if name == "DumpLogSegments" else ("--bootstrap-server", cluster.bootstrap)), *arguments)

    return command


def member(tool: Command, topic: str, group: str, *more: str) -> tuple[str, ...]:
    return tool("VerifiableConsumer", "--topic", topic, "--group-id", group, "--group-protocol", "consumer", "--verbose", *more)


def said(process: Running, name: str) -> list[dict[str, Any]]:
    """The events of this name that one of Kafka's verifiable clients has printed."""
    events = (json.loads(line) for line in list(process.lines) if line.startswith("{"))
    return [event for event in events if event["name"] == name]


def owned(cluster: Cluster, group: str) -> list[list[int]]:
    """What each member has, as the coordinator knows it, in order of the smallest partition; [] while members have to change."""
    try:
        found = cluster.lab.inspect("group", group).result(PATIENCE_S)["found"]
    except CommandError:  # its coordinator has gone, and the next one is reading
        return []
    if any(one["target"] != one["assignment"] or one["epoch"] != found["generation"] for one in found["members"]):
        return []
    return sorted(sorted(number for numbers in one["assignment"].values() for number in numbers) for one in found["members"])


def rows(text: str, group: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if line.startswith(group + " ")]


def test_members_of_both_clients_outlive_a_killed_member_and_their_coordinator(cluster: Cluster, tool: Command, running: Callable[..., Running]) -> None:
    cluster.create("work", PARTITIONS)
    write(cluster, "work", range(RECORDS))
    reader = Reader(cluster, "mixed", ["work"])
    stays, falls = (running(*member(tool, "work", "mixed", "--group-remote-assignor", "range")) for _ in range(2))

    def until(condition: Callable[[], Any], patience_s: float = 2 * PATIENCE_S) -> None:
        deadline = time.monotonic() + patience_s
        while not condition():
            assert time.monotonic() < deadline, (owned(cluster, "mixed"), stays.lines[-5:], falls.lines[-5:])
            reader.poll()

    until(lambda: owned(cluster, "mixed") == [[0, 1], [2, 3], [4, 5]])  # two of three want the range assignor
    with ThreadPoolExecutor(2) as pool:
        shown = [pool.submit(run, *tool(GROUPS, "--describe", "--group", "mixed", *more)) for more in (("--state",), ("--members", "--verbose"))]
        until(lambda: all(one.done() for one in shown))
    state, members = (rows(one.result(), "mixed") for one in shown)
    assert len(state) == 1 and state[0][-3:] == ["range", "Stable", "3"], state
    assert len(members) == 3 and all(line[5:7] == line[7:9] for line in members), members

    os.killpg(falls.process.pid, signal.SIGKILL)
    until(lambda: sorted(map(len, owned(cluster, "mixed"))) == [3, 3])
    coordinator = cluster.state()["groups"]["mixed"]["coordinator"]
    cluster.do(do="kill", broker=coordinator)
    write(cluster, "work", range(RECORDS, 2 * RECORDS))
    read = lambda: {one["value"] for process in (stays, falls) for one in said(process, "record_data")} | set(reader.found)  # noqa: E731
    until(lambda: len(read()) == 2 * RECORDS)
    assert read() == set(map(str, range(2 * RECORDS)))
    stays.end(signalled=True)
    until(lambda: owned(cluster, "mixed") == [list(range(PARTITIONS))])
    reader.consumer.commit(asynchronous=False)
    reader.consumer.close()
    cluster.heal()
    cluster.until(lambda state: state["groups"]["mixed"]["state"] == "Empty")

    with ThreadPoolExecutor(2) as pool:
        listed, offsets = pool.map(lambda more: run(*tool(GROUPS, *more)), (("--list", "--type", "consumer", "--state", "empty"), ("--describe", "--group", "mixed")))
    assert rows(listed, "mixed")[0][-1] == "Empty", listed
    assert [line[1:6] for line in rows(offsets, "mixed")] == [["work", str(number), "100", "100", "0"] for number in range(PARTITIONS)]
    reset = run(*tool(GROUPS, "--group", "mixed", "--topic", "work", "--reset-offsets", "--shift-by", "-40", "--execute"))
    assert {line[3] for line in rows(reset, "mixed")} == {"60"}
    assert "successful" in run(*tool(GROUPS, "--group", "mixed", "--delete"))


def test_java_joins_a_classic_group_which_is_converted_and_kafkas_tools_read_it(cluster: Cluster, tool: Command, running: Callable[..., Running]) -> None:
    cluster.create("both", PARTITIONS)
    write(cluster, "both", range(RECORDS))
    settings: dict[str, Any] = {"bootstrap.servers": cluster.bootstrap, "group.id": "both", "auto.offset.reset": "earliest"}
    old = Consumer({**settings, "session.timeout.ms": 10_000, "partition.assignment.strategy": "cooperative-sticky"})
    old.subscribe(["both"])
    deadline = time.monotonic() + 3 * PATIENCE_S

    def poll(until: Callable[[], bool]) -> None:
        while not until():
            assert time.monotonic() < deadline, old.assignment()
            old.poll(0.1)

    poll(lambda: len(old.assignment()) == PARTITIONS)
    new = running(*member(tool, "both", "both"))
    poll(lambda: len(old.assignment()) == PARTITIONS // 2 and bool(said(new, "partitions_assigned")))
    with ThreadPoolExecutor(1) as pool:
        shown = pool.submit(run, *tool(GROUPS, "--describe", "--group", "both", "--members", "--verbose"))
        poll(shown.done)
    members = rows(shown.result(), "both")
    assert len(members) == 2 and {"false", "true"} <= {word for line in members for word in line}, members
    assert any(len(one["partitions"]) == PARTITIONS // 2 for one in said(new, "partitions_assigned")), new.lines
    new.end(signalled=True)
    poll(lambda: len(old.assignment()) == PARTITIONS)  # it is a classic group again
    old.close()
    log = cluster.lab.data / "broker-1" / "data" / "__consumer_offsets-0" / f"{'0' * 20}.log"
    dumped = run(*tool("DumpLogSegments", "--offsets-decoder", "--files", str(log)))
    kinds = {3: "epoch", 5: "classicMemberMetadata", 6: "assignmentEpoch", 7: "topicPartitions", 8: "memberEpoch"}
    for kind, field in kinds.items():
        lines = [line for line in dumped.splitlines() if f'key: {{"type":"{kind}"' in line]
        assert any(field in line for line in lines), (kind, lines[:3])
    assert "isvalid: false" not in dumped and "Could not" not in dumped
