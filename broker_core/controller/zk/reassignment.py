"""Moving a partition to other brokers, step by step (KIP-455).

[1, 2, 3] is to become [3, 4]. The topic's znode shows where the move stands:

| phase | replicas | adding | removing | ISR |
|---|---|---|---|---|
| before | 1 2 3 | | | 1 2 3 |
| A: new replicas start and catch up | 3 4 1 2 | 4 | 1 2 | 1 2 3 |
| ... until all of the target are in sync | 3 4 1 2 | 4 | 1 2 | 1 2 3 4 |
| B: leader moves if it must, old replicas are deleted | 3 4 | | | 3 4 |

The move is never in memory only: a new controller finds it in the tree and goes on. To cancel is to
move back to where it came from. Source: `KafkaController.onPartitionReassignment`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_core.controller.elections import Strategy
from broker_core.controller.state_machines import PartitionState, ReplicaState
from broker_core.controller.zk.core import ControllerCore
from broker_core.kernel import events
from broker_core.controller.zk import znodes
from broker_core.metadata.errors import RequestError
from broker_core.metadata.partition import LeaderAndIsr, ReplicaAssignment, TopicPartition
from broker_core.controller.zk.znodes import TopicInfo
from broker_core.wire.errors import ErrorCode
from broker_core.zookeeper import protocol as p

if TYPE_CHECKING:
    from broker_core.controller.zk.deletion import TopicDeletion

States = dict[TopicPartition, LeaderAndIsr]


class Reassignment:
    """Partitions on the move are those whose assignment says so."""

    def __init__(self, core: ControllerCore, deletion: TopicDeletion) -> None:
        self.core = core
        self.deletion = deletion

    # --- requests --------------------------------------------------------------------------------

    def propose(self, partition: TopicPartition, target: list[int] | None) -> None:
        """Begin a move, change its target, or cancel it (None). Raises RequestError."""
        context = self.core.context
        known = context.assignments.get(partition[0], {}).get(partition[1])
        if target is None and (known is None or not known.being_reassigned):
            raise RequestError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
        if known is None or partition[0] in context.deleting:
            raise RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist.")
        if target is None:
            target = known.origin
        self._validate(target, known)
        self.core.thread.call(self._begin, partition, known.reassign_to(target))

    def _validate(self, target: list[int], known: ReplicaAssignment) -> None:
        if not target:
            message = "Empty replica list specified in partition reassignment."
        elif len(dict.fromkeys(target)) != len(target):
            message = f"Duplicate replica ids in partition reassignment replica list: {target}"
        elif any(broker < 0 for broker in target):
            message = f"Invalid broker id in replica list: {target}"
        else:
            dead = [each for each in target if each not in self.core.context.live and each not in known.origin]
            if not dead:
                return
            live = sorted(self.core.context.live)
            message = (
                f"Replica assignment has brokers that are not alive. Replica list: {target}, live broker list: {live}"
            )
        raise RequestError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)

    # --- progress --------------------------------------------------------------------------------

    def resume_for(self, brokers: list[int]) -> None:
        """Step: brokers are back that moves may have waited for."""
        for partition in self.core.context.reassigning():
            if any(broker in self.core.context.assignment(partition).target for broker in brokers):
                self.core.thread.call(self.advance, partition)

    def resume_all(self) -> None:
        """Step: a new controller takes up what is under way."""
        for partition in self.core.context.reassigning():
            self.core.thread.call(self.advance, partition)

    def isr_grew(self, partitions: list[TopicPartition]) -> None:
        """Step: a move may be complete now."""
        for partition in partitions:
            state = self.core.context.leadership.get(partition)
            found = self.core.context.assignments.get(partition[0], {}).get(partition[1])
            if state and found and found.being_reassigned and all(each in state.isr for each in found.target):
                self.core.thread.call(self.advance, partition)

    def _begin(self, partition: TopicPartition, assignment: ReplicaAssignment) -> None:
        before = self.core.context.assignment(partition)
        unneeded = [each for each in before.replicas if each not in assignment.replicas]
        # One that is cancelled is over when it is complete, and is told of then.
        self._write_assignment(partition, assignment, assignment.being_reassigned)
        if unneeded:
            self.core.thread.call(self._stop_replicas, partition, unneeded)
        self.core.thread.call(self.advance, partition)

    def _write_assignment(self, partition: TopicPartition, assignment: ReplicaAssignment, tell: bool) -> None:
        context = self.core.context
        context.assignments[partition[0]][partition[1]] = assignment
        info = TopicInfo(context.topic_ids[partition[0]], context.assignments[partition[0]])
        write = p.SetData(znodes.topic_path(partition[0]), info.encode())
        self.core.store.write([write], self._assignment_written, partition, assignment, tell)

    def _assignment_written(
        self, partition: TopicPartition, found: ReplicaAssignment, tell: bool, results: list[p.Result]
    ) -> None:
        if tell and results[0].ok:  # else the topic is gone, and its deletion goes on
            self.core.node.emit(
                events.ASSIGNMENT_CHANGED, topic=partition[0], partition=partition[1], replicas=list(found.replicas),
                adding=list(found.adding), removing=list(found.removing), moving=found.being_reassigned,
            )  # fmt: skip

    def advance(self, partition: TopicPartition) -> None:
        """Step: phase A, or B when every target replica is in sync."""
        self.core.store.read_states([partition], self._advance, partition)

    def _advance(self, partition: TopicPartition, states: States) -> None:
        context = self.core.context
        if partition not in states or partition[1] not in context.assignments.get(partition[0], {}):
            return
        assignment = context.assignment(partition)
        context.leadership[partition] = states[partition]
        if all(each in states[partition].isr for each in assignment.target):
            self._complete(partition, assignment)
        else:
            self._renew_epoch(partition, states[partition])
            adding = [(*partition, broker) for broker in assignment.adding]
            self.core.replicas.change(adding, ReplicaState.NEW)

    def _complete(self, partition: TopicPartition, assignment: ReplicaAssignment) -> None:
        core, context = self.core, self.core.context
        target, removing = assignment.target, list(assignment.removing)
        leader = context.leadership[partition].leader
        core.replicas.change([(*partition, broker) for broker in target], ReplicaState.ONLINE)
        context.assignments[partition[0]][partition[1]] = ReplicaAssignment(target)
        if leader in target and context.is_online(leader, partition):
            self._renew_epoch(partition, context.leadership[partition])
        else:
            core.partitions.change([partition], PartitionState.ONLINE, Strategy.REASSIGNMENT)
        core.thread.call(self._stop_replicas, partition, removing)
        core.thread.call(self._write_assignment, partition, ReplicaAssignment(list(target)), True)
        core.thread.call(core.update_metadata, context.live_or_stopping, [partition])
        core.thread.call(self.deletion.resume, [partition[0]])

    def _stop_replicas(self, partition: TopicPartition, brokers: list[int]) -> None:
        replicas = [(*partition, broker) for broker in brokers]
        for state in (
            ReplicaState.OFFLINE,
            ReplicaState.DELETION_STARTED,
            ReplicaState.DELETION_SUCCESSFUL,
            ReplicaState.NON_EXISTENT,
        ):
            self.core.replicas.change(replicas, state)

    # --- a new leader epoch without an election --------------------------------------------------

    def _renew_epoch(self, partition: TopicPartition, state: LeaderAndIsr) -> None:
        self.core.store.write_states({partition: state.new_epoch()}, self._renewed)

    def _renewed(self, updated: States, refused: list[TopicPartition]) -> None:
        for partition, state in updated.items():
            self.core.context.leadership[partition] = state
            self.core.node.emit(
                events.LEADER_EPOCH_RENEWED, topic=partition[0], partition=partition[1], leader=state.leader,
                leader_epoch=state.leader_epoch, isr=list(state.isr),
            )  # fmt: skip
            self.core.batch.lead_or_follow(self.core.context.replicas(partition), partition, state)
        self.core.batch.send()
        if refused:
            self.core.store.read_states(refused, self._renew_again)

    def _renew_again(self, states: States) -> None:
        for partition, state in states.items():
            self._renew_epoch(partition, state)
