"""A Spark session around one command: trouble becomes one line; Ctrl-C ends it, and the command says what it has."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from broker_core.kernel.problems import problem
from cli.errors import CommandError, of_option

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")
PATIENCE_S = 10.0


class _Work(Generic[T]):
    """Work on a thread of its own: an exception out of a signal handler that hits the main thread inside py4j breaks
    the connection to the virtual machine."""

    def __init__(self, name: str, master: str | None, work: Callable[[SparkSession], T], long: bool) -> None:
        self.spark: Any = None
        self.result: T | None = None
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self._do, args=(name, master, work, long), name="spark", daemon=True)

    def _do(self, name: str, master: str | None, work: Callable[[SparkSession], T], long: bool) -> None:
        from lab.analytics import session
        from lab.analytics.errors import AnalyticsError, one_line

        try:
            self.spark = session.start(name, master, memory=session.plenty() if long else "1g")
            self.result = work(self.spark)
        except (CommandError, BrokenPipeError) as error:
            self.error = error
        except Exception as error:
            self.error = CommandError(
                of_option(error) if isinstance(error, AnalyticsError) else problem("failed_with", why=one_line(error)),
                2 if isinstance(error, AnalyticsError) else 1,
            )


def with_session(name: str, master: str | None, work: Callable[[SparkSession], T], *, long: bool = False) -> T:
    """What `work` gives; the session ends with it. `long`: there is much to read, so it gets more memory. Raises
    CommandError for whatever goes wrong inside, and KeyboardInterrupt when everything has ended."""
    from lab.analytics import session

    inside = _Work(name, master, work, long)
    inside.thread.start()
    try:
        inside.thread.join()
    except KeyboardInterrupt:
        if inside.spark is not None:
            with suppress(Exception):
                inside.spark.stop()  # what the thread waits for ends with an error
            inside.thread.join(PATIENCE_S)
        raise
    finally:
        if inside.spark is not None:
            with suppress(Exception):
                session.stop(inside.spark)
    if inside.error is not None:
        raise inside.error
    return inside.result  # type: ignore[return-value]
