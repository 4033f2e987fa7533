"""What lay on a broker's disks when its process ended, or a bit turned over: what no event of the journal carries.

A broker that runs knows its high watermarks better than its disks do, where they are written every five seconds. Once
its process has ended the disks' are all there is (`clusters.stopped`). So that a page that saw the end and one that
comes later show the same, viewers are handed a row in front of the end; the journal's bytes stay as they are.

    [812, dt, "stopped_logs", "broker-2", 0, {"logs": {"orders-0": [41, 38, 0]}}]     leo, hw, start
    [812, dt, "process_ended", "broker-2", 0, {"how": "crash"}]

Neither does a command that turns a bit over know what is damaged then: the same byte of a batch, whichever of its
records was named, is as it was the second time. In front of it stands all damage that there is behind it
(`clusters.damage`).

    [907, dt, "damage", "operator", 0, {"logs": [["orders", 0, "2", [200]]]}]      topic, partition, broker, offsets
    [907, dt, "command", "operator", 0, {"command": {"do": "bit_flip", ...}}]
"""

from __future__ import annotations

from typing import Any

from broker_core.kernel.events import COMMAND, PROCESS_ENDED
from broker_core.kernel.journal import Row
from broker_core.kernel.names import is_broker
from broker_core.kernel.node import STOPPED
from broker_core.kernel.world import World
from lab.clusters.damage import damaged
from lab.clusters.observe import observe_stopped
from lab.clusters.spec import RunSpec

CODE = "stopped_logs"
DAMAGE = "damage"
KEPT = 1000


class Stops:
    """Everything on the world's thread. Looking changes nothing in the world."""

    def __init__(self, world: World, spec: RunSpec) -> None:
        self.world = world
        self.spec = spec
        self.rows: dict[tuple[int, str], Row] = {}  # (event, node) of an end or a flip -> what is handed out before it
        self._ended: list[tuple[int, int, str, int]] = []
        self._turned: list[tuple[int, int, str]] = []
        world.journal.transition_watchers.append(self._take)

    def _take(self, row: Row) -> None:
        """The disks are read when the event is over: a power loss takes from them what was not flushed."""
        if row[3] == PROCESS_ENDED.name and is_broker(row[2]):
            self._ended.append((row[0], row[1], row[2], self.world.nodes[row[2]].incarnation))
        elif row[3] == COMMAND.name and row[5]["command"].get("do") == "bit_flip":
            self._turned.append((row[0], row[1], row[2]))

    def look(self) -> None:
        """Between two events: read the disks of those that have ended since, if they have not started again, and what
        is damaged where bits have turned over."""
        if not self._ended and not self._turned:
            return
        ended, self._ended = self._ended, []
        turned, self._turned = self._turned, []
        for seq, t_us, name in turned:
            logs = [[*place, offsets] for place, offsets in damaged(self.world).items()]
            self.rows[seq, name] = (seq, t_us, name, DAMAGE, 0, {"logs": logs})
        for seq, t_us, name, incarnation in ended:
            node = self.world.nodes[name]
            if node.state == STOPPED and node.incarnation == incarnation:
                params: dict[str, Any] = {"logs": observe_stopped(self.world, self.spec, name)}
                self.rows[seq, name] = (seq, t_us, name, CODE, 0, params)
        for key in list(self.rows)[: len(self.rows) - KEPT]:
            del self.rows[key]

    def among(self, rows: list[Row]) -> list[Row]:
        """Rows of the journal, with what lay on the disks in front of each end of a broker, and each flip."""
        found: list[Row] = []
        for row in rows:
            if row[3] in (PROCESS_ENDED.name, COMMAND.name) and (row[0], row[2]) in self.rows:
                found.append(self.rows[row[0], row[2]])
            found.append(row)
        return found
