"""What the grammar refuses is told in Korean, too: every reason that the code can give, and those of real mistakes."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from tests.lab.test_grammar import BAD, GOOD, ODD
from tests.lab.test_scenarios_receipt import BAD as BAD_LESSONS
from tests.lab.test_scenarios_receipt import LESSON

from lab.scenarios import grammar
from lab.scenarios.grammar import ScenarioError
from web.api.problems import told, told_of_grammar

CHECKOUT = Path(__file__).resolve().parents[2]
READERS = [*(CHECKOUT / "lab" / "scenarios").glob("*.py"),
           *(CHECKOUT / "lab" / "clusters" / f"{name}.py" for name in ("checks", "joining", "spec", "vocabulary"))]  # fmt: skip
REFUSALS = ("SpecError", "ScenarioError", "LinkError")
ENGLISH = re.compile(r"\b(the|are|of|and|an|expected|found|with|must|did|you|mean|there)\b")  # words that are no keys


def reasons() -> list[str]:
    """The last argument of each refusal, with something in its holes."""
    found: dict[str, None] = {}
    for path in READERS:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in REFUSALS:
                text = filled(node.args[-1])
                if text:
                    found[text] = None
    return list(found)


def filled(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if not isinstance(node, ast.JoinedStr):
        return ""  # a reason that was given elsewhere
    return "".join(_hole(part) for part in node.values)


def _hole(part: ast.expr) -> str:
    if isinstance(part, ast.Constant):
        return str(part.value)
    source = ast.unparse(part)
    if "kind(" in source:
        return "the text 'x'"
    if "expected" in source:
        return "expected one of a, b (did you mean a?)"
    if "what" in source:
        return "topic"
    return "'x'" if "!r" in source else "7"


def test_there_are_reasons_to_look_at() -> None:
    assert len(reasons()) > 45


@pytest.mark.parametrize("reason", reasons())
def test_every_reason_of_the_grammar_is_known_in_korean(reason: str) -> None:
    korean = told(reason, "ko")
    assert korean != reason and not ENGLISH.search(korean), korean
    assert told(reason, "en") == reason


def _korean(source: str, file: str) -> str:
    with pytest.raises(ScenarioError) as error:
        grammar.parse(source, file)
    assert error.value.line >= 1
    return told_of_grammar(error.value.reason, "ko")


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
