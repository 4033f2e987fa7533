"""After any sequence of requests a standby knows what the active controller knows, and a snapshot with what follows it
says what the whole log says."""

from __future__ import annotations

import uuid
from random import Random
from typing import Any

import pytest

from broker_core.metadata import records as r
from broker_core.metadata.image import MetadataImage
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from tests.controller.kraft_clusters import ControllerQuorum

STATE = ("topics", "topic_ids", "brokers", "controllers", "configs", "features", "next_producer_id", "kept")


def state(image: MetadataImage) -> dict[str, Any]:
    assert not image.in_transaction
    return {name: getattr(image, name) for name in STATE}


class Anything:
    """Draws requests, sensible ones and others, about brokers 1 to 5 and topics a to d."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.quorum = ControllerQuorum(seed)
        self.starts = dict.fromkeys(range(1, 6), 0)
        self.ended: dict[int, int] = {}
        self.quorum.start_brokers(1, 2, 3, 4)
        for name in "ab":
            self.quorum.create(name, partitions=3, min_insync_replicas="2")

    def do(self) -> None:
        draw = self.random.choice((self.beat, self.beat, self.fence, self.start, self.alter, self.alter, self.alter, self.move,
                                   self.elect, self.set, self.make, self.directory, self.level, self.unregister))
        draw()
        for broker in list(self.quorum.epochs):
            if self.random.random() < 0.7 and broker in self.quorum.image.brokers:
                self.quorum.heartbeat(broker)

    def broker(self) -> int:
        return self.random.choice(list(self.quorum.epochs) or [1])

    def topic(self) -> Any:
        return self.random.choice(list(self.quorum.image.topics.values()) or [None])

    def some(self, most: int = 4) -> list[int]:
        return self.random.sample(range(1, 6), self.random.randint(1, most))

    def beat(self) -> None:
        broker, ends = self.broker(), self.random.random() < 0.2
        if broker in self.quorum.epochs:
            self.quorum.heartbeat(broker, want_shut_down=ends)
            if ends:
                self.ended[broker] = self.quorum.epochs.pop(broker)

    def fence(self) -> None:
        body = m.BrokerHeartbeatRequest(broker_id=(broker := self.broker()), broker_epoch=self.quorum.epochs.get(broker, 0),
                                        current_metadata_offset=10**6, want_fence=True)
        self.quorum.call(ApiKey.BROKER_HEARTBEAT, body, 0.06)

    def start(self) -> None:
        broker = self.random.randint(1, 5)
        self.starts[broker] += 1
        previous = self.random.choice((-1, self.quorum.epochs.get(broker, self.ended.get(broker, -1))))
        answer = self.quorum.register(broker, 1 + self.starts[broker], previous)
        if not answer.error_code:
            self.quorum.epochs[broker] = answer.broker_epoch

    def alter(self) -> None:
        topic, kind = self.topic(), m.AlterPartitionRequest
        if topic is None:
            return
        number = self.random.choice(list(topic.partitions))
        now = topic.partitions[number]
        isr = self.random.sample(now.replicas, self.random.randint(1, len(now.replicas)))
        part = kind.PartitionData(
            partition_index=number, leader_epoch=now.leader_epoch, partition_epoch=now.partition_epoch,
            new_isr_with_epochs=[kind.BrokerState(broker_id=one, broker_epoch=-1) for one in isr])
        body = kind(broker_id=now.leader, broker_epoch=self.quorum.epochs.get(now.leader, -1),
                    topics=[kind.TopicData(topic_id=topic.id, partitions=[part])])
        self.quorum.call(ApiKey.ALTER_PARTITION, body, 0.06)

    def move(self) -> None:
        topic, kind = self.topic(), m.AlterPartitionReassignmentsRequest
        wish = kind.ReassignablePartition(partition_index=self.random.randint(0, 2), replicas=self.random.choice((None, self.some(), self.some())))
        name = "nothing" if topic is None else topic.name
        self.quorum.call(ApiKey.ALTER_PARTITION_REASSIGNMENTS, kind(timeout=1, topics=[kind.ReassignableTopic(name=name, partitions=[wish])]), 0.06)

    def elect(self) -> None:
        body = m.ElectLeadersRequest(election_type=self.random.randint(0, 1), topic_partitions=None, timeout=1)
        self.quorum.call(ApiKey.ELECT_LEADERS, body, 0.06)

    def set(self) -> None:
        topic, kind = self.topic(), m.IncrementalAlterConfigsRequest
        key, value = self.random.choice((("min.insync.replicas", "1"), ("min.insync.replicas", "2"), ("retention.ms", "7"),
                                         ("unclean.leader.election.enable", "true"), ("cleanup.policy", "compact")))
        config = kind.AlterableConfig(name=key, config_operation=self.random.choice((0, 0, 1, 2)), value=value)
        resources = [kind.AlterConfigsResource(resource_type=2, resource_name=topic.name if topic else "nothing", configs=[config]),
                     kind.AlterConfigsResource(resource_type=4, resource_name="", configs=[config])]
        self.quorum.call(ApiKey.INCREMENTAL_ALTER_CONFIGS, kind(resources=resources[: self.random.randint(1, 2)]), 0.06)

    def make(self) -> None:
        name = self.random.choice("abcd")
        if name in self.quorum.image.topic_ids and self.random.random() < 0.5:
            kind = m.DeleteTopicsRequest
            self.quorum.call(ApiKey.DELETE_TOPICS, kind(topics=[kind.DeleteTopicState(name=name)], timeout=1), 0.06)
        else:
            self.quorum.create(name, partitions=self.random.randint(1, 3), factor=self.random.randint(1, 4))

    def directory(self) -> None:
        topic, kind, broker = self.topic(), m.AssignReplicasToDirsRequest, self.broker()
        if topic is None:
            return
        where = uuid.UUID(int=self.random.choice((5000 + broker, 6000 + broker)))
        part = kind.TopicData(topic_id=topic.id, partitions=[kind.PartitionData(partition_index=self.random.randint(0, 2))])
        body = kind(broker_id=broker, broker_epoch=self.quorum.epochs.get(broker, 0), directories=[kind.DirectoryData(id_=where, topics=[part])])
        self.quorum.call(ApiKey.ASSIGN_REPLICAS_TO_DIRS, body, 0.06)

    def level(self) -> None:
        kind = m.UpdateFeaturesRequest
        name = self.random.choice(("eligible.leader.replicas.version", "transaction.version"))
        update = kind.FeatureUpdateKey(feature=name, max_version_level=self.random.randint(0, 2), upgrade_type=self.random.randint(1, 2))
        self.quorum.call(ApiKey.UPDATE_FEATURES, kind(feature_updates=[update]), 0.06)

    def unregister(self) -> None:
        if self.random.random() < 0.3:
            self.quorum.call(ApiKey.UNREGISTER_BROKER, m.UnregisterBrokerRequest(broker_id=self.broker()), 0.06)


def check_invariants(image: MetadataImage) -> None:
    for topic in image.topics.values():
        assert list(topic.partitions) == list(range(len(topic.partitions)))
        for one in topic.partitions.values():
            assert one.leader == -1 or one.leader in one.isr
            assert not set(one.isr) & set(one.elr)
            assert set(one.isr) | set(one.elr) <= set(one.replicas)
            assert len(one.directories) == len(one.replicas)
            assert not one.has_leader or image.brokers[one.leader].is_active


@pytest.mark.parametrize("seed", range(4))
def test_a_standby_knows_what_the_active_controller_knows_and_a_snapshot_with_its_tail_what_the_log_says(seed: int):
    anything = Anything(seed)
    quorum = anything.quorum
    snapshots = []
    for step in range(120):
        anything.do()
        check_invariants(quorum.image)
        if step % 20 == 10:
            quorum.run(1)
            active = quorum.active
            for one in quorum.ids:
                assert state(quorum.controller(one).image) == state(active.image)
            if active.committed == active.appended:
                snapshots.append((active.committed + 1, [r.encode(*record) for record in active.image.records()]))
    quorum.run(1)
    log = quorum[quorum.leader or 0].raft.log
    assert snapshots and log.start_offset == 0
    from broker_core.raft.listeners import decoded
    for offset, values in [(0, []), *snapshots]:
        image = MetadataImage()
        for value in values:
            image.replay(r.decode(value))
        for batch in log.batches(offset, log.end_offset):
            for value in decoded(batch).values:
                image.replay(r.decode(value))
        assert state(image) == state(quorum.image), f"from offset {offset}"
    first = quorum.leader
    assert first is not None
    before = state(quorum.image)
    quorum.world.crash(quorum.node(first))
    quorum.wait_for_leader()
    quorum.run(0.5)
    assert quorum.leader != first and state(quorum.image) == before
