"""Outside clients reach a broker that has joined a running lab, and the next start of the lab finds it again."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
from confluent_kafka.admin import AdminClient

from broker_core.kernel.problems import told
from lab.clusters.joining import JOINED
from lab.clusters.spec import RunSpec, run_from_dict
from lab.experiments.verify import verify
from lab.live import LiveLab
from lab.open_runs import LabError
from lab.scenarios import grammar
from lab.scenarios.export import export
from tests.clients.conftest import SETTINGS, Cluster, Running, program, whole
from tests.conftest import free_ports

pytestmark = pytest.mark.clients
TOPIC = "moved"
JOIN = {"do": "add_broker", "settings": {"num.io.threads": "2"}}


def spec_at(port: int) -> RunSpec:
    cluster = {"brokers": 3, "port": port, "preset": "teaching", "settings": SETTINGS}
    return run_from_dict({"cluster": cluster, "epoch_ms": time.time_ns() // 1_000_000})


@contextmanager
def started(data: Path, port: int) -> Iterator[Cluster]:
    """A lab of three brokers in this directory; its run can be executed again once it has ended."""
    lab = LiveLab(spec_at(port), data)
    try:
        yield Cluster(lab, lab.start().bootstrap)
    finally:
        lab.stop()
    assert verify(lab.main.files.path).same


def partition(state: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = state["topics"][TOPIC]["partitions"]["0"]
    return found


def names(bootstrap: str) -> dict[int, int]:
    """Broker id -> port, as an outside client is told."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    return {node.id: node.port for node in admin.describe_cluster().result(30).nodes}


def test_a_producer_goes_on_at_the_new_broker_and_the_next_start_has_it(
    tmp_path: Path, running: Callable[..., Running]
) -> None:
    port = free_ports(4)
    with started(tmp_path, port) as cluster:
        cluster.do(do="create_topic", topic=TOPIC, replication_factor=3)
        cluster.until(lambda state: whole(state, TOPIC))
        producer = running(*program("confluent_produce.py"), cluster.bootstrap, TOPIC)
        producer.wait_for(lambda lines: len(lines) > 200)

        assert cluster.do(**JOIN)["broker"] == 4
        cluster.until(lambda state: state["brokers"]["4"]["registered"])
        assert names(cluster.bootstrap) == {1: port, 2: port + 1, 3: port + 2, 4: port + 3}
        assert 4 not in partition(cluster.state())["replicas"]

        cluster.do(do="reassign", topic=TOPIC, partition=0, replicas=[4, 1, 2])
        cluster.until(lambda state: sorted(partition(state)["replicas"]) == sorted(partition(state)["isr"]) == [1, 2, 4])
        cluster.do(do="elect_leaders", topic=TOPIC, partition=0)
        cluster.until(lambda state: partition(state)["leader"] == 4)
        seen = len(producer.lines)
        producer.wait_for(lambda lines: len(lines) > seen + 200)
        assert producer.end() == 0
        acked = {line for line in producer.lines if line.isdigit()}
        assert len(acked) > 400 and acked <= set(cluster.values(TOPIC))
        run = cluster.lab.main.files.path
    exported = grammar.parse(export(run), "exported.yaml")
    assert JOIN in [step.command for step in exported.steps]

    with started(tmp_path, port) as again:
        again.until(lambda state: 4 in partition(state)["isr"])
        machine: Any = again.lab.world.nodes["broker-4"].machine
        assert machine.config["num.io.threads"] == 2
        assert names(again.bootstrap)[4] == port + 3
        assert acked <= set(again.values(TOPIC))


def test_a_port_that_is_taken_refuses_the_broker_before_anything_is_recorded(tmp_path: Path) -> None:
    port = free_ports(4)
    with started(tmp_path, port) as cluster:
        with socket.socket() as other:
            other.bind(("127.0.0.1", port + 3))
            other.listen()
            answer = cluster.lab.submit({"do": "add_broker"}).result(30)
            assert not answer["ok"] and f"port {port + 3} cannot be had" in told(answer["problem"])
            assert not (tmp_path / JOINED).exists() and "4" not in cluster.state()["brokers"]
        assert cluster.do(do="add_broker")["broker"] == 4
        cluster.until(lambda state: state["brokers"]["4"]["registered"])
        assert cluster.lab.submit({"do": "add_broker", "broker": 4}).result(30)["place"] == "broker"
        run = cluster.lab.main.files.path
    rows = [orjson.loads(line) for line in (run / "journal.jsonl").read_bytes().splitlines()]
    commands = [row[5]["command"] for row in rows if row[3] == "command"]
    assert [one for one in commands if one["do"] == "add_broker"] == [{"do": "add_broker"}, {"do": "add_broker", "broker": 4}]


def test_a_moment_before_it_joined_has_no_such_broker(tmp_path: Path) -> None:
    def read(run: str) -> dict[str, Any]:
        found: dict[str, Any] = orjson.loads(cluster.lab.branch(run).snapshot().result(30)[1])
        return dict(found["state"]["brokers"])

    with started(tmp_path, free_ports(4)) as cluster:
        before = cluster.lab.main.world.seq
        cluster.do(do="add_broker")
        state = cluster.until(lambda state: state["brokers"]["4"]["registered"])
        past = cluster.lab.fork(cluster.lab.run_id, seq=before).result(60)
        later = cluster.lab.fork(cluster.lab.run_id, seq=cluster.lab.main.world.seq).result(60)
        assert list(read(past)) == ["1", "2", "3"]
        assert read(later)["4"]["registered"] and read(later)["4"]["port"] == state["brokers"]["4"]["port"]
        assert cluster.lab.branch(past).submit({"do": "add_broker", "broker": 9}).result(30)["broker"] == 9
        assert "9" in read(past) and "9" not in cluster.state()["brokers"]
        forks = [cluster.lab.branch(run).files.path for run in (past, later)]
    assert all(verify(path).same for path in forks)


def test_a_damaged_list_of_those_that_joined_is_told_at_the_start(tmp_path: Path) -> None:
    (tmp_path / JOINED).write_text("[{]")
    with pytest.raises(LabError, match=f"{JOINED} is damaged"):
        LiveLab(spec_at(free_ports(3)), tmp_path).start()
