"""The image of the metadata log: what records make of it, and what it makes of itself for a snapshot."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from random import Random
from typing import Any

import pytest

from broker_core.metadata import records as r
from broker_core.metadata.image import MetadataImage, UnknownSubject
from broker_core.records.batch import decode_records
from broker_core.records.header import CONTROL, iterate_batches

T = uuid.UUID(int=7)
VECTORS = Path(__file__).parent.parent / "wire_vectors" / "cluster-metadata-4.3.json"


def register(broker: int, epoch: int, **values: Any) -> Any:
    kind = r.RegisterBrokerRecord
    return kind(
        broker_id=broker, broker_epoch=epoch, incarnation_id=uuid.UUID(int=epoch), log_dirs=[uuid.UUID(int=broker)],
        end_points=[kind.BrokerEndpoint(name="PLAINTEXT", host="127.0.0.1", port=9000 + broker)],
        features=[kind.BrokerFeature(name="metadata.version", min_supported_version=7, max_supported_version=30)],
        **values,
    )


def replayed(*records: Any) -> MetadataImage:
    image = MetadataImage()
    for record in records:
        image.replay(record)
    return image


def orders(**values: Any) -> list[Any]:
    partition = r.PartitionRecord(
        partition_id=0, topic_id=T, replicas=[1, 2, 3], isr=[1, 2, 3], leader=1, leader_epoch=0, partition_epoch=0,
        directories=[uuid.UUID(int=one) for one in (1, 2, 3)],
    )
    return [r.TopicRecord(name="orders", topic_id=T), partition, *([r.PartitionChangeRecord(partition_id=0, topic_id=T, **values)] if values else [])]


def test_a_change_that_names_a_leader_raises_the_leader_epoch_and_any_change_the_partition_epoch():
    partition = replayed(*orders(isr=[1, 2])).topics[T].partitions[0]
    assert (partition.leader, partition.leader_epoch, partition.partition_epoch, partition.isr) == (1, 0, 1, [1, 2])
    partition = replayed(*orders(leader=1)).topics[T].partitions[0]
    assert (partition.leader, partition.leader_epoch, partition.partition_epoch) == (1, 1, 1)
    partition = replayed(*orders(leader=-1, isr=[], eligible_leader_replicas=[1])).topics[T].partitions[0]
    assert (partition.leader, partition.leader_epoch, partition.elr, partition.has_leader) == (-1, 1, [1], False)


def test_new_replicas_have_no_directory_until_somebody_names_it():
    partition = replayed(*orders(replicas=[3, 4], isr=[3])).topics[T].partitions[0]
    assert partition.directories == [uuid.UUID(int=3), uuid.UUID(int=0)]


def test_a_broker_stays_known_while_it_is_fenced_and_until_it_is_unregistered():
    image = replayed(register(1, 10), r.UnfenceBrokerRecord(id=1, epoch=10))
    assert image.brokers[1].is_active
    image.replay(r.BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=10, in_controlled_shutdown=1))
    assert not image.brokers[1].is_active and not image.brokers[1].fenced
    image.replay(r.BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=10, fenced=1))
    assert image.brokers[1].fenced
    image.replay(r.UnregisterBrokerRecord(broker_id=1, broker_epoch=10))
    assert image.brokers == {}


@pytest.mark.parametrize("record", [
    r.UnfenceBrokerRecord(id=1, epoch=11), r.UnregisterBrokerRecord(broker_id=2, broker_epoch=10),
    r.PartitionChangeRecord(partition_id=0, topic_id=T), r.RemoveTopicRecord(topic_id=T),
])
def test_a_record_about_something_unknown_is_an_error(record):
    image = replayed(register(1, 10))
    with pytest.raises(UnknownSubject):
        image.replay(record)


def test_the_delta_holds_what_was_there_before_and_is_taken_once():
    image = replayed(register(1, 10), *orders())
    first = image.take_delta()
    assert (first.created, first.partitions, first.brokers) == ({T: "orders"}, {(T, 0): None}, {1: None})
    image.replay(r.PartitionChangeRecord(partition_id=0, topic_id=T, isr=[1]))
    image.replay(r.PartitionChangeRecord(partition_id=0, topic_id=T, leader=2))
    image.replay(r.ConfigRecord(resource_type=2, resource_name="orders", name="retention.ms", value="1"))
    second = image.take_delta()
    before = second.partitions[T, 0]
    assert before is not None and (before.isr, before.leader) == ([1, 2, 3], 1)
    assert (second.created, second.configs) == ({}, {(2, "orders"): None})
    assert image.take_delta().is_empty


def test_a_topic_that_came_and_went_between_two_looks_is_in_neither_list():
    image = replayed(*orders(), r.RemoveTopicRecord(topic_id=T))
    delta = image.take_delta()
    assert (delta.created, delta.removed, delta.partitions) == ({}, {}, {})


def test_settings_go_with_their_topic():
    image = replayed(*orders(), r.ConfigRecord(resource_type=2, resource_name="orders", name="retention.ms", value="1"))
    image.replay(r.RemoveTopicRecord(topic_id=T))
    assert image.configs == {}


def state_of(image: MetadataImage) -> Any:
    return (image.topics, image.topic_ids, image.brokers, image.controllers, image.configs, image.features,
            image.next_producer_id, image.kept)


def random_records(random: Random) -> list[Any]:
    image, records = MetadataImage(), []
    for offset in range(120):
        topics, brokers = list(image.topics.values()), list(image.brokers.values())
        choices: list[Any] = [
            register(random.randrange(5), offset, rack=random.choice([None, "a"])),
            r.TopicRecord(name=f"t{offset}", topic_id=uuid.UUID(int=1000 + offset)),
            r.ConfigRecord(resource_type=4, resource_name=random.choice(["", "1"]), name="x", value=random.choice([None, "1", "2"])),
            r.FeatureLevelRecord(name=random.choice(["a", "b"]), feature_level=random.randrange(3)),
            r.ProducerIdsRecord(broker_id=1, broker_epoch=1, next_producer_id=1000 * offset),
            r.UserScramCredentialRecord(name=random.choice("uv"), mechanism=1, salt=b"s", stored_key=b"k", server_key=b"v", iterations=offset),
            r.RemoveUserScramCredentialRecord(name="u", mechanism=1), r.NoOpRecord(),
        ]
        for topic in topics[-3:]:
            number = len(topic.partitions)
            choices.append(r.PartitionRecord(partition_id=number, topic_id=topic.id, replicas=[1, 2], isr=[1], leader=1,
                                             leader_epoch=0, partition_epoch=0, directories=[uuid.UUID(int=9), uuid.UUID(int=8)]))
            if random.random() < 0.1:
                choices.append(r.RemoveTopicRecord(topic_id=topic.id))
            if number:
                choices += [r.PartitionChangeRecord(
                    partition_id=random.randrange(number), topic_id=topic.id, isr=random.choice([None, [], [2]]),
                    leader=random.choice([-2, -1, 2]), eligible_leader_replicas=random.choice([None, [1]]),
                    last_known_elr=random.choice([None, [], [1]]), replicas=random.choice([None, [2, 3]]),
                    leader_recovery_state=random.choice([-1, 0, 1]))] * 3
                choices.append(r.ClearElrRecord(topic_name=topic.name))
        for broker in brokers:
            choices += [r.FenceBrokerRecord(id=broker.id, epoch=broker.epoch), r.UnfenceBrokerRecord(id=broker.id, epoch=broker.epoch)]
        record = random.choice(choices)
        image.replay(record)
        records.append(record)
    return records


@pytest.mark.parametrize("seed", range(20))
def test_the_records_of_an_image_make_the_same_image_also_as_bytes(seed):
    image = replayed(*random_records(Random(seed)))
    assert image.topics and image.brokers
    again = replayed(*(r.decode(r.encode(record, version)) for record, version in image.records()))
    assert state_of(again) == state_of(image)


def written_by_kafka(name: str) -> list[tuple[int, bytes]]:
    """(offset, value) of all that is in no control batch."""
    data = bytes.fromhex(json.loads(VECTORS.read_text())[name]["bytes"])
    return [
        (batch.header.base_offset + number, record.value or b"")
        for batch in iterate_batches(data) if not batch.header.attributes & CONTROL
        for number, record in enumerate(decode_records(batch))
    ]  # fmt: skip


def test_kafka_s_log_up_to_its_snapshot_comes_to_what_kafka_s_snapshot_says():
    """Topics that come and go, settings that change, a node that dies and returns; the snapshot is of all below 108."""
    log, snapshot = written_by_kafka("00000000000000000000.log"), written_by_kafka("00000000000000000108-0000000001.checkpoint")
    image = replayed(*(r.decode(value) for offset, value in log if offset < 108))
    assert image.topics and image.delta.brokers
    ours = [features_in_order(r.encode(record, version)) for record, version in image.records()]
    assert sorted(ours) == sorted(features_in_order(value) for _, value in snapshot)


def features_in_order(value: bytes) -> bytes:
    """Kafka writes the features of a registration in the order of a hash table."""
    record = r.decode(value)
    if "features" in record.FIELDS:
        record.features.sort(key=lambda one: one.name)
    return r.encode(record, value[2])
