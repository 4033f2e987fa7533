"""The other end of `worker`: starts the process when it is first needed, and again when it has died.

Imports neither Spark nor what Spark needs, and never waits for a virtual machine: a request is written, events
come back on a thread of this object.

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
from pathlib import Path
from typing import Any

import orjson

CHECKOUT = Path(__file__).resolve().parents[2]
ENDINGS = ("done", "failed", "cancelled")


class SparkWorker:
    """One worker process at most. `on_event` is called on a thread of this object."""

    def __init__(self, on_event: Callable[[dict[str, Any]], None], master: str | None = None) -> None:
        self.on_event = on_event
        self.master = master
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._open: dict[int, subprocess.Popen[bytes]] = {}
        self._last = 0

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def submit(self, request: Mapping[str, Any]) -> int:
        """Hand in a job; its number. The process is started when there is none."""
        with self._lock:
            if not self.alive:
                self._start()
            self._last += 1
            number = self._last
            try:
                self._hand_in(number, request)
            except OSError:  # it has died since
                self._start()
                self._hand_in(number, request)
        return number

    def cancel(self, number: int) -> None:
        """Ask for the end of a job; `cancelled` follows. One that has ended is left alone."""
        with self._lock:
            if number in self._open and self.alive:
                try:
                    self._write({"do": "cancel", "id": number})
                except OSError:
                    pass  # it has just died: its reader tells

    def stop(self, timeout_s: float = 20.0) -> None:
        """End the process; jobs that are open end with it."""
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
        paths = [str(CHECKOUT), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
        command = [sys.executable, "-P", "-m", "lab.analytics.worker", *([self.master] if self.master else [])]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=CHECKOUT,
            start_new_session=True,  # Ctrl-C in a terminal is for the program that the person has started
            env=os.environ | {"PYTHONPATH": os.pathsep.join(dict.fromkeys(paths))},
        )  # fmt: skip
        threading.Thread(target=self._read, args=(self._process,), name="spark-worker", daemon=True).start()

    def _hand_in(self, number: int, request: Mapping[str, Any]) -> None:
        assert self._process is not None
        self._open[number] = self._process
        self._write({**request, "id": number})

    def _write(self, request: Mapping[str, Any]) -> None:
        assert self._process is not None and self._process.stdin is not None
        self._process.stdin.write(orjson.dumps(request) + b"\n")
        self._process.stdin.flush()

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        """Pass events on; when the process is gone, every job that it had open has failed."""
        assert process.stdout is not None
        for line in process.stdout:
            event = orjson.loads(line)
            if event["event"] in ENDINGS:
                self._open.pop(event["id"], None)
            self.on_event(event)
        code = process.wait()
        with self._lock:
            left = [number for number, its in self._open.items() if its is process]
            for number in left:
                del self._open[number]
        for number in left:
            self.on_event({"event": "failed", "id": number, "error": f"the Spark worker has ended (exit code {code})"})
