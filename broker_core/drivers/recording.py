"""Recorded inputs of a run: with the spec and the seed they are the run.

A record is a 4-byte length, a JSON head and, for frames, the payload:

    {"t": virtual time, "n": events executed before it, "kind": "frame", "connection": 3, "size": 812} + 812 bytes

The recording is bounded: beyond `limit` bytes it ends with a head of kind `bounded`, and the run can
be executed again only up to that moment. A disk that takes no more bounds it, too (`broken` says why).
"""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import orjson

from broker_core.kernel.errors import KernelError
from broker_core.kernel.inputs import Command, ConnectionClosed, ConnectionOpened, FrameReceived, Input
from broker_core.kernel.problems import problem
from broker_core.kernel.world import World

LIMIT = 256 * 1024 * 1024
"""Of a run that nobody from outside takes part in; a live lab has more (`lab.experiments.directory`)."""
_LENGTH = struct.Struct(">I")


class Recorder:
    """Writes inputs to a file, in order, until the limit is reached; from `start` on where others fill in the rest."""

    def __init__(self, path: Path, limit: int = LIMIT, start: int = 0) -> None:
        self._file: BinaryIO | None = open(path, "wb", buffering=256 * 1024)
        if start:
            self._file.truncate(start)
            self._file.seek(start)
        self._left = limit - start
        self.bounded_at_us: int | None = None
        self.bounded_at_seq = 0
        self.broken: str | None = None

    def __getstate__(self) -> dict[str, Any]:
        """What is recorded stands in the file, which is open in one process at a time."""
        self.flush()
        return {**self.__dict__, "_file": None if self._file is None else (self._file.name, self._file.tell())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if state["_file"] is not None:
            self._file = reopened(*state["_file"])

    def record(self, world: World, item: Input) -> None:
        """Note an input that is about to be injected."""
        if self._file is None or self.bounded_at_us is not None:
            return
        head, payload = _encode(item)
        self._left -= len(payload) + 64
        if self._left < 0:
            self.bounded_at_us, self.bounded_at_seq = world.now_us, world.seq
            head, payload = {"kind": "bounded"}, b""
        self._write({"t": world.now_us, "n": world.executed, **head}, payload)

    def end(self, world: World) -> None:
        """The run ends here; how far it went is part of it."""
        if self._file is not None:
            if self.bounded_at_us is None:
                self._write({"t": world.now_us, "n": world.executed, "kind": "end"}, b"")
            self.flush()
            self._give_up(None)

    def flush(self) -> None:
        if self._file is not None:
            try:
                self._file.flush()
            except OSError as error:
                self._give_up(error)

    def _write(self, head: dict[str, Any], payload: bytes | bytearray | memoryview) -> None:
        if self._file is not None:
            encoded = orjson.dumps(head)
            try:
                self._file.write(_LENGTH.pack(len(encoded)) + encoded)
                self._file.write(payload)
            except OSError as error:
                self._give_up(error)

    def let_go(self) -> None:
        """Close the file, which goes on in another place."""
        self._give_up(None)

    def _give_up(self, error: OSError | None) -> None:
        """Close the file; what a full disk did not take is lost."""
        file, self._file = self._file, None
        if error is not None:
            self.broken = error.strerror or str(error)
        if file is not None:
            with contextlib.suppress(OSError):
                file.close()


def reopened(path: str, position: int) -> BinaryIO:
    """A file that goes on where it ended."""
    file = open(path, "r+b", buffering=256 * 1024)
    file.seek(position)
    return file


def _encode(item: Input) -> tuple[dict[str, Any], bytes | bytearray | memoryview]:
    if isinstance(item, FrameReceived):
        return {"kind": "frame", "connection": item.connection, "size": len(item.frame)}, item.frame
    if isinstance(item, Command):
        return {"kind": "command", "command": item.command}, b""
    if isinstance(item, ConnectionOpened):
        where = {"listener": item.listener} if item.listener else {}
        return {"kind": "open", "node": item.node, "connection": item.connection, "peer": item.peer, **where}, b""
    return {"kind": "close", "connection": item.connection, "reason": item.reason}, b""


def _decode(head: dict[str, Any], payload: bytes) -> Input:
    kind = head["kind"]
    if kind == "frame":
        return FrameReceived(head["connection"], bytearray(payload))
    if kind == "command":
        return Command(head["command"])
    if kind == "open":
        return ConnectionOpened(head["node"], head["connection"], head["peer"], head.get("listener", ""))
    if kind == "close":
        return ConnectionClosed(head["connection"], head["reason"])
    raise KernelError(problem("unknown_input", kind=repr(kind)))


class Recording:
    """Iterates over (head, input) in order; the last head is of kind `end` or `bounded`, with no input.

    `position`: where the next record begins; a recording can be read from there (`start`).
    """

    def __init__(self, path: Path, start: int = 0) -> None:
        self.path = path
        self.position = start
        self._file: BinaryIO = open(path, "rb")
        self._file.seek(start)

    def __iter__(self) -> Iterator[tuple[dict[str, Any], Input | None]]:
        return self

    def __next__(self) -> tuple[dict[str, Any], Input | None]:
        if self._file.closed:
            raise StopIteration
        prefix = self._file.read(4)
        length = _LENGTH.unpack(prefix)[0] if len(prefix) == 4 else -1
        encoded = self._file.read(max(0, length))
        if len(encoded) != length:
            self._end()
        try:
            head = orjson.loads(encoded)
        except ValueError as error:
            what = problem("damaged_recording", path=str(self.path), position=self._file.tell())
            raise KernelError(what) from error
        if head["kind"] in ("end", "bounded"):
            self._file.close()
            return head, None
        payload = self._file.read(head.get("size", 0))
        if len(payload) < head.get("size", 0):
            self._end()
        self.position += 4 + len(encoded) + len(payload)
        return head, _decode(head, payload)

    def _end(self) -> NoReturn:
        """Nothing more, or a record that is not whole (yet)."""
        self._file.close()
        raise StopIteration


def read_recording(path: Path) -> Iterator[tuple[dict[str, Any], Input | None]]:
    """(head, input) of a recording from its beginning."""
    return Recording(path)


def bring_to(world: World, t_us: int, executed: int) -> None:
    """Run a world up to a recorded moment: a time and, inside that instant, a count of events.

    Inputs are only injected when everything before their instant has run, so all events before
    `t_us` run first; of those at `t_us` as many as had run when the input came.
    """
    if t_us > world.now_us:
        world.run_until(t_us - 1)
    while world.executed < executed and world.step(t_us):
        pass
    world.move_clock(t_us)


def execute_recording(world: World, path: Path) -> bool:
    """Execute recorded inputs in a new world; True when the recording was whole."""
    for head, item in read_recording(path):
        bring_to(world, head["t"], head["n"])
        if item is None:
            return bool(head["kind"] == "end")
        world.inject(item)
    return False
