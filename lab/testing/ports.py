"""A cluster on real ports: the live lab (`lab.live`) on a thread of its own.

Its start is hurried (`lab.live.HURRY`).
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from broker_core.kernel.errors import CommandError, Refusal
from lab.client.errors import NotMet
from lab.clusters.topic_spec import TopicSpec
from lab.experiments.driven import all_led, creating
from lab.live import HURRY, LiveLab
from lab.scenarios.conditions import Condition, value_of
from lab.testing.clusters import Cluster, Event, chosen, refuse, subject_of
from lab.testing.described import described
from lab.waiting import Wanted

START_S, ANSWER_S, LOOK_S = 60.0, 30.0, 0.005


def _answer(coming: Future[Any], patience_s: float) -> Any:
    """What the world's thread says. Raises Refused, also when the cluster has been closed."""
    try:
        return coming.result(patience_s)
    except Refusal as error:
        refuse(error)


class PortCluster(Cluster):
    """Any client can attach to `bootstrap`. All methods may be called from any thread."""

    def __init__(self, given: dict[str, Any], directory: Path | None = None, speed: float = 1.0) -> None:
        """`given`: the arguments of `described`. Raises SpecError, LabError."""
        spec = described(**{"epoch_ms": time.time_ns() // 1_000_000, **given})
        self._temporary = directory is None
        self._home = Path(tempfile.mkdtemp(prefix="brokerlab-cluster-")) if directory is None else directory
        self._lab = LiveLab(spec, self._home, speed=HURRY, sole=False)
        try:
            self._addresses = self._lab.start(START_S)
            self.directory = self._lab.main.files.path
            self._prepare(spec.topics)
            self.speed = speed
        except BaseException:
            self.close()
            raise

    def _prepare(self, topics: list[TopicSpec]) -> None:
        for topic in topics:
            self.command(creating(topic))
        deadline = time.monotonic() + ANSWER_S
        while not self._ask(all_led, self._lab.world, topics):
            if time.monotonic() > deadline:
                raise TimeoutError("topics have no leaders")
            time.sleep(LOOK_S)

    def _ask(self, what: Any, *arguments: Any) -> Any:
        """On the world's thread, between two events."""
        return _answer(self._lab.main.ask(what, *arguments), ANSWER_S)

    # -- where, when ------------------------------------------------------------------------
    @property
    def bootstrap(self) -> str:
        return self._addresses.bootstrap

    @property
    def now_s(self) -> float:
        return float(self._lab.clock()["t"]) / 1e6

    @property
    def speed(self) -> float:
        """Virtual seconds per second, 1/1000 to 100: who waits for a timeout of Kafka's may hurry meanwhile."""
        return float(self._lab.clock()["speed"])

    @speed.setter
    def speed(self, value: float) -> None:
        self.do("time", speed=value)

    def run(self, seconds: float) -> None:
        end_s = self.now_s + seconds
        while (left := end_s - self._ask(lambda: self.now_s)) > 0:  # one that is closed says so: its clock stands
            time.sleep(min(0.1, left / self.speed))

    # -- commands and conditions ------------------------------------------------------------
    def command(self, command: dict[str, Any]) -> dict[str, Any]:
        result = _answer(self._lab.submit(command), ANSWER_S)
        if not result.get("ok"):
            refuse(CommandError(result["problem"], result.get("place", "")), result.get("code"))
        return {key: value for key, value in result.items() if key != "ok"}

    def value(self, **subject: Any) -> Any:
        return self._ask(value_of, self._lab.world, *subject_of(subject))

    def _wait_for(self, wanted: Condition, within_us: int, before: Any) -> Any:
        patience_s = within_us / 1e6 / self.speed + ANSWER_S
        asked = Wanted(wanted, within_us, patience_s, before)
        found = _answer(self._lab.main.wait(asked), patience_s + ANSWER_S)
        if not found["met"]:
            raise NotMet(str(wanted), found["gave_up"], found["value"], found["waited_us"])
        return found["value"]

    # -- what happened ----------------------------------------------------------------------
    def events(self, codes: str | Iterable[str] | None = None, since: int = 0) -> list[Event]:
        rows = self._ask(lambda: list(self._lab.world.journal.tail))
        return chosen(rows, codes, since)

    def receipt(self) -> dict[str, Any]:
        found: dict[str, Any] | None = self._ask(self._lab.main.receipt)
        return found or {}

    def close(self) -> None:
        try:
            self._lab.stop(None)
        finally:
            if self._temporary:
                shutil.rmtree(self._home, ignore_errors=True)
