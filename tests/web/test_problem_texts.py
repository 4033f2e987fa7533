"""What is refused comes as a code with parameters, and as a sentence in the language that was asked for."""

from __future__ import annotations

import orjson
import pytest
from tests.web.test_grammar_texts import ENGLISH

from broker_core.kernel.problems import problem
from web.api.problems import body


def test_a_problem_is_told_in_the_language_asked_for_and_given_as_it_is() -> None:
    what = problem("no_leader_now", partition="orders-0")
    for language, detail in (("en", "orders-0 has no leader now; name a replica"), ("ko", "orders-0에 지금 리더가 없습니다. 복제본을 지정하세요")):
        found = orjson.loads(body(409, what, "replica", language))
        assert (found["detail"], found["problem"], found["place"]) == (detail, what, "replica")


def test_a_status_without_a_problem_has_its_title_alone() -> None:
    found = orjson.loads(body(404, None, None, "ko"))
    assert "detail" not in found and "problem" not in found and found["title"] == "그런 주소가 없습니다"


@pytest.mark.parametrize("why", ["port 9095 cannot be had: Address already in use", "No space left on device"])
def test_a_broker_that_cannot_join_is_told_why_in_korean(why: str) -> None:
    found = orjson.loads(body(422, problem("cannot_join", broker=4, why=why), None, "ko"))["detail"]
    assert "들어올 수 없습니다" in found and not ENGLISH.search(found.replace(why, ""))
