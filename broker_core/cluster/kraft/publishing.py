"""What has changed in the image becomes news for one broker: settings, metadata cache, replicas, in this order.

| in the delta | told as |
|---|---|
| settings of a topic, of a group, of this broker, of all brokers | `Member.take_settings`, whole |
| brokers, partitions, topics that are gone | MetadataDelta |
| a partition of which this broker holds a replica | ReplicaChange: lead, or follow whom |
| one of which it holds none any more, or whose topic is gone | ReplicaStop |

Replicas wait until the broker's logs are open (`begin`): then all of the image is told of once, and logs of partitions
that the cluster does not know, or not here, are deleted: their topic went while this broker did not look. A copy that
was on its way to another directory takes its log's place where the image says already that the replica lies there.

Source: BrokerMetadataPublisher, ReplicaManager.applyDelta, LocalReplicaChanges, LogManager.isStrayReplica,
recoverAbandonedFutureLogs.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping

from broker_core.cluster.port import Member
from broker_core.kernel.errors import StorageError
from broker_core.metadata.config_entities import BROKERS, DEFAULT_ENTITY, GROUPS, TOPICS, Entity
from broker_core.metadata.delta import MetadataDelta, ReplicaChange, ReplicaStop, TopicDelta
from broker_core.metadata.image import BROKER, GROUP, TOPIC, ConfigResource, Delta, MetadataImage
from broker_core.wire.errors import ErrorCode

TOPIC_IS_GONE = -2
"""The leader epoch of a stop that holds in every epoch."""


class BrokerPublisher:
    """Tells one broker. `begun`: its logs are open; `applied` is called behind each change of its replicas.
    `directories`: log directory -> id."""

    def __init__(self, member: Member) -> None:
        self.member = member
        self.begun = False
        self.applied: Callable[[list[ReplicaChange]], None] | None = None
        self.directories: Mapping[str, uuid.UUID] = {}

    def publish(self, image: MetadataImage, delta: Delta, offset: int) -> None:
        if delta.is_empty:
            self.member.cache.advance(offset)
            return
        self._tell_settings(image, delta)
        self.member.changed(metadata_delta(image, delta, offset, self._controller(image)))
        if self.begun:
            broker = self.member.broker_id
            stops, changes = replica_stops(image, delta, broker), replica_changes(image, delta, broker)
            self.member.replicas.in_turn(self._tell_replicas, stops, changes)

    def begin(self, image: MetadataImage, done: Callable[[], None]) -> None:
        """The logs are open: lead and follow as the image says, then `done()`."""
        if not self.begun:
            self.begun = True
            self._delete_strays(image)
            self._recover_abandoned(image)
            self._tell_replicas([], all_replicas(image, self.member.broker_id))
        self.member.replicas.in_turn(done)

    def _tell_replicas(self, stops: list[ReplicaStop], changes: list[ReplicaChange]) -> None:
        self.member.replicas.stop_replicas(stops)
        self.member.replicas.apply(changes, self._taken_over, changes, fence=False)

    def _taken_over(self, changes: list[ReplicaChange], errors: list[ErrorCode]) -> None:
        if self.applied is not None:
            self.applied(changes)

    def _controller(self, image: MetadataImage) -> int | None:
        """Whom clients should ask as the controller: any broker that is alive, since each forwards (KIP-590)."""
        alive = sorted(broker.id for broker in image.brokers.values() if not broker.fenced)
        return self.member.node.random("named as controller").choice(alive) if alive else None

    # -- settings -------------------------------------------------------------------------------
    def _tell_settings(self, image: MetadataImage, delta: Delta) -> None:
        for topic in delta.removed.values():
            if self.member.topic_overrides(topic.name):
                self.member.take_settings((TOPICS, topic.name), {}, running=self.begun)
        for resource in delta.configs:
            entity = self._entity(resource)
            if entity is not None:
                self.member.take_settings(entity, dict(image.configs.get(resource, {})), running=self.begun)

    def _entity(self, resource: ConfigResource) -> Entity | None:
        """What other brokers are told is no business of this one."""
        kind, name = resource
        if kind == TOPIC:
            return TOPICS, name
        if kind == BROKER and name in ("", str(self.member.broker_id)):
            return BROKERS, name or DEFAULT_ENTITY
        if kind == GROUP:
            return GROUPS, name
        return None

    # -- replicas -------------------------------------------------------------------------------
    def _delete_strays(self, image: MetadataImage) -> None:
        """Logs of topics that are none any more, and those that cannot say of which topic they are: a disk has failed
        while they were made. A copy may be one, and its log none (LogManager.isStrayKraftReplica)."""
        here = {(one.topic, one.partition): one.topic_id for one in all_replicas(image, self.member.broker_id)}
        logs = self.member.replicas.log_manager
        for log in logs.all_logs():
            place = log.topic, log.partition
            if here.get(place) != log.topic_id:
                delete = logs.futures.delete if logs.futures.get(*place) is log else logs.delete_current
                delete(*place, self.member.node.wall_ms())

    def _recover_abandoned(self, image: MetadataImage) -> None:
        """Copies that the controller had agreed to, when this broker ended before they were in place."""
        logs, broker = self.member.replicas.log_manager, self.member.broker_id
        for log in logs.futures.logs():
            if logs.futures.get(log.topic, log.partition) is not log:
                continue  # its directory has failed with the one before
            found = image.topics[log.topic_id].partitions[log.partition]
            held = dict(zip(found.replicas, found.directories, strict=False)).get(broker)
            if held is not None and held == self.directories.get(logs.dir_of(log)):
                try:
                    logs.futures.replace_current(log.topic, log.partition, self.member.node.wall_ms())
                except StorageError as error:
                    logs.storage_failed(error)


# -- an image and what has changed in it, read as news ------------------------------------------------
def metadata_delta(image: MetadataImage, delta: Delta, offset: int, controller_id: int | None) -> MetadataDelta:
    """For the metadata cache."""
    gone = [TopicDelta(topic.name, topic.id, dict.fromkeys(topic.partitions)) for topic in delta.removed.values()]
    changed: dict[str, TopicDelta] = {}
    for topic_id, number in delta.partitions:
        topic = image.topics[topic_id]
        found = changed.setdefault(topic.name, TopicDelta(topic.name, topic_id, {}))
        found.partitions[number] = topic.partitions[number]
    brokers = dict(sorted(image.brokers.items())) if delta.brokers else None
    return MetadataDelta(controller_id, brokers, [*gone, *changed.values()], offset)


def replica_changes(image: MetadataImage, delta: Delta, broker: int) -> list[ReplicaChange]:
    """Partitions that have changed and of which `broker` holds a replica."""
    found = []
    for (topic_id, number), before in delta.partitions.items():
        topic = image.topics[topic_id]
        if broker in topic.partitions[number].replicas and topic.partitions[number] != before:
            found.append(ReplicaChange(topic.name, topic_id, number, topic.partitions[number], before is None))
    return found


def replica_stops(image: MetadataImage, delta: Delta, broker: int) -> list[ReplicaStop]:
    """Replicas of `broker` that are none any more."""
    found = [
        ReplicaStop(topic.name, number, TOPIC_IS_GONE, True)
        for topic in delta.removed.values() for number, one in topic.partitions.items() if broker in one.replicas
    ]  # fmt: skip
    for (topic_id, number), before in delta.partitions.items():
        topic = image.topics[topic_id]
        now = topic.partitions[number]
        if before is not None and broker in before.replicas and broker not in now.replicas:
            found.append(ReplicaStop(topic.name, number, now.leader_epoch, True))
    return found


def all_replicas(image: MetadataImage, broker: int) -> list[ReplicaChange]:
    """Every replica that `broker` should hold."""
    return [
        ReplicaChange(topic.name, topic.id, number, partition)
        for topic in image.topics.values() for number, partition in topic.partitions.items()
        if broker in partition.replicas
    ]  # fmt: skip
