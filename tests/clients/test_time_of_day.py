"""A lab whose clock has stood while the machine's went on, and a client from outside."""

from __future__ import annotations

import json
import time
from pathlib import Path

from confluent_kafka import Producer

from lab.experiments.verify import verify
from lab.live import LiveLab
from lab.testing.described import described
from lab.time_of_day import BEHIND_MS
from tests.clients.conftest import to_the_end
from tests.conftest import PATIENCE_S

STOOD_MS = 3 * 3_600_000


def write(lab: LiveLab, bootstrap: str, value: str) -> list[str]:
    """What is in the topic, once a client with the machine's clock has written to it."""
    producer = Producer({"bootstrap.servers": bootstrap})
    answers = list[str]()
    producer.produce("orders", value, callback=lambda error, _: answers.append(str(error)))
    assert producer.flush(PATIENCE_S) == 0 and answers == ["None"]
    return sorted(message.value().decode() for message in to_the_end(bootstrap, "orders", 1, "read_uncommitted"))


def test_the_clocks_are_set_before_records_from_outside_are_refused_and_never_for_those_who_read(tmp_path: Path) -> None:
    began = time.time_ns() // 1_000_000 - STOOD_MS
    lab = LiveLab(described(1, epoch_ms=began), tmp_path)
    try:
        bootstrap = lab.start().bootstrap
        lab.submit({"do": "create_topic", "topic": "orders", "partitions": 1, "replication_factor": 1}).result(PATIENCE_S)
        lab.submit({"do": "produce", "topic": "orders", "value": "own"}).result(PATIENCE_S)
        assert [one.value() for one in to_the_end(bootstrap, "orders", 1, "read_uncommitted")] == [b"own"]
        assert len(clocks(lab)) == 1
        assert write(lab, bootstrap, "outside") == ["outside", "own"]
        assert write(lab, bootstrap, "again") == ["again", "outside", "own"]
        (_, first), (since_us, now) = clocks(lab)
        assert first == began and STOOD_MS - since_us / 1000 - BEHIND_MS < now - first <= STOOD_MS + 1000 * PATIENCE_S
        path = lab.main.files.path
    finally:
        lab.stop()
    assert verify(path).differences == []
    assert sum('"do":"set_clocks"' in line for line in (path / "journal.jsonl").read_text().splitlines()) == 1


def clocks(lab: LiveLab) -> list[list[int]]:
    found: list[list[int]] = json.loads(lab.snapshot().result(PATIENCE_S)[1])["state"]["time"]["clocks"]
    return found
