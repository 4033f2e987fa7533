"""A topic stuck in deletion, for a replica's broker is gone: clients and operators get Kafka's answers.

What Kafka 3.9 with ZooKeeper answered stands in kafka_3_9_stuck.json. With BROKERLAB_ASK_KAFKA=1 a real one is asked
again, and BROKERLAB_RECORD=1 writes its answers down.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from lab.clusters.spec import run_from_dict
from lab.live import LiveLab
from tests.conftest import free_ports
from tests.oracle.asking import Script
from tests.oracle.script_stuck import Deed, stuck_in_deletion

RECORDED = Path(__file__).with_name("kafka_3_9_stuck.json")
SETTINGS = {"default.replication.factor": "3", "num.partitions": "3"}


def answers(bootstrap: str, kill: Deed, restart: Deed) -> dict[str, Any]:
    script = Script(dict(enumerate(bootstrap.split(","), 1)))
    try:
        stuck_in_deletion(script, kill, restart)
    finally:
        script.close()
    found: dict[str, Any] = json.loads(json.dumps(script.answers))
    return found


def test_whoever_asks_about_a_topic_that_is_stuck_in_deletion_gets_kafkas_answer(tmp_path: Path) -> None:
    settings = {**SETTINGS, "zookeeper.session.timeout.ms": "2000"}
    cluster = {"brokers": 3, "port": free_ports(3), "settings": settings}
    lab = LiveLab(run_from_dict({"cluster": cluster, "epoch_ms": time.time_ns() // 1_000_000}), tmp_path)
    bootstrap = lab.start().bootstrap

    def do(what: str, broker: int) -> None:
        lab.branch(lab.run_id).submit({"do": what, "broker": broker}).result(30)

    try:
        ours = answers(bootstrap, lambda broker: do("kill", broker), lambda broker: do("restart", broker))
    finally:
        lab.stop()
    theirs = json.loads(RECORDED.read_text())
    assert {title: ours.get(title) for title in theirs} == theirs and ours.keys() == theirs.keys()


@pytest.mark.oracle
def test_kafka_still_gives_the_recorded_answers(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    if not os.environ.get("BROKERLAB_ASK_KAFKA"):
        pytest.skip("BROKERLAB_ASK_KAFKA is not set")
    where = ["--dir", str(tmp_path / "cluster")]
    settings = ("num.partitions=3", "zookeeper.session.timeout.ms=6000")

    def oracle(*words: str) -> str:
        command = [sys.executable, str(request.getfixturevalue("require_oracle")), *words, *where]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout

    def do(what: str, broker: int) -> None:
        oracle(what, str(broker))

    given = [part for one in settings for part in ("--set", one)]
    started = json.loads(oracle("up", "zookeeper", "--brokers", "3", "--port", str(free_ports(202)), *given))
    try:
        theirs = answers(started["bootstrap"], lambda broker: do("kill", broker), lambda broker: do("restart", broker))
    finally:
        oracle("down")
    if os.environ.get("BROKERLAB_RECORD"):
        lines = ",\n".join(f" {json.dumps(key)}: {json.dumps(theirs[key], sort_keys=True)}" for key in sorted(theirs))
        RECORDED.write_text(f"{{\n{lines}\n}}\n")
    assert theirs == json.loads(RECORDED.read_text())
