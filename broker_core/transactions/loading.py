"""What a partition of `__transaction_state` says about its transactional ids, and taking it over or giving it up.

The last record of an id is the truth. One that says PrepareCommit or PrepareAbort is a transaction whose coordinator
died (or moved) before all markers were written: the new one goes on. A marker that is written twice does no harm.
"""

from __future__ import annotations

from broker_core.coordinators.stored import Buffer
from broker_core.kernel import events
from broker_core.records.header import BatchHeader
from broker_core.transactions.markers import MarkerChannel
from broker_core.transactions.registry import TransactionRegistry
from broker_core.transactions.states import PREPARED
from broker_core.transactions.transaction import Stored, Transaction, decode_key, decode_value


class TransactionShard:
    """The ids of one partition, as far as it has been read."""

    __slots__ = ("stored",)

    def __init__(self) -> None:
        self.stored: dict[str, Stored] = {}

    def replay(self, key: Buffer | None, value: Buffer | None, header: BatchHeader) -> None:
        """One record; a kind that is not known is passed over."""
        name = decode_key(key)
        if name is None:
            return
        after = None if value is None else decode_value(value)
        self.stored.pop(name, None)
        if after is not None:
            self.stored[name] = after

    def replay_marker(self, header: BatchHeader, commit: bool) -> None:
        """No transaction writes here."""


class TransactionShards:
    """Takes partitions over and gives them up."""

    def __init__(self, registry: TransactionRegistry, markers: MarkerChannel) -> None:
        self.registry = registry
        self.markers = markers
        self.node = registry.node

    def blank(self, partition: int) -> TransactionShard:
        return TransactionShard()

    def take_over(self, partition: int, shard: TransactionShard) -> None:
        """The partition's ids are known: answer for them, and finish what was decided."""
        found = {name: Transaction(name, one) for name, one in shard.stored.items()}
        self.registry.partitions[partition] = found
        decided = [one for one in found.values() if one.state in PREPARED]
        if found:
            self.node.emit(
                events.TRANSACTION_PARTITION_LOADED, partition=partition, transactional_ids=len(found),
                unfinished=len(decided),
            )  # fmt: skip
        for one in decided:
            self.markers.complete(one)

    def give_up(self, partition: int, known: bool) -> None:
        """Its ids are another broker's now."""
        self.markers.forget(self.registry.partitions.pop(partition, {}))
        if known:
            self.node.emit(events.TRANSACTION_PARTITION_UNLOADED, partition=partition)

    def refuse(self, partition: int, offset: int, reason: str) -> None:
        """What cannot be read is told."""
        self.node.emit(events.TRANSACTION_RECORD_REFUSED, partition=partition, offset=offset, reason=reason)
