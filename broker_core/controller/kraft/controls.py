"""All that decides, behind one door: a request goes in, records and an answer come out.

| request | decided by |
|---|---|
| BrokerRegistration, BrokerHeartbeat, UnregisterBroker | `brokers`, and `partitions` for what follows |
| ControllerRegistration | here |
| CreateTopics, CreatePartitions, DeleteTopics | `topics` |
| AlterPartition, ElectLeaders | `partitions` |
| AlterPartitionReassignments, ListPartitionReassignments | `reassignments` |
| AlterConfigs, IncrementalAlterConfigs | `settings` |
| AllocateProducerIds | here |
| UpdateFeatures | `features` |
| AssignReplicasToDirs | `directories` |

Nothing here changes the image. Source: QuorumController and its control managers.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

from broker_core.controller.kraft.brokers import BrokerControl, fencing, listed, stopping
from broker_core.controller.kraft.directories import DirectoryControl
from broker_core.controller.kraft.features import FeatureControl, Quorum
from broker_core.controller.kraft.partitions import PartitionControl
from broker_core.controller.kraft.reassignments import ReassignmentControl
from broker_core.controller.kraft.result import Records, Result
from broker_core.controller.kraft.settings import SettingsControl
from broker_core.controller.kraft.topics import TopicControl
from broker_core.metadata import records as r
from broker_core.metadata.configs import BrokerConfig
from broker_core.metadata.errors import RequestError
from broker_core.metadata.image import MetadataImage
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.errors import ErrorCode

PRODUCER_ID_BLOCK = 1000
LAST_ID = (1 << 63) - 1


class Surroundings(NamedTuple):
    """What the decisions need beside image and settings. `random`: for placing
    replicas; `new_id` draws a topic id; `setting(topic, name)` is a topic's setting as it holds now, `of_brokers` this
    controller's settings under those that hold for all brokers."""

    own_id: int
    cluster_id: str
    quorum: Quorum
    random: Random
    new_id: Callable[[], uuid.UUID]
    setting: Callable[[str, str], Any]
    of_brokers: Callable[[], BrokerConfig]


class Controls:
    """See the module."""

    def __init__(self, image: MetadataImage, config: BrokerConfig, world: Surroundings) -> None:
        self.image = image
        self.own_id = world.own_id
        self.brokers = BrokerControl(image, world.cluster_id, config["broker.session.timeout.ms"])
        self.partitions = PartitionControl(image, self.brokers, world.setting)
        self.settings = SettingsControl(image, config, world.own_id, self.is_node)
        self.topics = TopicControl(
            image, self.brokers, self.settings, config, world.of_brokers, world.random, world.new_id
        )
        self.reassignments = ReassignmentControl(image, self.partitions)
        self.features = FeatureControl(image, config, self.settings, world.own_id, world.quorum)
        self.directories = DirectoryControl(image, self.brokers, self.partitions)

    def is_node(self, node_id: int) -> bool:
        """Whether a broker or a controller of this id is known."""
        return node_id == self.own_id or node_id in self.image.brokers or node_id in self.image.controllers

    def decide(self, api_key: int, body: Any, next_offset: int, now_us: int) -> Result:
        """`next_offset`: of the first record, if there is one. Raises RequestError."""
        match api_key:
            case ApiKey.BROKER_REGISTRATION:
                return self._register(body, next_offset, now_us)
            case ApiKey.BROKER_HEARTBEAT:
                return self._heartbeat(body, next_offset, now_us)
            case ApiKey.UNREGISTER_BROKER:
                result = self.brokers.unregister(body)
                return Result(self.partitions.without_broker(body.broker_id) + result.records, result.answer)
            case ApiKey.CONTROLLER_REGISTRATION:
                return _controller(body)
            case ApiKey.ALTER_PARTITION:
                return self.partitions.alter(body)
            case ApiKey.ELECT_LEADERS:
                return self.partitions.elect(body)
            case ApiKey.CREATE_TOPICS:
                return self.topics.create(body)
            case ApiKey.CREATE_PARTITIONS:
                return self.topics.grow(body)
            case ApiKey.DELETE_TOPICS:
                return self.topics.delete(body)
            case ApiKey.ALTER_CONFIGS | ApiKey.INCREMENTAL_ALTER_CONFIGS:
                return self.settings.alter(body)
            case ApiKey.ALTER_PARTITION_REASSIGNMENTS:
                return self.reassignments.alter(body)
            case ApiKey.LIST_PARTITION_REASSIGNMENTS:
                return Result([], self.reassignments.moving(body))
            case ApiKey.UPDATE_FEATURES:
                return self.features.update(body)
            case ApiKey.ASSIGN_REPLICAS_TO_DIRS:
                return self.directories.assign(body)
            case ApiKey.ALLOCATE_PRODUCER_IDS:
                return self._producer_ids(body)
        raise ValueError(f"api {api_key} is none of a controller's")

    # -- brokers and what follows for partitions --------------------------------------------------
    def _register(self, body: Any, next_offset: int, now_us: int) -> Result:
        """What its former life takes with it stands before the new one: the epoch is the first record's offset."""
        result, end = self.brokers.register(body, next_offset, now_us)
        follows: Records = []
        if end == "crash":
            follows = self.partitions.after_crash(body.broker_id)
        elif end == "in order":
            follows = self.partitions.without_broker(body.broker_id)
        return Result(follows + result.records, result.answer)

    def _heartbeat(self, body: Any, next_offset: int, now_us: int) -> Result:
        broker = self.brokers.check(body.broker_id, body.broker_epoch)
        contact = self.brokers.touch(body, now_us)
        state = self.brokers.next_state(body, contact, lambda: self.partitions.leads(broker.id))
        records: Records = []
        if state == "unfenced" and broker.fenced:
            records = [fencing(broker, False), *self.partitions.with_broker(broker.id)]
        elif state in ("fenced", "may stop") and not broker.fenced:
            records = self.fence(broker.id)
        elif state == "stopping" and not broker.in_controlled_shutdown:
            records = [stopping(broker), *self.partitions.without_broker(broker.id)]
            contact.shutdown_offset = next_offset + len(records) - 1
        records += self.directories.offline(broker, body.offline_log_dirs)
        answer = m.BrokerHeartbeatResponse(
            is_caught_up=body.current_metadata_offset >= broker.epoch, is_fenced=state in ("fenced", "may stop"),
            should_shut_down=state == "may stop",
        )  # fmt: skip
        return Result(records, answer)

    def fence(self, broker_id: int) -> Records:
        """It takes part in nothing from now on."""
        return [*self.partitions.without_broker(broker_id), fencing(self.image.brokers[broker_id], True)]

    # -- small ones -------------------------------------------------------------------------------
    def _producer_ids(self, body: Any) -> Result:
        """The next block, for one broker alone."""
        self.brokers.check(body.broker_id, body.broker_epoch)
        first = self.image.next_producer_id
        if first > LAST_ID - PRODUCER_ID_BLOCK:
            raise RequestError(ErrorCode.UNKNOWN_SERVER_ERROR)
        record = r.ProducerIdsRecord(
            broker_id=body.broker_id, broker_epoch=body.broker_epoch, next_producer_id=first + PRODUCER_ID_BLOCK
        )
        answer = m.AllocateProducerIdsResponse(producer_id_start=first, producer_id_len=PRODUCER_ID_BLOCK)
        return Result([(record, 0)], answer)


def _controller(body: Any) -> Result:
    """A controller says where it is and what it knows (KIP-919)."""
    kind = r.RegisterControllerRecord
    record = kind(
        controller_id=body.controller_id, incarnation_id=body.incarnation_id,
        **listed(body, kind.ControllerEndpoint, kind.ControllerFeature),
    )
    return Result([(record, 0)], m.ControllerRegistrationResponse(error_message=None))


def refused(api_key: int, error: RequestError, body: Any) -> Any:
    """An answer that says no to all of a request."""
    code, message = int(error.code), error.message
    match api_key:
        case ApiKey.CREATE_TOPICS:
            kind = m.CreateTopicsResponse.CreatableTopicResult
            topics = [kind(name=one.name, error_code=code, error_message=message) for one in body.topics]
            return m.CreateTopicsResponse(topics=topics)
        case ApiKey.DELETE_TOPICS:
            asked = [(one.name, one.topic_id) for one in body.topics]
            asked += [(name, uuid.UUID(int=0)) for name in body.topic_names]
            gone = m.DeleteTopicsResponse.DeletableTopicResult
            return m.DeleteTopicsResponse(
                responses=[gone(name=name, topic_id=one, error_code=code, error_message=message) for name, one in asked]
            )
        case ApiKey.CREATE_PARTITIONS:
            grown = m.CreatePartitionsResponse.CreatePartitionsTopicResult
            results = [grown(name=one.name, error_code=code, error_message=message) for one in body.topics]
            return m.CreatePartitionsResponse(results=results)
        case ApiKey.ALTER_CONFIGS | ApiKey.INCREMENTAL_ALTER_CONFIGS:
            return _unaltered(api_key, code, message, body)
        case ApiKey.ELECT_LEADERS:
            return _unelected(code, message, body)
        case ApiKey.ALTER_PARTITION_REASSIGNMENTS:
            return _unmoved(code, message, body)
    answer = _ANSWERS[api_key](error_code=code)
    if "error_message" in answer.FIELDS:
        answer.error_message = message
    return answer


def _unaltered(api_key: int, code: int, message: str | None, body: Any) -> Any:
    kind = m.AlterConfigsResponse if api_key == ApiKey.ALTER_CONFIGS else m.IncrementalAlterConfigsResponse
    return kind(responses=[
        kind.AlterConfigsResourceResponse(
            error_code=code, error_message=message, resource_type=one.resource_type, resource_name=one.resource_name
        )
        for one in body.resources
    ])  # fmt: skip


def _unelected(code: int, message: str | None, body: Any) -> Any:
    kind = m.ElectLeadersResponse
    results = [
        kind.ReplicaElectionResult(topic=one.topic, partition_result=[
            kind.PartitionResult(partition_id=number, error_code=code, error_message=message)
            for number in one.partitions
        ])
        for one in body.topic_partitions or []
    ]  # fmt: skip
    return kind(error_code=code, replica_election_results=results)


def _unmoved(code: int, message: str | None, body: Any) -> Any:
    kind = m.AlterPartitionReassignmentsResponse
    responses = [
        kind.ReassignableTopicResponse(name=one.name, partitions=[
            kind.ReassignablePartitionResponse(
                partition_index=wish.partition_index, error_code=code, error_message=message
            )
            for wish in one.partitions
        ])
        for one in body.topics
    ]  # fmt: skip
    return kind(error_code=code, error_message=message, responses=responses)


_ANSWERS: dict[int, Any] = {
    ApiKey.BROKER_REGISTRATION: m.BrokerRegistrationResponse,
    ApiKey.BROKER_HEARTBEAT: m.BrokerHeartbeatResponse,
    ApiKey.UNREGISTER_BROKER: m.UnregisterBrokerResponse,
    ApiKey.CONTROLLER_REGISTRATION: m.ControllerRegistrationResponse,
    ApiKey.ALTER_PARTITION: m.AlterPartitionResponse,
    ApiKey.ELECT_LEADERS: m.ElectLeadersResponse,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: m.AlterPartitionReassignmentsResponse,
    ApiKey.LIST_PARTITION_REASSIGNMENTS: m.ListPartitionReassignmentsResponse,
    ApiKey.UPDATE_FEATURES: m.UpdateFeaturesResponse,
    ApiKey.ASSIGN_REPLICAS_TO_DIRS: m.AssignReplicasToDirsResponse,
    ApiKey.ALLOCATE_PRODUCER_IDS: m.AllocateProducerIdsResponse,
}
APIS = (
    *_ANSWERS, ApiKey.CREATE_TOPICS, ApiKey.CREATE_PARTITIONS, ApiKey.DELETE_TOPICS, ApiKey.ALTER_CONFIGS,
    ApiKey.INCREMENTAL_ALTER_CONFIGS,
)  # fmt: skip
"""What a controller answers."""
