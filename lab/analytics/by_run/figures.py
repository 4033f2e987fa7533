"""Figures as Spark's SQL computes them, and values as its JSON functions write them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson


def percentile(values: Sequence[int], at: float, unit: float = 1.0) -> float | None:
    """Exact, between the two nearest values in proportion; of nothing none."""
    if not values:
        return None
    line = sorted(values)
    place = (len(line) - 1) * at
    low, high = int(place), -int(-place // 1)
    if low == high or line[low] == line[high]:
        return line[low] / unit
    return (line[low] + (place - low) * (line[high] - line[low])) / unit


def share(part: float, whole: float) -> float | None:
    """Of nothing none."""
    return part / whole if whole else None


def said(value: Any) -> str | None:
    """A value of JSON as text: texts as they are, everything else as it is written."""
    if value is None or isinstance(value, str):
        return value
    return orjson.dumps(value).decode()


def joined(*parts: Any) -> str | None:
    """Texts one behind the other; none when one of them is missing."""
    told = [said(part) for part in parts]
    return None if None in told else "".join(part for part in told if part is not None)


def listed(values: Sequence[Any] | None, between: str) -> str | None:
    """The members of a list as one text, without what is missing in it."""
    return None if values is None else between.join(text for value in values if (text := said(value)) is not None)


def number_of(node: str) -> int | None:
    """3 of broker-3."""
    tail = node.rsplit("-", 1)[-1]
    return int(tail) if tail.isdigit() else None
