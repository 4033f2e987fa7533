"""Times as people write them: `500ms`, `5s`, `2m`; a bare number is seconds."""

from __future__ import annotations

import re
from typing import Any

from broker_core.kernel.problems import problem
from lab.clusters.checks import Place, SpecError, plain

_TIME = re.compile(r"^(\d+(?:\.\d+)?)\s*(us|ms|s|m|)$")
_UNITS = {"us": 1, "ms": 1_000, "s": 1_000_000, "": 1_000_000, "m": 60_000_000}


def duration_us(value: Any, place: Place) -> int:
    """Microseconds; raises SpecError."""
    match = _TIME.match(str(value)) if not isinstance(value, bool) else None
    if match is None:
        raise SpecError(place, problem("expected_time", given=plain(value)))
    return int(float(match[1]) * _UNITS[match[2]])


def written(time_us: int) -> str:
    """The shortest form that `duration_us` reads back: 5s, 500ms, 12us."""
    if time_us % 1_000_000 == 0:
        return f"{time_us // 1_000_000}s"
    return f"{time_us // 1000}ms" if time_us % 1000 == 0 else f"{time_us}us"
