"""Topics are made, grown and removed: the records that this takes.

    CreateTopics orders, 2 partitions     TopicRecord, ConfigRecords, PartitionRecord 0, PartitionRecord 1
    CreatePartitions orders to 3          PartitionRecord 2
    DeleteTopics orders                   RemoveTopicRecord: its partitions and settings go with it

Of the replicas those on brokers that are alive make up the first ISR, and the first of them leads; where nobody of a
partition is alive, it is not made. Source: ReplicationControlManager.createTopics, createPartitions, deleteTopics.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from broker_core.controller.kraft.brokers import BrokerControl
from broker_core.controller.kraft.placement import place
from broker_core.controller.kraft.result import Records, Result
from broker_core.controller.kraft.settings import SettingsControl
from broker_core.metadata import records as r
from broker_core.metadata import topic_names
from broker_core.metadata.configs import BrokerConfig
from broker_core.metadata.configs_topics import describe_topic
from broker_core.metadata.errors import RequestError
from broker_core.metadata.image import TOPIC, MetadataImage, TopicImage
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

NO_ID = uuid.UUID(int=0)
UNSET = -1


class TopicControl:
    """Decides about topics. `new_id` draws a topic id; `config` are the controller's settings, `of_brokers` those
    settings under what holds for all brokers."""

    def __init__(
        self, image: MetadataImage, brokers: BrokerControl, settings: SettingsControl, config: BrokerConfig,
        of_brokers: Callable[[], BrokerConfig], random: Random, new_id: Callable[[], uuid.UUID],
    ) -> None:  # fmt: skip
        self.image = image
        self.brokers = brokers
        self.settings = settings
        self.config = config
        self.of_brokers = of_brokers
        self.random = random
        self.new_id = new_id

    # -- CreateTopics -----------------------------------------------------------------------------
    def create(self, body: Any) -> Result:
        """Each topic by itself: one that cannot be made does not keep others from it."""
        records: Records = []
        answers: dict[str, Any] = {}
        names = [topic.name for topic in body.topics]
        made: list[str] = []
        for topic in body.topics:
            try:
                if names.count(topic.name) > 1:
                    raise RequestError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
                answers[topic.name] = self._created(topic, made, records)
                made.append(topic.name)
            except RequestError as error:
                answers[topic.name] = m.CreateTopicsResponse.CreatableTopicResult(
                    name=topic.name, error_code=int(error.code), error_message=error.message, configs=[],
                )  # fmt: skip
        answer = m.CreateTopicsResponse(topics=list(answers.values()))
        return Result([] if body.validate_only else records, answer)

    def _created(self, topic: Any, made: list[str], records: Records) -> Any:
        if topic.name in self.image.topic_ids:
            raise RequestError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{topic.name}' already exists.")
        self._check_name(topic.name, [*made, *self.image.topic_ids])
        settings = {one.name: one.value for one in topic.configs}
        missing = [name for name, value in settings.items() if value is None]
        if missing:
            words = f"Null value not supported for topic configs: {','.join(missing)}"
            raise RequestError(ErrorCode.INVALID_CONFIG, words)
        config_records = self.settings.changes((TOPIC, topic.name), settings, is_new=True)
        assignment = self._given(topic) if topic.assignments else self._placed(topic)
        topic_id = self._new_id()
        records.append((r.TopicRecord(name=topic.name, topic_id=topic_id), 0))
        records += config_records
        records += [self._partition(topic_id, number, replicas) for number, replicas in enumerate(assignment)]
        described = [
            m.CreateTopicsResponse.CreatableTopicConfigs(
                name=one.name, value=one.value, read_only=one.read_only, config_source=one.source,
                is_sensitive=one.sensitive,
            )
            for one in describe_topic(settings, self.of_brokers())
        ]  # fmt: skip
        return m.CreateTopicsResponse.CreatableTopicResult(
            name=topic.name, topic_id=topic_id, error_message=None, num_partitions=len(assignment),
            replication_factor=len(assignment[0]), configs=sorted(described, key=lambda one: str(one.name)),
        )  # fmt: skip

    @staticmethod
    def _check_name(name: str, others: Sequence[str]) -> None:
        topic_names.validate_new(name, [])
        twin = next((one for one in sorted(others) if topic_names.collides(name, one)), None)
        if twin is not None:
            words = f"Topic '{name}' collides with existing topic: {twin}"
            raise RequestError(ErrorCode.INVALID_TOPIC_EXCEPTION, words)

    def _given(self, topic: Any) -> list[list[int]]:
        """The assignment that somebody wants."""
        for value, words in ((topic.replication_factor, "replication factor"), (topic.num_partitions, "numPartitions")):
            if value != UNSET:
                message = f"A manual partition assignment was specified, but {words} was not set to -1."
                raise RequestError(ErrorCode.INVALID_REQUEST, message)
        found: dict[int, list[int]] = {}
        factor = None
        for one in topic.assignments:
            if one.partition_index in found:
                raise _invalid(f"Found multiple manual partition assignments for partition {one.partition_index}")
            self.brokers.check_assignment(one.broker_ids, factor)
            factor = len(one.broker_ids)
            self._check_alive(one.partition_index, one.broker_ids)
            found[one.partition_index] = list(one.broker_ids)
        if sorted(found) != list(range(len(found))):
            raise _invalid("partitions should be a consecutive 0-based integer sequence")
        return [found[number] for number in range(len(found))]

    def _check_alive(self, number: int, replicas: Sequence[int]) -> None:
        if not any(self.brokers.is_active(one) for one in replicas):
            raise _invalid(
                f"All brokers specified in the manual partition assignment for partition {number} are fenced or in "
                f"controlled shutdown."
            )

    def _placed(self, topic: Any) -> list[list[int]]:
        """By Kafka's rule."""
        partitions, factor = topic.num_partitions, topic.replication_factor
        if factor < UNSET or factor == 0:
            words = "Replication factor must be larger than 0, or -1 to use the default value."
            raise RequestError(ErrorCode.INVALID_REPLICATION_FACTOR, words)
        if partitions < UNSET or partitions == 0:
            words = "Number of partitions was set to an invalid non-positive value."
            raise RequestError(ErrorCode.INVALID_PARTITIONS, words)
        partitions = self.config["num.partitions"] if partitions == UNSET else partitions
        factor = self.config["default.replication.factor"] if factor == UNSET else factor
        return self._place(partitions, factor)

    def _place(self, partitions: int, factor: int) -> list[list[int]]:
        found = place(self.image.brokers.values(), partitions, factor, self.random)
        if all(any(self.brokers.is_active(one) for one in replicas) for replicas in found):
            return found
        words = f"Unable to replicate the partition {factor} time(s): All brokers are currently fenced or in controlled"
        raise RequestError(ErrorCode.INVALID_REPLICATION_FACTOR, f"{words} shutdown.")

    def _new_id(self) -> uuid.UUID:
        found = self.new_id()
        while found in self.image.topics or found.int < 256:
            found = self.new_id()
        return found

    def _partition(self, topic_id: uuid.UUID, number: int, replicas: Sequence[int]) -> tuple[Any, int]:
        isr = [one for one in replicas if self.brokers.is_active(one)]
        record = r.PartitionRecord(
            partition_id=number, topic_id=topic_id, replicas=list(replicas), isr=isr, leader=isr[0], leader_epoch=0,
            partition_epoch=0, directories=[self.brokers.directory_for(one) for one in replicas],
        )  # fmt: skip
        return record, 2

    # -- CreatePartitions -------------------------------------------------------------------------
    def grow(self, body: Any) -> Result:
        """More partitions for topics that there are."""
        kind = m.CreatePartitionsResponse.CreatePartitionsTopicResult
        records: Records = []
        answers: dict[str, Any] = {}
        names = [topic.name for topic in body.topics]
        for topic in body.topics:
            answer = answers[topic.name] = kind(name=topic.name, error_message=None)
            try:
                if names.count(topic.name) > 1:
                    raise RequestError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
                records += self._grown(topic)
            except RequestError as error:
                answer.error_code, answer.error_message = int(error.code), error.message
        answer = m.CreatePartitionsResponse(results=list(answers.values()))
        return Result([] if body.validate_only else records, answer)

    def _grown(self, topic: Any) -> Records:
        found = self._named(topic.name)
        now, wanted = len(found.partitions), topic.count
        if wanted == now:
            raise RequestError(ErrorCode.INVALID_PARTITIONS, f"Topic already has {now} partition(s).")
        if wanted < now:
            words = f"The topic {topic.name} currently has {now} partition(s); {wanted} would not be an increase."
            raise RequestError(ErrorCode.INVALID_PARTITIONS, words)
        factor = len(found.partitions[0].replicas)
        if topic.assignments is None:
            added = self._place(wanted - now, factor)
        else:
            added = [list(one.broker_ids) for one in topic.assignments]
            if len(added) != wanted - now:
                raise _invalid(
                    f"Attempted to add {wanted - now} additional partition(s), but only {len(added)} assignment(s) "
                    f"were specified."
                )
            for number, replicas in enumerate(added, now):
                self.brokers.check_assignment(replicas, factor)
                self._check_alive(number, replicas)
        return [self._partition(found.id, number, replicas) for number, replicas in enumerate(added, now)]

    def _named(self, name: str) -> TopicImage:
        if name not in self.image.topic_ids:
            raise RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return self.image.topics[self.image.topic_ids[name]]

    # -- DeleteTopics -----------------------------------------------------------------------------
    def delete(self, body: Any) -> Result:
        """Topics by name or by id; one that is named twice is refused once."""
        kind = m.DeleteTopicsResponse.DeletableTopicResult
        asked = [(one.name, one.topic_id) for one in body.topics] or [(name, NO_ID) for name in body.topic_names]
        records: Records = []
        answers = []
        for name, topic_id in dict.fromkeys(asked):
            answer = kind(name=name, topic_id=topic_id, error_message=None)
            answers.append(answer)
            try:
                if asked.count((name, topic_id)) > 1 and (name is None or topic_id == NO_ID):
                    what = "id" if name is None else "name"
                    raise RequestError(ErrorCode.INVALID_REQUEST, f"Duplicate topic {what}.")
                topic = self._to_delete(name, topic_id)
                answer.name, answer.topic_id = topic.name, topic.id
                if not any(record.topic_id == topic.id for record, _ in records):
                    records.append((r.RemoveTopicRecord(topic_id=topic.id), 0))
            except RequestError as error:
                answer.error_code, answer.error_message = int(error.code), error.message
        return Result(records, m.DeleteTopicsResponse(responses=answers))

    def _to_delete(self, name: str | None, topic_id: uuid.UUID) -> TopicImage:
        if not self.config["delete.topic.enable"]:
            raise RequestError(ErrorCode.TOPIC_DELETION_DISABLED, ErrorCode.TOPIC_DELETION_DISABLED.message)
        if name is not None and topic_id != NO_ID:
            raise RequestError(ErrorCode.INVALID_REQUEST, "You may not specify both topic name and topic id.")
        if name is not None:
            try:
                return self._named(name)
            except RequestError as error:
                raise RequestError(error.code, error.code.message) from None
        if topic_id == NO_ID:
            raise RequestError(ErrorCode.INVALID_REQUEST, "Neither topic name nor id were specified.")
        found = self.image.topics.get(topic_id)
        if found is None:
            raise RequestError(ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_ID.message)
        return found


def _invalid(message: str) -> RequestError:
    return RequestError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
