"""The command-line tools of Apache Kafka 4.3 against a KRaft lab with three dedicated controllers, by both bootstraps.

A call is a JVM, seconds of a core: tools that do not disturb each other run two at a time, and each test looks at all
that its calls show.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import Any

import pytest

from lab.clusters.spec import run_from_dict
from lab.live import LiveLab
from tests.clients.conftest import SETTINGS, Cluster, run, with_classes
from tests.conftest import PATIENCE_S, free_ports

pytestmark = [pytest.mark.clients, pytest.mark.oracle]
TOOLS = "org.apache.kafka.tools."
OWN = {name: value for name, value in SETTINGS.items() if not name.startswith("zookeeper.")} | {
    "metadata.log.max.snapshot.interval.ms": "3000",
}  # fmt: skip
Call = tuple[Any, ...]


class Tools:
    """Kafka's tools on a lab. A call: name of the class, then its arguments; `BROKERS` and `CONTROLLERS` in them stand
    for the two ways to reach the cluster."""

    def __init__(self, cluster: Cluster, tool: tuple[str, ...]) -> None:
        self.cluster = cluster
        self.tool = tool
        ports = cluster.lab.server.ports
        found = [f"127.0.0.1:{ports[f'controller-{number}:CONTROLLER']}" for number in (101, 102, 103)]
        self.places = {
            "BROKERS": ("--bootstrap-server", cluster.bootstrap), "CONTROLLERS": ("--bootstrap-controller", ",".join(found)),
        }  # fmt: skip

    def __call__(self, name: str, *arguments: Any, expected: int | None = 0) -> str:
        given = [part for one in arguments for part in self.places.get(one, (str(one),))]
        tool = name if name.startswith("kafka.") else TOOLS + name
        return run(*self.tool, tool, *given, expected=expected)

    def all(self, *calls: Call) -> list[str]:
        """What they print, two at a time."""
        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(lambda call: self(*call), calls))


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory, require_oracle: Path) -> Iterator[Tools]:
    described = {"brokers": 3, "controllers": 3, "controller": "kraft", "port": free_ports(110), "preset": "teaching", "settings": OWN}
    lab = LiveLab(run_from_dict({"cluster": described, "epoch_ms": time.time_ns() // 1_000_000}), tmp_path_factory.mktemp("kraft-tools"))
    bootstrap = lab.start().bootstrap
    tool = (sys.executable, str(require_oracle), "--newest", "tool")
    yield Tools(Cluster(lab, bootstrap), with_classes(tool, bootstrap, tmp_path_factory.mktemp("classes")))
    lab.stop()


def cluster_id(tools: Tools) -> str:
    """As the disks have it."""
    text = (tools.cluster.lab.data / "broker-1" / "data" / "meta.properties").read_text()
    return next(line.partition("=")[2] for line in text.splitlines() if line.startswith("cluster.id"))


def test_the_quorum_is_described_by_brokers_and_by_controllers(tools: Tools) -> None:
    status, replication, features, ids, ends = tools.all(
        ("MetadataQuorumCommand", "BROKERS", "describe", "--status"),
        ("MetadataQuorumCommand", "CONTROLLERS", "describe", "--replication"),
        ("FeatureCommand", "CONTROLLERS", "describe"),
        ("ClusterTool", "cluster-id", "CONTROLLERS"),
        ("ClusterTool", "list-endpoints", "CONTROLLERS"),
    )
    shown = {key: value.strip() for key, _, value in (line.partition(":") for line in status.splitlines())}
    assert int(shown["LeaderId"]) in (101, 102, 103) and int(shown["HighWatermark"]) > 0
    assert [one["id"] for one in json.loads(shown["CurrentVoters"])] == [101, 102, 103]
    assert [one["id"] for one in json.loads(shown["CurrentObservers"])] == [1, 2, 3]
    kinds = [line.split()[-1] for line in replication.splitlines()[1:]]
    assert sorted(kinds) == ["Follower"] * 2 + ["Leader"] + ["Observer"] * 3
    assert "Feature: metadata.version" in features and "FinalizedVersionLevel: 4.3-IV0" in features
    assert re.search(r"Feature: kraft.version\s+SupportedMinVersion: 0\s+SupportedMaxVersion: 1\s+FinalizedVersionLevel: 0", features)
    assert f"Cluster ID: {cluster_id(tools)}" in ids
    assert re.findall(r"(?m)^(10[123])\s", ends) == ["101", "102", "103"]


def test_topics_settings_and_records_are_administered(tools: Tools, tmp_path: Path) -> None:
    tools("TopicCommand", "BROKERS", "--create", "--topic", "tools", "--partitions", "1", "--replication-factor", "3",
          "--config", "retention.ms=1234567")
    producing = tools("ProducerPerformance", "BROKERS", "--topic", "tools", "--num-records", "300", "--record-size", "10",
                      "--throughput", "-1", "--command-property", "acks=all")
    assert "300 records sent" in producing
    plan, gone = tmp_path / "plan.json", tmp_path / "gone.json"
    before = tools.cluster.state()["topics"]["tools"]["partitions"]["0"]["replicas"]
    plan.write_text(json.dumps({"version": 1, "partitions": [{"topic": "tools", "partition": 0, "replicas": before[::-1]}]}))
    gone.write_text(json.dumps({"version": 1, "partitions": [{"topic": "tools", "partition": 0, "offset": 1}]}))
    _, altered, deleted, reset = tools.all(
        ("reassign.ReassignPartitionsCommand", "BROKERS", "--reassignment-json-file", plan, "--execute"),
        ("kafka.admin.ConfigCommand", "CONTROLLERS", "--alter", "--entity-type", "topics", "--entity-name", "tools",
         "--add-config", "segment.bytes=1048576"),
        ("DeleteRecordsCommand", "BROKERS", "--offset-json-file", gone),
        ("consumer.group.ConsumerGroupCommand", "BROKERS", "--group", "g", "--topic", "tools", "--reset-offsets",
         "--to-latest", "--execute"),
    )
    assert "Completed updating config" in altered and "low_watermark: 1" in deleted
    ends = [int(line.split()[3]) for line in reset.splitlines() if line.split()[1:2] == ["tools"]]
    assert sum(ends) == 300
    elected, dirs, topics, settings, groups, moved, offsets, versions = tools.all(
        ("LeaderElectionCommand", "BROKERS", "--election-type", "PREFERRED", "--topic", "tools", "--partition", "0"),
        ("LogDirsCommand", "BROKERS", "--describe", "--topic-list", "tools"),
        ("TopicCommand", "BROKERS", "--describe", "--topic", "tools"),
        ("kafka.admin.ConfigCommand", "BROKERS", "--describe", "--entity-type", "topics", "--entity-name", "tools"),
        ("consumer.group.ConsumerGroupCommand", "BROKERS", "--describe", "--group", "g"),
        ("reassign.ReassignPartitionsCommand", "BROKERS", "--reassignment-json-file", plan, "--verify"),
        ("GetOffsetShell", "BROKERS", "--topic", "tools", "--time", "-2"),
        ("BrokerApiVersionsCommand", "BROKERS"),
    )
    assert "Reassignment of partition tools-0 is completed." in moved
    assert offsets.splitlines()[-1] == "tools:0:1"
    assert len(re.findall(r"(?m)^127.0.0.1:\d+ \(id: [123] ", versions)) == 3 and "ConsumerGroupHeartbeat(68): 0 to 1" in versions
    assert "Successfully completed" in elected or "Valid replica already elected" in elected
    sizes = json.loads(next(line for line in dirs.splitlines() if line.startswith("{")))
    assert [one["broker"] for one in sizes["brokers"]] == [1, 2, 3]
    assert f"Replicas: {','.join(map(str, before[::-1]))}" in topics and "Elr:" in topics
    assert "segment.bytes=1048576" in settings and "retention.ms=1234567" in settings
    assert len([line for line in groups.splitlines() if line.startswith("g ")]) == 1


def snapshots_with(tools: Tools, topic: str) -> list[Path]:
    """A new topic with settings of its own, and of each controller a snapshot that has it."""
    tools.cluster.do(do="create_topic", topic=topic, assignment=[[2, 3, 1]], configs={"retention.ms": "4321000"})
    deadline = time.monotonic() + PATIENCE_S
    while len(found := [one for number in (101, 102, 103) for one in _having(tools, number, topic)[:1]]) < 3:
        assert time.monotonic() < deadline, "no snapshot has been written"
        time.sleep(0.1)
    return found


def _having(tools: Tools, number: int, topic: str) -> list[Path]:
    log_dir = tools.cluster.lab.data / f"controller-{number}" / "data" / "__cluster_metadata-0"
    return [one for one in sorted(log_dir.glob("*.checkpoint")) if topic.encode() in one.read_bytes()]


def test_kafka_reads_our_metadata_log_and_its_snapshots(tools: Tools) -> None:
    newest = snapshots_with(tools, "dumped")[0]
    shown = tools("DumpLogSegments", "--cluster-metadata-decoder", "--files", f"{newest.parent / '00000000000000000000.log'},{newest}")
    log, _, snapshot = shown.partition(f"Dumping {newest}")
    assert "isvalid: true" in log and "isvalid: false" not in shown
    for text in (log, snapshot):
        for kind in ("REGISTER_BROKER_RECORD", "TOPIC_RECORD", "PARTITION_RECORD", "FEATURE_LEVEL_RECORD"):
            assert f'"type":"{kind}"' in text, kind
        assert '"name":"dumped"' in text
    assert "SnapshotHeader" in snapshot and "SnapshotFooter" in snapshot


SHELL = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>tests</groupId>
<artifactId>shell</artifactId><version>1</version><dependencies><dependency><groupId>org.apache.kafka</groupId>
<artifactId>kafka-shell</artifactId><version>4.3.0</version></dependency></dependencies></project>
"""


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory, require_program: Callable[[str], str]) -> Callable[..., str]:
    """kafka-metadata-shell: a snapshot as a tree of files, and commands in it. It takes the first ones before it has read all,
    so one is asked until it is answered with `known`."""
    home = tmp_path_factory.mktemp("shell")
    (home / "pom.xml").write_text(SHELL)
    run(require_program("mvn"), "-q", "-B", "-f", str(home / "pom.xml"), "dependency:copy-dependencies", f"-DoutputDirectory={home / 'libs'}")

    def ask(snapshot: Path, known: str, *commands: str) -> str:
        command = [require_program("java"), "-cp", f"{home / 'libs'}/*", "org.apache.kafka.shell.MetadataShell", "--snapshot", str(snapshot)]
        with subprocess.Popen(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, text=True, env=os.environ | {"TERM": "dumb"}) as process:
            assert process.stdin is not None and process.stdout is not None
            deadline = time.monotonic() + PATIENCE_S
            while True:
                process.stdin.write(commands[0] + "\n")
                process.stdin.flush()
                if known in process.stdout.readline():
                    break
                assert time.monotonic() < deadline and process.poll() is None, "the shell does not know of it"
            return process.communicate("\n".join([*commands, "exit", ""]), PATIENCE_S)[0]

    return ask


def test_the_metadata_shell_walks_through_our_snapshots(tools: Tools, shell: Callable[..., str]) -> None:
    snapshot = snapshots_with(tools, "walked")[1]
    shown = shell(snapshot, "PartitionRegistration", "cat /image/topics/byName/walked/0", "ls /image/cluster/brokers", "find /image/configs")
    assert "PartitionRegistration(replicas=[2, 3, 1]" in shown and "leader=2" in shown
    assert ">> 1\n2\n3\n" in shown
    assert "/image/configs/TOPIC:walked/retention.ms" in shown.splitlines()


def test_levels_are_raised_and_voters_come_and_go(tools: Tools, tmp_path: Path) -> None:
    cluster = tools.cluster
    refused = tools("FeatureCommand", "CONTROLLERS", "downgrade", "--metadata", "3.9", expected=1)
    assert "Refusing to perform the requested downgrade" in refused
    raised = tools("FeatureCommand", "BROKERS", "upgrade", "--feature", "kraft.version=1")
    assert "kraft.version was upgraded to 1" in raised
    disk = cluster.lab.data / "controller-103" / "data"
    directory = next(line.partition("=")[2] for line in (disk / "meta.properties").read_text().splitlines() if line.startswith("directory.id"))
    removed = tools("MetadataQuorumCommand", "CONTROLLERS", "remove-controller", "--controller-id", "103",
                    "--controller-directory-id", directory)
    assert "KRaft controller 103 with directory id" in removed
    cluster.until(lambda state: sorted(map(int, state["quorum"]["voters"])) == [101, 102])
    port = cluster.lab.server.ports["controller-103:CONTROLLER"]
    config = tmp_path / "controller.properties"
    config.write_text("\n".join((
        "process.roles=controller", "node.id=103", f"log.dirs={disk}", "controller.listener.names=CONTROLLER",
        f"listeners=CONTROLLER://127.0.0.1:{port}", f"controller.quorum.bootstrap.servers=127.0.0.1:{port}",
    )))  # fmt: skip
    added = tools("MetadataQuorumCommand", "--command-config", config, "BROKERS", "add-controller")
    assert "Added controller 103" in added
    cluster.until(lambda state: sorted(map(int, state["quorum"]["voters"])) == [101, 102, 103])


def test_who_was_in_sync_last_is_shown_and_who_has_gone_is_forgotten(tools: Tools) -> None:
    cluster = tools.cluster
    cluster.do(do="create_topic", topic="eligible", assignment=[[1, 2, 3]])
    cluster.until(lambda state: len(state["topics"].get("eligible", {}).get("partitions", {}).get("0", {}).get("isr", ())) == 3)
    for broker in (3, 2):
        cluster.do(do="kill", broker=broker)
        cluster.until(lambda state, gone=broker: gone not in state["topics"]["eligible"]["partitions"]["0"]["isr"])
    shown, forgotten = tools.all(
        ("TopicCommand", "BROKERS", "--describe", "--topic", "eligible"),
        ("ClusterTool", "unregister", "BROKERS", "--id", "3"),
    )
    assert re.search(r"Isr: 1\s+Elr: 2\s", shown)
    assert "Broker 3 is no longer registered." in forgotten
