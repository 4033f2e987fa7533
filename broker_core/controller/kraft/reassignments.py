"""Partitions move to other brokers, step by step (KIP-455): AlterPartitionReassignments, ListPartitionReassignments.

    replicas [1, 2, 3]                                    somebody asks for [1, 2, 4]
    replicas [1, 2, 4, 3]  adding [4]  removing [3]       4 fetches, and joins the ISR when it has caught up
    replicas [1, 2, 4]                                    AlterPartition with 4 in the ISR completes it

| asked | becomes |
|---|---|
| other replicas, while nothing moves | new ones first as wished, then those that are to go |
| other replicas, while it moves | the same, from the replicas that there are now, old and new ones |
| the same replicas in another order | done at once |
| null, while it moves | back: who was added goes, who was to go stays |
| null, while nothing moves | NO_REASSIGNMENT_IN_PROGRESS |

A replica that is being added and is asked to go again, so that nobody else comes or goes, stands in both lists: no ISR
completes that, and only going back, or another wish, ends it. So it is in Kafka 4.3, where the list of those that are
added is kept when nobody new is asked for.

Going back could leave nobody in the ISR; that takes an unclean election, and the topic must allow it.
Source: ReplicationControlManager, PartitionReassignmentReplicas, PartitionReassignmentRevert.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from broker_core.controller.kraft.partition_change import Election
from broker_core.controller.kraft.partitions import CHANGE_VERSION, PartitionControl, Place
from broker_core.controller.kraft.result import Records, Result
from broker_core.metadata.errors import RequestError
from broker_core.metadata.image import MetadataImage, TopicImage
from broker_core.metadata.registration import PartitionRegistration
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode


class ReassignmentControl:
    """Decides about moves."""

    def __init__(self, image: MetadataImage, partitions: PartitionControl) -> None:
        self.image = image
        self.partitions = partitions

    # -- AlterPartitionReassignments --------------------------------------------------------------
    def alter(self, body: Any) -> Result:
        """Each partition by itself."""
        kind = m.AlterPartitionReassignmentsResponse
        records: Records = []
        responses = []
        for topic in body.topics:
            answers = []
            for wish in topic.partitions:
                answer = kind.ReassignablePartitionResponse(partition_index=wish.partition_index, error_message=None)
                answers.append(answer)
                try:
                    records += self._altered(topic.name, wish, body.allow_replication_factor_change)
                except RequestError as error:
                    answer.error_code, answer.error_message = int(error.code), error.message
            responses.append(kind.ReassignableTopicResponse(name=topic.name, partitions=answers))
        answer = kind(
            allow_replication_factor_change=body.allow_replication_factor_change, error_message=None,
            responses=responses,
        )  # fmt: skip
        return Result(records, answer)

    def _altered(self, name: str, wish: Any, other_factor: bool) -> Records:
        topic = self.image.topics.get(self.image.topic_ids[name]) if name in self.image.topic_ids else None
        if topic is None:
            raise RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find a topic named {name}.")
        partition = topic.partitions.get(wish.partition_index)
        if partition is None:
            message = f"Unable to find partition {name}:{wish.partition_index}."
            raise RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message)
        place = (topic, wish.partition_index, partition)
        if wish.replicas is None:
            return self._back(place)
        return self._moved(place, wish.replicas, other_factor)

    def _moved(self, place: Place, wanted: Sequence[int], other_factor: bool) -> Records:
        topic, number, partition = place
        self.partitions.brokers.check_assignment(wanted)
        if not other_factor and len(wanted) != len(_origin(partition)):
            raise RequestError(
                ErrorCode.INVALID_REPLICATION_FACTOR,
                f"The replication factor is changed from {len(_origin(partition))} to {len(wanted)}",
            )
        removing = sorted(one for one in partition.replicas if one not in wanted)
        adding = sorted(one for one in wanted if one not in partition.replicas)
        change = self.partitions.change(topic, number, partition)
        change.election = Election.ONLINE
        change.replicas = [*wanted, *removing]
        if removing:
            change.removing = removing
        if adding:
            change.adding = adding
        return _written(change.build())

    def _back(self, place: Place) -> Records:
        topic, number, partition = place
        if not _moves(partition):
            raise RequestError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
        replicas = _origin(partition)
        isr = [one for one in partition.isr if one not in partition.adding_replicas]
        change = self.partitions.change(topic, number, partition)
        if not replicas:
            raise _invalid("Invalid replica assignment: addingReplicas contains all replicas.")
        if not isr:
            if change.election is not Election.UNCLEAN:
                raise _invalid(
                    f"Unable to revert partition assignment for {topic.name}:{number} because it would require an "
                    f"unclean leader election."
                )
            isr = replicas[:1]
        change.isr, change.replicas, change.adding, change.removing = isr, replicas, [], []
        return _written(change.build())

    # -- ListPartitionReassignments ---------------------------------------------------------------
    def moving(self, body: Any) -> Any:
        """The answer: partitions that move, of all topics or of those named."""
        kind = m.ListPartitionReassignmentsResponse
        if body.topics is None:
            asked = [(topic, list(topic.partitions)) for topic in self.image.topics.values()]
        else:
            known = [one for one in body.topics if one.name in self.image.topic_ids]
            asked = [(self.image.topics[self.image.topic_ids[one.name]], one.partition_indexes) for one in known]
        topics = [
            kind.OngoingTopicReassignment(name=topic.name, partitions=found)
            for topic, numbers in asked if (found := self._moving_of(topic, numbers))
        ]  # fmt: skip
        return kind(error_message=None, topics=topics)

    def _moving_of(self, topic: TopicImage, numbers: Sequence[int]) -> list[Any]:
        kind = m.ListPartitionReassignmentsResponse.OngoingPartitionReassignment
        return [
            kind(
                partition_index=number, replicas=list(one.replicas), adding_replicas=list(one.adding_replicas),
                removing_replicas=list(one.removing_replicas),
            )
            for number in numbers if (one := topic.partitions.get(number)) is not None and _moves(one)
        ]  # fmt: skip


def _moves(partition: PartitionRegistration) -> bool:
    return bool(partition.adding_replicas or partition.removing_replicas)


def _origin(partition: PartitionRegistration) -> list[int]:
    """The replicas without those that are being added."""
    return [one for one in partition.replicas if one not in partition.adding_replicas]


def _written(record: Any | None) -> Records:
    return [] if record is None else [(record, CHANGE_VERSION)]


def _invalid(message: str) -> RequestError:
    return RequestError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
