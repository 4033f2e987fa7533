"""The figures that expectations ask for, found in what a run has left.

State is read twice: when the load ends, and after the settling. Events are counted from the start of the
clients until the final read-back begins, which is the judge's own work and nobody's load; those that the journal
summed up count too, unless their parameters are asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from itertools import takewhile
from pathlib import Path
from statistics import median
from typing import Any

import orjson

from broker_core.kernel.events import COMMAND
from broker_core.kernel.names import CHECKER
from broker_core.kernel.problems import Problem, Value, problem
from broker_core.kernel.world import World
from lab.checkers.group_work import Reader, group_work
from lab.checkers.receipt import Receipt
from lab.clusters.client_spec import client_from_dict
from lab.scenarios.conditions import Comparison, value_of
from lab.scenarios.expectations import (
    DELAYS,
    OF_PARAMETERS,
    RECEIPT,
    SETTLED,
    SLOWEST,
    STANDSTILL,
    event_filter,
    is_state,
    parameter_filter,
    subject_of,
)
from lab.scenarios.grammar import Scenario
from lab.scenarios.moments import matches
from lab.scenarios.predictions import Prediction
from lab.scenarios.times import duration_us

Row = list[Any]
_DURATION_US = next(one.default for one in fields(Scenario) if one.name == "duration_us")


@dataclass(slots=True)
class Findings:
    """Everything that a scenario can be judged by."""

    receipt: Receipt = field(default_factory=Receipt)
    state: dict[str, Any] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    gaps_ms: dict[str, int] = field(default_factory=dict)
    delays_ms: dict[str, tuple[int, int]] = field(default_factory=dict)
    standstills_ms: dict[str, int] = field(default_factory=dict)
    groups: dict[str, dict[str, int]] = field(default_factory=dict)
    violations: dict[str, int] | None = None
    _sorted: tuple[list[Row], dict[str, list[Row]]] | None = None
    """Rows by their event, made when first asked for: a lesson asks for a dozen events of tens of thousands."""

    def look(self, world: World, scenario: Scenario, settled: bool) -> None:
        """Note the state that is asked for."""
        for key in keys(scenario):
            if is_state(key) and key.startswith(SETTLED) == settled:
                self.state[key] = value_of(world, *subject_of(key))

    def value(self, key: str) -> Any:
        """The figure of an expectation's key; None when there is none."""
        kind, _, rest = key.partition(".")
        if kind == "receipt":
            return self._of_receipt(rest)
        if kind == "events":
            return self._count(rest)
        if kind in OF_PARAMETERS:
            return self._of_parameter(kind, rest)
        if kind in DELAYS:
            return self.delays_ms[rest][kind.endswith(SLOWEST)] if rest in self.delays_ms else None
        if kind == STANDSTILL:
            return self.standstills_ms.get(rest)
        if kind == "group":
            group, _, figure = rest.rpartition(".")
            return self.groups.get(group, {}).get(figure)
        if kind == "unavailability":
            return self.gaps_ms.get(rest)
        if kind == "invariants":
            return self._violations(rest)
        return self.state.get(key)

    def _of_receipt(self, rest: str) -> Any:
        found: Any = self.receipt.to_dict()
        for part in rest.split("."):
            found = found.get(part, 0 if part in RECEIPT else {}) if isinstance(found, dict) else None
        return found

    def _count(self, rest: str) -> int:
        code, where = event_filter(rest)
        count: int = sum(matches(row, where) for row in self._of(code))
        if not where:
            count += sum(row[5]["counts"].get(code, 0) for row in self._of("summed_up"))
        return count

    def _of(self, code: str) -> list[Row]:
        if self._sorted is None or self._sorted[0] is not self.rows:
            found: dict[str, list[Row]] = {}
            for row in takewhile(_is_before_the_read_back, self.rows):
                found.setdefault(row[3], []).append(row)
            self._sorted = self.rows, found
        return self._sorted[1].get(code, [])

    def _of_parameter(self, kind: str, rest: str) -> int | None:
        """Of numbers; None when there is none, or when the journal has summed such events up."""
        code, parameter, where = parameter_filter(rest)
        if any(code in row[5]["counts"] for row in self._of("summed_up")):
            return None
        found = [row[5].get(parameter) for row in self._of(code) if matches(row, where)]
        numbers = [one for one in found if isinstance(one, int)]
        return (sum(numbers) if kind == "sum" else max(numbers)) if numbers else None

    def _violations(self, rest: str) -> int | None:
        if self.violations is None:
            return None
        found = self.violations
        return sum(found.values()) if rest == "violations" else found.get(rest, 0)

    def unmet(self, wanted: dict[str, Comparison]) -> list[Problem]:
        """`receipt.lost: expected >= 1, found 0` for each expectation that is not met."""
        found = [(key, one, self.value(key)) for key, one in wanted.items()]
        return [problem("unmet", key=key, wanted=str(one), found=plain(value))
                for key, one, value in found if not one.holds(value)]  # fmt: skip

    def right_choice(self, scenario: Scenario) -> int | None:
        """Which answer to the prediction this run makes right; None when it is not exactly one."""
        predict = scenario.lesson.predict
        if predict is None or predict.figure is not None:
            return None
        right = [index for index, choice in enumerate(predict.choices) if not self.unmet(choice.right)]
        return right[0] if len(right) == 1 else None

    def answer(self, scenario: Scenario) -> int | None:
        """The number, or the broker, that a prediction in full asks for; None when it asks for a choice."""
        predict = scenario.lesson.predict
        if predict is None or predict.figure is None:
            return None
        found = self.value(predict.figure.key)
        return found if isinstance(found, int) else None


def _is_before_the_read_back(row: Row) -> bool:
    """Whether the judge has not yet started to read everything once more."""
    return bool(row[3] != COMMAND.name or row[5]["command"].get("name") != CHECKER)


def _answered(prediction: Prediction) -> list[str]:
    """The figures that decide what the answer to a prediction is."""
    if prediction.figure is not None:
        return [prediction.figure.key]
    return [key for choice in prediction.choices for key in choice.right]


def plain(value: Any) -> Value:
    """A figure as a parameter."""
    if value is None:
        return problem("found_nothing")
    return value if isinstance(value, (bool, int, float)) else str(value)


def keys(scenario: Scenario) -> list[str]:
    """All figures that a scenario asks for."""
    wanted = [*scenario.expect, *scenario.asked]
    if scenario.lesson.predict is not None:
        wanted += _answered(scenario.lesson.predict)
    return wanted


def kinds(scenario: Scenario) -> set[str]:
    """What the figures are about: some take a look at every single record, which others need not pay for."""
    return {key.partition(".")[0] for key in keys(scenario)}


def read_rows(path: Path, from_us: int = 0) -> list[Row]:
    """Rows of a journal file from a moment on; what was summed up in seconds before it is left out."""
    with open(path, "rb") as file:
        rows = [orjson.loads(line) for line in file]
    return [row for row in rows if row[1] >= from_us and not _summed_up_before(row, from_us)]


def _summed_up_before(row: Row, from_us: int) -> bool:
    return bool(row[3] == "summed_up" and (row[5]["second"] + 1) * 1_000_000 <= from_us)


def load_end_us(facts: Mapping[str, Any]) -> int | None:
    """When the load of a run ended, by its run.json: the scenario's duration or its last step; None without them."""
    began, document = facts.get("began_us"), facts.get("scenario")
    if not began or not isinstance(document, dict):
        return None
    given = document.get("duration")
    length = _DURATION_US if given is None else duration_us(given, ("duration",))
    ends: list[int] = [began + length, *(step["t_us"] for step in facts.get("steps") or ())]
    return max(ends)


def longest_gaps_us(operations: Iterable[Mapping[str, Any]], from_us: int, until_us: int) -> dict[str, int]:
    """Partition -> longest time under load without an acknowledgement, from the first send to the end of the load."""
    last: dict[str, int] = {}
    gaps: dict[str, int] = {}
    for row in operations:
        if row["op"] != "send" or row["partition"] < 0 or not from_us <= row["t"] <= until_us:
            continue
        name = f"{row['topic']}-{row['partition']}"
        begin = last.setdefault(name, row["t"])
        if row["kind"] == "ok":
            gaps[name] = max(gaps.get(name, 0), row["t"] - begin)
            last[name] = row["t"]
    return {name: max(gaps.get(name, 0), until_us - begin) for name, begin in last.items()}


def delays_ms(
    operations: Iterable[Mapping[str, Any]], from_us: int, until_us: int
) -> dict[str, tuple[int, int]]:
    """Client -> time from the making of a record to its acknowledgement, or the poll that gave it to a reader, whole
    milliseconds: the median, and what 99 of 100 records keep within. Records that were made before `from_us` are left
    out: there was no reader yet."""
    made: dict[tuple[str, int], int] = {}
    delays: dict[str, list[int]] = {}
    for row in operations:
        if row["op"] == "send" and row["kind"] == "invoke" and row.get("created_us", -1) >= from_us:
            for first, count in row["values"]:
                made.update(((row["label"], value), row["created_us"]) for value in range(first, first + count))
        elif row["op"] in ("poll", "send") and row["kind"] == "ok" and row["t"] <= until_us:
            found = delays.setdefault(row["process"], [])
            runs = row.get("runs") or ((0, row["label"], *one) for one in row["values"])
            for _, label, first, count in runs:
                if label is None:
                    continue  # a record by hand: its value is a text, and nobody noted when it was made
                for value in range(first, first + count):
                    if (label, value) in made:
                        found.append(row["t"] - made[label, value])
    return {name: (int(median(found)) // 1000, slowest_us(found) // 1000) for name, found in delays.items() if found}


def slowest_us(delays: list[int]) -> int:
    """The 99th percentile by nearest rank: the smallest delay that 99 of 100 do not exceed."""
    rank = -(-99 * len(delays) // 100)
    return sorted(delays)[rank - 1]


def standstills_ms(
    operations: Iterable[Mapping[str, Any]], group_of: Mapping[str, str], from_us: int, until_us: int
) -> dict[str, int]:
    """Consumer, and group -> longest time between two polls that gave it something, from its first one to the end of
    the load, whole milliseconds."""
    last: dict[str, int] = {}
    found: dict[str, int] = {}
    for row in operations:
        if row["op"] != "poll" or row["kind"] != "ok" or not from_us <= row["t"] <= until_us:
            continue
        for name in (row["process"], group_of.get(row["process"], "")):
            found[name] = max(found.get(name, 0), row["t"] - last.get(name, row["t"]))
            last[name] = row["t"]
    return {name: max(gap, until_us - last[name]) // 1000 for name, gap in found.items() if name}


def groups_work(
    operations: Iterable[dict[str, Any]], rows: Iterable[Row], scenario: Scenario, until_us: int
) -> dict[str, dict[str, int]]:
    """What each group of the scenario has made of the records until then; its processes crash as the journal says."""
    commands = [one.command for one in scenario.steps]
    started = [one for one in commands if one.get("do") == "start_client" and "kind" in one]
    plain = [{key: value for key, value in one.items() if key != "do"} for one in started]
    given = [*scenario.spec.clients, *(client_from_dict(one, ()) for one in plain)]
    readers = {
        client.name: Reader(
            client.settings["group.id"], int(client.process_ms * 1000), client.commit,
            client.kind == "processor", bool(client.settings.get("transactional.id")),
        )
        for client in given if client.settings.get("group.id")
    }  # fmt: skip
    careful = {client.name for client in given if client.settings.get("isolation.level") == "read_committed"}
    crashes: dict[str, list[int]] = {}
    for row in rows:
        if row[3] == "process_ended" and row[5]["how"] != "shutdown":
            crashes.setdefault(row[2], []).append(row[1])
    return group_work(operations, crashes, readers, until_us, careful) if readers else {}


def longest_gaps_ms(operations: Iterable[Mapping[str, Any]], from_us: int, until_us: int) -> dict[str, int]:
    """The same in whole milliseconds."""
    return {name: gap // 1000 for name, gap in longest_gaps_us(operations, from_us, until_us).items()}
