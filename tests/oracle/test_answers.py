"""The same requests to Apache Kafka and to a lab get the same answers, field by field.

What Kafka 3.9 with ZooKeeper answered stands in kafka_3_9_answers.json. With BROKERLAB_ASK_KAFKA=1 a real
one is started and asked again, and BROKERLAB_RECORD=1 writes its answers down. `DIFFERENCES` lists
every answer that is not the same, with the reason.
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
from tests.oracle import script_admin, script_hostile, script_records, script_refused, script_three
from tests.oracle.asking import Script

RECORDED = Path(__file__).with_name("kafka_3_9_answers.json")
SCRIPTS: dict[str, Callable[[Script], None]] = {
    "producing": script_records.producing,
    "producing wrongly": script_records.producing_wrongly,
    "times that lie": script_records.times_that_lie,
    "idempotence": script_records.idempotence,
    "fetching": script_records.fetching,
    "fetch sessions": script_records.fetch_sessions,
    "offsets": script_records.offsets,
    "large requests": script_records.large_request,
    "versions": script_admin.versions,
    "cluster": script_admin.cluster,
    "topics": script_admin.topics,
    "settings": script_admin.settings,
    "other admin requests": script_admin.others,
    "directories": script_admin.directories,
    "malformed": script_admin.malformed,
    "refused": script_refused.refused,
    "records that lie": script_hostile.hostile_records,
    "topics of the cluster": script_hostile.internal_topics,
    "broker settings": script_hostile.broker_settings,
}
SETTINGS = {
    "log.retention.ms": "-1", "offsets.topic.num.partitions": "5", "offsets.topic.replication.factor": "1",
    "num.partitions": "3", "num.network.threads": "3", "num.io.threads": "8", "group.initial.rebalance.delay.ms": "0",
    "default.replication.factor": "1",
}  # fmt: skip
THREE = {"three brokers": script_three.three_brokers}
NOT_IMPLEMENTED = {
    "DESCRIBE_CLIENT_QUOTAS", "ALTER_CLIENT_QUOTAS", "DESCRIBE_USER_SCRAM_CREDENTIALS",
    "ALTER_USER_SCRAM_CREDENTIALS", "UPDATE_FEATURES", "ENVELOPE",
}  # fmt: skip
PARTS = "Kafka cuts messages that were converted for an old client at the size that they had before"
BY_ZERO = "Kafka divides the cleaner's buffer by the threads before it looks at them"
NO_LIMIT = "Kafka takes what no log can go by"
DIFFERENCES = {
    ("versions", "software 'a.b-c' '1.0-x' v3"): "APIs that are not there yet",
    ("fetching", "from the start v2"): PARTS,
    ("fetching", "from the start v3"): PARTS,
    ("fetching", "800 bytes v2"): PARTS,
    ("fetching", "1000 bytes v2"): PARTS,
    **{("records that lie", f"{codec}, a byte too many v9"): "Kafka stumbles over what its partial reader leaves behind"
       for codec in ("gzip", "snappy", "lz4", "zstd")},
    **{("broker settings", f"broker {broker!r}: {change} v1"): why for broker in ("1", "") for change, why in (
        ("log.cleaner.threads=0", BY_ZERO), ("metric.reporters=x.y.Z", "there is no JVM that could look for a class"),
        ("log.flush.interval.ms=-1", NO_LIMIT), ("log.cleaner.min.cleanable.ratio=NaN", NO_LIMIT),
        ("log.cleaner.min.cleanable.ratio=0.5f", "Java writes numbers so, nobody else does"))},
    ("three brokers", "elect elsewhere v2"): "Kafka says NOT_CONTROLLER for each partition, not for the whole",
    ("topics", "one twice v5"): "Kafka repeats the refusal for each time that the topic was named",
    ("topics", "delete: neither v6"): "Kafka takes a topic without name and id for one that is forbidden",
}


@pytest.fixture(scope="module")
def lab(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The addresses of a lab's brokers."""
    cluster = {"brokers": request.param, "port": free_ports(request.param), "settings": SETTINGS}
    started = LiveLab(
        run_from_dict({"cluster": cluster, "epoch_ms": time.time_ns() // 1_000_000}), tmp_path_factory.mktemp("lab")
    )
    yield started.start().bootstrap
    started.stop()


@pytest.fixture(scope="module")
def kafka(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The addresses of a real cluster's brokers."""
    if not os.environ.get("BROKERLAB_ASK_KAFKA"):
        pytest.skip("BROKERLAB_ASK_KAFKA is not set")
    command = [sys.executable, str(request.getfixturevalue("require_oracle"))]
    where = ["--dir", str(tmp_path_factory.mktemp("kafka") / "cluster")]
    settings = [part for key, value in SETTINGS.items() if "factor" not in key for part in ("--set", f"{key}={value}")]
    up = [*command, "up", "zookeeper", "--brokers", str(request.param), "--port", str(free_ports(202)), *where, *settings]
    started = json.loads(subprocess.run(up, check=True, capture_output=True, text=True, timeout=120).stdout)
    yield started["bootstrap"]
    subprocess.run([*command, "down", *where], check=True, capture_output=True, timeout=60)


def answers(bootstrap: str, title: str) -> dict[str, Any]:
    script = Script(dict(enumerate(bootstrap.split(","), 1)))
    try:
        {**SCRIPTS, **THREE}[title](script)
    finally:
        script.close()
    answers: dict[str, Any] = json.loads(json.dumps(script.answers))
    return answers


def different(title: str, ours: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Any]:
    """Question -> both answers, where they are not the same."""
    assert list(ours) == list(theirs)
    found = {}
    for question, their in theirs.items():
        if question.startswith("offered "):
            their = {api: versions for api, versions in their.items() if api not in NOT_IMPLEMENTED}
        if ours[question] != their and (title, question) not in DIFFERENCES:
            found[question] = {"ours": ours[question], "kafka": their}
    return found


CASES = [(1, title) for title in SCRIPTS] + [(3, title) for title in THREE]  # number of brokers


@pytest.mark.parametrize(("lab", "title"), CASES, indirect=["lab"])
def test_every_answer_is_the_one_that_kafka_gave(lab: str, title: str) -> None:
    assert different(title, answers(lab, title), json.loads(RECORDED.read_text())[title]) == {}


@pytest.mark.oracle
@pytest.mark.parametrize(("kafka", "title"), CASES, indirect=["kafka"])
def test_kafka_still_gives_the_recorded_answers(kafka: str, title: str) -> None:
    theirs = answers(kafka, title)
    recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    if os.environ.get("BROKERLAB_RECORD"):
        recorded = {name: {**recorded, title: theirs}.get(name, {}) for name in (*SCRIPTS, *THREE)}
        parts = []
        for name, lines in recorded.items():
            rows = [f"{json.dumps(q, ensure_ascii=False)}: {json.dumps(a, ensure_ascii=False)}" for q, a in lines.items()]
            parts.append(json.dumps(name) + ": {\n" + ",\n".join(rows) + "\n}")
        RECORDED.write_text("{" + ",\n".join(parts) + "}\n")
    assert recorded[title] == theirs
