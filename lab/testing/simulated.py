"""A cluster in virtual time: a world in memory that stands still between two lines of a test.

```
with cluster(simulated=True, seed=7, topics={"orders": 1}) as kafka:
    kafka.start_client("producer-1", kind="producer", topic="orders", rate=100, settings={"acks": "1"})
    kafka.run(5)
    kafka.power_loss(leader_of="orders-0")
    kafka.wait(leader_of="orders-0", is_="changed")
    kafka.settle()
    assert kafka.receipt()["lost"] == 0
```
Same description, seed and calls: the same journal (`digest`), in any process. So a failure comes again, and a loop over
seeds looks for one. What is recorded in `directory` can be executed again with `./brokerlab verify`.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from broker_core.kernel.errors import CommandError
from broker_core.kernel.node import STOPPED
from lab.checkers.copies import copies_of
from lab.checkers.invariants import InvariantMonitor
from lab.client.errors import NoPorts, NotMet
from lab.clusters import observe
from lab.clusters.build import memory
from lab.clusters.spec import RunSpec
from lab.experiments.directory import RunDirectory
from lab.experiments.driven import Driven
from lab.outcomes import outcome
from lab.receipts import Receipts
from lab.scenarios.conditions import Condition, value_of
from lab.testing.clusters import Cluster, Event, chosen, refuse, subject_of

ANSWER_US = 30_000_000


class SimulatedCluster(Driven, Cluster):
    """Built-in clients only. Nothing happens but inside of its methods."""

    def __init__(self, spec: RunSpec, directory: Path | None = None) -> None:
        """Raises DirectoryError, and RunError or CommandError when the cluster does not form."""
        self._temporary = directory is None
        home = Path(tempfile.mkdtemp(prefix="brokerlab-cluster-")) if directory is None else directory
        super().__init__(spec, RunDirectory(home), memory)
        self.directory = home
        self.monitor = InvariantMonitor(self.world)
        self._receipts = Receipts(self.world, self.spec, self.files)
        self._hash = hashlib.sha256()
        self._closed = False
        self.files.attach(self.world)
        self.files.readers.append(self._hash.update)
        self.files.describe(kind="simulated", spec=spec.to_dict(), seed=spec.seed, start=None, steps_by="test")
        try:
            self._form()
        except BaseException:
            self.close()
            raise

    # -- where, when ------------------------------------------------------------------------
    @property
    def bootstrap(self) -> str:
        """There are no ports: a world of its own has its own network."""
        raise NoPorts

    @property
    def now_s(self) -> float:
        return self.world.now_us / 1e6

    def run(self, seconds: float) -> None:
        self._run_until(self.world.now_us + int(seconds * 1_000_000))

    # -- commands and conditions ------------------------------------------------------------
    def command(self, command: dict[str, Any]) -> dict[str, Any]:
        try:
            result = self._command(command)
        except CommandError as error:
            refuse(error)
        return {key: value for key, value in {**result, **self._outcome(result, command)}.items() if key != "ok"}

    def _outcome(self, result: dict[str, Any], command: dict[str, Any]) -> dict[str, Any]:
        """What the cluster has agreed to, in its own time."""
        if "id" not in result:
            return {}
        self._wait(lambda: outcome(self.world, result["id"], command) is not None, ANSWER_US)
        found = outcome(self.world, result["id"], command)
        if found is not None and "problem" in found:
            refuse(CommandError(found["problem"], found["place"]), found["code"])
        return {"pending": True} if found is None else found

    def value(self, **subject: Any) -> Any:
        return value_of(self.world, *subject_of(subject))

    def _wait_for(self, wanted: Condition, within_us: int, before: Any) -> Any:
        since_us = self.world.now_us
        known = wanted.value(self.world) if before is None else before
        if not self._wait(wanted.holds, within_us, self.world, known):
            raise NotMet(str(wanted), "within", wanted.value(self.world), self.world.now_us - since_us)
        return wanted.value(self.world)

    def settle(self, within: float = 120) -> None:
        """All faults end, dead brokers start, and everything comes to rest: in sync, led. Raises NotMet."""
        self.heal()
        for _, node in observe.brokers(self.world):
            if node.state == STOPPED:
                self.restart(node=node.name)
        since_us = self.world.now_us
        if not self._wait(self._at_rest, int(within * 1_000_000)):
            raise NotMet("at rest", "within", None, self.world.now_us - since_us)

    # -- what happened ----------------------------------------------------------------------
    def events(self, codes: str | Iterable[str] | None = None, since: int = 0) -> list[Event]:
        return chosen(self.world.journal.tail, codes, since)

    def receipt(self) -> dict[str, Any]:
        return self._receipts.now() or {}

    @property
    def violations(self) -> dict[str, int]:
        """Invariants that were found violated (docs/invariants.md), and how often."""
        return self.monitor.red()

    @property
    def digest(self) -> str:
        """SHA-256 of the journal so far: two runs that went alike have the same."""
        self.world.journal.flush()
        return self._hash.copy().hexdigest()

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self.files.describe(invariants=self.monitor.to_dict(), copies=copies_of(self.world, self.spec))
        self.files.close(self.world)
        if self._temporary:
            shutil.rmtree(self.directory, ignore_errors=True)
