"""The command-line tools of Apache Kafka 3.9 against a lab; one process for each call."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.conftest import Cluster, Running, run, with_classes

pytestmark = [pytest.mark.clients, pytest.mark.oracle]
Tool = Callable[..., str]
TOOLS = "org.apache.kafka.tools."


@pytest.fixture(scope="module")
def java(java: Callable[..., tuple[str, ...]], started: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., tuple[str, ...]]:
    quick = with_classes(java(), started.bootstrap, tmp_path_factory.mktemp("classes"))
    return lambda *words: (*quick, *words)


@pytest.fixture
def tool(cluster: Cluster, java: Callable[..., tuple[str, ...]]) -> Tool:
    """`tool("TopicCommand", "--list")`: what it prints; --bootstrap-server is added."""

    def call(name: str, *arguments: str, given: str | None = None, expected: int | None = 0, **more: str) -> str:
        name = name if name.startswith("kafka.") else TOOLS + name
        return run(*java(name, more.get("option", "--bootstrap-server"), cluster.bootstrap, *arguments),
                   given=given, expected=expected)

    return call


def test_topics_are_created_described_grown_and_deleted(tool: Tool, cluster: Cluster) -> None:
    tool("TopicCommand", "--create", "--topic", "java-topic", "--partitions", "2", "--replication-factor", "3",
         "--config", "retention.ms=1234567")
    shown = tool("TopicCommand", "--describe", "--topic", "java-topic")
    assert "PartitionCount: 2" in shown and "ReplicationFactor: 3" in shown and "retention.ms=1234567" in shown
    tool("TopicCommand", "--alter", "--topic", "java-topic", "--partitions", "4")
    cluster.until(lambda state: len(state["topics"]["java-topic"]["partitions"]) == 4)
    again = tool("TopicCommand", "--create", "--topic", "java-topic", expected=1)
    assert "Topic 'java-topic' already exists." in again
    tool("TopicCommand", "--delete", "--topic", "java-topic")
    assert "java-topic" not in tool("TopicCommand", "--list").split()


def test_settings_of_topics_and_brokers_are_changed(tool: Tool, cluster: Cluster) -> None:
    cluster.create("java-settings")
    config = "kafka.admin.ConfigCommand"
    topic = ("--entity-type", "topics", "--entity-name", "java-settings")
    tool(config, "--alter", *topic, "--add-config", "retention.ms=7654321,segment.bytes=1048576")
    assert "retention.ms=7654321" in tool(config, "--describe", *topic)
    tool(config, "--alter", *topic, "--delete-config", "retention.ms")
    shown = tool(config, "--describe", *topic)
    assert "retention.ms" not in shown and "segment.bytes=1048576" in shown
    broker = ("--entity-type", "brokers", "--entity-name", "1")
    tool(config, "--alter", *broker, "--add-config", "log.cleaner.threads=2")
    assert "log.cleaner.threads=2" in tool(config, "--describe", *broker)
    refused = tool(config, "--alter", *topic, "--add-config", "retention.ms=soon", expected=1)
    assert "Not a number of type LONG" in refused


def test_console_producer_and_consumer_exchange_records(tool: Tool, cluster: Cluster) -> None:
    cluster.create("java-console", 1)
    tool("kafka.tools.ConsoleProducer", "--topic", "java-console",
         "--property", "parse.key=true", "--property", "key.separator=:", "--compression-codec", "zstd",
         "--producer-property", "enable.idempotence=true", given="a:1\nb:2\nc:3\n")
    shown = tool("consumer.ConsoleConsumer", "--topic", "java-console", "--from-beginning", "--max-messages", "3",
                 "--property", "print.key=true", "--property", "print.offset=true", "--group", "java-console-group")
    assert shown.splitlines() == ["Offset:0\ta\t1", "Offset:1\tb\t2", "Offset:2\tc\t3"]


def test_groups_are_listed_described_reset_and_deleted(tool: Tool, cluster: Cluster,
                                                       java: Callable[..., tuple[str, ...]],
                                                       running: Callable[..., Running]) -> None:
    cluster.create("java-groups", 3)
    tool("VerifiableProducer", "--topic", "java-groups", "--max-messages", "300")
    consumer = java(TOOLS + "VerifiableConsumer", "--bootstrap-server", cluster.bootstrap, "--topic", "java-groups",
                    "--group-id", "java-group", "--reset-policy", "earliest",
                    "--assignment-strategy", "org.apache.kafka.clients.consumer.StickyAssignor")
    members = [running(*consumer), running(*consumer)]
    group = "consumer.group.ConsumerGroupCommand"
    cluster.until(lambda state: (found := state["groups"].get("java-group")) and found["state"] == "Stable"
                  and len(found["members"]) == 2 and sum(found["offsets"].get("java-groups", {}).values()) == 300)
    described = tool(group, "--describe", "--group", "java-group")
    assert len([line for line in described.splitlines() if line.startswith("java-group ")]) == 3
    assert "Stable" in tool(group, "--describe", "--group", "java-group", "--state")
    for member in members:
        member.end(signalled=True)
    read = [json.loads(line) for member in members for line in member.lines if "records_consumed" in line]
    assert sum(one["count"] for one in read) == 300
    cluster.until(lambda state: state["groups"]["java-group"]["state"] == "Empty")
    reset = tool(group, "--group", "java-group", "--topic", "java-groups", "--reset-offsets", "--to-earliest", "--execute")
    assert "java-groups" in reset
    assert "java-group" in tool(group, "--list").split()
    assert "successful" in tool(group, "--delete", "--group", "java-group")


def test_offsets_and_deleted_records(tool: Tool, cluster: Cluster, tmp_path: Path,
                                     java: Callable[..., tuple[str, ...]]) -> None:
    cluster.create("java-offsets")
    shown = run(*java(TOOLS + "ProducerPerformance", "--topic", "java-offsets", "--num-records", "2000",
                      "--record-size", "100", "--throughput", "-1", "--producer-props",
                      f"bootstrap.servers={cluster.bootstrap}", "acks=all", "compression.type=lz4"))
    assert "2000 records sent" in shown
    assert tool("GetOffsetShell", "--topic", "java-offsets").strip() == "java-offsets:0:2000"
    assert tool("GetOffsetShell", "--topic", "java-offsets", "--time", "-3").startswith("java-offsets:0:")
    wanted = tmp_path / "delete.json"
    one = {"topic": "java-offsets", "partition": 0, "offset": 500}
    wanted.write_text(json.dumps({"partitions": [one], "version": 1}))
    assert "low_watermark: 500" in tool("DeleteRecordsCommand", "--offset-json-file", str(wanted))
    assert tool("GetOffsetShell", "--topic", "java-offsets", "--time", "-2").strip() == "java-offsets:0:500"


def test_partitions_move_and_leaders_are_elected(tool: Tool, cluster: Cluster, tmp_path: Path) -> None:
    cluster.create("java-moves", 1)
    parts = cluster.state()["topics"]["java-moves"]["partitions"]
    target = parts["0"]["replicas"][::-1][:2]
    plan = tmp_path / "plan.json"
    one = {"topic": "java-moves", "partition": 0, "replicas": target}
    plan.write_text(json.dumps({"version": 1, "partitions": [one]}))
    file = ("--reassignment-json-file", str(plan))
    tool("reassign.ReassignPartitionsCommand", *file, "--execute")
    cluster.until(lambda state: state["topics"]["java-moves"]["partitions"]["0"]["replicas"] == target)
    assert "is completed" in tool("reassign.ReassignPartitionsCommand", *file, "--verify")
    cluster.do(do="kill", broker=target[0])
    cluster.until(lambda state: state["topics"]["java-moves"]["partitions"]["0"]["leader"] == target[1])
    cluster.heal()
    elected = tool("LeaderElectionCommand", "--election-type", "PREFERRED", "--topic", "java-moves", "--partition", "0")
    assert "Successfully completed" in elected or "Valid replica already elected" in elected
    cluster.until(lambda state: state["topics"]["java-moves"]["partitions"]["0"]["leader"] == target[0])


def test_directories_versions_and_replicas_are_looked_at(tool: Tool, cluster: Cluster, java: Callable[..., tuple[str, ...]],
                                                         running: Callable[..., Running]) -> None:
    cluster.create("java-looks")
    tool("VerifiableProducer", "--topic", "java-looks", "--max-messages", "50")
    shown = tool("LogDirsCommand", "--describe", "--topic-list", "java-looks")
    found = json.loads(next(line for line in shown.splitlines() if line.startswith("{")))
    sizes = {part["size"] for broker in found["brokers"] for dir in broker["logDirs"] for part in dir["partitions"]}
    assert len(found["brokers"]) == 3 and len(sizes) == 1 and sizes.pop() > 0
    assert "Produce(0): 0 to 11" in tool("kafka.admin.BrokerApiVersionsCommand")
    verifier = running(*java(TOOLS + "ReplicaVerificationTool", "--broker-list", cluster.bootstrap, "--topics-include",
                             "java-looks", "--report-interval-ms", "500", "--time", "-2"))
    verifier.wait_for(lambda lines: any("max lag is 0 for partition java-looks-0" in line for line in lines))
    verifier.end(signalled=True)
