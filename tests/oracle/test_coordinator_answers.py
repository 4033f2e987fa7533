"""The same requests about transactions, next-generation groups and settings of groups to Apache Kafka 4.3 and to a KRaft lab
get the same answers, field by field, in every version of their APIs.

What Kafka answered stands in kafka_4_3_coordinators.json (that of share groups in kafka_4_3_answers.json). To ask a real
one again, when it is new:

    oracle.py up newest --brokers 1 --controllers 1 --port 19090 --set transaction.state.log.num.partitions=5 ... (SETTINGS)
    python -m tests.oracle.test_coordinator_answers 127.0.0.1:19091 > tests/oracle/kafka_4_3_coordinators.json
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab.clusters.spec import run_from_dict
from lab.live import LiveLab
from tests.conftest import free_ports
from tests.oracle import script_group_settings, script_next_generation, script_transactions
from tests.oracle.asking import Script
from tests.oracle.test_kraft_answers import SETTINGS as OF_KRAFT
from tests.oracle.test_kraft_answers import answers

SETTINGS = {
    **OF_KRAFT, "transaction.state.log.num.partitions": "5", "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
}  # fmt: skip
RECORDED = Path(__file__).with_name("kafka_4_3_coordinators.json")
SCRIPTS: dict[str, Callable[[Script], None]] = {**script_transactions.SCRIPTS, **script_next_generation.SCRIPTS, **script_group_settings.SCRIPTS}


@pytest.fixture(scope="module")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    cluster = {"brokers": 1, "controllers": 1, "controller": "kraft", "port": free_ports(101), "settings": SETTINGS}
    spec = run_from_dict({"cluster": cluster, "epoch_ms": time.time_ns() // 1_000_000})
    started = LiveLab(spec, tmp_path_factory.mktemp("lab"))
    yield started.start().bootstrap
    started.stop()


@pytest.mark.parametrize("title", SCRIPTS)
def test_every_answer_is_the_one_that_kafka_gave(bootstrap: str, title: str) -> None:
    ours, theirs = answers(bootstrap, SCRIPTS[title]), json.loads(RECORDED.read_text())[title]
    assert list(ours) == list(theirs)
    assert {question: (ours[question], their) for question, their in theirs.items() if ours[question] != their} == {}


if __name__ == "__main__":
    parts = []
    for name, script in SCRIPTS.items():
        lines = [f"  {json.dumps(q)}: {json.dumps(a, ensure_ascii=False)}" for q, a in answers(sys.argv[1], script).items()]
        parts.append(f" {json.dumps(name)}: {{\n" + ",\n".join(lines) + "\n }")
    print("{" + ",\n".join(parts) + "}")
