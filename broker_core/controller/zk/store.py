"""The controller's way to the tree: every write is fenced by the controller epoch.

A broker that was paused may believe for a while that it is still the controller. Its writes carry a
condition that is part of the same transaction:

    Multi [ Check(/controller_epoch, version 7), SetData(/brokers/topics/orders/partitions/0/state, ...) ]

A newer controller has moved /controller_epoch to version 8, so nothing of the zombie's is written and
the zombie learns what it is (KAFKA-6082, Kafka 2.2 on).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from broker_core.controller.zk.context import ControllerContext
from broker_core.controller.zk.thread import ControllerThread
from broker_core.controller.zk import znodes
from broker_core.metadata.partition import LeaderAndIsr, TopicPartition
from broker_core.zookeeper import protocol as p


class ControllerStore:
    """Reads and fenced writes as steps of the controller's thread."""

    def __init__(self, thread: ControllerThread, context: ControllerContext, moved: Callable[[], None]) -> None:
        self.thread = thread
        self.context = context
        self.moved = moved

    def read(self, ops: list[p.Operation], method: Callable[..., Any], *args: Any) -> None:
        """`method(*args, results)` once all are answered."""
        self.thread.request(ops, method, *args)

    def write(self, ops: list[p.WriteOp], method: Callable[..., Any], *args: Any) -> None:
        """Each operation alone, each fenced; then `method(*args, results)`. A zombie is dropped instead."""
        check = p.Check(znodes.CONTROLLER_EPOCH, self.context.epoch_zk_version)
        fenced: list[p.Operation] = [p.Multi([check, op]) for op in ops]
        self.thread.request(fenced, self._written, method, args)

    def _written(self, method: Callable[..., Any], args: tuple[Any, ...], results: list[p.Result]) -> None:
        if any(not result.results[0].ok for result in results):
            self.thread.abandon(self.moved)
            return
        self.thread.call(method, *args, [result.results[1] for result in results])

    def read_states(self, partitions: list[TopicPartition], method: Callable[..., Any], *args: Any) -> None:
        """Partition states; `method(*args, {partition: state})` with those that exist."""
        ops: list[p.Operation] = [p.GetData(znodes.state_path(*partition)) for partition in partitions]
        self.read(ops, self._states_read, partitions, method, args)

    def _states_read(
        self,
        partitions: list[TopicPartition],
        method: Callable[..., Any],
        args: tuple[Any, ...],
        results: list[p.Result],
    ) -> None:
        states = {
            partition: znodes.decode_state(result.data, result.stat.version)
            for partition, result in zip(partitions, results, strict=True)
            if result.ok and result.stat is not None
        }
        self.thread.call(method, *args, states)

    def write_states(self, states: dict[TopicPartition, LeaderAndIsr], method: Callable[..., Any], *args: Any) -> None:
        """Compare-and-set partition states by their partition epoch (the znode's version).

        Then `method(*args, updated, refused)`: states with their new partition epoch, and the
        partitions that somebody else changed meanwhile.
        """
        epoch = self.context.epoch
        for state in states.values():
            state.controller_epoch = epoch
        ops: list[p.WriteOp] = [
            p.SetData(znodes.state_path(*partition), znodes.encode_state(state), state.partition_epoch)
            for partition, state in states.items()
        ]
        self.write(ops, self._states_written, states, method, args)

    def _states_written(
        self,
        states: dict[TopicPartition, LeaderAndIsr],
        method: Callable[..., Any],
        args: tuple[Any, ...],
        results: list[p.Result],
    ) -> None:
        updated: dict[TopicPartition, LeaderAndIsr] = {}
        refused: list[TopicPartition] = []
        for (partition, state), result in zip(states.items(), results, strict=True):
            if result.ok:
                updated[partition] = state.with_partition_epoch(state.partition_epoch + 1, self.context.epoch)
            else:
                refused.append(partition)
        if refused:
            self.read_states(refused, self._compared, states, updated, method, args)
        else:
            self.thread.call(method, *args, updated, refused)

    def _compared(
        self,
        wished: dict[TopicPartition, LeaderAndIsr],
        updated: dict[TopicPartition, LeaderAndIsr],
        method: Callable[..., Any],
        args: tuple[Any, ...],
        found: dict[TopicPartition, LeaderAndIsr],
    ) -> None:
        """A refused write may be our own of before: written, its answer lost, sent again on a new connection."""
        refused: list[TopicPartition] = []
        for partition, state in wished.items():
            if partition in updated:
                continue
            written = state.with_partition_epoch(state.partition_epoch + 1, self.context.epoch)
            if found.get(partition) == written:
                updated[partition] = written
            else:
                refused.append(partition)
        self.thread.call(method, *args, updated, refused)

    def delete_all(self, paths: list[str]) -> None:
        """Remove znodes without caring for the result."""
        self.write([p.Delete(path) for path in paths], self._ignore)

    def _ignore(self, results: list[p.Result]) -> None:
        """The outcome changes nothing."""
