"""What a lab tells on its terminal, too: what the operator of a machine must know, whether he looks at the page or not.

| told | when |
|---|---|
| a log was cut in its recovery | always: partition, offsets, reason |
| a replica was cut | below its high watermark only (Kafka warns: "Truncating ... below high watermark") |
| a disk, a file on it | what the storage answered, what cannot be read |
| a broker that has given up | its last log directory is gone |

The lines are those of the journal (`events`), with the node in front. After `MOST` lines within a virtual second the
rest of it is counted only.
"""

from __future__ import annotations

import logging
from collections.abc import Container
from typing import Any

from broker_core.kernel import events
from broker_core.kernel.journal import Row
from broker_core.kernel.names import is_keeper
from broker_core.kernel.problems import Problem, problem
from broker_core.kernel.world import World
from lab.clusters import observe

MOST = 40
HALTED = "halted"
SECOND_US = 1_000_000
_CODES = (events.LOG_RECOVERED, events.TRUNCATED, events.DISK_FAULT, events.FILE_GIVEN_UP, events.PROCESS_ENDED)
TOLD = {code.name: code for code in _CODES}
_log = logging.getLogger("brokerlab.lab")


class Telling:
    """Watches the state transitions of one world."""

    def __init__(self, world: World) -> None:
        self._second = -1
        self._told = 0
        world.journal.transition_watchers.append(self._take)

    def _take(self, row: Row) -> None:
        _, t_us, node, name, _, params = row
        if name not in TOLD or not _worth_telling(name, params):
            return
        if t_us // SECOND_US != self._second:
            if self._told > MOST:
                _log.warning("... and %d more lines of this kind; the journal has all", self._told - MOST)
            self._second, self._told = t_us // SECOND_US, 0
        self._told += 1
        if self._told <= MOST:
            _log.warning("%s: %s", node, TOLD[name].line(params))


def _worth_telling(name: str, params: dict[str, object]) -> bool:
    if name == events.TRUNCATED.name:
        return params["committed"] is True
    return name != events.PROCESS_ENDED.name or params["how"] == HALTED


def still_to_come(world: World) -> list[str]:
    """Brokers that have not given up."""
    return [node.name for _, node in observe.brokers(world) if node.how_stopped != HALTED]


def not_serving(world: World, listening: Container[str]) -> list[str]:
    """Brokers that will come, and do not listen yet, or have not heard of a controller or of each other: a client that
    is told of no controller may wait long before it asks again (librdkafka), and a topic needs its replicas."""
    machines: dict[str, Any] = {name: world.nodes[name].machine for name in still_to_come(world)}
    return [name for name, machine in machines.items()
            if name not in listening or machine is None or machine.cache.controller_id is None
            or len(machine.cache.brokers) < len(machines)]


def why_it_ends(world: World) -> Problem | None:
    """Why no lab comes of this start: the majority of those that keep the truth, or all brokers, have given up. None
    while it may."""
    keepers = [name for name in world.nodes if is_keeper(name)]
    halted = [name for name in keepers if world.nodes[name].how_stopped == HALTED]
    if (not keepers or 2 * len(halted) < len(keepers)) and still_to_come(world):
        return None
    halted = halted or [node.name for _, node in observe.brokers(world)]
    faults = {row[2]: row[5] for row in world.journal.tail if row[3] == events.DISK_FAULT.name}
    given_up = [problem("gave_up", node=name, why=faults.get(name, {}).get("error", "-")) for name in halted]
    return problem("nobody_is_left", what=given_up)
