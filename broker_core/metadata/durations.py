"""Durations as Kafka's settings write them (ISO 8601): days and shorter.

    PT1H  one hour     P1DT2H30M0.5S  a day, two and a half hours and half a second
"""

from __future__ import annotations

import re
from datetime import timedelta

_DURATION = re.compile(
    r"P(?=.)(?:(?P<days>\d{1,6})D)?"
    r"(?:T(?=.)(?:(?P<hours>\d{1,9})H)?(?:(?P<minutes>\d{1,9})M)?(?:(?P<seconds>\d{1,9}(?:\.\d{1,9})?)S)?)?",
    re.IGNORECASE,
)


def duration_ms(text: str) -> int | None:
    """Milliseconds of a duration; None if it is none."""
    found = _DURATION.fullmatch(text)
    if found is None:
        return None
    whole = timedelta(**{unit: float(count) for unit, count in found.groupdict(default="0").items()})
    return whole // timedelta(milliseconds=1)
