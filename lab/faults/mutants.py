"""Mutants: our own code, broken in one place, and the check that has to notice. What no mutant tests is only believed.

    Mutant("fence-no-zombie", "broker_core.replication.leadership:Leadership._check",
           "request.controller_epoch < self.controller_epoch", "False", "NewestControllerObeyed", 40)

`applied(mutant)` puts the replacement into the function's own source and gives the function the new code, in this
process only: whoever holds the function has it. A piece that does not stand there exactly once is an error, so that
a mutant cannot go stale unseen. `hunt` runs swarm seeds until what is expected to notice has noticed.

| what may notice | |
|---|---|
| a name of `invariants.INVARIANTS` | its light is red |
| receipt | acked records are lost, or were not what was written |
| rest | the cluster does not come to rest, or a client never ends |
| fault | a call of the world fails, a run breaks off |
"""

from __future__ import annotations

import __future__

import ast
import importlib
import inspect
import logging
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from broker_core.kernel.problems import Problem, told
from lab.checkers.invariants import described
from lab.experiments.driven import RunError
from lab.faults.swarm import ZOOKEEPER, Enough, run_swarm

LOGGERS = ("brokerlab.world", "brokerlab.broker")
RECEIPT, REST, FAULT = "receipt", "rest", "fault"


@dataclass(frozen=True)
class Mutant:
    """`piece` of the function at `place` (module:name) becomes `instead`; `by` notices within `seeds` swarm
    seeds of this generation."""

    name: str
    place: str
    piece: str
    instead: str
    by: str
    seeds: int
    generation: str = ZOOKEEPER

    @property
    def room(self) -> str:
        """The package of broker_core that it breaks."""
        return self.place.split(".")[1]


class StaleMutant(Exception):
    """The code is not what the mutant was made for."""


def function_of(place: str) -> FunctionType:
    """The function itself, below properties and decorators."""
    module, _, path = place.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for name in path.split("."):
            found = inspect.getattr_static(found, name)
    except (ImportError, AttributeError) as error:
        raise StaleMutant(f"{place}: {error}") from error
    found = getattr(found, "fget", None) or getattr(found, "__func__", None) or found
    function: FunctionType = inspect.unwrap(found)
    return function


def mutated(mutant: Mutant) -> CodeType:
    """The code of the function with the replacement. Raises StaleMutant."""
    function = function_of(mutant.place)
    source = textwrap.dedent(inspect.getsource(function))
    if source.count(mutant.piece) != 1:
        times = source.count(mutant.piece)
        raise StaleMutant(f"{mutant.name}: {mutant.piece!r} stands {times} times in {mutant.place}")
    tree = ast.parse(source.replace(mutant.piece, mutant.instead))
    definition = tree.body[0]
    assert isinstance(definition, ast.FunctionDef)
    definition.decorator_list = []
    made: dict[str, Any] = {}
    file = inspect.getsourcefile(function) or mutant.place
    exec(compile(tree, file, "exec", flags=__future__.annotations.compiler_flag), dict(function.__globals__), made)
    code: CodeType = made[definition.name].__code__
    if code.co_freevars != function.__code__.co_freevars:
        raise StaleMutant(f"{mutant.name}: {mutant.place} is a closure")
    return code


@contextmanager
def applied(mutant: Mutant) -> Iterator[None]:
    """Our code is broken while the block runs."""
    code, function = mutated(mutant), function_of(mutant.place)
    whole, function.__code__ = function.__code__, code
    try:
        yield
    finally:
        function.__code__ = whole


class _Faults(logging.Handler):
    """Calls that failed are told in a log, and the world goes on."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.count += record.exc_info is not None


def noticed(seed: int, generation: str = ZOOKEEPER, until: str = "") -> dict[str, str]:
    """Who notices something in a swarm run: name -> what it says. The run ends when `until`, an invariant, does not
    hold."""
    faults = _Faults()
    loggers = [logging.getLogger(name) for name in LOGGERS]
    before = [(one.propagate, list(one.handlers)) for one in loggers]
    for one in loggers:
        one.handlers, one.propagate = [faults], False
    try:
        with tempfile.TemporaryDirectory(prefix="brokerlab-mutant-") as home:
            unmet = run_swarm(seed, Path(home) / "run", generation=generation, until=until).unmet
    except Enough:
        return {until: "does not hold"}
    except RunError as error:
        return {REST: str(error)}
    except Exception as error:  # whatever a broken program breaks
        return {FAULT: f"{type(error).__name__}: {error}"}
    finally:
        for one, (propagate, handlers) in zip(loggers, before, strict=True):
            one.propagate, one.handlers = propagate, handlers
    found = {_who(one): told(one) for one in reversed(unmet)}
    return found | ({FAULT: f"{faults.count} calls have failed"} if faults.count else {})


def _who(unmet: Problem) -> str:
    if unmet["code"] == "invariant_broken":
        return str(unmet["params"]["name"])
    return RECEIPT if str(unmet["params"].get("key", "")).startswith("receipt.") else REST


def hunt(mutant: Mutant, first: int = 1, seen: Callable[[int, dict[str, str]], None] | None = None) -> int | None:
    """The number of seeds after which it was noticed by whom it must; None: it has survived them all."""
    assert mutant.by in (*described(), RECEIPT, REST, FAULT), mutant
    with applied(mutant):
        for number in range(mutant.seeds):
            found = noticed(first + number, mutant.generation, mutant.by if mutant.by in described() else "")
            if seen is not None:
                seen(first + number, found)
            if mutant.by in found:
                return number + 1
    return None
