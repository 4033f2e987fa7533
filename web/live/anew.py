"""A process of labs starts itself anew when all of them sleep: what Python keeps of their worlds goes to the machine.

```
web                                         the process
  <- wish ------------------------------    all its labs sleep, and one was awake
  -- anew, and nothing after it -------->   holds no call, all still sleep: beds, then execv
     what is asked meanwhile waits          same number, same pipe, same ports, same locks; loads all modules again
  <- whether it did ---------------------   the labs sleep where they slept
```
It takes a second, in which whoever asks waits. Files and sockets stay open through execv(2), by their numbers.
"""

from __future__ import annotations

import io
import os
import pickle
import socket
import sys
import tempfile
from dataclasses import dataclass
from typing import Any, NoReturn, TextIO

from lab.sleeping import Bed
from lab.snapshots.keeper import KEY, SECRET
from web.live.described import Described


@dataclass(slots=True, frozen=True)
class Kept:
    """What the process knows of itself. `number`: of the call that told it so; `order`: how it was opened."""

    number: int
    order: dict[str, Any]
    labs: list[tuple[Described, Bed]]


def start_anew(pipe: int, kept: Kept) -> NoReturn:
    """As another program in the place of this one, with the same end of the pipe. Raises OSError."""
    buffer = io.BytesIO()
    _Writer(buffer, pickle.HIGHEST_PROTOCOL).dump(kept)
    with tempfile.TemporaryFile() as file:
        file.write(buffer.getvalue())
        file.seek(0)
        for number in (pipe, file.fileno()):
            os.set_inheritable(number, True)
        arguments = [sys.executable, "-P", "-m", "web.hosted", str(pipe), str(file.fileno())]
        os.execve(sys.executable, arguments, os.environ | {SECRET: KEY.hex()})


def kept_in(number: int) -> Kept:
    """What the process that this one was has left in an open file."""
    with open(number, "rb") as file:
        return pickle.load(file)  # type: ignore[no-any-return]  # our own file, which no name leads to


class _Writer(pickle.Pickler):
    """Of an open file or socket its number, which stays open in the next program."""

    def reducer_override(self, thing: Any) -> Any:
        if isinstance(thing, (io.TextIOWrapper, socket.socket)):
            os.set_inheritable(thing.fileno(), True)
            return (_file if isinstance(thing, io.TextIOWrapper) else _socket), (thing.fileno(),)
        return NotImplemented


def _file(number: int) -> TextIO:
    os.set_inheritable(number, False)
    return os.fdopen(number, "w")


def _socket(number: int) -> socket.socket:
    os.set_inheritable(number, False)
    return socket.socket(fileno=number)
