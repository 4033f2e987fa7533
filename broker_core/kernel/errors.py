"""Errors of the world itself. Protocol errors live in `wire.errors`."""

from __future__ import annotations


class KernelError(Exception):
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


class CommandError(Exception):
    """A command that cannot be carried out; `place` names the key that is wrong."""

    def __init__(self, reason: str, place: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.place = place
