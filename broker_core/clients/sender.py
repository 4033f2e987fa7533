"""From queues to brokers and back: the producer's `Sender`.

Each round (`run`), as the Java client's thread does:

1. give up batches older than `delivery.timeout.ms`;
2. an idempotent producer without an id asks for one (InitProducerId, any broker);
3. of each partition whose first batch may leave, whose leader is known and connected and has fewer than
   `max.in.flight.requests.per.connection` requests to answer, take one batch;
4. send one Produce request to each leader, up to `max.request.size`;
5. sleep until the next batch is due.

A failed batch goes back to the front of its queue after `retry.backoff.ms` (exponential). Without
idempotence and with more than one request in flight, a later batch may overtake it: records are
reordered, and after a lost answer duplicated. With `max.in.flight...=1` the partition is muted while a
batch is on its way; with idempotence the broker's check of sequences keeps the order.
"""

from __future__ import annotations

from typing import Any

from broker_core.clients import history
from broker_core.clients.accumulator import BATCH_OVERHEAD, NO_SEQUENCE, Accumulator, Batch, PartitionQueue
from broker_core.clients.backoff import backoff_us
from broker_core.clients.connections import Connections, error_of
from broker_core.clients.idempotence import Idempotence, add
from broker_core.clients.metadata import Metadata
from broker_core.clients.old_clients import RELEASES
from broker_core.clients.settings import ProducerSettings
from broker_core.kernel import events
from broker_core.kernel.names import broker_node
from broker_core.kernel.node import Node, Timer
from broker_core.records.batch import encode_batch
from broker_core.records.compression import BY_NAME
from broker_core.records.conversion import down_convert
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.errors import ErrorCode

PRODUCE = int(ApiKey.PRODUCE)
PLAIN_VERSION = 11  # from 12 on, a transactional batch adds its partition to the transaction
STALE = (  # InvalidMetadataException: what we believe about leaders is wrong
    ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.NETWORK_EXCEPTION, ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.REPLICA_NOT_AVAILABLE,
)  # fmt: skip
# After these the records may be in a log: a leader that resigns, or loses its disk, says so to those who wait, too.
UNKNOWN_FATE = (
    ErrorCode.NETWORK_EXCEPTION, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.KAFKA_STORAGE_ERROR,
)  # fmt: skip


class Sender:
    """Sends what the accumulator holds. `owner.batch_settled(batch, kind, offset, error)` is told of each end."""

    def __init__(
        self, node: Node, settings: ProducerSettings, accumulator: Accumulator, connections: Connections,
        metadata: Metadata, owner: Any,
    ) -> None:  # fmt: skip
        self.node = node
        self.settings = settings
        self.accumulator = accumulator
        self.connections = connections
        self.metadata = metadata
        self.owner = owner
        self.idempotence = Idempotence(accumulator) if settings.enable_idempotence else None
        self.release = RELEASES.get(settings.broker_version_fallback)
        self.produce_version: int | None = PLAIN_VERSION if self.release is None else self.release.produce
        self.astray: int | None = None
        """The broker that everything is sent to, whoever leads; None: to leaders, as it should be."""
        self.damages = False
        """A bit of each batch turns over behind its checksum."""
        self.codec = BY_NAME[settings.compression_type]
        self.delivery_us = settings.delivery_timeout_ms * 1000
        self._expiry_us = node.now_us() + self.delivery_us
        self._asking_id = False
        self._awake = False
        self._timer: Timer | None = None
        self._timer_at = 0
        self._operations = 0
        self._turn = 0

    # -- rounds -----------------------------------------------------------------------------
    def wake(self) -> None:
        """Something has changed: run once more in this instant."""
        if not self._awake:
            self._awake = True
            self.node.soon(self.run)

    def _wake_at(self, at_us: int) -> None:
        timer = self._timer
        if timer is not None:
            if timer.method is not None and self._timer_at <= at_us:
                return
            timer.cancel()
        self._timer_at = at_us
        self._timer = self.node.after(at_us - self.node.now_us(), self._timer_fired)

    def _timer_fired(self) -> None:
        self._timer = None
        self.wake()

    def run(self) -> None:
        """One round."""
        self._awake = False
        now = self.node.world.now_us
        if now >= self._expiry_us:
            self._expire(now)
        waiting, idempotence = self.accumulator.waiting, self.idempotence
        settled = idempotence is None or (
            idempotence.producer_id >= 0 and not idempotence.bump_requested and not idempotence.unresolved
        )
        if not settled and not self._ready_to_number(waiting):
            return
        if waiting:
            for leader, queues in self._ready(now).items():
                self._send(leader, queues, now)

    def _ready_to_number(self, waiting: dict[PartitionQueue, None]) -> bool:
        """Whether an idempotent producer has its id."""
        idempotence = self.idempotence
        assert idempotence is not None
        idempotence.settle()
        if idempotence.has_id:
            return True
        if waiting and not self._asking_id:
            self._ask_id()
        return False

    def _ready(self, now: int) -> dict[int, list[PartitionQueue]]:
        """Leader -> queues whose first batch may leave now; arms the timer for those that may later."""
        found: dict[int, list[PartitionQueue]] = {}
        next_us = -1
        accumulator, metadata = self.accumulator, self.metadata
        for queue in accumulator.waiting:
            expiry = queue.batches[0].created_us + self.delivery_us
            at = accumulator.sendable_at(queue, now)
            if at <= now:
                at = expiry
                leader = metadata.leader(queue.topic, queue.partition) if self.astray is None else self.astray
                if leader < 0:
                    metadata.request_update()
                elif not queue.muted and (self.idempotence is None or self.idempotence.may_send(queue)):
                    if leader in found:
                        found[leader].append(queue)
                    else:
                        found[leader] = [queue]
            if at > expiry:
                at = expiry
            if next_us < 0 or at < next_us:
                next_us = at
        if next_us > now:
            self._wake_at(next_us)
        return found

    # -- sending ----------------------------------------------------------------------------
    def _send(self, leader: int, queues: list[PartitionQueue], now: int) -> None:
        dest = broker_node(leader)
        settings = self.settings
        if not self.connections.is_ready(dest):
            return
        if self.connections.rpc.in_flight(dest) >= settings.max_in_flight_requests_per_connection:
            return
        start = self._turn % len(queues)
        self._turn += 1
        if start:
            queues = queues[start:] + queues[:start]
        batches: list[Batch] = []
        size = 0
        for queue in queues:
            size += queue.batches[0].size
            if batches and size > settings.max_request_size:
                break
            batches.append(self._take(queue))
        body = self._request(batches)
        if settings.acks == 0:
            self.connections.send_only(dest, PRODUCE, body, self.produce_version)
            for batch in batches:
                self._complete(batch, dest, -1)
        else:
            self.connections.call(
                dest, PRODUCE, body, self._answered, (dest, batches), limit=self.produce_version
            )
        for queue in queues:
            if queue.batches:
                self.wake()
                break

    def _take(self, queue: PartitionQueue) -> Batch:
        batch = self.accumulator.take(queue)
        if self.idempotence is not None:
            self.idempotence.number(batch)
        elif self.settings.max_in_flight_requests_per_connection == 1:
            queue.muted = True
        if not batch.operation:
            self._operations += 1
            batch.operation = f"{self.node.incarnation}-{self._operations}"
            history.sent(self.node, batch, self.settings.acks)
        return batch

    def _request(self, batches: list[Batch]) -> Any:
        topics: dict[str, list[Any]] = {}
        name = self.settings.transactional_id or None
        for batch in batches:
            records = encode_batch(
                batch.records, 0, self.codec, batch.producer_id, batch.producer_epoch, batch.sequence,
                transactional=name is not None,
            )  # fmt: skip
            if self.release is not None:
                records = down_convert(records, self.release.magic)
            if self.damages:
                records[-1] ^= 1
            queue = batch.queue
            data = m.ProduceRequest.PartitionProduceData.make(index=queue.partition, records=records)
            if queue.topic in topics:
                topics[queue.topic].append(data)
            else:
                topics[queue.topic] = [data]
        return m.ProduceRequest.make(
            transactional_id=name,
            acks=self.settings.acks,
            timeout=self.settings.request_timeout_ms,
            topic_data=[m.ProduceRequest.TopicProduceData.make(name=n, partition_data=p) for n, p in topics.items()],
        )

    # -- answers ----------------------------------------------------------------------------
    def _answered(self, context: tuple[str, list[Batch]], response: Any) -> None:
        dest, batches = context
        if response is None:
            self.connections.failed(dest)
            for batch in batches:
                self._refused(batch, ErrorCode.NETWORK_EXCEPTION, -1)
        else:
            answers = {}
            for topic in response.responses:
                for answer in topic.partition_responses:
                    answers[topic.name, answer.index] = answer
            for batch in batches:
                answer = answers[batch.queue.topic, batch.queue.partition]
                if not answer.error_code:
                    self._complete(batch, dest, answer.base_offset)
                elif answer.error_code == ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
                    self._complete(batch, dest, -1)
                else:
                    self._refused(batch, answer.error_code, answer.log_start_offset)
        idempotence = self.idempotence
        if idempotence is not None and (idempotence.unresolved or idempotence.bump_requested):
            idempotence.settle()
        if self.accumulator.waiting:
            self.wake()

    def _complete(self, batch: Batch, dest: str, offset: int) -> None:
        self._landed(batch)
        if batch.done:
            return
        if self.idempotence is not None:
            self.idempotence.acked(batch, offset)
        self.accumulator.release(batch)
        self._tell("ok", batch, offset, broker=dest)
        self.owner.batch_settled(batch, "ok", offset)

    def _tell(self, kind: str, batch: Batch, offset: int = -1, error: str = "", broker: str = "") -> None:
        """To the history: what the application is told."""
        history.settled(self.node, kind, batch, self.settings.acks, offset, error, broker)

    def _landed(self, batch: Batch) -> None:
        """The batch is on its way no more."""
        queue = batch.queue
        if batch in queue.in_flight:
            queue.in_flight.remove(batch)
        queue.muted = False

    def _refused(self, batch: Batch, error: int, log_start_offset: int) -> None:
        """An error: once more, or the end."""
        self._landed(batch)
        code = error_of(error)
        if error in STALE:
            self.metadata.request_update()
        batch.uncertain = batch.uncertain or code in UNKNOWN_FATE
        if batch.done:
            return
        if error == ErrorCode.MESSAGE_TOO_LARGE and batch.count > 1:
            self._split(batch)
            return
        now = self.node.now_us()
        again = batch.attempts < self.settings.retries and now < batch.created_us + self.delivery_us
        if again and self._may_retry(batch, code, log_start_offset):
            self._note(batch, code, "retry")
            self.accumulator.put_back(batch, now + self._retry_backoff_us(batch))
            self._wake_at(batch.retry_at_us)
        else:
            self._fail(batch, code.name, batch.uncertain)

    def _may_retry(self, batch: Batch, code: ErrorCode, log_start_offset: int) -> bool:
        if self.idempotence is not None:
            decided = self.idempotence.may_retry(batch, code, log_start_offset)
            if decided is not None:
                return decided
        return code.retriable

    def _retry_backoff_us(self, batch: Batch) -> int:
        settings = self.settings
        random = self.node.random("backoff")
        return backoff_us(batch.attempts, settings.retry_backoff_ms, settings.retry_backoff_max_ms, random)

    def _split(self, batch: Batch) -> None:
        """MESSAGE_TOO_LARGE: two halves instead (KIP-126); of an idempotent producer they share its sequences."""
        queue, half = batch.queue, batch.count // 2
        self.accumulator.release(batch)
        kind = "info" if batch.uncertain else "fail"
        self._tell(kind, batch, error="split")
        numbers = [n for first, count in batch.numbers for n in range(first, first + count)]
        parts: list[Batch] = []
        for start, end in ((half, batch.count), (0, half)):
            part = Batch(queue, batch.created_us, self.accumulator.batch_size)
            part.records = batch.records[start:end]
            part.size = BATCH_OVERHEAD + (batch.size - BATCH_OVERHEAD) * (end - start) // batch.count
            part.numbers = [[number, 1] for number in numbers[start:end]]
            part.texts = batch.texts[start:end]
            part.closed = True
            if batch.sequence != NO_SEQUENCE:
                part.producer_id, part.producer_epoch = batch.producer_id, batch.producer_epoch
                part.sequence, part.sequence_reset = add(batch.sequence, start), batch.sequence_reset
            self.accumulator.used += part.memory
            self.accumulator.insert(part)
            parts.insert(0, part)
        self.owner.batch_split(batch, parts)
        self.wake()

    # -- the end of batches -----------------------------------------------------------------
    def _expire(self, now: int) -> None:
        """Give up what is older than `delivery.timeout.ms`, waiting or on its way.

        What is left is no older than the oldest of it, what comes later no older than now: until then
        nothing expires, and `run` need not look at every queue.
        """
        horizon = now - self.delivery_us
        for queue in list(self.accumulator.waiting):
            while queue.batches and queue.batches[0].created_us <= horizon:
                batch = queue.batches[0]
                self.accumulator.drop(batch)
                self._fail(batch, "TIMEOUT", batch.uncertain)
        for queue in self.accumulator.queues.values():
            for batch in [b for b in queue.in_flight if b.created_us <= horizon and not b.done]:
                self._fail(batch, "TIMEOUT", True)
        queues = self.accumulator.queues.values()
        left = [b.created_us for queue in queues for b in (*queue.batches, *queue.in_flight) if not b.done]
        self._expiry_us = min(left, default=now) + self.delivery_us

    def _fail(self, batch: Batch, error: str, unknown: bool) -> None:
        """The producer gives up; `unknown`: one of the tries may have been written."""
        if self.idempotence is not None:
            self.idempotence.failed(batch, unknown)
        self.accumulator.release(batch)
        self.node.emit(
            events.SEND_FAILED, topic=batch.queue.topic, partition=batch.queue.partition, count=batch.count, error=error
        )
        if not batch.operation:
            self._operations += 1
            batch.operation = f"{self.node.incarnation}-{self._operations}"
        kind = "info" if unknown else "fail"
        self._tell(kind, batch, error=error)
        self.owner.batch_settled(batch, kind, error=error)

    def _note(self, batch: Batch, code: ErrorCode, reaction: str) -> None:
        if self.node.messages:
            queue = batch.queue
            self.node.emit(
                events.CLIENT_ERROR, api="Produce", error=code.name, reaction=reaction, topic=queue.topic,
                partition=queue.partition,
            )  # fmt: skip

    # -- producer id ------------------------------------------------------------------------
    def _ask_id(self) -> None:
        dest = self.metadata.any_broker()
        if dest is None:
            return
        self._asking_id = True
        body = m.InitProducerIdRequest(transactional_id=None, transaction_timeout=2_147_483_647)
        self.connections.call(dest, ApiKey.INIT_PRODUCER_ID, body, self._id_answered, dest)

    def _id_answered(self, dest: str, response: Any) -> None:
        self._asking_id = False
        if response is None:
            self.connections.failed(dest)
        if response is None or response.error_code != ErrorCode.NONE:
            self._wake_at(self.node.now_us() + self.settings.retry_backoff_ms * 1000)
            return
        assert self.idempotence is not None
        self.idempotence.begin(response.producer_id, response.producer_epoch)
        self.wake()
