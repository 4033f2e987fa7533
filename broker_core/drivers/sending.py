"""What leaves for one outside client, in its order: buffers in one write, ranges of files by sendfile.

Zero copy (Kafka's guide, "Efficiency"): a record that was written long ago is the same on the disk and
on the wire, so the kernel can carry it from its page cache to the socket and it never enters this
process. What was written just now is still held in memory and leaves from there. Short ranges are
read: a system call of their own costs more than copying them.

A range that is on its way holds its own descriptor, so the file may be renamed or deleted meanwhile; when it
was cut instead (a follower truncates) the connection is closed, as an answer cannot be taken back.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Callable
from io import FileIO

from broker_core.drivers.files import DiskFile
from broker_core.kernel.storage import Buffer, FileSlice

ZERO_COPY_FROM = 64 * 1024


class FileRange:
    """A range of an open file, with a descriptor of its own."""

    __slots__ = ("file", "position", "size")

    def __init__(self, file: DiskFile, position: int, size: int) -> None:
        self.file = FileIO(os.dup(file.descriptor()))
        self.position = position
        self.size = size


def zero_copied(part: FileSlice) -> FileRange | None:
    """The range when it is long and only on a disk, else None: then it is read."""
    file, size = part.file, part.size
    if size < ZERO_COPY_FROM or not isinstance(file, DiskFile) or file.in_memory(part.position, size):
        return None
    return FileRange(file, part.position, size)


class Sending:
    """One connection's answers, from the first range of a file until all is gone.

    `sent` is called with the bytes of each range that was sent without entering the process,
    `ended` when nothing is left: with False when the connection is of no use any more.
    """

    def __init__(
        self, transport: asyncio.WriteTransport, loop: asyncio.AbstractEventLoop,
        sent: Callable[[int], None], ended: Callable[[bool], None],
    ) -> None:  # fmt: skip
        self._transport = transport
        self._loop = loop
        self._sent = sent
        self._ended = ended
        self._queue: deque[Buffer | FileRange] = deque()
        self._task: asyncio.Task[None] | None = None

    def add(self, parts: list[Buffer | FileRange]) -> None:
        """Behind everything that was added before."""
        self._queue.extend(parts)
        if self._task is None:
            self._task = self._loop.create_task(self._run())

    def cancel(self) -> None:
        """Leave what is not sent yet."""
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        whole = False
        try:
            while self._queue:
                part = self._queue.popleft()
                if isinstance(part, FileRange):
                    await self._send_range(part)
                else:
                    self._transport.write(part)
            whole = True
        except (OSError, RuntimeError):  # the client is gone, or the file was cut
            pass
        finally:
            for part in self._queue:
                if isinstance(part, FileRange):
                    part.file.close()
            self._queue.clear()
            self._ended(whole)

    async def _send_range(self, part: FileRange) -> None:
        with part.file as file:
            sent = await self._loop.sendfile(self._transport, file, part.position, part.size)
        if sent != part.size:
            raise OSError(f"only {sent} of {part.size} bytes are left in the file")
        self._sent(sent)
