"""Moments of a run that a document points at: an event of the journal, found by its code and its parameters.

```yaml
{event: leader_elected, where: {topic: orders}, step: 1, nth: 2}      # the second one from steps[1] on
```
`where` compares parameters as text; `node` is the node that tells.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from broker_core.kernel.events import REGISTRY
from lab.clusters import checks
from lab.clusters.checks import Place

MOMENT_KEYS = ("event", "where", "step", "nth")


@dataclass(slots=True)
class Moment:
    """The `nth` event of this code with these parameters, counted from a step on."""

    event: str
    where: dict[str, str] = field(default_factory=dict)
    step: int = 0
    nth: int = 1

    def find(self, rows: Iterable[Any], steps: list[dict[str, int]]) -> tuple[int, int] | None:
        """(seq, time) in the rows of a journal; `steps`: where each step began ({seq, t_us})."""
        row = self.row(rows, steps)
        return None if row is None else (row[0], row[1])

    def row(self, rows: Iterable[Any], steps: list[dict[str, int]]) -> Any:
        """The row itself, or None."""
        first = steps[self.step]["seq"] if self.step < len(steps) else 0
        left = self.nth
        for row in rows:
            if row[0] >= first and row[3] == self.event and matches(row, self.where):
                left -= 1
                if not left:
                    return row
        return None


def matches(row: Any, where: Mapping[str, str]) -> bool:
    """Whether a row of the journal has these parameters (`node`: the node that tells)."""
    return all(
        str(row[2] if name == "node" else row[5].get(name)) == value for name, value in where.items()
    )


def read_moment(data: Mapping[str, Any], place: Place, steps: int) -> Moment:
    """A checked mapping of MOMENT_KEYS; raises SpecError."""
    code = checks.choice(data["event"], (*place, "event"), list(REGISTRY))
    moment = Moment(code)
    for name, wanted in checks.mapping(data.get("where"), (*place, "where")).items():
        checks.choice(name, (*place, "where", name), ["node", *REGISTRY[code].params])
        moment.where[name] = str(wanted)
    if "step" in data:
        moment.step = checks.integer(data["step"], (*place, "step"), 0, max(0, steps - 1))
    if "nth" in data:
        moment.nth = checks.integer(data["nth"], (*place, "nth"), 1)
    return moment
