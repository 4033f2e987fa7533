"""Generations of Kafka: each lesson says in which it holds, and holds there."""

from __future__ import annotations

import pytest
from tests.sampling import every
from tests.shared_runs import documents, run_once

from broker_core.kernel.problems import told
from lab.analytics import grid
from cli.__main__ import main
from lab.clusters.checks import SpecError
from lab.scenarios import generations, grammar, variants
from lab.scenarios.grammar import ScenarioError, from_dict, with_cluster

LESSON = {
    "scenario": "one", "cluster": {"brokers": 1}, "topics": [{"name": "orders", "replication_factor": 1}],
    "clients": [{"name": "producer-a", "kind": "producer", "topic": "orders"}], "expect": {"receipt.lost": 0},
    "variants": {"long": {"title": {"en": "long", "ko": "길게"}, "duration": "20s"}},
}  # fmt: skip
WORDS = {"en": "KRaft has no sessions.", "ko": "KRaft에는 세션이 없습니다."}
KRAFT = {"controller": "kraft"}


def _elsewhere() -> list[tuple[str, str, str | None]]:
    """(lesson, generation that is not that of its file, course): the lesson itself, its forks, and what differs there."""
    found: list[tuple[str, str, str | None]] = []
    for name, document in documents().items():
        for generation, change in generations.declared(document, grammar.KEYS).items():
            if generation != generations.own(document):
                own = {name: one for name, one in (change.get("variants") or {}).items() if one is not None}
                courses = [None, *own, *(f"{one}/fork" for one in own if "fork" in own[one])]
                found += [(name, generation, one) for one in courses]
                found += [(name, generation, variants.FORK)] if "fork" in document else []
    return found


@pytest.mark.parametrize(("name", "generation", "course"), every(_elsewhere(), keep=[one for one in _elsewhere() if one[-1] is None]))
def test_a_lesson_holds_in_every_generation_that_it_names(name: str, generation: str, course: str | None) -> None:
    scenario = grammar.load(name, course, {"controller": generation})
    assert scenario.generation == generation
    result = run_once(name, course, generation=generation)  # the file's own seed: of it the texts tell
    assert result.passed, result.unmet
    on_purpose = (grammar.load(name).expect | scenario.expect).get("events.command_refused[node=operator]")
    refused = [told(note) for note in result.notes if "refused" in told(note)]
    assert len(refused) == (on_purpose.wanted if on_purpose else 0), refused
    lesson = scenario.lesson
    if lesson.predict is not None:
        assert (result.answer if lesson.predict.figure else result.prediction) is not None
    if lesson.stops:
        assert sorted(stop["event"] for stop in result.stops) == sorted(stop.moment.event for stop in lesson.stops)
    if course is None:
        assert result.moment is not None


def test_every_lesson_says_in_which_generations_it_holds_and_why_in_one_only() -> None:
    for name in grammar.names():
        scenario = grammar.load(name)
        assert scenario.generation in scenario.generations, name
        if len(scenario.generations) == 1:
            assert scenario.generations[scenario.generation], name
        for text in scenario.generations.values():
            assert set(text) in (set(), {"en", "ko"}), name


def test_another_generation_is_the_file_with_its_differences_and_a_scenario_of_its_own() -> None:
    kraft = {"differs": WORDS, "cluster": {"controllers": 3}, "expect": {"receipt.lost": None},
             "variants": {"long": {"duration": "30s"}}}  # fmt: skip
    document = {**LESSON, "generations": {"zookeeper": None, "kraft": kraft}}
    scenario = from_dict(with_cluster(document, KRAFT))
    assert scenario.spec.cluster.controllers == 3 and not scenario.expect
    assert grammar.variant_of(scenario, "long").duration_us == 30_000_000
    assert scenario.generations == {"kraft": WORDS}
    again = from_dict(scenario.document)
    assert again.spec.to_dict() == scenario.spec.to_dict() and again.generations == scenario.generations
    assert from_dict(with_cluster(document, {**KRAFT, "controllers": 1})).spec.cluster.controllers == 1
    assert from_dict(document).spec.cluster.controller == "zookeeper"
    assert "kraft" not in grammar.variant_of(from_dict(document), "long").document["generations"]


@pytest.mark.parametrize(("given", "place", "code"), [
    (["raft"], ("generations", 0), "not_among"),
    (["kraft"], ("generations",), "generation_of_the_file"),
    ({"zookeeper": {"expect": {}}, "kraft": None}, ("generations", "zookeeper", "expect"), "generation_differs_from_itself"),
    ({"zookeeper": None, "kraft": {"expect": {}}}, ("generations", "kraft"), "generation_without_words"),
    ({"zookeeper": None, "kraft": {"differs": WORDS, "expect": {"receipt.gone": 1}}},
     ("generations", "kraft", "expect", "receipt.gone"), "not_among"),
    ({"zookeeper": None, "kraft": {"differs": WORDS, "stepz": []}}, ("generations", "kraft", "stepz"), "unknown_key"),
])  # fmt: skip
def test_what_is_wrong_in_a_generation_is_told_with_its_place(given: object, place: tuple[object, ...], code: str) -> None:
    with pytest.raises(SpecError) as refused:
        from_dict({**LESSON, "generations": given})
    assert (refused.value.place, refused.value.problem["code"]) == (place, code)


def test_a_lesson_that_does_not_hold_in_a_generation_is_refused_there_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ScenarioError) as refused:
        grammar.load("session-expiry", None, KRAFT)
    assert refused.value.problem == {
        "code": "not_in_generation", "params": {"name": "session-expiry", "given": "kraft", "known": ["zookeeper"]}}  # fmt: skip
    assert main(["run", "session-expiry", "--controller", "kraft"]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1) and "session-expiry does not hold with kraft" in err


def test_a_grid_puts_a_lesson_into_each_generation_with_what_is_different_there() -> None:
    cells = grid.cells("three-files", {"acks": ["1"], "cluster.controller": ["zookeeper", "kraft"]})
    sizes = [cell.document["topics"][0]["configs"] for cell in cells]
    assert sizes == [{"segment.bytes": 2000}, {"internal.segment.bytes": 2000}]
    assert [cell.document["cluster"]["controller"] for cell in cells] == ["zookeeper", "kraft"]
    assert all(cell.document["clients"][0]["settings"]["acks"] == "1" for cell in cells)
