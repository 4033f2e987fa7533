"""Questions: what their files may say, how answers are understood and graded, and that no answer is invented."""

from __future__ import annotations

from typing import Any

import pytest

from lab.clusters.checks import SpecError
from lab.quizzes import grading, reading, recorded
from lab.quizzes.deciding import Answer
from lab.quizzes.grading import NEAR, RIGHT, WRONG, NoAnswer, code, graded
from lab.quizzes.questions import Question
from lab.quizzes.reading import all_questions, shipped
from lab.scenarios.reading import ScenarioError

ASKED: dict[str, Any] = {
    "question": "mine", "lesson": "acks-1", "ask": {"en": "?", "ko": "?"}, "why": {"en": "so", "ko": "so"},
    "number": {"of": "receipt.lost"},
}  # fmt: skip


def read(**changes: Any) -> Question:
    document = {key: one for key, one in {**ASKED, **changes}.items() if one is not None}
    return reading.from_dict({"quiz": "durability", "questions": [document]}).questions[0]


@pytest.mark.parametrize(("changes", "place", "code"), [
    ({"lesson": "acks-2"}, "questions[0].lesson", "not_among"),
    ({"course": "nowhere"}, "questions[0].course", "not_among"),
    ({"broker": {"of": "leader_of.orders-0"}}, "questions[0]", "one_subject"),
    ({"number": {"of": "receipt.gone"}}, "questions[0].number.of", "not_among"),
    ({"number": None, "choices": [{"text": {"en": "a", "ko": "a"}, "right": True}]}, "questions[0].choices", "two_choices"),
    ({"number": None, "choices": [{"text": {}, "right": True}, {"text": {}, "right": True}]}, "questions[0].choices", "one_right_choice"),
    ({"number": None, "choices": [{"text": {}, "right": True}, {"text": {}}]}, "questions[0].choices", "nothing_holds"),
    ({"number": None, "setting": {"name": "acks", "value": "0"}}, "questions[0].setting.value", "not_set_there"),
    ({"number": None, "setting": {"name": "ack"}}, "questions[0].setting.name", "not_among"),
    ({"number": None, "order": [{"text": {}, "event": "truncated"}]}, "questions[0].order", "three_in_order"),
    ({"proof": {"event": "trunkated"}}, "questions[0].proof.event", "not_among"),
])  # fmt: skip
def test_what_is_wrong_is_named_with_its_place(changes: dict[str, Any], place: str, code: str) -> None:
    with pytest.raises(SpecError) as caught:
        read(**changes)
    assert caught.value.where == place
    assert code in caught.value.problem["code"]


def test_a_file_is_wrong_at_a_line() -> None:
    with pytest.raises(ScenarioError) as caught:
        reading.parse("quiz: durability\nquestions:\n  - question: a\n    lesson: nothing\n    ask: {}\n    why: {}\n", "x.yaml")
    assert str(caught.value).startswith("x.yaml:4: questions[0].lesson")


def test_every_question_is_told_in_both_languages_and_has_a_name_of_its_own() -> None:
    names = [one.name for quiz in shipped().values() for one in quiz.questions]
    assert len(set(names)) == len(names)
    for one in all_questions().values():
        texts = [one.ask, one.why, *(each.text for each in one.options), *(each.text for each in one.items)]
        assert all(set(text) == {"en", "ko"} and all(text.values()) for text in texts), one.name


def test_no_choice_of_a_lesson_is_right_by_its_place() -> None:
    """Whoever always takes the first, or the last, is wrong more often than not."""
    own = [one for quiz in shipped().values() for one in quiz.questions if one.way == "choices"]
    places = [recorded.answers()[one.name].value for one in own]
    assert all(places.count(place) < 0.6 * len(places) for place in set(places))


@pytest.mark.parametrize(("given", "meant"), [
    ("acks=all", "acks=all"), ("  ACKS = 'All' ;", "acks=all"), ("acks: all", "acks=all"), ("acks", "acks"),
    ('min.insync.replicas="2"', "min.insync.replicas=2"),
])  # fmt: skip
def test_a_setting_is_understood_as_people_write_it(given: str, meant: str) -> None:
    assert code(given) == meant


def answered(monkeypatch: pytest.MonkeyPatch, question: Question, right: Any) -> Any:
    monkeypatch.setattr(grading, "answer_of", lambda _: Answer(right, 5, "broker-1"))
    return lambda given: graded(question, given).grade


def test_a_number_is_right_near_or_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    grade = answered(monkeypatch, read(number={"of": "receipt.lost", "near": 20}), 50)
    assert [grade(one) for one in (50, 40, 60, 39, 61)] == [RIGHT, NEAR, NEAR, WRONG, WRONG]
    grade = answered(monkeypatch, read(number={"of": "receipt.lost"}), 0)
    assert [grade(one) for one in (0, 1)] == [RIGHT, WRONG]
    for wrong in ("fifty", True, -1, [50]):
        with pytest.raises(NoAnswer):
            grade(wrong)


def test_an_order_names_each_once(monkeypatch: pytest.MonkeyPatch) -> None:
    items = [{"text": {"en": str(n), "ko": str(n)}, "event": "truncated", "nth": n} for n in (1, 2, 3)]
    grade = answered(monkeypatch, read(number=None, order=items), [2, 0, 1])
    assert [grade([2, 0, 1]), grade([0, 1, 2])] == [RIGHT, WRONG]
    for wrong in ([0, 1], [0, 0, 1], [0, 1, 3], "012"):
        with pytest.raises(NoAnswer):
            grade(wrong)


def test_a_broker_may_be_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    grade = answered(monkeypatch, read(number=None, broker={"of": "leader_of.orders-0"}), -1)
    assert [grade(-1), grade(2)] == [RIGHT, WRONG]
