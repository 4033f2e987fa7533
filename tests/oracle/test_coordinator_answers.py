"""The same requests to the coordinators of Apache Kafka and of a lab get the same answers, field by field, in every version of
every API that they offer: classic groups, those of KIP-848, share groups, transactions, settings of groups.

Both generations are asked: 4.3 with KRaft, and 3.9 with ZooKeeper for what there is in it. What Kafka answered stands in
kafka_4_3_coordinators.json and kafka_3_9_coordinators.json. To ask a real one again, when it is new:

    oracle.py up newest --brokers 1 --controllers 1 --port 19090 --set transaction.state.log.num.partitions=5 ... (SETTINGS)
    python -m tests.oracle.test_coordinator_answers 4.3 127.0.0.1:19091 > tests/oracle/kafka_4_3_coordinators.json
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from broker_core.broker.handlers import HANDLERS
from broker_core.wire.apis import API_NAMES, Mode, version_range
from lab.clusters.spec import run_from_dict
from lab.live import LiveLab
from tests.conftest import free_ports
from tests.oracle import (
    script_classic,
    script_group_settings,
    script_mixed,
    script_next_generation,
    script_share,
    script_strange,
    script_transactions,
)
from tests.oracle.asking import Script
from tests.oracle.test_kraft_answers import SETTINGS as OF_KRAFT
from tests.oracle.test_kraft_answers import answers, heard

SETTINGS = {
    **OF_KRAFT, "transaction.state.log.num.partitions": "5", "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
}  # fmt: skip
SCRIPTS: dict[str, dict[str, Callable[[Script], None]]] = {
    "4.3": {
        **script_transactions.SCRIPTS, **script_next_generation.SCRIPTS, **script_mixed.SCRIPTS, **script_group_settings.SCRIPTS,
        **script_share.SCRIPTS, **script_classic.OF_4_3, **script_strange.SCRIPTS,
    },
    "3.9": {**script_classic.OF_3_9, **script_transactions.OF_3_9, **script_strange.OF_3_9},
}  # fmt: skip
MODES: dict[str, Mode] = {"4.3": "kraft", "3.9": "zookeeper"}
CASES = [(generation, title) for generation, scripts in SCRIPTS.items() for title in scripts]
COORDINATORS = ("coordinator", "groups", "producers", "share_offsets", "share_state", "sharing", "transactional", "transactions")
"""The handlers of which all APIs are asked here."""
NEXT_GENERATION_IN_3_9 = ("ConsumerGroupHeartbeat", "ConsumerGroupDescribe")
"""3.9 offers them and refuses them with ZooKeeper: asked for in `script_refused`."""


def recorded(generation: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(__file__).with_name(f"kafka_{generation.replace('.', '_')}_coordinators.json").read_text())
    return found


class Asked:
    """A lab of one generation, and what it has answered to each script: a script can be run once only."""

    def __init__(self, generation: str, bootstrap: str) -> None:
        self.generation = generation
        self.bootstrap = bootstrap
        self.heard: dict[str, tuple[dict[str, Any], set[tuple[str, int]]]] = {}

    def to(self, title: str) -> tuple[dict[str, Any], set[tuple[str, int]]]:
        """The answers, and the (API, version) of each."""
        if title not in self.heard:
            self.heard[title] = heard(self.bootstrap, SCRIPTS[self.generation][title])
        return self.heard[title]


@pytest.fixture(scope="module")
def labs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Asked]]:
    """A lab of a generation, started when it is first wanted."""
    started: dict[str, tuple[LiveLab, Asked]] = {}

    def of(generation: str) -> Asked:
        if generation not in started:
            own: dict[str, Any] = {"controllers": 1, "controller": "kraft", "port": free_ports(101), "settings": SETTINGS}
            if generation == "3.9":
                kept = {name: value for name, value in SETTINGS.items() if not name.startswith("share.")}
                own = {"controller": "zookeeper", "port": free_ports(1), "settings": kept}
            spec = run_from_dict({"cluster": {"brokers": 1, **own}, "epoch_ms": time.time_ns() // 1_000_000})
            lab = LiveLab(spec, tmp_path_factory.mktemp("lab"))
            started[generation] = lab, Asked(generation, lab.start().bootstrap)
        return started[generation][1]

    yield of
    for lab, _ in started.values():
        lab.stop()


@pytest.mark.parametrize(("generation", "title"), CASES)
def test_every_answer_is_the_one_that_kafka_gave(labs: Callable[[str], Asked], generation: str, title: str) -> None:
    (ours, _), theirs = labs(generation).to(title), recorded(generation)[title]
    assert list(ours) == list(theirs)
    assert {question: (ours[question], their) for question, their in theirs.items() if ours[question] != their} == {}


@pytest.mark.parametrize("generation", SCRIPTS)
def test_no_version_that_a_coordinator_offers_is_asked_nowhere(labs: Callable[[str], Asked], generation: str) -> None:
    """Answers that are held against Kafka's, by API and version."""
    found: set[tuple[str, int]] = set().union(*(labs(generation).to(title)[1] for title in SCRIPTS[generation]))
    missing = []
    for key, handler in HANDLERS.items():
        offered = version_range(key, MODES[generation])
        if offered is None or handler.__module__.rsplit(".", 1)[-1] not in COORDINATORS:
            continue
        missing += [(API_NAMES[key], one) for one in range(offered[0], offered[1] + 1) if (API_NAMES[key], one) not in found]
    assert [one for one in missing if generation != "3.9" or one[0] not in NEXT_GENERATION_IN_3_9] == []


def record(generation: str, address: str, *titles: str) -> None:
    """Print the whole file; with titles only these are asked."""
    before = recorded(generation) if titles else {}
    parts = []
    for name, script in SCRIPTS[generation].items():
        told = answers(address, script) if name in titles or not titles else before[name]
        lines = [f"  {json.dumps(q)}: {json.dumps(a, ensure_ascii=False)}" for q, a in told.items()]
        parts.append(f" {json.dumps(name)}: {{\n" + ",\n".join(lines) + "\n }")
    print("{" + ",\n".join(parts) + "}")


if __name__ == "__main__":
    record(*sys.argv[1:])
