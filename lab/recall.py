"""A message of the past: found by executing the run again, or in the recorded inputs.

Inside the world a message is an object that is handed on, and nobody keeps it. So the run is executed again up
to the event that sent it, from its beginning or from a snapshot: the world is the same then, and the message lies in
its queue. What outside clients sent stands in the recorded inputs, byte for byte; what they were answered is caught on
its way out.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from broker_core.drivers.recording import read_recording
from broker_core.kernel.inputs import FrameReceived
from broker_core.kernel.problems import problem
from broker_core.kernel.storage import Buffer, FileSlice, read_all
from broker_core.kernel.world import World
from lab.checkers.flights import NoMessage, Wanted, described, look
from lab.checkers.message_bytes import APIS
from lab.experiments.directory import INPUTS
from lab.experiments.journal_file import time_before
from lab.experiments.anew import execute_again
from lab.reexecution import Nobody, Reexecution
from lab.snapshots.keeper import Keeper

LATER = 64
SLICE_S = 0.02


class _Caught:
    """Takes what is written to one outside client, and keeps the last answers."""

    def __init__(self, connection: int) -> None:
        self.connection = connection
        self.frames: list[bytes] = []

    def write(self, connection: int, buffers: Sequence[Buffer | FileSlice]) -> None:
        if connection == self.connection:
            self.frames = [*self.frames[-LATER:], read_all(buffers)]

    def close(self, connection: int, reason: str) -> None:
        return

    def hold(self, connection: int, hold: bool) -> None:
        return

    def listen(self, node: str, port: int) -> None:
        return

    def stop_listening(self, node: str) -> None:
        return

    def sent(self, node: str) -> tuple[int, int]:
        return 0, 0


def recall(
    path: Path, wanted: Wanted, progress: Callable[[int], None] | None = None, keeper: Keeper | None = None
) -> dict[str, Any]:
    """A message of the run recorded in `path`, whose files are flushed; `keeper` has the snapshots of one that is open.

    Raises NoMessage, DirectoryError.
    """
    if wanted.api not in APIS:
        raise NoMessage(problem("no_request", api=wanted.api))
    if wanted.source.isdigit():
        return described(wanted, _frame(path, wanted), "recorded")
    found = keeper.take(wanted.seq, None) if keeper is not None else None
    world, start = (found[1].world, found[0].inputs) if found is not None else (execute_again(path), 0)
    world.operations.keep = False
    caught = _Caught(int(wanted.dest)) if wanted.outside else None
    world.output = caught
    before_us = time_before(path, wanted.seq)
    work = Reexecution(world, path / INPUTS, Nobody(), target_seq=wanted.seq, start=start, before_us=before_us)
    while not work.advance(SLICE_S):
        if progress is not None:
            progress(world.now_us)
    return _behind(world, wanted, caught)


def _behind(world: World, wanted: Wanted, caught: _Caught | None) -> dict[str, Any]:
    """The message, right behind the event that sent it (or a few calls later: an answer may wait for a thread)."""
    for _ in range(LATER):
        found = look(world, wanted) if caught is None else _answered(caught, wanted)
        if found is not None:
            return found
        if not world.step(world.now_us):
            break
    raise NoMessage(problem("never_under_way"))


def _answered(caught: _Caught, wanted: Wanted) -> dict[str, Any] | None:
    for frame in reversed(caught.frames):
        if len(frame) >= 8 and struct.unpack_from(">i", frame, 4)[0] == wanted.correlation:
            return described(wanted, frame, "encoded")
    return None


def _frame(path: Path, wanted: Wanted) -> bytes:
    """The last recorded frame of an outside client with this correlation id, with its size in front."""
    connection, key = int(wanted.source), APIS[wanted.api]
    found: bytes | None = None
    for _, item in read_recording(path / INPUTS):
        if isinstance(item, FrameReceived) and item.connection == connection:
            frame = bytes(item.frame)
            if len(frame) >= 8 and struct.unpack_from(">hhi", frame)[::2] == (key, wanted.correlation):
                found = frame
    if found is None:
        raise NoMessage(problem("not_in_inputs"))
    return struct.pack(">i", len(found)) + found
