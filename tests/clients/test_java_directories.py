"""kafka-reassign-partitions with `log_dirs`, and kafka-log-dirs, of both generations: a replica moves between two disks."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab.clusters.spec import run_from_dict
from lab.live import LiveLab
from tests.clients.conftest import SETTINGS, Cluster, run, whole, with_classes
from tests.conftest import free_ports

pytestmark = [pytest.mark.clients, pytest.mark.oracle]
KINDS = {"zookeeper": ("--zookeeper", {}), "kraft": ("--newest", {"zookeeper.session.timeout.ms": None})}


@pytest.fixture(params=KINDS)
def tool(request: pytest.FixtureRequest, tmp_path: Path, require_oracle: Path) -> Iterator[tuple[Cluster, Callable[..., str]]]:
    """A lab whose brokers have two directories, and the tools of its generation's newest release."""
    version, own = KINDS[request.param]
    settings = {name: value for name, value in {**SETTINGS, **own, "log.dirs": "data/a,data/b"}.items() if value is not None}
    cluster = {"brokers": 3, "controller": request.param, "port": free_ports(3), "preset": "teaching", "settings": settings}
    lab = LiveLab(run_from_dict({"cluster": cluster, "epoch_ms": time.time_ns() // 1_000_000}), tmp_path / "lab")
    bootstrap = lab.start().bootstrap
    words = with_classes((sys.executable, str(require_oracle), version, "tool"), bootstrap, tmp_path)
    yield Cluster(lab, bootstrap), lambda name, *arguments: run(
        *words, f"org.apache.kafka.tools.{name}", "--bootstrap-server", bootstrap, *arguments)
    lab.stop()


def test_a_throttle_is_set_changed_and_taken_away_by_kafkas_own_tool(tool: tuple[Cluster, Callable[..., str]], tmp_path: Path) -> None:
    """--execute --throttle, again with --additional and another one, --verify: too early, and when all is done. Records of 30 kB, that
    the move does not end by itself: 3 MB at 100 kB a second, of which broker 3 gets the first megabyte at once."""
    cluster, call = tool
    for topic, replicas in (("java-slow", [1, 2]), ("java-more", [1, 2])):
        cluster.do(do="create_topic", topic=topic, assignment=[replicas])
        cluster.until(lambda state, topic=topic: whole(state, topic))
    cluster.do(do="start_client", name="producer-slow", kind="producer", topic="java-slow", rate=100, size=30_000, count=100)
    cluster.until(lambda state: state["topics"]["java-slow"]["partitions"]["0"]["logs"]["1"]["leo"] == 100)

    def throttles() -> set[tuple[int, str, int]]:
        found = cluster.lab.inspect("balance", "").result(30)["found"]
        return {(one["broker"], one["quota"], one["bound"]) for one in found["throttles"]}

    def reassign(*words: str, topic: str = "java-slow", directory: str | None = None) -> str:
        one = {"topic": topic, "partition": 0, "replicas": [1, 3], **({"log_dirs": [directory, "any"]} if directory else {})}
        plan = tmp_path / f"{topic}.json"
        plan.write_text(json.dumps({"version": 1, "partitions": [one]}))
        return call("reassign.ReassignPartitionsCommand", "--reassignment-json-file", str(plan), *words)

    begun = reassign("--execute", "--throttle", "1000")
    assert "The inter-broker throttle limit was set to 1000 B/s" in begun
    both = ("LeaderReplication", "FollowerReplication")
    assert throttles() == {(broker, kind, 1000) for broker in (1, 2, 3) for kind in both}
    still = reassign("--verify")
    assert "Reassignment of partition java-slow-0 is still in progress." in still and "Clearing" not in still
    other = {"data/a": "/data/b", "data/b": "/data/a"}[cluster.state()["topics"]["java-more"]["partitions"]["0"]["logs"]["1"]["directory"]]
    more = reassign("--execute", "--additional", "--throttle", "2000", "--replica-alter-log-dirs-throttle", "5000", topic="java-more", directory=other)
    assert "The replica-alter-dir throttle limit was set to 5000 B/s" in more
    assert throttles() == {(broker, kind, 2000) for broker in (1, 2, 3) for kind in both} | {(1, "AlterLogDirsReplication", 5000)}
    assert "set to 10000000 B/s" in reassign("--execute", "--additional", "--throttle", "10000000")
    cluster.until(lambda state: state["topics"]["java-slow"]["partitions"]["0"]["replicas"] == [1, 3])
    cluster.until(lambda state: state["topics"]["java-more"]["partitions"]["0"]["replicas"] == [1, 3])
    assert throttles(), "nobody else takes them away"
    over = reassign("--verify")
    assert "Clearing broker-level throttles on brokers 1,2,3" in over and "Clearing topic-level throttles on topic java-slow" in over
    cluster.until(lambda _: not any(bound for _, _, bound in throttles()))


def test_a_replica_is_moved_by_kafkas_own_tool(tool: tuple[Cluster, Callable[..., str]], tmp_path: Path) -> None:
    cluster, call = tool
    cluster.do(do="create_topic", topic="java-dirs", assignment=[[1, 2, 3]])
    cluster.until(lambda state: whole(state, "java-dirs"))
    for number in range(20):
        cluster.do(do="produce", topic="java-dirs", partition=0, value=f"record {number}", acks="all")

    def directory() -> tuple[str, int]:
        shown = call("LogDirsCommand", "--describe", "--broker-list", "1", "--topic-list", "java-dirs")
        found = json.loads(next(line for line in shown.splitlines() if line.startswith("{")))
        ((place, part),) = [(one["logDir"], part) for one in found["brokers"][0]["logDirs"] for part in one["partitions"]]
        assert part["partition"] == "java-dirs-0" and not part["isFuture"] and part["offsetLag"] == 0
        return place, part["size"]

    before, size = directory()
    other = {"/data/a": "/data/b", "/data/b": "/data/a"}[before]
    plan = tmp_path / "plan.json"
    one = {"topic": "java-dirs", "partition": 0, "replicas": [1, 2, 3], "log_dirs": [other, "any", "any"]}
    plan.write_text(json.dumps({"version": 1, "partitions": [one]}))
    file = ("--reassignment-json-file", str(plan))
    assert f"Successfully started moving log directory to {other} for replica java-dirs-0 with broker 1" in call("reassign.ReassignPartitionsCommand", *file, "--execute")
    cluster.until(lambda state: "/" + state["topics"]["java-dirs"]["partitions"]["0"]["logs"]["1"]["directory"] == other)
    verified = call("reassign.ReassignPartitionsCommand", *file, "--verify")
    assert "Reassignment of replica java-dirs-0-1 completed successfully." in verified, verified
    assert directory() == (other, size)
