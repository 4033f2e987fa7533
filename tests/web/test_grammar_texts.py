"""What the grammar refuses is told in Korean, too: the reasons of real mistakes."""

from __future__ import annotations

import re

import pytest
from tests.lab.test_grammar import BAD, GOOD, ODD
from tests.lab.test_scenarios_receipt import BAD as BAD_LESSONS
from tests.lab.test_scenarios_receipt import LESSON

from broker_core.kernel.problems import told
from lab.scenarios import grammar
from lab.scenarios.grammar import ScenarioError

ENGLISH = re.compile(r"\b(the|are|of|and|an|expected|found|with|must|did|you|mean|there)\b")  # words that are no keys


def _korean(source: str, file: str) -> str:
    with pytest.raises(ScenarioError) as error:
        grammar.parse(source, file)
    assert error.value.line >= 1
    why = str(error.value.problem["params"].get("why", "-"))  # the words of the library
    return told(error.value.problem, "ko").replace(why, "")


@pytest.mark.parametrize(("old", "new"), [row[:2] for row in BAD])
def test_a_mistake_in_a_file_is_told_in_korean(old: str, new: str) -> None:
    text = _korean(GOOD.replace(old, new, 1), "demo.yaml")
    assert re.search("[가-힣]", text) and not ENGLISH.search(text), text


@pytest.mark.parametrize(("old", "new"), [row[:2] for row in BAD_LESSONS])
def test_a_mistake_in_a_lesson_is_told_in_korean(old: str, new: str) -> None:
    text = _korean(LESSON.replace(old, new, 1), "x.yaml")
    assert re.search("[가-힣]", text) and not ENGLISH.search(text), text


@pytest.mark.parametrize("source", ODD[1:])
def test_other_texts_are_refused_in_korean(source: str) -> None:
    assert not ENGLISH.search(_korean(source, "odd.yaml"))
