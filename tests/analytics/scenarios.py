"""Scenarios that are over in a fraction of a second, some drawn at random."""

from __future__ import annotations

import random
from typing import Any

from lab.scenarios import grammar
from lab.scenarios.grammar import Scenario


def short(acks: str, record_level: str = "details") -> Scenario:
    """Two seconds of load, a slow follower, a leader that dies; a group reads along."""
    return grammar.from_dict({
        "scenario": f"short-{acks}", "seed": 7, "record_level": record_level,
        "cluster": {"brokers": 3, "preset": "teaching", "link_delay_ms": 1},
        "topics": [{"name": "orders", "partitions": 1, "replication_factor": 3}],
        "clients": [
            {"name": "producer-orders", "kind": "producer", "topic": "orders", "rate": 100, "size": 50, "keys": 5,
             "settings": {"acks": acks}},
            {"name": "billing", "kind": "consumer", "topic": "orders", "settings": {"group.id": "billing"}},
        ],
        "steps": [
            {"at": "1s", "do": "delay_link", "between": ["leader_of:orders-0", "followers_of:orders-0"], "delay_ms": 100},
            {"after": "300ms", "do": "kill", "leader_of": "orders-0"},
            {"when": {"leader_of": "orders-0", "is": "changed"}, "do": "stop_all_faults"},
        ],
        "duration": "5s",
    })


def drawn(seed: int) -> dict[str, Any]:
    """A document whose faults and settings come from the seed: losses, copies and wrong orders happen in some."""
    random_ = random.Random(seed)
    producers = [{
        "name": f"producer-{name}", "kind": "producer", "topic": "orders", "rate": random_.choice([20, 40]), "size": 30,
        "settings": {
            "acks": random_.choice(["0", "1", "1", "all"]), "enable.idempotence": "false",
            "max.in.flight.requests.per.connection": random_.choice(["1", "5"]), "request.timeout.ms": "300",
            "retry.backoff.ms": "50", "delivery.timeout.ms": "3000",
        },
    } for name in ("a", "b")]
    steps: list[dict[str, Any]] = []
    for _ in range(random_.randint(1, 3)):
        steps.append(random_.choice([
            {"after": "300ms", "do": "kill", "leader_of": "orders-0"},
            {"after": "200ms", "do": "delay_link", "between": ["leader_of:orders-0", "followers_of:orders-0"], "delay_ms": 400},
            {"after": "200ms", "do": "drop_link", "between": ["producer-a", f"broker-{random_.randint(1, 3)}"], "probability": 0.3},
            {"after": "200ms", "do": "produce", "topic": "orders", "partition": 0, "value": "by hand"},
            {"after": "100ms", "do": "pause", "broker": random_.randint(1, 3)},
        ]))
    order = ("drop_link", "delay_link", "produce", "pause", "kill")
    once = {step["do"]: step for step in steps if step["do"] in ("pause", "kill")}
    steps = sorted([step for step in steps if once.get(step["do"], step) is step], key=lambda step: order.index(step["do"]))
    return {
        "scenario": f"drawn-{seed}", "seed": seed, "record_level": "transitions",
        "cluster": {"brokers": 3, "preset": "teaching", "link_delay_ms": 1,
                    "settings": {"unclean.leader.election.enable": random_.choice(["true", "false"])}},
        "topics": [{"name": "orders", "partitions": 2, "replication_factor": 2}],
        "clients": producers, "steps": steps, "duration": "2s",
    }


VOTERS = """\
scenario: quorum
cluster: {brokers: 2, controller: kraft, controllers: 3, preset: teaching, link_delay_ms: 1}
seed: 4
topics: [{name: orders, partitions: 1, replication_factor: 2}]
steps:
  - {at: 1s, do: kill, controller: any}
  - {at: 6s, do: kill, broker: 1}
duration: 12s
expect: {invariants.violations: 0}
"""


def voters() -> Scenario:
    """Three controllers of their own: the active one dies, then a broker."""
    return grammar.parse(VOTERS, "quorum.yaml")
