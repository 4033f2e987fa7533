"""What goes wrong on the way to an answer: a problem, and its one line.

Tables keep what is wrong as text (`error`): the JSON of the problem, `{"code": ..., "params": {...}}`, in which SQL
finds the code (`get_json_object(error, '$.code')`) and a report its sentence in each language.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from errno import ENOSPC
from typing import Any

import orjson

from broker_core.kernel.errors import Refusal, what_of
from broker_core.kernel.problems import Problem, problem, told

LONGEST = 500
_CALLING = "An error occurred while calling"
_PYTHON = re.compile(r"[\w.]+(Error|Exception|Exit|Interrupt)\b")
_JAVA = re.compile(r"^: *(?:[\w$]+\.)+([\w$]+):? ?")


class AnalyticsError(Refusal):
    """Expected trouble: no Java, no PySpark, a directory that holds no run, an unknown query. `place`: an option."""

    def __str__(self) -> str:
        return f"{self.place} {self.reason}" if self.place else self.reason


@contextmanager
def told_plainly() -> Iterator[None]:
    """Inside a data source, while Spark asks what there is to read: a wrong directory or option is one line, without
    the way through Spark's process to it. That process ends with the error, and what is set here with it."""
    try:
        yield
    except (AnalyticsError, ValueError):
        os.environ["SPARK_HIDE_TRACEBACK"] = "1"
        raise


def kept(what: Problem) -> str:
    """A problem as the text of a column."""
    return orjson.dumps(what).decode()


def read(text: Any) -> Problem | None:
    """The problem of such a text; None for anything else."""
    return orjson.loads(text) if isinstance(text, str) and text.startswith('{"code":') else None


def trouble(error: BaseException) -> Problem:
    """What was wrong: a Java error without its stack, of a traceback out of Spark's Python processes the end. Ask while
    the session stands: a Java error fetches its text from the virtual machine."""
    if isinstance(error, AnalyticsError):
        return problem("of_option", name=error.where, what=error.problem) if error.where else error.problem
    if isinstance(error, Refusal):
        return what_of(error)
    if isinstance(error, MemoryError):
        return problem("no_memory")
    if isinstance(error, OSError) and error.errno == ENOSPC:
        return problem("no_space")
    return problem("foreign", words=_words(error))


def one_line(error: BaseException) -> str:
    """The same in English, for a terminal."""
    return told(trouble(error))


def _words(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:  # the virtual machine is gone, and the text with it
        text = ""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith(_CALLING)]
    reasons = [line for line in lines if _PYTHON.match(line)]
    traced = any(line.startswith("Traceback") for line in lines)
    said = (reasons[-1] if traced and reasons else lines[0] if lines else "").strip()
    name = type(error).__name__
    if java := _JAVA.match(said):
        name, said = java[1], said[java.end() :]
    return f"{name}: {said}"[:LONGEST] if said else name
