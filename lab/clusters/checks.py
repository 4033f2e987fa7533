"""Reading of plain data (YAML, JSON) with errors that say where, and what was expected.

A place is the path of keys and indexes from the top: `("steps", 2, "do")` is shown as `steps[2].do`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

Place = tuple[str | int, ...]


class SpecError(ValueError):
    """Something in a description is wrong: `place` says where, `reason` what was expected."""

    def __init__(self, place: Place, reason: str) -> None:
        super().__init__(f"{shown(place)}: {reason}" if place else reason)
        self.place = place
        self.reason = reason


def shown(place: Place) -> str:
    """`("steps", 2, "do")` as `steps[2].do`."""
    text = ""
    for part in place:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def mapping(
    value: Any, place: Place, known: Iterable[str] | None = None, required: Iterable[str] = ()
) -> dict[str, Any]:
    """A mapping whose keys are all known and that has those that are required."""
    if value is None:
        value = {}
    if not isinstance(value, Mapping):
        raise SpecError(place, f"expected keys and values, found {kind(value)}")
    names = list(known) if known is not None else None
    for key in value:
        if not isinstance(key, str):
            raise SpecError((*place, str(key)), f"expected a name as key, found {kind(key)}")
        if names is not None and key not in names:
            raise SpecError((*place, key), f"unknown key {key!r}, {expected(key, names)}")
    for key in required:
        if key not in value:
            raise SpecError(place, f"key {key!r} is missing")
    return dict(value)


def items(value: Any, place: Place) -> list[Any]:
    """A list."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise SpecError(place, f"expected a list, found {kind(value)}")
    return value


def integer(value: Any, place: Place, least: int | None = None, most: int | None = None) -> int:
    """A whole number within limits."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise SpecError(place, f"expected a whole number, found {kind(value)}")
    limits(value, place, least, most)
    return value


def integers(
    value: Any, place: Place, names: Iterable[str], least: int | None = None, most: int | None = None
) -> dict[str, int]:
    """Whole numbers by name, none of them required."""
    return {name: integer(one, (*place, name), least, most) for name, one in mapping(value, place, names).items()}


def number(value: Any, place: Place, least: float | None = None, most: float | None = None) -> float:
    """A number within limits."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise SpecError(place, f"expected a number, found {kind(value)}")
    limits(value, place, least, most)
    return value


def limits(value: float, place: Place, least: float | None, most: float | None) -> None:
    """Raise when the value is outside."""
    if least is not None and value < least:
        raise SpecError(place, f"{value} is below {least}")
    if most is not None and value > most:
        raise SpecError(place, f"{value} is above {most}")


def text(value: Any, place: Place) -> str:
    """A string that is not empty."""
    if not isinstance(value, str) or not value:
        raise SpecError(place, f"expected a text, found {kind(value)}")
    return value


def truth(value: Any, place: Place) -> bool:
    """true or false."""
    if not isinstance(value, bool):
        raise SpecError(place, f"expected true or false, found {kind(value)}")
    return value


def choice(value: Any, place: Place, words: Iterable[str]) -> str:
    """One of a few words."""
    names = list(words)
    if value not in names:
        if not names:
            raise SpecError(place, f"{value!r}: nothing of this kind is described")
        raise SpecError(place, f"{value!r}: {expected(str(value), names)}")
    return str(value)


def unique(names: list[str], place: Place, what: str) -> None:
    """No name is there twice."""
    for index, name in enumerate(names):
        if name in names[:index]:
            raise SpecError((*place, index), f"{what} {name} is there twice")


def setting(value: Any, place: Place) -> str:
    """The value of a Kafka setting as text: `true`, `5`, `a,b`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ",".join(str(item) for item in value)
    if isinstance(value, (str, int, float)):
        return str(value)
    raise SpecError(place, f"expected a value, found {kind(value)}")


def expected(given: str, names: list[str]) -> str:
    """`did you mean ...` when one is close, else all of them."""
    close = get_close_matches(given, names, 1)
    return f"expected one of {', '.join(names)}" + (f" (did you mean {close[0]}?)" if close else "")


def kind(value: Any) -> str:
    """What was found, in words."""
    if value is None:
        return "nothing"
    if isinstance(value, (Mapping, list)):
        return "a list" if isinstance(value, list) else "keys and values"
    names: dict[type, str] = {str: "the text", bool: "the word"}
    return f"{names.get(type(value), 'the number')} {value!r}"
