"""The receipt of an open run, kept as it goes: what built-in clients did, and what the brokers saw of others."""

from __future__ import annotations

from typing import Any

from broker_core.kernel.world import World
from lab.checkers.copies import copies_of
from lab.checkers.kept import Kept
from lab.checkers.kept_log import TooMuch
from lab.checkers.kept_receipt import kept_receipt
from lab.checkers.receipt_outside import KeptOutside
from lab.clusters.spec import RunSpec
from lab.experiments.directory import RunDirectory


class Receipts:
    """Of a world that has done nothing yet. Everything on the world's thread; nothing changes in the world."""

    def __init__(self, world: World, spec: RunSpec, files: RunDirectory) -> None:
        self.world = world
        self.spec = spec
        self._kept = Kept()
        self._kept.watch(world)
        self._outside = KeptOutside(self._kept.lineage)
        world.operations.watchers.append(self._outside.operation)
        files.readers.append(self._outside.take)

    def now(self) -> dict[str, Any] | None:
        """As `receipt_of` tells it; None when it has to be judged from the files."""
        copies = copies_of(self.world, self.spec)
        outside = self._outside.told(copies)
        if outside is None:
            return None
        try:
            receipt = kept_receipt(self._kept, copies)
        except TooMuch:
            return None
        return {**receipt.to_dict(), "outside": outside}
