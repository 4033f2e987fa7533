"""Exercises over REST: told without their solutions, tried as jobs, written by teachers."""

from __future__ import annotations

from typing import Any

import pytest
from tests.exercises.test_grading import SMALL
from tests.web.live_rest import Rest, ended, refused, rest

from lab.exercises import reading

__all__ = ["rest"]


def test_exercises_are_told_in_both_languages_and_their_solutions_to_nobody(rest: Rest) -> None:
    listed = rest.get("exercises").json
    assert sorted(one["name"] for one in listed["items"]) == reading.names() and listed["total"] == len(listed["items"])
    assert all(one["title"].keys() == one["task"].keys() == {"en", "ko"} for one in listed["items"])
    one = rest.get("exercises/lose-what-was-promised?hints=1").json
    assert [hint["text"] is not None for hint in one["hints"]] == [True, False]
    assert not {"solution", "wrong", "why"} & one.keys()
    assert one["levers"][0] == {"name": "acks", "label": "acks (producer-orders)", "choices": ["0", "1", "all"],
                                "least": None, "most": None, "start": "all"}  # fmt: skip
    refused(rest.get("exercises/nothing-like-it"), 404, "name")


def test_an_attempt_is_a_job_that_leaves_a_run_and_says_what_was_not_reached(rest: Rest) -> None:
    steps = [{"at": "6s", "do": "kill", "leader_of": "orders-0"}]
    begun = [rest.post("exercises/lose-what-was-promised/attempts", {"set": {"acks": acks}, "steps": steps, "hints": 1})
             for acks in ("1", "all")]  # fmt: skip
    assert [one.status for one in begun] == [202, 202]
    good, bad = (ended(rest, one.json["id"]) for one in begun)
    assert (good["kind"], good["state"], good["result"]["passed"], good["result"]["points"]) == (
        "attempt",
        "done",
        True,
        8,
    )
    assert good["result"]["why"].keys() == {"en", "ko"}
    assert [one["passed"] for one in bad["result"]["seeds"]] == [False] * 3 and bad["result"]["why"] == {}
    assert bad["result"]["seeds"][0]["unmet"][0]["params"]["key"] == "receipt.lost"
    assert rest.get(f"runs/{good['run']}").json["seed"] == 1


@pytest.mark.parametrize(("attempt", "place"), [
    ({"set": {"acks": "7"}}, "set.acks"), ({"set": {"size": 1}}, "set.size"), ({"hints": -1}, "hints"),
    ({"steps": [{"at": "1s", "do": "wipe", "broker": 1}]}, "steps[0].do"),
    ({"steps": "at: 1s, do: kill, broker: 1\nat: 1s, do: wipe, broker: 1"}, "steps[1].do"),
    ({"steps": "- {at: 1s, do: kill, broker: 1}\n- at: 1s\n  do: wipe\n  broker: 1"}, "steps[1].do"),
])  # fmt: skip
def test_an_attempt_that_does_what_it_may_not_names_the_place(rest: Rest, attempt: dict[str, Any], place: str) -> None:
    refused(rest.post("exercises/lose-what-was-promised/attempts", attempt), 422, place)


def test_a_teacher_has_an_exercise_checked_and_tried(rest: Rest) -> None:
    assert rest.post("exercises/validate", {"document": SMALL}).json["valid"]
    wrong = {**SMALL, "levers": {"steps": {"commands": ["kil"]}}}
    refused(rest.post("exercises/validate", {"document": wrong}), 422, "levers.steps.commands[0]", "kill")
    found = rest.post("exercises/validate", {"yaml": "exercise: one\ntitle: {en: 5}\n"})
    assert refused(found, 422, None, "task")["line"] == 1
    begun = rest.post("exercises/attempts", {"document": SMALL, "attempt": "wrong"})
    assert ended(rest, begun.json["id"])["result"]["passed"] is False
