"""The cleaner threads of a broker, as machines (Kafka's `LogCleaner`; `log.cleaner.threads` [1]).

    turn: clean the dirtiest log -> delete old segments of compacted logs -> the next turn
          at once after a cleaning, `log.cleaner.backoff.ms` [15 s] later when there was nothing to clean

A cleaning is cut into slices of `SLICE_BYTES`; between two the broker does what else there is to do. It takes no time
of its own but for that, as little as another access to disks; with
`log.cleaner.io.max.bytes.per.second` the thread rests afterwards for as long as what it read and wrote would take.
The threads share `log.cleaner.dedupe.buffer.size` [128 MiB] for their offset maps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_core.log.cleaner import LogCleaner

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker
    from broker_core.log.cleaning import Cleaning

SECOND_US = 1_000_000
SLICE_BYTES, SLICE_US = 4 * 1024 * 1024, 20_000


class CleanerThreads:
    """`cleaner` decides and cleans; the threads say when. `running`: their numbers; 0 never ends and sees changes."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.cleaner = LogCleaner(broker.log_manager, self.map_bytes, self.load_factor)
        self.running: dict[int, None] = {}

    def start(self) -> None:
        """The logs are there."""
        if self.broker.config["log.cleaner.enable"]:
            self._fill()

    @property
    def wanted(self) -> int:
        """`log.cleaner.threads`, which can be changed while running."""
        return int(self.broker.config["log.cleaner.threads"])

    def map_bytes(self) -> int:
        """Memory for the offset map of one thread."""
        size = int(self.broker.config["log.cleaner.dedupe.buffer.size"])
        return size // self.wanted

    def load_factor(self) -> float:
        """How full a map may become."""
        return float(self.broker.config["log.cleaner.io.buffer.load.factor"])

    def _fill(self) -> None:
        for number in range(self.wanted):
            if number not in self.running:
                self.running[number] = None
                self.broker.node.soon(self._turn, number)

    def _turn(self, number: int) -> None:
        if number >= self.wanted:
            del self.running[number]
            return
        if number == 0:
            self._fill()
        work = self.cleaner.begin(self.broker.node.wall_ms())
        if work is not None:
            self._go_on(number, work)
            return
        self.cleaner.delete_old_segments(self.broker.node.wall_ms())
        self.broker.node.after(self._backoff_us(), self._turn, number)

    def _go_on(self, number: int, work: Cleaning) -> None:
        """A slice of a cleaning; the broker serves others before the next one."""
        if not self.cleaner.advance(work, SLICE_BYTES):
            self.broker.node.after(SLICE_US, self._go_on, number, work)
            return
        self.cleaner.delete_old_segments(self.broker.node.wall_ms())
        rest_us = int(work.stats.io_bytes / self.broker.config["log.cleaner.io.max.bytes.per.second"] * SECOND_US)
        self.broker.node.after(rest_us, self._turn, number)

    def _backoff_us(self) -> int:
        return max(1, int(self.broker.config["log.cleaner.backoff.ms"])) * 1000
