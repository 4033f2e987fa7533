"""Values with a spread: `at: 5s ± 300ms` is another moment under each seed, from 4.7 to 5.3 s.

A world under another seed elects, times out and shuffles otherwise, but what is done to it comes at the same
microsecond: a sweep over seeds then asks the same question twenty times. With a spread the question varies.

| where | what | as in |
|---|---|---|
| `at`, `after` of a step | a time | `at: 5s ± 300ms`, `after: 2s ± 1s` |
| `rate` of a client | records a second | `rate: 500 ± 50` |
| `link_delay_ms` of the cluster, `delay_ms` of a fault | milliseconds | `delay_ms: 100 ± 30` |

`+-` may stand for `±`. Every value in between is as likely as another one. It is drawn from the seed by a random
stream that is named after its place (`spread/steps[0].at`), so two places do not follow each other, and steps in
front of a fork come at the same moments with it and without. The document keeps the spread: what was drawn stands in
`run.json`, in `spec` and `drawn`, and an execution from the recording does not draw again.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random
from typing import Any

from broker_core.kernel.problems import problem
from lab.clusters.checks import Place, SpecError, plain, shown
from lab.scenarios.times import duration_us, written

TIMES = ("at", "after")
NUMBERS = ("rate", "link_delay_ms", "delay_ms")
SECTIONS = ("cluster", "clusters", "clients", "steps", "variants", "fork")
_SIGN = re.compile(r"\s*(?:±|\+-|\+/-)\s*")
_NUMBER = re.compile(r"^\d+(?:\.\d+)?$")
Number = int | float
Pick = Callable[[Place, Number, Number], Number]
"""(place, least, most) -> the value; whole numbers between whole numbers."""


def middle(document: dict[str, Any]) -> dict[str, Any]:
    """The document with the middle in the place of each spread; raises SpecError at one that cannot be."""
    return _with(document, _middle)


def edges(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The document with the least of all values, and with the most, when there is a spread in it: these must be valid,
    too."""
    found = [_with(document, lambda _, least, most: least), _with(document, lambda _, least, most: most)]
    return found if found[0] != found[1] else []


def _middle(_: Place, least: Number, most: Number) -> Number:
    return (least + most) // 2 if isinstance(least, int) and isinstance(most, int) else (least + most) / 2


def drawn(document: dict[str, Any], seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The document with the values of a seed, and these by their places."""
    found: dict[str, Any] = {}

    def pick(place: Place, least: Number, most: Number) -> Number:
        stream = Random(f"{seed}/spread/{shown(place)}")
        if isinstance(least, int) and isinstance(most, int):
            return stream.randint(least, most)
        return round(stream.uniform(least, most), 3)

    return _with(document, pick, found), found


def _with(document: dict[str, Any], pick: Pick, found: dict[str, Any] | None = None) -> dict[str, Any]:
    return {key: _walk(one, (key,), pick, found) if key in SECTIONS else one for key, one in document.items()}


def _walk(value: Any, place: Place, pick: Pick, found: dict[str, Any] | None) -> Any:
    if isinstance(value, dict):
        return {key: _walk(one, (*place, key), pick, found) for key, one in value.items()}
    if isinstance(value, list):
        return [_walk(one, (*place, index), pick, found) for index, one in enumerate(value)]
    if not isinstance(value, str) or place[-1] not in (*TIMES, *NUMBERS) or not _SIGN.search(value):
        return value
    chosen = _chosen(value, place, pick)
    if found is not None:
        found[shown(place)] = chosen
    return chosen


def _chosen(value: str, place: Place, pick: Pick) -> Any:
    parts = _SIGN.split(value)
    if len(parts) != 2:
        raise SpecError(place, problem("spread_shape", given=plain(value)))
    if place[-1] in TIMES:
        centre, spread = (duration_us(part, place) for part in parts)
        _check(value, centre, spread, place)
        unit = 1000 if centre % 1000 == spread % 1000 == 0 else 1
        return written(int(pick(place, (centre - spread) // unit, (centre + spread) // unit)) * unit)
    middle, around = (_number(part, value, place) for part in parts)
    _check(value, middle, around, place)
    whole = isinstance(middle, int) and isinstance(around, int)
    least, most = middle - around, middle + around
    return pick(place, least, most) if whole else pick(place, float(least), float(most))


def _check(value: str, centre: Number, spread: Number, place: Place) -> None:
    if spread > centre:
        raise SpecError(place, problem("spread_too_large", given=plain(value)))


def _number(text: str, value: str, place: Place) -> Number:
    if not _NUMBER.match(text):
        raise SpecError(place, problem("spread_of_numbers", given=plain(value)))
    return float(text) if "." in text else int(text)
