"""Exercises from files: each is checked whole, its solution and its wrong attempt, too."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from broker_core.kernel.errors import what_of
from broker_core.kernel.problems import problem
from lab.clusters import checks
from lab.clusters.checks import Place, SpecError
from lab.exercises import levers
from lab.exercises.levers import Attempt, Document, Levers
from lab.scenarios import grammar, variants
from lab.scenarios.lesson import LESSON_KEYS
from lab.scenarios.predictions import LANGUAGES, texts
from lab.scenarios.reading import ScenarioError, line_of, read
from lab.scenarios.subjects import SUBJECTS

HOME = Path(__file__).parent / "tasks"
MOST_SEEDS = 50
MOST_POINTS = 1000
KEYS = (
    "exercise", "title", "task", "subject", "teaches", "lesson", "start", "levers", "goals", "moment", "seeds",
    "points", "tries", "hints", "solution", "wrong", "why",
)  # fmt: skip
REQUIRED = ("title", "task", "levers", "goals", "solution", "wrong")
NOT_IN_START = ("scenario", "title", "text", "subject", "teaches", "expect", "variants", "variant", "generations")
OF_A_LESSON = (*NOT_IN_START, *LESSON_KEYS)
ATTEMPT_IN_FILE = (*levers.ATTEMPT_KEYS, "why")


@dataclass(slots=True, frozen=True)
class Hint:
    """A help, and what it takes off the points."""

    text: dict[str, str]
    price: int


@dataclass(slots=True)
class Exercise:
    """A checked exercise; `start` is a scenario whose expectations are the goals, `document` what it was read from."""

    name: str
    document: Document
    start: Document
    levers: Levers
    title: dict[str, str]
    task: dict[str, str]
    solution: Attempt
    wrong: Attempt
    subject: str = ""
    teaches: list[str] = field(default_factory=list)
    lesson: str = ""
    seeds: list[int] = field(default_factory=list)
    points: int = 10
    tries: int | None = None
    hints: list[Hint] = field(default_factory=list)
    why: dict[str, str] = field(default_factory=dict)
    why_wrong: dict[str, str] = field(default_factory=dict)

    @property
    def goals(self) -> dict[str, Any]:
        """As the file has them: key -> what is wanted."""
        goals: dict[str, Any] = self.start["expect"]
        return goals

    def begins(self) -> grammar.Scenario:
        """The start with nothing moved."""
        return grammar.from_dict(self.start, self.name)

    def scenario(self, attempt: Attempt, seed: int) -> grammar.Scenario:
        """What an attempt is run as. Raises SpecError where the attempt cannot be."""
        given = levers.checked(attempt, self.levers)
        found = levers.document(self.start, given, self.levers)
        return grammar.from_dict({**found, "seed": seed}, self.name)


# -- files ----------------------------------------------------------------------------------
def names() -> list[str]:
    """Exercises that come with the lab."""
    return sorted(path.stem for path in HOME.glob("*.yaml"))


def load(name_or_path: str) -> Exercise:
    """By file, or by name. Raises ScenarioError with file, line and place."""
    path = Path(name_or_path)
    own = HOME / f"{name_or_path}.yaml"
    if not path.is_file():
        if not (own.is_file() and own.parent == HOME):
            raise ScenarioError(
                name_or_path, 0, "", problem("no_file", expected=checks.expected(name_or_path, names()))
            )
        path = own
    try:
        source = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ScenarioError(path.name, 1, "", what_of(error)) from None
    return parse(source, path.name)


def parse(source: str, file: str) -> Exercise:
    """Check the text of an exercise; raises ScenarioError."""
    tree, document = read(source, file)
    try:
        return from_dict(document, Path(file).stem)
    except SpecError as error:
        raise ScenarioError(file, line_of(tree, error.place), error.where, error.problem) from None


def read_attempt(source: str, file: str) -> Any:
    """The plain data of an attempt's file; raises ScenarioError."""
    return read(source, file)[1]


# -- the document ---------------------------------------------------------------------------
def from_dict(document: Any, default_name: str = "exercise") -> Exercise:
    """Check a plain document; raises SpecError."""
    data = checks.mapping(document, (), KEYS, REQUIRED)
    name = checks.text(data["exercise"], ("exercise",)) if "exercise" in data else default_name
    title, task = _told(data["title"], ("title",)), _told(data["task"], ("task",))
    data = {**data, "title": title}
    moved = levers.read_levers(data["levers"], ("levers",))
    found = Exercise(name, data, _start(data, name, title), moved, title, task, {}, {})
    _check(found.begins, ("start",))
    if "subject" in data:
        found.subject = checks.choice(data["subject"], ("subject",), SUBJECTS)
    found.teaches = [
        checks.text(row, ("teaches", n)) for n, row in enumerate(checks.items(data.get("teaches"), ("teaches",)))
    ]
    found.lesson = data.get("lesson", "")
    found.seeds = _seeds(data.get("seeds"), found.start)
    found.points = checks.integer(data.get("points", 10), ("points",), 1, MOST_POINTS)
    if data.get("tries") is not None:
        found.tries = checks.integer(data["tries"], ("tries",), 1)
    found.hints = [_hint(one, ("hints", n)) for n, one in enumerate(checks.items(data.get("hints"), ("hints",)))]
    found.why = _in_all(texts(data.get("why"), ("why",)))
    found.solution, _ = _attempt(found, "solution")
    found.wrong, found.why_wrong = _attempt(found, "wrong")
    return found


def _told(value: Any, place: Place) -> dict[str, str]:
    """A text that there has to be, in one language at least."""
    if not (given := texts(value, place)):
        checks.mapping(value, place, LANGUAGES, LANGUAGES[:1])
    return _in_all(given)


def _in_all(given: dict[str, str]) -> dict[str, str]:
    """A teacher writes in the language of his class: what stands in one language alone is shown in the other, too."""
    return {language: given.get(language, next(iter(given.values()))) for language in LANGUAGES if given}


def _start(data: dict[str, Any], name: str, title: dict[str, str]) -> Document:
    """The scenario that an attempt begins with. Without a moment of its own it has that of its lesson, as long as its
    steps are the lesson's, too."""
    base: Document = {}
    moment = data.get("moment")
    if "lesson" in data:
        lesson = checks.choice(data["lesson"], ("lesson",), grammar.names())
        whole = grammar.load(lesson).document
        base = {key: one for key, one in whole.items() if key not in OF_A_LESSON}
        if moment is None and "steps" not in (data.get("start") or {}):
            moment = whole.get("moment")
    known = [key for key in grammar.KEYS if key not in OF_A_LESSON]
    own = checks.mapping(data.get("start"), ("start",), known)
    goals = checks.mapping(data["goals"], ("goals",))
    if not goals:
        raise SpecError(("goals",), problem("no_goals"))
    found = {"scenario": name, "title": title, **variants.merged(base, own), "expect": goals}
    return found if moment is None else {**found, "moment": moment}


def _seeds(value: Any, start: Document) -> list[int]:
    """`[first, last]`, both of them included."""
    if value is None:
        return [checks.integer(start.get("seed", 1), ("start", "seed"), 0)]
    given = checks.items(value, ("seeds",))
    if len(given) != 2:
        raise SpecError(("seeds",), problem("two_seeds"))
    first = checks.integer(given[0], ("seeds", 0), 0)
    last = checks.integer(given[1], ("seeds", 1), first, first + MOST_SEEDS - 1)
    return list(range(first, last + 1))


def _hint(value: Any, place: Place) -> Hint:
    data = checks.mapping(value, place, ["text", "price"], ["text"])
    return Hint(_told(data["text"], (*place, "text")), checks.integer(data.get("price", 0), (*place, "price"), 0))


def _attempt(exercise: Exercise, key: str) -> tuple[Attempt, dict[str, str]]:
    data = checks.mapping(exercise.document[key], (key,), ATTEMPT_IN_FILE)
    given = {name: one for name, one in data.items() if name != "why"}
    found = levers.checked(given, exercise.levers, (key,))
    _check(lambda: exercise.scenario(found, exercise.seeds[0]), (key,))
    return found, _in_all(texts(data.get("why"), (key, "why")))


def _check(work: Any, place: Place) -> None:
    """Errors of the scenario grammar stand where the exercise has it."""
    try:
        work()
    except SpecError as error:
        inner = error.place
        at = {("expect",): ("goals", *inner[1:]), ("moment",): inner}.get(inner[:1], (*place, *inner))
        raise SpecError(at, error.problem) from None
