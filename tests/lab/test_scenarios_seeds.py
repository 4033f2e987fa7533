"""What each lesson must show (`lesson_figures`) holds for any seed, in each setting and fork.

Every day the file's own seed, and of each ninth lesson seed 1 of the file's own setting (`--all`: of every course),
which others have executed as well; `BROKERLAB_LESSON_SEEDS=1..20` for as many as you like.
"""

from __future__ import annotations

import os

import pytest
from tests.lab.lesson_figures import EXPECTED
from tests.sampling import every
from tests.shared_runs import run_once

from broker_core.kernel.problems import told
from lab.scenarios import grammar, variants

FIRST, _, LAST = os.environ.get("BROKERLAB_LESSON_SEEDS", "").partition("..")
SEEDS = range(int(FIRST), int(LAST or FIRST) + 1) if FIRST else (None, 1)
NINTH = grammar.names()[::9]


def _asked() -> list[tuple[str, str | None, int | None]]:
    """(scenario, course, seed; None: the file's own)."""
    return [(*one, seed) for one in EXPECTED for seed in SEEDS]


def _holds(name: str, variant: str | None, seed: int | None) -> None:
    result = run_once(name, variant, seed)
    assert result.passed, (seed, result.unmet)
    refused = [note for note in result.notes if " was refused: " in told(note)]
    asked = grammar.variant_of(grammar.load(name), variant) if variant else grammar.load(name)
    on_purpose = (grammar.load(name).expect | asked.expect).get("events.command_refused[node=operator]")
    assert len(refused) == (on_purpose.wanted if on_purpose else 0), (seed, refused)
    whole = len(asked.document["topics"][0].get("assignment", [[]])[0])
    alone = [note for note in result.notes if note["code"] == "not_in_isr" and asked.expect["settled.isr_of.orders-0"].wanted < whole]
    assert len(result.notes) == len(refused) + len(alone), (seed, result.notes)
    total = result.receipt.total
    for what, (least, most) in zip(("lost", "duplicated", "reordered"), EXPECTED[name, variant], strict=True):
        assert least <= getattr(total, what) <= most, (seed, what, total)
    assert total.read >= total.acked - total.lost - total.unread - total.removed, (seed, total)
    guessed = result.prediction if asked.lesson.predict is None or asked.lesson.predict.choices else result.answer
    assert (guessed is not None) == (asked.lesson.predict is not None), seed


def test_every_course_of_every_lesson_has_its_figures_thought_out() -> None:
    assert sorted(EXPECTED, key=str) == sorted(((name, one) for name in grammar.names() for one in variants.courses(grammar.load(name).document)), key=str)


@pytest.mark.parametrize(("name", "variant", "seed"), every(_asked(), keep=[one for one in _asked() if FIRST or one[2] is None or (one[1] is None and one[0] in NINTH)]), ids=str)
def test_a_lesson_shows_what_it_must(name: str, variant: str | None, seed: int | None) -> None:
    _holds(name, variant, seed)
