"""A cluster in the process of other people's tests: simulated or on ports, broken by methods, gone at the end."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lab.client.levers import Levers
from lab.clusters.vocabulary import check_command
from lab.experiments.verify import verify
from lab.testing import Cluster, NotMet, Refused, cluster
from tests.conftest import CHECKOUT

GENERATIONS = pytest.mark.parametrize("controller", ["kraft", "zookeeper"])


def story_of(seed: int, controller: str = "kraft", **more: Any) -> tuple[str, int]:
    """A producer, a death, an election: the journal's digest and what was acknowledged."""
    with cluster(simulated=True, seed=seed, controller=controller, topics={"orders": 1}, **more) as kafka:
        kafka.start_client("producer-1", kind="producer", topic="orders", rate=100)
        kafka.run(2)
        led = kafka.value(leader_of="orders-0")
        kafka.power_loss(leader_of="orders-0")
        assert kafka.wait(leader_of="orders-0") not in (led, -1)
        kafka.run(2)
        kafka.stop_client("producer-1")
        kafka.settle()
        assert not kafka.violations
        receipt = kafka.receipt()
        assert receipt["lost"] == 0
        return kafka.digest, receipt["acked"]


@GENERATIONS
def test_the_same_seed_and_calls_give_the_same_journal(controller: str) -> None:
    once, acked = story_of(3, controller)
    assert (once, acked) == story_of(3, controller)
    assert once != story_of(4, controller)[0]
    assert acked > 200


def test_a_simulated_run_that_is_kept_can_be_executed_again(tmp_path: Path) -> None:
    story_of(5, directory=tmp_path / "run")
    verdict = verify(tmp_path / "run")
    assert verdict.same, verdict.reason


def test_a_minute_of_the_cluster_takes_no_minute() -> None:
    began = time.monotonic()
    with cluster(simulated=True) as kafka:
        kafka.run(300)
        assert kafka.now_s > 300
    assert time.monotonic() - began < 100


@pytest.mark.parametrize("simulated", [True, False])
def test_what_cannot_be_done_is_an_exception_with_code_and_place(simulated: bool) -> None:
    with cluster(simulated=simulated, topics={"orders": 1}) as kafka:
        refused: list[tuple[Callable[[], Any], str, str]] = [
            (lambda: kafka.kill(9), "no_node", "broker"),
            (lambda: kafka.klil(1), "unknown_command", "do"),
            (lambda: kafka.kill(leader_of="odd-0"), "no_partition", "leader_of"),
            (lambda: kafka.wait(leader_off="orders-0"), "unknown_key", "leader_off"),
        ]
        for act, code, place in refused:
            with pytest.raises(Refused) as caught:
                act()
            assert (caught.value.code, caught.value.place) == (code, place)
        with pytest.raises(Refused) as caught:
            kafka.create_topic("orders")
        assert (caught.value.error_code, caught.value.place) == ("TOPIC_ALREADY_EXISTS", "topic")
        with pytest.raises(NotMet) as gave_up:
            kafka.wait(isr_of="orders-0", is_=7, within=0.2)
        assert (gave_up.value.gave_up, gave_up.value.value) == ("within", 3)
        assert kafka.produce("orders", "by hand", partition=0)["offset"] == 0
        assert [one.params["topic"] for one in kafka.events("topic_created")] == ["orders"] * len(kafka.events("topic_created"))


def test_a_description_that_is_wrong_is_refused_with_its_place() -> None:
    with pytest.raises(Refused) as caught:
        cluster(settings={"log.segment.bytes": "much"})
    assert caught.value.place.endswith("log.segment.bytes")


@GENERATIONS
def test_a_real_client_writes_through_the_death_of_a_leader(controller: str, require_module: Callable[[str], None]) -> None:
    require_module("kafka")
    from kafka import KafkaConsumer, KafkaProducer

    began = time.process_time()
    with cluster(controller=controller, topics={"orders": 1}) as kafka:
        assert time.process_time() - began < 1, "up in less than a second"
        producer = KafkaProducer(bootstrap_servers=kafka.bootstrap, acks="all", retries=100, request_timeout_ms=60_000)
        for number in range(20):
            producer.send("orders", b"%d" % number).get(60)
        kafka.kill(leader_of="orders-0")
        kafka.speed = 10
        kafka.wait(leader_of="orders-0")
        kafka.speed = 1
        for number in range(20, 40):
            producer.send("orders", b"%d" % number).get(60)
        producer.close()
        consumer = KafkaConsumer("orders", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest", group_id=None)
        assert [int(next(consumer).value) for _ in range(40)] == list(range(40))
        consumer.close()
        outside = kafka.receipt()["outside"]
    assert outside["acked"] == 40
    assert outside["lost"] == 0


def test_many_clusters_live_in_one_process_and_leave_nothing() -> None:
    with cluster(brokers=1):
        pass
    gc.collect()
    before = left_now()
    with cluster(brokers=1) as one, cluster(controller="zookeeper") as two, cluster(simulated=True) as three:
        assert not set(one.bootstrap.split(",")) & set(two.bootstrap.split(","))
        one.create_topic("mine")
        assert one.wait(leader_of="mine-0", is_=1) == 1
        assert two.value(leader_of="mine-0") is None
        assert three.value(leader_of="mine-0") is None
        assert one.directory.is_dir()
        two.add_broker()
        assert two.wait(registered="4", is_=1) == 1
        assert two.events("broker_registered")[-1].params["broker"] == 4
    assert not [each.directory for each in (one, two, three) if each.directory.exists()]
    deadline = time.monotonic() + 30
    while left_now() != before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left_now() == before


def left_now() -> tuple[Any, ...]:
    """What a cluster could leave behind."""
    names = sorted(one.name for one in threading.enumerate() if one.name in ("world", "snapshots"))
    return names, len(os.listdir("/proc/self/fd")), gc.get_threshold(), sys.getswitchinterval()


class Noted(Levers):
    """What would have been done."""

    def __init__(self) -> None:
        self.commands: list[dict[str, Any]] = []

    def command(self, command: dict[str, Any]) -> dict[str, Any]:
        self.commands.append(check_command(command))
        return {}


def test_every_lever_is_a_command_of_the_vocabulary() -> None:
    noted = Noted()
    processes = (noted.kill, noted.stop, noted.restart, noted.pause, noted.resume, noted.power_loss, noted.wipe,
                 noted.isolate, noted.disk_full, noted.repair_disk, noted.expire_session)
    for lever in processes:
        lever(2)
        lever(leader_of="orders-0")
        lever(controller=True)
    noted.power_loss(2, torn=True)
    noted.isolate(2, one_way=True)
    noted.partition(1, 2)
    noted.delay_link(1, "leader_of:orders-0", 20)
    noted.heal()
    noted.heal(1, 2)
    noted.create_topic("orders", 3, replication_factor=2)
    noted.delete_topic("orders")
    noted.remove_deleted()
    noted.alter_config({"retention.ms": "1"}, topic="orders")
    noted.alter_config({"log.cleaner.threads": "2"}, broker=1)
    noted.produce("orders", None, key="k", acks="1")
    noted.start_client("producer-1", kind="producer", topic="orders")
    noted.stop_client("producer-1")
    declared = {name for name in vars(Levers) if not name.startswith("_")} - {"command", "do"}
    done = {one["do"] for one in noted.commands}
    renamed = {"partition": "partition_link", "heal": "heal_link"}
    assert {renamed.get(name, name) for name in declared} <= done


A_FILE = '''
import pytest

pytestmark = pytest.mark.kafka(topics={"orders": 2})

@pytest.mark.kafka(brokers=1)
def test_of_one_broker(kafka_cluster):
    assert kafka_cluster.bootstrap.count(":") == 1
    assert kafka_cluster.value(leader_of="orders-1") == 1

def test_in_virtual_time(simulated_cluster):
    simulated_cluster.run(100)

def test_two(brokerlab):
    assert brokerlab(brokers=1).bootstrap != brokerlab(brokers=1, controller="zookeeper").bootstrap

def test_that_fails(simulated_cluster):
    simulated_cluster.kill(leader_of="orders-0")
    assert simulated_cluster.value(isr_of="orders-0") == 99

def test_that_fails_with_a_cluster_closed_by_itself(brokerlab):
    with brokerlab(brokers=1):
        raise KeyError("of the test")
'''


def test_fixtures_of_the_plugin_serve_tests_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "test_app.py").write_text(A_FILE)
    command = [sys.executable, "-P", "-m", "pytest", "-q", "--strict-markers", "-p", "lab.testing.plugin", "-p", "no:cacheprovider", "."]
    done = subprocess.run(command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(CHECKOUT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
                          capture_output=True, text=True, timeout=240)
    assert "2 failed, 3 passed" in done.stdout, done.stdout
    assert "cluster 1" in done.stdout
    assert "process ends: crash" in done.stdout
    assert "has ended" in done.stdout


def test_a_run_of_pytest_that_needs_no_cluster_imports_none() -> None:
    code = "import sys, lab.testing.plugin; print([name for name in sys.modules if name.startswith('broker_core')])"
    done = subprocess.run([sys.executable, "-P", "-c", code], env=os.environ | {"PYTHONPATH": str(CHECKOUT)},
                          capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


def test_a_closed_cluster_says_so() -> None:
    with cluster(brokers=1) as kafka:
        pass
    asked: list[Callable[[], Any]] = [
        lambda: kafka.run(1), lambda: kafka.value(controller="any"), kafka.events, lambda: kafka.kill(1),
        lambda: kafka.wait(controller="any"),
    ]
    for ask in asked:
        with pytest.raises(Refused) as caught:
            ask()
        assert caught.value.code == "run_ended"


def test_a_cluster_is_what_the_package_says() -> None:
    kafka = cluster(simulated=True, brokers=1)
    assert isinstance(kafka, Cluster)
    with pytest.raises(Refused):
        _ = kafka.bootstrap
    kafka.close()
    kafka.close()
