"""What lay on a broker's disks when its process ended: what no event of the journal carries.

A broker that runs knows its high watermarks better than its disks do, where they are written every five seconds. Once
its process has ended the disks' are all there is (`clusters.stopped`). So that a page that saw the end and one that
comes later show the same, viewers are handed a row in front of the end; the journal's bytes stay as they are.

    [812, dt, "stopped_logs", "broker-2", 0, {"logs": {"orders-0": [41, 38, 0]}}]     leo, hw, start
    [812, dt, "process_ended", "broker-2", 0, {"how": "crash"}]
"""

from __future__ import annotations

from typing import Any

from broker_core.kernel.events import PROCESS_ENDED
from broker_core.kernel.journal import Row
from broker_core.kernel.names import is_broker
from broker_core.kernel.node import STOPPED
from broker_core.kernel.world import World
from lab.clusters.observe import observe_stopped
from lab.clusters.spec import RunSpec

CODE = "stopped_logs"
KEPT = 1000


class Stops:
    """Everything on the world's thread. Looking changes nothing in the world."""

    def __init__(self, world: World, spec: RunSpec) -> None:
        self.world = world
        self.spec = spec
        self.rows: dict[tuple[int, str], Row] = {}  # (event, broker) of an end -> what is handed out in front of it
        self._ended: list[tuple[int, int, str, int]] = []
        world.journal.transition_watchers.append(self._take)

    def _take(self, row: Row) -> None:
        """The disks are read when the event is over: a power loss takes from them what was not flushed."""
        if row[3] == PROCESS_ENDED.name and is_broker(row[2]):
            self._ended.append((row[0], row[1], row[2], self.world.nodes[row[2]].incarnation))

    def look(self) -> None:
        """Between two events: read the disks of those that have ended since, if they have not started again."""
        if not self._ended:
            return
        ended, self._ended = self._ended, []
        for seq, t_us, name, incarnation in ended:
            node = self.world.nodes[name]
            if node.state == STOPPED and node.incarnation == incarnation:
                params: dict[str, Any] = {"logs": observe_stopped(self.world, self.spec, name)}
                self.rows[seq, name] = (seq, t_us, name, CODE, 0, params)
        for key in list(self.rows)[: len(self.rows) - KEPT]:
            del self.rows[key]

    def among(self, rows: list[Row]) -> list[Row]:
        """Rows of the journal, with what lay on the disks in front of each end of a broker."""
        found: list[Row] = []
        for row in rows:
            if row[3] == PROCESS_ENDED.name and (row[0], row[2]) in self.rows:
                found.append(self.rows[row[0], row[2]])
            found.append(row)
        return found
