"""The process that makes snapshots: `python -P -m lab.snapshots.maker`.

It takes the last snapshot on the shelf, executes the recorded inputs from there to a moment that the lab has passed
already, and puts a snapshot on the shelf for each stretch that took it `distance_s` of its processor. Then it ends. So
snapshots lie close together where much happens, and an idle lab costs nothing.

One line of JSON comes in on standard input, lines go out on standard output:

```
in   {"path": DIR, "key": hex, "version": hash, "until_us": 5200000, "limit": bytes}
out  {"seq": 52311, "t_us": 5100000, "events_a_second": 31000}      a snapshot is there
     {"error": "the journal differs ..."}                           no more of this run
     {"done": 51200}                                                up to here this run has been executed
```
The end of standard input ends it: nobody waits for it any more.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from broker_core.kernel.errors import KernelError
from lab import heap
from lab.experiments.directory import INPUTS, JOURNAL, OPERATIONS, DirectoryError
from lab.experiments.anew import execute_again
from lab.reexecution import Nobody, Reexecution
from lab.snapshots.bulk import Bulk
from lab.snapshots.course import Course, Courses
from lab.snapshots.shelf import LIMIT, Head, Shelf, version

DIRECTORY = "snapshots"
DISTANCE_S = 0.5
SLICE_S = 0.05
NICENESS = 10


class Differs(Exception):
    """What was executed is not what was recorded, or was not recorded to the end."""


class _Same:
    """Takes lines as they are made and holds them against a recorded file."""

    def __init__(self, path: Path, start: int) -> None:
        self.file: BinaryIO = open(path, "rb")
        self.file.seek(start)
        self.position = start
        self.differs = False

    def take(self, lines: bytes) -> None:
        """A world survives what fails in it, so nothing is raised here."""
        self.position += len(lines)
        self.differs = self.differs or self.file.read(len(lines)) != lines

    def check(self) -> None:
        """Raises Differs."""
        if self.differs:
            raise Differs(f"{self.file.name} is another one before byte {self.position}")


class Maker:
    """Executes one run again, from its last snapshot on."""

    def __init__(self, path: Path, shelf: Shelf) -> None:
        self.path = path
        self.shelf = shelf
        head, found = shelf.last(), None
        if head is not None:
            found = shelf.take(head)
        if head is None or found is None:
            head = Head(0, 0, 0, 0, 0, version(), 0)
            course, courses = Course.begin(execute_again(path)), Courses(Bulk(shelf.directory))
        else:
            course, courses = found
        self.course: Course = course
        self.courses: Courses = courses
        world = self.world = course.world
        world.operations.keep = False
        self._last = head
        self._journal = _Same(path / JOURNAL, head.journal)
        self._operations = _Same(path / OPERATIONS, head.operations)
        world.journal.sink, world.operations.sink = self._journal.take, self._operations.take
        self._start = head.inputs

    def run(self, until_us: int, distance_s: float = DISTANCE_S) -> list[Head]:
        """Go on up to a time; the snapshots that were made. Raises Differs."""
        return list(self.snapshots(until_us, distance_s))

    def snapshots(self, until_us: int, distance_s: float) -> Iterator[Head]:
        """The snapshots on the way to a time, as they are made."""
        if until_us <= self.world.now_us:
            return
        work = Reexecution(self.world, self.path / INPUTS, Nobody(), target_us=until_us,
                           look=self.course.figures.look, start=self._start)  # fmt: skip
        began, done = time.process_time(), False
        while not done and not self.shelf.full:
            done = work.advance(min(SLICE_S, distance_s))
            spent = time.process_time() - began
            if (spent >= distance_s or done) and self.world.seq > self._last.seq:
                yield self._put(work.position, spent)
                began = time.process_time()

    def _put(self, inputs: int, spent_s: float) -> Head:
        world, last = self.world, self._last
        world.journal.flush()
        self._journal.check()
        self._operations.check()
        speed = int((world.seq - last.seq) / max(spent_s, 0.001)) or 1
        journal, operations = self._journal.position, self._operations.position
        head = Head(world.seq, world.now_us, journal, operations, inputs, version(), 0, speed)
        self._last = self.shelf.put(self.course, self.courses, head)
        self._start = inputs
        return self._last


# -- the process ----------------------------------------------------------------------------
def _say(**line: Any) -> None:
    sys.stdout.buffer.write(orjson.dumps(line) + b"\n")
    sys.stdout.buffer.flush()


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(3)


def main() -> None:
    """Read the order, do it, end."""
    order = orjson.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with contextlib.suppress(OSError):
        os.nice(NICENESS)
    if order["version"] != version():
        _say(error="this is another version of the program")
        os._exit(1)
    path = Path(order["path"])
    shelf = Shelf(path / DIRECTORY, bytes.fromhex(order["key"]), order.get("limit", LIMIT))
    try:
        maker = Maker(path, shelf)
        heap.settle()
        for head in maker.snapshots(order["until_us"], order.get("distance_s", DISTANCE_S)):
            _say(seq=head.seq, t_us=head.t_us, events_a_second=head.events_a_second)
        _say(done=maker.world.seq, full=shelf.full)
    except (Differs, KernelError, DirectoryError, OSError) as error:
        _say(error=str(error))
    os._exit(0)


if __name__ == "__main__":
    main()
