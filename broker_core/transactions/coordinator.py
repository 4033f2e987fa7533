"""The transaction coordinator of one broker: the front door for everything about transactional ids.

| API                               | module                   | answered                            |
|-----------------------------------|--------------------------|-------------------------------------|
| InitProducerId with an id         | `producing`              | when the new epoch is committed     |
| AddPartitionsToTxn, AddOffsetsToTxn | `producing`            | when the partitions are committed   |
| AddPartitionsToTxn, verify only   | `producing`              | at once                             |
| EndTxn                            | `ending`                 | when the decision is committed      |
| (WriteTxnMarkers)                 | `markers`                | sent by this coordinator to leaders |
| DescribeTransactions, ListTransactions | `inspection`        | at once                             |

Offsets of a transaction (TxnOffsetCommit) are the group coordinator's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from broker_core.coordinators.ports import StateTopicPort
from broker_core.coordinators.runtime import CoordinatorRuntime
from broker_core.kernel.node import Node
from broker_core.transactions.decisions import NextId, Producer
from broker_core.transactions.ending import Ended, EndHandler
from broker_core.transactions.inspection import InspectionHandler, observe
from broker_core.transactions.loading import TransactionShards
from broker_core.transactions.markers import Leaders, MarkerChannel
from broker_core.transactions.producing import Initialised, ProducingHandler
from broker_core.transactions.registry import Done, TransactionRegistry
from broker_core.transactions.transaction import TopicPartition
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode


class TransactionCoordinator:
    """Coordinates the transactional ids whose partition of `__transaction_state` this broker leads.

    `config` maps Kafka's setting names to typed values; read are transaction.max.timeout.ms,
    transactional.id.expiration.ms, the two cleanup intervals and transaction.state.log.num.partitions. `version` tells
    the transaction version of the cluster, `next_id` takes a producer id.
    """

    def __init__(
        self, node: Node, config: Mapping[str, Any], topic: StateTopicPort, leaders: Leaders, next_id: NextId,
        version: Callable[[], int],
    ) -> None:  # fmt: skip
        self.registry = TransactionRegistry(node, config, version)
        self.markers = MarkerChannel(self.registry, leaders)
        shards = TransactionShards(self.registry, self.markers)
        partitions = int(config["transaction.state.log.num.partitions"])
        self.runtime = CoordinatorRuntime(node, topic, partitions, shards, reload=True)
        self.registry.runtime = self.runtime
        self._ending = EndHandler(self.registry, self.markers, next_id)
        self._producing = ProducingHandler(self.registry, self._ending, next_id)
        self._inspection = InspectionHandler(self.registry)

    def _start_timers(self) -> None:
        """Once this broker coordinates anything, it looks at the time. (Kafka's brokers do so from their start.)"""
        config = self.registry.config
        self.runtime.every(
            int(config["transaction.abort.timed.out.transaction.cleanup.interval.ms"]), self._ending.abort_timed_out
        )
        self.runtime.every(
            int(config["transaction.remove.expired.transaction.cleanup.interval.ms"]), self._ending.remove_expired
        )

    # --- which ids ----------------------------------------------------------------------------------

    def partition_for(self, transactional_id: str) -> int:
        """The partition of `__transaction_state` whose leader coordinates this id (FindCoordinator)."""
        return self.runtime.partition_for(transactional_id)

    def on_election(self, partition: int, leader_epoch: int) -> None:
        """This broker has become leader of a partition of `__transaction_state`."""
        if not self.runtime.timers:
            self._start_timers()
        self.runtime.elected(partition, leader_epoch)

    def on_resignation(self, partition: int, leader_epoch: int | None) -> None:
        """This broker leads the partition no longer; None when the replica was stopped or deleted."""
        self.runtime.resigned(partition, leader_epoch)

    def shut_down(self) -> None:
        """The broker is stopping: from now on COORDINATOR_NOT_AVAILABLE."""
        self.runtime.shut_down()

    # --- requests -----------------------------------------------------------------------------------

    def init_producer_id(
        self, transactional_id: str, timeout_ms: int, expected: Producer | None, done: Initialised, context: Any
    ) -> None:
        """InitProducerId with an id, 0-5; later `done(context, error, producer id, epoch)`."""
        self._producing.init_producer_id(transactional_id, timeout_ms, expected, done, context)

    def add_partitions(
        self, transactional_id: str, producer: Producer, partitions: list[TopicPartition], version: int,
        done: Done, context: Any,
    ) -> None:  # fmt: skip
        """AddPartitionsToTxn and AddOffsetsToTxn; later `done(context, error)`."""
        self._producing.add_partitions(transactional_id, producer, partitions, version, done, context)

    def verify_partitions(
        self, transactional_id: str, producer: Producer, partitions: list[TopicPartition]
    ) -> dict[TopicPartition, ErrorCode]:
        """AddPartitionsToTxn 4-5 with `verify_only`."""
        return self._producing.verify_partitions(transactional_id, producer, partitions)

    def end(
        self, transactional_id: str, producer: Producer, commit: bool, version: int, done: Ended, context: Any
    ) -> None:
        """EndTxn 0-5; later `done(context, error, producer id, epoch)`."""
        self._ending.end(transactional_id, producer, commit, version, done, context)

    def describe(self, request: m.DescribeTransactionsRequest) -> m.DescribeTransactionsResponse:
        """DescribeTransactions 0."""
        return self._inspection.describe(request)

    def list(self, request: m.ListTransactionsRequest) -> m.ListTransactionsResponse:
        """ListTransactions 0-2."""
        return self._inspection.list(request)

    # --- viewers ------------------------------------------------------------------------------------

    def transactions(self) -> dict[str, dict[str, Any]]:
        """All transactional ids by name, sorted, as plain data."""
        return observe(self.registry)
