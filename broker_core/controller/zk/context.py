"""What the controller knows: brokers, assignments, leaderships, states. In memory only; a new
controller reads it anew from the tree, and that takes longer the more partitions there are."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field

from broker_core.controller.elections import Situation
from broker_core.controller.state_machines import PartitionState, ReplicaState
from broker_core.metadata.partition import LeaderAndIsr, ReplicaAssignment, TopicPartition
from broker_core.controller.zk.znodes import BrokerInfo

Replica = tuple[str, int, int]  # topic, partition, broker


@dataclass
class ControllerContext:
    """The controller's memory. Dicts with None values are ordered sets.

    - `leadership` holds what was last read from or written to the tree

    Invariants
        - every replica of `assignments` has a state, and every partition unless its topic is being deleted
    """

    epoch: int = 0
    epoch_zk_version: int = 0
    brokers: dict[int, BrokerInfo] = field(default_factory=dict)
    shutting_down: dict[int, None] = field(default_factory=dict)
    topic_ids: dict[str, uuid.UUID] = field(default_factory=dict)
    assignments: dict[str, dict[int, ReplicaAssignment]] = field(default_factory=dict)
    leadership: dict[TopicPartition, LeaderAndIsr] = field(default_factory=dict)
    partition_states: dict[TopicPartition, PartitionState] = field(default_factory=dict)
    replica_states: dict[Replica, ReplicaState] = field(default_factory=dict)
    offline_dirs: dict[int, dict[TopicPartition, None]] = field(default_factory=dict)
    deleting: dict[str, None] = field(default_factory=dict)
    deletion_started: dict[str, None] = field(default_factory=dict)
    deletion_ineligible: dict[str, None] = field(default_factory=dict)

    def forget(self) -> None:
        """An empty memory that keeps the epoch of the last reign; the parts hold the same object."""
        self.__init__(self.epoch, self.epoch_zk_version)  # type: ignore[misc]

    # --- brokers ---------------------------------------------------------------------------------

    @property
    def live(self) -> list[int]:
        """Brokers that are registered and not shutting down."""
        return [broker for broker in self.brokers if broker not in self.shutting_down]

    @property
    def live_or_stopping(self) -> list[int]:
        return list(self.brokers)

    def is_online(self, broker: int, partition: TopicPartition, with_stopping: bool = False) -> bool:
        """Whether the broker's replica can work: broker registered, directory of the replica fine."""
        alive = broker in self.brokers and (with_stopping or broker not in self.shutting_down)
        return alive and partition not in self.offline_dirs.get(broker, {})

    # --- topics and partitions -------------------------------------------------------------------

    def assignment(self, partition: TopicPartition) -> ReplicaAssignment:
        return self.assignments[partition[0]][partition[1]]

    def replicas(self, partition: TopicPartition) -> list[int]:
        """Assigned brokers in order; [] for a partition that is not known."""
        found = self.assignments.get(partition[0], {}).get(partition[1])
        return found.replicas if found is not None else []

    def partitions(self) -> list[TopicPartition]:
        return [(topic, number) for topic, parts in self.assignments.items() for number in parts]

    def partitions_of(self, topic: str) -> list[TopicPartition]:
        return [(topic, number) for number in self.assignments.get(topic, {})]

    def replicas_of(self, topic: str) -> list[Replica]:
        return [
            (topic, number, broker)
            for number, each in self.assignments.get(topic, {}).items()
            for broker in each.replicas
        ]

    def partitions_on(self, broker: int) -> list[TopicPartition]:
        return [partition for partition in self.partitions() if broker in self.replicas(partition)]

    def replicas_on(self, brokers: list[int]) -> list[Replica]:
        return [
            (topic, number, broker)
            for topic, parts in self.assignments.items()
            for number, each in parts.items()
            for broker in each.replicas
            if broker in brokers
        ]

    def partitions_in(self, *states: PartitionState) -> list[TopicPartition]:
        return [partition for partition, state in self.partition_states.items() if state in states]

    def replicas_in(self, topic: str, state: ReplicaState) -> list[Replica]:
        return [replica for replica in self.replicas_of(topic) if self.replica_states.get(replica) is state]

    def with_offline_leader(self) -> list[TopicPartition]:
        """Partitions whose leader cannot work, those being deleted left out."""
        return [
            partition
            for partition, state in self.leadership.items()
            if not self.is_online(state.leader, partition) and partition[0] not in self.deleting
        ]

    def reassigning(self) -> list[TopicPartition]:
        return [
            (topic, number)
            for topic, parts in self.assignments.items()
            for number, each in parts.items()
            if each.being_reassigned
        ]

    def remove_topic(self, topic: str) -> None:
        """Forget everything about a topic."""
        for replica in self.replicas_of(topic):
            self.replica_states.pop(replica, None)
        for partition in self.partitions_of(topic):
            self.partition_states.pop(partition, None)
            self.leadership.pop(partition, None)
        self.assignments.pop(topic, None)
        self.topic_ids.pop(topic, None)
        for marks in (self.deleting, self.deletion_started, self.deletion_ineligible):
            marks.pop(topic, None)

    def situation(self, partition: TopicPartition, state: LeaderAndIsr, unclean_allowed: bool) -> Situation:
        """What an election of this partition looks at."""
        assignment = self.assignment(partition)
        replicas = assignment.replicas
        return Situation(
            state,
            replicas,
            [each for each in replicas if self.is_online(each, partition)],
            [each for each in replicas if self.is_online(each, partition, with_stopping=True)],
            assignment.target,
            list(self.shutting_down),
            unclean_allowed,
        )
