"""A live lab: one world on a thread of its own, kept in step with the wall clock.

The thread runs an asyncio loop with the brokers' listeners and the pump; everybody else (web pages,
REST, signals) talks to it through futures. What happened stands in the lab's directory:

    DIR/lock                 held while a lab runs here
    DIR/zookeeper-1, DIR/broker-N     their disks: what the next start finds
    DIR/runs/NNNN/run.json, journal.jsonl, inputs.bin, operations.jsonl
"""

from __future__ import annotations

import asyncio
import fcntl
import gc
import logging
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import orjson

from broker_core.drivers.files import DiskCaches, DiskStorage
from broker_core.drivers.pump import LivePump
from broker_core.drivers.tcp import TcpServer
from broker_core.kernel.inputs import Command
from broker_core.kernel.node import STOPPED
from broker_core.kernel.world import World
from lab.clusters.build import build_world
from lab.clusters.observe import observe, observe_marks
from lab.clusters.spec import RunSpec
from lab.experiments.directory import RunDirectory, next_run
from lab.feed import JournalFeed, Subscriber

FLUSH_S = 0.05
STOP_LIMIT_US = 30_000_000
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


class LiveLab:
    """One lab of this process. Methods other than start and stop may be called from any thread."""

    def __init__(self, spec: RunSpec, data: Path, host: str = "127.0.0.1", speed: float = 1.0) -> None:
        self.spec = spec
        self.data = Path(data)
        self.host = host
        self.speed = speed
        self.epoch = 1
        self.run_id = ""
        self.stopped = threading.Event()
        self._lock: Any = None
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._ready: Future[Addresses] = Future()
        self._flush_armed = False
        self._token_lock = threading.Lock()
        self._last_token = 0

    # -- life -------------------------------------------------------------------------------
    def start(self, timeout_s: float = 30.0) -> Addresses:
        """Start the world; returns once every broker listens. Raises LabError."""
        self._prepare()
        self._thread = threading.Thread(target=self._run, name="world", daemon=True)
        self._thread.start()
        try:
            return self._ready.result(timeout_s)
        except TimeoutError:
            raise LabError(f"the brokers did not come up within {timeout_s:.0f} s") from None

    def stop(self, timeout_s: float = 30.0) -> None:
        """Stop all brokers as a controlled shutdown does, and close the run."""
        if self._thread is None:
            return
        if self._loop is not None and not self.stopped.is_set():
            try:
                self._loop.call_soon_threadsafe(self._ask_to_stop)
            except RuntimeError:
                pass
        self._thread.join(timeout_s)
        self._release()

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
        except BaseException as error:
            _log.exception("the world's thread has ended")
            if not self._ready.done():
                self._ready.set_exception(error)
        finally:
            self.stopped.set()

    async def _main(self) -> None:
        sys.setswitchinterval(0.0005)
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        self._build()
        self.pump.start(self._loop)
        await self._until_listening()
        gc.freeze()
        gc.set_threshold(50_000, 20, 20)
        await self._stopping.wait()
        self._shut_down()

    def _build(self) -> None:
        caches = DiskCaches()
        self._storages: dict[str, DiskStorage] = {}
        run = next_run(self.data / "runs")
        self.files = RunDirectory(run)
        self.run_id = run.name
        start = self.files.keep_start([self.data / name for name in self.spec.node_names()])
        for name in self.spec.node_names():
            self._storages[name] = DiskStorage(self.data / name, caches)
        self.world: World = build_world(self.spec, self._storage)
        self.files.attach(self.world)
        self.files.describe(kind="live", spec=self.spec.to_dict(), seed=self.spec.seed, start=start)
        self.world.operations.keep = False
        self.world.output = self.server
        self.feed = JournalFeed(self.world.journal, self._marks)
        self.pump = LivePump(self.world, self.files.recorder, self._after_pass)
        self.pump.speed = self.speed
        assert self._loop is not None
        self.server.attach(self.pump, self._loop)

    def _storage(self, name: str) -> DiskStorage:
        """A node's disks; nodes that are added later get theirs, too."""
        found = self._storages.get(name)
        if found is None:
            found = self._storages[name] = DiskStorage(self.data / name)
        return found

    def _marks(self) -> dict[str, Any]:
        return observe_marks(self.world)

    async def _until_listening(self) -> None:
        wanted = len(self.spec.ports())
        deadline = time.monotonic() + 25
        while len(self.server.listening) < wanted and time.monotonic() < deadline:
            await asyncio.sleep(0.005)
        if len(self.server.listening) < wanted:
            missing = [name for name in self.spec.ports() if name not in self.server.listening]
            self._ready.set_exception(LabError(f"{', '.join(missing)} did not come up"))
            return
        ports = self.server.ports
        kafka = [(int(name.rsplit("-", 1)[1]), self.host, port) for name, port in ports.items()]
        self._ready.set_result(Addresses(kafka))

    def _ask_to_stop(self) -> None:
        if self._stopping is not None:
            self._stopping.set()

    def _shut_down(self) -> None:
        """All brokers at once, as fast as the world goes; then the coordination tree."""
        pump, world = self.pump, self.world
        pump.control({"do": "time", "speed": "play"})
        pump.stop()
        for group in (self.spec.client_names(), self.spec.broker_names(), self.spec.tree_names()):
            self._stop_nodes([name for name in group if name in world.nodes])
        self.server.flush()
        self.server.shut_down()
        self.files.close(world)
        for storage in self._storages.values():
            storage.close()

    def _stop_nodes(self, names: list[str]) -> None:
        world = self.world
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
        self.files.recorder.record(self.world, item)
        self.world.inject(item)
        self.world.run_due()

    # -- the end of a pass ------------------------------------------------------------------
    def _after_pass(self) -> None:
        self.server.flush()
        if not self._flush_armed and self._loop is not None:
            self._flush_armed = True
            self._loop.call_later(FLUSH_S, self._flush)

    def _flush(self) -> None:
        self._flush_armed = False
        if not self.stopped.is_set():
            self.feed.flush(self.world.seq, self.world.now_us)

    # -- for everybody else -----------------------------------------------------------------
    def _ask(self, function: Callable[..., T], *arguments: Any) -> Future[T]:
        """Call a function on the world's thread, between two events."""
        answer: Future[T] = Future()
        if self._loop is None or self.stopped.is_set():
            answer.set_exception(LabError("the lab is stopped"))
            return answer
        self._loop.call_soon_threadsafe(self._answer, answer, function, arguments)
        return answer

    def _answer(self, answer: Future[T], function: Callable[..., T], arguments: tuple[Any, ...]) -> None:
        try:
            answer.set_result(function(*arguments))
        except Exception as error:
            answer.set_exception(error)

    def submit(self, command: dict[str, Any]) -> Future[dict[str, Any]]:
        """Carry out a command; its result says `ok`, or `error` and `place`."""
        return self._ask(self.pump.command, command)

    def snapshot(self) -> Future[tuple[int, str]]:
        """(sequence number, JSON text) of the state between two events."""
        return self._ask(self._snapshot)

    def _snapshot(self) -> tuple[int, str]:
        self.feed.flush(self.world.seq, self.world.now_us)
        state = observe(self.world, self.spec)
        state["time"] = {
            "t_us": self.world.now_us, "speed": self.pump.speed, "paused": self.pump.paused,
            "epoch_ms": self.world.epoch_ms,
        }  # fmt: skip
        whole = {"run": self.run_id, "epoch": self.epoch, "t": self.world.now_us, "state": state}
        return self.world.seq, orjson.dumps(whole, option=orjson.OPT_NON_STR_KEYS).decode()

    def clock(self) -> dict[str, Any]:
        """Where the world's time stands and how fast it runs; read without asking the world's thread."""
        pump, world = self.pump, self.world
        return {"seq": world.seq, "t": world.now_us, "speed": pump.speed, "paused": pump.paused}

    def subscribe(self, subscriber: Subscriber) -> int:
        """Batches of events from now on, called on the world's thread; the token ends it."""
        with self._token_lock:
            self._last_token += 1
            token = self._last_token
        self._ask(self.feed.subscribe, token, subscriber)
        return token

    def unsubscribe(self, token: int) -> None:
        self._ask(self.feed.unsubscribe, token)

    def events_since(self, seq: int) -> Future[str | None]:
        """Rows behind `seq` as JSON text, None when they are no longer in memory."""
        return self._ask(self.feed.since, seq)

