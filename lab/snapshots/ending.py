"""The last snapshot of a run that was made for a page (`lab.endings`), with what was seen of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lab.seen import Remembered
from lab.snapshots.course import Course
from lab.snapshots.keeper import KEY
from lab.snapshots.maker import DIRECTORY
from lab.snapshots.shelf import Head, Shelf


@dataclass(slots=True)
class Ending(Course):
    """A course at its end."""

    seen: Remembered


def ending_of(path: Path) -> tuple[Head, Ending] | None:
    """What a run has left for this process; None when it has to be executed again."""
    shelf = Shelf(path / DIRECTORY, KEY)
    head = shelf.last()
    found = shelf.take(head) if head is not None else None
    return (head, found[0]) if head is not None and found is not None and isinstance(found[0], Ending) else None
