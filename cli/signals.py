"""SIGINT and SIGTERM while a lab starts: noted at once, obeyed where it is safe.

An exception out of a signal handler may come in the middle of an import or of a callback that swallows it. So the
handler only notes the wish; waiting for something (`waiting`) ends with `Stop`, and `check` asks in between. While
uvicorn serves, the signals are its own.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

NUMBERS = (signal.SIGINT, signal.SIGTERM)


class Stop(BaseException):
    """The user wants it to end."""


class Signals:
    """What the user wants."""

    def __init__(self) -> None:
        self.wanted = False
        self.when_wanted: Callable[[], None] | None = None
        self._waiting = False

    def install(self) -> None:
        """From now on signals are noted."""
        for number in NUMBERS:
            signal.signal(number, self._take)

    def ignore(self) -> None:
        """It ends already."""
        for number in NUMBERS:
            signal.signal(number, signal.SIG_IGN)

    def let_through(self) -> None:
        """The next one ends the process at once, whatever it is doing."""
        for number in NUMBERS:
            signal.signal(number, signal.SIG_DFL)

    def _take(self, _number: int, _frame: FrameType | None) -> None:
        self.wanted = True
        if self.when_wanted is not None:
            self.when_wanted()
        if self._waiting:
            self._waiting = False
            raise Stop

    def check(self) -> None:
        """Raises Stop when a signal has come."""
        if self.wanted:
            raise Stop

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Inside, a signal raises Stop at once."""
        self._waiting = True
        try:
            self.check()
            yield
        finally:
            self._waiting = False
        self.check()
