"""What a run begins with, in Kafka's own words: brokers, topics, clients, and what happens to them by itself.

    broker.id          1, 2, 3
    cluster            preset=teaching unclean.leader.election.enable=true
    orders             assignment=[1,2,3] min.insync.replicas=2
    producer-orders    producer topic=orders rate=100 acks=all
Of clusters and clients stands what was given: what a preset or an era sets beside it is the lab's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from lab.clusters.topic_spec import TopicSpec
from lab.scenarios.grammar import Scenario

CLUSTER = "cluster"
PARTS = ("settings", "protections")
SHOWN_FIRST = ("name", "kind", "settings")


def rows_of(scenario: Scenario) -> list[tuple[str, str]]:
    """(name, what is set), one for each."""
    spec, cluster = scenario.spec, scenario.document.get("cluster") or {}
    told = [("broker.id", ", ".join(str(one.id) for one in spec.cluster.brokers))]
    plain = {key: value for key, value in cluster.items() if not isinstance(value, dict | list) and key != "brokers"}
    if words := _pairs(plain, *(cluster.get(part) or {} for part in PARTS)):
        told.append((CLUSTER, words))
    told += [(topic.name, _joined(_placed(topic), _pairs(topic.configs))) for topic in spec.topics]
    for client in scenario.document.get("clients") or ():
        more = {key: value for key, value in client.items() if key not in SHOWN_FIRST}
        told.append((client["name"], _joined(client.get("kind", ""), _pairs(more, client.get("settings") or {}))))
    return told


def steps_of(scenario: Scenario) -> list[str]:
    """What is done, as a scenario has it, each on a line of its own: `{at: 6s, do: kill, broker: 1}`."""
    return [yaml.safe_dump(one, default_flow_style=True, allow_unicode=True, sort_keys=False, width=1000).strip()
            for one in scenario.document.get("steps") or () if "do" in one]  # fmt: skip


def _placed(topic: TopicSpec) -> str:
    if topic.assignment:
        return "assignment=" + " ".join(f"[{','.join(map(str, row))}]" for row in topic.assignment)
    return f"partitions={topic.partitions} replication.factor={topic.replication_factor}"


def _pairs(*parts: Mapping[str, Any]) -> str:
    every = {key: value for part in parts for key, value in part.items()}
    return " ".join(f"{key}={str(value).lower() if isinstance(value, bool) else value}" for key, value in every.items())


def _joined(*words: str) -> str:
    return " ".join(filter(None, words))
