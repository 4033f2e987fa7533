"""Reading of plain data (YAML, JSON) with errors that say where, and what was expected.

A place is the path of keys and indexes from the top: `("steps", 2, "do")` is shown as `steps[2].do`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from broker_core.kernel.errors import Refusal
from broker_core.kernel.problems import Problem, Value, problem

Place = tuple[str | int, ...]


class SpecError(Refusal, ValueError):
    """Something in a description is wrong: `place` says where, the problem what was expected."""

    def __init__(self, place: Place, what: Problem) -> None:
        super().__init__(what, place)

    @property
    def where(self) -> str:
        return shown(self.place)

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}" if self.place else self.reason

    def __reduce__(self) -> tuple[type[SpecError], tuple[Place, Problem]]:
        return type(self), (self.place, self.problem)


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
        raise SpecError(place, problem("expected_mapping", found=kind(value)))
    names = list(known) if known is not None else None
    for key in value:
        if not isinstance(key, str):
            raise SpecError((*place, str(key)), problem("expected_name", found=kind(key)))
        if names is not None and key not in names:
            raise SpecError((*place, key), problem("unknown_key", key=key, expected=expected(key, names)))
    for key in required:
        if key not in value:
            raise SpecError(place, problem("missing_key", key=key))
    return dict(value)


def items(value: Any, place: Place) -> list[Any]:
    """A list."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise SpecError(place, problem("expected_list", found=kind(value)))
    return value


def integer(value: Any, place: Place, least: int | None = None, most: int | None = None) -> int:
    """A whole number within limits."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise SpecError(place, problem("expected_whole", found=kind(value)))
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
        raise SpecError(place, problem("expected_number", found=kind(value)))
    limits(value, place, least, most)
    return value


def limits(value: float, place: Place, least: float | None, most: float | None) -> None:
    """Raise when the value is outside."""
    if least is not None and value < least:
        raise SpecError(place, problem("below", given=value, least=least))
    if most is not None and value > most:
        raise SpecError(place, problem("above", given=value, most=most))


def text(value: Any, place: Place) -> str:
    """A string that is not empty."""
    if not isinstance(value, str) or not value:
        raise SpecError(place, problem("expected_text", found=kind(value)))
    return value


def truth(value: Any, place: Place) -> bool:
    """true or false."""
    if not isinstance(value, bool):
        raise SpecError(place, problem("expected_truth", found=kind(value)))
    return value


def choice(value: Any, place: Place, words: Iterable[str]) -> str:
    """One of a few words."""
    names = list(words)
    if value not in names:
        if not names:
            raise SpecError(place, problem("nothing_described", given=plain(value)))
        raise SpecError(place, problem("not_among", given=plain(value), expected=expected(str(value), names)))
    return str(value)


def unique(names: list[str], place: Place, what: str) -> None:
    """No name is there twice."""
    for index, name in enumerate(names):
        if name in names[:index]:
            raise SpecError((*place, index), problem("there_twice", kind=what, name=name))


def setting(value: Any, place: Place) -> str:
    """The value of a Kafka setting as text: `true`, `5`, `a,b`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ",".join(str(item) for item in value)
    if isinstance(value, (str, int, float)):
        return str(value)
    raise SpecError(place, problem("expected_value", found=kind(value)))


def settings_of(value: Any, place: Place) -> dict[str, str]:
    """Kafka's settings as text."""
    return {name: setting(content, (*place, name)) for name, content in mapping(value, place).items()}


def expected(given: str, names: list[str]) -> Problem:
    """All of them, and which was probably meant."""
    close = [one for one in get_close_matches(given, names, 1) if one != given]
    return problem("one_of_close", known=names, close=close[0]) if close else problem("one_of", known=names)


def kind(value: Any) -> Problem:
    """What was found."""
    if value is None:
        return problem("found_nothing")
    if isinstance(value, (Mapping, list)):
        return problem("found_list") if isinstance(value, list) else problem("found_mapping")
    if isinstance(value, str):
        return problem("found_text", given=value)
    return problem("found_truth" if isinstance(value, bool) else "found_number", given=plain(value))


def plain(value: Any) -> Value:
    """A value of YAML as a parameter: in quotes when it is a text; what JSON does not know, a date, is written out."""
    if isinstance(value, (bool, int, float)) or value is None:
        return value
    return repr(value) if isinstance(value, str) else str(value)
