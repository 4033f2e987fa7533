"""Every scenario of the lab: its expectations hold, for its own seed and others, in each variant and in its fork."""

from __future__ import annotations

import pytest
from tests.sampling import every
from tests.shared_runs import documents, run_once

from broker_core.kernel.problems import told
from lab.experiments.run import RunResult
from lab.experiments.verify import verify
from lab.scenarios import grammar, variants
from lab.scenarios.grammar import Scenario
from lab.scenarios.stops import MOST

LEAST = 3
EXECUTED_AGAIN = grammar.names()[::3]
OTHER_SEEDS = (1, 2, 3)
LONG = ("acks-0", "acks-1", "acks-all", "group-rebalance", "failover-with-1000-partitions")


def _changing(name: str) -> list[str]:
    """Variants that are more than a title for what the file says anyway."""
    document = documents()[name]
    own = [key for key, one in (document.get("variants") or {}).items() if set(one) > {"title"}]
    return [*own, *([variants.FORK] if "fork" in document else [])]


RUNS = [(name, None) for name in grammar.names()] + [(name, one) for name in grammar.names() for one in _changing(name)]


def _run(name: str, variant: str | None, seed: int | None) -> RunResult:
    result = run_once(name, variant, seed)
    assert result.passed, result.unmet
    on_purpose = (grammar.load(name).expect | grammar.load(name, variant).expect).get("events.command_refused[node=operator]")
    refused = [note for note in result.notes if "refused" in told(note)]
    assert len(refused) == (on_purpose.wanted if on_purpose else 0), result.notes
    return result


@pytest.mark.parametrize(("name", "variant"), RUNS)
def test_a_scenario_does_what_it_says_and_its_prediction_has_one_right_answer(name: str, variant: str | None) -> None:
    result = _run(name, variant, None)
    scenario = grammar.load(name, variant)
    if scenario.lesson.predict is not None:
        assert (result.answer if scenario.lesson.predict.figure else result.prediction) is not None
    _has_its_stops(scenario, result)
    if variant is None:
        assert result.moment is not None and result.moment["t_us"] > 0
        if name in EXECUTED_AGAIN:
            assert verify(result.directory).same


def _has_its_stops(scenario: Scenario, result: RunResult) -> None:
    """Each that is declared is found, in the order in which it is declared; with the verdict there are at most six."""
    lesson, found = scenario.lesson, [(stop["event"], stop.get("say")) for stop in result.stops]
    if lesson.stops:
        assert found == [(stop.moment.event, stop.say or None) for stop in lesson.stops]
    assert len(found) <= MOST and (len(found) >= LEAST or lesson.moment is None)
    places = [(stop["seq"], stop["event"]) for stop in result.stops]
    assert len(set(places)) == len(places)
    assert [seq for seq, _ in places] == sorted(seq for seq, _ in places)


@pytest.mark.parametrize(("name", "seed"), every(
    [(name, seed) for name in grammar.names() if name not in LONG for seed in OTHER_SEEDS],
    keep=[(name, 1) for name in grammar.names()[::3]],
))  # fmt: skip
def test_it_does_so_with_other_seeds(name: str, seed: int) -> None:
    result = _run(name, None, seed)
    assert (result.prediction, result.answer) != (None, None)
    _has_its_stops(grammar.load(name), result)


@pytest.mark.parametrize("name", every(LONG, keep=["acks-1"]))
def test_the_longer_ones_do_so_with_another_seed(name: str) -> None:
    _run(name, None, 3)


def test_variants_that_differ_have_different_right_answers() -> None:
    """What a variant is for: at least one scenario in three has one that turns the answer around."""
    assert len([name for name in grammar.names() if len(_changing(name)) > 1]) >= 5


def test_every_scenario_is_complete_in_both_languages() -> None:
    for name in grammar.names():
        scenario = grammar.load(name)
        lesson = scenario.lesson
        assert lesson.predict is not None and lesson.moment is not None and lesson.fork is not None
        told = [scenario.title, scenario.text, lesson.see, lesson.why, lesson.predict.ask, lesson.fork.title]
        forks = [grammar.variant_of(scenario, one).lesson.fork for one in scenario.variants if "fork" not in one]
        told += [fork.see for fork in [lesson.fork, *forks] if fork is not None and fork.see]
        told += [choice.text for choice in lesson.predict.choices] + list(scenario.variants.values())
        told += [stop.say for one in (scenario, *_settings(scenario)) for stop in one.lesson.stops if stop.say]
        for text in told:
            assert set(text) == {"en", "ko"}, (name, text)
            assert _is_korean(text["ko"]) or text["ko"] == text["en"], text
        assert lesson.source and scenario.teaches and scenario.expect and scenario.subject


def _settings(scenario: Scenario) -> list[Scenario]:
    return [grammar.variant_of(scenario, one) for one in scenario.document.get("variants") or {}]


def _is_korean(text: str) -> bool:
    return any("가" <= letter <= "힣" for letter in text)


@pytest.mark.parametrize(("name", "variant"), [
    ("min-isr-blocks-writes", "one"), ("power-loss", "flushed"), ("session-expiry", "long"), ("unclean-election", "clean"),
])  # fmt: skip
def test_what_there_is_to_see_is_that_of_the_setting_that_was_run(name: str, variant: str) -> None:
    own, other = grammar.load(name).lesson.see, grammar.load(name, variant).lesson.see
    assert own.keys() == other.keys() == {"en", "ko"}
    assert all(own[language] != other[language] for language in own)
