"""What goes wrong on the way to an answer, told in one line."""

from __future__ import annotations

import re

LONGEST = 500
_CALLING = "An error occurred while calling"
_PYTHON = re.compile(r"[\w.]+(Error|Exception|Exit|Interrupt)\b")
_JAVA = re.compile(r"^: *(?:[\w$]+\.)+([\w$]+):? ?")


class AnalyticsError(Exception):
    """Expected trouble: no Java, no PySpark, a directory that holds no run, an unknown query."""


def one_line(error: BaseException) -> str:
    """What was wrong, for a person: a Java error without its stack, of a traceback out of Spark's Python processes the
    end. Ask while the session stands: a Java error fetches its text from the virtual machine."""
    if isinstance(error, AnalyticsError):
        return str(error)
    try:
        text = str(error)
    except Exception:  # the virtual machine is gone, and the text with it
        text = ""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith(_CALLING)]
    reasons = [line for line in lines if _PYTHON.match(line)]
    traced = any(line.startswith("Traceback") for line in lines)
    told = (reasons[-1] if traced and reasons else lines[0] if lines else "").strip()
    name = type(error).__name__
    if java := _JAVA.match(told):
        name, told = java[1], told[java.end() :]
    return f"{name}: {told}"[:LONGEST] if told else name
