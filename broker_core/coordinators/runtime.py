"""The runtime of a coordinator: whose keys it has, how their records get into the log, and how it learns them again.

    elected  -> loading: COORDINATOR_LOAD_IN_PROGRESS -> owned: answers
    resigned -> neither: NOT_COORDINATOR, clients look for the coordinator again

Decide, then replay: a handler decides from what is known and gives records to `append`; the batch is stamped, appended
with acks=-1 to the key's partition, and `done` is called when it is committed, or is not. Only then does the
coordinator replay it and answer, so nobody is told what a new leader might not know.

    request -> decision -> append ---- replicated ----> done(NONE)      replay, answer
                                  \\--- refused, late --> done(error)     nothing has changed, answer the error

A partition's leader epoch is remembered: news of older ones is ignored. A leader that is elected again has been the
only one to write, so a coordinator needs nothing of it but the number, unless it says that it reads again
(`reload`): transactions do, because their markers carry the epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from broker_core.coordinators.loading import Loading
from broker_core.coordinators.partitioning import partition_for
from broker_core.coordinators.ports import Shards, StateTopicPort
from broker_core.kernel.errors import StorageError
from broker_core.kernel.node import Node, Repeating
from broker_core.records.batch import encode_batch
from broker_core.wire.errors import ErrorCode

KeyValue = tuple[bytes, bytes | None]
Done = Callable[[Any, int], None]
ProducerIdentity = tuple[int, int]
"""Producer id and epoch of records that belong to a transaction."""


class CoordinatorRuntime:
    """The partitions of one internal topic at one broker.

    - `epochs[p]` is the highest leader epoch heard of for p.

    Invariants
        - `owned` and `loading` have no partition in common
    """

    def __init__(
        self, node: Node, topic: StateTopicPort, partitions: int, shards: Shards, reload: bool = False
    ) -> None:
        self.node = node
        self.topic = topic
        self.partitions = partitions
        self.shards = shards
        self.reload = reload
        self.active = True
        self.owned: dict[int, None] = {}
        self.loading: dict[int, Loading] = {}
        self.epochs: dict[int, int] = {}
        self.timers: list[Repeating] = []

    # --- whose key is it --------------------------------------------------------------------------

    def partition_for(self, key: str) -> int:
        """The key's partition; before the topic exists, with the number of partitions that it will get."""
        return partition_for(key, self.topic.partition_count() or self.partitions)

    def status(self, key: str) -> ErrorCode:
        """NONE, or why this broker does not answer for the key."""
        if not self.active:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        partition = self.partition_for(key)
        if partition in self.loading:
            return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        return ErrorCode.NONE if partition in self.owned else ErrorCode.NOT_COORDINATOR

    def accept_epoch(self, partition: int, epoch: int) -> bool:
        """Remembers the leader epoch; False when a newer one is known."""
        if epoch < self.epochs.get(partition, epoch):
            return False
        self.epochs[partition] = epoch
        return True

    # --- moving -----------------------------------------------------------------------------------

    def elected(self, partition: int, leader_epoch: int) -> None:
        """This broker leads the partition: begin to read it."""
        before = self.epochs.get(partition)
        if not self.accept_epoch(partition, leader_epoch):
            return
        if partition in self.owned or partition in self.loading:
            if not self.reload or before == leader_epoch:
                return
            self._forget(partition)
        log = self.topic.read(partition)
        start = log.log_start_offset if log is not None else 0
        loading = self.loading[partition] = Loading(self.shards, partition, start)
        self.node.soon(self._slice, loading)

    def resigned(self, partition: int, leader_epoch: int | None) -> None:
        """Another broker leads it (None: the replica is gone): forget its keys, send everybody there."""
        if leader_epoch is None or self.accept_epoch(partition, leader_epoch):
            self._forget(partition)

    def _forget(self, partition: int) -> None:
        known = partition in self.owned or partition in self.loading
        self.owned.pop(partition, None)
        self.loading.pop(partition, None)
        self.shards.give_up(partition, known)

    def _slice(self, loading: Loading) -> None:
        partition = loading.partition
        if self.loading.get(partition) is not loading:
            return
        try:
            more = loading.advance(self.topic.read(partition))
        except StorageError as error:
            self.topic.failed(error)
            return
        if more:
            self.node.soon(self._slice, loading)
            return
        del self.loading[partition]
        self.owned[partition] = None
        self.shards.take_over(partition, loading.shard)

    # --- records ----------------------------------------------------------------------------------

    def append(
        self, key: str, records: Sequence[KeyValue], done: Done, context: Any,
        producer: ProducerIdentity | None = None, guard: int | None = None,
    ) -> None:  # fmt: skip
        """Writes records of one key as one batch, stamped now; later, once: `done(context, error_code)`.

        `producer`: the records belong to its transaction, and count when its marker says so; `guard`: what was found
        when that was verified, if it was.
        """
        now_ms = self.node.wall_ms()
        made = [(now_ms, one, value, ()) for one, value in records]
        if producer is None:
            batch = encode_batch(made)
        else:
            batch = encode_batch(
                made, producer_id=producer[0], producer_epoch=producer[1], base_sequence=0, transactional=True
            )
        self.topic.append(self.partition_for(key), batch, done, context, guard)

    # --- time -------------------------------------------------------------------------------------

    def every(self, period_ms: int, method: Callable[[], Any]) -> None:
        """Calls each `period_ms` until the broker shuts down."""
        self.timers.append(self.node.every(period_ms * 1000, method))

    def shut_down(self) -> None:
        """The broker is stopping: from now on COORDINATOR_NOT_AVAILABLE."""
        self.active = False
        for timer in self.timers:
            timer.cancel()
