"""Follow the teacher: what a teacher looks at, told to the pages of his class.

It is kept in memory: a page that leads tells again whatever changes, so a server that was started anew knows it a
moment later. A lead that nobody has renewed for a while has ended: its page was closed.
"""

from __future__ import annotations

import time
from typing import Any

from web.people.changes import changes

RENEWED_S = 20.0
Look = dict[str, Any]
"""`{"lab", "run", "lesson", "t_us", "playing", "speed"}`: `run` and `t_us` are None at the present of the live run."""

_leads: dict[str, tuple[float, Look]] = {}


def key_of(code: str) -> str:
    """Under which students wait for news."""
    return f"{code}/lead"


def lead(code: str, look: Look) -> None:
    """The class is to look at this."""
    before = _leads.get(code)
    _leads[code] = time.monotonic(), look
    if before is None or before[1] != look:
        changes.told(key_of(code))


def end(code: str) -> None:
    """Everybody looks where he likes."""
    if _leads.pop(code, None) is not None:
        changes.told(key_of(code))


def look_of(code: str) -> Look | None:
    """What the class is to look at; None when nobody leads."""
    found = _leads.get(code)
    if found is None:
        return None
    if time.monotonic() - found[0] > RENEWED_S:
        end(code)
        return None
    return found[1]
