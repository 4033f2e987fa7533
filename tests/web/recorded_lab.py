"""A lab that plays events written by hand, for tests of the web alone.

It has the interface of `web.live.lab.Lab` and no cluster behind it: `play` adds rows at virtual
times, commands are kept in `commands`, and a few of them are answered with the rows that a real
cluster would write. The state of its snapshots is the start's state; the reducers that the browser
runs are tested against rows, so a snapshot is only taken before the first row here, or given.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from broker_core.kernel.events import REGISTRY, TRANSITION
from broker_core.kernel.problems import Problem, problem
from lab.branch import BranchError
from lab.feed import Batch

Row = tuple[int, str, str, int, dict[str, Any]]  # (t, node, code, cause offset, params)


def start_state(topics: dict[str, Any] | None = None, brokers: int = 3) -> dict[str, Any]:
    """Three running brokers, controller 2, and what `topics` says."""
    ids = range(1, brokers + 1)
    znodes = {"/brokers/ids": {"version": 0, "ephemeral": None}, "/controller": {"version": 0, "ephemeral": "broker-2"}}
    znodes |= {f"/brokers/ids/{i}": {"version": 0, "ephemeral": f"broker-{i}"} for i in ids}
    return {
        "cluster": {
            "name": "lab",
            "controller_mode": "zookeeper",
            "controller": 2,
            "controller_epoch": 7,
            "preset": "default",
            "seed": 42,
            "settings": {},
        },
        "time": {"t_us": 0, "speed": 1.0, "paused": False, "clocks": [[0, 1_790_000_000_000]]},
        "brokers": {
            str(i): {
                "id": i,
                "node": f"broker-{i}",
                "state": "running",
                "how": None,
                "registered": True,
                "host": "127.0.0.1",
                "port": 9091 + i,
                "rack": None,
                "incarnation": 1,
            }
            for i in ids
        },
        "topics": topics or {},
        "groups": {},
        "clients": {},
        "connections": {},
        "znodes": znodes,
        "links": [],
    }


def topic_state(partitions: int, leo: int = 0, min_isr: int = 2) -> dict[str, Any]:
    """A topic on brokers 1, 2, 3 with `partitions` partitions that all replicas have up to `leo`."""

    def one(number: int) -> dict[str, Any]:
        replicas = [(number + i) % 3 + 1 for i in range(3)]
        logs = {str(i): {"leo": leo + number, "hw": leo + number, "start": 0} for i in replicas}
        return {
            "leader": replicas[0],
            "leader_epoch": 5,
            "isr": sorted(replicas),
            "replicas": replicas,
            "min_isr": min_isr,
            "logs": logs,
        }

    configs = {"min.insync.replicas": str(min_isr)}
    return {"internal": False, "configs": configs, "partitions": {str(n): one(n) for n in range(partitions)}}


class RecordedLab:
    """Plays rows; thread-safe as far as the tests need it."""

    def __init__(
        self, state: dict[str, Any] | None = None, answers: Callable[[RecordedLab, dict[str, Any]], None] | None = None
    ) -> None:
        self.run_id = "recorded"
        self.epoch = 1
        self.ended = False
        self.branches: dict[str, RecordedLab] = {}
        self.state = state or start_state()
        self.commands: list[dict[str, Any]] = []
        self.rows: list[list[Any]] = []
        self.forgotten = False  # whether events_since answers None
        self.refuse: Problem | None = None
        self.seq = 0
        self.t = 0
        self.paused = False
        self.speed = 1.0
        self._answers = answers
        self._callbacks: dict[int, Callable[[Batch], None]] = {}
        self._lock = threading.RLock()

    def play(self, *rows: Row) -> list[int]:
        """Add rows `(t, node, code, cause, params)`; a negative cause counts back from this row. Answers their sequences."""
        with self._lock:
            added = []
            for t, node, code, cause, params in rows:
                self.seq += 1
                self.t = max(self.t, t)
                added.append([self.seq, self.t, code, node, self.seq + cause if cause < 0 else cause, params])
            if not added:
                return []
            self.rows += added
            t0 = added[0][1]
            text = json.dumps([[seq, t - t0, *rest] for seq, t, *rest in added])
            batch = Batch(added[0][0], added[-1][0], t0, added[-1][1], text, len(added))
            for callback in list(self._callbacks.values()):
                callback(batch)
            return [row[0] for row in added]

    def lose(self, *rows: Row) -> None:
        """Add rows that no viewer is told of: a gap."""
        callbacks, self._callbacks = self._callbacks, {}
        self.play(*rows)
        self._callbacks = callbacks

    def snapshot(self) -> Future[tuple[int, str]]:
        done: Future[tuple[int, str]] = Future()
        with self._lock:
            text = json.dumps({"run": self.run_id, "epoch": self.epoch, "t": self.t, "state": self.state})
            done.set_result((self.seq, text))
        return done

    def subscribe(self, callback: Callable[[Batch], None]) -> int:
        token = len(self._callbacks) + 1
        self._callbacks[token] = callback
        return token

    def unsubscribe(self, token: int) -> None:
        self._callbacks.pop(token, None)

    def events_since(self, seq: int) -> Future[str | None]:
        done: Future[str | None] = Future()
        with self._lock:
            done.set_result(None if self.forgotten else json.dumps([row for row in self.rows if row[0] > seq]))
        return done

    def clock(self) -> dict[str, Any]:
        return {"seq": self.seq, "t": self.t, "speed": self.speed, "paused": self.paused}

    def branch(self, run: str | None = None) -> RecordedLab:
        if run not in (None, self.run_id):
            raise BranchError(problem("no_open_run", run=run, known=[self.run_id]))
        return self

    def view(self) -> dict[str, Any]:
        return {"run": self.run_id, "epoch": self.epoch, **self.clock()}

    def story(self, seq: int) -> Future[str]:
        done: Future[str] = Future()
        with self._lock:
            done.set_result(json.dumps([row for row in self.rows if row[0] <= seq and REGISTRY[row[2]].level == TRANSITION]))
        return done

    def history(self, seq: int, after: int = 0) -> Future[dict[str, Any]]:
        return self._nothing()

    def inspect(self, what: str, name: str) -> Future[dict[str, Any]]:
        return self._nothing()

    def _nothing(self) -> Future[dict[str, Any]]:
        done: Future[dict[str, Any]] = Future()
        done.set_exception(BranchError(problem("no_branches")))
        return done

    def submit(self, command: dict[str, Any]) -> Future[dict[str, Any]]:
        done: Future[dict[str, Any]] = Future()
        if self.refuse:
            self.commands.append(command)
            done.set_result({"ok": False, "problem": self.refuse, "place": "do"})
            return done
        if command["do"] == "time":
            self._time(command["speed"])
        else:
            self.play((self.t + 1000, "world", "command", 0, {"command": command}))
            if self._answers is not None:
                self._answers(self, command)
        self.commands.append(command)
        done.set_result({"ok": True, "seq": self.seq})
        return done

    def _time(self, speed: Any) -> None:
        if isinstance(speed, (int, float)):
            self.speed = float(speed)
        self.paused = speed in ("pause", "step_event", "step_state") or (self.paused and speed != "play")
