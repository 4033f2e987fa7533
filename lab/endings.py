"""How a run leaves its end, so that whoever opens it need not execute it again.

A scenario is carried out in a process of its own, and its run is then opened on a page. So with a key the execution is
looked on as a page would (`seen`), and its world is put on the run's shelf (`snapshots.shelf`) when all is read back:

    execution   |---- keyframes, figures, the story ----| world       its process ends
    the page                                            |---- goes on from there

Whoever has no such snapshot, of another life of the lab or of another version, executes the run again (`beginnings`).
"""

from __future__ import annotations

import contextlib

from lab.clusters.build import StorageFactory
from lab.experiments.directory import INPUTS, OPERATIONS, RunDirectory
from lab.experiments.run import Execution
from lab.figures import Figures
from lab.reexecution import LEAP_US
from lab.scenarios.grammar import Scenario
from lab.seen import PAUSED, Seen
from lab.snapshots.bulk import Bulk
from lab.snapshots.course import Course, Courses
from lab.snapshots.ending import Ending
from lab.snapshots.maker import DIRECTORY
from lab.snapshots.shelf import Head, Shelf, version


class Shown(Execution):
    """The execution of a run that will be opened by whoever knows the key."""

    def __init__(
        self, scenario: Scenario, files: RunDirectory, live: bool, storage_factory: StorageFactory, key: bytes
    ) -> None:
        super().__init__(scenario, files, live, storage_factory)
        self.course = Course(self.world, self.monitor, Figures(self.world))
        self.seen = Seen(self.world, self.spec, files, self.course, lambda: PAUSED)
        self._shelf = Shelf(files.path / DIRECTORY, key)

    def _form(self) -> None:
        self.seen.keep_keyframe()  # viewers can go back to the very beginning
        super()._form()

    def _run_until(self, time_us: int) -> None:
        while self.world.now_us + LEAP_US < time_us:  # to ask what is due next would take cancelled calls away
            super()._run_until(self.world.now_us + LEAP_US)
            self._look()
        super()._run_until(time_us)
        self._look()

    def _look(self) -> None:
        self.seen.look()
        self.seen.keep_keyframe()

    def _read_back(self) -> None:
        super()._read_back()
        with contextlib.suppress(OSError):  # the run is no worse without
            self._leave()

    def _leave(self) -> None:
        """Onto the shelf, without the history of operations, which stands in its file."""
        world, files = self.world, self.files
        files.flush(world)
        if files.broken is not None:
            return
        operations_size, inputs = ((files.path / name).stat().st_size for name in (OPERATIONS, INPUTS))
        head = Head(world.seq, world.now_us, files.journal_size(), operations_size, inputs, version(), 0)
        self._shelf.directory.mkdir(exist_ok=True)
        operations, rows = world.operations, world.operations.rows
        operations.keep, operations.rows = False, []
        try:
            ending = Ending(world, self.monitor, self.course.figures, self.seen.remembered())
            self._shelf.put(ending, Courses(Bulk(self._shelf.directory)), head)
        finally:
            operations.keep, operations.rows = True, rows
