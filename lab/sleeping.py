"""A lab that nobody watches or feeds sleeps: its world stands, and its memory is given back.

```
awake     the clock goes; page, REST, clients      world, onlookers, logs' tails in memory
  | nobody for a while
asleep    clock stands as if it were paused        one signed file; a thread, and the brokers' ports
  | a page, a question, a client that connects
awake     the same run goes on where it stood
```
What is kept is the whole course: the world with every call that is due, who listens to its journal, receipts,
keyframes, forks. It is pickled as one graph, so whatever was one object is one object again; only what belongs to this
process stands outside of it and is put in its place again (`_outside`): the loop, the sockets, the lab itself. Real
files are opened again where they were.

A port of a broker that listens stays open while the lab sleeps. Whoever connects waits in the machine's queue, wakes
the lab, and is then accepted by it: a client notices a connection that took a moment longer.

No event tells of any of it: as with a pause, only the wall clock has gone on. A file is signed with a key that only
this process and those that it trusts have, for reading a pickle of a stranger's would be running his program; a lab
whose process has ended meanwhile starts as after a crash.

Python keeps most of the memory for what the process makes next: pieces of what stays lie between the pieces of what
went. A process all of whose labs sleep may start itself anew, and take them over (`bed`, `lie_down`): the ports stay
open meanwhile, too.
"""

from __future__ import annotations

import gc
import hashlib
import hmac
import io
import pickle
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import cramjam
import orjson

from broker_core.drivers.files import DiskCaches, DiskStorage
from broker_core.drivers.tcp import Listeners, TcpServer
from broker_core.kernel.journal import Journal, OperationLog, held_by, hold
from broker_core.kernel.problems import problem
from broker_core.kernel.world import World
from lab import heap
from lab.clusters.spec import RunSpec
from lab.figures import Figures
from lab.limits import Limits
from lab.open_runs import LabError, OpenRuns
from lab.snapshots.keeper import KEY

FILE = "asleep"
AT_WORK_S = 5.0
LOCK = type(threading.Lock())
_SIGNED = 32
_WHOLE = (World, Journal, OperationLog, Figures)
"""Who leaves out in other pickles what is left in here: everybody that looks on is kept, too."""


@dataclass(slots=True, frozen=True)
class Asleep:
    """What is known of a lab while it sleeps. `size`: bytes of its file."""

    run: str
    epoch: int
    clock: dict[str, Any]
    open: tuple[str, ...]
    size: int
    since: float


@dataclass(slots=True, frozen=True)
class Bed:
    """A lab that sleeps, beside its file: with this another process can be the one that it wakes in. `lock`: the open
    file that is held."""

    spec: RunSpec
    data: Path
    host: str
    speed: float
    limits: Limits
    asleep: Asleep
    listeners: Listeners
    lock: TextIO


class Sleeping(OpenRuns):
    """A live lab's sleep. `sleep` and `wake` may be called from any thread; the rest is the world's."""

    spec: RunSpec
    host: str
    speed: float
    limits: Limits
    server: TcpServer
    _lock: TextIO | None
    _storages: dict[str, DiskStorage]
    _caches: DiskCaches
    asleep: Asleep | None = None
    woken = 0.0
    """When it woke last (`time.monotonic`); `slept_s`: after how long a sleep."""
    slept_s = 0.0

    def sleep(self) -> Future[bool]:
        """Sleep; False when somebody still needs the lab."""
        return self._ask(self._sleep)

    def wake(self) -> Future[None]:
        """Be awake."""
        return self._ask(self._wake)

    @property
    def fed(self) -> bool:
        """Whether clients from outside are connected."""
        return bool(self.server.connections)

    def bed(self) -> Future[Bed | None]:
        """What another process needs to be the one that this lab wakes in. Who connects does not wake it here any more,
        unless it is to `stay`. None when it is awake."""
        return self._ask(self._bed)

    def stay(self) -> Future[None]:
        """It wakes in this process after all."""
        return self._ask(self._stay)

    def _bed(self) -> Bed | None:
        if self.asleep is None:
            return None
        self.server.ignore()
        assert self._lock is not None
        return Bed(self.spec, self.data, self.host, self.speed, self.limits, self.asleep, self.server.left, self._lock)

    def _stay(self) -> None:
        if self.asleep is not None:
            assert self._loop is not None
            self.server.attend(self._loop, self._wake)

    def _sleep(self) -> bool:
        if self.asleep is not None:
            return True
        if self.needed():
            return False
        self.asleep = self._kept()
        self.server.rest(self._wake)
        self._let_go()
        _give_back()  # nothing of the world is left, also in no variable of this method
        return True

    def _kept(self) -> Asleep:
        """All branches stand, and are in the file. Raises OSError; then they go on."""
        for branch in self.branches.values():
            branch.stand()
        try:
            size = write(self)
        except OSError:
            for branch in self.branches.values():
                branch.go_on()
            raise
        main = self.main
        return Asleep(main.run_id, main.epoch, main.clock(), tuple(self.branches), size, time.monotonic())

    def _let_go(self) -> None:
        for branch in self.branches.values():
            branch.files.let_go()
        for storage in self._storages.values():
            storage.close()
        self.branches, self._storages = {}, {}
        del self.main, self._caches

    def needed(self) -> bool:
        """Whether somebody watches, waits, is connected, or something is under way."""
        if self.fed or time.monotonic() - self.worked < AT_WORK_S:
            return True
        return any(branch.needed() for branch in self.branches.values())

    def _wake(self) -> None:
        if self.asleep is None:
            return
        read(self)
        self.woken = time.monotonic()
        self.slept_s = self.woken - self.asleep.since
        self.asleep = None
        assert self._loop is not None
        self.server.attach(self.main.pump, self._loop)
        self.server.go_on()
        for branch in self.branches.values():
            branch.go_on()


# -- the file -------------------------------------------------------------------------------
def write(lab: Sleeping) -> int:
    """Keep all of a lab that stands; how many bytes that takes."""
    for branch in lab.branches.values():
        branch.files.flush(branch.world)
    buffer = io.BytesIO()
    _Writer(buffer, _outside(lab)).dump((lab.branches, lab.main, lab._storages, lab._caches))
    data = buffer.getvalue()
    packed = len(data).to_bytes(8, "big") + bytes(cramjam.zstd.compress(data, level=1))
    temporary = lab.data / f"{FILE}.tmp"
    temporary.write_bytes(_signature(packed) + packed)
    temporary.replace(lab.data / FILE)
    return len(packed)


def read(lab: Sleeping) -> None:
    """Let a lab have what was kept of it. Raises LabError when that is not there, or not what was kept."""
    path: Path = lab.data / FILE
    try:
        content = path.read_bytes()
    except OSError as error:
        raise LabError(problem("not_readable", path=str(path), why=error.strerror or str(error))) from None
    packed = content[_SIGNED:]
    if not hmac.compare_digest(_signature(packed), content[:_SIGNED]):
        raise LabError(problem("damaged", path=str(path)))
    data = cramjam.zstd.decompress(packed[8:], output_len=int.from_bytes(packed[:8], "big"))
    with heap.unsearched():
        found = _Reader(io.BytesIO(bytes(data)), _outside(lab)).load()
    lab.branches, lab.main, lab._storages, lab._caches = found
    path.unlink(missing_ok=True)


def _signature(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_SIGNED, key=KEY).digest()


def _outside(lab: Sleeping) -> dict[str, Any]:
    """What is no part of a course, by the name under which the file refers to it."""
    return {"lab": lab, "loop": lab._loop, "server": lab.server, "data": lab.data, "spec": lab.spec}


def _give_back() -> None:
    """What nobody refers to any more goes back to the machine, as far as its allocator can."""
    gc.collect()
    heap.trim()


class _Writer(pickle.Pickler):
    def __init__(self, buffer: io.BytesIO, outside: dict[str, Any]) -> None:
        super().__init__(buffer, pickle.HIGHEST_PROTOCOL)
        self._names = {id(thing): name for name, thing in outside.items()}

    def persistent_id(self, thing: Any) -> str | None:
        return self._names.get(id(thing))

    def reducer_override(self, thing: Any) -> Any:
        kind = type(thing)
        if kind in _WHOLE:
            if kind is Journal:
                thing.settle()
            return made, (kind,), held_by(thing), None, None, hold
        if kind is memoryview:
            return memoryview, (bytes(thing),)
        if kind is LOCK:
            return threading.Lock, ()
        if kind is orjson.Fragment:
            return orjson.Fragment, (orjson.dumps(thing),)
        return NotImplemented


class _Reader(pickle.Unpickler):
    def __init__(self, buffer: io.BytesIO, outside: dict[str, Any]) -> None:
        super().__init__(buffer)
        self._outside = outside

    def persistent_load(self, name: str) -> Any:
        return self._outside[name]


def made(kind: Any) -> Any:
    """An object of this class that gets its attributes afterwards; a compiled class has a `__new__` of its own."""
    return kind.__new__(kind)
