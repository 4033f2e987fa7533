"""A process that has loaded what work needs, and becomes two for each piece of it: what is asked for begins at once.

    web process ---- a byte, three ends of pipes ----> python -P -m web.api.worker --ready FD
                                                            |  fork: as quick as to open a file
         standard input, output, errors <-----------> a worker, which ends with its one answer

To start Python anew and to load all of the lab takes half a second of a processor, each time. The process is made with
the first piece of work, and goes when none has come for a while, or when the web process ends: it hears of both by the
end of its socket. A worker hears of the end of whoever waits by the end of its standard input.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from lab.places import ROOT

LONGEST_LINE = 4 * 1024 * 1024
UNUSED_S = 600.0
PATIENCE_S = 5.0


@dataclass
class Begun:
    """A worker, from outside."""

    orders: asyncio.WriteTransport
    answers: asyncio.StreamReader
    complaints: asyncio.StreamReader


class Ready:
    """The process that waits, of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._link: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._asked = 0

    @asynccontextmanager
    async def worker(self) -> AsyncIterator[Begun]:
        """Until whoever asked has heard enough; if the worker is still at work then, it ends."""
        loop = asyncio.get_running_loop()
        (theirs_in, orders), (answers, theirs_out), (complaints, theirs_err) = os.pipe(), os.pipe(), os.pipe()
        try:
            self._send([theirs_in, theirs_out, theirs_err])
        finally:
            for end in (theirs_in, theirs_out, theirs_err):
                os.close(end)
        loop.call_later(UNUSED_S, self._rest, self._asked)
        writing, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, os.fdopen(orders, "wb", 0))
        readers = [asyncio.StreamReader(LONGEST_LINE) for _ in range(2)]
        reading = [await _read(loop, reader, end) for reader, end in zip(readers, (answers, complaints), strict=True)]
        try:
            yield Begun(writing, *readers)
        finally:
            if not writing.is_closing():  # twice within a pass of the loop is more than a pipe's transport bears
                writing.abort()
            with suppress(TimeoutError):  # nothing is written to a run any more by whoever was given up
                async with asyncio.timeout(PATIENCE_S):
                    while await readers[0].read(LONGEST_LINE):
                        pass
            for transport in reading:
                transport.close()

    def _send(self, ends: list[int]) -> None:
        with self._lock:
            self._asked += 1
            for _ in range(2):
                if self._link is None:
                    self._start()
                assert self._link is not None
                try:
                    socket.send_fds(self._link, [b"\0"], ends)
                except OSError:  # it has ended
                    self._end()
                else:
                    return
        raise OSError("no worker can be started")

    def _start(self) -> None:
        mine, its = socket.socketpair()
        with its:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "web.api.worker", "--ready", str(its.fileno())], pass_fds=[its.fileno()],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=os.environ | {"PYTHONPATH": str(ROOT)},
            )  # fmt: skip
        self._link = mine

    def _rest(self, asked: int) -> None:
        with self._lock:
            if self._asked == asked:
                self._end()

    def _end(self) -> None:
        if self._link is not None:
            self._link.close()
        if self._process is not None:  # it ends by itself, without children at once
            threading.Thread(target=self._process.wait, name="worker-ends", daemon=True).start()
        self._link = self._process = None


async def _read(loop: asyncio.AbstractEventLoop, reader: asyncio.StreamReader, end: int) -> asyncio.ReadTransport:
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(end, "rb", 0))
    return transport


ready = Ready()
