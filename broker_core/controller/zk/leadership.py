"""Who should lead: the preferred leader, on request and by itself.

The first replica of an assignment is the *preferred* leader. After a failover leaders gather on the
brokers that survived; a preferred election gives each partition back to its first replica, if that is
online and in sync. `auto.leader.rebalance.enable` [true] does so by itself: every
`leader.imbalance.check.interval.seconds` [300] it looks, per broker, at the share of partitions that
prefer it and are led by another, and acts above `leader.imbalance.per.broker.percentage` [10].
An unclean election on request takes any replica that is online, and loses what it has not copied.
"""

from __future__ import annotations

from typing import Any

from broker_core.controller.elections import Strategy
from broker_core.controller.state_machines import PartitionState
from broker_core.controller.zk.core import ControllerCore
from broker_core.kernel.node import Timer
from broker_core.controller.zk import znodes
from broker_core.metadata.partition import TopicPartition
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode
from broker_core.zookeeper import protocol as p

PREFERRED, UNCLEAN = 0, 1
FIRST_CHECK_US = 5_000_000

Errors = dict[TopicPartition, ErrorCode]


class Leadership:
    """Elections that are wished for, and the periodic check of the balance."""

    def __init__(self, core: ControllerCore) -> None:
        self.core = core
        self._timer: Timer | None = None

    # --- ElectLeaders ----------------------------------------------------------------------------

    def handle(self, request: Any, done: Any, context: Any) -> None:
        """Event: an ElectLeaders request; `done(context, response)`. Null partitions mean all.

        All are those that brokers are told of (KIP-183): neither one that never had a leader nor one that is deleted.
        """
        every, known = request.topic_partitions is None, self.core.context
        if every:
            asked = [one for one in known.partitions() if one in known.leadership and one[0] not in known.deleting]
        else:
            asked = [(topic.topic, number) for topic in request.topic_partitions for number in topic.partitions]
        strategy = Strategy.PREFERRED if request.election_type == PREFERRED else Strategy.UNCLEAN
        errors: Errors = {}
        electable: list[TopicPartition] = []
        for partition in asked:
            refusal = self._refusal(partition, strategy)
            if refusal is None:
                electable.append(partition)
            if refusal is not None and not (every and refusal is ErrorCode.ELECTION_NOT_NEEDED):
                errors[partition] = refusal
        self.core.partitions.change(electable, PartitionState.ONLINE, strategy, errors)
        self.core.thread.call(self._answer, errors, electable, done, context)

    def _refusal(self, partition: TopicPartition, strategy: Strategy) -> ErrorCode | None:
        context = self.core.context
        state = context.leadership.get(partition)
        if state is None or not context.replicas(partition):
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if partition[0] in context.deleting:
            return ErrorCode.INVALID_TOPIC_EXCEPTION
        if strategy is Strategy.PREFERRED:
            needed = state.leader != context.replicas(partition)[0]
        else:
            needed = not context.is_online(state.leader, partition)
        return None if needed else ErrorCode.ELECTION_NOT_NEEDED

    def _answer(self, errors: Errors, electable: list[TopicPartition], done: Any, context: Any) -> None:
        outcome = {**dict.fromkeys(electable, ErrorCode.NONE), **errors}
        topics: dict[str, list[Any]] = {}
        for (topic, number), code in outcome.items():
            result = m.ElectLeadersResponse.PartitionResult(
                partition_id=number, error_code=code, error_message=_explained(code)
            )
            topics.setdefault(topic, []).append(result)
        results = [
            m.ElectLeadersResponse.ReplicaElectionResult(topic=topic, partition_result=parts)
            for topic, parts in topics.items()
        ]
        done(context, m.ElectLeadersResponse(replica_election_results=results))

    # --- /admin/preferred_replica_election -------------------------------------------------------

    def election_wished(self) -> None:
        """Event: the old way to ask, a znode with a list of partitions; it is deleted when done.

        Exists leaves the watch for the next wish, whether there is one now or not.
        """
        path = znodes.PREFERRED_ELECTION
        self.core.store.read([p.Exists(path), p.GetData(path)], self._wish_read)

    def _wish_read(self, results: list[p.Result]) -> None:
        wish = results[1]
        if wish.ok:
            asked = znodes.decode_partition_list(wish.data)
            self._prefer([each for each in asked if self._refusal(each, Strategy.PREFERRED) is None])
            self.core.store.delete_all([znodes.PREFERRED_ELECTION])

    def _prefer(self, partitions: list[TopicPartition]) -> None:
        self.core.partitions.change(partitions, PartitionState.ONLINE, Strategy.PREFERRED)

    # --- balance ---------------------------------------------------------------------------------

    def start_checks(self) -> None:
        """Step: begin the periodic checks, first after five seconds."""
        if self.core.setting("auto.leader.rebalance.enable", True):
            self._timer = self.core.node.after(FIRST_CHECK_US, self._check_due)

    def stop_checks(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check_due(self) -> None:
        interval = self.core.setting("leader.imbalance.check.interval.seconds", 300)
        self._timer = self.core.node.after(int(interval) * 1_000_000, self._check_due)
        self.core.thread.put_once(self.check_balance)

    def check_balance(self) -> None:
        """Event: hold preferred elections for brokers that lead too few of their partitions."""
        context = self.core.context
        allowed = int(self.core.setting("leader.imbalance.per.broker.percentage", 10)) / 100
        preferring: dict[int, list[TopicPartition]] = {}
        for partition in context.partitions():
            replicas = context.replicas(partition)
            if replicas and partition[0] not in context.deleting:
                preferring.setdefault(replicas[0], []).append(partition)
        for broker, partitions in preferring.items():
            elsewhere = [
                each for each in partitions if each in context.leadership and context.leadership[each].leader != broker
            ]
            if len(elsewhere) / len(partitions) > allowed and not context.reassigning():
                self._prefer([each for each in elsewhere if self._could_lead(broker, each)])

    def _could_lead(self, broker: int, partition: TopicPartition) -> bool:
        context = self.core.context
        return context.is_online(broker, partition) and broker in context.leadership[partition].isr


def _explained(code: ErrorCode) -> str | None:
    if code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        return "The partition does not exist."
    if code is ErrorCode.INVALID_TOPIC_EXCEPTION:
        return "The topic is being deleted"
    return None if code is ErrorCode.NONE else code.message
