"""What producers are told whose answer was lost, who took too long, who were taken over, and whose epochs are used up: by Apache Kafka
and by a lab, field by field, in every version of InitProducerId and EndTxn.

Both generations: 4.3 with KRaft, where each transaction has an epoch (KIP-890), and 3.9 with ZooKeeper. To ask a real one again, when it is new:

    oracle.py up newest --brokers 2 --controllers 1 --port 19090 --set transaction.state.log.num.partitions=5 ... (SETTINGS)
    python -m tests.oracle.test_epochs 4.3 127.0.0.1:19091,127.0.0.1:19092 > tests/oracle/kafka_4_3_epochs.json
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from lab.clusters.spec import run_from_dict
from lab.live import LiveLab
from tests.conftest import free_ports
from tests.oracle.asking import Script
from tests.oracle.script_epochs import epochs
from tests.oracle.test_coordinator_answers import MODES
from tests.oracle.test_coordinator_answers import SETTINGS as OF_COORDINATORS

SETTINGS = {**OF_COORDINATORS, "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000"}

STARTED = "3.9 goes on telling when the last transaction began, though its id is Empty again; with the coordinator's next start that is forgotten"
DIFFERENCES = {"3.9": {"old at the end: described v0": STARTED, "old taken over open: described v0": STARTED}}
"""Questions whose answers are not the same, and why."""


def answers(generation: str, bootstrap: str) -> dict[str, Any]:
    """Question -> answer."""
    script = Script(dict(enumerate(bootstrap.split(","), 1)))
    try:
        epochs(script, generation == "4.3")
    finally:
        script.close()
    found: dict[str, Any] = json.loads(json.dumps(script.answers))
    return found


@pytest.mark.parametrize("generation", MODES)
def test_whoever_asks_again_or_too_late_is_told_what_kafka_tells(generation: str, tmp_path: Path) -> None:
    own: dict[str, Any] = {"controller": "kraft", "controllers": 1, "port": free_ports(103), "settings": SETTINGS}
    if generation == "3.9":
        kept = {name: value for name, value in SETTINGS.items() if not name.startswith("share.")}
        own = {"controller": "zookeeper", "port": free_ports(2), "settings": kept}
    lab = LiveLab(run_from_dict({"cluster": {"brokers": 2, **own}, "epoch_ms": time.time_ns() // 1_000_000}), tmp_path)
    try:
        ours = answers(generation, lab.start().bootstrap)
    finally:
        lab.stop()
    theirs = json.loads(recorded(generation).read_text())
    assert list(ours) == list(theirs)
    differ = {question: (ours[question], their) for question, their in theirs.items() if ours[question] != their}
    known = DIFFERENCES.get(generation, {})
    assert {question: both for question, both in differ.items() if question not in known} == {}
    assert known.keys() == differ.keys() & known.keys(), "a difference that there is no more"


def recorded(generation: str) -> Path:
    return Path(__file__).with_name(f"kafka_{generation.replace('.', '_')}_epochs.json")


if __name__ == "__main__":
    said = answers(*sys.argv[1:3])
    print("{\n" + ",\n".join(f" {json.dumps(question)}: {json.dumps(answer, ensure_ascii=False)}" for question, answer in said.items()) + "\n}")
