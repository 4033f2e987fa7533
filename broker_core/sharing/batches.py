"""Runs of offsets that have the same state and were delivered equally often: how a share-partition is written down.

An update names only what has changed; what was known before and the update become one list without overlaps:

    known   0-9 available, 1 time
    update        4-6 acknowledged, 1 time
    both    0-3 available, 1   4-6 acknowledged, 1   7-9 available, 1

Of two statements about one offset the one with more deliveries counts, then the one with the later state; so it does
not matter in which order two of them come. What lies before the start offset is cut off.
Source: PersisterStateBatchCombiner.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

AVAILABLE, ACQUIRED, ACKNOWLEDGED, ARCHIVED = 0, 1, 2, 4
"""States of a record in a share-partition; those that are written down have these numbers. Nobody writes ACQUIRED."""
UNINITIALIZED_START, UNKNOWN_COUNT = -1, -1


class StateBatch(NamedTuple):
    """`state` of all offsets from `first` to `last`, both included, each delivered so many times."""

    first: int
    last: int
    state: int
    deliveries: int

    @property
    def weight(self) -> tuple[int, int]:
        """The heavier of two statements about an offset counts."""
        return self.deliveries, self.state


def batches_of(listed: Iterable[object]) -> tuple[StateBatch, ...]:
    """From structs of a message or a record."""
    return tuple(
        StateBatch(one.first_offset, one.last_offset, one.delivery_state, one.delivery_count)  # type: ignore[attr-defined]
        for one in listed
    )


def combined(known: Sequence[StateBatch], new: Sequence[StateBatch], start: int) -> tuple[StateBatch, ...]:
    """Both lists as one: sorted, without overlaps, neighbours that say the same joined, nothing before `start`."""
    kept = [
        one if one.first >= start else one._replace(first=start)
        for one in (*known, *new) if start == UNINITIALIZED_START or one.last >= start
    ]  # fmt: skip
    if len(kept) < 2:
        return tuple(kept)
    edges = sorted({one.first for one in kept} | {one.last + 1 for one in kept})
    waiting = sorted(kept, key=lambda one: one.first, reverse=True)
    open_ones: list[StateBatch] = []
    found: list[StateBatch] = []
    for first, behind in zip(edges, edges[1:], strict=False):
        open_ones = [one for one in open_ones if one.last >= first]
        while waiting and waiting[-1].first <= first:
            open_ones.append(waiting.pop())
        if not open_ones:
            continue
        heaviest = max(open_ones, key=lambda one: one.weight)
        before = found[-1] if found else None
        if before is not None and before.last + 1 == first and before.weight == heaviest.weight:
            found[-1] = before._replace(last=behind - 1)
        else:
            found.append(StateBatch(first, behind - 1, heaviest.state, heaviest.deliveries))
    return tuple(found)
