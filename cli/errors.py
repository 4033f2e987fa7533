"""What goes wrong before or while a command runs, told in one line."""

from __future__ import annotations

INTERRUPTED = 130
"""The exit code of what Ctrl-C has ended: 128 and the number of SIGINT."""


class CommandError(Exception):
    """Ends a command with one line on standard error and an exit code that is not 0."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code
