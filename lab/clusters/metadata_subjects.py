"""What a metadata record is about, and what it changes there: a subject looked at in two images.

| record | subject |
|---|---|
| Partition, PartitionChange | partition orders-0 |
| Topic, RemoveTopic, ClearElr | topic orders |
| RegisterBroker, UnregisterBroker, FenceBroker, UnfenceBroker, BrokerRegistrationChange | broker 2 |
| RegisterController | controller 101 |
| Config | config topic:orders, broker:2, broker: (the default of all), group:billing |
| FeatureLevel | feature metadata.version |
| ProducerIds | producer_ids |
| NoOp, transactions of metadata, and what has no effect here | none |
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, NamedTuple

from broker_core.metadata.image import BROKER, GROUP, TOPIC, MetadataImage

_CONFIGS = {TOPIC: "topic", BROKER: "broker", GROUP: "group"}
_NUMBERS = {name: number for number, name in _CONFIGS.items()}
_BROKER_ID = {
    "RegisterBrokerRecord": "broker_id", "UnregisterBrokerRecord": "broker_id", "FenceBrokerRecord": "id",
    "UnfenceBrokerRecord": "id", "BrokerRegistrationChangeRecord": "broker_id",
}  # fmt: skip

Facts = dict[str, Any]
Names = Mapping[uuid.UUID, str]
"""Topic ids and the names that they have, or had."""


class Subject(NamedTuple):
    """Kind and name, as in the table of the module."""

    kind: str
    name: str


def subject_of(record: Any, names: Names) -> Subject | None:
    """None where a record changes nothing that can be looked at."""
    kind = type(record).__name__
    if kind in ("PartitionRecord", "PartitionChangeRecord"):
        return Subject("partition", f"{names.get(record.topic_id, record.topic_id)}-{record.partition_id}")
    if kind in _BROKER_ID:
        return Subject("broker", str(getattr(record, _BROKER_ID[kind])))
    if kind == "RegisterControllerRecord":
        return Subject("controller", str(record.controller_id))
    if kind in ("TopicRecord", "RemoveTopicRecord"):
        return Subject("topic", names.get(record.topic_id, str(record.topic_id)))
    if kind == "ClearElrRecord" and record.topic_name:
        return Subject("topic", record.topic_name)
    if kind == "ConfigRecord" and record.resource_type in _CONFIGS:
        return Subject("config", f"{_CONFIGS[record.resource_type]}:{record.resource_name}")
    if kind == "FeatureLevelRecord":
        return Subject("feature", record.name)
    return Subject("producer_ids", "") if kind == "ProducerIdsRecord" else None


def facts(image: MetadataImage, subject: Subject) -> Facts:
    """What an image says of it, name -> value; {} when it knows nothing of it."""
    return _FACTS[subject.kind](image, subject.name)


def changes(before: Facts, after: Facts) -> list[dict[str, Any]]:
    """Fields that differ; None: there was, or is, nothing."""
    return [
        {"field": name, "before": before.get(name), "after": after.get(name)}
        for name in dict.fromkeys([*before, *after])
        if before.get(name) != after.get(name)
    ]


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return str(value) if isinstance(value, uuid.UUID) else value


def _of(registration: Any, left_out: tuple[str, ...]) -> Facts:
    names = [field.name for field in fields(registration) if field.name not in left_out]
    return {name: _plain(getattr(registration, name)) for name in names}


def _partition(image: MetadataImage, name: str) -> Facts:
    topic_name, _, number = name.rpartition("-")
    topic_id = image.topic_ids.get(topic_name)
    found = None if topic_id is None else image.topics[topic_id].partitions.get(int(number))
    return {} if found is None else _of(found, ("offline_replicas",))


def _topic(image: MetadataImage, name: str) -> Facts:
    topic_id = image.topic_ids.get(name)
    return {} if topic_id is None else {"topic_id": str(topic_id), "partitions": len(image.topics[topic_id].partitions)}


def _broker(image: MetadataImage, name: str) -> Facts:
    found = image.brokers.get(int(name))
    if found is None:
        return {}
    listeners = [f"{one.listener}://{one.host}:{one.port}" for one in found.listeners.values()]
    return _of(found, ("id", "listeners", "features", "cordoned")) | {"listeners": listeners}


def _controller(image: MetadataImage, name: str) -> Facts:
    found = image.controllers.get(int(name))
    if found is None:
        return {}
    listeners = [f"{one.listener}://{one.host}:{one.port}" for one in found.listeners.values()]
    return {"incarnation_id": str(found.incarnation_id), "listeners": listeners}


def _config(image: MetadataImage, name: str) -> Facts:
    kind, _, resource = name.partition(":")
    return dict(image.configs.get((_NUMBERS[kind], resource), {}))


def _feature(image: MetadataImage, name: str) -> Facts:
    return {"level": image.features[name]} if name in image.features else {}


def _producer_ids(image: MetadataImage, name: str) -> Facts:
    return {"next_producer_id": image.next_producer_id}


_FACTS = {
    "partition": _partition, "topic": _topic, "broker": _broker, "controller": _controller, "config": _config,
    "feature": _feature, "producer_ids": _producer_ids,
}  # fmt: skip
