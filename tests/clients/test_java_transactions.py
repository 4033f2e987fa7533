"""Java's transactional clients (transaction.version 2) and kafka-transactions against a lab in KRaft whose brokers die.

A call is a JVM, seconds of a core: each test asks all that its processes can show.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Producer

from broker_core.coordinators.partitioning import partition_for
from broker_core.records import encode_batch
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from lab.clusters.spec import run_from_dict
from lab.live import LiveLab
from tests.clients.conftest import SETTINGS, Cluster, Running, run
from tests.clients.test_transactions import read
from tests.conftest import PATIENCE_S, free_ports
from tests.oracle.asking import Connection
from tests.oracle.requests import produce

pytestmark = [pytest.mark.clients, pytest.mark.oracle]
PARTITIONS, RECORDS, TRANSACTION = 2, 600, 10
STUCK_S = 30
LOGS = 5
OWN = {name: value for name, value in SETTINGS.items() if not name.startswith("zookeeper.")} | {
    "transaction.state.log.num.partitions": str(LOGS), "transaction.partition.verification.enable": "false",
    "broker.session.timeout.ms": "3000",
}  # fmt: skip
Command = Callable[..., tuple[str, ...]]
OF_PRODUCER = ("--producer-epoch", "3", "--coordinator-epoch", "0", "--producer-id")
"""How what hangs is named for brokers before 3.0, which say no start offset: by the epochs that an operator gives."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    described = {"brokers": 3, "controllers": 1, "controller": "kraft", "port": free_ports(103), "preset": "teaching", "settings": OWN}
    lab = LiveLab(run_from_dict({"cluster": described, "epoch_ms": time.time_ns() // 1_000_000}), tmp_path_factory.mktemp("java-transactions"))
    yield Cluster(lab, lab.start().bootstrap)
    lab.stop()


@pytest.fixture
def tool(require_oracle: Path) -> Command:
    def command(name: str, *arguments: str) -> tuple[str, ...]:
        return (sys.executable, str(require_oracle), "--newest", "tool", "org.apache.kafka.tools." + name, *arguments)

    return command


def leader(cluster: Cluster, topic: str, partition: int) -> int:
    return int(cluster.state()["topics"][topic]["partitions"][str(partition)]["leader"])


def coordinator(cluster: Cluster, name: str) -> int:
    return leader(cluster, "__transaction_state", partition_for(name, LOGS))


class PythonCopier:
    """`confluent_copier`, watched: one that says nothing any more is killed, and the next goes on, as an operator would have it.

    librdkafka 2.16 needs that where a group's coordinator dies: a consumer that was answered NOT_COORDINATOR for its first
    offsets never asks for them again (its issue 5586), and a producer that sends offsets waits without end for a
    coordinator that has left the metadata, whatever its time-out (5511, 5456).
    """

    def __init__(self, running: Callable[..., Running], bootstrap: str) -> None:
        told = (bootstrap, str(RECORDS), str(PARTITIONS), str(TRANSACTION))
        self.start = lambda: running(sys.executable, str(Path(__file__).with_name("confluent_copier.py")), *told)

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Begins when the first transaction is committed, ends when all has been copied; what went wrong in it is raised here."""
        self.program = self.start()
        self.program.wait_for(lambda lines: self.said)
        with ThreadPoolExecutor(1) as pool:
            watched = pool.submit(self.watch)
            yield
            watched.result()

    @property
    def said(self) -> list[int]:
        """How many were left after each transaction; the other lines are what librdkafka says of its connections."""
        return [int(line) for line in self.program.lines if line.isdecimal()]

    def watch(self) -> None:
        for _ in range(4):
            if self.ended():
                assert self.program.process.returncode == 0, self.program.lines
                return
            self.program.process.kill()
            self.program = self.start()
        raise AssertionError(self.program.lines)

    def ended(self) -> bool:
        """Or it has said nothing for long."""
        heard, said = time.monotonic(), 0
        while self.program.process.poll() is None and time.monotonic() < heard + STUCK_S:
            if len(self.said) > said:
                heard, said = time.monotonic(), len(self.said)
            time.sleep(0.1)
        return self.program.process.returncode is not None


def test_what_is_consumed_is_produced_once_while_brokers_die(cluster: Cluster, tool: Command, running: Callable[..., Running]) -> None:
    for topic in ("in", "out-java", "out-python"):
        cluster.create(topic, PARTITIONS)
    plain = Producer({"bootstrap.servers": cluster.bootstrap})
    for number in range(RECORDS):
        plain.produce("in", str(number), partition=number % PARTITIONS)
    assert plain.flush(PATIENCE_S) == 0
    java = running(*tool(
        "TransactionalMessageCopier", "--broker-list", cluster.bootstrap, "--input-topic", "in", "--input-partition", "0", "--output-topic", "out-java",
        "--consumer-group", "java-copier", "--transactional-id", "java-copier", "--transaction-size", str(TRANSACTION), "--group-mode",
        "--use-group-metadata", "--enable-random-aborts",
    ))  # fmt: skip
    java.wait_for(lambda lines: any('"consumed":"' in line or '"consumed":' in line for line in lines), 2 * PATIENCE_S)
    with PythonCopier(running, cluster.bootstrap).at_work():
        for victim in (lambda: coordinator(cluster, "java-copier"), lambda: leader(cluster, "out-java", 0)):
            broker = victim()
            cluster.do(do="kill", broker=broker)
            cluster.until(lambda state, gone=broker: gone not in {part["leader"] for one in state["topics"].values() for part in one["partitions"].values()})
            cluster.heal()
        java.process.wait(2 * PATIENCE_S)
    expected = sorted(map(str, range(RECORDS)))
    assert read(cluster, "out-python", PARTITIONS, "read_committed") == expected
    assert read(cluster, "out-java", PARTITIONS, "read_committed") == expected, java.lines[-5:]
    ended = Connection(address(cluster, coordinator(cluster, "java-copier")), PATIENCE_S)
    told = ended.ask(ApiKey.DESCRIBE_TRANSACTIONS, 0, m.DescribeTransactionsRequest(transactional_ids=["java-copier"])).transaction_states[0]
    ended.close()
    assert told.transaction_state in ("CompleteCommit", "CompleteAbort") and told.producer_epoch >= RECORDS // TRANSACTION, told
    log = cluster.lab.data / "broker-1" / "data" / f"__transaction_state-{partition_for('java-copier', LOGS)}" / f"{'0' * 20}.log"
    dumped = run(*tool("DumpLogSegments", "--transaction-log-decoder", "--files", str(log)))
    states = set(re.findall(r'"transactionStatus":(\d)', dumped))
    assert {"0", "1", "2", "3", "4", "5"} >= states >= {"1", "2", "4", "5"} and '"clientTransactionVersion":2' in dumped, dumped[-2000:]
    assert "isvalid: false" not in dumped


def address(cluster: Cluster, broker: int) -> str:
    return cluster.bootstrap.split(",")[broker - 1]


def hang(cluster: Cluster, producer_id: int = 77_000) -> None:
    """What a broker that verifies nothing takes of a transaction that no coordinator knows."""
    asking = Connection(address(cluster, leader(cluster, "hanging", 0)), PATIENCE_S)
    records = encode_batch([(time.time_ns() // 1_000_000, None, b"hangs", ())], producer_id=producer_id, producer_epoch=3, base_sequence=0, transactional=True)
    answer = asking.ask(ApiKey.PRODUCE, 9, produce("hanging", records, -1, transactional_id="gone"))
    assert not answer.responses[0].partition_responses[0].error_code, answer
    asking.close()


def test_kafka_transactions_lists_describes_finds_what_hangs_and_aborts_it(cluster: Cluster, tool: Command) -> None:
    cluster.create("hanging")
    opened = Producer({"bootstrap.servers": cluster.bootstrap, "transactional.id": "open", "transaction.timeout.ms": 900_000})
    opened.init_transactions(PATIENCE_S)
    opened.begin_transaction()
    opened.produce("hanging", "open")
    assert opened.flush(PATIENCE_S) == 0
    hang(cluster)

    def ask(*arguments: str) -> str:
        return run(*tool("TransactionsCommand", "--bootstrap-server", cluster.bootstrap, *arguments))

    place = ("--topic", "hanging", "--partition", "0")
    with ThreadPoolExecutor(2) as pool:
        listed, described, producers, found = pool.map(lambda arguments: ask(*arguments), (
            ("list",), ("describe", "--transactional-id", "open"), ("describe-producers", *place),
            ("find-hanging", *place, "--max-transaction-timeout", "0"),
        ))  # fmt: skip
    assert re.search(r"(?m)^open\s+\d+\s+\d+\s+Ongoing", listed), listed
    assert re.search(r"open\s.*Ongoing.*hanging-0", described), described
    assert sorted(line.split()[-1] for line in producers.splitlines()[1:]) == ["0", "1"], producers
    lines = [line.split() for line in found.splitlines() if line.startswith("hanging")]
    assert [line[:3] for line in lines] == [["hanging", "0", "77000"]], found
    hang(cluster, 77_001)
    ask("abort", *place, "--start-offset", "1")
    ask("abort", *place, *OF_PRODUCER, "77001")
    opened.commit_transaction(PATIENCE_S)
    assert read(cluster, "hanging", 1, "read_committed") == ["open"]
    assert read(cluster, "hanging", 1, "read_uncommitted") == ["hangs", "hangs", "open"]


def test_with_zookeeper_what_hangs_is_found_at_its_broker_and_aborted_in_both_forms(java: Command, tmp_path: Path) -> None:
    own = SETTINGS | {"transaction.partition.verification.enable": "false"}
    described = {"brokers": 3, "controller": "zookeeper", "port": free_ports(3), "preset": "teaching", "settings": own}
    lab = LiveLab(run_from_dict({"cluster": described, "epoch_ms": time.time_ns() // 1_000_000}), tmp_path)
    cluster = Cluster(lab, lab.start().bootstrap)
    try:
        cluster.create("hanging")
        hang(cluster)
        hang(cluster, 77_001)
        plain = Producer({"bootstrap.servers": cluster.bootstrap})
        plain.produce("hanging", "behind")
        assert plain.flush(PATIENCE_S) == 0
        assert read(cluster, "hanging", 1, "read_committed") == []
        asking = java("org.apache.kafka.tools.TransactionsCommand", "--bootstrap-server", cluster.bootstrap)
        found = run(*asking, "find-hanging", "--broker-id", str(leader(cluster, "hanging", 0)), "--max-transaction-timeout", "0")
        lines = [line.split()[:3] for line in found.splitlines() if line.startswith("hanging")]
        assert sorted(lines) == [["hanging", "0", "77000"], ["hanging", "0", "77001"]], found
        place = ("--topic", "hanging", "--partition", "0")
        run(*asking, "abort", *place, "--start-offset", "0")
        assert read(cluster, "hanging", 1, "read_committed") == [], "the younger one holds it back"
        run(*asking, "abort", *place, *OF_PRODUCER, "77001")
        assert read(cluster, "hanging", 1, "read_committed") == ["behind"]
        assert read(cluster, "hanging", 1, "read_uncommitted") == ["behind", "hangs", "hangs"]
    finally:
        lab.stop()
