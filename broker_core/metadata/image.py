"""All that the metadata log says, as of one offset: the image; and what changed on the way there: the delta.

    records below offset 120   --replay-->  image at 120
    records 120 .. 134         --replay-->  image at 135, and a delta: orders-0 changed, broker 3 is fenced

Controllers and brokers hold the same image by the same `replay`, so a standby controller needs nothing but its log to
take over, and `records` turns an image back into records: a snapshot. Nothing else ever changes an image.

| record | changes |
|---|---|
| RegisterBroker, UnregisterBroker, FenceBroker, UnfenceBroker, BrokerRegistrationChange | `brokers` |
| RegisterController | `controllers` |
| Topic, RemoveTopic, Partition, PartitionChange, ClearElr | `topics` |
| Config | `configs` |
| FeatureLevel | `features` |
| ProducerIds | `next_producer_id` |
| credentials, quotas, ACLs, tokens | `kept`: held as they are, for the snapshot |
| NoOp | nothing |
| BeginTransaction | what follows is held back |
| EndTransaction, AbortTransaction | it is applied as a whole; nothing of it ever was (KIP-868) |

Source: MetadataImage, MetadataDelta (KIP-500, KIP-630).
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from broker_core.metadata import records as r
from broker_core.metadata.registration import BrokerRegistration, Endpoint, PartitionRegistration
from broker_core.metadata.replaying import (
    FENCE,
    UNFENCE,
    broker_of,
    broker_record,
    changed_broker,
    changed_partition,
    endpoint_fields,
    endpoints_of,
    feature_fields,
    features_of,
    partition_of,
    partition_record,
    without_elr,
)

ConfigResource = tuple[int, str]
"""Type (2 topic, 4 broker, 32 group) and name; ("" with 4): the default of all brokers."""
TOPIC, BROKER, GROUP = 2, 4, 32


class UnknownSubject(ValueError):
    """A record about something that the log has not named before: the log cannot be Kafka's."""


@dataclass(slots=True)
class TopicImage:
    """A topic's partitions by number."""

    name: str
    id: uuid.UUID
    partitions: dict[int, PartitionRegistration] = field(default_factory=dict)


@dataclass(slots=True)
class ControllerRegistration:
    """A controller's listeners and features (KIP-919)."""

    id: int
    incarnation_id: uuid.UUID
    listeners: dict[str, Endpoint]
    features: dict[str, tuple[int, int]]


@dataclass(slots=True)
class Delta:
    """What changed since the last one that was taken. Values are what was there before; None: nothing.

    A subject that changed twice stands here once, with its first state.
    """

    partitions: dict[tuple[uuid.UUID, int], PartitionRegistration | None] = field(default_factory=dict)
    created: dict[uuid.UUID, str] = field(default_factory=dict)
    removed: dict[uuid.UUID, TopicImage] = field(default_factory=dict)
    brokers: dict[int, BrokerRegistration | None] = field(default_factory=dict)
    configs: dict[ConfigResource, None] = field(default_factory=dict)
    features: dict[str, int] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not (self.partitions or self.created or self.removed or self.brokers or self.configs or self.features)


class MetadataImage:
    """See the module. `changes` grows with every record that says something: whoever has looked at all of it need not
    look again before.

    Invariants
        - `topic_ids` and `topics` name the same topics
        - partitions of a topic are numbered from 0 without a gap
    """

    changes = 0

    def __init__(self) -> None:
        self.topics: dict[uuid.UUID, TopicImage] = {}
        self.topic_ids: dict[str, uuid.UUID] = {}
        self.brokers: dict[int, BrokerRegistration] = {}
        self.controllers: dict[int, ControllerRegistration] = {}
        self.configs: dict[ConfigResource, dict[str, str]] = {}
        self.features: dict[str, int] = {}
        self.next_producer_id = 0
        self.kept: dict[tuple[Any, ...], bytes] = {}
        self.delta = Delta()
        self._held: list[Any] | None = None

    @property
    def in_transaction(self) -> bool:
        """Whether records are held back."""
        return self._held is not None

    @property
    def is_empty(self) -> bool:
        """Whether the log has said nothing yet: the feature levels are what it says first."""
        return not self.features

    def take_delta(self) -> Delta:
        """What has changed since the last call."""
        taken, self.delta = self.delta, Delta()
        return taken

    def replay(self, record: Any) -> None:
        """Apply one record. Raises UnknownSubject."""
        kind = type(record).__name__
        if kind == "BeginTransactionRecord":
            self._held = []
        elif kind == "EndTransactionRecord":
            held, self._held = self._held or [], None
            for one in held:
                self.replay(one)
        elif kind == "AbortTransactionRecord":
            self._held = None
        elif self._held is not None:
            self._held.append(record)
        else:
            self._apply(record)

    def _apply(self, record: Any) -> None:
        kind = type(record).__name__
        if kind not in _SILENT:
            self.changes += 1
            _REPLAY.get(kind, MetadataImage._keep)(self, record)

    # -- brokers and controllers ------------------------------------------------------------------
    def _broker(self, broker_id: int, epoch: int) -> BrokerRegistration:
        found = self.brokers.get(broker_id)
        if found is None or found.epoch != epoch:
            raise UnknownSubject(f"broker {broker_id} with epoch {epoch}")
        return found

    def _put_broker(self, registration: BrokerRegistration) -> None:
        self.delta.brokers.setdefault(registration.id, self.brokers.get(registration.id))
        self.brokers[registration.id] = registration

    def _register_broker(self, record: Any) -> None:
        self._put_broker(broker_of(record))

    def _unregister_broker(self, record: Any) -> None:
        found = self._broker(record.broker_id, record.broker_epoch)
        self.delta.brokers.setdefault(found.id, found)
        del self.brokers[found.id]

    def _change_broker(self, record: Any) -> None:
        self._put_broker(changed_broker(self._broker(record.broker_id, record.broker_epoch), record))

    def _fence(self, record: Any) -> None:
        self._refence(record, r.BrokerRegistrationChangeRecord(fenced=FENCE))

    def _unfence(self, record: Any) -> None:
        self._refence(record, r.BrokerRegistrationChangeRecord(fenced=UNFENCE))

    def _refence(self, record: Any, change: Any) -> None:
        self._put_broker(changed_broker(self._broker(record.id, record.epoch), change))

    def _register_controller(self, record: Any) -> None:
        self.controllers[record.controller_id] = ControllerRegistration(
            record.controller_id, record.incarnation_id, endpoints_of(record), features_of(record)
        )

    # -- topics -----------------------------------------------------------------------------------
    def _topic(self, topic_id: uuid.UUID) -> TopicImage:
        found = self.topics.get(topic_id)
        if found is None:
            raise UnknownSubject(f"topic {topic_id}")
        return found

    def _new_topic(self, record: Any) -> None:
        self.topics[record.topic_id] = TopicImage(record.name, record.topic_id)
        self.topic_ids[record.name] = record.topic_id
        self.delta.created[record.topic_id] = record.name

    def _remove_topic(self, record: Any) -> None:
        topic = self._topic(record.topic_id)
        del self.topics[topic.id], self.topic_ids[topic.name]
        self.configs.pop((TOPIC, topic.name), None)
        for number in topic.partitions:
            self.delta.partitions.pop((topic.id, number), None)
        if self.delta.created.pop(topic.id, None) is None:
            self.delta.removed[topic.id] = topic

    def _put_partition(self, topic: TopicImage, number: int, partition: PartitionRegistration) -> None:
        self.delta.partitions.setdefault((topic.id, number), topic.partitions.get(number))
        topic.partitions[number] = partition

    def _new_partition(self, record: Any) -> None:
        self._put_partition(self._topic(record.topic_id), record.partition_id, partition_of(record))

    def _change_partition(self, record: Any) -> None:
        topic = self._topic(record.topic_id)
        before = topic.partitions.get(record.partition_id)
        if before is None:
            raise UnknownSubject(f"partition {topic.name}-{record.partition_id}")
        self._put_partition(topic, record.partition_id, changed_partition(before, record))

    def _clear_elr(self, record: Any) -> None:
        names = [record.topic_name] if record.topic_name else list(self.topic_ids)
        for name in names:
            topic = self.topics[self.topic_ids[name]] if name in self.topic_ids else None
            for number, partition in list(topic.partitions.items()) if topic is not None else ():
                if topic is not None and (partition.elr or partition.last_known_elr):
                    self._put_partition(topic, number, without_elr(partition))

    # -- settings, features, ids ------------------------------------------------------------------
    def _config(self, record: Any) -> None:
        resource = (record.resource_type, record.resource_name)
        settings = self.configs.setdefault(resource, {})
        if record.value is None:
            settings.pop(record.name, None)
        else:
            settings[record.name] = record.value
        if not settings:
            del self.configs[resource]
        self.delta.configs[resource] = None

    def _feature(self, record: Any) -> None:
        self.features[record.name] = record.feature_level
        if not record.feature_level:
            del self.features[record.name]
        self.delta.features[record.name] = record.feature_level

    def _producer_ids(self, record: Any) -> None:
        self.next_producer_id = record.next_producer_id

    def _keep(self, record: Any) -> None:
        """Of a subject that has no effect here yet: the newest record of each is held for snapshots."""
        name = type(record).__name__
        removed = name.startswith("Remove")
        key = (name.removeprefix("Remove"), *_identity(record))
        if removed or getattr(record, "remove", False):
            self.kept.pop(key, None)
        else:
            self.kept[key] = r.encode(record)

    # -- snapshots --------------------------------------------------------------------------------
    def records(self) -> Iterator[tuple[Any, int]]:
        """Records (and their versions) that make this image, in an order in which they can be replayed."""
        for name, level in self.features.items():
            yield r.FeatureLevelRecord(name=name, feature_level=level), 0
        for broker in self.brokers.values():
            yield broker_record(broker)
        for controller in self.controllers.values():
            yield _controller_record(controller), 0
        for topic in self.topics.values():
            yield r.TopicRecord(name=topic.name, topic_id=topic.id), 0
            for number, partition in topic.partitions.items():
                yield partition_record(topic.id, number, partition)
        for (kind, resource), settings in self.configs.items():
            for name, value in settings.items():
                yield r.ConfigRecord(resource_type=kind, resource_name=resource, name=name, value=value), 0
        if self.next_producer_id:
            yield r.ProducerIdsRecord(broker_id=-1, broker_epoch=-1, next_producer_id=self.next_producer_id), 0
        for encoded in self.kept.values():
            yield r.decode(encoded), encoded[2]


def _identity(record: Any) -> tuple[Any, ...]:
    """What a credential, quota, ACL or token is known by."""
    if hasattr(record, "entity"):
        return (*((one.entity_type, one.entity_name) for one in record.entity), record.key)
    names = ("id", "token_id", "name", "mechanism", "zk_migration_state")
    return tuple(getattr(record, name) for name in names if name in record.FIELDS)


def _controller_record(controller: ControllerRegistration) -> Any:
    kind = r.RegisterControllerRecord
    return kind(
        controller_id=controller.id, incarnation_id=controller.incarnation_id,
        end_points=[kind.ControllerEndpoint(**values) for values in endpoint_fields(controller.listeners)],
        features=[kind.ControllerFeature(**values) for values in feature_fields(controller.features)],
    )  # fmt: skip


_REPLAY: dict[str, Any] = {
    "RegisterBrokerRecord": MetadataImage._register_broker,
    "UnregisterBrokerRecord": MetadataImage._unregister_broker,
    "BrokerRegistrationChangeRecord": MetadataImage._change_broker,
    "FenceBrokerRecord": MetadataImage._fence,
    "UnfenceBrokerRecord": MetadataImage._unfence,
    "RegisterControllerRecord": MetadataImage._register_controller,
    "TopicRecord": MetadataImage._new_topic,
    "RemoveTopicRecord": MetadataImage._remove_topic,
    "PartitionRecord": MetadataImage._new_partition,
    "PartitionChangeRecord": MetadataImage._change_partition,
    "ClearElrRecord": MetadataImage._clear_elr,
    "ConfigRecord": MetadataImage._config,
    "FeatureLevelRecord": MetadataImage._feature,
    "ProducerIdsRecord": MetadataImage._producer_ids,
}
_SILENT = ("NoOpRecord", "ZkMigrationStateRecord")
"""They only move the end of the log."""
