"""What the cluster has decided, for the journal: told once, by the process that leads the metadata quorum, when the
records are committed.

| in the delta | told |
|---|---|
| a topic, more partitions, a topic that is gone | topic_created, topic_grown, topic_deleted |
| another leader, or none | leader_elected, partition_offline |
| another leader epoch with the same leader | leader_epoch_renewed |
| a shorter ISR that no leader has asked for | isr_shrunk |
| other replicas, or a reassignment that begins or ends | assignment_changed |
| a broker is unfenced, fenced on its way out, forgotten | broker_registered, broker_gone |
| a setting | config_changed |

A broker that is fenced because it is silent is told by the controller itself, which knows why. After a failover the
new leader may tell again what the old one has told last: it cannot know.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from broker_core.kernel import events
from broker_core.kernel.node import Node
from broker_core.metadata.image import BROKER, TOPIC, ConfigResource, Delta, MetadataImage, TopicImage
from broker_core.metadata.partition import RECOVERING
from broker_core.metadata.registration import BrokerRegistration, PartitionRegistration
from broker_core.metadata.replaying import MIGRATING, UNASSIGNED
from broker_core.raft.client import RaftClient

if TYPE_CHECKING:
    from broker_core.controller.kraft.quorum_controller import QuorumController

BROKER_GONE, CONTROLLED_SHUTDOWN, DIRECTORY_OFFLINE = "broker gone", "controlled shutdown", "log directory offline"
UNCLEAN = "unclean"


class MetadataTelling:
    """A publisher. It remembers settings, since a delta does not say what they were.

    `unclean_elections`: how many it has told of (Kafka's metric UncleanLeaderElectionsPerSec)."""

    unclean_elections = 0

    def __init__(self, node: Node, raft: RaftClient, controller: QuorumController | None) -> None:
        self.node = node
        self.raft = raft
        self.controller = controller
        self._told = -1
        self._settings: dict[ConfigResource, dict[str, str]] = {}

    def publish(self, image: MetadataImage, delta: Delta, offset: int) -> None:
        if delta.is_empty:
            return
        tells = self.raft.quorum.leader is not None
        if tells:
            self._tell_brokers(image, delta, offset)
            self._tell_topics(image, delta)
            self._tell_partitions(image, delta)
        self._take_settings(image, delta, tells)
        self._told = offset

    # -- brokers --------------------------------------------------------------------------------
    def _tell_brokers(self, image: MetadataImage, delta: Delta, offset: int) -> None:
        for broker, before in delta.brokers.items():
            now, was_there = image.brokers.get(broker), before is not None and not before.fenced
            if now is None:
                self.node.emit(events.BROKER_GONE, broker=broker, reason="unregistered")
            elif before is not None and was_there and now.fenced and self._stopped(now, before, offset):
                self.node.emit(events.BROKER_GONE, broker=broker, reason=CONTROLLED_SHUTDOWN)
            elif not now.fenced and (not was_there or self._was_silent(broker, offset)):
                self.node.emit(events.BROKER_REGISTERED, broker=broker, broker_epoch=now.epoch)

    def _stopped(self, now: BrokerRegistration, before: BrokerRegistration, offset: int) -> bool:
        """Whether it was fenced because it has asked to go; of who was silent the controller has said so itself. What
        a former controller has decided is judged by the record that it wanted to go: who led nothing has none."""
        leader, controller = self.raft.quorum.leader, self.controller
        if now.epoch != before.epoch or leader is None or controller is None:
            return False
        asked = before.in_controlled_shutdown or self._told >= leader.start_offset
        return asked and not self._was_silent(now.id, offset)

    def _was_silent(self, broker: int, offset: int) -> bool:
        """Whether the controller has said that it is gone since brokers were told of last: this and its return may be
        committed together."""
        return self.controller is not None and self._told < self.controller.timed_out.get(broker, -1) <= offset

    # -- topics ---------------------------------------------------------------------------------
    def _tell_topics(self, image: MetadataImage, delta: Delta) -> None:
        for topic in delta.removed.values():
            self.node.emit(events.TOPIC_DELETED, topic=topic.name)
        new: dict[uuid.UUID, dict[int, list[int]]] = {}
        for (topic_id, number), before in delta.partitions.items():
            if before is None:
                new.setdefault(topic_id, {})[number] = list(image.topics[topic_id].partitions[number].replicas)
        for topic_id, assignment in new.items():
            topic = image.topics[topic_id]
            if topic_id in delta.created:
                self.node.emit(
                    events.TOPIC_CREATED, topic=topic.name, partitions=len(assignment),
                    configs=dict(image.configs.get((TOPIC, topic.name), {})),
                    replication_factor=len(next(iter(assignment.values()))), assignment=assignment,
                    topic_id=str(topic_id),
                )  # fmt: skip
            else:
                self.node.emit(
                    events.TOPIC_GROWN, topic=topic.name, partitions=len(topic.partitions), assignment=assignment
                )

    # -- partitions -----------------------------------------------------------------------------
    def _tell_partitions(self, image: MetadataImage, delta: Delta) -> None:
        for (topic_id, number), before in delta.partitions.items():
            topic = image.topics[topic_id]
            self._tell_leader(image, delta, topic, number, before)
            if before is not None:
                self._tell_assignment(topic, number, before)

    def _tell_leader(
        self, image: MetadataImage, delta: Delta, topic: TopicImage, number: int, before: PartitionRegistration | None
    ) -> None:
        now, emit = topic.partitions[number], self.node.emit
        place = {"topic": topic.name, "partition": number}
        if before is not None and now.leader_epoch == before.leader_epoch:
            removed = [broker for broker in before.isr if broker not in now.isr]
            away = [broker for broker in removed if not _is_active(image, broker)]
            lost = [broker for broker in removed if _lost_its_directory(image, before, broker)]
            for brokers, reason in ((away, BROKER_GONE), (lost, DIRECTORY_OFFLINE)):
                if brokers:
                    emit(events.ISR_SHRUNK, **place, isr=list(now.isr), removed=brokers, reason=reason, lag_ms={},
                         leader_epoch=now.leader_epoch)  # fmt: skip
        elif not now.has_leader:
            emit(events.PARTITION_OFFLINE, **place, isr=list(now.isr), leader_epoch=now.leader_epoch)
        elif before is not None and before.leader == now.leader:
            emit(events.LEADER_EPOCH_RENEWED, **place, leader=now.leader, leader_epoch=now.leader_epoch,
                 isr=list(now.isr))  # fmt: skip
        else:
            reason = _reason(image, delta, before, now)
            self.unclean_elections += reason == UNCLEAN
            emit(
                events.LEADER_ELECTED, **place, leader=now.leader, previous=-1 if before is None else before.leader,
                leader_epoch=now.leader_epoch, isr=list(now.isr), replicas=list(now.replicas), reason=reason,
            )  # fmt: skip

    def _tell_assignment(self, topic: TopicImage, number: int, before: PartitionRegistration) -> None:
        now = topic.partitions[number]
        was = before.replicas, before.adding_replicas, before.removing_replicas
        if (now.replicas, now.adding_replicas, now.removing_replicas) != was:
            self.node.emit(
                events.ASSIGNMENT_CHANGED, topic=topic.name, partition=number, replicas=list(now.replicas),
                adding=list(now.adding_replicas), removing=list(now.removing_replicas),
                moving=bool(now.adding_replicas or now.removing_replicas),
            )  # fmt: skip

    # -- settings -------------------------------------------------------------------------------
    def _take_settings(self, image: MetadataImage, delta: Delta, tells: bool) -> None:
        for topic in delta.removed.values():
            self._settings.pop((TOPIC, topic.name), None)
        for resource in delta.configs:
            before, now = self._settings.get(resource, {}), dict(image.configs.get(resource, {}))
            self._settings[resource] = now
            if tells and not (resource[0] == TOPIC and image.topic_ids.get(resource[1]) in delta.created):
                self._tell_settings(resource, before, now)

    def _tell_settings(self, resource: ConfigResource, before: dict[str, str], now: dict[str, str]) -> None:
        kind, name = resource
        if kind not in (TOPIC, BROKER):
            return
        shown = "topic" if kind == TOPIC else "broker" if name else "default"
        for key in dict.fromkeys([*before, *now]):
            if before.get(key) != now.get(key):
                self.node.emit(
                    events.CONFIG_CHANGED, resource=shown, name=name or "<default>", key=key, value=now.get(key)
                )


def _is_active(image: MetadataImage, broker: int) -> bool:
    found: BrokerRegistration | None = image.brokers.get(broker)
    return found is not None and found.is_active


def _lost_its_directory(image: MetadataImage, before: PartitionRegistration, broker: int) -> bool:
    """The broker works, but has no more the directory in which it kept this replica (KIP-858)."""
    held = dict(zip(before.replicas, before.directories, strict=False)).get(broker, UNASSIGNED)
    found: BrokerRegistration | None = image.brokers.get(broker)
    if found is None or not found.is_active or not found.directories:
        return False
    return held not in (UNASSIGNED, MIGRATING, *found.directories)


def _reason(
    image: MetadataImage, delta: Delta, before: PartitionRegistration | None, now: PartitionRegistration
) -> str:
    """Why there is another leader, as far as the records tell."""
    if before is None:
        return "new"
    eligible = before.leader_recovery_state == RECOVERING and now.leader in (*before.isr, *before.elr)
    if now.leader_recovery_state == RECOVERING and not eligible:  # one that recovers may be followed uncleanly, too
        return UNCLEAN
    old = image.brokers.get(before.leader)
    if old is None or old.fenced:
        return CONTROLLED_SHUTDOWN if old is not None and old.in_controlled_shutdown else BROKER_GONE
    if old.in_controlled_shutdown:
        return CONTROLLED_SHUTDOWN
    if _lost_its_directory(image, before, before.leader):
        return DIRECTORY_OFFLINE
    return "preferred" if now.leader == now.replicas[0] and now.replicas == before.replicas else "reassignment"
