"""What the lab refuses is told in Korean, too: every reason that the code can give, and the shapes of bad bodies."""

from __future__ import annotations

import ast
import json
import re

import pytest
from tests.conftest import CHECKOUT
from tests.web.test_grammar_texts import ENGLISH, filled

from web.api.problems import body, told
from web.live.asking import in_words
from web.messages import words_of

REFUSALS = {"Problem": 1, "LabError": 0, "BranchError": 0, "DirectoryError": 0, "CommandError": 0, "Refused": 0, "NoMessage": 0,
            "NothingThere": 0, "WorkFailed": 0, "KernelError": 0}  # fmt: skip
OF_A_START = ("a lab is running in", "did not come up")  # seen on the command line alone
FILES = [path for part in ("web", "lab", "broker_core/kernel", "broker_core/drivers") for path in (CHECKOUT / part).rglob("*.py")
         if not {"cli", "analytics"} & set(path.parts)]  # fmt: skip


def reasons() -> list[str]:
    found: dict[str, None] = {}
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in REFUSALS:
                place = REFUSALS[node.func.id]
                text = filled(node.args[place]) if len(node.args) > place else ""
                if " " in text and not re.fullmatch(r"(7: )?7 ?7?|7: 7( 7)?", text) and not any(one in text for one in OF_A_START):
                    found[text] = None
    return list(found)


def test_there_are_reasons_to_look_at() -> None:
    assert len(reasons()) > 80


@pytest.mark.parametrize("reason", reasons())
def test_every_reason_of_the_lab_is_known_in_korean(reason: str) -> None:
    korean = told(reason, "ko")
    assert korean != reason and not ENGLISH.search(korean), korean
    assert told(reason, "en") == reason
    assert in_words(reason) == {"error": reason, "ko": korean}


def test_a_reason_that_nobody_knows_is_quoted_and_said_to_be_english() -> None:
    unknown = "the moon is in the way"
    assert json.loads(body(409, unknown, language="ko"))["detail"] == words_of("problems", "ko")["other"].format(unknown)
    assert json.loads(body(409, unknown, language="en"))["detail"] == unknown
    assert in_words(unknown) == {"error": unknown}


@pytest.mark.parametrize("reason", [
    "broker 4 cannot join: port 9095 cannot be had: Address already in use", "broker 4 cannot join: No space left on device",
])
def test_a_broker_that_cannot_join_is_told_why_in_korean(reason: str) -> None:
    assert "들어올 수 없습니다" in told(reason, "ko") and not ENGLISH.search(told(reason, "ko"))
