"""Liveness of the ISR: whoever lags for too long is out of it, so that writes go on without him.

    follower stands at 40 --- leader ends at 90: target 90 --- 40 .. 70 .. --- still below 90 after the time: violation
                                                          `-- reached 90: nothing is owed

A leader takes a follower out that was not at its end for `replica.lag.time.max.ms`, looks every half of it, and has to
ask the controller, who writes it into the coordination tree. So the time is one and a half of that, and some for the
way. It only runs while leader, controller and tree have been undisturbed: what they cannot do is no fault of theirs.
"""

from __future__ import annotations

from typing import Any

from broker_core.kernel import events
from broker_core.kernel.journal import Row
from broker_core.kernel.names import broker_node
from broker_core.kernel.world import World
from broker_core.replication.partition import Partition
from lab.checkers.invariants_base import Invariant, Violation

WAY_US = 1_000_000
AFTER_US = 2_000_000
"""After a disturbance: what was lost on its way has to run into a time-out first."""
WATCHED = 256
_OF_A_NODE = (events.PROCESS_STARTED.name, events.PROCESS_ENDED.name, events.PROCESS_PAUSED.name,
              events.PROCESS_RESUMED.name, events.DISKS_CHANGED.name, events.BECAME_LEADER.name)  # fmt: skip
_OF_ALL = (events.CONTROLLER_ELECTED.name, events.CONTROLLER_RESIGNED.name, events.CONTROLLER_LOADED.name)
Laggard = tuple[str, int, int]


class LaggardsLeave(Invariant):
    """A member of the ISR that has not reached for too long what its leader had is taken out (KIP-16, KIP-497)."""

    meaning = {
        "en": "A replica that has lagged for too long is out of the ISR.",
        "ko": "너무 오래 뒤처진 복제본은 ISR에 남아 있지 않습니다.",
    }
    codes = (*_OF_A_NODE, *_OF_ALL, events.LINK_CHANGED.name)

    def __init__(self, view: Any) -> None:
        super().__init__(view)
        self._behind: dict[Laggard, tuple[int, int, int]] = {}
        self._disturbed: dict[str, int] = {}
        self._all_disturbed_us = 0
        self._elected: int | None = None
        """The controller that was elected last: the tree names the next one a moment before he knows it himself."""

    def row(self, row: Row) -> None:
        if row[3] in _OF_ALL:
            self._all_disturbed_us = row[1]
            if row[3] == events.CONTROLLER_ELECTED.name:
                self._elected = row[5]["broker"]
        elif row[3] in _OF_A_NODE:
            self._disturbed[row[2]] = row[1]
        else:
            self._disturbed[f"{row[5]['source']} {row[5]['dest']}"] = row[1]

    def check(self, world: World) -> list[Violation]:
        for look in self.view.looks:
            if look.leader is not None:
                self._watch(look.topic, look.index, look.leader, world.now_us)
        found = []
        for laggard in list(self._behind):
            violation = self._judge(world, laggard)
            if violation is not None:
                found.append(violation)
        return found

    def _watch(self, topic: str, index: int, leader: Partition, now_us: int) -> None:
        end = leader.log.log_end_offset
        for broker in leader.isr.committed:
            replica = leader.remote.get(broker)
            behind = replica is not None and replica.log_end_offset < end
            if behind and len(self._behind) < WATCHED:
                self._behind.setdefault((topic, index, broker), (leader.leader_epoch, end, now_us))

    def _judge(self, world: World, laggard: Laggard) -> Violation | None:
        """Drop it from the watch when nothing is owed any more, or when it is late: that is told once."""
        topic, index, broker = laggard
        epoch, target, since_us = self._behind[laggard]
        leader = self.view.leader(topic, index)
        replica = leader.remote.get(broker) if leader is not None else None
        if leader is None or replica is None or leader.leader_epoch != epoch or broker not in leader.isr.committed:
            del self._behind[laggard]
        elif replica.log_end_offset >= target:
            del self._behind[laggard]
            self._watch(topic, index, leader, world.now_us)
        else:
            late_us = world.now_us - self._limit_us(leader)
            if late_us > since_us and late_us > self._calm_since(world, leader.leader_id):
                del self._behind[laggard]
                params = {"topic": topic, "partition": index, "broker": broker, "offset": target}
                key = (*laggard, epoch)
                return self.found_now("laggard_in_isr", key, **params,
                                  end=replica.log_end_offset, leader=leader.leader_id)  # fmt: skip
        return None

    def _limit_us(self, leader: Partition) -> int:
        return leader.host.lag_time_max_ms * 1500 + WAY_US

    def _calm_since(self, world: World, leader: int) -> int:
        """Since when leader, controller and tree could work together; now, if they cannot."""
        controller = self.view.cluster.controller_id()
        if controller is None or self._elected not in (None, controller):
            return world.now_us
        names = dict.fromkeys([broker_node(leader), broker_node(controller), *self.view.cluster.keepers()])
        nodes = [world.nodes.get(name) for name in names]
        links = [world.network.links.get((one, other)) for one in names for other in names]
        if any(node is None or node.state != "running" for node in nodes):
            return world.now_us
        if any(link is not None and link.changed for link in links):
            return world.now_us
        pairs = [f"{one} {other}" for one in names for other in names]
        times = [self._disturbed.get(name, 0) for name in [*names, *pairs]]
        return max(*times, self._all_disturbed_us) + AFTER_US
