"""A process of its own that works for a page or a script: requests come as lines of JSON, events go back.

    python -m lab.analytics.worker

| line in | |
|---|---|
| `{"do": "replay", "id": 1, "paths": [...], "queries": [...], "out": "DIR"}` | queries and out may be left out |
| `{"do": "sweep", "id": 2, "scenario": "FILE", "grid": ["acks=0,1"], "seeds": "1..50", "out": "DIR"}` | |
| `{"do": "class", "id": 4, "paths": ["EXPORT"], "out": "DIR"}` | |
| `{"do": "rolling", "id": 3, "run": "DIR", "out": "DIR"}` | goes on beside other jobs until it is cancelled |
| `{"do": "cancel", "id": 1}` | queued or running |
| `{"do": "stop"}`, or the end of the input | |

| event out | with |
|---|---|
| ready | pid |
| queued, started, done, cancelled | id |
| session | id, seconds: Spark has started (first job only) |
| stage | id, stage, done, total: tasks of what Spark computes now |
| progress | id, what, done, total: answers, tables, report |
| answer | id, query, columns, rows, count |
| axes | id, keys, cells: what a sweep's table will have |
| runs | id, done, failed, total, seconds, rows (new ones), cells (sums so far) |
| figures | id, and what `rolling` has found |
| result | id, cells, failed (a sweep) |
| failed | id, error: a problem |
| refused | error: a line that is no request, a problem |

One job works at a time, and rolling figures beside it; Spark starts with the first one and stays. When its
virtual machine dies, this process ends with the code MACHINE_GONE, and `client` starts another one.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from broker_core.kernel.problems import problem
from lab.analytics import classes, grid, rolling, session, sweep, sweep_report, tally
from lab.analytics import replay as pipeline
from lab.analytics.errors import trouble as what_was
from lab.analytics.scratch import scratch

LOOK_S = 0.3
MACHINE_GONE = 70
GONE_S = 10.0
TAG = "job"
KINDS = ("replay", "sweep", "class", "rolling")
_BROKEN = (
    "Py4JNetworkError", "Py4JError", "ConnectionRefusedError", "ConnectionResetError", "BrokenPipeError", "EOFError",
)  # fmt: skip


class Cancelled(Exception):
    """The job at work is not wanted any more."""


class Worker:
    """Reads requests on one thread, works on another, watches Spark's stages on a third."""

    def __init__(self, source: BinaryIO, sink: BinaryIO, master: str | None = None) -> None:
        self.source = source
        self.sink = sink
        self.master = master
        self.spark: Any = None
        self._queue: deque[dict[str, Any]] = deque()
        self._change = threading.Condition()
        self._writing = threading.Lock()
        self._running: Any = None
        self._cancelled = False
        self._ended = False
        self._sweeping: tuple[Any, list[grid.Cell], tally.Tally] | None = None
        self._streams: dict[Any, Any] = {}
        self._below = ExitStack()
        self._home: Path | None = None
        self._jobs = {"replay": self._replay, "sweep": self._sweep, "class": self._class}

    # -- talking ----------------------------------------------------------------------------
    def tell(self, event: str, **facts: Any) -> None:
        """One event, at once."""
        line = orjson.dumps({"event": event, **facts}, default=str, option=orjson.OPT_NON_STR_KEYS) + b"\n"
        with self._writing:
            self.sink.write(line)
            self.sink.flush()

    def serve(self) -> None:
        """Until the input ends or says stop."""
        hands = threading.Thread(target=self._work, name="jobs")
        hands.start()
        threading.Thread(target=self._watch, name="stages", daemon=True).start()
        self.tell("ready", pid=os.getpid())
        for line in self.source:
            try:
                if not self._take(orjson.loads(line)):
                    break
            except (ValueError, TypeError, KeyError) as error:
                self.tell("refused", error=problem("no_job_request", why=f"{type(error).__name__}: {error}"))
        with self._change:
            self._ended = True
            self._queue.clear()
            self._change.notify()
        if self._running is not None:
            self._interrupt()
        hands.join()
        for number in list(self._streams):
            self._end_stream(number)
        if self.spark is not None:
            session.stop(self.spark)
        self._below.close()

    def _take(self, request: dict[str, Any]) -> bool:
        what = request["do"]
        if what == "stop":
            return False
        if what == "cancel":
            self._cancel(request["id"])
        elif what in KINDS:
            with self._change:
                self._queue.append(request)
                self._change.notify()
            self.tell("queued", id=request["id"])
        else:
            raise ValueError(f"do {what}: expected {', '.join(KINDS)}, cancel or stop")
        return True

    def _cancel(self, number: Any) -> None:
        with self._change:
            waiting = [request for request in self._queue if request["id"] == number]
            for request in waiting:
                self._queue.remove(request)
        if waiting:
            self.tell("cancelled", id=number)
        elif self._running == number:
            self._interrupt()
        elif self._end_stream(number):
            self.tell("cancelled", id=number)

    def _interrupt(self) -> None:
        self._cancelled = True
        if self.spark is not None:
            session.interrupt(self.spark, TAG)  # not the streams, which go on

    def _end_stream(self, number: Any) -> bool:
        stream = self._streams.pop(number, None)
        if stream is not None:
            stream.stop()
        return stream is not None

    # -- working ----------------------------------------------------------------------------
    def _work(self) -> None:
        while True:
            with self._change:
                while not self._queue and not self._ended:
                    self._change.wait()
                if self._ended:
                    return
                request = self._queue.popleft()
                self._cancelled, self._running = False, request["id"]
            self._do(request)
            self._running = None

    def _do(self, request: dict[str, Any]) -> None:
        number = request["id"]
        self.tell("started", id=number)
        try:
            self._start(number)
            if request["do"] == "rolling":
                self._roll(request)
                return
            session.tag(self.spark, TAG)
            self._jobs[request["do"]](request)
            self.tell("done", id=number)
        except Exception as error:
            self._end_if_machine_is_gone(error)
            if self._cancelled:
                self.tell("cancelled", id=number)
            else:
                self.tell("failed", id=number, error=what_was(error))
        finally:
            self._sweeping = None
            self._untag()

    def _untag(self) -> None:
        """The end of a job's tag; when the virtual machine cannot be asked any more, the end of this process."""
        if self.spark is None:
            return
        try:
            session.untag(self.spark, TAG)
        except Exception as error:
            self._end_if_machine_is_gone(error)

    def _start(self, number: Any) -> None:
        if self.spark is None:
            began = time.monotonic()
            self.spark = session.start("brokerlab worker", self.master)
            self.tell("session", id=number, seconds=round(time.monotonic() - began, 2))
        self._go_on()

    def _go_on(self) -> None:
        if self._cancelled:
            raise Cancelled

    def _replay(self, request: Mapping[str, Any]) -> None:
        number, out = request["id"], request.get("out")

        def progress(what: str, done: int, total: int) -> None:
            self.tell("progress", id=number, what=what, done=done, total=total)
            self._go_on()

        names = request.get("queries") or []
        for answer in pipeline.replay(self.spark, request["paths"], names, Path(out) if out else None, progress):
            self.tell("answer", id=number, **pipeline.plain(answer))

    def _class(self, request: Mapping[str, Any]) -> None:
        """What a class has done, from its export."""
        for done, answer in enumerate(classes.replay(self.spark, request["paths"], Path(request["out"])), 1):
            number, total = request["id"], len(classes.QUESTIONS)
            self.tell("progress", id=number, what=answer.name, done=done, total=total)
            self.tell("answer", id=number, **classes.plain(answer))
            self._go_on()

    def _sweep(self, request: Mapping[str, Any]) -> None:
        number, out = request["id"], Path(request["out"]) if request.get("out") else None
        scenario, keys = request["scenario"], grid.parse_grid(request.get("grid") or [])
        cells = grid.cells(scenario, keys)
        seeds = grid.parse_seeds(str(request.get("seeds", "1..10")))
        if out is not None:
            sweep.write_cells(cells, out)
        self.tell("axes", id=number, keys=keys, cells=[{"cell": cell.name, "values": cell.values} for cell in cells])
        box = tally.letter_box(self.spark)
        count = tally.Tally(len(cells) * len(seeds), box)
        self._sweeping = (number, cells, count)
        home = self._below.enter_context(scratch()) if self._home is None else self._home
        self._home = home
        frame = sweep.sweep(self.spark, scenario, cells, seeds, out, box, home)
        results, trouble = sweep.carry_out(frame, count)
        self._go_on()
        if trouble is not None:
            self._end_if_machine_is_gone(trouble)
            results += sweep.left_open(scenario, cells, seeds, out, results, what_was(trouble))
        self._sweeping = None
        summary = self._tell_runs(number, cells, count, count.look() + count.add(results))
        if out is not None:
            sweep_report.write(out, cells, summary, results)
        self.tell("result", id=number, cells=summary, failed=sweep_report.failures(results))

    def _tell_runs(
        self, number: Any, cells: list[grid.Cell], count: tally.Tally, fresh: list[tally.Row]
    ) -> list[dict[str, Any]]:  # fmt: skip
        summary = sweep.summarise(cells, count.rows)
        self.tell("runs", id=number, **count.facts(fresh), cells=summary)
        return summary

    def _roll(self, request: Mapping[str, Any]) -> None:
        """Begin a stream; it goes on by itself, and its figures come on a thread of Spark's."""
        number = request["id"]

        def figures(found: Mapping[str, Any]) -> None:
            self.tell("figures", id=number, **found)

        self._streams[number] = rolling.start(self.spark, Path(request["run"]), Path(request["out"]), figures)

    # -- watching ---------------------------------------------------------------------------
    def _watch(self) -> None:
        """Tell how far the stages of the running job are, whenever that changes; end when the machine has died."""
        told: dict[int, int] = {}
        while not self._ended:
            time.sleep(LOOK_S)
            if not self._ended and _machine_is_gone():
                os._exit(MACHINE_GONE)
            self._watch_streams()
            number, spark = self._running, self.spark
            if number is None or spark is None:
                continue
            if self._cancelled:
                session.interrupt(spark, TAG)  # again: what the job was about to start when it was cancelled
            self._tell_stages(number, told)
            sweeping = self._sweeping
            if sweeping is not None and (fresh := sweeping[2].look()):
                self._tell_runs(*sweeping, fresh)

    def _tell_stages(self, number: Any, told: dict[int, int]) -> None:
        try:
            tracker = self.spark.sparkContext.statusTracker()
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        except Exception:
            return  # Spark Connect has no tracker; a session that ends has none any more
        for stage in stages:
            if stage is not None and told.get(stage.stageId) != stage.numCompletedTasks:
                told[stage.stageId] = stage.numCompletedTasks
                done, total = stage.numCompletedTasks, stage.numTasks
                self.tell("stage", id=number, stage=stage.stageId, done=done, total=total)

    def _watch_streams(self) -> None:
        """A stream that has ended by itself has failed."""
        for number, stream in list(self._streams.items()):
            error = stream.error
            if error is not None and self._end_stream(number):
                self.tell("failed", id=number, error=error)

    def _end_if_machine_is_gone(self, error: BaseException) -> None:
        """A broken connection to the virtual machine: give it a moment to be seen dead.

        A question that was under way comes back as a bare `Py4JError`, without the cause: what Java has thrown
        is a `Py4JJavaError`. The sockets of a process that is killed close before its parent can see it ended.
        """
        deadline = time.monotonic() + (GONE_S if any(type(one).__name__ in _BROKEN for one in _chain(error)) else 0)
        while not (gone := _machine_is_gone()) and time.monotonic() < deadline:
            time.sleep(0.05)
        if gone:
            os._exit(MACHINE_GONE)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error, and what it came from."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _machine_is_gone() -> bool:
    """Whether the virtual machine that this process has started has ended by itself."""
    context = sys.modules.get("pyspark.core.context")
    gateway = getattr(getattr(context, "SparkContext", None), "_gateway", None)
    process = getattr(gateway, "proc", None)
    return process is not None and process.poll() is not None


def main() -> None:
    """Serve standard input; whatever else would print goes to standard error."""
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    Worker(sys.stdin.buffer, sink, sys.argv[1] if len(sys.argv) > 1 else None).serve()


if __name__ == "__main__":
    main()
