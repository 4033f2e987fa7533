"""Brokers are killed by clicks on the page while clients of their own read, write and commit in one transaction: nothing is lost or doubled."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from broker_core.coordinators.partitioning import partition_for
from tests.browser.lab_page import LabPage, Open, open_pages
from tests.clients.conftest import Running
from tests.clients.conftest import running as running
from tests.clients.test_java_transactions import PARTITIONS, RECORDS, TRANSACTION, PythonCopier
from tests.clients.test_transactions import read
from tests.conftest import PATIENCE_S

pytestmark = [pytest.mark.clients, pytest.mark.oracle]
LOGS = 50
TOPICS = ("in", "out-java", "out-python")
QUICKLY = ("--set", "broker.session.timeout.ms=2000", "--set", "broker.heartbeat.interval.ms=500", "--set", "min.insync.replicas=2")


@pytest.fixture
def visit(browser: object, tmp_path: Path) -> Iterator[Open]:
    yield from open_pages(browser, tmp_path / "lab", "--controller", "kraft", *QUICKLY)


def whole(topic: str) -> str:
    return f"Object.values(lab.app.state.topics['{topic}']?.partitions ?? {{}}).length && Object.values(lab.app.state.topics['{topic}'].partitions).every((one) => one.leader > 0 && one.isr.length === 3)"


def kill(page: LabPage, topic: str, partition: int = 0) -> Iterator[None]:
    """A partition's leader, and start it again: two clicks, and what a viewer waits for. Goes on as soon as it is dead."""
    part = f"lab.app.state.topics['{topic}'].partitions[{partition}]"
    leader = int(page.value(f"{part}.leader"))
    page.page.click(f'[data-do="kill"][data-broker="{leader}"]')
    page.wait(f"lab.app.state.brokers[{leader}].state === 'stopped'")
    yield
    page.wait(f"{part}.leader > 0 && {part}.leader !== {leader}")
    page.page.click(f'[data-do="restart"][data-broker="{leader}"]')
    for one in (*TOPICS, "__transaction_state"):
        page.wait(whole(one))


def test_what_is_consumed_is_produced_once_while_a_viewer_kills_brokers(
    visit: Open, running: Callable[..., Running], require_oracle: Path
) -> None:
    page = visit("ko")
    for topic in TOPICS:
        page.command(do="create_topic", topic=topic, partitions=PARTITIONS, replication_factor=3)
        page.wait(whole(topic))
    plain = Producer({"bootstrap.servers": page.lab.bootstrap})
    for number in range(RECORDS):
        plain.produce("in", str(number), partition=number % PARTITIONS)
    assert plain.flush(PATIENCE_S) == 0
    python = PythonCopier(running, page.lab.bootstrap)
    java = running(
        sys.executable, str(require_oracle), "--newest", "tool", "org.apache.kafka.tools.TransactionalMessageCopier",
        "--broker-list", page.lab.bootstrap, "--input-topic", "in", "--input-partition", "0", "--output-topic", "out-java",
        "--consumer-group", "java-copier", "--transactional-id", "java-copier", "--transaction-size", str(TRANSACTION), "--group-mode",
    )  # fmt: skip
    java.wait_for(lambda lines: any('"consumed":' in line for line in lines), 2 * PATIENCE_S)
    with python.at_work():
        for _ in kill(page, "__transaction_state", partition_for("java-copier", LOGS)):
            assert python.said[-1] and java.process.poll() is None  # both are at work
        for _ in kill(page, "out-python"):
            pass
        java.process.wait(2 * PATIENCE_S)
    expected = sorted(map(str, range(RECORDS)))
    assert read(page.lab, "out-python", PARTITIONS, "read_committed") == expected  # type: ignore[arg-type]
    assert read(page.lab, "out-java", PARTITIONS, "read_committed") == expected, java.lines[-5:]  # type: ignore[arg-type]
    page.picture("exactly-once-killed-on-the-page")
