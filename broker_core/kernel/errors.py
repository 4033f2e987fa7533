"""Errors of the world itself. Protocol errors live in `wire.errors`."""

from __future__ import annotations

from typing import Any

from broker_core.kernel.problems import Problem, problem, told


class Refusal(Exception):
    """Something is wrong or cannot be done: `problem` says what, `place` which key of what was given.

    As text it is the English sentence, for terminals and logs; who shows it to somebody tells the problem itself.
    """

    def __init__(self, what: Problem, place: Any = "") -> None:
        super().__init__(what, place)
        self.problem = what
        self.place = place

    @property
    def where(self) -> str:
        """The place as text."""
        return str(self.place or "")

    @property
    def reason(self) -> str:
        """The English sentence."""
        return told(self.problem)

    def __str__(self) -> str:
        return self.reason


def what_of(error: Exception) -> Problem:
    """The problem of an error with its place; what a system or a library says stands in its own words."""
    if isinstance(error, Refusal):
        return problem("wrong_in", place=error.where, what=error.problem) if error.where else error.problem
    return problem("failed_with", why=getattr(error, "strerror", None) or str(error))


class KernelError(Refusal):
    """The world was used against its rules, or it runs in circles."""


class StorageError(OSError):
    """A disk said no: full, I/O error, gone. `path` and `operation` say where and at what."""

    def __init__(self, path: str, operation: str, reason: str) -> None:
        super().__init__(f"{operation} {path}: {reason}")
        self.path = path
        self.operation = operation
        self.reason = reason

    def __reduce__(self) -> tuple[type[StorageError], tuple[str, str, str]]:
        return type(self), (self.path, self.operation, self.reason)


class CommandError(Refusal):
    """A command that cannot be carried out; `place` names the key that is wrong."""
