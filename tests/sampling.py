"""Of what is asked alike of many things, everyday runs and CI ask a part, and `./brokerlab test --all` asks every one.

    @pytest.mark.parametrize("name", every(LESSONS, nth=4))     the first, the fifth, the ninth ...
    @pytest.mark.parametrize("seed", every((1, 2, 3), keep=[1]))

    for name in some(LESSONS, nth=3)                            within one test

The rest carries the mark `every`. A question may be sampled so where another one, which is asked of all, would miss
little: each lesson is executed with all that it expects, and a twelfth of them is walked through in a browser.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import pytest

EVERY = "BROKERLAB_EVERY"
"""Set by `--all`."""


def every(values: Iterable[Any], nth: int = 0, keep: Collection[Any] = ()) -> list[Any]:
    """Parameters of which each `nth`, or those in `keep`, are asked of every day, the others by `--all`."""
    found = []
    for number, value in enumerate(values):
        daily = value in keep or (nth > 0 and number % nth == 0)
        marks = () if daily else (pytest.mark.every,)
        found.append(pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=marks))
    return found


def some(values: Sequence[Any], nth: int) -> Sequence[Any]:
    """Each `nth`; by `--all` every one."""
    return values if os.environ.get(EVERY) else values[::nth]
