"""Of three brokers, the one that does not coordinate or lead answers as Apache Kafka's does, field by field, in every version;
and so do the two that are left while the one that coordinates and leads is dead.

Both generations: 4.3 with KRaft and 3.9 with ZooKeeper; the scripts are `script_elsewhere` and `script_dead`. To ask real ones again,
when they are new (in DIR, where the oracle kills them):

    oracle.py up newest --brokers 3 --controllers 1 --port 19090 --dir DIR --set transaction.state.log.num.partitions=3 ... (SETTINGS)
    python -m tests.oracle.test_answers_elsewhere 4.3 127.0.0.1:19091,127.0.0.1:19092,127.0.0.1:19093 oracle.py DIR > tests/oracle/kafka_4_3_elsewhere.json
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from broker_core.broker.handlers import HANDLERS
from broker_core.wire.apis import API_NAMES, ApiKey, version_range
from lab.clusters.spec import run_from_dict
from lab.live import LiveLab
from tests.conftest import free_ports
from tests.oracle.asking import Script
from tests.oracle.script_dead import Deaths, dead, led_by
from tests.oracle.script_elsewhere import ELSEWHERE, Cluster, elsewhere
from tests.oracle.test_coordinator_answers import COORDINATORS, MODES, NEXT_GENERATION_IN_3_9
from tests.oracle.test_coordinator_answers import SETTINGS as OF_ONE_BROKER

SETTINGS = {
    **OF_ONE_BROKER, "offsets.topic.num.partitions": "3", "transaction.state.log.num.partitions": "3",
    "share.coordinator.state.topic.num.partitions": "3",
}  # fmt: skip


ASKED = (*COORDINATORS, "fetch", "produce")
"""The handlers of which all APIs are asked of the wrong broker."""
FIRST_PRODUCE = 3
"""Produce 0-2 take older records: `script_records` asks for them."""


FORGOTTEN = "4.3 forgets a marker for a partition without a leader, and says that all is told; there the transaction hangs (KAFKA-20734)"
DIFFERENCES = {"3.9": {}, "4.3": dict.fromkeys((
    "described while the dead has a part", "ended twice v3", "begun anew while the dead has a part v4", "ended by itself",
    "producers of who is back v0", "begun when all is told v4"), FORGOTTEN)}  # fmt: skip
"""Questions whose answers are not the same, and why; those of 3.9 are."""
QUICK_DEATHS = {"broker.session.timeout.ms": "1000", "broker.heartbeat.interval.ms": "200"}
"""How soon a dead broker is missed changes no answer."""


def answers(generation: str, bootstrap: str, deaths: Deaths) -> tuple[dict[str, Any], set[tuple[str, int]]]:
    """Question -> answer; and of which API and version there are any."""
    script = Script(dict(enumerate(bootstrap.split(","), 1)))
    try:
        if generation == "3.9":
            led_by(script, deaths, ELSEWHERE)
        cluster = Cluster(script, MODES[generation])
        elsewhere(cluster)
        dead(cluster, deaths)
    finally:
        script.close()
    found: dict[str, Any] = json.loads(json.dumps(script.answers))
    return found, script.asked


@pytest.mark.parametrize("generation", MODES)
def test_who_does_not_coordinate_or_lead_answers_as_kafka_does_and_who_is_left_of_the_dead(generation: str, tmp_path: Path) -> None:
    own: dict[str, Any] = {"controller": "kraft", "controllers": 1, "port": free_ports(103), "settings": SETTINGS | QUICK_DEATHS}
    if generation == "3.9":
        kept = {name: value for name, value in SETTINGS.items() if not name.startswith("share.")}
        own = {"controller": "zookeeper", "port": free_ports(3), "settings": kept | {"zookeeper.session.timeout.ms": "1000"}}
    lab = LiveLab(run_from_dict({"cluster": {"brokers": 3, **own}, "epoch_ms": time.time_ns() // 1_000_000}), tmp_path)
    try:
        ours, asked = answers(generation, lab.start().bootstrap, lambda do, broker: told(lab, do, broker))
    finally:
        lab.stop()
    theirs = json.loads(recorded(generation).read_text())
    assert list(ours) == list(theirs)
    assert {question: (ours[question], their) for question, their in theirs.items()
            if ours[question] != their and question not in DIFFERENCES[generation]} == {}
    offered = {
        (API_NAMES[key], version) for key, handler in HANDLERS.items() if handler.__module__.rsplit(".", 1)[-1] in ASKED
        and (known := version_range(key, MODES[generation])) is not None for version in range(known[0], known[1] + 1)
        if (key, version) >= (ApiKey.PRODUCE, FIRST_PRODUCE) and (generation != "3.9" or API_NAMES[key] not in NEXT_GENERATION_IN_3_9)
    }  # fmt: skip
    assert offered - asked == set()


def told(lab: LiveLab, do: str, broker: int) -> None:
    result = lab.submit({"do": do, "broker": broker}).result(30)
    assert result.get("ok", True), result


def by_oracle(script: str, directory: str) -> Deaths:
    """What happens to real brokers."""
    words = {"pause": ("kill", "--signal", "STOP"), "resume": ("kill", "--signal", "CONT")}

    def deaths(do: str, broker: int) -> None:
        first, *more = words.get(do, (do,))
        subprocess.run([sys.executable, script, first, str(broker), *more, "--dir", directory], check=True, stdout=sys.stderr)

    return deaths


def recorded(generation: str) -> Path:
    return Path(__file__).with_name(f"kafka_{generation.replace('.', '_')}_elsewhere.json")


if __name__ == "__main__":
    said, _ = answers(*sys.argv[1:3], by_oracle(*sys.argv[3:]))
    print("{\n" + ",\n".join(f" {json.dumps(question)}: {json.dumps(answer, ensure_ascii=False)}" for question, answer in said.items()) + "\n}")
