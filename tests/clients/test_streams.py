"""A Kafka Streams application (Apache's WordCountDemo) with `processing.guarantee=exactly_once_v2`: brokers die, and no word is
counted twice or not at all.

Its jars are fetched by `.ci/run`, or by `oracle.py --ecosystem tool ...`, once; where that was not done this test skips.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from lab.clusters.spec import run_from_dict
from lab.live import LiveLab
from tests.clients.conftest import SETTINGS, Cluster, Running, to_the_end
from tests.conftest import PATIENCE_S, free_ports

pytestmark = [pytest.mark.clients, pytest.mark.oracle]
JARS = Path(os.environ.get("BROKERLAB_ORACLE_CACHE", Path.home() / ".cache" / "brokerlab-oracle")) / "ecosystem" / "pom.xml"
INPUT, OUTPUT, PARTITIONS = "streams-plaintext-input", "streams-wordcount-output", 2
WORDS, EACH = ("broker", "leader", "epoch"), 30
OWN = {name: value for name, value in SETTINGS.items() if not name.startswith("zookeeper.")} | {"broker.session.timeout.ms": "3000"}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    if not JARS.exists():
        pytest.skip("the jars of Kafka Streams were not fetched (oracle.py --ecosystem tool ...)")
    described = {"brokers": 3, "controllers": 1, "controller": "kraft", "port": free_ports(103), "preset": "teaching", "settings": OWN}
    lab = LiveLab(run_from_dict({"cluster": described, "epoch_ms": time.time_ns() // 1_000_000}), tmp_path / "lab")
    yield Cluster(lab, lab.start().bootstrap)
    lab.stop()


def counts(cluster: Cluster) -> dict[str, list[int]]:
    """What a careful reader finds of each word, up to the last stable offset."""
    found: dict[str, list[int]] = {}
    for message in to_the_end(cluster.bootstrap, OUTPUT, PARTITIONS, "read_committed"):
        found.setdefault(message.key().decode(), []).append(int.from_bytes(message.value(), "big"))
    return found


def test_a_streams_application_counts_each_word_once_while_brokers_die(
    cluster: Cluster, require_oracle: Path, running: Callable[..., Running], tmp_path: Path
) -> None:
    for topic in (INPUT, OUTPUT):
        cluster.create(topic, PARTITIONS)
    settings = tmp_path / "streams.properties"
    settings.write_text("\n".join((
        f"bootstrap.servers={cluster.bootstrap}", "processing.guarantee=exactly_once_v2", "commit.interval.ms=100", "application.id=counts",
        f"state.dir={tmp_path / 'state'}", "statestore.cache.max.bytes=0", "auto.offset.reset=earliest", "replication.factor=3",
        "session.timeout.ms=10000", "transaction.timeout.ms=10000",
    )))  # fmt: skip
    command = (sys.executable, str(require_oracle), "--ecosystem", "tool", "org.apache.kafka.streams.examples.wordcount.WordCountDemo", str(settings))
    application = running(*command)
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "enable.idempotence": True})
    deadline = time.monotonic() + 4 * PATIENCE_S

    def write() -> None:
        for number in range(EACH // 3):
            producer.produce(INPUT, " ".join(WORDS), partition=number % PARTITIONS)
        assert producer.flush(PATIENCE_S) == 0

    write()
    while sum(map(len, counts(cluster).values())) < len(WORDS):
        assert time.monotonic() < deadline and application.process.poll() is None, application.lines[-20:]
        time.sleep(0.3)
    for dead in (2, 3):
        cluster.do(do="kill", broker=dead)
        write()
        cluster.heal()
    while (found := counts(cluster)) != {word: list(range(1, EACH + 1)) for word in WORDS}:
        assert all(one == list(range(1, len(one) + 1)) for one in found.values()), found
        assert time.monotonic() < deadline and application.process.poll() is None, (found, application.lines[-20:])
        time.sleep(0.3)
