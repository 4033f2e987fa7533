"""A course of a run as bytes: its world, and those that look on and remember (invariants, figures).

The pickle of a world is small but for what its logs hold and for the long arrays of the invariants. Those are taken out
and kept as pieces (`bulk`):

| in the pickle | stands for |
|---|---|
| `file_at(7)` | file 7 of the table beside it: path, flushed, damaged, pieces, the rest |
| `array_at("q", pieces, rest)` | a long array: whole grains of it, and the rest |

Which pieces a file has already is known by identity: after a snapshot a file *rests on* the mapped pieces, and whatever
truncates, overwrites or grows it afterwards makes other chunks (`MemoryFile`). So nothing has to be told of changes.
"""

from __future__ import annotations

import copyreg
import gc
import hashlib
import io
import pickle
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from broker_core.kernel.storage_memory import MemoryFile
from broker_core.kernel.world import World
from lab.checkers.invariants import InvariantMonitor
from lab.figures import Figures
from lab.snapshots.bulk import GRAIN, Bulk, Piece

FileRow = tuple[str, int, bool, list[Piece], bytes]


@dataclass(slots=True)
class Course:
    """A world and its onlookers."""

    world: World
    monitor: InvariantMonitor
    figures: Figures

    @classmethod
    def begin(cls, world: World) -> Course:
        """Of a world that has done nothing yet."""
        return cls(world, InvariantMonitor(world), Figures(world))

    def watch(self) -> None:
        """After a pickle: everybody listens to the world again."""
        operator: Any = self.world.operator
        operator.past.watch(self.world)
        self.monitor.attach()
        self.figures.attach()


def file_at(number: int) -> MemoryFile:
    """Stands for a file in a pickle; `_Reader` has the table."""
    raise pickle.UnpicklingError("a course is read by Courses.read")


def array_at(code: str, pieces: list[Piece], rest: bytes) -> array[Any]:
    """Stands for a long array in a pickle."""
    raise pickle.UnpicklingError("a course is read by Courses.read")


class Courses:
    """Writes the courses of one run, one after another, or reads them."""

    def __init__(self, bulk: Bulk) -> None:
        self.bulk = bulk
        self._resting: dict[int, tuple[MemoryFile, list[Piece], list[memoryview]]] = {}
        self._arrays: dict[bytes, Piece] = {}

    # -- writing ----------------------------------------------------------------------------
    def write(self, course: Course, number: int) -> tuple[bytes, list[int]]:
        """The bytes of a course, and the numbers of the snapshots whose pieces it needs."""
        self.bulk.begin(number)
        buffer = io.BytesIO()
        writer = _Writer(buffer, self)
        writer.dump(course)
        files = writer.files
        before, self._resting = self._resting, {}
        rows = [self._put(file, before) for file in files]
        self.bulk.end()
        for file in files:
            self._rest(file)
        self._arrays = writer.pieces
        needed = {piece.of for *_, pieces, _ in rows for piece in pieces}
        needed |= {piece.of for piece in self._arrays.values()}
        return pickle.dumps((rows, self._arrays, buffer.getvalue()), pickle.HIGHEST_PROTOCOL), sorted(needed)

    def _put(self, file: MemoryFile, before: dict[int, Any]) -> FileRow:
        """Pieces of a file: those that it rests on, and one more for whole grains behind them."""
        chunks = file.held()
        pieces: list[Piece] = []
        at = 0
        _, known, views = before.get(id(file), (file, [], []))
        for piece, view, chunk in zip(known, views, chunks, strict=False):
            if view is not chunk or at + piece.size > file.size:
                break
            pieces.append(piece)
            at += piece.size
        end = file.size // GRAIN * GRAIN
        if end > at:
            pieces.append(self.bulk.put([file.peek(at, end - at)]))
            at = end
        self._resting[id(file)] = (file, pieces, [])
        return file.path, file.flushed, file.damaged, pieces, bytes(file.peek(at, file.size - at))

    def _rest(self, file: MemoryFile) -> None:
        """Hold what has been written in the mapped pieces, and no longer in memory."""
        _, pieces, views = self._resting[id(file)]
        views += map(self.bulk.view, pieces)
        at = sum(map(len, views))
        rest = bytes(file.peek(at, file.size - at))
        file.rest_on([*views, memoryview(rest)] if rest else list(views))

    # -- reading ----------------------------------------------------------------------------
    def read(self, data: bytes) -> Course:
        """The course again, as it was."""
        rows, self._arrays, pickled = pickle.loads(data)
        files = [self._file(row) for row in rows]
        searched = gc.isenabled()
        gc.disable()
        try:
            course: Course = _Reader(io.BytesIO(pickled), files, self.bulk).load()
        finally:
            if searched:
                gc.enable()
        course.watch()
        return course

    def _file(self, row: FileRow) -> MemoryFile:
        path, flushed, damaged, pieces, rest = row
        file = MemoryFile(path, b"", flushed, damaged)
        views = [self.bulk.view(piece) for piece in pieces]
        file.rest_on([*views, memoryview(rest)] if rest else list(views))
        self._resting[id(file)] = (file, pieces, views)
        return file

    def piece_of(self, key: bytes, grain: memoryview) -> Piece:
        """A grain of an array: most of them stood in the snapshot before."""
        return self._arrays.get(key) or self.bulk.put([grain])


class _Writer(pickle.Pickler):
    def __init__(self, buffer: io.BytesIO, courses: Courses) -> None:
        super().__init__(buffer, pickle.HIGHEST_PROTOCOL)
        self.courses = courses
        self.files: list[MemoryFile] = []
        self.pieces: dict[bytes, Piece] = {}
        self.dispatch_table = {**copyreg.dispatch_table, MemoryFile: self._file, array: self._array}

    def _file(self, file: MemoryFile) -> tuple[Any, ...]:
        self.files.append(file)
        return file_at, (len(self.files) - 1,)

    def _array(self, values: array[Any]) -> Any:
        raw = memoryview(values).cast("B")
        if len(raw) < 2 * GRAIN:
            return array, (values.typecode, values.tobytes())
        pieces = []
        whole = len(raw) // GRAIN * GRAIN
        for at in range(0, whole, GRAIN):
            grain = raw[at : at + GRAIN]
            key = hashlib.blake2b(grain, digest_size=16).digest()
            piece = self.pieces[key] = self.courses.piece_of(key, grain)
            pieces.append(piece)
        return array_at, (values.typecode, pieces, bytes(raw[whole:]))


class _Reader(pickle.Unpickler):
    def __init__(self, buffer: io.BytesIO, files: list[MemoryFile], bulk: Bulk) -> None:
        super().__init__(buffer)
        self.files = files
        self.bulk = bulk

    def find_class(self, module: str, name: str) -> Any:
        if module == __name__:
            own: dict[str, Callable[..., Any]] = {"file_at": self._file, "array_at": self._array}
            if name in own:
                return own[name]
        return super().find_class(module, name)

    def _file(self, number: int) -> MemoryFile:
        return self.files[number]

    def _array(self, code: str, pieces: list[Piece], rest: bytes) -> array[Any]:
        values = array(code)
        for piece in pieces:
            values.frombytes(self.bulk.view(piece))
        values.frombytes(rest)
        return values
