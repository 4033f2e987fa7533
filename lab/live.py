"""A lab: a live world on a thread of its own, kept in step with the wall clock, and the branches forked from it.

The thread runs an asyncio loop with the brokers' listeners and the pumps; everybody else (web pages,
REST, signals) talks to it through futures. What happened stands in the lab's directory:

    DIR/lock                 held while a lab runs here
    DIR/zookeeper-1, DIR/broker-N     their disks: what the next start finds
    DIR/runs/NNNN/run.json, journal.jsonl, inputs.bin, operations.jsonl
    DIR/runs/NNNN-K          the K-th branch of run NNNN

The live branch owns the ports. A branch lives in memory, from the recorded inputs of its past.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from broker_core.drivers.files import DiskCaches, DiskStorage
from broker_core.drivers.tcp import TcpServer
from broker_core.kernel.errors import KernelError
from broker_core.kernel.inputs import Command
from broker_core.kernel.node import STOPPED
from lab import heap
from lab.branch import Branch, BranchError, settle
from lab.clusters.build import build_world
from lab.clusters.checks import SpecError
from lab.clusters.joining import read_joined
from lab.clusters.spec import RunSpec, run_from_dict
from lab.experiments.directory import (
    FILE_LIMIT, INPUTS, START, DirectoryError, RunDirectory, next_run, read_facts, shed, start_storage,
)  # fmt: skip
from lab.front import LiveFront
from lab.newcomers import Newcomers, disks_of
from lab.reexecution import Reexecution

SLICE_S = 0.02
STOP_LIMIT_US = 30_000_000
START_S = 90.0  # after a crash the brokers' old sessions have to expire first
MAX_BRANCHES = 12
FORKED, OPENED = "fork", "opened"
_log = logging.getLogger("brokerlab.lab")
T = TypeVar("T")


class LabError(Exception):
    """The lab cannot start; the text says why in one line."""


@dataclass(slots=True, frozen=True)
class Addresses:
    """Where the brokers listen: (id, host, port)."""

    kafka: list[tuple[int, str, int]]

    @property
    def bootstrap(self) -> str:
        return ",".join(f"{host}:{port}" for _, host, port in self.kafka)


class LiveLab(LiveFront):
    """One lab of this process. Methods other than start and stop may be called from any thread."""

    def __init__(self, spec: RunSpec, data: Path, host: str = "127.0.0.1", speed: float = 1.0) -> None:
        self.spec = spec
        self.data = Path(data)
        self.host = host
        self.speed = speed
        self.stopped = threading.Event()
        self.branches: dict[str, Branch] = {}
        self._lock: Any = None
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._unwanted = False
        self._ready: Future[Addresses] = Future()

    # -- life -------------------------------------------------------------------------------
    def start(self, patience_s: float = START_S) -> Addresses:
        """Start the world; returns once every broker listens. Raises LabError."""
        self.begin()
        return self.wait(patience_s)

    def begin(self) -> None:
        """Start the world. Raises LabError."""
        self._prepare()
        self._thread = threading.Thread(target=self._run, name="world", daemon=True)
        self._thread.start()

    def wait(self, seconds: float = START_S) -> Addresses:
        """Until every broker listens. Raises LabError, and TimeoutError when it has not come so far yet."""
        return self._ready.result(seconds)

    def stop(self, timeout_s: float | None = 30.0) -> bool:
        """Stop all brokers as a controlled shutdown does, and close the run; False when that goes on after the timeout.

        It may be called again to go on waiting; None waits as long as it takes.
        """
        self._unwanted = True
        if self._thread is None:
            self._release()
            return True
        if self._loop is not None and not self.stopped.is_set():
            try:
                self._loop.call_soon_threadsafe(self._ask_to_stop)
            except RuntimeError:
                pass
        self._thread.join(timeout_s)
        if self._thread.is_alive():
            return False
        self._release()
        return True

    def _prepare(self) -> None:
        try:
            self.data.mkdir(parents=True, exist_ok=True)
            self._lock = open(self.data / "lock", "w")
        except OSError as error:
            raise LabError(f"{self.data} cannot be written: {error.strerror}") from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise LabError(f"a lab is running in {self.data} already") from None
        try:
            read_joined(self.data, self.spec.cluster)
        except (SpecError, OSError) as error:
            self._release()
            raise LabError(f"{self.data}: {error}") from None
        self.server = TcpServer(self.host, self.spec.ports(), self.spec.max_frame())
        try:
            self.server.bind()
        except OSError as error:
            self._release()
            raise LabError(str(error.args[1] if len(error.args) > 1 else error)) from None

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _run(self) -> None:
        try:
            asyncio.run(self._main())
        except (DirectoryError, OSError) as error:
            self._failed(LabError(f"{self.data}: {getattr(error, 'strerror', None) or error}"))
        except BaseException as error:
            _log.exception("the world's thread has ended")
            self._failed(error)
        finally:
            self.stopped.set()

    def _failed(self, error: BaseException) -> None:
        if not self._ready.done():
            self._ready.set_exception(error)
        elif isinstance(error, LabError):
            _log.error("the lab has ended: %s", error)

    async def _main(self) -> None:
        sys.setswitchinterval(0.0005)
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        if self._unwanted:  # stopped before it has begun
            return
        self._build()
        self.main.pump.start(self._loop)
        await self._until_listening()
        self.main.keep_keyframe()
        heap.settle()
        await self._stopping.wait()
        self._shut_down()

    def _build(self) -> None:
        self._caches = DiskCaches()
        self._storages: dict[str, DiskStorage] = {}
        runs = self.data / "runs"
        for path in shed(runs):
            _log.warning("%s can be looked at, but not be executed again: made room for new runs", path)
        files = RunDirectory(next_run(runs), FILE_LIMIT)
        start = files.keep_start(disks_of(self.data, self.spec))
        self.spec.life = int(files.path.name)
        world = build_world(self.spec, self._storage)
        files.attach(world)
        files.describe(kind="live", spec=self.spec.to_dict(), seed=self.spec.seed, start=start)
        world.operations.keep = False
        world.output = self.server
        assert self._loop is not None
        self.main = Branch(files.path.name, self.spec, world, files, self._loop, self.server.flush)
        self.main.pump.speed = self.speed
        self.main.pump.admit = Newcomers(self.data, self.spec, self.server).admit
        self.branches[self.main.run_id] = self.main
        self.server.attach(self.main.pump, self._loop)

    def _storage(self, name: str) -> DiskStorage:
        """A node's disks; nodes that are added later get theirs, too."""
        found = self._storages.get(name)
        if found is None:
            found = self._storages[name] = DiskStorage(self.data / name, self._caches)
        return found

    async def _until_listening(self) -> None:
        deadline = time.monotonic() + START_S - 5
        missing = list(self.spec.ports())
        while missing and time.monotonic() < deadline and not self._unwanted:
            await asyncio.sleep(0.005)
            missing = [name for name in self.spec.ports() if name not in self.server.listening]
        if self._unwanted:
            return
        if missing:
            self._ready.set_exception(LabError(f"{', '.join(missing)} did not come up"))
            return
        ports = self.server.ports
        self._ready.set_result(
            Addresses([(int(name.rsplit("-", 1)[1]), self.host, port) for name, port in ports.items()])
        )

    def _ask_to_stop(self) -> None:
        if self._stopping is not None:
            self._stopping.set()

    def _shut_down(self) -> None:
        """All brokers at once, as fast as the world goes; then the coordination tree."""
        for branch in list(self.branches.values()):
            if branch is not self.main:
                branch.end()
        pump, world = self.main.pump, self.main.world
        pump.control({"do": "time", "speed": "play"})
        pump.stop()
        tree = self.spec.tree_names()
        brokers = [name for name in world.nodes if name.startswith("broker-")]
        for group in ([name for name in world.nodes if name not in (*tree, *brokers)], brokers, tree):
            self._stop_nodes(group)
        self.server.flush()
        self.server.shut_down()
        self.main.end()
        for storage in self._storages.values():
            storage.close()

    def _stop_nodes(self, names: list[str]) -> None:
        world = self.main.world
        for name in names:
            if world.nodes[name].state == STOPPED:
                continue
            if world.nodes[name].state == "paused":
                self._inject({"do": "resume", "node": name})
            self._inject({"do": "stop", "node": name})
        limit = world.now_us + STOP_LIMIT_US
        while any(world.nodes[name].state != STOPPED for name in names) and world.now_us < limit:
            world.run_until(world.now_us + 10_000)

    def _inject(self, command: dict[str, Any]) -> None:
        item = Command(command)
        self.main.files.recorder.record(self.main.world, item)
        self.main.world.inject(item)
        self.main.world.run_due()

    # -- branches ---------------------------------------------------------------------------
    def branch(self, run_id: str | None = None) -> Branch:
        """The branch of this name, the live one without a name. Raises BranchError."""
        found = self.main if run_id is None else self.branches.get(run_id)
        if found is None:
            raise BranchError(f"there is no open run {run_id}; open are {', '.join(self.branches)}")
        return found

    def fork(
        self, run_id: str, seq: int | None = None, t_us: int | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Future[str]:  # fmt: skip
        """A new branch that begins right behind event `seq` (or at `t_us`) of a run, paused there."""
        answer: Future[str] = Future()
        return self._begin(answer, self._fork, run_id, seq, t_us, answer, progress)

    def open_run(self, name: str, progress: Callable[[int], None] | None = None) -> Future[str]:
        """A finished run of this lab, or any run directory, executed again to its end and paused there."""
        answer: Future[str] = Future()
        return self._begin(answer, self._open_run, name, answer, progress)

    def close_branch(self, run_id: str) -> Future[None]:
        """Forget a branch; its directory stays. The live one cannot be closed."""
        return self._ask(self._close_branch, run_id)

    def _begin(self, answer: Future[T], function: Callable[..., None], *arguments: Any) -> Future[T]:
        if self._loop is None or self.stopped.is_set():
            answer.set_exception(LabError("the lab is stopped"))
            return answer
        self._loop.call_soon_threadsafe(self._guarded, answer, function, arguments)
        return answer

    def _guarded(self, answer: Future[Any], function: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        try:
            function(*arguments)
        except (BranchError, DirectoryError, SpecError, KernelError, OSError) as error:
            answer.set_exception(error if isinstance(error, BranchError) else BranchError(str(error)))

    def _fork(
        self, run_id: str, seq: int | None, t_us: int | None, answer: Future[str],
        progress: Callable[[int], None] | None,
    ) -> None:  # fmt: skip
        parent = self.branch(run_id)
        parent.files.flush(parent.world)
        if seq is not None and seq > parent.world.seq:
            raise BranchError(f"run {run_id} has come to event {parent.world.seq} only")
        root = parent.run_id.split("-", 1)[0]
        number = 1
        while (self.data / "runs" / f"{root}-{number}").exists():
            number += 1
        self._reexecute(parent.files.path, f"{root}-{number}", parent.run_id, seq, t_us, answer, progress)

    def _open_run(self, name: str, answer: Future[str], progress: Callable[[int], None] | None) -> None:
        if name in self.branches:
            answer.set_result(name)
            return
        path = Path(name) if os.sep in name else self.data / "runs" / name
        number = 1
        while (self.data / "runs" / f"{path.name}-{number}").exists():
            number += 1
        self._reexecute(path, f"{path.name}-{number}", path.name, None, None, answer, progress)

    def _reexecute(
        self, source: Path, run_id: str, parent: str, seq: int | None, t_us: int | None, answer: Future[str],
        progress: Callable[[int], None] | None,
    ) -> None:  # fmt: skip
        if len(self.branches) >= MAX_BRANCHES and not self._make_room():
            raise BranchError(f"{MAX_BRANCHES} runs are open; close one first")
        facts = read_facts(source)
        if facts.get("start") is False:
            raise BranchError(f"the disks that run {source.name} began with are not kept")
        spec = run_from_dict(facts["spec"])
        world = build_world(spec, partial(start_storage, source))
        files = RunDirectory(self.data / "runs" / run_id, FILE_LIMIT)
        files.keep_start(disks_of(source / START, spec))
        files.attach(world)
        kind = OPENED if seq is t_us is None else FORKED
        files.describe(kind=kind, spec=facts["spec"], seed=spec.seed, start=facts.get("start"), parent=parent)
        assert self._loop is not None
        branch = Branch(run_id, spec, world, files, self._loop, parent=parent)
        branch.keep_keyframe()  # viewers can go back to the very beginning
        work = Reexecution(world, source / INPUTS, files.recorder, seq, t_us, branch.look)
        self._continue(branch, work, answer, progress)

    def _continue(
        self, branch: Branch, work: Reexecution, answer: Future[str], progress: Callable[[int], None] | None
    ) -> None:
        """One slice of a re-execution, then back to the loop."""
        try:
            done = work.advance(SLICE_S)
            branch.keep_keyframe()
        except Exception as error:
            branch.end()
            answer.set_exception(error)
            return
        if progress is not None:
            progress(branch.world.now_us)
        assert self._loop is not None
        if not done and not self.stopped.is_set():
            self._loop.call_soon(self._continue, branch, work, answer, progress)
            return
        branch.forked_at_us = branch.world.now_us
        branch.files.describe(forked_at_us=branch.world.now_us, forked_at_seq=branch.world.seq)
        branch.pump.paused = True
        branch.pump.start(self._loop)
        self.branches[branch.run_id] = branch
        answer.set_result(branch.run_id)

    def _make_room(self) -> bool:
        """Close the oldest run that was only opened, has not gone on and is not looked at; it can be opened again."""
        for run_id, branch in self.branches.items():
            facts = branch.files.facts
            rests = facts.get("kind") == OPENED and branch.world.seq == facts.get("forked_at_seq")
            if rests and not branch.feed.watched:
                self._close_branch(run_id)
                return True
        return False

    def _close_branch(self, run_id: str) -> None:
        branch = self.branch(run_id)
        if branch is self.main:
            raise BranchError("the live run cannot be closed")
        del self.branches[run_id]
        branch.end()

    def _ask(self, function: Callable[..., T], *arguments: Any) -> Future[T]:
        answer: Future[T] = Future()
        return self._begin(answer, settle, answer, function, arguments)
