"""Invariants of coordination: one controller, metadata that arrives, groups that share without overlap."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from broker_core.kernel import events
from broker_core.kernel.journal import Row
from broker_core.kernel.names import broker_node
from broker_core.kernel.world import World
from lab.checkers.invariants_base import Invariant, Violation
from lab.checkers.invariants_view import Place
from lab.clusters import observe

CALM_US = 5_000_000
METADATA_CHECKS = 32
OFFSET_CHECKS = 64


class SingleController(Invariant):
    """At most one broker is controller in a controller epoch, and epochs only grow."""

    meaning = {
        "en": "Each controller epoch has one controller.",
        "ko": "컨트롤러 에포크마다 컨트롤러는 하나뿐입니다.",
    }
    codes = (events.CONTROLLER_ELECTED.name,)

    def __init__(self, view: Any) -> None:
        super().__init__(view)
        self._reigns: dict[int, int] = {}
        self._latest = 0
        self._found: list[Violation] = []

    def row(self, row: Row) -> None:
        epoch, broker = row[5]["epoch"], row[5]["broker"]
        self._reign(epoch, broker, row[0], row[1])
        if epoch < self._latest:
            params = {"epoch": epoch, "before": self._latest}
            self._found.append(self.found(row[0], row[1], "epoch_went_back", (epoch,), **params))
        self._latest = max(self._latest, epoch)

    def _reign(self, epoch: int, broker: int, seq: int, t: int) -> None:
        other = self._reigns.setdefault(epoch, broker)
        if other != broker:
            self._found.append(
                self.found(seq, t, "two_controllers", (epoch, broker), epoch=epoch, broker=broker, other=other)
            )

    def check(self, world: World) -> list[Violation]:
        for broker, machine in self.view.machines():
            epoch = self.view.cluster.reign(machine)
            if epoch is not None:
                self._reign(epoch, broker, *self.view.now())
        found, self._found = self._found, []
        return found


class NewestControllerObeyed(Invariant):
    """A broker that has heard of a controller epoch obeys no older one while its process lives: zombies are fenced."""

    meaning = {
        "en": "A broker obeys no controller that it knows to be replaced.",
        "ko": "브로커는 교체된 것을 아는 컨트롤러의 말을 따르지 않습니다.",
    }
    codes = (events.PROCESS_STARTED.name,)

    def __init__(self, view: Any) -> None:
        super().__init__(view)
        self._obeyed: dict[str, int] = {}

    def row(self, row: Row) -> None:
        self._obeyed.pop(row[2], None)

    def check(self, world: World) -> list[Violation]:
        found = []
        for broker, machine in self.view.running:
            epoch, before = self.view.cluster.obeyed(machine), self._obeyed.get(broker_node(broker), 0)
            if epoch is None:
                continue
            if epoch < before:
                params = {"broker": broker, "epoch": epoch, "before": before}
                found.append(self.found_now("older_controller", (broker, epoch), **params))
            self._obeyed[broker_node(broker)] = epoch
        return found


class MetadataConvergence(Invariant):
    """Liveness: once nothing is broken any more, every broker's metadata cache says what the coordination tree says.

    Judged 5 s of virtual time after the last change; after a fault, when a lost request may have to run into
    `controller.socket.timeout.ms` [30 s] first, so much later.
    """

    meaning = {
        "en": "After healing, every broker learns who leads.",
        "ko": "장애가 복구되면 모든 브로커가 리더를 알게 됩니다.",
    }
    codes = tuple(
        code.name
        for code in (
            events.LEADER_ELECTED, events.ISR_SHRUNK, events.ISR_EXPANDED, events.TOPIC_CREATED, events.TOPIC_DELETED,
            events.TOPIC_GROWN, events.BROKER_REGISTERED, events.BROKER_GONE, events.CONTROLLER_ELECTED,
            events.CONTROLLER_LOADED, events.CONTROLLER_RESIGNED, events.PROCESS_STARTED, events.PROCESS_ENDED,
            events.PROCESS_PAUSED, events.PROCESS_RESUMED, events.LINK_CHANGED, events.ZNODE_CHANGED,
            events.ZNODE_CREATED, events.ZNODE_DELETED, events.PARTITION_OFFLINE,
        )
    )  # fmt: skip
    faults = (
        events.PROCESS_ENDED.name, events.PROCESS_PAUSED.name, events.PROCESS_RESUMED.name, events.LINK_CHANGED.name,
    )  # fmt: skip

    def __init__(self, view: Any) -> None:
        super().__init__(view)
        self._calm_from_us = 0
        self._queue: list[tuple[int, Place]] = []
        self._compared: Any = None

    def row(self, row: Row) -> None:
        wait = CALM_US + (self._timeout_us() if row[3] in self.faults else 0)
        self._calm_from_us = max(self._calm_from_us, row[1] + wait)
        self._queue.clear()
        self._compared = None

    def _timeout_us(self) -> int:
        for _, machine in self.view.machines():
            config = getattr(machine, "config", None)
            if config is not None:
                return int(config["controller.socket.timeout.ms"] or 30_000) * 1000
        return 30_000_000

    def check(self, world: World) -> list[Violation]:
        if world.now_us < self._calm_from_us:
            return []
        versions = None if self._queue else self._versions()
        if (versions is not None and versions == self._compared) or not self._healthy(world):
            return []
        if not self._queue:
            self._compared = versions
            self._queue = [(broker, place) for broker, machine in self.view.machines() for place in _cached(machine)]
        found, registered = [], set(self.view.cluster.registered())
        for _ in range(min(METADATA_CHECKS, len(self._queue)) if self.view.bounded else len(self._queue)):
            broker, place = self._queue.pop()
            if broker in registered:
                found += self._compare(world, broker, place)
        return found

    def _versions(self) -> Any:
        """Of what is compared: once all of it has been, the same would come out. None: nobody keeps count."""
        truth = self.view.version()
        if truth is None:
            return None
        caches = [(broker, getattr(machine, "cache", None)) for broker, machine in self.view.running]
        return truth, [(broker, cache, None if cache is None else cache.version) for broker, cache in caches]

    def _healthy(self, world: World) -> bool:
        """Every broker that is registered works, one of them is controller, and every link carries."""
        if any(link.changed for link in world.network.links.values()):
            return False
        registered = self.view.cluster.registered()
        states = {broker: node.state for broker, node in observe.brokers(world)}
        active = [broker for broker, machine in self.view.machines() if self.view.cluster.reign(machine) is not None]
        return active == [self.view.cluster.controller_id()] and all(states.get(one) == "running" for one in registered)

    def _compare(self, world: World, broker: int, place: Place) -> list[Violation]:
        machine: Any = world.nodes[broker_node(broker)].machine
        state = self.view.truth(*place)
        cached = machine.cache.partition(*place) if machine is not None else None
        if state is None or cached is None:
            return []
        if (cached.leader, cached.leader_epoch) == (state.leader, state.leader_epoch):
            return []
        params = {"topic": place[0], "partition": place[1], "broker": broker}
        key = (*params.values(), cached.leader_epoch)
        return [
            self.found_now(
                "metadata_stale", key, **params, found=cached.leader, epoch=cached.leader_epoch
            )
        ]


def _cached(machine: Any) -> list[Place]:
    cache = getattr(machine, "cache", None)
    return [(topic, number) for topic, parts in cache.topics.items() for number in parts] if cache is not None else []


class CommittedOffsetNotBeyondEnd(Invariant):
    """A group's committed offset is at most the leader's log end: nobody has processed what was never written.

    An unclean election takes records away from under it; that is excused. A client that commits an offset
    that it has made up is not.
    """

    meaning = {
        "en": "A committed offset is not beyond the end of the log.",
        "ko": "커밋된 오프셋은 로그의 끝을 넘지 않습니다.",
    }

    def __init__(self, view: Any) -> None:
        super().__init__(view)
        self._queue: list[tuple[Any, Place]] = []

    def check(self, world: World) -> list[Violation]:
        if not self._queue:
            self._queue = self._committed()
        found = []
        for _ in range(min(OFFSET_CHECKS, len(self._queue)) if self.view.bounded else len(self._queue)):
            group, place = self._queue.pop()
            committed = group.offsets.committed.get(place)
            leader = self.view.leader(*place) if committed is not None else None
            if leader is None or committed.offset <= leader.log.log_end_offset:
                continue
            if committed.offset > self.view.history(*place).excused:
                params = {"topic": place[0], "partition": place[1], "group": group.group_id, "offset": committed.offset}
                end = leader.log.log_end_offset
                key = tuple(params.values())
                found.append(self.found_now("committed_beyond_end", key, **params, end=end))
        return found

    def _committed(self) -> list[tuple[Any, Place]]:
        groups: list[Any] = []
        for _, machine in self.view.running:
            coordinator = getattr(machine, "groups", None)
            if coordinator is not None:
                registry = coordinator.registry
                groups += [*registry.groups.values(), *registry.consumer_groups.values()]
        return [(group, place) for group in groups for place in group.offsets.committed]


class OneOwnerPerPartitionInGroupGeneration(Invariant):
    """In a generation of a group a partition has one owner, as the coordinator shares out and as members take it.

    A group without members may begin to count anew: as a group of the other protocol it has epochs of its own.
    """

    meaning = {
        "en": "In a generation of a group each partition has one owner.",
        "ko": "그룹의 한 세대에서 파티션의 소유자는 하나입니다.",
    }
    codes = (events.GROUP_ASSIGNED.name, events.ASSIGNMENT_TAKEN.name, events.GROUP_STATE.name)

    def __init__(self, view: Any) -> None:
        super().__init__(view)
        self._taken: dict[tuple[str, int], dict[Place, str]] = {}
        self._found: list[Violation] = []

    def row(self, row: Row) -> None:
        params = row[5]
        if row[3] == events.GROUP_STATE.name:
            if params["before"] == "Empty":
                self._taken = {key: owners for key, owners in self._taken.items() if key[0] != params["group"]}
            return
        if row[3] == events.GROUP_ASSIGNED.name:
            owners: dict[Place, str] = {}
            for member, share in params["assignment"].items():
                self._take(owners, params["group"], params["generation"], member, share, row)
            return
        node = self.view.world.nodes.get(row[2])
        group = getattr(getattr(node.machine, "settings", None), "group_id", None) if node is not None else None
        if group:
            owners = self._taken.setdefault((group, params["generation"]), {})
            self._take(owners, group, params["generation"], row[2], params["partitions"], row)
            if len(self._taken) > 100:
                del self._taken[next(iter(self._taken))]

    def _take(
        self, owners: dict[Place, str], group: str, generation: int, member: str, share: Mapping[str, Any], row: Row
    ) -> None:
        for topic, partitions in (share or {}).items():
            for partition in partitions:
                other = owners.setdefault((topic, partition), member)
                if other != member:
                    params = {"topic": topic, "partition": partition, "group": group, "generation": generation}
                    key = (*params.values(), member)
                    self._found.append(
                        self.found(row[0], row[1], "two_owners", key, **params, member=member, other=other)
                    )

    def check(self, world: World) -> list[Violation]:
        found, self._found = self._found, []
        return found
