"""What an attempt may do, and who is believed: nobody but a run that is executed here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from lab.clusters.checks import SpecError
from lab.exercises import grading, levers, reading
from lab.experiments.run import run_scenario
from lab.scenarios.reading import ScenarioError

SMALL: dict[str, Any] = {
    "exercise": "small",
    "title": {"en": "Small", "ko": "작은 문제"},
    "task": {"en": "Lose nothing.", "ko": "아무것도 잃지 마세요."},
    "start": {
        "cluster": {"brokers": 3, "preset": "teaching"},
        "topics": [{"name": "orders", "partitions": 1, "replication_factor": 3}],
        "clients": [{"name": "producer-a", "kind": "producer", "topic": "orders", "rate": 20, "settings": {"acks": "1"}}],
        "steps": [{"at": "1s", "do": "delay_link", "between": ["leader_of:orders-0", "followers_of:orders-0"], "delay_ms": 200},
                  {"after": "1s", "do": "kill", "leader_of": "orders-0"}],
        "duration": "6s",
    },
    "levers": {
        "set": {
            "acks": {"client": "producer-a", "setting": "acks", "choices": ["0", "1", "all"]},
            "least": {"topic": "orders", "setting": "min.insync.replicas", "least": 1, "most": 3},
            "rate": {"client": "producer-a", "key": "rate", "least": 1, "most": 50},
        },
        "steps": {"commands": ["pause", "resume"], "most": 1, "before": 1},
    },
    "goals": {"receipt.lost": 0, "receipt.acked": ">= 1"},
    "moment": {"event": "leader_elected", "where": {"topic": "orders"}, "step": 1},
    "seeds": [1, 2],
    "points": 10,
    "hints": [{"text": {"en": "acks", "ko": "acks"}, "price": 4}, {"text": {"en": "all", "ko": "all"}, "price": 5}],
    "solution": {"set": {"acks": "all", "least": 2}},
    "wrong": {"set": {"acks": "1"}, "why": {"en": "One copy.", "ko": "사본 하나뿐입니다."}},
}  # fmt: skip


@pytest.fixture(scope="module")
def small() -> reading.Exercise:
    return reading.from_dict(SMALL)


def test_goals_decide_under_every_seed_and_hints_cost_their_price(small: reading.Exercise) -> None:
    solved = grading.grade(small, small.solution, hints=1)
    assert [one.seed for one in solved.outcomes] == [1, 2]
    assert solved.passed and solved.points == 6
    failed = grading.grade(small, small.wrong)
    assert not failed.passed and failed.points == 0
    assert {what["params"]["key"] for one in failed.outcomes for what in one.unmet} == {"receipt.lost"}


def test_the_moment_is_found_in_each_run_and_its_step_is_the_start_s(small: reading.Exercise, tmp_path: Path) -> None:
    moved = small.scenario({"steps": [{"after": "500ms", "do": "pause", "broker": 3}]}, 1)
    assert moved.lesson.moment is not None and moved.steps[moved.lesson.moment.step].command["do"] == "kill"
    found = grading.grade(small, small.wrong, out=tmp_path / "run", kept=2)
    assert all(one.moment is not None and one.moment["t_us"] > 2_000_000 for one in found.outcomes)
    facts = orjson.loads((tmp_path / "run" / "run.json").read_bytes())
    assert (facts["seed"], facts["moment"]) == (2, found.outcomes[1].moment)
    assert found.decisive is found.outcomes[0]


def test_an_exercise_has_the_moment_of_its_lesson_as_long_as_the_steps_are_the_lesson_s() -> None:
    document = {key: one for key, one in SMALL.items() if key not in ("moment", "levers", "solution", "wrong")}
    own = {"levers": {"set": {"acks": {"client": "producer-orders", "setting": "acks", "choices": ["1", "all"]}}},
           "solution": {"set": {"acks": "all"}}, "wrong": {}, "lesson": "acks-1"}  # fmt: skip
    of_lesson = reading.grammar.load("acks-1").lesson.moment
    assert reading.from_dict({**document, **own, "start": {}}).scenario({}, 1).lesson.moment == of_lesson is not None
    assert reading.from_dict({**document, **own, "start": {"steps": []}}).scenario({}, 1).lesson.moment is None


def test_the_era_of_a_start_or_of_an_attempt_gives_brokers_and_clients_its_defaults() -> None:
    lever = {"cluster": "keys", "key": "era", "choices": ["2.x", "3.9", "4.3"]}
    clients = [{"name": "producer-a", "kind": "producer", "topic": "orders", "rate": 20}]
    found = reading.from_dict({**SMALL, "start": {**SMALL["start"], "clients": clients}, "levers": {"set": {"era": lever}},
                               "solution": {"set": {"era": "4.3"}}, "wrong": {"set": {"era": "2.x"}}})  # fmt: skip
    specs = {era: found.scenario({"set": {"era": era}}, 1).spec for era in ("2.x", "4.3")}
    assert {era: one.clients[0].settings.get("acks", "all") for era, one in specs.items()} == {"2.x": "1", "4.3": "all"}
    assert [one.cluster.controller for one in specs.values()] == ["zookeeper", "kraft"]


def test_levers_move_what_they_name_and_nothing_else(small: reading.Exercise) -> None:
    attempt = {
        "set": {"acks": "all", "least": 2, "rate": 30},
        "steps": [{"after": "100ms", "do": "pause", "broker": 3}],
    }
    found = small.scenario(attempt, 7).document
    assert found["clients"][0]["settings"]["acks"] == "all" and found["clients"][0]["rate"] == 30
    assert found["topics"][0]["configs"] == {"min.insync.replicas": "2"}
    assert [step["do"] for step in found["steps"]] == ["delay_link", "pause", "kill"]
    assert found["seed"] == 7 and found["expect"] == small.goals
    assert levers.attempt_in(small.start, {key: one for key, one in found.items() if key != "seed"}, small.levers) == {
        **attempt, "set": {"acks": "all", "least": "2", "rate": 30}}  # fmt: skip


@pytest.mark.parametrize(("attempt", "place"), [
    ({"set": {"acks": "2"}}, "set.acks"),
    ({"set": {"acks": None}}, "set.acks"),
    ({"set": {"least": 4}}, "set.least"),
    ({"set": {"size": 4}}, "set.size"),
    ({"steps": [{"at": "1s", "do": "kill", "broker": 1}]}, "steps[0].do"),
    ({"steps": [{"at": "1s", "do": "pause", "broker": 9}]}, "steps[1].broker"),
    ({"steps": [{"at": "1s", "do": "pause", "broker": 1}] * 2}, "steps"),
    ({"steps": [{"do": "pause", "broker": 1}]}, "steps[1]"),
    ({"expect": {}}, "expect"),
    ("acks", ""),
])  # fmt: skip
def test_an_attempt_that_does_what_it_may_not_is_refused_at_its_place(
    small: reading.Exercise, attempt: Any, place: str
) -> None:
    with pytest.raises(SpecError) as caught:
        small.scenario(attempt, 1)
    assert caught.value.where == place


def test_without_commands_an_attempt_has_no_steps() -> None:
    only = reading.from_dict({**SMALL, "levers": {"set": SMALL["levers"]["set"]}})
    with pytest.raises(SpecError) as caught:
        only.scenario({"steps": [{"at": "1s", "do": "pause", "broker": 1}]}, 1)
    assert caught.value.where == "steps"


@pytest.mark.parametrize(("change", "place"), [
    ({"goals": {}}, "goals"),
    ({"goals": {"receipt.lots": 0}}, "goals.receipt.lots"),
    ({"levers": {}}, "levers"),
    ({"levers": {"set": {"acks": {"client": "producer-a", "topic": "orders", "setting": "acks"}}}}, "levers.set.acks"),
    ({"levers": {"set": {"acks": {"client": "producer-a", "setting": "acks", "least": 1}}}}, "levers.set.acks"),
    ({"levers": {"steps": {"commands": ["kil"]}}}, "levers.steps.commands[0]"),
    ({"solution": {"set": {"acks": "5"}}}, "solution.set.acks"),
    ({"wrong": {"steps": [{"at": "1s", "do": "kill"}]}}, "wrong.steps[0].do"),
    ({"start": {"clusterr": {}}}, "start.clusterr"),
    ({"seeds": [3, 1]}, "seeds[1]"),
    ({"lesson": "acks-7"}, "lesson"),
    ({"points": 0}, "points"),
    ({"moment": {"event": "leader_elect"}}, "moment.event"),
    ({"moment": {"event": "leader_elected", "step": 2}}, "moment.step"),
    ({"titel": {}}, "titel"),
    ({"title": {}}, "title"),
])  # fmt: skip
def test_an_exercise_that_is_none_is_refused_at_its_place(change: dict[str, Any], place: str) -> None:
    with pytest.raises(SpecError) as caught:
        reading.from_dict({**SMALL, **change})
    assert caught.value.where == place


def test_what_a_teacher_writes_in_one_language_is_shown_in_the_other_too() -> None:
    alone = {"title": {"ko": "작은 문제"}, "task": {"ko": "잃지 마세요."}, "hints": [{"text": {"ko": "acks"}}], "why": {"ko": "사본"}}
    found = reading.from_dict({**SMALL, **alone})
    assert found.title == found.document["title"] == {"en": "작은 문제", "ko": "작은 문제"}
    assert found.task["en"] == "잃지 마세요." and found.hints[0].text["en"] == "acks" and found.why["en"] == "사본"


def test_an_error_in_a_file_names_its_line() -> None:
    text = "exercise: one\ntitle: {en: One, ko: 하나}\ntask: {en: Do, ko: 하라}\nlevers:\n  steps: {commands: [kil]}\n"
    with pytest.raises(ScenarioError, match=r"one.yaml:5: levers.steps.commands\[0\]"):
        reading.parse(text + "goals: {receipt.lost: 0}\nsolution: {}\nwrong: {}\n", "one.yaml")


# -- hand-ins -------------------------------------------------------------------------------
@pytest.fixture
def handed_in(small: reading.Exercise, tmp_path: Path) -> Path:
    grading.grade(small, small.solution, out=tmp_path / "run")
    return tmp_path / "run"


def test_a_recorded_run_counts_as_the_attempt_that_stands_in_it(small: reading.Exercise, handed_in: Path) -> None:
    grade = grading.grade_run(small, handed_in)
    assert grade.passed and grade.attempt == {"set": {"acks": "all", "least": "2"}}


def test_a_forged_figure_is_found_and_named(small: reading.Exercise, tmp_path: Path) -> None:
    grading.grade(small, small.wrong, out=tmp_path / "run")
    facts = orjson.loads((tmp_path / "run" / "run.json").read_bytes())
    assert facts["receipt"]["lost"] > 0 and facts["passed"] is False
    facts["receipt"]["lost"], facts["passed"], facts["unmet"] = 0, True, []
    (tmp_path / "run" / "run.json").write_bytes(orjson.dumps(facts))
    grade = grading.grade_run(small, tmp_path / "run")
    assert not grade.passed and grade.points == 0
    assert any(one["params"].get("key") == "receipt.lost" for one in grade.refused)


def test_a_run_in_which_something_else_was_moved_is_not_of_this_exercise(
    small: reading.Exercise, tmp_path: Path
) -> None:
    scenario = small.scenario(small.solution, 1)
    quiet = {**{key: one for key, one in scenario.document.items() if key != "moment"}, "steps": []}
    result = run_scenario(reading.grammar.from_dict(quiet, "small"), out=tmp_path / "run")
    assert result.passed
    grade = grading.grade_run(small, tmp_path / "run")
    assert not grade.passed and [one["code"] for one in grade.refused] == ["not_this_exercise"]
