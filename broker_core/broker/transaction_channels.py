"""What transactions need of the other brokers: markers to leaders, and questions to coordinators.

A leader asks the coordinator before a transaction may begin in its partition (KIP-890): is the partition part of it?
Clients of version 2 do not say beforehand what they will write to; then the question is "add it" instead of "is it".

    Produce of (7, 3) to orders-0 --> leader of orders-0 --AddPartitionsToTxn, verify only--> coordinator of the id
                                            | NONE: append                | TRANSACTION_ABORTABLE: refuse the batch

One request to a coordinator is under way at a time; what comes meanwhile waits and goes with the next one.

| the same id is asked for again while it waits | then                                              |
|-----------------------------------------------|---------------------------------------------------|
| with a higher epoch                           | the one that waits is told INVALID_PRODUCER_EPOCH |
| with the same one                             | the one that waits is told NETWORK_EXCEPTION      |
| with a lower one                              | it is told INVALID_PRODUCER_EPOCH                 |

Source: AddPartitionsToTxnManager, TransactionMarkerChannelManager.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from broker_core.kernel.names import broker_node
from broker_core.metadata.topic_names import TRANSACTION_STATE_TOPIC
from broker_core.transactions.decisions import Producer
from broker_core.transactions.markers import NO_LEADER
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.errors import ErrorCode

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker

TopicPartition = tuple[str, int]
Refusals = dict[TopicPartition, ErrorCode]
Done = Callable[[Any, Refusals], None]
"""`done(context, refusals)`: empty when all is well."""

ASKED_BY_BROKERS = 4
"""The version of AddPartitionsToTxn that asks for several ids, and may only look."""


class TransactionLeaders:
    """How this broker's transaction coordinator reaches the leaders."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker

    def leader(self, topic: str, partition: int) -> int | None:
        """See `transactions.markers.Leaders`."""
        cache = self.broker.cache
        if not cache.contains(topic, partition):
            return None
        leader = cache.leader(topic, partition)
        return NO_LEADER if leader is None else leader

    def write_markers(self, broker: int, request: Any, done: Callable[[Any, Any], None], context: Any) -> None:
        timeout_us = int(self.broker.config["request.timeout.ms"]) * 1000
        version = 2 if self.broker.mode == "kraft" else 1
        rpc = self.broker.rpc("transaction-markers")
        rpc.call(broker_node(broker), ApiKey.WRITE_TXN_MARKERS, version, request, timeout_us, done, context)


class _Question:
    """What one producer wants to begin."""

    __slots__ = ("transactional_id", "producer", "partitions", "add", "done", "context")

    def __init__(
        self, transactional_id: str, producer: Producer, partitions: Sequence[TopicPartition], add: bool,
        done: Done, context: Any,
    ) -> None:  # fmt: skip
        self.transactional_id = transactional_id
        self.producer = producer
        self.partitions = partitions
        self.add = add
        self.done = done
        self.context = context

    def refuse(self, error: ErrorCode) -> None:
        self.done(self.context, dict.fromkeys(self.partitions, error))


class TransactionVerifier:
    """Questions by coordinator and transactional id; `in_flight`: coordinators that have one to answer."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.waiting: dict[int, dict[str, _Question]] = {}
        self.in_flight: dict[int, None] = {}

    def verify(
        self, transactional_id: str, producer: Producer, partitions: Sequence[TopicPartition], add: bool,
        done: Done, context: Any,
    ) -> None:  # fmt: skip
        """Whether these belong to the producer's transaction (or, `add`, from now on do); later, once, `done`."""
        question = _Question(transactional_id, producer, partitions, add, done, context)
        broker = self.broker
        partition = broker.transactions.partition_for(transactional_id)
        coordinator = broker.cache.leader(TRANSACTION_STATE_TOPIC, partition)
        if coordinator is None:
            question.refuse(ErrorCode.COORDINATOR_NOT_AVAILABLE)
            return
        waiting = self.waiting.setdefault(coordinator, {})
        before = waiting.get(transactional_id)
        if before is not None and before.producer.epoch > producer.epoch:
            question.refuse(ErrorCode.INVALID_PRODUCER_EPOCH)
            return
        waiting[transactional_id] = question
        if before is not None:
            same = before.producer.epoch == producer.epoch
            before.refuse(ErrorCode.NETWORK_EXCEPTION if same else ErrorCode.INVALID_PRODUCER_EPOCH)
        if coordinator not in self.in_flight:
            self.in_flight[coordinator] = None
            broker.node.soon(self._ask, coordinator)

    def _ask(self, coordinator: int) -> None:
        questions = list(self.waiting.pop(coordinator, {}).values())
        if not questions:
            self.in_flight.pop(coordinator, None)
            return
        request = m.AddPartitionsToTxnRequest(transactions=[_asked(one) for one in questions])
        timeout_us = int(self.broker.config["request.timeout.ms"]) * 1000
        rpc = self.broker.rpc("transaction-verification")
        rpc.call(
            broker_node(coordinator), ApiKey.ADD_PARTITIONS_TO_TXN, ASKED_BY_BROKERS, request, timeout_us,
            self._answered, (coordinator, questions),
        )  # fmt: skip

    def _answered(self, context: tuple[int, list[_Question]], response: Any) -> None:
        coordinator, questions = context
        found = {} if response is None else {one.transactional_id: one for one in response.results_by_transaction}
        for question in questions:
            result = found.get(question.transactional_id)
            if response is not None and response.error_code:
                question.refuse(ErrorCode(response.error_code))
            elif result is None:
                question.refuse(ErrorCode.NETWORK_EXCEPTION)
            else:
                question.done(question.context, _refusals(result))
        self._ask(coordinator)


def _asked(question: _Question) -> Any:
    topics: dict[str, list[int]] = {}
    for topic, partition in question.partitions:
        topics.setdefault(topic, []).append(partition)
    request = m.AddPartitionsToTxnRequest
    return request.AddPartitionsToTxnTransaction(
        transactional_id=question.transactional_id, producer_id=question.producer.producer_id,
        producer_epoch=question.producer.epoch, verify_only=not question.add,
        topics=[request.AddPartitionsToTxnTopic(name=name, partitions=numbers) for name, numbers in topics.items()],
    )  # fmt: skip


def _refusals(result: Any) -> Refusals:
    """What was refused, as a producer understands it: a fenced one has an old epoch for a partition."""
    refused: Refusals = {}
    for topic in result.topic_results:
        for one in topic.results_by_partition:
            error = ErrorCode(one.partition_error_code)
            if error is not ErrorCode.NONE:
                fenced = error is ErrorCode.PRODUCER_FENCED
                refused[topic.name, one.partition_index] = ErrorCode.INVALID_PRODUCER_EPOCH if fenced else error
    return refused
