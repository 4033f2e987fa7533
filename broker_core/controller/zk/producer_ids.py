"""Producer ids are given away in blocks of 1,000, so that no two brokers hand out the same one.

The last block stands in /latest_producer_id_block; the next one is written with that znode's version as
condition. A broker that dies with half a block used leaves a hole, which hurts nobody (KIP-730).
"""

from __future__ import annotations

from typing import Any

from broker_core.controller.zk.core import ControllerCore
from broker_core.controller.zk import znodes
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode
from broker_core.zookeeper import protocol as p

BLOCK_SIZE = 1000


class ProducerIds:
    """Handles AllocateProducerIds requests on the controller's thread."""

    def __init__(self, core: ControllerCore) -> None:
        self.core = core

    def handle(self, request: Any, done: Any, context: Any) -> None:
        """Event: a broker needs a block; `done(context, response)`."""
        info = self.core.context.brokers.get(request.broker_id)
        if info is None:
            done(context, m.AllocateProducerIdsResponse(error_code=ErrorCode.BROKER_ID_NOT_REGISTERED))
        elif info.epoch != request.broker_epoch:
            done(context, m.AllocateProducerIdsResponse(error_code=ErrorCode.STALE_BROKER_EPOCH))
        else:
            self._read(request.broker_id, done, context)

    def _read(self, broker: int, done: Any, context: Any) -> None:
        self.core.store.read([p.GetData(znodes.PRODUCER_ID_BLOCK)], self._next, broker, done, context)

    def _next(self, broker: int, done: Any, context: Any, results: list[p.Result]) -> None:
        stat, data = results[0].stat, results[0].data
        if stat is None:
            create = p.Create(znodes.PRODUCER_ID_BLOCK)
            self.core.store.write([create], self._created, broker, done, context)
            return
        first = znodes.decode_producer_block(data)[2] + 1 if data else 0
        block = znodes.encode_producer_block(broker, first, first + BLOCK_SIZE - 1)
        write = p.SetData(znodes.PRODUCER_ID_BLOCK, block, stat.version)
        self.core.store.write([write], self._written, broker, first, done, context)

    def _created(self, broker: int, done: Any, context: Any, results: list[p.Result]) -> None:
        self._read(broker, done, context)

    def _written(self, broker: int, first: int, done: Any, context: Any, results: list[p.Result]) -> None:
        if not results[0].ok:
            self._read(broker, done, context)
            return
        done(context, m.AllocateProducerIdsResponse(producer_id_start=first, producer_id_len=BLOCK_SIZE))
