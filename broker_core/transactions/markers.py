"""The coordinator's channel to the leaders: a marker into every partition of a decided transaction.

    PrepareCommit written -> one WriteTxnMarkers to each broker that leads some of the partitions
                          -> each answers by partition; what failed goes to whoever leads it by then
                          -> none is left: CompleteCommit

| answer for a partition                                    | then                                                 |
|-----------------------------------------------------------|------------------------------------------------------|
| NONE, UNSUPPORTED_FOR_MESSAGE_FORMAT, UNSUPPORTED_VERSION | it is done                                           |
| INVALID_PRODUCER_EPOCH, TRANSACTION_COORDINATOR_FENCED    | another epoch, another coordinator: leave it to them |
| anything else, or no answer                               | again after 100 ms, at its leader                    |
| the partition does not exist any more                     | it needs no marker                                   |

Markers of one instant to one broker travel in one request. Kafka tries again at once, for which a clock that stands
still would wait for ever; the pause is `retry.backoff.ms` of its clients.
Source: TransactionMarkerChannelManager, TransactionMarkerRequestCompletionHandler.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from broker_core.kernel import events
from broker_core.transactions.decisions import completed
from broker_core.transactions.registry import TransactionRegistry
from broker_core.transactions.states import COMPLETE_COMMIT, PREPARE_COMMIT
from broker_core.transactions.transaction import Stored, TopicPartition, Transaction
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

RETRY_BACKOFF_US = 100_000
NO_LEADER = -1
DONE = (ErrorCode.NONE, ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, ErrorCode.UNSUPPORTED_VERSION)
SUPERSEDED = (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED)


class Leaders(Protocol):
    """How the coordinator reaches the leaders of partitions."""

    def leader(self, topic: str, partition: int) -> int | None:
        """The broker that leads it; -1: nobody at the moment, or nobody who can be reached; None: it does not exist."""
        ...

    def write_markers(self, broker: int, request: Any, done: Callable[[Any, Any], None], context: Any) -> None:
        """Sends WriteTxnMarkers; later `done(context, WriteTxnMarkersResponse | None)`, None = no answer."""
        ...


class Completion:
    """A decided transaction whose markers are being written; `epoch`: the coordinator's, `target`: what comes after."""

    __slots__ = ("transaction", "epoch", "target")

    def __init__(self, transaction: Transaction, epoch: int, target: Stored) -> None:
        self.transaction = transaction
        self.epoch = epoch
        self.target = target


Entry = tuple[Completion, list[TopicPartition]]


class MarkerChannel:
    """Completions by transactional id, and what waits to be sent, by broker."""

    def __init__(self, registry: TransactionRegistry, leaders: Leaders) -> None:
        self.registry = registry
        self.node = registry.node
        self.leaders = leaders
        self.completions: dict[str, Completion] = {}
        self.queues: dict[int, list[Entry]] = {}

    def complete(self, transaction: Transaction) -> None:
        """The transaction is decided, and that is committed: write its markers, then the end."""
        target = completed(transaction.stored, self.node.wall_ms())
        transaction.prepare(target)
        name = transaction.transactional_id
        completion = self.completions[name] = Completion(transaction, self.registry.epoch(name), target)
        self._enqueue(completion, list(transaction.unmarked))
        self._maybe_finish(completion)

    def forget(self, transactional_ids: Iterable[str]) -> None:
        """Another broker coordinates these: it writes their markers."""
        for name in transactional_ids:
            self.completions.pop(name, None)

    def _alive(self, completion: Completion) -> bool:
        """Whether it is still this coordinator's business."""
        transaction = completion.transaction
        if self.completions.get(transaction.transactional_id) is not completion:
            return False
        return self.registry.is_current(transaction, completion.epoch)

    # --- sending ------------------------------------------------------------------------------------

    def _enqueue(self, completion: Completion, partitions: list[TopicPartition]) -> None:
        waiting: dict[int, list[TopicPartition]] = {}
        for one in partitions:
            leader = self.leaders.leader(*one)
            if leader is None:
                completion.transaction.unmarked.pop(one, None)
            else:
                waiting.setdefault(leader, []).append(one)
        for broker, those in waiting.items():
            if broker == NO_LEADER:
                self.node.after(RETRY_BACKOFF_US, self._again, completion, those)
                continue
            if broker not in self.queues:
                self.queues[broker] = []
                self.node.soon(self._send, broker)
            self.queues[broker].append((completion, those))

    def _again(self, completion: Completion, partitions: list[TopicPartition]) -> None:
        if self._alive(completion):
            self._enqueue(completion, partitions)
            self._maybe_finish(completion)

    def _send(self, broker: int) -> None:
        entries = [entry for entry in self.queues.pop(broker) if self._alive(entry[0])]
        if not entries:
            return
        request = m.WriteTxnMarkersRequest(markers=[_marker(entry) for entry in entries])
        if self.node.messages:
            for completion, partitions in entries:
                self.node.emit(
                    events.MARKERS_SENT, transactional_id=completion.transaction.transactional_id, to=broker,
                    commit=completion.target.state is COMPLETE_COMMIT,
                    partitions=[f"{topic}-{partition}" for topic, partition in partitions],
                )  # fmt: skip
        self.leaders.write_markers(broker, request, self._answered, entries)

    # --- answers ------------------------------------------------------------------------------------

    def _answered(self, entries: list[Entry], response: Any) -> None:
        errors = _errors(response)
        for completion, partitions in entries:
            if not self._alive(completion):
                continue
            producer_id = completion.transaction.stored.producer_id
            found = [(one, errors.get((producer_id, *one))) for one in partitions]
            if any(error in SUPERSEDED for _, error in found):
                self._leave(completion)
                continue
            for one, error in found:
                if error in DONE:
                    completion.transaction.unmarked.pop(one, None)
            again = [one for one, error in found if error not in DONE]
            if again:
                self.node.after(RETRY_BACKOFF_US, self._again, completion, again)
            else:
                self._maybe_finish(completion)

    def _leave(self, completion: Completion) -> None:
        """Somebody with a higher epoch has been there. The id stays as it is until its partition is read again."""
        del self.completions[completion.transaction.transactional_id]

    def _maybe_finish(self, completion: Completion) -> None:
        name = completion.transaction.transactional_id
        if not completion.transaction.unmarked and self.completions.get(name) is completion:
            self._finish(completion)

    def _finish(self, completion: Completion) -> None:
        if self._alive(completion):
            self.registry.write(
                completion.transaction, completion.target, "markers written", self._finished, completion, keep=True
            )

    def _finished(self, completion: Completion, error: ErrorCode) -> None:
        """The end is written; or the log was not available, then once more."""
        if error is ErrorCode.COORDINATOR_NOT_AVAILABLE:
            self.node.after(RETRY_BACKOFF_US, self._finish, completion)
        elif self.completions.get(completion.transaction.transactional_id) is completion:
            del self.completions[completion.transaction.transactional_id]


def _marker(entry: Entry) -> Any:
    completion, partitions = entry
    stored = completion.transaction.stored
    marker = m.WriteTxnMarkersRequest.WritableTxnMarker
    topics: dict[str, list[int]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(partition)
    return marker(
        producer_id=stored.producer_id, producer_epoch=stored.producer_epoch,
        transaction_result=stored.state is PREPARE_COMMIT, coordinator_epoch=completion.epoch,
        topics=[
            m.WriteTxnMarkersRequest.WritableTxnMarkerTopic(name=name, partition_indexes=numbers)
            for name, numbers in topics.items()
        ],
    )  # fmt: skip


def _errors(response: Any) -> dict[tuple[int, str, int], int]:
    """Error code by producer id, topic and partition; nothing when there was no answer."""
    if response is None:
        return {}
    return {
        (marker.producer_id, topic.name, one.partition_index): one.error_code
        for marker in response.markers
        for topic in marker.topics
        for one in topic.partitions
    }
