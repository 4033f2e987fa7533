"""With acks=all and min.insync.replicas=2 no acked record is lost when the leader dies, whoever the client is."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable

import pytest
from confluent_kafka import Consumer, Producer

from tests.clients.conftest import Cluster, Running, program

pytestmark = pytest.mark.clients
ENOUGH = 300


def kill_and_restart(cluster: Cluster, topic: str, acked: Callable[[], int]) -> None:
    """Kill the leader under load, wait for the next one and for more acks, start the first one again."""
    partition = lambda state: state["topics"][topic]["partitions"]["0"]  # noqa: E731
    before = partition(cluster.state())
    cluster.do(do="kill", leader_of=f"{topic}-0")
    after = partition(cluster.until(lambda state: partition(state)["leader"] not in (-1, before["leader"])))
    assert after["leader_epoch"] > before["leader_epoch"]
    seen = acked()
    deadline = time.monotonic() + 60
    while acked() < seen + ENOUGH:
        assert time.monotonic() < deadline, f"{acked()} acks"
        time.sleep(0.02)
    cluster.do(do="restart", broker=before["leader"])
    cluster.heal()


def check(cluster: Cluster, topic: str, acked: list[str]) -> None:
    """Every acked record can be read; what else is there had not been acked."""
    read = cluster.values(topic)
    lost = set(acked) - set(read)
    assert not lost and len(set(acked)) >= 2 * ENOUGH, f"{len(lost)} of {len(acked)} acked records are lost"


@pytest.mark.parametrize("client", ["confluent", "kafka_python", "aiokafka"])
def test_a_python_client_loses_nothing(cluster: Cluster, running: Callable[..., Running], client: str) -> None:
    topic = f"death-{client}"
    cluster.create(topic)
    producer = running(*program(f"{client}_produce.py"), cluster.bootstrap, topic)
    acked = lambda: [line for line in list(producer.lines) if line.isdigit()]  # noqa: E731
    producer.wait_for(lambda lines: len(lines) > ENOUGH)
    kill_and_restart(cluster, topic, lambda: len(acked()))
    assert producer.end() == 0
    check(cluster, topic, acked())
    assert set(acked()) == set(cluster.values(topic))


def test_kcat_loses_nothing(cluster: Cluster, running: Callable[..., Running],
                            require_program: Callable[[str], str]) -> None:
    cluster.create("death-kcat")
    kcat = running(require_program("kcat"), "-b", cluster.bootstrap, "-P", "-t", "death-kcat", "-X", "acks=all",
                   "-X", "message.timeout.ms=60000")
    ended, sent = threading.Event(), []

    def feed() -> None:
        assert kcat.process.stdin is not None
        while not ended.wait(0.002):
            kcat.process.stdin.write(f"{len(sent)}\n")
            kcat.process.stdin.flush()
            sent.append(str(len(sent)))

    feeder = threading.Thread(target=feed)
    feeder.start()
    try:
        cluster.until(lambda state: leader_end(state, "death-kcat") > ENOUGH)
        kill_and_restart(cluster, "death-kcat", lambda: leader_end(cluster.state(), "death-kcat"))
    finally:
        ended.set()
        feeder.join()
    assert kcat.end() == 0, kcat.lines  # 0: every message was acked
    assert not [line for line in kcat.lines if "Delivery failed" in line]
    check(cluster, "death-kcat", sent)
    assert set(sent) == set(cluster.values("death-kcat"))


def leader_end(state: dict, topic: str) -> int:
    """The leader's high watermark of partition 0."""
    part = state["topics"][topic]["partitions"]["0"]
    return part["logs"].get(str(part["leader"]), {}).get("hw", 0)


@pytest.mark.oracle
def test_javas_producer_loses_nothing(cluster: Cluster, running: Callable[..., Running],
                                      java: Callable[..., tuple[str, ...]]) -> None:
    cluster.create("death-java")
    producer = running(*java("org.apache.kafka.tools.VerifiableProducer", "--bootstrap-server", cluster.bootstrap,
                             "--topic", "death-java", "--throughput", "400", "--acks", "-1", "--max-messages", "4000"))
    acked = lambda: [json.loads(line)["value"] for line in list(producer.lines) if "producer_send_success" in line]  # noqa: E731
    producer.wait_for(lambda lines: len(lines) > ENOUGH)
    kill_and_restart(cluster, "death-java", lambda: len(acked()))
    producer.wait_for(lambda lines: "tool_data" in lines[-1])
    assert producer.end() == 0
    check(cluster, "death-java", acked())


def test_the_controller_may_die(cluster: Cluster, running: Callable[..., Running]) -> None:
    cluster.create("death-controller")
    controller = cluster.state()["cluster"]["controller"]
    producer = running(*program("confluent_produce.py"), cluster.bootstrap, "death-controller")
    producer.wait_for(lambda lines: len(lines) > ENOUGH)
    cluster.do(do="kill", broker=controller)
    cluster.until(lambda state: state["cluster"]["controller"] not in (None, controller))
    seen = len(producer.lines)
    producer.wait_for(lambda lines: len(lines) > seen + ENOUGH)
    cluster.do(do="restart", broker=controller)
    cluster.heal()
    cluster.create("after-the-controller")
    assert producer.end() == 0
    check(cluster, "death-controller", [line for line in producer.lines if line.isdigit()])


def test_a_group_goes_on_when_its_coordinator_dies(cluster: Cluster) -> None:
    cluster.create("death-coordinator", 3)
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all"})
    send = lambda start: [producer.produce("death-coordinator", str(start + n)) for n in range(500)]  # noqa: E731
    send(0)
    assert producer.flush(30) == 0
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "survivors", "enable.auto.commit": False,
                         "auto.offset.reset": "earliest", "session.timeout.ms": 20_000})
    consumer.subscribe(["death-coordinator"])
    found = read(consumer, 500)
    consumer.commit(asynchronous=False)
    coordinator = cluster.state()["groups"]["survivors"]["coordinator"]
    cluster.do(do="kill", broker=coordinator)
    send(500)
    assert producer.flush(60) == 0
    found += read(consumer, 500)
    assert sorted(map(int, found)) == list(range(1000))  # nothing twice, nothing missing
    consumer.commit(asynchronous=False)
    moved = cluster.until(lambda state: state["groups"].get("survivors", {}).get("coordinator") not in (None, coordinator))
    offsets = moved["groups"]["survivors"]["offsets"]["death-coordinator"]
    assert sum(offsets.values()) == 1000
    consumer.close()


def read(consumer: Consumer, count: int) -> list[str]:
    found: list[str] = []
    deadline = time.monotonic() + 60
    while len(found) < count:
        assert time.monotonic() < deadline, f"{len(found)} of {count}"
        message = consumer.poll(1)
        if message is not None and message.error() is None:
            found.append(message.value().decode())
    return found
