"""JSON from outside, by the book: no NaN, no lone surrogates, not deeper than `DEEPEST`."""

from __future__ import annotations

from typing import Any

import orjson

DEEPEST = 64


class TooDeepError(ValueError):
    """Values within values, more than `DEEPEST` of them."""


def loads(text: str | bytes) -> Any:
    """Plain data; raises ValueError, of the kind TooDeepError where it is JSON."""
    found = orjson.loads(text)
    if not _shallow(found, DEEPEST):
        raise TooDeepError(f"nested deeper than {DEEPEST}")
    return found


def _shallow(value: Any, levels: int) -> bool:
    if isinstance(value, dict):
        return levels > 0 and all(_shallow(one, levels - 1) for one in value.values())
    if isinstance(value, list):
        return levels > 0 and all(_shallow(one, levels - 1) for one in value)
    return True
