"""Logs of magic 0, 1 and of all three: the same requests to Apache Kafka and to a lab leave the same bytes and answers.

What Kafka 3.9 with ZooKeeper and inter.broker.protocol.version=2.8 answered stands in kafka_3_9_formats.json. With
BROKERLAB_ASK_KAFKA=1 a real one is asked again, and BROKERLAB_RECORD=1 writes its answers down.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.clusters.spec import run_from_dict
from lab.live import LiveLab
from tests.conftest import free_ports
from tests.oracle import script_formats
from tests.oracle.asking import Script

RECORDED = Path(__file__).with_name("kafka_3_9_formats.json")
SCRIPTS: dict[str, Callable[[Script], None]] = {
    "written": script_formats.written,
    "settings": script_formats.settings_of_the_topic,
    "append times": script_formats.append_times,
    "refused": script_formats.refused,
    "mixed": script_formats.mixed,
}
SETTINGS = {"inter.broker.protocol.version": "2.8", "log.message.format.version": "2.8", "log.retention.ms": "-1"}
PARTS = "Kafka cuts messages that were converted for an old client at the size that they had before"
EMPTY = "Kafka takes a payload without a whole message for an append of nothing"
DIFFERENCES = {
    **{f"log of 2 converted{place}: bytes v{version}": PARTS for place in ("", " from 7") for version in (2, 3)},
    **{f"{title} to {to} v2": EMPTY for title in ("nothing", "cut") for to in (0, 1, 2)},
}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a lab's broker."""
    settings = {**SETTINGS, "offsets.topic.replication.factor": "1"}
    cluster = {"brokers": 1, "port": free_ports(1), "settings": settings}
    started = LiveLab(
        run_from_dict({"cluster": cluster, "epoch_ms": time.time_ns() // 1_000_000}), tmp_path_factory.mktemp("lab")
    )
    yield started.start().bootstrap
    started.stop()


@pytest.fixture(scope="module")
def kafka(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a real broker."""
    if not os.environ.get("BROKERLAB_ASK_KAFKA"):
        pytest.skip("BROKERLAB_ASK_KAFKA is not set")
    command = [sys.executable, str(request.getfixturevalue("require_oracle"))]
    where = ["--dir", str(tmp_path_factory.mktemp("kafka") / "cluster")]
    settings = [part for key, value in SETTINGS.items() for part in ("--set", f"{key}={value}")]
    up = [*command, "up", "zookeeper", "--brokers", "1", "--port", str(free_ports(202)), *where, *settings]
    started = json.loads(subprocess.run(up, check=True, capture_output=True, text=True, timeout=120).stdout)
    yield started["bootstrap"]
    subprocess.run([*command, "down", *where], check=True, capture_output=True, timeout=60)


def answers(bootstrap: str, title: str) -> dict[str, Any]:
    script = Script({1: bootstrap})
    try:
        SCRIPTS[title](script)
    finally:
        script.close()
    found: dict[str, Any] = json.loads(json.dumps(script.answers))
    return found


@pytest.mark.parametrize("title", list(SCRIPTS))
def test_a_lab_writes_what_kafka_writes(title: str, lab: str) -> None:
    ours, theirs = answers(lab, title), json.loads(RECORDED.read_text())[title]
    assert set(ours) == set(theirs)
    found = {question: (ours[question], theirs[question]) for question in theirs if ours[question] != theirs[question]}
    assert {question: both for question, both in found.items() if question not in DIFFERENCES} == {}
    assert {question for question in theirs if question in DIFFERENCES} == set(found)


@pytest.mark.oracle
@pytest.mark.parametrize("title", list(SCRIPTS))
def test_kafka_still_gives_the_recorded_answers(title: str, kafka: str) -> None:
    theirs = answers(kafka, title)
    recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    if os.environ.get("BROKERLAB_RECORD"):
        recorded[title] = theirs
        parts = ",\n".join(
            f"{json.dumps(name)}: {{\n" + ",\n".join(
                f" {json.dumps(key)}: {json.dumps(value, sort_keys=True)}" for key, value in recorded[name].items()
            ) + "\n}" for name in SCRIPTS if name in recorded
        )  # fmt: skip
        RECORDED.write_text(f"{{\n{parts}\n}}\n")
    assert theirs == recorded[title]
