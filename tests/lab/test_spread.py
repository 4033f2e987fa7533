"""Values with a spread: another one under each seed, the same one under the same, and nothing that could not be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.shared_runs import run_once

from lab.experiments.run import run_scenario
from lab.experiments.verify import verify
from lab.scenarios import grammar, spread
from lab.scenarios.grammar import ScenarioError, parse

SOURCE = """\
cluster: {brokers: 3, preset: teaching, link_delay_ms: 5 ± 2}
topics: [{name: orders, partitions: 1}]
clients:
  - {name: producer-a, kind: producer, topic: orders, rate: 100 ± 20, settings: {acks: 1}}
steps:
  - {at: 1s ± 300ms, do: delay_link, between: [1, 2], delay_ms: 50 +- 10}
  - {after: 500ms, do: stop_all_faults}
duration: 3s
expect: {receipt.lost: 0}
fork:
  before: 1
  title: {en: Later, ko: 나중에}
  steps:
    - {after: 1s ± 500ms, do: stop_all_faults}
"""
PLACES = ("cluster.link_delay_ms", "clients[0].rate", "steps[0].at", "steps[0].delay_ms", "fork.steps[0].after")


def _drawn(seed: int) -> dict[str, Any]:
    return spread.drawn(parse(SOURCE, "x.yaml").document, seed)[1]


def test_each_place_is_drawn_anew_under_each_seed_and_lies_within_its_spread() -> None:
    found = [_drawn(seed) for seed in range(200)]
    assert all(tuple(one) == PLACES for one in found) and _drawn(7) == _drawn(7)
    rates = [one["clients[0].rate"] for one in found]
    assert min(rates) == 80 and max(rates) == 120 and len(set(rates)) > 35
    times = [int(one["steps[0].at"].removesuffix("ms")) for one in found if one["steps[0].at"].endswith("ms")]
    assert 700 <= min(times) < 720 and 1280 < max(times) <= 1300


def test_the_document_keeps_its_spreads_and_the_spec_has_what_was_drawn() -> None:
    scenario = parse(SOURCE, "x.yaml")
    assert scenario.spec.clients[0].rate == 100 and scenario.steps[0].at_us == 1_000_000, "checked in the middle"
    scenario.spec.seed = 3
    found, values = grammar.drawn(scenario)
    assert found.document["steps"][0]["at"] == "1s ± 300ms" and found.spec.clients[0].rate == values["clients[0].rate"]
    fork = grammar.variant_of(scenario, "fork")
    fork.spec.seed = 3
    assert grammar.drawn(fork)[0].steps[0].at_us == found.steps[0].at_us, "what is before the fork comes at the same moment"


BAD = [
    ("1s ± 300ms", "1s ± 2s", "x.yaml:6: steps[0].at: '1s ± 2s': the spread is larger than the value"),
    ("1s ± 300ms", "1s ± soon", "x.yaml:6: steps[0].at: 'soon': expected a time"),
    ("1s ± 300ms", "1s ± 1ms ± 1ms", "x.yaml:6: steps[0].at: '1s ± 1ms ± 1ms': expected a value and a spread"),
    ("100 ± 20", "100 ± many", "x.yaml:4: clients[0].rate: '100 ± many': expected two numbers"),
    ("1s ± 500ms", "1s ± 5s", "x.yaml:14: fork.steps[0].after: '1s ± 5s': the spread is larger"),
    ("duration: 3s", "duration: 3s ± 1s", "x.yaml:8: duration: '3s ± 1s': expected a time"),
]


@pytest.mark.parametrize(("old", "new", "message"), BAD)
def test_a_spread_that_cannot_be_is_told_with_line_and_key(old: str, new: str, message: str) -> None:
    with pytest.raises(ScenarioError) as error:
        parse(SOURCE.replace(old, new, 1), "x.yaml")
    assert str(error.value).startswith(message)


@pytest.mark.parametrize("name", ["power-loss", "two-promises", "unclean-election", "fenced-broker", "one-offset-two-values"])
def test_seeds_of_a_lesson_lose_another_number_each(name: str) -> None:
    assert len({run_once(name, None, seed).receipt.total.lost for seed in (1, 2, 3)}) > 1


def test_every_run_of_a_lesson_with_spreads_is_executed_again(tmp_path: Path) -> None:
    lost = set()
    for seed in (1, 2, 3):
        result = run_once("acks-1", seed=seed) if seed < 3 else run_scenario("acks-1", seed, out=tmp_path / str(seed))
        assert result.passed
        lost.add(result.receipt.total.lost)
    assert len(lost) == 3
    facts = orjson.loads((tmp_path / "3" / "run.json").read_bytes())
    assert set(facts["drawn"]) >= {"steps[0].at", "steps[0].delay_ms"} and verify(tmp_path / "3").same


@pytest.mark.parametrize("name", grammar.names())
def test_a_lesson_varies_with_its_seed_or_says_why_it_does_not(name: str) -> None:
    text = (grammar.HOME / f"{name}.yaml").read_text()
    reasons = [line for line in text.split("\n") if line.startswith("# No spread: ") and len(line) > 40]
    assert bool(spread.drawn(grammar.load(name).document, 1)[1]) != bool(reasons)
