"""The same requests to Apache Kafka 4.3 and to a KRaft lab get the same answers, field by field: of its broker, and of
its controller on its own listener.

What Kafka answered stands in kafka_4_3_answers.json: most scripts are those of `test_answers`, the rest is in
`script_kraft`. To ask a real one again:

    oracle.py up newest --brokers 1 --controllers 1 --port 19090 --set log.retention.ms=-1 ... (SETTINGS)
    python -m tests.oracle.test_kraft_answers 127.0.0.1:19091 127.0.0.1:19191 > tests/oracle/kafka_4_3_answers.json
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.clusters.spec import run_from_dict
from lab.live import LiveLab
from tests.conftest import free_ports
from tests.oracle import script_admin, script_hostile, script_kraft, script_records, script_refused
from tests.oracle.asking import Script
from tests.oracle.test_answers import SETTINGS as OF_BOTH

SETTINGS = {
    **OF_BOTH, "share.coordinator.state.topic.num.partitions": "3", "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
}  # fmt: skip
RECORDED = Path(__file__).with_name("kafka_4_3_answers.json")
OF_BROKERS: dict[str, Callable[[Script], None]] = {
    **script_kraft.OF_BROKERS,
    "producing": script_records.producing,
    "producing wrongly": script_records.producing_wrongly,
    "times that lie": script_records.times_that_lie,
    "idempotence": script_records.idempotence,
    "fetch sessions": script_records.fetch_sessions,
    "offsets": script_records.offsets,
    "versions": script_admin.versions,
    "cluster": script_admin.cluster,
    "topics": script_admin.topics,
    "settings": script_admin.settings,
    "other admin requests": script_admin.others,
    "directories": script_admin.directories,
    "malformed": script_admin.malformed,
    "refused": script_refused.refused,
    "topics of the cluster": script_hostile.internal_topics,
}
SCRIPTS = {
    "broker": OF_BROKERS, "controller": {**script_kraft.OF_CONTROLLERS, "versions": script_admin.versions},
}  # fmt: skip
CASES = [(who, title) for who, scripts in SCRIPTS.items() for title in scripts]
NOT_THERE_YET = "what it belongs to is not there yet"
OWN_ID = "the id of a member is made at random"
OF_OTHERS = "settings of client metrics are not there yet"
DIFFERENCES = {
    ("versions", "software 'a.b-c' '1.0-x' v3"): "APIs that are not there yet",
    ("offsets", "twice v5"): "Kafka answers once for a partition that is asked for twice; two answers say the same",
    ("topics", "no time v5"): "nothing takes time here",
    ("refused", "heartbeat v0"): OWN_ID,
    ("refused", "describe 2 v0"): OWN_ID,
    **{("settings", f"describe {kind} None v{version}"): OF_OTHERS for kind in ("16 'c'",) for version in range(1, 5)},
}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Who -> its address."""
    cluster = {"brokers": 1, "controllers": 1, "controller": "kraft", "port": free_ports(101), "settings": SETTINGS}
    spec = run_from_dict({"cluster": cluster, "epoch_ms": time.time_ns() // 1_000_000})
    started = LiveLab(spec, tmp_path_factory.mktemp("lab"))
    bootstrap = started.start().bootstrap
    yield {"broker": bootstrap, "controller": f"127.0.0.1:{started.server.ports['controller-101:CONTROLLER']}"}
    started.stop()


def answers(address: str, script: Callable[[Script], None]) -> dict[str, Any]:
    return heard(address, script)[0]


def heard(address: str, script: Callable[[Script], None]) -> tuple[dict[str, Any], set[tuple[str, int]]]:
    """The answers, and of which API and version there are any."""
    asking = Script({1: address})
    try:
        script(asking)
    finally:
        asking.close()
    found: dict[str, Any] = json.loads(re.sub(r"Set\(([a-z.]+)\)", r"[\1]", json.dumps(asking.answers)))
    return found, asking.asked


@pytest.mark.parametrize(("who", "title"), CASES)
def test_every_answer_is_the_one_that_kafka_gave(lab: dict[str, str], who: str, title: str) -> None:
    ours, theirs = answers(lab[who], SCRIPTS[who][title]), json.loads(RECORDED.read_text())[who][title]
    assert list(ours) == list(theirs)
    different = {}
    for question, their in theirs.items():
        if question.startswith("offered "):  # what is not there yet is not offered
            their = {api: versions for api, versions in their.items() if api in ours[question]}
        if ours[question] != their and (title, question) not in DIFFERENCES:
            different[question] = {"ours": ours[question], "kafka": their}
    assert different == {}


if __name__ == "__main__":
    asked = dict(zip(SCRIPTS, sys.argv[1:], strict=True))
    parts = []
    for one, address in asked.items():
        rows = []
        for name, script in SCRIPTS[one].items():
            lines = [f"  {json.dumps(q)}: {json.dumps(a, ensure_ascii=False)}" for q, a in answers(address, script).items()]
            rows.append(f" {json.dumps(name)}: {{\n" + ",\n".join(lines) + "\n }")
        parts.append(f"{json.dumps(one)}: {{\n" + ",\n".join(rows) + "\n}")
    print("{" + ",\n".join(parts) + "}")
