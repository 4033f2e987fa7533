"""Levers: what an attempt at an exercise may change, and the scenario that it makes of the start.

| lever | what it moves |
|---|---|
| `{client: producer-orders, setting: acks, choices: ["1", all]}` | a setting of a client |
| `{client: producer-orders, key: rate, least: 1, most: 500}` | another key of it, as the scenario grammar has it |
| `{topic: orders, setting: retention.ms, ...}`, `{topic: orders, key: partitions, ...}` | of a topic |
| `{cluster: settings, setting: unclean.leader.election.enable, choices: ["true", "false"]}` | of all brokers |
| `{cluster: keys, key: ensemble, choices: [1, 3, 5]}` | another key of the cluster |
| `{cluster: protections, key: maximal_isr, choices: [true, false]}` | a protection |
| `steps: {commands: [kill, restart], most: 3, before: 1}` | steps, in front of `steps[1]`; else behind all |

A value is one of `choices`, or a whole number from `least` to `most`. What an attempt does not name stays as the start
has it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from broker_core.kernel.problems import problem
from lab.clusters import checks
from lab.clusters.checks import Place, SpecError
from lab.clusters.vocabulary import KINDS
from lab.scenarios import variants

OF = ("client", "topic", "cluster")
PARTS_OF_CLUSTER = ("settings", "keys", "protections")
LEVER_KEYS = (*OF, "setting", "key", "choices", "least", "most")
STEPS_KEYS = ("commands", "most", "before")
ATTEMPT_KEYS = ("set", "steps")
MOST_STEPS = 20

Document = dict[str, Any]
Attempt = dict[str, Any]
"""`{"set": {lever: value}, "steps": [...]}`; both may be missing."""


@dataclass(slots=True, frozen=True)
class Lever:
    """One thing that may be set. `path` leads to it from the top of a scenario; a text in the place of a list is the
    name of one of its members."""

    name: str
    path: tuple[str, ...]
    choices: tuple[Any, ...] = ()
    least: int = 0
    most: int = 0

    @property
    def label(self) -> str:
        """`acks (producer-orders)`: Kafka's own names, the same in all languages."""
        return f"{self.path[-1]} ({self.path[1]})" if self.path[0] != "cluster" else self.path[-1]

    def standing(self, whole: Document) -> Any:
        """Its value in a scenario; None when nothing is said of it."""
        return value_in(whole, self.path)

    def value(self, given: Any, place: Place) -> Any:
        """The value as the scenario takes it; raises SpecError."""
        if not self.choices:
            whole = int(given) if isinstance(given, str) and given.lstrip("-").isdigit() else given
            number = checks.integer(whole, place, self.least, self.most)
            return str(number) if self.path[-2] in ("settings", "configs") else number
        written = checks.choice(
            checks.setting(given, place), place, [checks.setting(one, place) for one in self.choices]
        )
        return next(one for one in self.choices if checks.setting(one, place) == written)


@dataclass(slots=True)
class Levers:
    """All that an attempt may do.

    Invariants
        * without `commands` an attempt has no steps
    """

    sets: dict[str, Lever] = field(default_factory=dict)
    commands: tuple[str, ...] = ()
    most_steps: int = 0
    before: int | None = None


def read_levers(value: Any, place: Place) -> Levers:
    """Checked levers; raises SpecError."""
    data = checks.mapping(value, place, ["set", "steps"])
    found = Levers()
    for name, one in checks.mapping(data.get("set"), (*place, "set")).items():
        found.sets[name] = _lever(name, one, (*place, "set", name))
    if "steps" in data:
        at = (*place, "steps")
        steps = checks.mapping(data["steps"], at, STEPS_KEYS, ["commands"])
        given = checks.items(steps["commands"], (*at, "commands"))
        found.commands = tuple(checks.choice(one, (*at, "commands", n), KINDS) for n, one in enumerate(given))
        found.most_steps = checks.integer(steps.get("most", MOST_STEPS), (*at, "most"), 1, MOST_STEPS)
        if "before" in steps:
            found.before = checks.integer(steps["before"], (*at, "before"), 0)
    if not found.sets and not found.commands:
        raise SpecError(place, problem("no_levers"))
    return found


def _lever(name: str, value: Any, place: Place) -> Lever:
    data = checks.mapping(value, place, LEVER_KEYS)
    of = [key for key in OF if key in data]
    what = [key for key in ("setting", "key") if key in data]
    if len(of) != 1:
        raise SpecError(place, problem("one_subject", known=list(OF), n=len(of)))
    if len(what) != 1:
        raise SpecError(place, problem("one_subject", known=["setting", "key"], n=len(what)))
    key = checks.text(data[what[0]], (*place, what[0]))
    path = _path(of[0], checks.text(data[of[0]], (*place, of[0])), what[0], key, place)
    if "choices" in data:
        choices = tuple(checks.items(data["choices"], (*place, "choices")))
        if len(choices) < 2:
            raise SpecError((*place, "choices"), problem("two_choices", n=len(choices)))
        return Lever(name, path, choices)
    checks.mapping(data, place, LEVER_KEYS, ["least", "most"])
    least = checks.integer(data["least"], (*place, "least"))
    return Lever(name, path, (), least, checks.integer(data["most"], (*place, "most"), least))


def _path(of: str, owner: str, what: str, key: str, place: Place) -> tuple[str, ...]:
    if of == "cluster":
        part = checks.choice(owner, (*place, of), PARTS_OF_CLUSTER)
        return ("cluster", key) if part == "keys" else ("cluster", part, key)
    if what == "key":
        return (f"{of}s", owner, key)
    return (f"{of}s", owner, "configs" if of == "topic" else "settings", key)


# -- attempts -------------------------------------------------------------------------------
def checked(attempt: Any, levers: Levers, place: Place = ()) -> Attempt:
    """The attempt with its values as the scenario takes them; raises SpecError where it does what it may not."""
    data = checks.mapping(attempt, place, ATTEMPT_KEYS)
    found: Attempt = {}
    values = checks.mapping(data.get("set"), (*place, "set"), levers.sets)
    if values:
        found["set"] = {name: levers.sets[name].value(one, (*place, "set", name)) for name, one in values.items()}
    at = (*place, "steps")
    steps = checks.items(data.get("steps"), at)
    checks.limits(len(steps), at, None, levers.most_steps)
    for index, step in enumerate(steps):
        given = checks.mapping(step, (*at, index))
        checks.choice(given.get("do"), (*at, index, "do"), levers.commands)
    if steps:
        found["steps"] = [dict(step) for step in steps]
    return found


def document(start: Document, attempt: Attempt, levers: Levers) -> Document:
    """The scenario that a checked attempt makes of the start."""
    found = start
    for name, value in (attempt.get("set") or {}).items():
        found = _with(found, levers.sets[name].path, value)
    steps = list(start.get("steps") or [])
    where = len(steps) if levers.before is None else min(levers.before, len(steps))
    own = attempt.get("steps") or []
    if not own:
        return found
    found = {**found, "steps": [*steps[:where], *own, *steps[where:]]}
    moment = start.get("moment") or {}
    if moment.get("step", -1) >= where:  # it is counted from the same step as in the start
        found["moment"] = {**moment, "step": moment["step"] + len(own)}
    return found


def _with(whole: Document, path: tuple[str, ...], value: Any) -> Document:
    change: Any = value
    if path[0] == "cluster":
        for key in reversed(path[1:]):
            change = {key: change}
    else:
        for key in reversed(path[2:]):
            change = {key: change}
        change = [{"name": path[1], **change}]
    merged: Document = variants.merged(whole, {path[0]: change})
    return merged


def value_in(whole: Document, path: tuple[str, ...]) -> Any:
    """What stands there; None when nothing does."""
    found: Any = whole
    for part in path:
        if isinstance(found, list):
            found = next((one for one in found if one.get("name") == part), None)
        else:
            found = found.get(part) if isinstance(found, dict) else None
    return found


def attempt_in(start: Document, given: Document, levers: Levers) -> Attempt | None:
    """The attempt that makes this scenario of the start; None when no attempt does."""
    own = list(start.get("steps") or [])
    where = len(own) if levers.before is None else min(levers.before, len(own))
    steps = list(given.get("steps") or [])
    found: Attempt = {}
    moved = {name: value for name, lever in levers.sets.items()
             if (value := lever.standing(given)) != lever.standing(start)}  # fmt: skip
    if moved:
        found["set"] = moved
    more = len(steps) - len(own)
    if more > 0:
        found["steps"] = steps[where : where + more]
    try:
        found = checked(found, levers)
    except SpecError:
        return None
    return found if document(start, found, levers) == given else None
