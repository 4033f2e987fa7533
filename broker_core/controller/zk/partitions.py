"""The partition state machine at work: who moves partitions, and what has to be written for it.

    A  New -> Online      write the first state: leader = first live replica, ISR = live replicas
    B  Offline -> Online  (or Online -> Online) hold an election: read the states, decide, write them
                          back if nobody else has changed them; who lost that race is tried again
    C  -> Offline, NonExistent, New: only the state changes

After each step the requests to the brokers are sent. Source: `ZkPartitionStateMachine`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_core.controller.elections import Outcome, Strategy, elect
from broker_core.controller.state_machines import PartitionState, partition_may
from broker_core.controller.zk.batch import RequestBatch
from broker_core.controller.zk.context import ControllerContext
from broker_core.controller.zk.store import ControllerStore
from broker_core.kernel import events
from broker_core.kernel.node import Node
from broker_core.controller.zk import znodes
from broker_core.metadata.partition import NO_LEADER, LeaderAndIsr, TopicPartition
from broker_core.wire.errors import ErrorCode
from broker_core.zookeeper import protocol as p
from broker_core.zookeeper.errors import Code

if TYPE_CHECKING:
    from broker_core.controller.zk.core import BrokerConfig

States = dict[TopicPartition, LeaderAndIsr]
Errors = dict[TopicPartition, ErrorCode]
UNCLEAN = "unclean.leader.election.enable"
NOT_ELECTED = {
    Strategy.PREFERRED: ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
    Strategy.UNCLEAN: ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
}


class PartitionStateMachine:
    """`change` is a step of the controller's thread; what it calls for runs before the next step."""

    def __init__(
        self, node: Node, context: ControllerContext, store: ControllerStore, batch: RequestBatch, config: BrokerConfig
    ) -> None:
        self.node = node
        self.context = context
        self.store = store
        self.batch = batch
        self.config = config
        self.unclean_elections = 0

    # --- at the start of a controller ------------------------------------------------------------

    def start(self) -> None:
        """States of all known partitions, from the leaderships that the tree holds."""
        context = self.context
        context.partition_states.clear()
        for partition in context.partitions():
            state = context.leadership.get(partition)
            if state is None:
                self._set(partition, PartitionState.NEW)
            elif context.is_online(state.leader, partition):
                self._set(partition, PartitionState.ONLINE)
            else:
                self._set(partition, PartitionState.OFFLINE)
        self.bring_online()

    def bring_online(self, topic: str | None = None) -> None:
        """Try an election for all partitions that have no leader, those being deleted left out."""
        waiting = [
            partition
            for partition in self.context.partitions_in(PartitionState.OFFLINE, PartitionState.NEW)
            if partition[0] not in self.context.deleting and topic in (None, partition[0])
        ]
        self.change(waiting, PartitionState.ONLINE, Strategy.OFFLINE)

    # --- transitions -----------------------------------------------------------------------------

    def change(
        self,
        partitions: list[TopicPartition],
        target: PartitionState,
        strategy: Strategy = Strategy.OFFLINE,
        errors: Errors | None = None,
    ) -> None:
        """Move partitions to `target`; failed elections are noted in `errors`."""
        if partitions:
            self.store.thread.call(self._change, partitions, target, strategy, {} if errors is None else errors)

    def _change(
        self, partitions: list[TopicPartition], target: PartitionState, strategy: Strategy, errors: Errors
    ) -> None:
        states = self.context.partition_states
        valid = [
            each for each in partitions if partition_may(states.setdefault(each, PartitionState.NON_EXISTENT), target)
        ]
        if target is PartitionState.ONLINE:
            self._initialize([each for each in valid if states[each] is PartitionState.NEW])
            self._elect([each for each in valid if states[each] is not PartitionState.NEW], strategy, errors)
        else:
            for partition in valid:
                self._set(partition, target)
        self.store.thread.call(self.batch.send)

    def _set(self, partition: TopicPartition, after: PartitionState) -> None:
        before = self.context.partition_states.get(partition, PartitionState.NON_EXISTENT)
        if after is PartitionState.NON_EXISTENT:
            self.context.partition_states.pop(partition, None)
        else:
            self.context.partition_states[partition] = after
        if before is not after:
            self.node.emit(
                events.PARTITION_STATE,
                topic=partition[0],
                partition=partition[1],
                before=before.value,
                after=after.value,
            )

    # --- A: the first leader ---------------------------------------------------------------------

    def _initialize(self, partitions: list[TopicPartition]) -> None:
        first: States = {}
        for partition in partitions:
            live = [each for each in self.context.replicas(partition) if self.context.is_online(each, partition)]
            if live:
                first[partition] = LeaderAndIsr(live[0], live, controller_epoch=self.context.epoch)
        if not first:
            return
        topics = dict.fromkeys(topic for topic, _ in first)
        self.store.write([p.Create(znodes.partitions_path(topic)) for topic in topics], self._made_directory)
        self.store.write([p.Create(znodes.partition_path(*each)) for each in first], self._made_directory)
        states = [p.Create(znodes.state_path(*each), znodes.encode_state(state)) for each, state in first.items()]
        self.store.write([*states], self._initialized, first)

    def _made_directory(self, results: list[p.Result]) -> None:
        """There already, or made now."""

    def _initialized(self, first: States, results: list[p.Result]) -> None:
        for (partition, state), result in zip(first.items(), results, strict=True):
            if result.code is Code.OK:
                self.context.leadership[partition] = state
                self.batch.lead_or_follow(state.isr, partition, state, is_new=True)
                self._set(partition, PartitionState.ONLINE)
                self._announce(partition, NO_LEADER, state, "new")

    # --- B: elections ----------------------------------------------------------------------------

    def _elect(self, partitions: list[TopicPartition], strategy: Strategy, errors: Errors) -> None:
        if partitions:
            self.store.read_states(partitions, self._states_read, partitions, strategy, errors)

    def _states_read(
        self, partitions: list[TopicPartition], strategy: Strategy, errors: Errors, states: States
    ) -> None:
        """Look up whether an unclean election is allowed, but only where it would matter."""
        for partition in partitions:
            if partition not in states or states[partition].controller_epoch > self.context.epoch:
                errors[partition] = NOT_ELECTED.get(strategy, ErrorCode.UNKNOWN_SERVER_ERROR)
                states.pop(partition, None)
        hopeless = [
            each
            for each, state in states.items()
            if not any(self.context.is_online(replica, each) for replica in state.isr)
        ]
        topics = list(dict.fromkeys(topic for topic, _ in hopeless)) if strategy is Strategy.OFFLINE else []
        ops: list[p.Operation] = [p.GetData(znodes.config_path("topics", topic)) for topic in topics]
        self.store.read(ops, self._decide, states, strategy, errors, topics)

    def _decide(
        self, states: States, strategy: Strategy, errors: Errors, topics: list[str], configs: list[p.Result]
    ) -> None:
        unclean = {topic: self._unclean_allowed(result) for topic, result in zip(topics, configs, strict=True)}
        outcomes: dict[TopicPartition, Outcome] = {}
        for partition, state in states.items():
            outcome = elect(strategy, self.context.situation(partition, state, unclean.get(partition[0], False)))
            if outcome.state is None:
                errors[partition] = NOT_ELECTED.get(strategy, ErrorCode.UNKNOWN_SERVER_ERROR)
            else:
                outcomes[partition] = outcome
        written = {each: outcome.state for each, outcome in outcomes.items() if outcome.state is not None}
        self.store.write_states(written, self._elected, outcomes, strategy, errors)

    def _elected(
        self,
        outcomes: dict[TopicPartition, Outcome],
        strategy: Strategy,
        errors: Errors,
        updated: States,
        refused: list[TopicPartition],
    ) -> None:
        for partition, state in updated.items():
            previous = self.context.leadership.get(partition)
            self.context.leadership[partition] = state
            self.batch.lead_or_follow(outcomes[partition].recipients, partition, state)
            self._set(partition, PartitionState.ONLINE)
            self.unclean_elections += outcomes[partition].unclean
            reason = self._reason(strategy, outcomes[partition], partition, previous)
            self._announce(partition, previous.leader if previous else NO_LEADER, state, reason)
        self._elect(refused, strategy, errors)

    def _unclean_allowed(self, result: p.Result) -> bool:
        value = znodes.decode_config(result.data).get(UNCLEAN) if result.ok else None
        return bool(self.config.get(UNCLEAN)) if value is None else value.lower() == "true"

    def _announce(self, partition: TopicPartition, previous: int, state: LeaderAndIsr, reason: str) -> None:
        self.node.emit(
            events.LEADER_ELECTED,
            topic=partition[0],
            partition=partition[1],
            leader=state.leader,
            previous=previous,
            leader_epoch=state.leader_epoch,
            isr=list(state.isr),
            replicas=list(self.context.replicas(partition)),
            reason=reason,
        )

    def _reason(
        self, strategy: Strategy, outcome: Outcome, partition: TopicPartition, previous: LeaderAndIsr | None
    ) -> str:
        if outcome.unclean:
            return "unclean"
        if strategy not in (Strategy.OFFLINE, Strategy.UNCLEAN):
            return str(strategy.value)
        lost_directory = previous is not None and partition in self.context.offline_dirs.get(previous.leader, {})
        return "log directory offline" if lost_directory else "broker gone"
