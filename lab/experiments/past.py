"""The first part of a fork's files: the bytes of the run that it goes on from, copied while it is at work already.

    parent   journal.jsonl  |=====================|----->              its own thread of the lab writes on
    fork     journal.jsonl  |  copied, later      |----->              its rows stand at their place at once
                            0                     past

A fork from a snapshot is there in a moment, and the journal of an hour has gigabytes. Until the copy is whole, who
reads the past reads the parent's file, which has the same bytes at the same places. A mark in the directory (`MARK`)
says that it is not whole yet: a process that ends before leaves a run that cannot be verified, and says so.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

MARK = "copying"
STEP = 4 * 1024 * 1024
Lines = Callable[[int], Iterator[bytes]]


class Past:
    """`sizes`: how many bytes of each file come from the directory `source`, which may still be copied itself."""

    def __init__(self, source: Path, sizes: dict[str, int], lines: Lines, before: Past | None = None) -> None:
        self.source = source
        self.sizes = sizes
        self.lines = lines
        self.before = before
        self.whole = threading.Event()
        self.broken: str | None = None
        self._unwanted = False

    def __getstate__(self) -> dict[str, Any]:
        """Of one that is in place."""
        return {**self.__dict__, "whole": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.whole = threading.Event()
        self.whole.set()

    def begin(self, target: Path) -> None:
        """Copy into files that are there already, on a thread of its own."""
        (target / MARK).touch()
        threading.Thread(target=self._copy, args=(target,), name="past").start()

    @property
    def in_place(self) -> bool:
        """Whether the files have it by now."""
        return self.whole.is_set() and self.broken is None

    def stop(self) -> None:
        """Nobody wants it any more."""
        self._unwanted = True

    def wait(self, seconds: float | None = None) -> bool:
        """Until it is whole, or never will be."""
        return self.whole.wait(seconds)

    def _copy(self, target: Path) -> None:
        try:
            if self.before is not None:
                self.before.wait()
            for name, size in self.sizes.items():
                with open(self.source / name, "rb") as given, open(target / name, "r+b") as taken:
                    self._range(given.fileno(), taken.fileno(), size)
            if not self._unwanted:
                (target / MARK).unlink()
        except OSError as error:
            self.broken = error.strerror or str(error)
        self.whole.set()

    def _range(self, given: int, taken: int, size: int) -> None:
        """Where the file system can, the two files share these bytes; either way no other thread has to wait."""
        at = 0
        while at < size and not self._unwanted:
            try:
                count = os.copy_file_range(given, taken, min(STEP, size - at), at, at)
            except (AttributeError, OSError):
                count = os.pwrite(taken, os.pread(given, min(STEP, size - at), at), at)
            if not count:
                raise OSError(5, "the run that this one goes on from has become shorter")
            at += count
