"""What a benchmark found: one line for each case, with the ratio where both sides were measured."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

OWN_GOALS = ("idle", "simulation", "fork", "longest", "soak", "laden", "frame",
             "flood", "page", "watched", "deaf", "decode", "sweep", "session", "replays", "class")
NEAR_GOALS = {"fidelity": 0.2}
"""What is to be like the other side, neither better nor worse: by this factor at most, or by so much of its unit."""


@dataclass(frozen=True, slots=True)
class Result:
    """One case. `more_is_better`: a rate; else a time, a size or a share.

    The ratio is always "how many times better we are", so that every goal reads "at least".

    * ceiling: what the client makes with nobody to send to
    * busy: cores that our processes kept busy meanwhile; far below 1, something else is the limit
    * other: whose figure `kafka` is, where that is not Apache Kafka
    """

    benchmark: str
    case: str
    unit: str
    ours: float
    kafka: float | None
    more_is_better: bool
    goal: float | None = None
    ceiling: float | None = None
    busy: float | None = None
    other: str = ""

    @property
    def ratio(self) -> float | None:
        """Times better than Apache Kafka; None without its side."""
        if self.kafka is None or not self.ours or not self.kafka:
            return None
        return self.ours / self.kafka if self.more_is_better else self.kafka / self.ours

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; goals without a ratio (`OWN_GOALS`) are about our own figure."""
        if self.goal is None:
            return None
        if self.benchmark in OWN_GOALS:
            return self.ours >= self.goal if self.more_is_better else self.ours <= self.goal
        if self.ratio is not None and self.benchmark in NEAR_GOALS:
            near = self.kafka is not None and abs(self.ours - self.kafka) <= NEAR_GOALS[self.benchmark]
            return near or 1 / self.goal <= self.ratio <= self.goal
        return None if self.ratio is None else self.ratio >= self.goal

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"ratio": self.ratio, "met": self.met}

    def line(self) -> str:
        """One row of the table."""
        ratio = f"{self.ratio:.2f} x" if self.ratio is not None else "-"
        goal = "-" if self.goal is None else f"{self.goal:.3g}{' ' if self.benchmark in OWN_GOALS else ' x'}"
        mark = {None: "", True: "yes", False: "NO"}[self.met]
        ceiling = f"   (client alone: {number(self.ceiling)}; our cores: {number(self.busy)})" if self.ceiling else ""
        beside = f"   beside {self.other}" if self.other else ""
        return (f"{self.benchmark:<13}{self.case:<30}{number(self.ours):>12}{number(self.kafka):>12} {self.unit:<14}"
                f"{ratio:>9}{goal:>7} {mark}{ceiling}{beside}")


def number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


HEAD = f"{'benchmark':<13}{'case':<30}{'ours':>12}{'other side':>12} {'unit':<14}{'ratio':>9}{'goal':>7} met"


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which this share of all values lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
