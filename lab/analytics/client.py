"""The other end of `worker`: starts the process when it is first needed, and again when it has died.

Imports neither Spark nor what Spark needs, and never waits for a virtual machine: a request is written, events
come back on a thread of this object. Jobs that were open when a worker died are told (`restarted`, with the
reason) and handed to a new one, `TRIES` times at most; then they have failed.

    spark = SparkWorker(on_event)
    number = spark.submit({"do": "replay", "paths": ["DIR"]})      on_event({"event": "answer", "id": number, ...})
    spark.cancel(number)
    spark.stop()
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from broker_core.kernel.problems import Problem, problem
from lab.places import ROOT

ENDINGS = ("done", "failed", "cancelled")
TRIES = 2
MACHINE_GONE = 70


@dataclass(slots=True)
class Job:
    """What was handed in, who works on it, for the how manieth time."""

    request: dict[str, Any]
    process: subprocess.Popen[bytes]
    tries: int = 1
    unwanted: bool = False


class SparkWorker:
    """One worker process at most. `on_event` is called on a thread of this object."""

    def __init__(self, on_event: Callable[[dict[str, Any]], None], master: str | None = None) -> None:
        self.on_event = on_event
        self.master = master
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._open: dict[int, Job] = {}
        self._last = 0
        self._stopping = False

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int | None:
        """The process that works, or has worked last."""
        return None if self._process is None else self._process.pid

    def submit(self, request: Mapping[str, Any]) -> int:
        """Hand in a job; its number. The process is started when there is none."""
        with self._lock:
            self._last += 1
            self._hand_in(self._last, dict(request), 1)
            return self._last

    def cancel(self, number: int) -> None:
        """Ask for the end of a job; `cancelled` follows. One that has ended is left alone."""
        with self._lock:
            job = self._open.get(number)
            if job is not None and self.alive:
                job.unwanted = True
                try:
                    self._write({"do": "cancel", "id": number})
                except OSError:
                    pass  # it has just died: its reader tells

    def stop(self, timeout_s: float = 20.0) -> None:
        """End the process; jobs that are open end with it."""
        with self._lock:
            self._stopping = True
            process = self._process
        if process is None or process.stdin is None:
            return
        try:
            process.stdin.close()
        except OSError:
            pass
        try:
            process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _start(self) -> None:
        paths = [str(ROOT), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
        command = [sys.executable, "-P", "-m", "lab.analytics.worker", *([self.master] if self.master else [])]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT,
            start_new_session=True,  # Ctrl-C in a terminal is for the program that the person has started
            env=os.environ | {"PYTHONPATH": os.pathsep.join(dict.fromkeys(paths))},
        )  # fmt: skip
        threading.Thread(target=self._read, args=(self._process,), name="spark-worker", daemon=True).start()

    def _hand_in(self, number: int, request: dict[str, Any], tries: int) -> None:
        if not self.alive:
            self._start()
        try:
            self._give(number, request, tries)
        except OSError:  # it has died since
            self._start()
            self._give(number, request, tries)

    def _give(self, number: int, request: dict[str, Any], tries: int) -> None:
        assert self._process is not None
        self._open[number] = Job(request, self._process, tries)
        self._write({**request, "id": number})

    def _write(self, request: Mapping[str, Any]) -> None:
        assert self._process is not None and self._process.stdin is not None
        self._process.stdin.write(orjson.dumps(request) + b"\n")
        self._process.stdin.flush()

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        """Pass events on; when the process is gone, see to the jobs that it had open."""
        assert process.stdout is not None
        for line in process.stdout:
            event = orjson.loads(line)
            if event["event"] in ENDINGS:
                with self._lock:
                    self._open.pop(event["id"], None)
            self.on_event(event)
        code = process.wait()
        reason = problem("machine_died") if code == MACHINE_GONE else problem("worker_ended", n=code)
        with self._lock:
            events = [self._after_death(number, job, reason) for number, job in list(self._open.items())
                      if job.process is process]
        for event in events:
            self.on_event(event)

    def _after_death(self, number: int, job: Job, reason: Problem) -> dict[str, Any]:
        """Hand a job to a new worker, unless nobody wants it or it has had its tries; what is told of it."""
        del self._open[number]
        if job.unwanted:
            return {"event": "cancelled", "id": number}
        if self._stopping or job.tries >= TRIES:
            return {"event": "failed", "id": number, "error": reason}
        self._hand_in(number, job.request, job.tries + 1)
        return {"event": "restarted", "id": number, "error": reason}
