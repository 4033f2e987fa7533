"""Batches and offsets of a transaction, before they are appended: may it begin in this partition (KIP-890)?

A batch that continues a transaction which is open here is appended at once. One that would begin it needs the word of
the transaction coordinator first (`transaction_channels`), or it might begin after its end: then nobody would ever
write a marker, and read_committed would wait for ever.

| the coordinator says                         | the producer is told                                        |
|----------------------------------------------|-------------------------------------------------------------|
| NONE                                         | what the append says                                        |
| TRANSACTION_ABORTABLE                        | that from Produce 11 on, INVALID_TXN_STATE before           |
| CONCURRENT_TRANSACTIONS to who adds          | nothing yet: it is asked again (below)                      |
| it loads, moves, is away; is at another thing | NOT_ENOUGH_REPLICAS: come again                            |
| anything else                                | that                                                        |

A producer of version 2 begins its next transaction while markers of the last one are still being written. Rather than
let it send its records once more, the leader asks again every `add.partitions.to.txn.retry.backoff.ms` [20], for
`add.partitions.to.txn.retry.backoff.max.ms` [100] at most (`ReplicaManager`, maybeRetryOnConcurrentTransactions).

`transaction.partition.verification.enable` false leaves the question out, as before Kafka 3.6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_core.broker.connections import RequestContext
from broker_core.broker.handlers.groups import take_unknown, tell_unknown
from broker_core.log.transactions import OF_ANY_EPOCH
from broker_core.metadata.topic_names import GROUP_METADATA_TOPIC
from broker_core.records import read_headers
from broker_core.transactions.decisions import Producer
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker
    from broker_core.replication.partition import Partition

ABORTABLE_VERSION, ADDING_VERSION = 11, 12
OFFSETS_ADDING_VERSION, LOADING_KNOWN_VERSION = 5, 2
NO_SEQUENCE = -1

TopicPartition = tuple[str, int]

_COME_AGAIN = (
    ErrorCode.NETWORK_EXCEPTION, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR, ErrorCode.CONCURRENT_TRANSACTIONS,
)  # fmt: skip
_UNVERIFIED = "Unable to verify the partition has been added to the transaction. Underlying error: "


class Verified:
    """Partitions of a Produce that may be appended with their guards, and those that may not. `reason`: what the
    producer is told with NOT_ENOUGH_REPLICAS, on which it comes again."""

    __slots__ = ("guards", "refused", "reason")

    def __init__(self) -> None:
        self.guards: dict[TopicPartition, int] | None = {}
        self.refused: dict[TopicPartition, ErrorCode] = {}
        self.reason: dict[TopicPartition, str] = {}


def verify_batches(broker: Broker, context: RequestContext, known: list[Any], done: Any, state: Any) -> None:
    """Asks for the batches of a Produce that would begin a transaction; later `done(state, Verified)`.

    A leader of 4.x refuses by itself what is older than what it has of the producer.
    """
    verified = Verified()
    asked: list[TopicPartition] = []
    producers: dict[Producer, None] = {}
    add = context.api_version >= ADDING_VERSION
    enabled = broker.config["transaction.partition.verification.enable"] or add
    if not enabled:
        verified.guards = None
    for topic, index, records in known if enabled else ():
        header = next((one for one in read_headers(records) if one.is_transactional), None)
        partition = broker.replicas.partition(topic, index)
        if header is None or partition is None or not partition.is_leader:
            continue
        producers[Producer(header.producer_id, header.producer_epoch)] = None
        if broker.mode == "kraft" and partition.log.producers.has_newer(header.producer_id, header.producer_epoch):
            verified.refused[topic, index] = ErrorCode.INVALID_PRODUCER_EPOCH
            continue
        guard = _guard(broker, partition, header.producer_id, header.base_sequence, header.producer_epoch, add)
        if guard is not None and verified.guards is not None:
            verified.guards[topic, index] = guard
        if guard is not None and guard != OF_ANY_EPOCH:
            asked.append((topic, index))
    if len(producers) > 1:
        verified.refused |= dict.fromkeys(asked, ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        asked = []
    if not asked:
        done(state, verified)
        return
    question = _Batches(broker, context, next(iter(producers)), asked, (verified, done, state))
    question.ask()


def _guard(broker: Broker, partition: Partition, producer_id: int, sequence: int, epoch: int, add: bool) -> int | None:
    """What the append has to show; None: the producer's transaction is open here, so that nothing has to be asked.
    Before 4.0 it did not matter of which epoch that was."""
    if broker.mode == "zookeeper" and partition.log.producers.has_open_transaction(producer_id):
        return OF_ANY_EPOCH
    return partition.start_verification(producer_id, sequence, epoch, add)


class _Batches:
    """The question about the batches of one Produce, until it is answered for good."""

    __slots__ = ("broker", "name", "version", "producer", "asked", "context", "until_us")

    def __init__(
        self, broker: Broker, request: RequestContext, producer: Producer, asked: list[TopicPartition],
        context: tuple[Verified, Any, Any],
    ) -> None:  # fmt: skip
        self.broker = broker
        self.name = request.body.transactional_id or ""
        self.version = request.api_version
        self.producer = producer
        self.asked = asked
        self.context = context
        self.until_us = 0
        if self.adds:
            config = broker.config
            limit_ms = min(config["add.partitions.to.txn.retry.backoff.max.ms"], config["request.timeout.ms"])
            self.until_us = broker.node.now_us() + limit_ms * 1000

    @property
    def adds(self) -> bool:
        return self.version >= ADDING_VERSION

    def ask(self) -> None:
        """Now."""
        self.broker.transaction_verifier.verify(
            self.name, self.producer, self.asked, self.adds, _batches_verified, self
        )


def _batches_verified(question: _Batches, refused: dict[TopicPartition, ErrorCode]) -> None:
    node, version = question.broker.node, question.version
    if ErrorCode.CONCURRENT_TRANSACTIONS in refused.values() and node.now_us() < question.until_us:
        node.after(question.broker.config["add.partitions.to.txn.retry.backoff.ms"] * 1000, question.ask)
        return
    verified, done, state = question.context
    for key, error in refused.items():
        if error is ErrorCode.TRANSACTION_ABORTABLE and version < ABORTABLE_VERSION:
            error = ErrorCode.INVALID_TXN_STATE
        if error in _COME_AGAIN:
            verified.reason[key] = _UNVERIFIED + error.name
            error = ErrorCode.NOT_ENOUGH_REPLICAS
        verified.refused[key] = error
    done(state, verified)


# --- TxnOffsetCommit ------------------------------------------------------------------------------


def commit_offsets(broker: Broker, context: RequestContext) -> None:
    """Partitions that do not exist are answered here; the rest goes to the group coordinator, once it is verified."""
    request = context.body
    unknown = take_unknown(broker, request)
    state = (broker, context, unknown)
    if not request.topics:
        _committed(state, m.TxnOffsetCommitResponse(topics=[]))
        return
    if not request.group_id:
        _committed(state, broker.groups.refuse_transactional(request, ErrorCode.INVALID_GROUP_ID))
        return
    broker.groups.expect_transactional(request.group_id)
    key = (GROUP_METADATA_TOPIC, broker.groups.partition_for(request.group_id))
    partition = broker.replicas.partition(*key)
    add = context.api_version >= OFFSETS_ADDING_VERSION
    enabled = broker.config["transaction.partition.verification.enable"] or add
    guard = None
    if enabled and partition is not None and partition.is_leader:
        guard = _guard(broker, partition, request.producer_id, NO_SEQUENCE, request.producer_epoch, add)
    if guard is None or guard == OF_ANY_EPOCH:
        broker.groups.commit_transactional(request, None, _committed, state)
        return
    producer = Producer(request.producer_id, request.producer_epoch)
    broker.transaction_verifier.verify(
        request.transactional_id, producer, [key], add, _offsets_verified, (state, guard)
    )


def _offsets_verified(question: tuple[Any, int], refused: dict[TopicPartition, ErrorCode]) -> None:
    state, guard = question
    broker, context, _ = state
    if not refused:
        broker.groups.commit_transactional(context.body, guard, _committed, state)
        return
    (error,) = refused.values()
    if error is ErrorCode.TRANSACTION_ABORTABLE and context.api_version < OFFSETS_ADDING_VERSION:
        error = ErrorCode.INVALID_TXN_STATE
    elif error is ErrorCode.NETWORK_EXCEPTION:
        error = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    _committed(state, broker.groups.refuse_transactional(context.body, error))


def _committed(state: tuple[Broker, RequestContext, Any], response: m.TxnOffsetCommitResponse) -> None:
    _, context, unknown = state
    kinds = m.TxnOffsetCommitResponse
    tell_unknown(response, unknown, kinds.TxnOffsetCommitResponseTopic, kinds.TxnOffsetCommitResponsePartition)
    if context.api_version < LOADING_KNOWN_VERSION:
        for topic in response.topics:
            for one in topic.partitions:
                if one.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                    one.error_code = ErrorCode.COORDINATOR_NOT_AVAILABLE
    context.respond(response)
