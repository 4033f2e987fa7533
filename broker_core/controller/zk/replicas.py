"""The replica state machine at work: what becomes of one partition's copy on one broker.

| target | what is said and written |
|---|---|
| New | LeaderAndIsr to its broker, as follower of a leader that exists |
| Online | LeaderAndIsr to its broker: the log goes on being a follower or leader |
| Offline | StopReplica; the replica leaves the ISR (leader -1 if it led); LeaderAndIsr to the others |
| DeletionStarted | StopReplica with delete |
| DeletionSuccessful, DeletionIneligible | nothing |
| NonExistent | the broker leaves the assignment that the controller knows |

A replica that is the last of the ISR stays in it, though it is dead: its log is the only one that is
known to be complete. Source: `ZkReplicaStateMachine`.
"""

from __future__ import annotations

from broker_core.controller.state_machines import ReplicaState, replica_may
from broker_core.controller.zk.batch import RequestBatch
from broker_core.controller.zk.context import ControllerContext, Replica
from broker_core.controller.zk.store import ControllerStore
from broker_core.kernel import events
from broker_core.kernel.node import Node
from broker_core.metadata.partition import NO_LEADER, LeaderAndIsr, TopicPartition

States = dict[TopicPartition, LeaderAndIsr]


class ReplicaStateMachine:
    """`change` is a step of the controller's thread."""

    def __init__(self, node: Node, context: ControllerContext, store: ControllerStore, batch: RequestBatch) -> None:
        self.node = node
        self.context = context
        self.store = store
        self.batch = batch

    def start(self) -> None:
        """Replicas of live brokers come online, the others are offline."""
        context = self.context
        context.replica_states.clear()
        online: list[Replica] = []
        offline: list[Replica] = []
        for topic, number in context.partitions():
            for broker in context.replicas((topic, number)):
                is_online = context.is_online(broker, (topic, number))
                context.replica_states[topic, number, broker] = (
                    ReplicaState.ONLINE if is_online else ReplicaState.OFFLINE
                )
                (online if is_online else offline).append((topic, number, broker))
        self.change(online, ReplicaState.ONLINE)
        self.change(offline, ReplicaState.OFFLINE)

    def change(self, replicas: list[Replica], target: ReplicaState) -> None:
        """Move replicas to `target`, broker by broker; then send what follows from it."""
        if not replicas:
            return
        by_broker: dict[int, list[TopicPartition]] = {}
        for topic, number, broker in replicas:
            by_broker.setdefault(broker, []).append((topic, number))
        for broker, partitions in by_broker.items():
            self.store.thread.call(self._change, broker, partitions, target)
        self.store.thread.call(self.batch.send)

    def _change(self, broker: int, partitions: list[TopicPartition], target: ReplicaState) -> None:
        states = self.context.replica_states
        valid = [
            each
            for each in partitions
            if replica_may(states.setdefault((*each, broker), ReplicaState.NON_EXISTENT), target)
        ]
        match target:
            case ReplicaState.NEW:
                self._become_new(broker, valid)
            case ReplicaState.ONLINE:
                self._become_online(broker, valid)
            case ReplicaState.OFFLINE:
                self._go_offline(broker, valid)
            case ReplicaState.DELETION_STARTED:
                for partition in valid:
                    self._set(partition, broker, target)
                    self.batch.stop([broker], partition, delete=True)
            case ReplicaState.NON_EXISTENT:
                self._leave(broker, valid)
            case _:
                for partition in valid:
                    self._set(partition, broker, target)

    def _become_new(self, broker: int, partitions: list[TopicPartition]) -> None:
        for partition in partitions:
            state = self.context.leadership.get(partition)
            if state is not None and state.leader == broker:
                continue
            if state is not None:
                self.batch.lead_or_follow([broker], partition, state, is_new=True)
            self._set(partition, broker, ReplicaState.NEW)

    def _become_online(self, broker: int, partitions: list[TopicPartition]) -> None:
        for partition in partitions:
            if self.context.replica_states[(*partition, broker)] is ReplicaState.NEW:
                assignment = self.context.assignment(partition)
                if broker not in assignment.replicas:
                    assignment.replicas.append(broker)
            elif (state := self.context.leadership.get(partition)) is not None:
                self.batch.lead_or_follow([broker], partition, state)
            self._set(partition, broker, ReplicaState.ONLINE)

    def _leave(self, broker: int, partitions: list[TopicPartition]) -> None:
        for partition in partitions:
            assignment = self.context.assignment(partition)
            for brokers in (assignment.replicas, assignment.adding, assignment.removing):
                if broker in brokers:
                    brokers.remove(broker)
            self._set(partition, broker, ReplicaState.NON_EXISTENT)

    # --- Offline ---------------------------------------------------------------------------------

    def _go_offline(self, broker: int, partitions: list[TopicPartition]) -> None:
        for partition in partitions:
            self.batch.stop([broker], partition, delete=False)
        led = [partition for partition in partitions if partition in self.context.leadership]
        for partition in partitions:
            if partition not in self.context.leadership:
                self.batch.update_metadata(self.context.live_or_stopping, [partition])
                self._set(partition, broker, ReplicaState.OFFLINE)
        self._leave_isr(broker, led)

    def _leave_isr(self, broker: int, partitions: list[TopicPartition]) -> None:
        if partitions:
            self.store.read_states(partitions, self._states_read, broker, partitions)

    def _states_read(self, broker: int, partitions: list[TopicPartition], states: States) -> None:
        shrunk: States = {}
        for partition in partitions:
            state = states.get(partition)
            if state is None:
                self._set(partition, broker, ReplicaState.OFFLINE)
            elif broker in state.isr:
                leader = NO_LEADER if state.leader == broker else state.leader
                isr = [each for each in state.isr if each != broker] if len(state.isr) > 1 else state.isr
                shrunk[partition] = state.new_leader_and_isr(leader, isr)
            else:
                self._left(broker, partition, state)
        self.store.write_states(shrunk, self._isr_written, broker, states)

    def _isr_written(self, broker: int, before: States, updated: States, refused: list[TopicPartition]) -> None:
        for partition, state in updated.items():
            old = before[partition]
            if broker not in state.isr:
                self.node.emit(
                    events.ISR_SHRUNK,
                    topic=partition[0],
                    partition=partition[1],
                    isr=list(state.isr),
                    removed=[broker],
                    reason=self._reason(broker, partition),
                    lag_ms={},
                    leader_epoch=state.leader_epoch,
                )
            if state.leader == NO_LEADER and old.leader != NO_LEADER:
                self.node.emit(
                    events.PARTITION_OFFLINE,
                    topic=partition[0],
                    partition=partition[1],
                    isr=list(state.isr),
                    leader_epoch=state.leader_epoch,
                )
            self._left(broker, partition, state)
        self._leave_isr(broker, refused)

    def _reason(self, broker: int, partition: TopicPartition) -> str:
        if broker not in self.context.replicas(partition):
            return "reassignment"
        lost_directory = partition in self.context.offline_dirs.get(broker, {})
        return "log directory offline" if lost_directory else "broker gone"

    def _left(self, broker: int, partition: TopicPartition, state: LeaderAndIsr) -> None:
        """The replica is offline; the others hear of the smaller ISR."""
        self.context.leadership[partition] = state
        if partition[0] not in self.context.deleting:
            others = [each for each in self.context.replicas(partition) if each != broker]
            self.batch.lead_or_follow(others, partition, state)
        self._set(partition, broker, ReplicaState.OFFLINE)

    def _set(self, partition: TopicPartition, broker: int, after: ReplicaState) -> None:
        key = (*partition, broker)
        before = self.context.replica_states.get(key, ReplicaState.NON_EXISTENT)
        if after is ReplicaState.NON_EXISTENT:
            self.context.replica_states.pop(key, None)
        else:
            self.context.replica_states[key] = after
        if before is not after:
            self.node.emit(
                events.REPLICA_STATE,
                topic=partition[0],
                partition=partition[1],
                replica=broker,
                before=before.value,
                after=after.value,
            )
