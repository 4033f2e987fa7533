"""Processes that have ended, or lost a directory, because the machine's disk is full; and whether it has room again.

Kafka leaves a log directory that has failed alone until the broker starts again, whether there is room by then or not;
a ZooKeeper that cannot write ends. So a lab says which nodes wait, and when a start would help. The world itself never
looks at the machine's disk: what is told here is no event, and nothing depends on it.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
from pathlib import Path
from typing import Any

from broker_core.kernel import events
from broker_core.kernel.journal import Row
from broker_core.kernel.storage_faults import FULL
from broker_core.kernel.world import World

LOOK_S = 2.0
ENOUGH_BYTES = 32 * 1024 * 1024
_SIGNS = ("No space left on device", "Disk quota exceeded", " bytes were written")
_log = logging.getLogger("brokerlab.lab")


class DiskRoom:
    """On the world's thread. `waiting`: nodes that a full disk has stopped, or taken a directory from."""

    def __init__(self, world: World, directory: Path, loop: asyncio.AbstractEventLoop) -> None:
        self.world = world
        self.directory = directory
        self.loop = loop
        self.waiting: dict[str, None] = {}
        self.room_again = False
        self._looking: asyncio.TimerHandle | None = None
        world.journal.transition_watchers.append(self._take)

    def _take(self, row: Row) -> None:
        name, params = row[2], row[5]
        if row[3] == events.PROCESS_STARTED.name:
            self.waiting.pop(name, None)
        elif row[3] == events.DISK_FAULT.name and any(sign in params["error"] for sign in _SIGNS):
            faults = self.world.nodes[name].storage.faults
            if faults is None or all(rule.kind != FULL for rule in faults.rules):  # a fault that was asked for is none
                self.waiting[name] = None
                self._arm()

    def _arm(self) -> None:
        if self._looking is None:
            self.room_again = False
            self._looking = self.loop.call_later(LOOK_S, self.look)

    def stand(self) -> None:
        """Do not look for a while."""
        if self._looking is not None:
            self._looking.cancel()
            self._looking = None

    def go_on(self) -> None:
        """Look again, if somebody waits."""
        if self.waiting:
            self._arm()

    def look(self) -> None:
        """Ask the machine; again later while somebody waits."""
        self._looking = None
        if not self.waiting:
            return
        room = shutil.disk_usage(self.directory).free >= ENOUGH_BYTES
        if room and not self.room_again:
            _log.warning("%s has room again: restart %s", self.directory, ", ".join(self.waiting))
        self._arm()
        self.room_again = room

    def view(self) -> dict[str, Any]:
        return {"disk_full": list(self.waiting), "room_again": bool(self.waiting) and self.room_again}
