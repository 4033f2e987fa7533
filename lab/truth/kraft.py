"""The truth of a KRaft cluster: what is committed in the metadata log, as the process that has read furthest knows it.

| question | answered from |
|---|---|
| who is controller, in which epoch | the process that leads the metadata quorum in the newest epoch |
| who is registered, who is fenced | brokers of the image that are not fenced, and those that are |
| topics, leaders, ISRs, settings | the image |

While nobody leads, what the processes have known stands, be they gone by now: the truth hears every state transition,
so it knows them whether anybody has asked it or not.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from broker_core.cluster.kraft.loader import MetadataLoader
from broker_core.cluster.kraft.process import MetadataProcess
from broker_core.kernel.events import CONFIG_CHANGED, TOPIC_CREATED, TOPIC_DELETED, TOPIC_GROWN
from broker_core.kernel.journal import Row
from broker_core.kernel.names import is_broker, is_controller
from broker_core.kernel.node import STOPPED
from broker_core.kernel.world import World
from broker_core.metadata.config_entities import BROKERS, TOPICS, Entity
from broker_core.metadata.image import TOPIC, MetadataImage, TopicImage
from broker_core.metadata.partition import LeaderAndIsr
from broker_core.metadata.registration import PartitionRegistration
from lab.truth.port import EXISTS, ControllerFigures, State

QuorumReplica = MetadataProcess
"""What has a copy of the metadata log, for those who look at it from outside."""
_NOBODY = MetadataLoader()
GONE = "gone"
"""The state of a voter without a process."""


class KRaftTruth:
    """See `lab.truth.port.Truth`."""

    who = "log"

    def __init__(self, world: World) -> None:
        self.world = world
        self._furthest = _NOBODY
        self._loaders: dict[str, MetadataLoader] = {}
        self._still: MetadataLoader | None = None
        self._topics: tuple[MetadataImage, int, dict[str, dict[int, State]]] | None = None

    def heard(self, row: Row) -> None:
        """A state transition: its node's process is known from now on, as is what the one before it knew."""
        node = self.world.nodes.get(row[2])
        process = None if node is None else process_of(node.machine)
        if process is None or self._loaders.get(row[2]) is process.loader:
            return
        before = self._loaders.get(row[2], _NOBODY)
        if before.offset > self._furthest.offset:
            self._furthest = before
        self._loaders[row[2]] = process.loader

    # -- where it stands ----------------------------------------------------------------------
    def _processes(self) -> list[MetadataProcess]:
        """Of the nodes that run, or are paused."""
        found = []
        for node in self.world.nodes.values():
            process = process_of(node.machine) if node.state != STOPPED else None
            if process is not None and process.is_open:
                found.append(process)
        return found

    @contextmanager
    def still(self) -> Iterator[None]:
        self._still = self.loader
        try:
            yield
        finally:
            self._still = None

    @property
    def loader(self) -> MetadataLoader:
        if self._still is not None:
            return self._still
        running = [process.loader for process in self._processes()]
        leading = self._leading()
        if leading is not None and leading.loader.offset > _NOBODY.offset:
            return max(running, key=_offset)
        return max([*running, *self._loaders.values(), self._furthest], key=_offset)

    @property
    def image(self) -> MetadataImage:
        return self.loader.image

    def version(self) -> Any:
        image = self.image
        return image, image.changes

    def _leading(self) -> MetadataProcess | None:
        leading = [one for one in self._processes() if one.raft.quorum.leader is not None]
        return max(leading, key=lambda one: one.raft.quorum.epoch, default=None)

    # -- the cluster --------------------------------------------------------------------------
    def controller_id(self) -> int | None:
        found = self._leading()
        return None if found is None or found.controller is None or not found.controller.is_active else found.id

    def controller_node(self) -> str | None:
        found = self._leading()
        return None if found is None or self.controller_id() is None else found.node.name

    def controller_epoch(self) -> int:
        return max((one.raft.quorum.epoch for one in self._processes()), default=0)

    def keepers(self) -> list[str]:
        found = self._leading() or next(iter(self._processes()), None)
        names = [] if found is None else [found.node_of(one) for one in found.raft.history.last_voters.ids]
        return [name for name in names if name in self.world.nodes]

    def registered(self) -> list[int]:
        return sorted(broker.id for broker in self.image.brokers.values() if not broker.fenced)

    def fenced(self) -> list[int]:
        return sorted(broker.id for broker in self.image.brokers.values() if broker.fenced)

    # -- topics -------------------------------------------------------------------------------
    def _topic(self, topic: str) -> TopicImage | None:
        image = self.image
        topic_id = image.topic_ids.get(topic)
        return None if topic_id is None else image.topics[topic_id]

    def _partition(self, topic: str, partition: int) -> PartitionRegistration | None:
        found = self._topic(topic)
        return None if found is None else found.partitions.get(partition)

    def topics(self) -> dict[str, dict[int, State]]:
        image = self.image
        if self._topics is None or self._topics[0] is not image or self._topics[1] != image.changes:
            found = {name: image.topics[image.topic_ids[name]].partitions for name in sorted(image.topic_ids)}
            states = {name: {one: _state(parts[one]) for one in sorted(parts)} for name, parts in found.items()}
            self._topics = image, image.changes, states
        return self._topics[2]

    def partition_state(self, topic: str, partition: int) -> State | None:
        found = self._partition(topic, partition)
        return None if found is None else _state(found)

    def leader_and_isr(self, topic: str, partition: int) -> LeaderAndIsr | None:
        found = self._partition(topic, partition)
        return None if found is None else _leader_and_isr(found)

    def reassignment(self, topic: str, partition: int) -> dict[str, list[int]] | None:
        found = self._partition(topic, partition)
        if found is None or not (found.adding_replicas or found.removing_replicas):
            return None
        return {"adding": list(found.adding_replicas), "removing": list(found.removing_replicas)}

    def topic_configs(self, topic: str) -> dict[str, str] | None:
        if self._topic(topic) is None:
            return None
        return dict(self.image.configs.get((TOPIC, topic), {}))

    def setting_changed(self, row: Row) -> tuple[Entity, dict[str, str] | None] | None:
        code, params = row[3], row[5]
        if code in (TOPIC_CREATED.name, TOPIC_GROWN.name):
            return (EXISTS, params["topic"]), {}
        if code == TOPIC_DELETED.name:
            return (EXISTS, params["topic"]), None
        if code != CONFIG_CHANGED.name:
            return None
        if params["resource"] == "topic":
            return (TOPICS, params["name"]), self.topic_configs(params["name"])
        name = "" if params["resource"] == "default" else params["name"]
        return (BROKERS, params["name"]), dict(self.image.configs.get((4, name), {}))

    # -- processes ----------------------------------------------------------------------------
    def reign(self, machine: Any) -> int | None:
        controller = _controller(machine)
        return None if controller is None else controller.epoch

    def obeyed(self, machine: Any) -> int | None:
        process = process_of(machine)
        return None if process is None or not process.is_open else process.raft.quorum.epoch

    def controller_figures(self, machine: Any) -> ControllerFigures:
        controller = _controller(machine)
        process = process_of(machine)
        unclean = 0 if process is None else process.unclean_elections
        if controller is None or not controller.is_active:
            return ControllerFigures(unclean_leader_elections=unclean, active_brokers=0, fenced_brokers=0)
        image = controller.image
        fenced = sum(broker.fenced for broker in image.brokers.values())
        found = ControllerFigures(
            True, topics=len(image.topics), unclean_leader_elections=unclean,
            active_brokers=len(image.brokers) - fenced, fenced_brokers=fenced,
        )  # fmt: skip
        for topic in image.topics.values():
            for partition in topic.partitions.values():
                found.partitions += 1
                found.offline_partitions += not partition.has_leader
                found.preferred_imbalance += partition.leader != partition.replicas[0]
        return found

    def remembered(self, machine: Any, topic: str, partition: int) -> LeaderAndIsr | None:
        controller = _controller(machine)
        topic_id = None if controller is None else controller.image.topic_ids.get(topic)
        if controller is None or topic_id is None:
            return None
        found = controller.image.topics[topic_id].partitions.get(partition)
        return None if found is None else _leader_and_isr(found)

    def behind(self, machine: Any) -> int | None:
        process = process_of(machine)
        return None if process is None else max(0, self.loader.offset - process.loader.offset)

    # -- the quorum itself ----------------------------------------------------------------------
    def snapshot(self) -> dict[str, Any]:
        """`quorum`: who leads and votes, and how far each process has come; `servers`: dedicated controllers; `znodes`:
        empty, since there is no tree."""
        processes, leading = self._processes(), self._leading()
        history = (leading or processes[0]).raft.history if processes else None
        quorum = {
            "leader": None if leading is None else leading.id, "epoch": self.controller_epoch(),
            "voters": [] if history is None else sorted(history.last_voters.ids),
            "voters_offset": None if history is None else history.last_voters_offset,
            "kraft_version": 0 if history is None else history.last_version,
            "high_watermark": None if leading is None else leading.raft.high_watermark,
            "replicas": {
                str(one.id): {"node": one.node.name, "state": one.raft.quorum.state.name,
                              "epoch": one.raft.quorum.epoch, "leo": one.raft.log.end_offset,
                              "applied": one.loader.offset}
                for one in processes
            },
        }  # fmt: skip
        servers = {
            name: {"node": name, "state": node.state, "how": node.how_stopped, "incarnation": node.incarnation}
            for name, node in self.world.nodes.items() if is_controller(name)
        }
        return {"znodes": {}, "quorum": quorum, "servers": servers}

    def progress(self) -> list[dict[str, Any]]:
        """Each process with a copy of the log, running or paused, and each voter without one, by id: `lag` in records
        behind what is committed, `caught_up_ms` as the leader knows it, whether it is a voter; of a broker whether the
        controller knows it, and then whether it is fenced, or on its way out. A voter that is gone is where the leader
        has seen it last."""
        leading, processes = self._leading(), {one.id: one for one in self._processes()}
        mark = None if leading is None else leading.raft.high_watermark
        known = leading or next(iter(processes.values()), None)
        voters = [] if known is None else known.raft.history.last_voters.ids
        found = []
        for number in sorted({*processes, *voters}):
            one, broker = processes.get(number), self.image.brokers.get(number)
            if one is not None:
                quorum = one.raft.quorum
                row: dict[str, Any] = {"node": one.node.name, "state": quorum.state.name, "epoch": quorum.epoch,
                                       "leo": one.raft.log.end_offset, "applied": one.loader.offset}  # fmt: skip
            else:
                assert known is not None
                row = {"node": known.raft.addresses.node_of(number), "state": GONE, "epoch": None,
                       "leo": _known_end(leading, number), "applied": None}  # fmt: skip
            found.append(row | {
                "id": number, "voter": number in voters,
                "lag": None if mark is None or row["leo"] is None else max(0, mark - row["leo"]),
                "caught_up_ms": _caught_up_ms(leading, number),
                "registered": broker is not None if is_broker(row["node"]) else None,
                "fenced": None if broker is None else broker.fenced,
                "leaving": None if broker is None else broker.in_controlled_shutdown,
            })  # fmt: skip
        return found

    def expire_session(self, node: str) -> str | None:
        """There are no sessions to end: a broker is fenced for its silence."""
        return None


def _caught_up_ms(leading: MetadataProcess | None, replica: int) -> int | None:
    """How long ago a replica had all that the leader had; None where nobody can say."""
    state = None if leading is None else leading.raft.quorum.leader
    if leading is None or state is None or replica == leading.id:
        return None if leading is None or state is None else 0
    now_ms = leading.node.wall_ms()
    every = [*state.voters.values(), *state.live_observers(now_ms)]
    known = next((one for one in every if one.key.id == replica and one.last_caught_up_ms > 0), None)
    return None if known is None else max(0, now_ms - known.last_caught_up_ms)


def _known_end(leading: MetadataProcess | None, voter: int) -> int | None:
    """Where the leader has last seen the end of a voter's log; None where it has not."""
    state = None if leading is None else leading.raft.quorum.leader
    progress = None if state is None else state.voters.get(voter)
    return None if progress is None or progress.end_offset < 0 else progress.end_offset


def _offset(loader: MetadataLoader) -> int:
    return loader.offset


def process_of(machine: Any) -> MetadataProcess | None:
    """The part of a machine that has the metadata log: of a broker, or of a controller."""
    found = getattr(getattr(machine, "cluster", machine), "process", None)
    return found if isinstance(found, MetadataProcess) else None


def _controller(machine: Any) -> Any:
    """Active or not; None where there is none."""
    process = process_of(machine)
    return None if process is None else process.controller


def _state(found: PartitionRegistration) -> State:
    return {"leader": found.leader, "leader_epoch": found.leader_epoch, "isr": list(found.isr),
            "replicas": list(found.replicas)}  # fmt: skip


def _leader_and_isr(found: PartitionRegistration) -> LeaderAndIsr:
    return LeaderAndIsr(
        found.leader, list(found.isr), found.leader_epoch, found.partition_epoch,
        recovery_state=found.leader_recovery_state,
    )  # fmt: skip
