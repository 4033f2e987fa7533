"""Producer ids: a number for every idempotent producer, unique in the cluster for ever.

A broker recognises a batch that is sent twice by (producer id, epoch, sequence). Ids are given out by any
broker (InitProducerId), so brokers take them from the controller in blocks of 1000:

    broker 1 --AllocateProducerIds--> controller: block 0..999      /latest_producer_id_block: broker 1, 0..999
    broker 2 --AllocateProducerIds--> controller: block 1000..1999  /latest_producer_id_block: broker 2, 1000..1999
    producers at broker 1 get 0, 1, 2, ...; at broker 2 1000, 1001, ...

| the broker has              | InitProducerId is answered           | and                                   |
|-----------------------------|--------------------------------------|---------------------------------------|
| an id in the current block  | the id, epoch 0                      | at 90 % the next block is asked for   |
| only the next block         | its first id                         | it becomes the current one            |
| neither                     | COORDINATOR_LOAD_IN_PROGRESS (retry) | a block is asked for                  |

With ZooKeeper a broker asks for its first block when it starts, in KRaft when the first producer asks it for an id:
that one is told to come again. A restarted broker asks for a new block: what was left of the old one is lost, which
costs nothing (there are 2^63 ids). A request that failed is repeated after 50 ms at the earliest, by the next producer
that needs it.
The part that gives out the blocks is in `controller`. Source: RPCProducerIdManager (3.9), KIP-98, KIP-730.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from broker_core.kernel import events
from broker_core.kernel.node import Node
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

PREFETCH_THRESHOLD = 0.9
RETRY_BACKOFF_US = 50_000
NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1


class ProducerIdBlock(NamedTuple):
    """Ids `first` <= id <= `last`, given to this broker."""

    first: int
    last: int


class BlockSource(Protocol):
    """How the broker reaches the controller."""

    def allocate_producer_ids(self, done: Callable[[Any, Any], None], context: Any) -> None:
        """Sends AllocateProducerIds; later `done(context, AllocateProducerIdsResponse | None)`, None = no answer."""
        ...


class ProducerIds:
    """The ids of one broker.

    - `position` is the next id of `current`; past its end, the block is used up.

    Invariants
        - first <= position <= last + 1 of `current`
        - at most one block is asked for or kept in `following` at a time
    """

    def __init__(self, node: Node, source: BlockSource) -> None:
        self.node = node
        self.source = source
        self.current = ProducerIdBlock(0, -1)
        self.position = 0
        self.following: ProducerIdBlock | None = None
        self.in_flight = False
        self.retry_at_us = 0

    def init_producer_id(self, request: m.InitProducerIdRequest, client_id: str) -> m.InitProducerIdResponse:
        """InitProducerId without a transactional id, 0-5: an id of its own for each request."""
        if (request.producer_id == NO_PRODUCER_ID) != (request.producer_epoch == NO_PRODUCER_EPOCH):
            return _refused(ErrorCode.INVALID_REQUEST)
        producer_id = self.next_id()
        if producer_id is None:
            return _refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        self.node.emit(events.PRODUCER_ID, producer_id=producer_id, epoch=0, client_id=client_id)
        return m.InitProducerIdResponse(error_code=ErrorCode.NONE, producer_id=producer_id, producer_epoch=0)

    def prefetch(self) -> None:
        """Ask for the first block before anybody needs it, as a broker with ZooKeeper does when it starts."""
        if self.current.last < self.current.first:
            self._maybe_ask()

    def next_id(self) -> int | None:
        """An id that nobody else has; None while there is none, then a block is on its way."""
        if self.position > self.current.last and self.following is not None:
            self.current, self.following = self.following, None
            self.position = self.current.first
        if self.position > self.current.last:
            self._maybe_ask()
            return None
        taken = self.position
        self.position += 1
        size = self.current.last - self.current.first + 1
        if taken == self.current.first + int(size * PREFETCH_THRESHOLD):
            self._maybe_ask()
        return taken

    def _maybe_ask(self) -> None:
        if self.in_flight or self.following is not None or self.node.now_us() < self.retry_at_us:
            return
        self.in_flight = True
        self.source.allocate_producer_ids(self._allocated, None)

    def _allocated(self, context: None, response: m.AllocateProducerIdsResponse | None) -> None:
        self.in_flight = False
        if response is None or response.error_code != ErrorCode.NONE:
            self.retry_at_us = self.node.now_us() + RETRY_BACKOFF_US
            return
        first = response.producer_id_start
        self.following = ProducerIdBlock(first, first + response.producer_id_len - 1)


def _refused(error: ErrorCode) -> m.InitProducerIdResponse:
    return m.InitProducerIdResponse(
        error_code=error, producer_id=NO_PRODUCER_ID, producer_epoch=NO_PRODUCER_EPOCH
    )
