"""Files that were deleted go when `file.delete.delay.ms` is over (Kafka's scheduled task `kafka-delete-logs`).

    each 5 s: a slice of `SLICE_FILES`  --some are left-->  the next one, `SLICE_US` later  --...-->  none is left

Between two slices the broker does what else there is to do: a topic of a thousand partitions has six thousand files, of
which a real disk deletes some in a millisecond.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_core.kernel.node import Timer

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker

CHECK_US = 5_000_000
SLICE_FILES, SLICE_US = 64, 200_000


class FileDeletion:
    """Of one broker. `under_way`: the next slice."""

    def __init__(self, broker: Broker) -> None:
        self.node = broker.node
        self.log_manager = broker.log_manager
        self.under_way: Timer | None = None

    def start(self) -> None:
        """The logs are there."""
        self.node.every(CHECK_US, self._check)

    def end_delay(self) -> None:
        """What was deleted up to now goes, as if `file.delete.delay.ms` were over."""
        self.log_manager.end_delay_of_deleted()
        self.node.soon(self._check)

    def _check(self) -> None:
        if self.under_way is None:
            self._slice()

    def _slice(self) -> None:
        done = self.log_manager.delete_expired_files(self.node.wall_ms(), SLICE_FILES)
        self.under_way = None if done else self.node.after(SLICE_US, self._slice)
