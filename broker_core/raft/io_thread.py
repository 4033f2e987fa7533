"""The replica's one thread, and what it waits for: its disk.

Epoch, vote and leader are in `quorum-state` before anybody learns of them, and records are flushed before they count.
Kafka's thread (`kafka-raft-io-thread`) stands still meanwhile, and what comes in waits in its queue:

    102  candidate of epoch 6, votes for itself     the file takes 15 ms
    102 -> 103   Vote                               15 ms later
    103  votes for itself in between                102's Vote finds a candidate: refused, as 103's will be

So the slower the disks, the more often two voters that have missed their leader at the same time split the votes.
Nothing in this world waits inside a call: what a slow disk costs is a debt (`kernel.storage_faults`). It is taken
behind each thing that this thread does, and until it is paid all that is to follow waits.

Invariant
    - while the disk works nothing comes in and nothing goes out; then, in their order, what was to go out and what came
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from broker_core.kernel.errors import StorageError
from broker_core.kernel.node import Node

Waiting = tuple[Callable[..., object], tuple[Any, ...]]


class IoThread:
    """See the module. `is_busy`: the disk has not done yet."""

    def __init__(self, node: Node, go_on: Callable[[], None]) -> None:
        """`go_on` is called when the disk is done and nothing waits any more."""
        self.node = node
        self.is_busy = False
        self._go_on = go_on
        self._going_out: deque[Waiting] = deque()
        self._coming_in: deque[Waiting] = deque()

    def begin(self) -> None:
        """What the disk has done until now was for others, who wait for it themselves."""
        if self.node.storage.faults is not None:
            self.node.storage.faults.take_debt()

    def pay(self) -> bool:
        """Wait for what was written since `begin`. Whether there is something to wait for."""
        faults = self.node.storage.faults
        if faults is not None and (debt_us := faults.take_debt()):
            self.is_busy = True
            self.node.after(debt_us, self._done)
        return self.is_busy

    def go_out(self, call: Callable[..., object], *arguments: Any) -> None:
        """What follows from what was written: now, or when it is on disk."""
        if self.pay():
            self._going_out.append((call, arguments))
        else:
            call(*arguments)

    def come_in(self, call: Callable[..., object], *arguments: Any) -> None:
        """While it is busy: later, in turn."""
        self._coming_in.append((call, arguments))

    def _done(self) -> None:
        self.is_busy = False
        try:
            for waiting in (self._going_out, self._coming_in):
                while waiting and not self.is_busy:
                    call, arguments = waiting.popleft()
                    call(*arguments)
        except StorageError:
            self.node.halt()
            return
        if not self.is_busy:
            self._go_on()
