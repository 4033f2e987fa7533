"""The metadata log becomes an image: every process of a KRaft cluster holds one, and says what has changed in it.

    committed 120..122   NoOp, PartitionChange, NoOp     image at 122, delta: orders-0
    snapshot up to 500   (this process was far behind)   image at 499, delta: all that differs from the one before

A *transaction of metadata* (KIP-868) counts as a whole: the image applies nothing of it before its End, and publishes
it with one delta. What a process says of itself as "I have read up to here" stays before the Begin as long.

Source: MetadataLoader, MetadataBatchLoader.
"""

from __future__ import annotations

from typing import Protocol

from broker_core.metadata import records as r
from broker_core.metadata.image import Delta, MetadataImage
from broker_core.raft.listeners import CommittedBatch, LeaderAndEpoch
from broker_core.raft.snapshots import SnapshotReader

NOTHING_READ = -1


class Publisher(Protocol):
    """Who is told of what has changed, in the order of registration."""

    def publish(self, image: MetadataImage, delta: Delta, offset: int) -> None:
        """The image holds all up to `offset`; `delta` is what differs from the last one that was published."""
        ...


class MetadataLoader:
    """A listener of the quorum. `offset` and `epoch`: of the last record that the image holds, -1 before the first;
    `time_ms`: when that was written; `features_offset`: of the last news with a feature level in it; `said_offset`: of
    the last batch that changed anything, behind which there are no-op records only."""

    said_offset = NOTHING_READ

    def __init__(self) -> None:
        self.image = MetadataImage()
        self.offset = NOTHING_READ
        self.epoch = 0
        self.time_ms = 0
        self.features_offset = NOTHING_READ
        self.publishers: list[Publisher] = []

    def handle_load_snapshot(self, snapshot: SnapshotReader) -> None:
        """Begin anew with what a snapshot says."""
        before, self.image = self.image, MetadataImage()
        for value in snapshot.values():
            self.image.replay(r.decode(value))
        self.image.take_delta()
        self.offset, self.epoch = snapshot.id.end_offset - 1, snapshot.id.epoch
        self.features_offset = self.said_offset = self.offset
        self.time_ms = snapshot.last_timestamp_ms
        self._publish(difference(before, self.image))

    def handle_commit(self, batches: list[CommittedBatch]) -> None:
        """Apply what is committed, and tell once of all of it."""
        for batch in batches:
            before = self.image.changes
            for value in batch.values:
                self.image.replay(r.decode(value))
            if self.image.changes != before:
                self.said_offset = batch.last_offset
            if not self.image.in_transaction:
                self.offset, self.epoch, self.time_ms = batch.last_offset, batch.epoch, batch.append_time_ms
        delta = self.image.take_delta()
        if delta.features:
            self.features_offset = self.offset
        self._publish(delta)

    def handle_leader_change(self, leader: LeaderAndEpoch) -> None:
        """Who leads makes no difference to what is committed."""

    def _publish(self, delta: Delta) -> None:
        for publisher in self.publishers:
            publisher.publish(self.image, delta, self.offset)


def difference(before: MetadataImage, after: MetadataImage) -> Delta:
    """What has changed from one image to another that was made by itself."""
    delta = Delta()
    for topic_id, topic in before.topics.items():
        if topic_id not in after.topics:
            delta.removed[topic_id] = topic
    for topic_id, topic in after.topics.items():
        known = before.topics.get(topic_id)
        if known is None:
            delta.created[topic_id] = topic.name
        for number, partition in topic.partitions.items():
            old = None if known is None else known.partitions.get(number)
            if old != partition:
                delta.partitions[topic_id, number] = old
    for broker in before.brokers | after.brokers:
        if before.brokers.get(broker) != after.brokers.get(broker):
            delta.brokers[broker] = before.brokers.get(broker)
    for resource in before.configs | after.configs:
        if before.configs.get(resource) != after.configs.get(resource):
            delta.configs[resource] = None
    for name in before.features | after.features:
        if before.features.get(name) != after.features.get(name):
            delta.features[name] = after.features.get(name, 0)
    return delta
