"""Columns of numbers by offset: what was written is read, whatever was packed since, and little of it is kept."""

from __future__ import annotations

from array import array
from random import Random

import pytest

from lab.checkers import column


@pytest.mark.parametrize("seed", range(4))
def test_a_column_is_read_as_a_plain_list_is(seed: int) -> None:
    draw = Random(seed)
    cells, values = column.small(), column.large()
    plain_cells, plain_values = bytearray(12 * column.SIZE), array("q", bytes(8 * 12 * column.SIZE))
    for _ in range(60):
        first = draw.randrange(11 * column.SIZE)
        count = draw.choice([1, 7, 500, column.SIZE])
        end = first + count
        numbers = array("q", (draw.randrange(-(1 << 63), 1 << 63) for _ in range(count)))
        painted = bytearray([draw.randrange(4)]) * count
        cells.write(first, painted)
        values.write(first, numbers)
        plain_cells[first:end], plain_values[first:end] = painted, numbers
        cells[first] = plain_cells[first] = draw.randrange(256)
        low = draw.randrange(11 * column.SIZE)
        high = low + draw.randrange(2 * column.SIZE)
        assert cells.read(low, high) == plain_cells[low:high] + bytes(max(0, high - len(plain_cells)))
        assert values.read(first, end) == numbers and values[low] == plain_values[low]
        for number in (0, 1, plain_cells[low]):
            assert cells.count(number, low, high) == (plain_cells + bytes(column.SIZE * 2)).count(number, low, high)
    assert dict(pair for begin, piece in values.pieces() for pair in enumerate(piece, begin) if pair[1]) == {
        at: number for at, number in enumerate(plain_values) if number
    }


def test_what_nobody_works_on_takes_next_to_nothing() -> None:
    """Four producers in turn, ten records each: a million offsets."""
    values, at = column.large(), [label << 40 for label in range(4)]
    for first in range(0, 1_000_000, 10):
        label = first // 10 % 4
        values.write(first, array("q", range(at[label], at[label] + 10)))
        at[label] += 10
    packed = sum(len(part.content) for part in values._packed.values())
    assert values.size > 7_900_000 and packed < 500_000, packed
    assert values[999_999] == at[3] - 1 and values[0] == 0 and values[10] == 1 << 40


def test_offsets_far_apart_cost_what_is_written() -> None:
    cells = column.small()
    cells[1 << 60] = 7
    cells[5] = 7
    assert cells.count(7, 0, 1 << 61) == 2 and cells.count(0, 0, 1 << 61) == (1 << 61) - 2
    assert cells.size == 2 * column.SIZE
