"""What a setting accepts beyond its type: limits, lists of words, formats.

A check is data, so that the table of settings can print it, and answers in Kafka's words
(`ConfigDef.Range`, `ValidString`, `ValidList`): `Range(14).problem(3)` is "Value must be at least 14".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Protocol


class Check(Protocol):
    """What a setting accepts beyond its type."""

    def problem(self, value: Any) -> str | None: ...

    def __str__(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Range:
    """A number between two limits, either of which may be open."""

    low: float | None
    high: float | None = None

    def problem(self, value: Any) -> str | None:
        if value is None:
            return "Value must be non-null"
        if self.low is not None and value < self.low:
            return f"Value must be at least {self.low}"
        if self.high is not None and value > self.high:
            return f"Value must be no more than {self.high}"
        return None

    def __str__(self) -> str:
        return f"[{self.low},...]" if self.high is None else f"[{self.low},...,{self.high}]"


@dataclass(frozen=True, slots=True)
class RangeOr:
    """A number between two limits, or one special value (gzip: 1 to 9, or -1)."""

    low: int
    high: int
    special: int

    def problem(self, value: Any) -> str | None:
        if self.low <= value <= self.high or value == self.special:
            return None
        return f"Value must be between {self.low} and {self.high} or equal to {self.special}"

    def __str__(self) -> str:
        return f"[{self.low},...,{self.high}] or {self.special}"


@dataclass(frozen=True, slots=True)
class OneOf:
    """One word of a list, or, for a setting of type LIST, words of that list."""

    words: tuple[str, ...]
    ignore_case: bool = False

    def problem(self, value: Any) -> str | None:
        for word in value if isinstance(value, list) else [value]:
            if word not in self.words and not (self.ignore_case and str(word).upper() in self.words):
                kind = "String must be one of (case insensitive)" if self.ignore_case else "String must be one of"
                return f"{kind}: {', '.join(self.words)}"
        return None

    def __str__(self) -> str:
        return f"{'(case insensitive) ' if self.ignore_case else ''}[{', '.join(self.words)}]"


@dataclass(frozen=True, slots=True)
class NonEmpty:
    """A text or list with something in it; not given at all is fine."""

    def problem(self, value: Any) -> str | None:
        return "String must be non-empty" if value is not None and len(value) == 0 else None

    def __str__(self) -> str:
        return "non-empty"


@dataclass(frozen=True, slots=True)
class ThrottledReplicas:
    """`*`, or replicas as `partition:broker`."""

    def problem(self, value: Any) -> str | None:
        if value == ["*"] or all(re.fullmatch(r"[0-9]+:[0-9]+", replica) for replica in value):
            return None
        return f"must be the literal '*' or a list of replicas in the following format: {self}"

    def __str__(self) -> str:
        return "[partitionId]:[brokerId],[partitionId]:[brokerId],..."


@dataclass(frozen=True, slots=True)
class FormatVersion:
    """A version such as `2.8`, `3.9-IV0` or `0.10.1-IV2`."""

    def problem(self, value: Any) -> str | None:
        known = re.fullmatch(r"0\.(8\.[012]|9\.0|1[01]\.\d)(\.\d|-IV\d)?|[1-4]\.\d(\.\d)?(-IV\d+)?", value)
        return None if known else f"Version {value} is not a valid version"

    def __str__(self) -> str:
        return "a version of Kafka, such as 3.9-IV0"
