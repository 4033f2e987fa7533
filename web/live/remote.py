"""A lab that another process hosts, with the interface of `web.live.lab.Lab`: hub, viewers and pages notice nothing.

```
viewers -> hub -> RemoteLab  == Redis ==>  LabHost -> LiveLab          calls and their answers
viewers <- hub <- RemoteLab  <== Redis ==  LabHost <- LiveLab          one batch for each flush
```
Batches come by a `watch`. When the host was started anew, viewers are cut to a snapshot. What is asked while a
watch begins waits until it has begun: a snapshot is never older than the first batch.
"""

from __future__ import annotations

from broker_core.kernel.problems import Problem, problem
import asyncio
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from functools import partial
from typing import Any

from lab.branch import BranchError
from lab.open_runs import LabError
from web.live import wire_names as names
from lab.feed import Batch
from web.live.hub import LabHub, hub
from web.live.watch import RETRY_S, Watch, received



class LabUnreachable(BranchError, LabError):
    """The process that hosts the lab does not answer."""


def cut_viewers(of: LabHub | None, run: str | None) -> None:
    """All viewers of a run of a lab (the process's own without one) in this process get a snapshot next."""
    found = hub if of is None else of
    for viewer in list((found if run is None else found.of(run)).viewers):
        viewer.cut()


class RemoteLab:
    """Methods are called on the web's event loop; answers come as futures."""

    def __init__(
        self, name: str, layer: Any = None, lost: Callable[[str | None], None] | None = None,
        patience_s: float = names.PATIENCE_S,
    ) -> None:  # fmt: skip
        """`patience_s`: after how long a host that says nothing counts as gone."""
        self.name = name
        self.patience_s = patience_s
        self.run_id = ""
        self.ended = False
        self.epoch = 0
        self.lost = lost or partial(cut_viewers, None)
        self._layer = layer
        self._host = ""
        self._clock: dict[str, Any] = {"seq": 0, "t": 0, "speed": 1.0, "paused": False, "over": []}
        self._clock_at = time.monotonic()
        self.branches: dict[str, RemoteBranch] = {}  # open runs, as the host told them last
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pending: dict[int, Future[Any]] = {}
        self._progress: dict[int, Callable[[float], None]] = {}
        self._shares: dict[int, float] = {}
        self._calls = 0
        self._watches: dict[str | None, Watch] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._own: asyncio.Future[str]

    # -- the interface ----------------------------------------------------------------------
    def snapshot(self, run: str | None = None) -> Future[Any]:
        return self.call("snapshot", run)

    def submit(self, command: dict[str, Any], run: str | None = None) -> Future[Any]:
        answer = self.call("submit", run, command)
        if run is None and command.get("do") == "time":
            answer.add_done_callback(self.note_time)
        return answer

    def events_since(self, seq: int, run: str | None = None) -> Future[Any]:
        return self.call("events_since", run, seq)

    def story(self, seq: int, run: str | None = None) -> Future[Any]:
        return self.call("story", run, seq)

    def history(self, seq: int, after: int = 0, run: str | None = None) -> Future[Any]:
        return self.call("history", run, seq, after)

    def inspect(self, what: str, name: str, run: str | None = None) -> Future[Any]:
        return self.call("inspect", run, what, name)

    def question(
        self, run_id: str, message: dict[str, Any], progress: Callable[[float], None] | None = None
    ) -> Future[Any]:  # fmt: skip
        """The acknowledgement of any question of a viewer's (`asking`), as the host gives it; `progress` is called
        with the share that is done, as often as the host says so."""
        return self.call("question", None, run_id, message, patience_s=names.SLOW_PATIENCE_S, progress=progress)

    def fork(
        self, run_id: str, seq: int | None = None, t_us: int | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> Future[Any]:  # fmt: skip
        """As a lab's own; of a call its progress is not told, of a question it is."""
        return self.call("fork", None, run_id, seq, t_us, patience_s=names.SLOW_PATIENCE_S)

    def open_run(self, name: str, progress: Callable[[float], None] | None = None) -> Future[Any]:
        return self.call("open_run", None, name, patience_s=names.SLOW_PATIENCE_S)

    def close_branch(self, run_id: str) -> Future[Any]:
        return self.call("close_branch", None, run_id)

    def subscribe(self, callback: Callable[[Batch], None], run: str | None = None) -> tuple[str | None, int]:
        """Batches from now on."""
        self._start()
        watch = self._watches.get(run)
        if watch is None:
            watch = self._watches[run] = Watch(self, run)
            watch.task = self.keep(watch.follow())
        watch.tokens += 1
        watch.subscribers[watch.tokens] = callback
        return run, watch.tokens

    def unsubscribe(self, token: tuple[str | None, int]) -> None:
        """No more; the last one ends the watch."""
        run, number = token
        watch = self._watches.get(run)
        if watch is not None and watch.subscribers.pop(number, None) is not None and not watch.subscribers:
            del self._watches[run]
            if watch.task is not None:
                watch.task.cancel()

    def view(self) -> dict[str, Any]:
        """As far as it is known here."""
        return {"run": self.run_id, "epoch": self.epoch, **self.clock()}

    def clock(self) -> dict[str, Any]:
        """The host's clock as it was told last, carried on with its speed."""
        told = self._clock
        elapsed = 0.0 if told["paused"] else (time.monotonic() - self._clock_at) * told["speed"]
        return {**told, "t": told["t"] + int(elapsed * 1_000_000)}

    def branch(self, run: str | None = None) -> RemoteLab | RemoteBranch:
        """An open run, the live one without a name. Raises BranchError."""
        if run is None or run == self.run_id:
            return self
        if run not in self.branches:
            raise BranchError(problem("no_open_run", run=run, known=list(self.branches)))
        return self.branches[run]

    # -- calls ------------------------------------------------------------------------------
    def call(
        self, what: str, run: str | None, *arguments: Any, patience_s: float | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> Future[Any]:  # fmt: skip
        """Ask the host; LabUnreachable when it does not answer in time."""
        self._start()
        answer: Future[Any] = Future()
        self.keep(self._call(answer, what, run, arguments, patience_s or self.patience_s, progress))
        return answer

    async def _call(
        self, answer: Future[Any], what: str, run: str | None, arguments: tuple[Any, ...], patience_s: float,
        progress: Callable[[float], None] | None,
    ) -> None:  # fmt: skip
        watch = self._watches.get(run)
        if watch is not None and what != "watch":
            await asyncio.wait([asyncio.ensure_future(watch.ready.wait())], timeout=names.PATIENCE_S)
        self._calls += 1
        number = self._calls
        self._pending[number] = answer
        if progress is not None:
            self._progress[number] = progress
        try:
            call = {"type": "call", "what": what, "run": run, "args": list(arguments), "n": number,
                    "to": await asyncio.shield(self._own), "at": time.time(),
                    "stale_s": names.STALE_S + self.patience_s - names.PATIENCE_S}  # fmt: skip
            await self._layer.send(names.calls(self.name), call)
        except Exception as error:
            await asyncio.sleep(RETRY_S)
            self._settle(number, error=problem("not_asked", why=str(error)), unreachable=True)
        assert self._loop is not None
        self._loop.call_later(patience_s, self._give_up, number)

    def _give_up(self, number: int) -> None:
        """Unless the host has said meanwhile how far it has come: then it is asked to go on."""
        if self._shares.pop(number, None) is not None:
            assert self._loop is not None
            self._loop.call_later(names.PATIENCE_S, self._give_up, number)
            return
        self._settle(number, error=problem("host_silent"), unreachable=True)

    def _settle(self, number: int, value: Any = None, error: Problem | None = None, unreachable: bool = False) -> None:
        answer = self._pending.pop(number, None)
        self._progress.pop(number, None)
        self._shares.pop(number, None)
        if answer is None or answer.done():
            return
        if error is not None:
            answer.set_exception(LabUnreachable(error) if unreachable else BranchError(error))
            return
        answer.set_result(tuple(value) if isinstance(value, list) else value)

    def _lost_all(self, reason: str) -> None:
        """What was asked is gone with the server that had it."""
        for number in list(self._pending):
            self._settle(number, error=problem("not_asked", why=reason), unreachable=True)

    def note_time(self, answer: Future[Any]) -> None:
        """A command has changed the live run's speed: heartbeats say so at once."""
        result = answer.result() if answer.exception() is None else {}
        if "paused" in result:
            self._told_clock({**self.clock(), "speed": result["speed"], "paused": result["paused"]})

    # -- life -------------------------------------------------------------------------------
    def _start(self) -> None:
        """At the first use in an event loop: a channel of one's own for answers."""
        loop = asyncio.get_running_loop()
        if self._loop is loop:
            return
        if self._layer is None:
            from channels.layers import get_channel_layer

            self._layer = get_channel_layer("processes")
        self._loop = loop
        self._own = loop.create_future()
        self._watches.clear()
        self.keep(self._receive_answers())

    def keep(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """A task that is not forgotten."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _receive_answers(self) -> None:
        channel = await self._layer.new_channel(names.OWN)
        self._own.set_result(channel)
        async for message in received(self._layer, channel, self._lost_all):
            if "share" in message:
                if message["n"] in self._progress:
                    self._shares[message["n"]] = message["share"]
                    self._progress[message["n"]](message["share"])
                continue
            if "facts" in message:
                self.told(message["facts"])
            self._settle(message["n"], message.get("value"), message.get("error"))

    def told(self, facts: dict[str, Any]) -> None:
        """Which run is live, which are open; a host that was started anew begins with a snapshot."""
        fresh = self._host not in ("", facts["host"])
        self._host, self.run_id, self.epoch = facts["host"], facts["run"], facts["epoch"]
        views = {view["run"]: view for view in facts["branches"]}
        for run in [run for run in self.branches if run not in views]:
            self.branches.pop(run).ended = True
        for run, view in views.items():
            self.branches.setdefault(run, RemoteBranch(self, run)).facts = view
        self._told_clock(facts["clock"])
        if fresh:
            self.lost(None)

    def _told_clock(self, clock: dict[str, Any]) -> None:
        self._clock, self._clock_at = clock, time.monotonic()

    def of(self, hub: LabHub) -> None:
        """Whose viewers are cut to a snapshot when something was lost."""
        self.lost = partial(cut_viewers, hub)

    def close(self) -> None:
        """Its host is gone, or holds it no longer: what was asked is not answered any more."""
        self.ended = True
        for task in list(self._tasks):
            task.cancel()
        self._lost_all("-")

    def moved(self, seq: int) -> None:
        """A batch of the live run came."""
        self._clock["seq"] = max(self._clock["seq"], seq)

    @property
    def layer(self) -> Any:
        return self._layer


class RemoteBranch:
    """An open run of a remote lab."""

    def __init__(self, lab: RemoteLab, run: str) -> None:
        self.lab = lab
        self.run = self.run_id = run
        self.ended = False
        self.facts: dict[str, Any] = {"epoch": 1, "seq": 0, "t": 0, "speed": 1.0, "paused": True, "over": []}

    @property
    def epoch(self) -> int:
        """Grows with each fork."""
        return int(self.facts["epoch"])

    def snapshot(self) -> Future[Any]:
        return self.lab.snapshot(self.run)

    def submit(self, command: dict[str, Any]) -> Future[Any]:
        return self.lab.submit(command, self.run)

    def events_since(self, seq: int) -> Future[Any]:
        return self.lab.events_since(seq, self.run)

    def story(self, seq: int) -> Future[Any]:
        return self.lab.story(seq, self.run)

    def history(self, seq: int, after: int = 0) -> Future[Any]:
        return self.lab.history(seq, after, self.run)

    def inspect(self, what: str, name: str) -> Future[Any]:
        return self.lab.inspect(what, name, self.run)

    def subscribe(self, callback: Callable[[Batch], None]) -> Any:
        return self.lab.subscribe(callback, self.run)

    def unsubscribe(self, token: Any) -> None:
        self.lab.unsubscribe(token)

    def view(self) -> dict[str, Any]:
        """What a list of branches shows."""
        return self.facts

    def clock(self) -> dict[str, Any]:
        """As it was told last."""
        return {name: self.facts[name] for name in ("seq", "t", "speed", "paused", "over")}
