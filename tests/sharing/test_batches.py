"""Two lists of state batches become one: checked against a table with an entry for each offset."""

from __future__ import annotations

import random

from broker_core.sharing.batches import ACKNOWLEDGED, ARCHIVED, AVAILABLE, StateBatch, combined

B = StateBatch


def by_offset(known: list[StateBatch], new: list[StateBatch], start: int) -> dict[int, tuple[int, int]]:
    """The heaviest statement about each offset."""
    found: dict[int, tuple[int, int]] = {}
    for one in (*known, *new):
        for offset in range(max(one.first, start), one.last + 1):
            found[offset] = max(found.get(offset, (-1, -1)), one.weight)
    return found


def drawn(chance: random.Random, count: int) -> list[StateBatch]:
    found = []
    for _ in range(count):
        first = chance.randrange(30)
        state = chance.choice((AVAILABLE, ACKNOWLEDGED, ARCHIVED))
        found.append(B(first, first + chance.randrange(8), state, chance.randrange(1, 4)))
    return found


def test_the_example_of_the_chapter() -> None:
    both = combined([B(0, 9, AVAILABLE, 1)], [B(4, 6, ACKNOWLEDGED, 1)], 0)
    assert both == (B(0, 3, AVAILABLE, 1), B(4, 6, ACKNOWLEDGED, 1), B(7, 9, AVAILABLE, 1))


def test_a_single_batch_is_only_cut_at_the_start() -> None:
    assert combined([], [B(3, 9, AVAILABLE, 1)], 5) == (B(5, 9, AVAILABLE, 1),)
    assert combined([B(3, 4, AVAILABLE, 1)], [], 5) == ()
    assert combined([B(3, 4, AVAILABLE, 1)], [], -1) == (B(3, 4, AVAILABLE, 1),)


def test_any_two_lists_say_of_each_offset_what_the_heavier_one_says() -> None:
    for seed in range(400):
        chance = random.Random(seed)
        known, new = list(combined((), drawn(chance, 4), 0)), drawn(chance, chance.randrange(1, 6))
        start = chance.randrange(20)
        found = combined(known, new, start)
        assert by_offset(list(found), [], 0) == by_offset(known, new, start)
        for one, after in zip(found, found[1:], strict=False):
            assert one.last < after.first
            assert one.last + 1 < after.first or one.weight != after.weight
