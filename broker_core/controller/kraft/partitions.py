"""What the coming and going of brokers, leaders' wishes and operators mean for partitions.

| happens | for | follows |
|---|---|---|
| a broker is fenced, stops, is unregistered | every partition with it in the ISR | it leaves; another leads |
| a broker has lost what was not flushed | every partition with it in ISR or ELR | it leaves both (KIP-966) |
| a broker is unfenced | partitions without a leader | an election |
| a leader proposes an ISR | that partition | accepted, or the reason why not |
| somebody asks, or the balance is lost | partitions led by another than the first replica | a preferred election |

Each goes through `partition_change`, which draws the conclusions. Source: ReplicationControlManager.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from broker_core.controller.kraft.brokers import BrokerControl
from broker_core.controller.kraft.partition_change import Election, PartitionChange
from broker_core.controller.kraft.result import Records, Result
from broker_core.metadata.errors import RequestError
from broker_core.metadata.image import MetadataImage, TopicImage
from broker_core.metadata.partition import NO_LEADER, RECOVERED, RECOVERING
from broker_core.metadata.registration import PartitionRegistration
from broker_core.metadata.replaying import UNASSIGNED, changed_partition
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

ELR_FEATURE = "eligible.leader.replicas.version"
CHANGE_VERSION = 2
Place = tuple[TopicImage, int, PartitionRegistration]


class PartitionControl:
    """Decides about partitions that exist. `setting(topic, name)`: a topic's setting as it holds now."""

    def __init__(self, image: MetadataImage, brokers: BrokerControl, setting: Callable[[str, str], Any]) -> None:
        self.image = image
        self.brokers = brokers
        self.setting = setting

    def change(self, topic: TopicImage, number: int, partition: PartitionRegistration) -> PartitionChange:
        """The beginning of a change of this partition."""
        made = PartitionChange(
            partition, topic.id, number, self._acceptor(partition, self.brokers.is_active),
            self._min_isr(topic, partition), self.image.features.get(ELR_FEATURE, 0) > 0,
        )  # fmt: skip
        made.directory_of = self.brokers.directory_for
        if self.setting(topic.name, "unclean.leader.election.enable"):
            made.election = Election.UNCLEAN
        return made

    def _acceptor(self, partition: PartitionRegistration, may_lead: Callable[[int], bool]) -> Callable[[int], bool]:
        """Whether a broker may lead it: it may lead at all, and its directory works."""
        held = dict(zip(partition.replicas, partition.directories, strict=False))
        return lambda one: may_lead(one) and self.brokers.is_online(one, held.get(one, UNASSIGNED))

    def _min_isr(self, topic: TopicImage, partition: PartitionRegistration) -> int:
        """Never more than there are replicas."""
        return min(int(self.setting(topic.name, "min.insync.replicas")), len(partition.replicas))

    def places(self, where: Callable[[PartitionRegistration], bool]) -> Iterator[Place]:
        """Partitions for which `where` holds, topic by topic."""
        for topic in list(self.image.topics.values()):
            for number, partition in list(topic.partitions.items()):
                if where(partition):
                    yield topic, number, partition

    def leads(self, broker_id: int) -> bool:
        """Whether a broker leads anything."""
        return any(True for _ in self.places(lambda partition: partition.leader == broker_id))

    # -- brokers come and go ----------------------------------------------------------------------
    def without_broker(self, broker_id: int) -> Records:
        """It does not take part any more."""
        return self._without(broker_id, self.places(lambda partition: broker_id in partition.isr))

    def without_replicas(self, broker_id: int, where: Iterable[tuple[uuid.UUID, int]]) -> Records:
        """Its replicas of these partitions do not take part any more."""
        topics = self.image.topics
        places = [(topics[topic_id], number, topics[topic_id].partitions[number]) for topic_id, number in where]
        return self._without(broker_id, places)

    def _without(self, broker_id: int, places: Iterable[Place], unclean: bool = False) -> Records:
        found: Records = []
        for topic, number, partition in places:
            change = self.change(topic, number, partition)
            change.acceptable = self._acceptor(partition, _other_than(broker_id, self.brokers.is_active))
            change.isr = [one for one in partition.isr if one != broker_id]
            change.unclean_shutdown = [broker_id] if unclean else []
            _add(found, change)
        return found

    def after_crash(self, broker_id: int) -> Records:
        """It has ended uncleanly: what it had not flushed is lost, so that it may lead nothing before it has caught
        up (KIP-966)."""
        in_isr = self.places(lambda partition: broker_id in partition.isr)
        in_elr = self.places(lambda partition: broker_id in partition.elr)
        return self._without(broker_id, in_isr, True) + self._without(broker_id, in_elr, True)

    def with_broker(self, broker_id: int) -> Records:
        """It takes part again: partitions without a leader may have one now."""
        found: Records = []
        for topic, number, partition in self.places(lambda one: not one.has_leader):
            change = self.change(topic, number, partition)
            change.acceptable = self._acceptor(partition, _or(broker_id, self.brokers.is_active))
            _add(found, change)
        return found

    def unclean_elections(self, most: int) -> Records:
        """Partitions without a leader whose topics have come to allow it; so many at most."""
        found: Records = []
        for topic, number, partition in self.places(lambda one: not one.has_leader):
            change = self.change(topic, number, partition)
            if change.election is Election.UNCLEAN and len(found) < most:
                _add(found, change)
        return found

    def imbalance(self, most: int) -> Records:
        """Preferred elections that are due; so many at most."""
        found: Records = []
        for topic, number, partition in self.places(lambda one: one.leader not in (one.replicas[0], NO_LEADER)):
            if len(found) < most:
                change = self.change(topic, number, partition)
                change.election = Election.PREFERRED
                _add(found, change)
        return found

    # -- leaders propose --------------------------------------------------------------------------
    def alter(self, body: Any) -> Result:
        """AlterPartition: ISRs that leaders propose. Raises RequestError for an older life of the broker.

        | A  no topic of this id, no such partition | UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION |
        | B  the leader has epochs from the future | NOT_CONTROLLER: this controller is not the newest one |
        | C  it is not the leader of this epoch | FENCED_LEADER_EPOCH, INVALID_REQUEST |
        | D  its partition epoch is older | INVALID_UPDATE_VERSION |
        | E  a member is fenced, stops, or has restarted since | INELIGIBLE_REPLICA (KIP-841, KIP-903) |
        | F  it leads no longer when all is done (a reassignment took it away) | NEW_LEADER_ELECTED |
        """
        self.brokers.check(body.broker_id, body.broker_epoch)
        records: Records = []
        topics = []
        for asked in body.topics:
            topic = self.image.topics.get(asked.topic_id)
            answers = [self._altered(topic, one, body.broker_id, records) for one in asked.partitions]
            topics.append(m.AlterPartitionResponse.TopicData(topic_id=asked.topic_id, partitions=answers))
        return Result(records, m.AlterPartitionResponse(topics=topics))

    def _altered(self, topic: TopicImage | None, asked: Any, broker_id: int, records: Records) -> Any:
        kind, number = m.AlterPartitionResponse.PartitionData, asked.partition_index
        partition = topic.partitions.get(number) if topic is not None else None
        if topic is None or partition is None:
            missing = ErrorCode.UNKNOWN_TOPIC_ID if topic is None else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION  # A
            return kind(partition_index=number, error_code=int(missing))
        error = self._judge(partition, asked, broker_id)
        if error != ErrorCode.NONE:
            return kind(partition_index=number, error_code=int(error))
        change = self.change(topic, number, partition)
        change.isr = [one.broker_id for one in asked.new_isr_with_epochs]
        change.recovery_state = asked.leader_recovery_state
        now = _add(records, change) or partition
        if now.leader != broker_id:
            return kind(partition_index=number, error_code=int(ErrorCode.NEW_LEADER_ELECTED))  # F
        return kind(
            partition_index=number, leader_id=now.leader, leader_epoch=now.leader_epoch, isr=list(now.isr),
            leader_recovery_state=now.leader_recovery_state, partition_epoch=now.partition_epoch,
        )  # fmt: skip

    def _judge(self, partition: PartitionRegistration, asked: Any, broker_id: int) -> ErrorCode:
        isr = [one.broker_id for one in asked.new_isr_with_epochs]
        if asked.leader_epoch > partition.leader_epoch or asked.partition_epoch > partition.partition_epoch:
            return ErrorCode.NOT_CONTROLLER  # B
        if asked.leader_epoch < partition.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH  # C
        if broker_id != partition.leader:
            return ErrorCode.INVALID_REQUEST  # C
        if asked.partition_epoch < partition.partition_epoch:
            return ErrorCode.INVALID_UPDATE_VERSION  # D
        recovering = asked.leader_recovery_state == RECOVERING
        if recovering and (len(isr) > 1 or partition.leader_recovery_state == RECOVERED):
            return ErrorCode.INVALID_REQUEST
        if partition.leader not in isr or any(one not in partition.replicas for one in isr):
            return ErrorCode.INVALID_REQUEST
        eligible = all(self._is_eligible(one.broker_id, one.broker_epoch) for one in asked.new_isr_with_epochs)
        return ErrorCode.NONE if eligible else ErrorCode.INELIGIBLE_REPLICA  # E

    def _is_eligible(self, broker_id: int, epoch: int) -> bool:
        found = self.image.brokers.get(broker_id)
        return found is not None and found.is_active and epoch in (-1, found.epoch)

    # -- operators --------------------------------------------------------------------------------
    def elect(self, body: Any) -> Result:
        """ElectLeaders: preferred (0) or unclean (1), of some partitions or (null) of all that need it."""
        if body.election_type not in (0, 1):
            raise RequestError(ErrorCode.INVALID_REQUEST, f"Unknown election type {body.election_type}")
        election = Election.UNCLEAN if body.election_type else Election.PREFERRED
        records: Records = []
        kind = m.ElectLeadersResponse
        results = []
        for name, numbers in self._asked(body):
            answers = []
            for number in numbers:
                error, message = self._elected(name, number, election, records)
                if body.topic_partitions is not None or error != ErrorCode.ELECTION_NOT_NEEDED:
                    answers.append(kind.PartitionResult(
                        partition_id=number, error_code=int(error), error_message=message))  # fmt: skip
            results.append(kind.ReplicaElectionResult(topic=name, partition_result=answers))
        return Result(records, kind(replica_election_results=results))

    def _asked(self, body: Any) -> list[tuple[str, Sequence[int]]]:
        if body.topic_partitions is not None:
            return [(one.topic, one.partitions) for one in body.topic_partitions]
        return [(topic.name, list(topic.partitions)) for topic in self.image.topics.values()]

    def _elected(self, name: str, number: int, election: Election, records: Records) -> tuple[ErrorCode, str | None]:
        topic = self.image.topics.get(self.image.topic_ids.get(name, uuid.UUID(int=0)))
        partition = topic.partitions.get(number) if topic is not None else None
        if topic is None or partition is None:
            what = f"No such topic as {name}" if topic is None else f"No such partition as {name}-{number}"
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, what
        unneeded = partition.has_leader if election is Election.UNCLEAN else partition.leader == partition.replicas[0]
        if unneeded:
            return ErrorCode.ELECTION_NOT_NEEDED, ErrorCode.ELECTION_NOT_NEEDED.message
        change = self.change(topic, number, partition)
        change.election = election
        if _add(records, change) is not None:
            return ErrorCode.NONE, None
        if election is Election.UNCLEAN:
            return ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE, ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE.message
        return ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE.message


def _add(records: Records, change: PartitionChange) -> PartitionRegistration | None:
    """Write the change, if there is one; the partition as it will be."""
    record = change.build()
    if record is None:
        return None
    records.append((record, CHANGE_VERSION))
    return changed_partition(change.partition, record)


def _other_than(broker_id: int, acceptable: Callable[[int], bool]) -> Callable[[int], bool]:
    return lambda one: one != broker_id and acceptable(one)


def _or(broker_id: int, acceptable: Callable[[int], bool]) -> Callable[[int], bool]:
    return lambda one: one == broker_id or acceptable(one)
