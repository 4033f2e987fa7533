"""Scenarios leave the lab and come back: as YAML, as a link, and what was done by hand becomes a file."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.shared_runs import run_once

from lab.experiments.run import run_scenario
from lab.scenarios import grammar, links
from lab.scenarios.export import export, export_commands, to_yaml
from lab.scenarios.links import LinkError
from lab.scenarios.subjects import grouped


@pytest.mark.parametrize("name", grammar.names())
def test_a_scenario_survives_yaml_and_a_link_unchanged(name: str) -> None:
    document = grammar.load(name).document
    assert grammar.parse(to_yaml(document), "again.yaml").document == document
    assert list(grammar.parse(to_yaml(document), "again.yaml").document) == sorted(document, key=grammar.KEYS.index)
    packed = links.pack(document)
    assert links.unpack(packed) == document and packed.replace(".", "").replace("-", "").replace("_", "").isalnum()


def test_scenarios_without_a_subject_come_last() -> None:
    found = grouped([("mine", ""), ("acks-1", "durability"), ("yours", ""), ("retention", "storage"), ("acks-all", "durability")])
    assert [(group["subject"], group["scenarios"]) for group in found] == [
        ("durability", ["acks-1", "acks-all"]), ("storage", ["retention"]), ("", ["mine", "yours"]),
    ]  # fmt: skip


def _link() -> str:
    return links.pack({"scenario": "small", "steps": [{"at": "1s", "do": "stop_all_faults"}]})


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda text: text[:-12], "cut off"),
        (lambda text: "b2" + text[2:], "version 'b2', expected 'b1'"),
        (lambda text: text[:3] + ("0" if text[3] != "0" else "1") + text[4:], "the checksum does not fit"),
        (lambda text: text[:-9] + "*" + text[-8:], "not base64url"),
        (lambda text: text[:15] + "AAAA" + text[19:], "damaged"),
        (lambda text: "hello", "expected three parts"),
        (lambda text: text + "x" * 70000, "expected at most"),
    ],
)
def test_a_damaged_link_is_refused_with_a_reason(damage, reason: str) -> None:
    with pytest.raises(LinkError, match=reason):
        links.unpack(damage(_link()))


def test_a_link_that_unpacks_to_very_much_is_refused() -> None:
    import base64
    import zlib

    bomb = base64.urlsafe_b64encode(zlib.compress(b" " * 20_000_000, 9)).rstrip(b"=").decode()
    with pytest.raises(LinkError, match="more than"):
        links.unpack(f"b1.00000000.{bomb}")


def test_what_was_done_by_hand_becomes_a_scenario_that_runs(tmp_path: Path) -> None:
    spec = grammar.parse("cluster: {brokers: 3, preset: teaching}\nseed: 5\n", "spec.yaml").spec
    did = [
        (19_000, {"do": "create_topic", "topic": "orders", "partitions": 1, "replication_factor": 3}),
        (400_000, {"do": "start_client", "name": "producer-1", "kind": "producer", "topic": "orders", "rate": 50}),
        (900_000, {"do": "time", "speed": 0.5}),
        (2_400_000, {"do": "kill", "broker": 2}),
        (6_650_000, {"do": "restart", "broker": 2}),
    ]
    text = to_yaml(export_commands(spec, did, "by-hand"))
    scenario = grammar.parse(text, "by-hand.yaml")
    assert [step.at_us for step in scenario.steps] == [2_000_000, 6_250_000]
    assert [topic.name for topic in scenario.spec.topics] == ["orders"] and scenario.spec.clients[0].rate == 50
    assert scenario.spec.seed == 5 and "time" not in text
    assert run_scenario(scenario, out=tmp_path / "run").receipt.total.lost == 0


def test_a_run_that_was_a_scenario_exports_that_scenario() -> None:
    result = run_once("retry-duplicates", "idempotent")
    again = grammar.parse(export(result.directory), "again.yaml")
    assert again.variant == "idempotent" and again.document["clients"][0]["settings"]["enable.idempotence"] is True
