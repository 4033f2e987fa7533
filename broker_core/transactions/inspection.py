"""DescribeTransactions, ListTransactions, and the transactional ids as viewers see them (KIP-664, KIP-994)."""

from __future__ import annotations

from typing import Any

from broker_core.coordinators.pattern import InvalidPattern, Pattern
from broker_core.transactions.registry import TransactionRegistry
from broker_core.transactions.states import DEAD, PREPARED, TransactionState
from broker_core.transactions.transaction import TopicPartition, Transaction
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

NAMES = {state.value: state for state in TransactionState}


class InspectionHandler:
    """Answers who wants to know."""

    def __init__(self, registry: TransactionRegistry) -> None:
        self.registry = registry

    def describe(self, request: m.DescribeTransactionsRequest) -> m.DescribeTransactionsResponse:
        """Each id asked for."""
        states = [self._described(one) for one in request.transactional_ids]
        return m.DescribeTransactionsResponse(transaction_states=states)

    def _described(self, transactional_id: str) -> m.DescribeTransactionsResponse.TransactionState:
        state = m.DescribeTransactionsResponse.TransactionState
        if not self.registry.runtime.active:
            return state(transactional_id=transactional_id, error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
        if transactional_id == "":
            return state(transactional_id="", error_code=ErrorCode.INVALID_REQUEST)
        error, found = self.registry.find(transactional_id)
        if error is ErrorCode.NONE and (found is None or found.pending is DEAD):
            error = ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
        if error is not ErrorCode.NONE or found is None:
            return state(transactional_id=transactional_id, error_code=error)
        topics: dict[str, list[int]] = {}
        for topic, partition in partitions_of(found):
            topics.setdefault(topic, []).append(partition)
        data = m.DescribeTransactionsResponse.TopicData
        stored = found.stored
        return state(
            error_code=ErrorCode.NONE, transactional_id=transactional_id, transaction_state=stored.state.value,
            transaction_timeout=stored.timeout_ms, transaction_start_time=stored.started_ms,
            producer_id=stored.producer_id, producer_epoch=stored.producer_epoch,
            topics=[data(topic=name, partitions=numbers) for name, numbers in topics.items()],
        )  # fmt: skip

    def list(self, request: m.ListTransactionsRequest) -> m.ListTransactionsResponse:
        """Ids of this broker; filters by state, producer id, time that it is open (v1+) and pattern (v2)."""
        runtime = self.registry.runtime
        if not runtime.active or runtime.loading:
            loading = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if runtime.active else ErrorCode.COORDINATOR_NOT_AVAILABLE
            return m.ListTransactionsResponse(error_code=loading)
        text = request.transactional_id_pattern
        try:
            pattern = Pattern(text) if text else None
        except InvalidPattern:
            return m.ListTransactionsResponse(error_code=ErrorCode.INVALID_REGULAR_EXPRESSION)
        unknown = [name for name in request.state_filters if name not in NAMES]
        state = m.ListTransactionsResponse.TransactionState
        found = [
            state(
                transactional_id=one.transactional_id, producer_id=one.stored.producer_id,
                transaction_state=one.state.value,
            )
            for one in self.registry.all()
            if self._wanted(one, request) and (pattern is None or pattern.matches(one.transactional_id))
        ]  # fmt: skip
        return m.ListTransactionsResponse(
            error_code=ErrorCode.NONE, unknown_state_filters=unknown, transaction_states=found
        )

    def _wanted(self, one: Transaction, request: m.ListTransactionsRequest) -> bool:
        stored = one.stored
        producers = request.producer_id_filters
        if one.pending is DEAD or (producers and stored.producer_id not in producers):
            return False
        if request.state_filters and stored.state.value not in request.state_filters:
            return False
        duration_ms: int = request.duration_filter
        return duration_ms < 0 or self.registry.node.wall_ms() - stored.started_ms > duration_ms


def partitions_of(transaction: Transaction) -> list[TopicPartition]:
    """Partitions of the transaction; once it is decided, those that still wait for their marker."""
    return list(transaction.unmarked if transaction.state in PREPARED else transaction.stored.partitions)


def observe(registry: TransactionRegistry) -> dict[str, dict[str, Any]]:
    """All ids of this broker, sorted, as plain data for viewers; times in ms since 1970."""
    return {one.transactional_id: _observed(registry, one) for one in sorted(registry.all(), key=_name)}


def _name(transaction: Transaction) -> str:
    return transaction.transactional_id


def _observed(registry: TransactionRegistry, transaction: Transaction) -> dict[str, Any]:
    stored, pending = transaction.stored, transaction.pending
    return {
        "state": stored.state.value,
        "pending": None if pending is None else pending.value,
        "producer_id": stored.producer_id,
        "epoch": stored.producer_epoch,
        "partitions": [f"{topic}-{partition}" for topic, partition in stored.partitions],
        "unmarked": [f"{topic}-{partition}" for topic, partition in transaction.unmarked],
        "timeout_ms": stored.timeout_ms,
        "started_ms": stored.started_ms,
        "updated_ms": stored.updated_ms,
        "partition": registry.runtime.partition_for(transaction.transactional_id),
        "coordinator_epoch": registry.epoch(transaction.transactional_id),
    }
