"""A lab: a live world on a thread of its own, kept in step with the wall clock, and the branches forked from it.

The thread runs an asyncio loop with the brokers' listeners and the pumps; everybody else (web pages,
REST, signals) talks to it through futures. What happened stands in the lab's directory:

    DIR/lock                 held while a lab runs here
    DIR/zookeeper-1, DIR/broker-N     their disks: what the next start finds
    DIR/runs/NNNN/run.json, journal.jsonl, inputs.bin, operations.jsonl
    DIR/runs/NNNN-K          the K-th branch of run NNNN

Forking and opening runs is in `open_runs`.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
import sys
import threading
import time
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from broker_core.drivers.files import TAIL_BUDGET, DiskCaches, DiskStorage
from broker_core.drivers.share import Share
from broker_core.drivers.tcp import TcpServer
from broker_core.kernel.errors import what_of
from broker_core.kernel.inputs import Command
from broker_core.kernel.names import is_broker
from broker_core.kernel.node import STOPPED
from broker_core.kernel.problems import problem
from lab import heap
from lab.branch import Branch
from lab.clusters.build import build_world
from lab.clusters.checks import SpecError
from lab.clusters.generation import misfit, remember
from lab.clusters.joining import read_joined
from lab.clusters.spec import RunSpec
from lab.disk_room import DiskRoom
from lab.experiments.directory import FILE_LIMIT, DirectoryError, RunDirectory, next_run, tidy
from lab.front import LiveFront
from lab.holding import Holding
from lab.limits import UNLIMITED, Limits
from lab.newcomers import Newcomers, chosen_port, disks_of
from lab.open_runs import LabError
from lab.sleeping import Bed, Sleeping
from lab.snapshots.keeper import sweep
from lab.telling import Telling, not_serving, why_it_ends
from lab.time_of_day import TimeOfDay

STOP_LIMIT_US = 30_000_000
HURRY = 20.0
"""How fast time may run until the brokers listen, where nobody is there to see it: an election of a quorum, which takes
one or two seconds of Kafka's time, takes 50 to 100 ms of his who waits."""
START_S = 90.0  # after a crash the brokers' old sessions have to expire first
GIVE_BACK_S = 5.0
TRIM_S = 60.0
ONE_OF_MANY_TAILS = TAIL_BUDGET // 8
"""Bytes of the ends of files that a lab keeps in memory when it is one of many."""
_log = logging.getLogger("brokerlab.lab")


@dataclass(slots=True, frozen=True)
class Addresses:
    """Where the brokers listen: (id, host, port)."""

    kafka: list[tuple[int, str, int]]

    @property
    def bootstrap(self) -> str:
        return ",".join(f"{host}:{port}" for _, host, port in self.kafka)


class LiveLab(Sleeping, LiveFront):
    """One lab of this process. Methods other than start and stop may be called from any thread."""

    def __init__(
        self, spec: RunSpec, data: Path, host: str = "127.0.0.1", speed: float = 1.0, sole: bool = True,
        limits: Limits = UNLIMITED,
    ) -> None:  # fmt: skip
        """`sole`: the process is there for this lab, which sets it up for itself; snapshots for forks are made, too."""
        self.limits = limits
        self.spec = spec
        self.data = Path(data)
        self.host = host
        self.speed = speed
        self.sole = sole
        self.stopped = threading.Event()
        self.branches: dict[str, Branch] = {}
        self._lock = None
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._unwanted = False
        self._ready: Future[Addresses] = Future()

    # -- life -------------------------------------------------------------------------------
    def start(self, patience_s: float = START_S) -> Addresses:
        """Start the world; returns once every broker listens and knows the controller. Raises LabError."""
        self.begin()
        return self.wait(patience_s)

    @classmethod
    def of(cls, bed: Bed) -> LiveLab:
        """The lab that has slept in another process: it sleeps in this one. Raises TimeoutError."""
        lab = cls(bed.spec, bed.data, bed.host, bed.speed, sole=False, limits=bed.limits)
        lab._lock, lab.server, lab.asleep = bed.lock, TcpServer.of(bed.listeners), bed.asleep
        lab._go()
        lab.wait()
        return lab

    def begin(self) -> None:
        """Start the world. Raises LabError."""
        self._prepare()
        self._go()

    def _go(self) -> None:
        self._thread = threading.Thread(target=self._run, name="world", daemon=True)
        self._thread.start()

    def wait(self, seconds: float = START_S) -> Addresses:
        """Until every broker listens and knows the controller. Raises LabError; TimeoutError when it is not yet so."""
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
        if self.spec.cluster.neighbours:
            raise LabError(problem("neighbours_simulated"))
        try:
            self.data.mkdir(parents=True, exist_ok=True)
            self._lock = open(self.data / "lock", "w")
        except OSError as error:
            raise LabError(problem("not_writable", path=str(self.data), why=error.strerror)) from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise LabError(problem("lab_running", path=str(self.data))) from None
        try:
            read_joined(self.data, self.spec.cluster)
            other = misfit(self.data, self.spec.cluster)
        except (SpecError, OSError) as error:
            self._release()
            raise LabError(problem("wrong_in", place=str(self.data), what=what_of(error))) from None
        if other is not None:
            self._release()
            raise LabError(other)
        self.server = TcpServer(self.host, self.spec.ports(), self.spec.max_frame(), self.spec.controller_ports())
        try:
            self.server.bind()
        except OSError as error:
            self._release()
            raise LabError(what_of(error)) from None
        for broker in self.spec.cluster.brokers:
            broker.settings |= chosen_port(self.spec.cluster, broker, self.server)

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _run(self) -> None:
        try:
            asyncio.run(self._main())
        except (DirectoryError, OSError) as error:
            self._failed(LabError(problem("wrong_in", place=str(self.data), what=what_of(error))))
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
        if self.sole:
            sys.setswitchinterval(0.0005)
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        if self._unwanted:  # stopped before it has begun
            return
        if self.asleep is None:
            self._build()
            self.main.pump.start(self._loop)
            await self._until_listening()
            self.main.keep_keyframe()
        else:
            self._attend()
        if self.sole:
            heap.settle()
        await self._until(self._stopping)
        self._shut_down()

    async def _until(self, stopping: asyncio.Event) -> None:
        if not self.sole:
            await stopping.wait()
            return
        before = self._brokers()
        while not stopping.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(stopping.wait(), TRIM_S)
            now = self._brokers()
            heap.trim(cycles=not before <= now)
            before = now

    def _brokers(self) -> set[tuple[str, int]]:
        """Those that run, each with its incarnation: one that has died is missing afterwards, also if it is back."""
        return {(name, node.live) for name, node in self.main.world.nodes.items() if node.live and is_broker(name)}

    def _build(self) -> None:
        self._caches = DiskCaches(TAIL_BUDGET if self.sole else ONE_OF_MANY_TAILS)
        self._storages: dict[str, DiskStorage] = {}
        runs = self.data / "runs"
        sweep(runs)
        for line in tidy(runs):
            _log.warning(line)
        files = RunDirectory(next_run(runs), self.limits.of_a_file(FILE_LIMIT))
        start = files.keep_start(disks_of(self.data, self.spec))
        self.spec.life = int(files.path.name)
        world = build_world(self.spec, self._storage)
        files.attach(world)
        remember(self.data, self.spec.cluster)
        files.describe(kind="live", spec=self.spec.to_dict(), seed=self.spec.seed, start=start)
        world.operations.keep = False
        world.output = self.server
        Telling(world)
        assert self._loop is not None
        self.main = Branch(files.path.name, self.spec, world, files, self._loop, self.server.flush)
        self.main.keeper.over = not self.sole
        self.main.room = DiskRoom(world, self.data, self._loop)
        self.main.pump.speed = self.speed
        holding = self.main.holding = Holding(self, self.limits)
        holding.go_on()
        if self.limits.processor_percent:
            self.main.pump.share = Share(self.limits.processor_percent / 100)
        self.main.pump.admit = self._admit
        self.main.pump.before = TimeOfDay(world)
        self.branches[self.main.run_id] = self.main
        self.server.attach(self.main.pump, self._loop)
        self.server.keep_shut()

    def _admit(self, command: dict[str, Any]) -> dict[str, Any] | None:
        """Before a command of the live branch becomes part of the run: what is not to be had here, or not so much."""
        holding = self.main.holding
        held = holding.refused(self.main.run_id, command) if holding is not None else None
        return held or Newcomers(self.data, self.spec, self.server).admit(command)

    def _storage(self, name: str) -> DiskStorage:
        """A node's disks; nodes that are added later get theirs, too."""
        found = self._storages.get(name)
        if found is None:
            found = self._storages[name] = DiskStorage(self.data / name, self._caches)
        return found

    async def _until_listening(self) -> None:
        deadline = time.monotonic() + START_S - 5
        missing, ended = list(self.spec.ports()), None
        while missing and not ended and time.monotonic() < deadline and not self._unwanted:
            await asyncio.sleep(0.005)
            missing = not_serving(self.main.world, self.server.willing)
            ended = why_it_ends(self.main.world)
        if self._unwanted:
            return
        if missing or ended:
            self._ready.set_exception(LabError(ended or problem("not_listening", nodes=missing)))
            return
        await self.server.open()
        self._ready.set_result(self._addresses(self.server.listening))

    def _attend(self) -> None:
        """In the place of the process that it fell asleep in."""
        self._stay()
        self._ready.set_result(self._addresses(list(self.server.left.doors)))

    def _addresses(self, listening: list[str]) -> Addresses:
        own = self.spec.ports()
        ports = {name: port for name, port in self.server.ports.items() if name in own and name in listening}
        return Addresses([(int(name.rsplit("-", 1)[1]), self.host, port) for name, port in ports.items()])

    def _ask_to_stop(self) -> None:
        if self._stopping is not None:
            self._stopping.set()

    def _shut_down(self) -> None:
        """All brokers at once, as fast as the world goes; then the coordination tree. Of a lab that slept and cannot be
        woken only the ports are left: on its disks it has crashed."""
        try:
            self._wake()
        except LabError as error:
            _log.error("the lab does not wake: %s", error)
            self.server.shut_down()
            return
        for branch in list(self.branches.values()):
            if branch is not self.main:
                branch.end()
        pump, world = self.main.pump, self.main.world
        pump.control({"do": "time", "speed": "play"})
        pump.stop()
        keepers = self.spec.keeper_names()
        brokers = [name for name in world.nodes if is_broker(name)]
        for group in ([name for name in world.nodes if name not in (*keepers, *brokers)], brokers, keepers):
            self._stop_nodes(group)
        self.server.flush()
        self.server.shut_down()
        self.main.end()
        for branch in self.branches.values():
            branch.keeper.wait(GIVE_BACK_S)
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
