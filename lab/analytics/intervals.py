"""How far a sweep's figures can be trusted: how runs spread, and what a share of so few runs says of all.

| of | told |
|---|---|
| a figure of each run | median and quartiles: between these lies the middle half of the runs |
| a share (runs that lost something) | Wilson's interval at 95 %: narrower with more runs, and never outside 0 to 1 |

Nothing lost in 20 runs: 0 to 16 % of all runs may lose something. E. B. Wilson, "Probable inference, the law of
succession, and statistical inference", 1927.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import quantiles

Z = 1.959964
"""Of a normal distribution, 95 % lie within so many standard deviations."""


def quartiles(values: Sequence[float]) -> tuple[float, float, float] | tuple[None, None, None]:
    """(first quartile, median, third quartile); of no values none."""
    if not values:
        return None, None, None
    if len(values) == 1:
        return values[0], values[0], values[0]
    first, middle, third = quantiles(values, n=4, method="inclusive")
    return first, middle, third


def wilson(hits: int, of: int) -> tuple[float, float] | tuple[None, None]:
    """Between which shares the true one lies, with 95 % confidence; of no runs nothing is known."""
    if not of:
        return None, None
    share, square = hits / of, Z * Z / of
    centre, width = share + square / 2, Z * sqrt((share * (1 - share) + square / 4) / of)
    return max(0.0, (centre - width) / (1 + square)), min(1.0, (centre + width) / (1 + square))
